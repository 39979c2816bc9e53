# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Repair, quarantine and plans that are withdrawn, of gangs whose members have claims.

Semantics §2.9, §2.10, §3.6, §3.8 and §4: what a member has beside CPUs is lost with it, comes back
with its replacement, and belongs to one pod at a time.
"""

from collections import Counter

import pytest

from enbloc.engine.effects import CancelPlan
from enbloc.engine.events import FactSeen
from tests.devices.objects import device, slice_of
from tests.engine.claims_world import Claiming

# ── a lost member (semantics §4.1) ───────────────────────────────────────────────────────────────


def test_a_replacement_with_a_claim_of_its_own_gets_the_room_and_the_device_of_the_lost_one() -> (
    None
):
    """Semantics §4.1: who needs as much of the node as the lost member cannot take them."""
    world = Claiming()
    world.machines("n1 n2", gpus=1)
    world.running_gang("g", 2)
    world.now += 5
    world.gang("young", 1)
    node = world.where()["g-1"]
    world.delete("g-1")
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.claiming("g-9", "g")
    world.settle()
    assert world.where("g-9") == {"g-9": node}
    assert world.owned()["g-9-gpus"] == [f"{node}/gpu0"]


def test_a_replacement_is_placed_once_the_claim_of_the_lost_member_is_gone() -> None:
    """Semantics §4.1: a claim has its device until its controller has seen that the pod is gone."""
    world = Claiming()
    world.machines("n1 n2", gpus=1)
    world.running_gang("g", 2)
    node = world.where()["g-1"]
    world.collecting = False
    world.delete("g-1")
    world.claiming("g-9", "g")
    world.settle(seconds=30)
    assert world.where("g-9") == {}
    assert "cannot allocate all claims" in world.condition("g")[2]
    world.collect()
    world.settle()
    assert world.where("g-9") == {"g-9": node}


def test_the_device_of_a_lost_member_is_not_held_where_cpus_are_plenty() -> None:
    """Semantics §4.1: who takes it starts whole, and the gang that lost it says so."""
    world = Claiming()
    world.machines("n1 n2", cpu=64, gpus=1)
    world.running_gang("g", 2)
    world.now += 5
    world.gang("young", 1)
    world.delete("g-1")
    world.settle(seconds=30)
    assert len(world.where("young")) == 1
    world.claiming("g-9", "g")
    world.settle()
    assert len(world.where("g")) == 1
    assert world.condition("g", "Satisfied")[:2] == (False, "BelowMinimum")


def test_no_half_of_what_was_lost_comes_back_while_a_younger_gang_has_its_devices() -> None:
    """Semantics §2.1, §4.3: a gang that has started is not evicted either."""
    world = Claiming()
    world.machines("n1 n2", cpu=64, gpus=2)
    world.running_gang("g", 4)
    for name in ("g-2", "g-3"):
        world.delete(name)
    world.settle(seconds=61)  # nothing is held any more
    world.running_gang("young", 2)
    assert len(world.where("young")) == 2
    for name in ("g-8", "g-9"):
        world.claiming(name, "g")
    world.settle(seconds=600)
    assert set(world.where("g")) == {"g-0", "g-1"}
    assert world.evictions == []
    state, reason, message = world.condition("g")
    assert (state, reason) == (False, "BelowMinimum")
    assert "cannot allocate all claims" in message

    world.finish("young-0")
    world.settle()
    assert set(world.where("g")) == {"g-0", "g-1"}
    world.finish("young-1")
    world.settle()
    assert set(world.where("g")) == {"g-0", "g-1", "g-8", "g-9"}


def with_local_data() -> Claiming:
    """A gang of two that runs where its local volumes are."""
    world = Claiming()
    world.machines("n1 n2 n3", gpus=1, disks=1)
    for at, node in enumerate(("n1", "n2")):
        world.disk_on(f"data-{at}", f"{node}-disk0")
    world.group("g", 2, timeout=60)
    for at in range(2):
        world.naming(f"g-{at}", "g", disk=f"data-{at}")
    world.settle()
    assert world.where() == {"g-0": "n1", "g-1": "n2"}
    world.run_pods(["g-0", "g-1"])
    world.settle()
    return world


def test_a_member_whose_claim_is_bound_to_a_local_volume_comes_back_to_its_node() -> None:
    """Semantics §4.1, §2.9: the room that is held is where its volume is."""
    world = with_local_data()
    world.now += 5
    world.gang("young", 2, gpu=False)
    world.settle()
    world.delete("g-1")
    world.settle(seconds=30)
    assert world.where("young") == {}
    world.naming("g-1", "g", disk="data-1")
    world.settle()
    assert world.where("g-1") == {"g-1": "n2"}


def test_a_member_whose_local_volume_is_on_a_full_node_waits_and_goes_nowhere_else() -> None:
    """Semantics §4.1: a group that is ordered earlier may take the room of a lost member."""
    world = with_local_data()
    world.delete("g-1")
    world.node("n3", cpu=1)
    world.job("urgent", 1, priority=1)
    world.settle()
    assert world.where("urgent") == {"urgent-0": "n2"}
    world.machines("n3")
    world.naming("g-1", "g", disk="data-1")
    world.settle(seconds=600)
    assert world.where("g") == {"g-0": "n1"}
    assert world.evictions == []
    assert "1 node(s) didn't match PersistentVolume's node affinity" in world.condition("g")[2]

    world.delete("urgent-0")
    world.settle()
    assert world.where("g") == {"g-0": "n1", "g-1": "n2"}


def test_a_member_whose_local_volume_is_gone_with_its_node_waits_and_nothing_is_evicted() -> None:
    """Semantics §2.9, §4.3."""
    world = with_local_data()
    world.lose_node("n2")
    world.naming("g-1", "g", disk="data-1")
    world.settle(seconds=600)
    assert world.where() == {"g-0": "n1"}
    assert world.evictions == []
    assert "1 node(s) didn't match PersistentVolume's node affinity" in world.condition("g")[2]


def test_a_replacement_with_a_volume_and_a_device_goes_where_both_are_free() -> None:
    """Semantics §2.9, §2.10: one node that is left has a device, another one a volume."""
    world = Claiming()
    world.machines("n1 n2", gpus=1, disks=1)
    world.running_gang("g", 2, disk=True)
    world.machines("n3", gpus=1)
    world.machines("n4", disks=1)
    lost = world.lose_node("n2")
    world.claiming("g-9", "g", disk=True)
    world.settle(seconds=30)
    assert world.where("g-9") == {}
    world.machines("n5", gpus=1, disks=1)
    world.settle()
    assert world.where("g-9") == {"g-9": "n5"}
    assert world.owned()["g-9-gpus"] == ["n5/gpu0"]
    assert world.disks["g-9-data"].volume == "n5-disk0"
    assert f"{lost}-gpus" not in world.owned()


# ── quarantine (semantics §3.6) ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reason", ["OutOfcpu", "UnexpectedAdmissionError"])
def test_the_replacement_of_a_rejected_member_gets_a_device_of_another_node(reason: str) -> None:
    """Semantics §3.6: devices of the node that is blamed are free for other groups."""
    world = Claiming()
    world.machines("n1 n2 n3", gpus=1)
    world.gang("g", 2)
    world.settle()
    blamed, stays = world.reject("g-1", reason), world.where()["g-0"]
    [other] = {"n1", "n2", "n3"} - {blamed, stays}
    world.claiming("g-9", "g")
    world.settle()
    assert world.where("g-9") == {"g-9": other}
    assert world.owned()["g-9-gpus"] == [f"{other}/gpu0"]
    world.gang("another", 1)
    world.settle()
    assert world.where("another") == {"another-0": blamed}


def test_a_gang_whose_only_free_devices_are_on_a_node_in_quarantine_waits_until_that_ends() -> None:
    """Semantics §3.6: it is told of both, and the end of the quarantine wakes it."""
    world = Claiming()
    world.machines("n1 n2", gpus=1)
    world.machines("n3", gpus=0)
    world.running_gang("g", 2)
    blamed = world.reject("g-1")
    world.claiming("g-9", "g")
    world.settle(seconds=30)
    assert world.where("g-9") == {}
    message = world.condition("g")[2]
    assert "1 node(s) in quarantine (UnexpectedAdmissionError)" in message
    assert "1 cannot allocate all claims" in message
    world.settle(seconds=60)
    assert world.where("g-9") == {"g-9": blamed}


def test_a_claim_that_another_member_uses_on_a_node_in_quarantine_keeps_its_gang_waiting() -> None:
    """Semantics §3.6, §2.10: its devices are reached from that node alone."""
    world = Claiming()
    world.machines("n1 n2", cpu=8, gpus=1)
    world.device_claim("shared")
    world.group("g", 2, timeout=60)
    for at in range(2):
        world.naming(f"g-{at}", "g", gpu="shared")
    world.settle()
    world.run_pods(["g-0", "g-1"])
    world.settle()
    blamed = world.reject("g-1")
    world.naming("g-9", "g", gpu="shared")
    world.settle(seconds=30)
    assert world.where("g-9") == {}
    state, reason, message = world.condition("g")
    assert (state, reason) == (False, "BelowMinimum")
    assert "1 node(s) in quarantine (UnexpectedAdmissionError)" in message
    assert world.owned()["shared"] == [f"{blamed}/gpu0"]
    world.settle(seconds=60)
    assert world.where("g-9") == {"g-9": blamed}


def test_a_claim_that_nobody_uses_on_a_node_in_quarantine_is_taken_back_and_moves() -> None:
    """Semantics §3.6, §3.8: its controller has not done so yet, or somebody allocated it there."""
    world = Claiming()
    world.machines("n1 n2 n3", gpus=1)
    world.device_claim("own")
    world.group("g", 2, timeout=60)
    world.naming("g-0", "g", gpu="own")
    world.claiming("g-1", "g")
    world.settle()
    world.run_pods(["g-0", "g-1"])
    world.settle()
    world.collecting = False
    blamed = world.reject("g-0")
    world.allocated_for_nobody("own")
    world.naming("g-9", "g", gpu="own")
    world.settle(seconds=30)
    [node] = world.where("g-9").values()
    assert node != blamed
    assert world.owned()["own"] == [f"{node}/gpu0"]
    world.collect()
    assert world.owned()["own"] == [f"{node}/gpu0"]


# ── what repair gives back (semantics §4) ────────────────────────────────────────────────────────


def test_repair_at_the_deadline_gives_back_the_devices_and_volumes_of_those_that_it_evicts() -> (
    None
):
    """Semantics §4.3: who waits for them gets them."""
    world = Claiming()
    world.machines("n1 n2 n3", gpus=1, disks=1)
    world.gang("g", 3, disk=True)
    world.settle()
    world.now += 1
    world.gang("young", 2, disk=True)
    lost = world.lose_node("n3")
    world.claiming("g-9", "g", disk=True)
    world.settle(seconds=58)
    assert world.evictions == []
    assert world.where("young") == {}
    world.settle(seconds=2)
    assert sorted(world.evictions) == sorted({"g-0", "g-1", "g-2"} - {lost})
    assert sorted(world.where("young").values()) == ["n1", "n2"]
    assert sorted(world.owned()) == ["young-0-gpus", "young-1-gpus"]
    used = [each.name for each in world.volumes.values() if each.claim is not None]
    assert used == ["n1-disk0", "n2-disk0"]


def test_what_is_prepared_for_a_replacement_goes_to_others_once_it_is_taken_back() -> None:
    """Semantics §3.8, §4.2: its PreBind does not end in time, and so its gang is evicted."""
    world = Claiming()
    world.machines("n1 n2 n3", gpus=1)
    world.gang("g", 3)
    world.settle()
    world.now += 1
    world.gang("young", 3)
    node = world.where()["g-2"]
    world.delete("g-2")
    world.slow = True
    world.claiming("g-9", "g")
    world.settle()
    world.write("g-9")
    world.settle(seconds=50)
    assert world.evictions == []
    world.settle(seconds=40)
    assert sorted(world.evictions) == ["g-0", "g-1"]
    assert world.owned() == {"g-9-gpus": [f"{node}/gpu0"]}
    assert world.preparing == {}, "what is being taken back is nobody else's yet"
    world.slow = False
    world.settle(seconds=30)
    assert len(world.where("young")) == 3
    assert world.where("g") == {}


def two_in_part(*, cpu: int) -> Claiming:
    """Two gangs that have not started; each has one of two, and the other could be completed by it.

    Args:
        cpu: of each node; of 8 they are as short as the devices.
    """
    world = Claiming()
    world.machines("n1 n2", cpu=cpu, gpus=2)
    for name in ("old", "young"):
        world.gang(name, 2)
        world.settle()
        world.now += 1
    assert sorted(world.where("old").values()) == ["n1", "n2"]
    assert sorted(world.where("young").values()) == ["n1", "n2"]
    lost = [name for name, node in world.where().items() if node == "n2"]
    world.drop_node("n2")
    for name in lost:
        world.delete(name)
        group = name.partition("-")[0]
        world.claiming(f"{group}-9", group)
    return world


def test_of_two_repairs_that_need_each_others_devices_the_later_yields_at_once() -> None:
    """Semantics §4.4."""
    world = two_in_part(cpu=8)
    world.settle()
    assert [name.partition("-")[0] for name in world.evictions] == ["young"]
    assert list(world.where("old").values()) == ["n1", "n1"]
    assert world.where("young") == {}


def test_who_can_be_completed_with_devices_of_evicted_pods_is_not_evicted_while_they_leave() -> (
    None
):
    """Semantics §4.4: it waits until they are gone."""
    world = two_in_part(cpu=64)
    world.evict_answer = lambda _: "slow"
    for _ in range(70):
        if not world.evictions:
            world.settle(seconds=1)
    world.settle(seconds=10)
    [evicted] = world.evictions
    world.delete(evicted)
    world.settle()
    [left] = {"old", "young"} - {evicted.partition("-")[0]}
    assert len(world.where(left)) == 2


def test_of_two_repairs_that_need_each_others_devices_one_is_whole_in_the_end() -> None:
    """Semantics §4.2: at the deadline of the one at the latest."""
    world = two_in_part(cpu=64)
    world.settle(seconds=70)
    assert len(world.evictions) == 1
    assert sorted(Counter(name.partition("-")[0] for name in world.where()).values()) == [2]
    assert len(world.owned()) == 2


# ── plans that are withdrawn (semantics §3.8, §2.10) ─────────────────────────────────────────────


def contended() -> Claiming:
    """Two gangs of four, and four devices; the first is in the middle of its PreBind."""
    world = Claiming()
    world.machines("n1 n2", cpu=64, gpus=2)
    world.slow = True
    world.gang("g", 4)
    world.settle()
    world.now += 1
    world.gang("h", 4)
    world.settle()
    assert {name[0] for name in world.preparing} == {"g"}
    return world


def one_is_whole(world: Claiming) -> str:
    """Everything ends; which of the two gangs is whole, the other having nothing."""
    world.slow = False
    world.settle(seconds=60)
    [(name, count)] = Counter(name[0] for name in world.where()).items()
    assert count == 4
    assert sorted(world.owned()) == [f"{name}-{at}-gpus" for at in range(4)]
    return name


@pytest.mark.parametrize("landed", [0, 1, 3, 4])
def test_one_gang_is_whole_though_its_minimum_is_edited_back_and_forth_in_mid_prebind(
    landed: int,
) -> None:
    """Semantics §2.10: some requests of its first plan have landed, and are taken back late."""
    world = contended()
    world.write(*sorted(world.preparing)[:landed])
    for minimum in (3, 4, 2, 4, 1, 4):
        world.alter("g", minimum=minimum)
        world.settle(seconds=1)
        assert {name[0] for name in world.preparing} == {"g"}, "what it held is its own"
    assert len({each.plan for each in world.effects if isinstance(each, CancelPlan)}) >= 6
    first = one_is_whole(world)

    for at in range(4):
        world.delete(f"{first}-{at}")
    world.settle(seconds=30)
    assert one_is_whole(world) != first


@pytest.mark.parametrize("landed", [0, 1, 3, 4])
def test_one_gang_is_whole_though_each_plan_of_it_is_withdrawn_after_some_requests(
    landed: int,
) -> None:
    """Semantics §2.10: what each plan did is taken back before the next one writes."""
    world = contended()
    for minimum in (3, 4, 2, 4, 1, 4):
        world.take_back()
        world.settle()
        world.write(*sorted(world.preparing)[:landed])
        world.alter("g", minimum=minimum)
        world.settle(seconds=1)
        assert world.where() == {}
    one_is_whole(world)


def test_a_plan_keeps_its_devices_though_what_an_earlier_one_wrote_is_taken_back() -> None:
    """Semantics §2.10: what a plan holds is nobody else's, whatever the API shows meanwhile."""
    world = contended()
    world.write(*sorted(world.preparing))
    world.alter("g", minimum=3)
    world.settle()
    world.take_back()
    world.settle()
    assert {name[0] for name in world.preparing} == {"g"}
    assert one_is_whole(world) == "g"
    assert world.events("GangBindFailed") == []


