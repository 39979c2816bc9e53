# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods leave lost nodes as on a real cluster: after what they tolerate, or with their Node."""

from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import NODES, PODS
from enbloc.model.names import REFUSE_KEY, SILENT_KEY
from enbloc_sandbox.nodes.controllers import ControllerPace
from enbloc_sandbox.nodes.kubelet import Pace
from enbloc_sandbox.nodes.lost_pods import patience
from enbloc_sandbox.nodes.shapes import Shape
from sandbox.tests.nodes.conftest import Yard, condition

NODE = Shape("n1", 64_000, 64 * 2**30)
IMPATIENT = ControllerPace(grace=0.5, retry=0.02)
LOST = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
SOFT = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


def tolerating(seconds: int | None = None, key: str = LOST["key"]) -> dict[str, Any]:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", "effect": "NoExecute", **limit}


async def annotate(yard: Yard, key: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {key: value}}}
    await yard.client.patch(NODES, "n1", patch, kind=PatchType.MERGE)


async def hold(yard: Yard, pod: str, finalizers: list[str] | None) -> None:
    patch = {"metadata": {"finalizers": finalizers}}
    await yard.client.patch(PODS, pod, patch, "default", kind=PatchType.MERGE)


def reason(pod: dict[str, Any]) -> str | None:
    conditions = pod["status"].get("conditions") or ()
    return next((one["reason"] for one in conditions if one["type"] == "DisruptionTarget"), None)


@pytest.mark.parametrize(
    ("tolerations", "taints", "seconds"),
    [
        pytest.param([], [], None, id="no taint"),
        pytest.param([], [SOFT], None, id="a taint that only keeps pods away"),
        pytest.param([], [LOST], 0.0, id="not tolerated"),
        pytest.param([tolerating()], [LOST], None, id="tolerated for ever"),
        pytest.param([tolerating(300)], [LOST], 300.0, id="tolerated for a while"),
        pytest.param([tolerating(300), tolerating(5)], [LOST], 5.0, id="the least of several"),
        pytest.param([tolerating(-1)], [LOST], 0.0, id="less than no time"),
        pytest.param(
            [tolerating(300)], [LOST, {"key": "x", "effect": "NoExecute"}], 0.0, id="one of two"
        ),
    ],
)
def test_a_pod_stays_as_long_as_it_tolerates_every_taint(
    tolerations: list[dict[str, Any]], taints: list[dict[str, Any]], seconds: float | None
) -> None:
    assert patience(tolerations, taints) == seconds


async def test_the_pods_of_a_deleted_node_are_collected(yard: Yard) -> None:
    yard.controllers(IMPATIENT)
    await yard.kubelet(NODE)
    await yard.pod("a", "n1")
    await yard.pod("b", "n1", terminationGracePeriodSeconds=3600)
    await yard.phase("a", "Running")
    await hold(yard, "a", ["example.com/look"])
    await yard.client.delete(NODES, "n1")

    failed = await yard.until(PODS, "a", lambda pod: pod["status"]["phase"] == "Failed")
    assert reason(failed) == "DeletionByPodGC"
    assert "reason" not in failed["status"]
    await hold(yard, "a", None)
    await yard.gone(PODS, "a")
    await yard.gone(PODS, "b")


async def test_a_node_that_comes_back_in_time_keeps_its_pods(yard: Yard) -> None:
    yard.controllers(ControllerPace(grace=1.0))
    await yard.client.create(NODES, NODE.manifest())
    made = await yard.pod("a", "n1")
    await yard.client.delete(NODES, "n1")
    await yard.pod("other", "n2")
    await yard.client.create(NODES, NODE.manifest())
    await yard.gone(PODS, "other")

    found = await yard.get(PODS, "a")
    assert found is not None
    assert found["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_pod_of_a_silent_node_ends_when_the_node_is_heard_of_again(yard: Yard) -> None:
    yard.controllers(IMPATIENT)
    await yard.kubelet(NODE, pace=Pace(lease=0.05))
    await yard.pod("stays", "n1", tolerations=[tolerating()])
    await yard.pod("goes", "n1", tolerations=[tolerating(0)])
    await yard.phase("stays", "Running")
    await yard.phase("goes", "Running")
    await annotate(yard, SILENT_KEY, "true")

    leaving = await yard.until(PODS, "goes", lambda pod: "deletionTimestamp" in pod["metadata"])
    assert reason(leaving) == "DeletionByTaintManager"
    node = await yard.get(NODES, "n1")
    assert node is not None
    assert condition(node, "Ready") != "True"

    await annotate(yard, SILENT_KEY, None)
    await yard.gone(PODS, "goes")
    await yard.until(NODES, "n1", lambda node: condition(node, "Ready") == "True")
    kept = await yard.get(PODS, "stays")
    assert kept is not None
    assert "deletionTimestamp" not in kept["metadata"]


async def test_a_node_that_is_said_to_be_lost_while_it_beats_says_that_it_is_there(
    yard: Yard,
) -> None:
    await yard.kubelet(NODE, pace=Pace(lease=0.05))
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    await yard.client.patch(
        NODES,
        "n1",
        {"status": {"conditions": [unknown]}},
        kind=PatchType.STRATEGIC,
        subresource="status",
    )
    await yard.until(NODES, "n1", lambda node: condition(node, "Ready") == "True")


async def test_a_node_refuses_every_pod_until_it_is_told_otherwise(yard: Yard) -> None:
    await yard.kubelet(NODE)
    await annotate(yard, REFUSE_KEY, "UnexpectedAdmissionError")
    await yard.until(NODES, "n1", lambda node: REFUSE_KEY in node["metadata"]["annotations"])
    refused = await yard.pod("a", "n1")
    refused = await yard.phase(refused["metadata"]["name"], "Failed")
    assert refused["status"]["reason"] == "UnexpectedAdmissionError"
    assert "containerStatuses" not in refused["status"]

    await annotate(yard, REFUSE_KEY, None)
    await yard.pod("b", "n1")
    await yard.phase("b", "Running")
