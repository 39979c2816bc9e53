# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import LEASES, NODES, PODS
from enbloc.model.names import EXIT_CODE_KEY, RUN_SECONDS_KEY
from enbloc_sandbox.nodes.kubelet import LEASE_NAMESPACE, Pace
from enbloc_sandbox.nodes.shapes import Shape
from sandbox.tests.nodes.conftest import Yard, condition

GIB = 2**30
NODE = Shape("n1", 4_000, 8 * GIB, 4, "T4")
QUICK = Pace(lease=0.05, status=0.2)


def runs(seconds: str, code: str = "0") -> dict[str, str]:
    return {RUN_SECONDS_KEY: seconds, EXIT_CODE_KEY: code}


async def renewed(yard: Yard) -> str:
    lease = await yard.client.get(LEASES, "n1", LEASE_NAMESPACE)
    return str(lease["spec"]["renewTime"])


async def test_a_node_is_registered_ready_with_its_size_and_a_lease(yard: Yard) -> None:
    await yard.kubelet(NODE)
    node = await yard.get(NODES, "n1")
    assert node is not None
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert node["status"]["capacity"]["cpu"] == "4"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert node["status"]["nodeInfo"]["architecture"] == "amd64"
    lease = await yard.client.get(LEASES, "n1", LEASE_NAMESPACE)
    assert lease["spec"]["holderIdentity"] == "n1"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_the_lease_and_the_status_are_renewed(yard: Yard) -> None:
    await yard.kubelet(NODE, pace=QUICK)
    first = await renewed(yard)
    lost = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    await yard.client.patch(NODES, "n1", lost, kind=PatchType.STRATEGIC, subresource="status")
    await yard.until(NODES, "n1", lambda node: condition(node, "Ready") == "True")
    assert await renewed(yard) > first


async def test_a_missed_heartbeat_is_made_up_for(yard: Yard) -> None:
    await yard.kubelet(NODE, pace=QUICK)
    yard.sandbox.faults.add(verb="patch", resource="leases", status=500)
    await asyncio.sleep(0.2)
    first = await renewed(yard)
    yard.sandbox.faults.clear()
    await yard.until(NODES, "n1", lambda node: condition(node, "Ready") == "True")
    for _ in range(100):
        if await renewed(yard) > first:
            return
        await asyncio.sleep(0.02)
    pytest.fail("the Lease was not renewed again")


async def test_a_bound_pod_runs_and_says_so_as_a_kubelet_does(yard: Yard) -> None:
    await yard.kubelet(NODE)
    await yard.pod("p", "n1", initContainers=[{"name": "init", "image": "busybox"}])
    status = (await yard.phase("p", "Running"))["status"]
    assert status["podIP"].startswith("10.")
    assert status["hostIP"] == "10.128.0.1"
    assert status["startTime"]
    kinds = {one["type"] for one in status["conditions"] if one["status"] == "True"}
    assert kinds >= {"Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers"}
    assert status["containerStatuses"][0]["state"]["running"]["startedAt"]
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def ready(pod: dict[str, Any]) -> tuple[str, str, str]:
    """Condition Ready: its status, its reason and its message."""
    [found] = (one for one in pod["status"]["conditions"] if one["type"] == "Ready")
    return found["status"], found.get("reason", ""), found.get("message", "")


async def say(yard: Yard, name: str, kind: str, status: str) -> None:
    """Write a condition of a pod, as whoever owns it does."""
    body = {"status": {"conditions": [{"type": kind, "status": status}]}}
    await yard.client.patch(
        PODS, name, body, "default", kind=PatchType.STRATEGIC, subresource="status"
    )


async def test_a_pod_is_ready_only_while_its_readiness_gates_are_true(yard: Yard) -> None:
    await yard.kubelet(NODE)
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    await yard.pod("p", "n1", readinessGates=gates)
    pod = await yard.phase("p", "Running")
    missing = 'corresponding condition of pod readiness gate "example.com/{}" does not exist.'
    both = f"{missing.format('a')}, {missing.format('b')}"
    assert ready(pod) == ("False", "ReadinessGatesNotReady", both)
    assert condition(pod, "ContainersReady") == "True"

    await say(yard, "p", "example.com/a", "False")
    words = 'the status of pod readiness gate "example.com/a" is not "True", but False'
    words = f"{words}, {missing.format('b')}"
    await yard.until(PODS, "p", lambda pod: ready(pod)[2] == words)

    await say(yard, "p", "example.com/a", "True")
    await say(yard, "p", "example.com/b", "True")
    await yard.until(PODS, "p", lambda pod: ready(pod) == ("True", "", ""))

    await say(yard, "p", "example.com/b", "Unknown")
    words = 'the status of pod readiness gate "example.com/b" is not "True", but Unknown'
    await yard.until(PODS, "p", lambda pod: ready(pod)[2] == words)


async def test_a_gate_that_opened_while_no_kubelet_ran_makes_the_pod_ready(yard: Yard) -> None:
    first = await yard.kubelet(NODE)
    await yard.pod("p", "n1", readinessGates=[{"conditionType": "example.com/a"}])
    assert ready(await yard.phase("p", "Running"))[0] == "False"
    await yard.stop(first)
    await say(yard, "p", "example.com/a", "True")
    await yard.kubelet(NODE)
    await yard.until(PODS, "p", lambda pod: ready(pod)[0] == "True")


async def test_a_pod_that_ended_is_not_ready_whatever_its_gates_say(yard: Yard) -> None:
    await yard.kubelet(NODE)
    gates = [{"conditionType": "example.com/a"}]
    await yard.pod("p", "n1", readinessGates=gates, annotations=runs("0.5"))
    await yard.phase("p", "Running")
    await say(yard, "p", "example.com/a", "True")
    await yard.until(PODS, "p", lambda pod: ready(pod)[0] == "True")
    pod = await yard.phase("p", "Succeeded")
    assert ready(pod)[:2] == ("False", "PodCompleted")


