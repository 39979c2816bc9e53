# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A pod's claims get their volumes before it is bound, or a message says why not."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from enbloc.framework.act import Reply, Target
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.pods import PodKey, PodUID
from enbloc.plugins.volume_binding import act
from enbloc.storage.decisions import VolumeClaimDecision, VolumeDecision, VolumeRef
from tests.plugins.cluster import Cluster, Fault, once, times

PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
TARGET = Target("plan-1", PodKey("ns", "p"), PodUID("uid-p"), "n1")
SELECTED = "volume.kubernetes.io/selected-node"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
ZONE_A = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        ]
    }
}


def static(claim: str = "c", volume: str = "v") -> VolumeClaimDecision:
    return VolumeClaimDecision(f"ns/{claim}", f"uid-{claim}", VolumeRef(volume, "uid-v"))


def made(claim: str = "c") -> VolumeClaimDecision:
    return VolumeClaimDecision(f"ns/{claim}", f"uid-{claim}")


class World(Cluster):
    """A claim, a volume, a node and a control plane that binds what is to be bound in a second.

    Attributes:
        controller: it works.
    """

    def __init__(self) -> None:
        super().__init__()
        self.controller = True
        self.put("Node", "n1", namespace="", metadata={"labels": {"zone": "a"}})
        self.put("Pod", "p", spec={})
        self.put(PVC, "c", spec={})
        self.put(PV, "v", namespace="", spec={"nodeAffinity": ZONE_A})
        self.told = self._act

    def _act(self, kind: str, body: dict[str, Any]) -> None:
        if not self.controller:
            return
        name = body["metadata"]["name"]
        if kind == PV and (claim := body.get("spec", {}).get("claimRef")):
            self.after_seconds(1, self.bind_claim, claim["name"], name)
        selected = body["metadata"].get("annotations", {}).get(SELECTED)
        if kind == PVC and selected and not body["spec"].get("volumeName"):
            self.after_seconds(1, self.bind_claim, name, "v")

    def bind_claim(self, claim: str, volume: str) -> None:
        self.edit(PVC, claim, {"spec": {"volumeName": volume}, "metadata": {"annotations": BOUND}})

    async def prepare(self, *claims: VolumeClaimDecision, timeout: float = 600) -> Status:
        return await act.pre_bind(VolumeDecision(claims), TARGET, self, timeout)

    async def unreserve(self, *claims: VolumeClaimDecision) -> Status:
        return await act.unreserve(VolumeDecision(claims), TARGET, self)

    @property
    def selected(self) -> str | None:
        found: str | None = self.get(PVC, "c")["metadata"].get("annotations", {}).get(SELECTED)
        return found


def clock() -> float:
    return asyncio.get_running_loop().time()


# ── what is written ──────────────────────────────────────────────────────────────────────────


async def test_a_volume_that_exists_is_claimed_as_kube_scheduler_does_and_waited_for() -> None:
    world = World()
    assert await world.prepare(static()) == SUCCESS
    assert world.sent == ["patch PersistentVolume v"]
    volume = world.get(PV, "v", "")
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    reference = volume["spec"]["claimRef"]
    assert {**reference, "resourceVersion": ""} == {
        "apiVersion": "v1",
        "kind": PVC,
        "namespace": "ns",
        "name": "c",
        "uid": "uid-c",
        "resourceVersion": "",
    }
    assert clock() == 1


async def test_a_volume_that_its_user_gave_to_the_claim_is_not_said_to_be_bound_by_us() -> None:
    world = World()
    world.edit(PV, "v", {"spec": {"claimRef": {"namespace": "ns", "name": "c"}}}, "")
    await world.prepare(static())
    volume = world.get(PV, "v", "")
    assert volume["spec"]["claimRef"]["uid"] == "uid-c"
    assert "annotations" not in volume["metadata"]


async def test_a_volume_is_made_for_the_node_of_the_pod() -> None:
    world = World()
    assert await world.prepare(made()) == SUCCESS
    assert world.sent == ["patch PersistentVolumeClaim c"]
    assert world.selected == "n1"