@pytest.mark.parametrize("landed", [0, 2, 4])
def test_a_gang_whose_minimum_is_raised_beyond_it_in_mid_prebind_leaves_all_to_the_other(
    landed: int,
) -> None:
    """Semantics §2.10: not before what its requests did is taken back."""
    world = contended()
    world.write(*sorted(world.preparing)[:landed])
    world.alter("g", minimum=5)
    world.settle(seconds=30)
    assert world.preparing == {}
    assert len(world.owned()) == landed
    assert one_is_whole(world) == "h"

    world.alter("g", minimum=4)
    assert one_is_whole(world) == "h"


@pytest.mark.parametrize("landed", [0, 2, 4])
def test_of_two_gangs_whose_minimums_are_edited_in_turn_exactly_one_is_whole(landed: int) -> None:
    """Semantics §2.10: while one cannot be planned the other is, and is withdrawn as well."""
    world = contended()
    for name in ("g", "h") * 3:
        world.write(*sorted(world.preparing)[:landed])
        world.alter(name, minimum=5)
        world.settle(seconds=15)
        world.take_back()
        world.settle(seconds=15)
        assert {name[0] for name in world.preparing} == {"g", "h"} - {name}
        world.alter(name, minimum=4)
        world.settle(seconds=15)
    assert world.where() == {}
    one_is_whole(world)


@pytest.mark.parametrize("back", [False, True])
def test_a_device_that_other_nodes_reach_stays_with_a_plan_whose_node_goes(back: bool) -> None:
    """Semantics §2.10, §3.1: the plan is dropped at once, and what it may still write is its own.

    A node may come back under its name before anything else happens.
    """
    world = Claiming()
    world.nodes("n1 n2", cpu=4)
    world.tell(FactSeen(slice_of(None, device("card"), pool="fabric", allNodes=True)))
    world.slow = True
    world.gang("g", 1)
    world.settle()
    node = world.preparing["g-0"].target.node
    world.now += 1
    world.gang("h", 1, cpu=1)
    world.drop_node(node)
    if back:
        world.node(node, cpu=4)
    world.settle()
    assert world.preparing.keys() <= {"g-0"}
    assert [target.node for target, _ in world.undoing] == [node]
    world.slow = False
    world.settle(seconds=60)
    assert world.owned() == {"g-0-gpus": ["fabric/card"]}
    assert world.where().keys() == {"g-0"}
