# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods: defaults, admission, gates, what may change, binding, deletion, eviction."""

import asyncio
from typing import Any

import pytest

from .conftest import MERGE, PODS, STRATEGIC, Client, pod

NAMESPACES = "/api/v1/namespaces"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def binding(name: str, node: str = "n1", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}


async def test_a_pod_is_defaulted_as_the_api_server_does(api: Client) -> None:
    body = pod("a")
    container = body["spec"]["containers"][0]
    container |= {"ports": [{"containerPort": 80}], "readinessProbe": {"exec": {"command": ["x"]}}}
    container["resources"] = {"limits": {"cpu": "1"}}
    created = await api.create(PODS, body)
    spec = created["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["schedulerName"] == "default-scheduler"
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert [t["tolerationSeconds"] for t in spec["tolerations"]] == [300, 300]
    stored = spec["containers"][0]
    assert stored["imagePullPolicy"] == "IfNotPresent"
    assert stored["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert stored["resources"]["requests"] == {"cpu": "1"}
    assert stored["readinessProbe"]["periodSeconds"] == 10
    assert created["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("r:5000/x", "Always"),
        ("x:latest", "Always"),
        ("x:1", "IfNotPresent"),
    ],
)
async def test_the_pull_policy_follows_the_tag(api: Client, image: str, policy: str) -> None:
    created = await api.create(PODS, pod("a", containers=[{"name": "c", "image": image}]))
    assert created["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        pytest.param({}, "BestEffort", id="nothing asked for"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="requests only"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="both limits"),
    ],
)
async def test_the_quality_of_service_follows_the_resources(
    api: Client, resources: dict[str, Any], qos: str
) -> None:
    container = {"name": "c", "image": "x", "resources": resources}
    assert (await api.create(PODS, pod("a", containers=[container])))["status"]["qosClass"] == qos


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"containers": []}, "spec.containers: Required value", id="no containers"),
        pytest.param(
            {"containers": [{"image": "x"}]}, "spec.containers[0].name: Required", id="no name"
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "x"}] * 2},
            'spec.containers[1].name: Duplicate value: "c"',
            id="a name twice",
        ),
        pytest.param(
            {"containers": [{"name": "c"}]}, "containers[0].image: Required value", id="no image"
        ),
        pytest.param({"restartPolicy": "X"}, 'Unsupported value: "X"', id="a wrong policy"),
        pytest.param(
            {"containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "-1"}}}]},
            "must be greater than or equal to 0",
            id="a negative limit",
        ),
    ],
)
async def test_a_malformed_pod_is_invalid(api: Client, spec: dict[str, Any], message: str) -> None:
    status, body = await api.ask("POST", PODS, pod("a", **spec))
    assert (status, body["reason"]) == (422, "Invalid")
    assert message in body["message"]


async def test_the_priority_comes_from_the_class(api: Client) -> None:
    await api.create(PRIORITIES, {"metadata": {"name": "high"}, "value": 100})
    created = await api.create(PODS, pod("a", priorityClassName="high"))
    assert created["spec"]["priority"] == 100
    status, body = await api.ask("POST", PODS, pod("b", priorityClassName="nope"))
    assert (status, body["reason"]) == (403, "Forbidden")
    assert "no PriorityClass with name nope was found" in body["message"]
    assert (await api.ask("POST", PODS, pod("b", priority=5)))[0] == 403


async def test_one_class_may_be_the_default_and_values_never_change(api: Client) -> None:
    default = {"metadata": {"name": "d"}, "value": 7, "globalDefault": True}
    await api.create(PRIORITIES, default)
    created = await api.create(PODS, pod("a"))
    assert (created["spec"]["priority"], created["spec"]["priorityClassName"]) == (7, "d")
    assert (await api.ask("POST", PRIORITIES, {**default, "metadata": {"name": "e"}}))[0] == 403
    assert (await api.ask("PATCH", f"{PRIORITIES}/d", {"value": 8}, MERGE))[0] == 422
    user = {"metadata": {"name": "f"}, "value": 2 * 10**9}
    assert (await api.ask("POST", PRIORITIES, user))[0] == 422