async def test_a_volume_that_members_share_is_made_for_the_node_that_was_decided() -> None:
    world = World()
    world.put("Node", "n2", namespace="", metadata={"labels": {"zone": "a"}})
    shared = made()._replace(node="n2")
    assert await world.prepare(shared) == SUCCESS
    assert world.selected == "n2"
    assert await world.prepare(shared) == SUCCESS
    assert world.sent == ["patch PersistentVolumeClaim c"]


async def test_a_member_that_does_not_reach_a_shared_volume_is_not_bound() -> None:
    world = World()
    world.put("Node", "n2", namespace="", metadata={"labels": {"zone": "b"}})
    world.edit("Node", "n1", {"metadata": {"labels": {"zone": "b"}}}, "")
    status = await world.prepare(made()._replace(node="n2"))
    assert 'pv "v" node affinity doesn\'t match node "n1"' in status.message


async def test_the_node_of_a_shared_volume_that_is_not_made_yet_is_taken_back() -> None:
    world = World()
    world.controller = False
    shared = made()._replace(node="n2")
    await world.prepare(shared, timeout=1)
    assert world.selected == "n2"
    assert await world.unreserve(shared) == SUCCESS
    assert world.selected is None


async def test_volumes_are_written_before_claims() -> None:
    world = World()
    world.put(PVC, "d", spec={})
    assert await world.prepare(made("d"), static("c")) == SUCCESS
    assert world.sent == ["patch PersistentVolume v", "patch PersistentVolumeClaim d"]


@pytest.mark.parametrize(
    "claim", [pytest.param(static(), id="static"), pytest.param(made(), id="made")]
)
async def test_what_is_as_wanted_is_not_written_again(claim: VolumeClaimDecision) -> None:
    world = World()
    await world.prepare(claim)
    world.sent.clear()
    assert await world.prepare(claim) == SUCCESS
    assert world.sent == []


async def test_after_a_restart_in_the_middle_it_goes_on_where_it_was() -> None:
    world = World()
    first = asyncio.create_task(world.prepare(made()))
    await asyncio.sleep(0.5)
    first.cancel()
    world.sent.clear()
    assert await world.prepare(made()) == SUCCESS
    assert world.sent == []
    assert clock() == 1


# ── what may happen meanwhile ────────────────────────────────────────────────────────────────


def reset(world: World) -> None:
    world.edit(PV, "v", {"spec": {"claimRef": None}}, "")


def steal(world: World) -> None:
    other = {"namespace": "ns", "name": "other", "uid": "uid-other"}
    world.edit(PV, "v", {"spec": {"claimRef": other}}, "")


def fail(world: World) -> None:
    world.edit(PVC, "c", {"metadata": {"annotations": {SELECTED: None, "other": "x"}}})


def forget(world: World) -> None:
    world.edit(PVC, "c", {"metadata": {"annotations": None}})


def recreate(world: World) -> None:
    world.drop(PVC, "c")
    world.put(PVC, "c", uid="uid-another", spec={})


def delete(world: World) -> None:
    world.edit(PVC, "c", {"metadata": {"deletionTimestamp": "now", "finalizers": ["protection"]}})


def lose(world: World) -> None:
    world.edit(PVC, "c", {"status": {"phase": "Lost"}, "spec": {"volumeName": "v"}})


def misplace(world: World) -> None:
    world.edit("Node", "n1", {"metadata": {"labels": {"zone": "b"}}}, "")
    world.bind_claim("c", "v")


