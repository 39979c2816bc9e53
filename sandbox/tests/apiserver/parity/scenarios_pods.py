# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Pods: binding, gates, eviction, priority."""

import asyncio
from typing import Any

from sandbox.tests.apiserver.parity.recorder import MERGE, STRATEGIC, Api
from sandbox.tests.apiserver.parity.talk import binding, pod, scenario


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
    api.note("8 binders", 0, statuses)


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


def budget(name: str, app: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
    }


async def run(api: Api, name: str) -> None:
    """A pod that runs and is ready."""
    await api.call("POST", api.pods, pod(name, nodeName="n"), quiet=True)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await api.call("PATCH", f"{api.pods}/{name}/status", {"status": ready}, kind=MERGE, quiet=True)


def eviction(name: str) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}


@scenario
async def an_eviction_takes_from_the_budget_until_it_is_empty(api: Api) -> None:
    path = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    await api.call("POST", path, budget("b", "a"), quiet=True)
    await run(api, "a")
    await api.call("POST", f"{api.pods}/a/eviction", eviction("a"))
    allowed = {
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": 1,
            "currentHealthy": 2,
            "desiredHealthy": 1,
            "expectedPods": 2,
        }
    }
    await api.call("PATCH", f"{path}/b/status", allowed, kind=MERGE)
    await api.call("POST", f"{api.pods}/a/eviction?dryRun=All", eviction("a"))
    await api.call("POST", f"{api.pods}/a/eviction", eviction("other"))
    await api.call("POST", f"{api.pods}/a/eviction", eviction("a"))
    await api.call("GET", f"{api.pods}/a")
    await api.call("GET", f"{path}/b")
    blocked = pod("c", nodeName="n")
    blocked["metadata"]["labels"] = {"app": "a"}
    await api.call("POST", api.pods, blocked, quiet=True)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await api.call("PATCH", f"{api.pods}/c/status", {"status": ready}, kind=MERGE, quiet=True)
    await api.call("POST", f"{api.pods}/c/eviction", eviction("c"))


@scenario
async def two_budgets_for_one_pod_are_an_error(api: Api) -> None:
    path = f"/apis/policy/v1/namespaces/{api.namespace}/poddisruptionbudgets"
    for name in ("one", "two"):
        await api.call("POST", path, budget(name, "a"), quiet=True)
    await run(api, "a")
    await api.call("POST", f"{api.pods}/a/eviction", eviction("a"))


@scenario
async def priority_classes_have_one_default_and_a_value_for_ever(api: Api) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    def priority(name: str, **rest: Any) -> dict[str, Any]:
        head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        return {**head, "metadata": {"name": f"{api.namespace}-{name}"}, **rest}

    await api.call("POST", classes, priority("one", value=7, globalDefault=True))
    await api.call("POST", api.pods, pod("a"))
    await api.call("POST", classes, priority("two", value=8, globalDefault=True))
    await api.call("POST", classes, priority("high", value=2000000000))
    await api.call("POST", classes, {**priority("x", value=1), "metadata": {"name": "system-x"}})
    name = f"{classes}/{api.namespace}-one"
    await api.call("PATCH", name, {"value": 8}, kind=MERGE)
    await api.call("PATCH", name, {"preemptionPolicy": "Never"}, kind=MERGE)
    await api.call("PATCH", name, {"description": "text"}, kind=MERGE)
    await api.call("DELETE", name)


