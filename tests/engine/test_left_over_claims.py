# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What an attempt that broke off has left is taken back where it keeps a gang from being placed.

As after a crash in the middle of PreBind: semantics §3.8.
"""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import AllocatedDevice, Allocation, Consumer, ResourceClaim
from enbloc.engine.effects import Unreserve
from enbloc.engine.events import FactGone, FactSeen
from enbloc.model.groups import GroupKey
from enbloc.model.pods import ContainerResource, NodeSelectorTerm
from enbloc.model.requirements import Operator, Requirement
from enbloc.storage.facts import StorageClass
from tests.devices.objects import DRIVER, claim, device, device_class, exactly, slice_of
from tests.engine.claiming import DISK, GPU, cluster_of, prepare, preparing, seen
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import RWO, RWX, bound, pv, pvc

DISKS = StorageClass("disks", "csi.example.com", waits=True)
SERVED = "gpu.example.com/shares"


def gpus(*nodes: str) -> list[Any]:
    return [slice_of(name, device("0"), device("1")) for name in nodes]


def got(node: str, device: str = "0", *, conditions: tuple[str, ...] = ()) -> Allocation:
    """A device of a node, as a scheduler has written it."""
    terms = (NodeSelectorTerm((), (Requirement("metadata.name", Operator.IN, (node,)),)),)
    failures = ("Failed",) if conditions else ()
    result = AllocatedDevice("gpus", DRIVER, node, device, False, (), conditions, failures)
    return Allocation((result,), (), terms)


def cluster_with_gang(size: int = 2, *, nodes: str = "n1 n2", shared: bool = False) -> Cluster:
    """A gang each of whose members has a claim, or names the same one; nothing is decided yet."""
    cluster = cluster_of(device_class(), *gpus(*nodes.split()), nodes=nodes)
    cluster.group("g", size)
    for name in (f"g-{index}" for index in range(size)):
        key = "shared" if shared else f"{name}-gpus"
        seen(cluster, [claim(key, exactly(count=1))])
        wanted = replace(spec(cpu=1), resource_claims=GPU)
        cluster.pod(name, "g", spec=wanted, resource_claims=(key,))
    return cluster


def reserve(
    cluster: Cluster,
    name: str,
    allocation: Allocation,
    *pods: str,
    of: ResourceClaim | None = None,
) -> None:
    """A claim has devices, and is reserved for pods."""
    consumers = tuple(
        Consumer("pods", each, cluster.pods[each].uid if each in cluster.pods else f"uid-{each}")
        for each in pods
    )
    body = of or claim(name, exactly(count=1))
    body = replace(body, allocation=allocation, reserved_for=consumers)
    seen(cluster, [body])


def fill(cluster: Cluster, node: str) -> None:
    """Somebody else takes all CPUs of a node."""
    cluster.pod(f"stranger-{node}", spec=spec(cpu=8), node=node, scheduler="other")


def taken_back(cluster: Cluster) -> dict[str, list[str]]:
    """Claims that are to be taken back, by the pod that they are left of."""
    found: dict[str, list[str]] = {}
    for effect in cluster.effects:
        if isinstance(effect, Unreserve):
            volumes, devices = effect.target.decided
            names = [each.claim for each in volumes.claims] if volumes else []
            names += [each.claim for each in devices.claims] if devices else []
            if devices is not None and devices.extended is not None:
                names.append(devices.extended.claim)
            found[effect.target.pod.name] = names
    return found


# ── devices ──────────────────────────────────────────────────────────────────────────────────


def test_claims_left_on_a_full_node_are_taken_back_and_the_gang_goes_elsewhere() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    fill(cluster, "n1")
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"]}
    assert preparing(cluster) == {}

    seen(cluster, [claim("g-0-gpus", exactly(count=1))])
    cluster.settle(seconds=30)
    assert {name: each.target.node for name, each in preparing(cluster).items()} == {
        "g-0": "n2",
        "g-1": "n2",
    }


def test_what_an_earlier_attempt_left_is_kept_where_the_gang_fits() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    cluster.settle()
    assert taken_back(cluster) == {}
    prepare(cluster)
    assert cluster.where()["g-0"] == "n1"


def test_what_all_members_hold_is_taken_back_at_once() -> None:
    """Else a gang that waits keeps devices from those which could use them."""
    cluster = cluster_with_gang(3)
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    reserve(cluster, "g-1-gpus", got("n2"), "g-1")
    fill(cluster, "n1")
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"], "g-1": ["ns/g-1-gpus"]}


def test_a_claim_that_is_left_on_a_node_that_is_gone_is_taken_back() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n9"), "g-0")
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"]}


def test_devices_that_will_not_become_ready_are_taken_back() -> None:
    cluster = cluster_with_gang()
    body = claim(
        "g-0-gpus",
        exactly(count=1),
        status={
            "devices": [
                {
                    "driver": DRIVER,
                    "pool": "n1",
                    "device": "0",
                    "conditions": [{"type": "Failed", "status": "True"}],
                }
            ]
        },
    )
    broken = replace(got("n1", conditions=("Ready",)), terms=None)
    seen(cluster, [replace(body, allocation=broken)])
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"]}


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param((), {"g-0", "g-1"}, id="reserved for nobody"),
        pytest.param(("g-0",), {"g-0", "g-1"}, id="reserved for a member"),
        pytest.param(("g-0", "g-1"), {"g-0", "g-1"}, id="reserved for all of them"),
        pytest.param(("g-0", "x"), set(), id="another pod uses it as well"),
        pytest.param(("x",), set(), id="another pod uses it"),
    ],
)
def test_of_a_shared_claim_only_members_may_be_consumers(
    pods: tuple[str, ...], expected: set[str]
) -> None:
    cluster = cluster_with_gang(shared=True)
    reserve(cluster, "shared", got("n1"), *pods)
    fill(cluster, "n1")
    cluster.settle()
    assert set(taken_back(cluster)) == expected


def test_an_allocation_that_restricts_nobody_and_is_nobodys_stays() -> None:
    """Somebody may have made it for these pods."""
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", replace(got("n1"), terms=None))
    fill(cluster, "n1")
    fill(cluster, "n2")
    cluster.settle()
    assert taken_back(cluster) == {}


def test_a_pod_without_a_group_gives_its_claim_back_too() -> None:
    cluster = cluster_of(device_class(), *gpus("n1", "n2"))
    seen(cluster, [claim("alone", exactly(count=1))])
    wanted = replace(spec(cpu=1), resource_claims=GPU)
    cluster.pod("p", spec=wanted, resource_claims=("alone",))
    reserve(cluster, "alone", got("n1"), "p")
    fill(cluster, "n1")
    cluster.settle()
    assert taken_back(cluster) == {"p": ["ns/alone"]}


def test_members_that_are_bound_keep_their_devices() -> None:
    cluster = cluster_with_gang(3)
    cluster.change("g-0", node="n1")
    for name, node in (("g-0", "n1"), ("g-1", "n1")):
        reserve(cluster, f"{name}-gpus", got(node, name[-1]), name)
    cluster.pod("stranger", spec=spec(cpu=7), node="n1", scheduler="other")
    cluster.settle()
    assert taken_back(cluster) == {"g-1": ["ns/g-1-gpus"]}


def cluster_with_extended_claim(*consumers: str) -> Cluster:
    """A gang of two, and a claim that says that it was made for its first member."""
    cluster = cluster_of(device_class(extendedResourceName=SERVED), *gpus("n1", "n2"))
    wanted = replace(
        spec(cpu=1),
        requests=(*spec(cpu=1).requests, (SERVED, 1)),
        extended=(ContainerResource(0, "main", SERVED, 0, 1),),
    )
    cluster.gang("g", 2, spec=wanted)
    uid = cluster.pods["g-0"].uid
    marks = replace(claim("made-once", exactly(count=1)), owner=uid, extended_for=uid)
    reserve(cluster, "made-once", got("n1"), *consumers, of=marks)
    return cluster


def test_a_claim_for_extended_resources_that_is_left_over_is_deleted() -> None:
    cluster = cluster_with_extended_claim("g-0")
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/made-once"]}

    cluster.tell(FactGone(ResourceClaim.kind, "ns/made-once"))
    cluster.settle(seconds=30)
    assert set(preparing(cluster)) == {"g-0", "g-1"}


def test_a_claim_for_extended_resources_is_known_though_one_elsewhere_names_the_pod_as_well() -> (
    None
):
    cluster = cluster_with_extended_claim("g-0")
    uid = cluster.pods["g-0"].uid
    marks = replace(claim("other", exactly(count=1), uid="o"), owner=uid, extended_for=uid)
    cluster.tell(FactSeen(replace(marks, namespace="elsewhere")))
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/made-once"]}


def test_a_claim_for_extended_resources_that_another_pod_uses_stays() -> None:
    """A user can mark a claim so, and name it in a pod that runs."""
    cluster = cluster_with_extended_claim("x")
    cluster.settle()
    assert taken_back(cluster) == {}

    wanted = replace(spec(cpu=1), resource_claims=GPU)
    cluster = cluster_with_extended_claim()
    claims = ("made-once",)
    cluster.pod("x", spec=wanted, resource_claims=claims, node="n1", scheduler="other")
    cluster.settle()
    assert taken_back(cluster) == {}


# ── volumes ──────────────────────────────────────────────────────────────────────────────────


def cluster_with_disks(*selected: str, mode: str = RWO) -> Cluster:
    """A gang of which each member has a claim without a volume, for which a node is selected."""
    cluster = cluster_of(DISKS)
    cluster.group("g", len(selected))
    for index, node in enumerate(selected):
        name = f"g-{index}"
        wanted = pvc(name, storage_class="disks", selected_node=node or None, access_modes=(mode,))
        seen(cluster, [wanted])
        cluster.pod(name, "g", spec=replace(spec(cpu=1), volumes=DISK), claims=(name,))
    return cluster


def test_a_selected_node_that_is_full_is_taken_back_and_the_gang_goes_elsewhere() -> None:
    cluster = cluster_with_disks("n1", "")
    fill(cluster, "n1")
    cluster.settle()
    assert taken_back(cluster) == {"g-0": ["ns/g-0"]}
    [effect] = [each for each in cluster.effects if isinstance(each, Unreserve)]
    assert effect.target.node == "n1"

    seen(cluster, [pvc("g-0", storage_class="disks")])
    cluster.settle(seconds=30)
    assert {each.target.node for each in preparing(cluster).values()} == {"n2"}


def test_a_selected_node_of_a_claim_that_another_pod_names_stays() -> None:
    cluster = cluster_with_disks("n1", "", mode=RWX)
    other = replace(spec(cpu=1), volumes=DISK)
    cluster.pod("x", spec=other, claims=("g-0",), scheduler="other")
    fill(cluster, "n1")
    cluster.settle()
    assert taken_back(cluster) == {}


def test_a_volume_on_a_full_node_stays() -> None:
    """It cannot be taken back."""
    cluster = cluster_of(DISKS, pv("a", 1, "n1", storage_class="disks"))
    cluster.group("g", 1)
    seen(cluster, [bound("g-0", "a", storage_class="disks", selected_node="n1")])
    cluster.pod("g-0", "g", spec=replace(spec(cpu=1), volumes=DISK), claims=("g-0",))
    fill(cluster, "n1")
    cluster.settle()
    assert taken_back(cluster) == {}


# ── groups that may not be tried ─────────────────────────────────────────────────────────────


def test_a_group_that_is_short_of_members_gives_back_what_an_attempt_left() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    cluster.delete("g-1")
    cluster.settle()

    assert cluster.condition("g")[1] == "WaitingForMembers"
    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"]}


def test_where_that_fails_it_is_tried_again_after_a_while_and_not_before() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    cluster.delete("g-1")
    cluster.settle(seconds=95)
    tries = [each for each in cluster.effects if isinstance(each, Unreserve)]

    assert len(tries) == 4
    seen(cluster, [claim("g-0-gpus", exactly(count=1))])
    cluster.settle(seconds=300)
    assert [each for each in cluster.effects if isinstance(each, Unreserve)] == tries


def test_what_a_request_under_way_leaves_after_the_first_look_is_taken_back_later() -> None:
    """A former leader's PreBind may land after the gang was found to lack a member."""
    cluster = cluster_with_gang()
    cluster.delete("g-1")
    cluster.settle(seconds=5)
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    cluster.settle(seconds=30)

    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"]}