@pytest.mark.parametrize(
    ("claim", "happens", "message"),
    [
        pytest.param(static(), reset, 'ClaimRef got reset for pv "v"', id="claimRef is reset"),
        pytest.param(
            static(), steal, 'pv "v" was claimed by ns/other in the meantime', id="claimRef changes"
        ),
        pytest.param(
            made(),
            fail,
            'provisioning failed for PVC "c"; look at its events',
            id="provisioning fails",
        ),
        pytest.param(
            made(), forget, 'selectedNode annotation reset for PVC "c"', id="annotations are gone"
        ),
        pytest.param(
            made(), recreate, f"{PVC} ns/c was deleted and created again", id="another claim"
        ),
        pytest.param(
            made(), delete, 'persistentvolumeclaim "c" is being deleted', id="claim is deleted"
        ),
        pytest.param(
            made(),
            lose,
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="claim is lost",
        ),
        pytest.param(
            static(),
            misplace,
            'pv "v" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
            id="node loses its label",
        ),
        pytest.param(
            made(),
            lambda world: world.drop(PVC, "c"),
            f'failed to check binding: {PVC} ns/c: {PVC} "c" not found',
            id="claim is gone",
        ),
        pytest.param(
            made(),
            lambda world: (world.drop("Node", "n1", ""), world.bind_claim("c", "v")),
            'failed to get node "n1": Node "n1" not found',
            id="node is gone",
        ),
    ],
)
async def test_a_claim_that_will_not_be_bound_ends_the_wait_at_once(
    claim: VolumeClaimDecision, happens: Callable[[World], Any], message: str
) -> None:
    world = World()
    world.controller = False
    world.after_seconds(100, happens, world)
    assert await world.prepare(claim) == Status(Code.ERROR, f"binding volumes: {message}")
    assert clock() == 100


async def test_a_claim_that_stays_unbound_is_named_when_the_time_is_over() -> None:
    world = World()
    world.controller = False
    status = await world.prepare(made(), timeout=45)
    assert status.message == (
        "binding volumes: PersistentVolumeClaim ns/c is not bound after 45s; look at its events"
    )
    assert clock() == 45


async def test_what_the_watch_has_missed_is_found_by_a_look() -> None:
    world = World()
    world.lag = 1e6
    assert await world.prepare(made()) == SUCCESS
    assert clock() == act.LOOK_SECONDS


async def test_a_wait_asks_nothing_of_the_server_while_nothing_happens() -> None:
    world = World()
    world.controller = False
    world.after_seconds(29, world.bind_claim, "c", "v")
    await world.prepare(made())
    # The claim for the write and after the wait; its volume and the node at the end.
    assert world.reads == 4


# ── what may be different when it is written ─────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("claim", "happened", "message"),
    [
        pytest.param(
            static(),
            lambda world: world.bind_claim("c", "other"),
            f"{PVC} ns/c is bound to other by now",
            id="claim has another volume",
        ),
        pytest.param(
            static(),
            steal,
            f"{PV} v was claimed by ns/other in the meantime",
            id="volume has another claim",
        ),
        pytest.param(
            static(),
            lambda world: (world.drop(PV, "v", ""), world.put(PV, "v", "", uid="uid-w", spec={})),
            f"{PV} v was deleted and created again",
            id="another volume",
        ),
        pytest.param(
            static(),
            lambda world: world.edit(
                PV, "v", {"metadata": {"deletionTimestamp": "now", "finalizers": ["x"]}}, ""
            ),
            f"{PV} v is being deleted",
            id="volume is deleted",
        ),
        pytest.param(
            static(),
            lambda world: world.drop(PV, "v", ""),
            f'{PV} v: {PV} "v" not found',
            id="volume is gone",
        ),
        pytest.param(static(), recreate, f"{PVC} ns/c was deleted and created again", id="claim"),
        pytest.param(
            made(),
            lambda world: world.edit(PVC, "c", {"metadata": {"annotations": {SELECTED: "n2"}}}),
            f"{PVC} ns/c was given to node n2 in the meantime",
            id="claim has another node",
        ),
        pytest.param(
            made(),
            lambda world: world.drop(PVC, "c"),
            f'{PVC} ns/c: {PVC} "c" not found',
            id="gone",
        ),
        pytest.param(
            static(),
            lambda world: world.put(PV, "v", "", uid="uid-v", spec=[]),
            f"{PV} v cannot be read",
            id="volume cannot be read",
        ),
    ],
)
async def test_what_is_no_more_as_it_was_decided_about_is_not_written(
    claim: VolumeClaimDecision, happened: Callable[[World], Any], message: str
) -> None:
    world = World()
    world.controller = False
    happened(world)
    assert await world.prepare(claim) == Status(Code.ERROR, message)
    assert world.sent == []


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        pytest.param(once(Reply(409, message="modified"), f"patch {PVC}"), 2, id="a conflict"),
        pytest.param(once(Reply(0, message="reset"), f"patch {PVC}"), 2, id="a reset"),
        pytest.param(
            times(5, Reply(503, message="down"), f"patch {PVC}"), 6, id="the server fails"
        ),
        pytest.param(times(5, Reply(429, message="busy"), f"get {PVC}"), 1, id="it is busy"),
    ],
)
async def test_what_passes_is_waited_out(fault: Fault, sent: int) -> None:
    world = World()
    world.before = fault
    assert await world.prepare(made()) == SUCCESS
    assert len(world.sent) == sent


