# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Nodes, Jobs, Leases, Events."""

import asyncio

from sandbox.tests.apiserver.parity.recorder import MERGE, STRATEGIC, Api
from sandbox.tests.apiserver.parity.talk import pod, scenario


@scenario
async def a_new_node_is_tainted_until_it_is_ready(api: Api) -> None:
    name = f"node-{api.namespace}"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await api.call("POST", "/api/v1/nodes", node)
    status = {
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "4"},
            "capacity": {"cpu": "4"},
        }
    }
    await api.call("PATCH", f"/api/v1/nodes/{name}/status", status, kind=STRATEGIC)
    cordon = {"spec": {"unschedulable": True}}
    await api.call("PATCH", f"/api/v1/nodes/{name}", cordon, kind=STRATEGIC)
    await api.call("DELETE", f"/api/v1/nodes/{name}")


@scenario
async def a_job_gets_its_selector_and_labels(api: Api) -> None:
    path = f"/apis/batch/v1/namespaces/{api.namespace}/jobs"
    template = {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"completions": 2, "completionMode": "Indexed", "template": template},
    }
    await api.call("POST", path, job)
    always = {"spec": pod("x")["spec"]}
    await api.call("POST", path, {**job, "metadata": {"name": "k"}, "spec": {"template": always}})


@scenario
async def leases_are_taken_over_by_version(api: Api) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15},
    }
    reply = await api.call("POST", path, lease)
    takeover = {**reply.body, "spec": {"holderIdentity": "two", "leaseDurationSeconds": 15}}
    await api.call("PUT", f"{path}/l", takeover)
    await api.call("PUT", f"{path}/l", takeover)
    await api.call("PUT", f"{path}/l", lease)


@scenario
async def of_eight_that_take_a_lease_over_one_wins(api: Api) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "one"}}
    reply = await api.call("POST", path, lease)
    replies = await asyncio.gather(
        *(
            api.call(
                "PUT", f"{path}/l", {**reply.body, "spec": {"holderIdentity": f"{i}"}}, quiet=True
            )
            for i in range(8)
        )
    )
    statuses = sorted(reply.status for reply in replies)
    api.note("8 takers", 0, statuses)


@scenario
async def events_have_two_shapes_and_one_store(api: Api) -> None:
    new = f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c",
        "reportingInstance": "i",
        "action": "A",
        "reason": "R",
        "type": "Normal",
        "note": "text",
        "regarding": {"kind": "Pod", "namespace": api.namespace, "name": "a"},
    }
    await api.call("POST", new, event)
    await api.call("GET", f"/api/v1/namespaces/{api.namespace}/events/e")


@scenario
async def a_deployment_is_defaulted_and_scaled(api: Api) -> None:
    path = f"/apis/apps/v1/namespaces/{api.namespace}/deployments"
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    deployment = {"metadata": {"name": "d"}, "spec": spec}
    await api.call("POST", path, deployment)
    await api.call("GET", f"{path}/d/scale")
    await api.call("PATCH", f"{path}/d/scale", {"spec": {"replicas": 3}}, kind=MERGE)
    await api.call("GET", f"{path}/d")
    other = {"metadata": {"name": "e"}, "spec": {**spec, "selector": {"matchLabels": {"a": "b"}}}}
    await api.call("POST", path, other)


@scenario
async def a_jobs_spec_is_immutable_but_for_its_parallelism(api: Api) -> None:
    path = f"/apis/batch/v1/namespaces/{api.namespace}/jobs"
    template = {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}
    job = {"metadata": {"name": "j"}, "spec": {"template": template, "backoffLimit": 2}}
    await api.call("POST", path, job)
    await api.call("PATCH", f"{path}/j", {"spec": {"parallelism": 3}}, kind=MERGE)
    await api.call("PATCH", f"{path}/j/status", {"status": {"active": 1}}, kind=MERGE)
    await api.call("PATCH", f"{path}/j", {"spec": {"completionMode": "Indexed"}}, kind=MERGE)
    await api.call("DELETE", f"{path}/j?propagationPolicy=Background")
    await api.call(
        "POST", path, {"metadata": {"name": "k"}, "spec": {"template": template, "parallelism": -1}}
    )


@scenario
async def core_events_count(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/events"
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": api.namespace, "name": "a"},
        "reason": "R",
        "message": "text",
        "source": {"component": "c"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
        "type": "Normal",
    }
    await api.call("POST", path, event)
    await api.call("PATCH", f"{path}/e", {"count": 2}, kind=STRATEGIC)
    await api.call("GET", f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events/e")
    involved = {"kind": "Pod", "namespace": "elsewhere", "name": "a"}
    await api.call("POST", path, {**event, "metadata": {"name": "f"}, "involvedObject": involved})


@scenario
async def a_node_is_created_with_its_status_and_taints(api: Api) -> None:
    name = f"n-{api.namespace}"
    taint = {"key": "gpu", "value": "only", "effect": "NoSchedule"}
    node = {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [taint], "podCIDR": "10.0.0.0/24"},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }
    await api.call("POST", "/api/v1/nodes", node)
    await api.call("POST", "/api/v1/nodes", node)
    path = f"/api/v1/nodes/{name}"
    await api.call("PATCH", path, {"spec": {"taints": [taint, taint]}}, kind=MERGE)
    await api.call("PATCH", path, {"spec": {"taints": []}}, kind=MERGE)
    await api.call("PATCH", path, {"status": {"capacity": {"cpu": "9"}}}, kind=MERGE)
    await api.call("DELETE", path, quiet=True)


@scenario
async def a_review_says_what_one_may_do(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    attributes = {"verb": "get", "resource": "pods", "namespace": api.namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    reply = await api.call("POST", path, review, quiet=True)
    api.note("review", reply.status, [reply.body["kind"], reply.body["status"]["allowed"]])


@scenario
async def an_event_series_is_kept_by_patches(api: Api) -> None:
    path = f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"
    event = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "enbloc",
        "reportingInstance": "enbloc-0",
        "action": "Binding",
        "reason": "FailedScheduling",
        "type": "Warning",
        "note": "text",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": api.namespace, "name": "a"},
    }
    await api.call("POST", path, event, quiet=True)
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    await api.call("PATCH", f"{path}/e", series, kind=MERGE)
    await api.call("PATCH", f"{path}/e", {"note": "other"}, kind=MERGE)
    fields = "involvedObject.name=a,reason=FailedScheduling"
    listed = await api.call(
        "GET", f"/api/v1/namespaces/{api.namespace}/events?fieldSelector={fields}", quiet=True
    )
    api.note("by their object", 200, [one["metadata"]["name"] for one in listed.body["items"]])
    for field in ("action", "reason", "reportingController", "type"):
        lacking = {**event, "metadata": {"name": f"no-{field.lower()}"}}
        del lacking[field]
        await api.call("POST", f"{path}?dryRun=All", lacking)


@scenario
async def leases_that_make_no_sense_are_refused(api: Api) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
    for spec in (
        {"leaseDurationSeconds": 0},
        {"leaseTransitions": -1},
        {"renewTime": "yesterday"},
        {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.000000Z"},
        {"renewTime": "2026-01-01T00:00:00Z"},
        {"renewTime": "2026-01-01T00:00:00.5Z"},
    ):
        await api.call("POST", f"{path}?dryRun=All", {"metadata": {"name": "l"}, "spec": spec})