def test_what_a_member_brings_into_a_group_that_was_just_looked_at_is_taken_back() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    seen(cluster, [claim("other-gpus", exactly(count=1))])
    wanted = replace(spec(cpu=1), resource_claims=GPU)
    cluster.pod("other", "unknown", spec=wanted, resource_claims=("other-gpus",))
    cluster.delete("g-1")
    cluster.settle(seconds=45)
    cluster.change("other", labels=(("a", "b"),))  # looked at again, in vain
    cluster.settle()
    before = len(cluster.effects)
    cluster.change("g-0", group=GroupKey("ns", "unknown"))
    cluster.settle(seconds=30)

    assert any(isinstance(each, Unreserve) for each in cluster.effects[before:])


def test_a_group_that_left_nothing_is_not_looked_at_for_ever() -> None:
    cluster = cluster_with_gang()
    cluster.delete("g-1")
    cluster.settle(seconds=60)

    assert cluster.engine.wakeup() is None


def test_a_group_without_a_pod_group_any_more_gives_it_back_too() -> None:
    cluster = cluster_with_gang()
    reserve(cluster, "g-0-gpus", got("n1"), "g-0")
    cluster.drop_group("g")
    cluster.settle()

    assert taken_back(cluster) == {"g-0": ["ns/g-0-gpus"]}