async def test_a_pod_that_no_one_has_bound_and_one_of_a_strange_node_stay(yard: Yard) -> None:
    await yard.kubelet(NODE)
    await yard.pod("unbound")
    await yard.pod("strange", "elsewhere")
    await yard.pod("ours", "n1")
    await yard.phase("ours", "Running")
    for name in ("unbound", "strange"):
        await yard.phase(name, "Pending")


@pytest.mark.parametrize(
    ("code", "phase"),
    [pytest.param("0", "Succeeded", id="0"), pytest.param("3", "Failed", id="3")],
)
async def test_a_pod_ends_after_its_run_seconds_with_its_exit_code(
    yard: Yard, code: str, phase: str
) -> None:
    await yard.kubelet(NODE)
    await yard.pod("p", "n1", annotations=runs("0.05", code))
    status = (await yard.phase("p", phase))["status"]
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)
    assert {one["type"]: one["status"] for one in status["conditions"]}["Ready"] == "False"


@pytest.mark.parametrize(
    ("annotations", "named"),
    [
        pytest.param(runs("soon"), RUN_SECONDS_KEY, id="run-seconds"),
        pytest.param(runs("1", "-1"), EXIT_CODE_KEY, id="exit-code"),
    ],
)
async def test_an_annotation_that_cannot_be_read_is_named(
    yard: Yard, annotations: dict[str, str], named: str
) -> None:
    await yard.kubelet(NODE)
    await yard.pod("p", "n1", annotations=annotations)
    status = (await yard.phase("p", "Failed"))["status"]
    assert status["reason"] == "InvalidAnnotation"
    assert named in status["message"]


async def test_a_node_takes_what_fits_and_refuses_the_rest(yard: Yard) -> None:
    await yard.kubelet(NODE)
    await yard.pod("first", "n1", cpu="3")
    await yard.phase("first", "Running")
    await yard.pod("large", "n1", cpu="2")
    status = (await yard.phase("large", "Failed"))["status"]
    assert status["reason"] == "OutOfcpu"
    assert "requested: 2, used: 3, capacity: 4" in status["message"]
    await yard.pod("gpus", "n1", gpu=5)
    assert (await yard.phase("gpus", "Failed"))["status"]["reason"] == "OutOfnvidia.com/gpu"
    await yard.pod("picky", "n1", nodeSelector={"zone": "z1"})
    assert (await yard.phase("picky", "Failed"))["status"]["reason"] == "NodeAffinity"


async def test_a_label_put_on_just_before_counts(yard: Yard) -> None:
    """The watch of nodes may be behind that of pods."""
    yard.sandbox.faults.add(verb="watch", resource="nodes", hang=True)
    await yard.kubelet(NODE)
    label = {"metadata": {"labels": {"zone": "z1"}}}
    await yard.client.patch(NODES, "n1", label, kind=PatchType.MERGE)
    await yard.pod("picky", "n1", nodeSelector={"zone": "z1"})
    await yard.phase("picky", "Running")


async def test_room_is_free_as_soon_as_a_pod_has_finished(yard: Yard) -> None:
    await yard.kubelet(NODE)
    for i in range(4):
        await yard.pod(f"p{i}", "n1", cpu="4", annotations=runs("0"))
        await yard.phase(f"p{i}", "Succeeded")


async def test_a_deletion_is_confirmed_and_frees_the_room(yard: Yard) -> None:
    await yard.kubelet(NODE)
    await yard.pod("p", "n1", cpu="4")
    await yard.phase("p", "Running")
    await yard.client.delete(PODS, "p", "default")
    await yard.gone(PODS, "p")
    await yard.pod("p", "n1", cpu="4")
    await yard.phase("p", "Running")


async def test_a_restarted_kubelet_keeps_what_runs_and_ends_it_in_time(yard: Yard) -> None:
    first = await yard.kubelet(NODE)
    await yard.pod("stays", "n1", cpu="2")
    await yard.pod("ends", "n1", cpu="1", annotations=runs("5"))
    before = await yard.phase("stays", "Running")
    await yard.phase("ends", "Running")
    await yard.stop(first)
    await yard.pod("new", "n1", cpu="2")
    await yard.kubelet(NODE)
    assert (await yard.phase("new", "Failed"))["status"]["reason"] == "OutOfcpu"
    await yard.phase("ends", "Succeeded")
    after = await yard.phase("stays", "Running")
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_a_server_that_falls_silent_loses_no_pod(yard: Yard) -> None:
    await yard.kubelet(NODE)
    yard.sandbox.faults.add(verb="patch", resource="pods/status", status=500, times=3)
    await yard.pod("p", "n1")
    await yard.phase("p", "Running")
    yard.sandbox.faults.expire_watches()
    await yard.pod("q", "n1")
    await yard.phase("q", "Running")


async def test_a_deleted_node_is_a_machine_gone(yard: Yard) -> None:
    await yard.kubelet(NODE, pace=QUICK)
    await yard.client.delete(NODES, "n1")
    await yard.gone(NODES, "n1")
    await asyncio.sleep(0.2)
    assert await yard.get(NODES, "n1") is None


async def test_many_nodes_share_one_kubelet(yard: Yard) -> None:
    shapes = [Shape(f"n{i}", 4_000, GIB) for i in range(30)]
    await yard.kubelet(*shapes)
    for shape in shapes:
        await yard.pod(f"p-{shape.name}", shape.name)
    found: list[dict[str, Any]] = [
        await yard.phase(f"p-{shape.name}", "Running") for shape in shapes
    ]
    assert len({one["status"]["podIP"] for one in found}) == 30
