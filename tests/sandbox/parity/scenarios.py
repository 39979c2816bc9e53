# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of both servers: each scenario a short conversation in its own namespace."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.sandbox.parity.recorder import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, Api

Scenario = Callable[[Api], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Enter a conversation under its name."""
    SCENARIOS[function.__name__] = function
    return function


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec},
    }


def configmap(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def binding(name: str, node: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


# ── create, get, list ────────────────────────────────────────────────────────────────────────


@scenario
async def a_pod_is_created_with_its_defaults(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    await api.call("GET", f"{api.pods}/a")


@scenario
async def limits_become_requests_and_make_the_qos_class(api: Api) -> None:
    limited = pod("a")
    limited["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}}
    await api.call("POST", api.pods, limited)
    burst = pod("b")
    burst["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "0.5"}}
    await api.call("POST", api.pods, burst)


@scenario
async def names_that_exist_miss_or_are_wrong_are_refused(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    await api.call("POST", api.pods, pod("a"))
    await api.call("GET", f"{api.pods}/none")
    await api.call("DELETE", f"{api.pods}/none")
    await api.call("POST", api.pods, pod("Not_A_Name"))
    await api.call("POST", "/api/v1/namespaces/nowhere/pods", pod("a"))
    await api.call("POST", api.pods, {**pod("b"), "kind": "ConfigMap"})
    await api.call("POST", api.pods, "{not json")


@scenario
async def paths_that_do_not_exist_are_404(api: Api) -> None:
    await api.call("GET", "/api/v1/nonsense")
    await api.call("GET", "/apis/none.example.com/v1")
    await api.call("GET", "/apis/batch/v1/namespaces/default/nonsense/x")


@scenario
async def a_generated_name_has_its_prefix(api: Api) -> None:
    body = pod("x")
    body["metadata"] = {"generateName": "gen-"}
    reply = await api.call("POST", api.pods, body, quiet=True)
    name = reply.body["metadata"]["name"]
    assert name.startswith("gen-")
    assert len(name) == 9


@scenario
async def a_list_has_kind_and_version_and_its_items_have_not(api: Api) -> None:
    for name in "ab":
        await api.call(
            "POST", f"/api/v1/namespaces/{api.namespace}/configmaps", configmap(name, k=name)
        )
    await api.call("GET", f"/api/v1/namespaces/{api.namespace}/configmaps?labelSelector=x=y")
    await api.call("GET", f"{api.pods}")


@scenario
async def label_and_field_selectors_select(api: Api) -> None:
    for name in "abc":
        await api.call("POST", api.pods, pod(name), quiet=True)
    for query in (
        "labelSelector=app=a",
        "labelSelector=app!=a",
        "labelSelector=app%20in%20(a,b)",
        "labelSelector=app%20notin%20(a,b)",
        "labelSelector=!app",
        "fieldSelector=metadata.name=b",
        "fieldSelector=spec.nodeName=",
        "fieldSelector=status.phase!=Pending",
    ):
        reply = await api.call("GET", f"{api.pods}?{query}", quiet=True)
        names = [item["metadata"]["name"] for item in reply.body["items"]]
        api.transcript.append({"request": query, "status": reply.status, "body": names})
    await api.call("GET", f"{api.pods}?fieldSelector=spec.image=x")
    await api.call("GET", f"{api.pods}?labelSelector=a===b")


@scenario
async def a_paged_list_goes_on_where_it_stopped(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    for name in "abcde":
        await api.call("POST", maps, configmap(f"cm-{name}"), quiet=True)
    token, names = "", []
    for _ in range(10):
        reply = await api.call("GET", f"{maps}?limit=2&continue={token}", quiet=True)
        names += [item["metadata"]["name"] for item in reply.body["items"]]
        token = reply.body["metadata"].get("continue", "")
        await api.call("DELETE", f"{maps}/cm-e", quiet=True)
        if not token:
            break
    api.transcript.append({"request": "all pages", "status": 200, "body": names})
    await api.call("GET", f"{maps}?limit=2&continue=nonsense")


# ── change ───────────────────────────────────────────────────────────────────────────────────


@scenario
async def a_change_that_changes_nothing_keeps_the_version(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    first = await api.call("POST", maps, configmap("a", k="v"))
    same = await api.call("PATCH", f"{maps}/a", {"data": {"k": "v"}}, kind=MERGE)
    assert first.body["metadata"]["resourceVersion"] == same.body["metadata"]["resourceVersion"]
    other = await api.call("PATCH", f"{maps}/a", {"data": {"k": "w"}}, kind=MERGE)
    assert int(other.body["metadata"]["resourceVersion"]) > int(
        first.body["metadata"]["resourceVersion"]
    )


@scenario
async def a_stale_or_foreign_put_is_a_conflict(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    reply = await api.call("POST", maps, configmap("a", k="v"))
    old = reply.body
    await api.call("PUT", f"{maps}/a", {**old, "data": {"k": "w"}})
    await api.call("PUT", f"{maps}/a", {**old, "data": {"k": "x"}})
    await api.call("PUT", f"{maps}/a", configmap("a", k="y"))
    await api.call("PUT", f"{maps}/a", configmap("b"))
    await api.call("PUT", f"{maps}/none", configmap("none"))
    wrong = configmap("a")
    wrong["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    await api.call("PUT", f"{maps}/a", wrong)


@scenario
async def merge_patches_delete_with_null(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v", l="w"))
    await api.call("PATCH", f"{maps}/a", {"data": {"k": None, "m": "x"}}, kind=MERGE)
    await api.call("PATCH", f"{maps}/none", {"data": {}}, kind=MERGE)
    await api.call("PATCH", f"{maps}/a", "[]", kind=MERGE)
    await api.call("PATCH", f"{maps}/a", {"data": {}}, kind="text/plain")


@scenario
async def json_patches_test_and_move(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v"))
    for operations in (
        [{"op": "add", "path": "/data/l", "value": "w"}],
        [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "remove", "path": "/data/k"}],
        [{"op": "test", "path": "/data/l", "value": "other"}],
        [{"op": "remove", "path": "/data/none"}],
    ):
        await api.call("PATCH", f"{maps}/a", operations, kind=JSON_PATCH)


@scenario
async def strategic_patches_merge_lists_by_their_key(api: Api) -> None:
    body = pod("a", tolerations=[{"key": "x", "operator": "Exists"}])
    await api.call("POST", api.pods, body)
    patch = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    await api.call("PATCH", f"{api.pods}/a", patch, kind=STRATEGIC)
    conditions = {"status": {"conditions": [{"type": "X", "status": "True"}]}}
    await api.call("PATCH", f"{api.pods}/a/status", conditions, kind=STRATEGIC)
    conditions["status"]["conditions"] = [{"type": "Y", "status": "True"}]
    await api.call("PATCH", f"{api.pods}/a/status", conditions, kind=STRATEGIC)
    gone = {"status": {"conditions": [{"$patch": "delete", "type": "X"}]}}
    await api.call("PATCH", f"{api.pods}/a/status", gone, kind=STRATEGIC)


@scenario
async def a_status_write_leaves_the_spec_and_a_spec_write_the_status(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    both = {"metadata": {"labels": {"l": "m"}}, "status": {"phase": "Running"}}
    await api.call("PATCH", f"{api.pods}/a", both, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a/status", both, kind=MERGE)


@scenario
async def a_pods_spec_is_immutable_but_for_a_few_fields(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    for patch in (
        {"spec": {"nodeName": "n"}},
        {"spec": {"schedulerName": "other"}},
        {"spec": {"activeDeadlineSeconds": 30}},
    ):
        await api.call("PATCH", f"{api.pods}/a", patch, kind=MERGE)


@scenario
async def fields_that_do_not_exist_are_refused_warned_about_or_dropped(api: Api) -> None:
    for mode in ("Strict", "Warn", "Ignore"):
        body = pod(f"p-{mode.lower()}", nonsense=1)
        await api.call("POST", f"{api.pods}?fieldValidation={mode}", body)
    await api.call("POST", f"{api.pods}?fieldValidation=Sometimes", pod("a"))


@scenario
async def values_of_a_wrong_type_are_refused(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", priority="high"))
    await api.call("POST", api.pods, {**pod("a"), "spec": {"containers": []}})
    await api.call("POST", api.pods, pod("a", restartPolicy="Sometimes"))


@scenario
async def dry_runs_answer_and_change_nothing(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", f"{maps}?dryRun=All", configmap("a"))
    await api.call("GET", f"{maps}/a")
    await api.call("POST", maps, configmap("a", k="v"))
    await api.call("PATCH", f"{maps}/a?dryRun=All", {"data": {"k": "w"}}, kind=MERGE)
    await api.call("DELETE", f"{maps}/a?dryRun=All")
    await api.call("GET", f"{maps}/a")
    await api.call("POST", f"{maps}?dryRun=Some", configmap("b"))


# ── server-side apply ────────────────────────────────────────────────────────────────────────


@scenario
async def apply_creates_owns_and_gives_up_fields(api: Api) -> None:
    one = f"/api/v1/namespaces/{api.namespace}/configmaps/a?fieldManager=one"
    await api.call("PATCH", one, configmap("a", k="v", l="w"), kind=APPLY)
    await api.call("PATCH", one, configmap("a", k="v"), kind=APPLY)
    await api.call("PATCH", one, configmap("a", k="v"), kind=APPLY)


@scenario
async def two_appliers_conflict_unless_one_forces(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/configmaps/a"
    await api.call("PATCH", f"{path}?fieldManager=one", configmap("a", k="v"), kind=APPLY)
    await api.call("PATCH", f"{path}?fieldManager=two", configmap("a", k="w"), kind=APPLY)
    await api.call("PATCH", f"{path}?fieldManager=two", configmap("a", k="v"), kind=APPLY)
    forced = f"{path}?fieldManager=three&force=true"
    await api.call("PATCH", forced, configmap("a", k="x"), kind=APPLY)
    await api.call("PATCH", path, configmap("a"), kind=APPLY)


@scenario
async def an_applier_meets_an_updater(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", f"{maps}?fieldManager=creator", configmap("a", k="v"))
    await api.call("PATCH", f"{maps}/a?fieldManager=one", configmap("a", k="w"), kind=APPLY)
    await api.call("PATCH", f"{maps}/a?fieldManager=one", configmap("a", l="w"), kind=APPLY)
    changed = f"{maps}/a?fieldManager=updater"
    await api.call("PATCH", changed, {"data": {"l": "x"}}, kind=MERGE)


@scenario
async def apply_merges_conditions_by_type(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"), quiet=True)
    for manager, kind in (("one", "X"), ("two", "Y")):
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "status": {"conditions": [{"type": kind, "status": "True"}]},
        }
        path = f"{api.pods}/a/status?fieldManager={manager}&force=true"
        await api.call("PATCH", path, body, kind=APPLY)


# ── watch ────────────────────────────────────────────────────────────────────────────────────


@scenario
async def a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a"))
    await api.watch(maps, events=1)
    await api.watch(f"{maps}?resourceVersion=0", events=1)


@scenario
async def a_watch_from_a_version_shows_every_later_change(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    listed = await api.call("GET", f"{maps}?fieldSelector=metadata.name=a", quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    await api.call("PATCH", f"{maps}/a", {"data": {"k": "w"}}, kind=MERGE, quiet=True)
    await api.call("DELETE", f"{maps}/a", quiet=True)
    await api.watch(f"{maps}?fieldSelector=metadata.name=a&resourceVersion={version}", events=3)


@scenario
async def an_object_that_stops_matching_a_watch_is_deleted_for_it(api: Api) -> None:
    listed = await api.call("GET", api.pods, quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.call("POST", api.pods, pod("a"), quiet=True)
    for labels in ({"app": "other"}, {"app": "a"}):
        patch = {"metadata": {"labels": labels}}
        await api.call("PATCH", f"{api.pods}/a", patch, kind=MERGE, quiet=True)
    await api.watch(f"{api.pods}?labelSelector=app=a&resourceVersion={version}", events=3)


@scenario
async def a_watch_from_a_strange_version_is_refused(api: Api) -> None:
    await api.call("GET", f"{api.pods}?watch=true&resourceVersion=x")
    await api.call("GET", f"{api.pods}?resourceVersion=x")
    await api.call("GET", f"{api.pods}?resourceVersionMatch=Exact")


# ── deletion ─────────────────────────────────────────────────────────────────────────────────


@scenario
async def an_unbound_pod_goes_at_once(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    await api.call("DELETE", f"{api.pods}/a")
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_bound_pod_waits_for_its_kubelet(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", nodeName="n"))
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 7})
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 3})
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 0})
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_finalizer_holds_an_object_until_it_is_taken_off(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    held = configmap("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.call("POST", maps, held)
    await api.call("DELETE", f"{maps}/a")
    await api.call("DELETE", f"{maps}/a")
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    await api.call("PATCH", f"{maps}/a", more, kind=MERGE)
    await api.call("PATCH", f"{maps}/a", {"metadata": {"finalizers": None}}, kind=MERGE)
    await api.call("GET", f"{maps}/a")


@scenario
async def preconditions_of_a_delete_are_respected(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    reply = await api.call("POST", maps, configmap("a"))
    wrong = "00000000-0000-0000-0000-000000000000"
    await api.call("DELETE", f"{maps}/a", {"preconditions": {"uid": wrong}})
    await api.call("DELETE", f"{maps}/a", {"preconditions": {"resourceVersion": "1"}})
    uid = reply.body["metadata"]["uid"]
    await api.call("DELETE", f"{maps}/a", {"preconditions": {"uid": uid}})


@scenario
async def a_collection_is_deleted_by_selector(api: Api) -> None:
    for name in "ab":
        await api.call("POST", api.pods, pod(name), quiet=True)
    await api.call("DELETE", f"{api.pods}?labelSelector=app=a")
    reply = await api.call("GET", api.pods, quiet=True)
    left = [item["metadata"]["name"] for item in reply.body["items"]]
    api.transcript.append({"request": "left", "status": 200, "body": left})


# ── pods: binding, gates, eviction, priority ─────────────────────────────────────────────────


@scenario
async def a_binding_sets_the_node_the_condition_and_the_annotations(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    body = binding("a", "n", annotations={"x": "y"}, labels={"l": "m"})
    await api.call("POST", f"{api.pods}/a/binding", body)
    await api.call("GET", f"{api.pods}/a")
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "other"))


@scenario
async def bindings_that_do_not_fit_their_pod_are_refused(api: Api) -> None:
    reply = await api.call("POST", api.pods, pod("a"))
    wrong = "00000000-0000-0000-0000-000000000000"
    await api.call("POST", f"{api.pods}/none/binding", binding("none", "n"))
    await api.call("POST", f"{api.pods}/a/binding", binding("b", "n"))
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n", uid=wrong))
    await api.call("POST", f"{api.pods}/a/binding", binding("a", ""))
    uid = reply.body["metadata"]["uid"]
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n", uid=uid))


@scenario
async def gated_pods_are_not_bound_and_gates_only_go(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", schedulingGates=[{"name": "g"}, {"name": "h"}]))
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n"))
    added = {"spec": {"schedulingGates": [{"name": "g"}, {"name": "h"}, {"name": "i"}]}}
    await api.call("PATCH", f"{api.pods}/a", added, kind=MERGE)
    one = {"spec": {"schedulingGates": [{"name": "h"}]}}
    await api.call("PATCH", f"{api.pods}/a", one, kind=MERGE)
    none: dict[str, Any] = {"spec": {"schedulingGates": []}}
    await api.call("PATCH", f"{api.pods}/a", none, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a", one, kind=MERGE)
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n"))


@scenario
async def deleting_pods_are_not_bound(api: Api) -> None:
    held = pod("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.call("POST", api.pods, held, quiet=True)
    await api.call("DELETE", f"{api.pods}/a", quiet=True)
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n"))
    await api.call(
        "PATCH", f"{api.pods}/a", {"metadata": {"finalizers": None}}, kind=MERGE, quiet=True
    )


@scenario
async def of_two_binders_exactly_one_wins(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"), quiet=True)
    replies = await asyncio.gather(
        *(
            api.call("POST", f"{api.pods}/a/binding", binding("a", f"n{i}"), quiet=True)
            for i in range(8)
        )
    )
    statuses = sorted(reply.status for reply in replies)
    api.transcript.append({"request": "8 binders", "status": 0, "body": statuses})


@scenario
async def evictions_respect_budgets(api: Api) -> None:
    path = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    await api.call("POST", api.pods, pod("free"), quiet=True)
    evict = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "free"}}
    await api.call("POST", f"{api.pods}/free/eviction", {**evict, "metadata": {"name": "free"}})
    await api.call("POST", f"{api.pods}/none/eviction", {**evict, "metadata": {"name": "none"}})
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
    }
    await api.call("POST", path, budget)


@scenario
async def priority_comes_from_the_class(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", priorityClassName="system-node-critical"))
    await api.call("POST", api.pods, pod("b", priorityClassName="none"))
    await api.call("POST", api.pods, pod("c", priority=5))


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


# ── other kinds ──────────────────────────────────────────────────────────────────────────────


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
async def tables_are_given_to_those_who_ask(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    reply = await api.call("GET", f"{maps}/a", accept=TABLE, quiet=True)
    columns = [column["name"] for column in reply.body["columnDefinitions"]]
    api.transcript.append(
        {"request": "Table", "status": reply.status, "body": [reply.body["kind"], columns[0]]}
    )


@scenario
async def a_custom_resource_is_served_validated_pruned_and_defaulted(api: Api) -> None:
    group = f"{api.namespace}.example.com"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 9},
                    "mode": {"type": "string", "enum": ["A", "B"], "default": "A"},
                },
                "x-kubernetes-validations": [
                    {"rule": "self.mode != 'B' || self.size > 2", "message": "B needs size > 2"}
                ],
            },
            "status": {"type": "object", "properties": {"seen": {"type": "integer"}}},
        },
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.call("POST", crds, crd, quiet=True)
    things = f"/apis/{group}/v1/namespaces/{api.namespace}/things"
    for _ in range(100):
        if (await api.call("GET", things, quiet=True)).status == 200:
            break
        await asyncio.sleep(0.1)

    def thing(name: str, **spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": f"{group}/v1",
            "kind": "Thing",
            "metadata": {"name": name},
            "spec": spec,
        }

    await api.call("POST", things, {**thing("a", size=3, nonsense=1), "status": {"seen": 1}})
    await api.call("POST", f"{things}?fieldValidation=Strict", thing("s", size=3, nonsense=1))
    await api.call("POST", things, thing("b", size=0))
    await api.call("POST", things, thing("c"))
    await api.call("POST", things, thing("d", size=1, mode="C"))
    await api.call("POST", things, thing("e", size=1, mode="B"))
    await api.call("POST", things, thing("f", size="big"))
    await api.call("PATCH", f"{things}/a", {"spec": {"size": 4}}, kind=MERGE)
    await api.call("PATCH", f"{things}/a/status", {"status": {"seen": 2}}, kind=MERGE)
    await api.call("PATCH", f"{things}/a", {"spec": {"size": 4}}, kind=STRATEGIC)
    await api.call("DELETE", f"{crds}/things.{group}", quiet=True)


@scenario
async def discovery_knows_pods_in_both_shapes(api: Api) -> None:
    legacy = await api.call("GET", "/api/v1", quiet=True)
    found = {entry["name"]: entry for entry in legacy.body["resources"]}
    for name in ("pods", "pods/binding", "pods/eviction", "pods/status", "nodes", "namespaces"):
        entry = found[name]
        entry.pop("storageVersionHash", None)
        api.transcript.append({"request": f"discovery {name}", "status": 200, "body": entry})
    aggregated = await api.call(
        "GET",
        "/api",
        accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        quiet=True,
    )
    body = json.dumps([aggregated.body["kind"], aggregated.body["apiVersion"]])
    api.transcript.append({"request": "aggregated", "status": aggregated.status, "body": body})


@scenario
async def a_terminating_namespace_takes_nothing_new(api: Api) -> None:
    name = f"{api.namespace}-gone"
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}, quiet=True)
    await api.call("POST", f"/api/v1/namespaces/{name}/pods", pod("a"), quiet=True)
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await api.call("PATCH", f"/api/v1/namespaces/{name}/pods/a", held, kind=MERGE, quiet=True)
    await api.call("DELETE", f"/api/v1/namespaces/{name}", quiet=True)
    await api.call("POST", f"/api/v1/namespaces/{name}/pods", pod("b"))
    await api.call("POST", f"/api/v1/namespaces/{name}/pods/a/binding", binding("a", "n"))
    free = {"metadata": {"finalizers": None}}
    await api.call("PATCH", f"/api/v1/namespaces/{name}/pods/a", free, kind=MERGE, quiet=True)