async def test_gates_hold_a_pod_and_can_only_be_removed(api: Client) -> None:
    gates = [{"name": "x/a"}, {"name": "x/b"}]
    created = await api.create(PODS, pod("a", schedulingGates=gates))
    condition = created["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")
    assert (await api.ask("POST", f"{PODS}/a/binding", binding("a")))[0] == 409
    more = {"spec": {"schedulingGates": [*gates, {"name": "x/c"}]}}
    status, body = await api.ask("PATCH", f"{PODS}/a", more, MERGE)
    assert (status, "found new scheduling gate 'x/c'" in body["message"]) == (422, True)
    narrower = {"spec": {"nodeSelector": {"zone": "a"}}}
    await api.patch(f"{PODS}/a", narrower)
    table = await api.get(PODS, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert table["rows"][0]["cells"][2] == "SchedulingGated"
    await api.patch(f"{PODS}/a", {"spec": {"schedulingGates": None}})
    assert (await api.ask("PATCH", f"{PODS}/a", {"spec": {"nodeSelector": None}}, MERGE))[0] == 422
    await api.create(f"{PODS}/a/binding", binding("a"))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param({"spec": {"schedulerName": "z"}}, 422, id="the scheduler's name may not"),
        pytest.param({"spec": {"nodeSelector": {"a": "b"}}}, 422, id="the selector may not"),
        pytest.param({"spec": {"tolerations": [{"key": "x"}]}}, 422, id="tolerations may not go"),
        pytest.param({"spec": {"activeDeadlineSeconds": 9}}, 200, id="a deadline may be set"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, 200, id="labels may"),
    ],
)
async def test_little_of_a_pod_may_change(api: Client, change: Any, status: int) -> None:
    await api.create(PODS, pod("a"))
    assert (await api.ask("PATCH", f"{PODS}/a", change, MERGE))[0] == status


async def test_images_may_change_and_tolerations_be_added(api: Client) -> None:
    created = await api.create(PODS, pod("a"))
    image = {"spec": {"containers": [{"name": "c", "image": "busybox:2"}]}}
    changed = await api.patch(f"{PODS}/a", image, STRATEGIC)
    assert changed["metadata"]["generation"] == 2
    tolerations = [*created["spec"]["tolerations"], {"key": "x", "operator": "Exists"}]
    changed = await api.patch(f"{PODS}/a", {"spec": {"tolerations": tolerations}})
    assert len(changed["spec"]["tolerations"]) == 3