async def test_a_write_whose_answer_was_lost_is_not_sent_twice() -> None:
    world = World()
    world.after = once(Reply(0, message="reset"), f"patch {PVC}")
    assert await world.prepare(made()) == SUCCESS
    assert world.sent == [f"patch {PVC} c"]


async def test_the_second_of_two_schedulers_sees_that_the_first_has_claimed_the_volume() -> None:
    world = World()
    world.controller = False

    def first(verb: str, kind: str, name: str) -> Reply | None:
        if f"{verb} {kind}" == f"patch {PV}" and "claimRef" not in world.get(PV, name, "")["spec"]:
            steal(world)
        return None

    world.before = first
    status = await world.prepare(static())
    assert status.message == f"{PV} v was claimed by ns/other in the meantime"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            times(10**6, Reply(503, message="etcd is down"), f"patch {PVC}"),
            f"{PVC} ns/c: etcd is down",
            id="the server is down",
        ),
        pytest.param(
            once(Reply(403, message="forbidden"), f"patch {PVC}"),
            f"{PVC} ns/c: forbidden",
            id="forbidden",
        ),
        pytest.param(
            once(Reply(422, message="invalid"), f"patch {PVC}"),
            f"{PVC} ns/c: invalid",
            id="invalid",
        ),
        pytest.param(
            times(10**6, Reply(409, message="modified"), f"patch {PVC}"),
            f"{PVC} ns/c: modified",
            id="conflicts without end",
        ),
    ],
)
async def test_what_does_not_pass_ends_in_a_message(fault: Fault, message: str) -> None:
    world = World()
    world.before = fault
    assert await world.prepare(made()) == Status(Code.ERROR, message)
    assert clock() < 60


# ── taking it back ───────────────────────────────────────────────────────────────────────────


async def test_a_claim_without_a_volume_goes_with_the_pod_to_another_node() -> None:
    world = World()
    world.controller = False
    await world.prepare(made(), timeout=1)
    assert world.selected == "n1"
    assert await world.unreserve(made()) == SUCCESS
    assert world.selected is None


@pytest.mark.parametrize(
    ("claim", "happened"),
    [
        pytest.param(made(), lambda world: world.bind_claim("c", "v"), id="it has a volume"),
        pytest.param(
            made(),
            lambda world: world.edit("Pod", "p", {"spec": {"nodeName": "n1"}}),
            id="somebody has bound the pod to the node",
        ),
        pytest.param(
            made(),
            lambda world: world.edit(PVC, "c", {"metadata": {"annotations": {SELECTED: "n2"}}}),
            id="another node was chosen",
        ),
        pytest.param(made(), recreate, id="it is another claim"),
        pytest.param(made(), lambda world: world.drop(PVC, "c"), id="it is gone"),
        pytest.param(static(), lambda _: None, id="a volume names it"),
    ],
)
async def test_nothing_else_is_taken_back(
    claim: VolumeClaimDecision, happened: Callable[[World], Any]
) -> None:
    world = World()
    world.controller = False
    await world.prepare(claim, timeout=1)
    happened(world)
    before = dict(world.objects)
    world.sent.clear()
    assert await world.unreserve(claim) == SUCCESS
    assert world.sent == []
    assert world.objects == before


async def test_what_cannot_be_taken_back_is_said() -> None:
    world = World()
    world.controller = False
    await world.prepare(made(), timeout=1)
    world.before = times(10**6, Reply(503, message="down"), "get Pod")
    status = await world.unreserve(made())
    assert status.message == "cannot tell whether the pod is bound: down"
    world.before = times(10**6, Reply(403, message="forbidden"), f"patch {PVC}")
    status = await world.unreserve(made())
    assert status.message == f"{PVC} ns/c: forbidden"