@scenario
async def bindings_are_also_made_at_their_own_path(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/bindings"
    await api.call("POST", api.pods, pod("a"), quiet=True)
    await api.call("POST", path, binding("none", "n"))
    await api.call("POST", path, binding("a", "n", annotations={"x": "y"}))
    await api.call("POST", path, binding("a", "n"))
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n", namespace="other"))


@scenario
async def tolerations_may_be_added_but_not_taken(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", tolerations=[{"key": "x", "operator": "Exists"}]))
    reply = await api.call("GET", f"{api.pods}/a", quiet=True)
    had = reply.body["spec"]["tolerations"]
    more = {"spec": {"tolerations": [*had, {"key": "y", "operator": "Exists"}]}}
    await api.call("PATCH", f"{api.pods}/a", more, kind=MERGE)
    reply = await api.call(
        "PATCH", f"{api.pods}/a", {"spec": {"tolerations": had}}, kind=MERGE, quiet=True
    )
    api.note("fewer", reply.status, reply.body["reason"])
    gated = pod("b", schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"})
    await api.call("POST", api.pods, gated, quiet=True)
    narrower = {"spec": {"nodeSelector": {"c": "d"}}}
    await api.call("PATCH", f"{api.pods}/b", narrower, kind=MERGE)
    other = {"spec": {"nodeSelector": {"a": "c"}}}
    reply = await api.call("PATCH", f"{api.pods}/b", other, kind=MERGE, quiet=True)
    api.note("other", reply.status, reply.body["reason"])


@scenario
async def a_scheduler_reports_what_it_could_not_do(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"), quiet=True)
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = {"status": {"conditions": [condition], "nominatedNodeName": "n"}}
    await api.call("PATCH", f"{api.pods}/a/status", patch, kind=STRATEGIC)
    await api.call("PATCH", f"{api.pods}/a/status", patch, kind=STRATEGIC)
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n"))
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_pod_runs_and_ends(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", nodeName="n", restartPolicy="Never"), quiet=True)
    running = {
        "status": {
            "phase": "Running",
            "startTime": "2026-01-01T00:00:00Z",
            "podIP": "10.0.0.1",
            "containerStatuses": [
                {
                    "name": "c",
                    "image": "i:1",
                    "imageID": "",
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                }
            ],
        }
    }
    await api.call("PATCH", f"{api.pods}/a/status", running, kind=STRATEGIC)
    ended = {"status": {"phase": "Succeeded"}}
    await api.call("PATCH", f"{api.pods}/a/status", ended, kind=STRATEGIC)
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n"))
    await api.call("DELETE", f"{api.pods}/a")
    await api.call("GET", f"{api.pods}/a")


@scenario
async def dry_runs_of_bindings_and_deletions_change_nothing(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"), quiet=True)
    await api.call("POST", f"{api.pods}/a/binding?dryRun=All", binding("a", "n"))
    await api.call("DELETE", f"{api.pods}/a?dryRun=All")
    await api.call("DELETE", f"{api.pods}?dryRun=All", {"gracePeriodSeconds": 0})
    body = pod("b")
    await api.call("POST", f"{api.pods}?dryRun=All", body)
    await api.call("GET", f"{api.pods}/a")


@scenario
async def pods_that_make_no_sense_are_refused(api: Api) -> None:
    container = {"name": "c", "image": "i"}
    more_than_the_limit = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    for spec in (
        {"containers": [container, container]},
        {"containers": [{"name": "C_", "image": "i"}]},
        {"containers": [{"name": "c"}]},
        {"containers": [{**container, "resources": {"requests": {"cpu": "-1"}}}]},
        {"containers": [{**container, "resources": more_than_the_limit}]},
        {"containers": [{**container, "resources": {"requests": {"nvidia.com/gpu": "1"}}}]},
        {"containers": [{**container, "resources": {"limits": {"nvidia.com/gpu": "1500m"}}}]},
        {"containers": [container], "tolerations": [{"operator": "Equal"}]},
        {"containers": [container], "tolerations": [{"key": "a", "operator": "Odd"}]},
        {"containers": [container], "nodeSelector": {"a b": "c"}},
        {"containers": [container], "schedulingGates": [{"name": "a b"}]},
        {"containers": [container], "schedulingGates": [{"name": "a"}], "nodeName": "n"},
        {"containers": [container], "terminationGracePeriodSeconds": -1},
    ):
        body = {"metadata": {"name": "a"}, "spec": spec}
        await api.call("POST", f"{api.pods}?dryRun=All", body)