async def test_a_binding_is_one_write_of_node_condition_labels_and_annotations(
    api: Client,
) -> None:
    zone = {"topology.kubernetes.io/zone": "z1"}
    await api.create("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {**zone, "q": "r"}}})
    created = await api.create(PODS, pod("a"))
    async with api.watch(
        f"{PODS}?watch=1&resourceVersion={created['metadata']['resourceVersion']}"
    ) as events:
        body = binding("a", labels={"l": "1"}, annotations={"enbloc.dev/plan": "p"})
        answer = await api.create(f"{PODS}/a/binding", body)
        assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Success", 201)
        event = await anext(events)
    bound = await api.get(f"{PODS}/a")
    assert (event["type"], event["object"]) == ("MODIFIED", bound)
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["labels"] == {"app": "x", "l": "1", **zone}
    assert bound["metadata"]["annotations"] == {"enbloc.dev/plan": "p"}
    assert bound["metadata"]["generation"] == 1
    condition = bound["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        pytest.param(binding("b"), 400, "name in URL does not match", id="another name"),
        pytest.param(binding("a", namespace="z"), 400, "namespace", id="another namespace"),
        pytest.param(binding("a", uid="z"), 409, "Precondition failed: UID", id="another uid"),
        pytest.param(binding("a", resourceVersion="1"), 409, "ResourceVersion", id="old version"),
        pytest.param({"metadata": {"name": "a"}}, 500, "target.name: Required", id="no target"),
        pytest.param(
            {"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "x"}},
            500,
            "target.kind: Unsupported value",
            id="a target that is no node",
        ),
    ],
)
async def test_a_wrong_binding_is_refused(
    api: Client, body: Any, status: int, message: str
) -> None:
    await api.create(PODS, pod("a"))
    found, answer = await api.ask("POST", f"{PODS}/a/binding", body)
    assert (found, message in answer["message"]) == (status, True), answer
    assert "nodeName" not in (await api.get(f"{PODS}/a"))["spec"]


async def test_of_many_binders_exactly_one_wins(api: Client) -> None:
    await api.create(PODS, pod("a"))
    path = f"{PODS}/a/binding"
    answers = await asyncio.gather(
        *(api.ask("POST", path, binding("a", f"n{i}")) for i in range(8))
    )
    statuses = sorted(status for status, _ in answers)
    assert statuses == [201] + [409] * 7
    lost = next(body for status, body in answers if status == 409)
    assert "is already assigned to node" in lost["message"]


async def test_bindings_may_be_posted_to_their_collection_and_tried_dry(api: Client) -> None:
    await api.create(PODS, pod("a"))
    await api.create(f"{PODS}/a/binding?dryRun=All", binding("a"))
    assert "nodeName" not in (await api.get(f"{PODS}/a"))["spec"]
    await api.create("/api/v1/namespaces/default/bindings", binding("a"))
    assert (await api.ask("POST", f"{PODS}/zz/binding", binding("zz")))[0] == 404
    lost = f"{NAMESPACES}/nope/pods/a/binding"
    assert (await api.ask("POST", lost, binding("a")))[0] == 404


async def test_an_unbound_pod_goes_at_once(api: Client) -> None:
    await api.create(PODS, pod("a"))
    status, body = await api.ask("DELETE", f"{PODS}/a")
    assert (status, body["kind"]) == (200, "Pod")
    assert (await api.ask("GET", f"{PODS}/a"))[0] == 404


async def test_a_bound_pod_waits_for_its_kubelet(api: Client) -> None:
    await api.create(PODS, pod("a", nodeName="n1"))
    status, body = await api.ask("DELETE", f"{PODS}/a")
    assert (status, body["metadata"]["deletionGracePeriodSeconds"]) == (200, 30)
    assert body["metadata"]["generation"] == 2
    _, again = await api.ask("DELETE", f"{PODS}/a?gracePeriodSeconds=60")
    assert again == body
    _, sooner = await api.ask("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 5})
    assert sooner["metadata"]["deletionGracePeriodSeconds"] == 5
    assert (await api.ask("POST", f"{PODS}/a/binding", binding("a")))[0] == 409
    table = await api.get(PODS, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert table["rows"][0]["cells"][2] == "Terminating"
    assert (await api.ask("DELETE", f"{PODS}/a?gracePeriodSeconds=0"))[0] == 200
    assert (await api.ask("GET", f"{PODS}/a"))[0] == 404


async def test_a_finished_pod_goes_at_once(api: Client) -> None:
    await api.create(PODS, pod("a", nodeName="n1"))
    await api.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    await api.ask("DELETE", f"{PODS}/a")
    assert (await api.ask("GET", f"{PODS}/a"))[0] == 404


async def test_a_status_write_leaves_the_spec_and_the_quality_of_service(api: Client) -> None:
    await api.create(PODS, pod("a"))
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "qosClass": "Guaranteed"}
    change = {"status": ready, "spec": {"nodeName": "n9"}}
    changed = await api.patch(f"{PODS}/a/status", change, STRATEGIC)
    assert "nodeName" not in changed["spec"]
    assert changed["status"]["qosClass"] == "BestEffort"
    assert changed["status"]["conditions"][0]["lastTransitionTime"] is None
    untouched = await api.patch(f"{PODS}/a", {"status": {"phase": "Running"}})
    assert untouched["status"]["phase"] == "Pending"


async def running(api: Client, name: str, *, ready: bool = True) -> None:
    await api.create(PODS, pod(name, nodeName="n1"))
    conditions = [{"type": "Ready", "status": str(ready)}]
    await api.patch(
        f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": conditions}}
    )


async def budget(api: Client, name: str, **status: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    await api.create(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    await api.patch(f"{BUDGETS}/{name}/status", {"status": status})


async def test_an_eviction_deletes_and_says_why(api: Client) -> None:
    await running(api, "a")
    body = {"metadata": {"name": "a"}, "deleteOptions": {"gracePeriodSeconds": 3}}
    await api.create(f"{PODS}/a/eviction", body)
    evicted = await api.get(f"{PODS}/a")
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 3
    reasons = {c["type"]: c.get("reason") for c in evicted["status"]["conditions"]}
    assert reasons["DisruptionTarget"] == "EvictionByEvictionAPI"
    assert (await api.ask("POST", f"{PODS}/a/eviction", {"metadata": {"name": "b"}}))[0] == 400


async def test_a_budget_that_is_used_up_refuses_evictions(api: Client) -> None:
    await running(api, "a")
    await budget(api, "b", observedGeneration=1, currentHealthy=1, desiredHealthy=1)
    status, body = await api.ask("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})
    assert (status, body["reason"]) == (429, "TooManyRequests")
    assert body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    await api.patch(f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 1}})
    await api.create(f"{PODS}/a/eviction", {"metadata": {"name": "a"}})
    spent = await api.get(f"{BUDGETS}/b")
    assert spent["status"]["disruptionsAllowed"] == 0
    assert list(spent["status"]["disruptedPods"]) == ["a"]


async def test_a_budget_lets_go_of_pods_that_are_not_ready(api: Client) -> None:
    await running(api, "a", ready=False)
    await budget(api, "b", observedGeneration=1, currentHealthy=1, desiredHealthy=1)
    await api.create(f"{PODS}/a/eviction", {"metadata": {"name": "a"}})


async def test_a_budget_nobody_has_looked_at_refuses_and_two_are_an_error(api: Client) -> None:
    await running(api, "a")
    await budget(api, "b")
    assert (await api.ask("POST", f"{PODS}/a/eviction", {}))[0] == 429
    await budget(api, "c", observedGeneration=1, disruptionsAllowed=1)
    assert (await api.ask("POST", f"{PODS}/a/eviction", {}))[0] == 500
    both = {"minAvailable": 1, "maxUnavailable": 1}
    assert (await api.ask("POST", BUDGETS, {"metadata": {"name": "d"}, "spec": both}))[0] == 422
