# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that lie in one rack: nodes are lost, labels change, racks are too small, words are wrong.

Nodes have two CPUs, and each member takes a whole one of them.
"""

from collections.abc import Mapping
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.paths import JOBS, NAMESPACES, NODES, POD_GROUPS, PODS, TOPOLOGIES
from enbloc.model.names import (
    AUTO_GROUP_KEY,
    RANK_KEY,
    ROLE_KEY,
    TOPOLOGY_KEY,
    TOPOLOGY_REQUIRED_KEY,
    Condition,
    Reason,
)
from enbloc.wire.auto_groups import group_name
from tests.e2e import incidents, manifests
from tests.e2e.world import World

ZONE, RACK = "example.com/zone", "example.com/rack"
CPU: Final = 2


async def racks(world: World, **sizes: int) -> None:
    """Racks of one zone with so many nodes each, and a Topology with the name of the namespace."""
    await world.client.create(
        TOPOLOGIES, manifests.topology(world.namespace, {"zone": ZONE, "rack": RACK})
    )
    world.stack.push_async_callback(world._delete, TOPOLOGIES, world.namespace)
    for rack, count in sizes.items():
        await more(world, rack, count)


async def more(world: World, rack: str, count: int) -> None:
    """Further nodes of a rack."""
    await world.nodes(count, cpu=CPU, labels={ZONE: "z1", RACK: rack})


def one_rack(world: World, level: str = "rack") -> dict[str, str]:
    """`spec.topology` of a gang whose members lie in one domain of this level."""
    return {"name": world.namespace, "required": level}


async def gang(
    world: World, group: str, size: int, topology: Mapping[str, Any] | None = None
) -> Any:
    """A gang that lies in one rack, unless its topology is another; the controller of its pods."""
    owner = await incidents.owner(world, f"{group}-operator")
    await world.group(group, size, topology=topology or one_rack(world))
    for index in range(size):
        await world.pod(f"{group}-{index}", group, cpu=CPU, owner=owner)
    return owner


async def loses_a_node(world: World, group: str, owner: Any) -> str:
    """A gang loses a member with its node and gets another one; the name of the lost one."""
    lost, node = next(iter(world.observer.bound(world.namespace, group).items()))
    assert await incidents.lose(world, node) == [lost]
    await world.condition(group, Condition.SCHEDULED, "False", reason=Reason.BELOW_MINIMUM)
    await world.pod(f"{lost}-again", group, cpu=CPU, owner=owner)
    return lost


async def lying(world: World, prefix: str) -> dict[str, str]:
    """The rack of each pod that is bound, by the beginning of their names."""
    found: dict[str, str] = {}
    for pod, node in world.observer.bound(world.namespace, prefix).items():
        labels = (await world.client.get(NODES, node))["metadata"]["labels"]
        found[pod] = labels[RACK]
    return found


async def status_says(
    world: World, group: str, level: str, path: str, spread: Mapping[str, int]
) -> None:
    """Wait until `status.topology` of a PodGroup is this."""
    wanted = {"level": level, "path": path, "spread": dict(spread)}
    found: list[Any] = []

    async def said() -> bool:
        shown = await world.client.get(POD_GROUPS, group, world.namespace)
        found[:] = [shown.get("status", {}).get("topology")]
        return found == [wanted]

    await world.eventually(said, lambda: f"{group} lies in {wanted}; it says {found}")


async def test_a_gang_goes_to_one_rack_whole_and_its_status_says_so(world: World) -> None:
    """Semantics §11.1, §11.4."""
    await racks(world, r1=2, r2=3, r3=2)
    await gang(world, "train", 3)
    await world.bound("train", 3)
    assert set((await lying(world, "train")).values()) == {"r2"}
    await status_says(world, "train", "rack", "z1/r2", {"zone": 1, "rack": 1})
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)


async def test_a_member_lost_with_its_node_is_replaced_in_the_same_rack(world: World) -> None:
    """Semantics §11.2."""
    await racks(world, r1=4, r2=4)
    owner = await gang(world, "train", 3)
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    before = await lying(world, "train")
    [home] = set(before.values())
    lost = await loses_a_node(world, "train", owner)
    await world.bound(f"{lost}-again", 1)
    left = {pod: rack for pod, rack in before.items() if pod != lost}
    assert await lying(world, "train") == {**left, f"{lost}-again": home}
    await status_says(world, "train", "rack", f"z1/{home}", {"zone": 1, "rack": 1})


async def test_a_replacement_waits_where_the_rack_is_full_and_starts_when_it_grows(
    world: World,
) -> None:
    """Semantics §11.2."""
    await racks(world, r1=3, r2=2)
    owner = await gang(world, "train", 3)
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    await loses_a_node(world, "train", owner)
    await world.condition("train", Condition.SCHEDULED, "False", message="z1/r1")
    await world.quiet()
    assert len(world.observer.bound(world.namespace, "train")) == 2
    await more(world, "r1", 1)
    await world.bound("train", 3)
    assert set((await lying(world, "train")).values()) == {"r1"}


async def test_a_gang_that_has_lost_its_last_member_goes_to_another_rack(world: World) -> None:
    """Semantics §11.2."""
    await racks(world, r1=2, r2=2)
    owner = await gang(world, "train", 2)
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    before = world.observer.bound(world.namespace, "train")
    [home] = set((await lying(world, "train")).values())
    for node in set(before.values()):
        await incidents.lose(world, node)
    for pod in before:
        await world.pod(f"{pod}-again", "train", cpu=CPU, owner=owner)
    await world.bound("train", 2)
    [other] = set((await lying(world, "train")).values())
    assert {home, other} == {"r1", "r2"}


async def test_a_label_that_changes_under_a_running_gang_evicts_nobody(world: World) -> None:
    """Semantics §11.2, §11.4."""
    await racks(world, r1=3, r2=1)
    await gang(world, "train", 3)
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    await status_says(world, "train", "rack", "z1/r1", {"zone": 1, "rack": 1})
    before = world.observer.bound(world.namespace, "train")
    await world.label(next(iter(before.values())), RACK, "r2")
    await status_says(world, "train", "zone", "z1", {"zone": 1, "rack": 2})
    await world.quiet()
    assert world.observer.bound(world.namespace, "train") == before
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)


async def test_where_no_rack_is_large_enough_the_best_is_named_and_a_new_node_starts_it(
    world: World,
) -> None:
    """Semantics §11.1: the message, and what wakes it."""
    await racks(world, r1=2, r2=1)
    await gang(world, "train", 3)
    await world.condition("train", Condition.SCHEDULED, "False", message="z1/r1")
    await world.nodes(3, cpu=CPU)  # without labels: they are in no rack
    await world.quiet()
    assert world.observer.bound(world.namespace) == {}
    await more(world, "r1", 1)
    await world.bound("train", 3)
    assert set((await lying(world, "train")).values()) == {"r1"}


async def test_a_level_that_is_misspelt_is_named_and_the_gang_starts_once_it_is_corrected(
    world: World,
) -> None:
    """Semantics §11.5."""
    await racks(world, r1=3)
    await gang(world, "train", 3, one_rack(world, "rak"))
    await world.condition(
        "train",
        Condition.SCHEDULED,
        "False",
        reason=Reason.INVALID_SPEC,
        message=f'Topology {world.namespace} has no level "rak"; use one of zone, rack',
    )
    assert world.observer.bound(world.namespace) == {}
    corrected = {"spec": {"topology": one_rack(world)}}
    await world.client.patch(POD_GROUPS, "train", corrected, world.namespace, kind=PatchType.MERGE)
    await world.bound("train", 3)
    await status_says(world, "train", "rack", "z1/r1", {"zone": 1, "rack": 1})


async def test_a_topology_that_comes_late_is_waited_for(world: World) -> None:
    """Semantics §11.5."""
    await world.nodes(3, cpu=CPU, labels={ZONE: "z1", RACK: "r1"})
    await gang(world, "train", 3)
    await world.condition(
        "train", Condition.SCHEDULED, "False", reason=Reason.INVALID_SPEC, message="not found"
    )
    await racks(world)
    await world.bound("train", 3)


async def test_the_pods_of_a_job_without_a_podgroup_lie_in_the_rack_that_it_asks_for(
    world: World,
) -> None:
    """Semantics §6.6, §11.1: annotations of the template say what a PodGroup would."""
    switch = {"metadata": {"labels": {AUTO_GROUP_KEY: "Job"}}}
    await world.client.patch(NAMESPACES, world.namespace, switch, kind=PatchType.MERGE)
    await world.quiet()  # both processes see it
    await racks(world, r1=2, r2=2, r3=3)
    asked = {TOPOLOGY_KEY: world.namespace, TOPOLOGY_REQUIRED_KEY: "rack"}
    await world.job("train", 3, "", cpu=CPU, annotations=asked)
    await world.bound("train", 3)
    assert set((await lying(world, "train")).values()) == {"r3"}
    uid = (await world.client.get(JOBS, "train", world.namespace))["metadata"]["uid"]
    group = group_name("Job", "train", uid)
    made = await world.client.get(POD_GROUPS, group, world.namespace)
    assert made["spec"]["topology"] == one_rack(world)
    await status_says(world, group, "rack", "z1/r3", {"zone": 1, "rack": 1})


async def test_slices_lie_in_racks_with_their_ranks_in_order(world: World) -> None:
    """Semantics §11.9, §11.6."""
    await racks(world, r1=2, r2=3, r3=2)
    slices = {"name": world.namespace, "slices": [{"size": 2, "required": "rack"}]}
    await gang(world, "train", 4, slices)
    await world.bound("train", 4)
    rack_of = await lying(world, "train")
    assert rack_of["train-0"] == rack_of["train-1"] != rack_of["train-2"] == rack_of["train-3"]
    for index in range(4):
        pod = await world.client.get(PODS, f"train-{index}", world.namespace)
        assert pod["metadata"]["annotations"][RANK_KEY] == str(index)


async def test_a_role_lies_in_a_rack_of_its_own(world: World) -> None:
    """Semantics §11.7."""
    await racks(world, r1=3, r2=2)
    owner = await incidents.owner(world, "serve-operator")
    part = {"minMember": 2, "topology": {"required": "rack"}}
    roles = [{"name": "prefill", **part}, {"name": "decode", **part, "minMember": 3}]
    await world.group(
        "serve", 5, roles=roles, topology={"name": world.namespace, "preferred": "zone"}
    )
    for role, size in (("prefill", 2), ("decode", 3)):
        for index in range(size):
            name = f"serve-{role}-{index}"
            await world.pod(name, "serve", cpu=CPU, owner=owner, annotations={ROLE_KEY: role})
    await world.bound("serve", 5)
    rack_of = await lying(world, "serve")
    found = {
        role: {r for pod, r in rack_of.items() if role in pod} for role in ("prefill", "decode")
    }
    assert found == {"prefill": {"r2"}, "decode": {"r1"}}


async def test_replicas_lie_in_racks_apart(world: World) -> None:
    """Semantics §11.8."""
    await racks(world, r1=4, r2=4)
    apart = [{"level": "rack", "from": {"matchLabels": {"model": "llama"}}}]
    topology = {**one_rack(world), "apart": apart}
    for name in ("first", "second", "third"):
        body = manifests.group(name, 2, topology=topology)
        body["metadata"]["labels"] = {"model": "llama"}
        world.watch_over(name, 2)
        await world.client.create(POD_GROUPS, body, world.namespace)
    for name in ("first", "second"):
        for index in range(2):
            await world.pod(f"{name}-{index}", name, cpu=CPU)
        await world.bound(name, 2)
    both = [set((await lying(world, name)).values()) for name in ("first", "second")]
    assert sorted(map(sorted, both)) == [["r1"], ["r2"]]
    for index in range(2):
        await world.pod(f"third-{index}", "third", cpu=CPU)
    await world.condition("third", Condition.SCHEDULED, "False", message="apart from first, second")
    assert not world.observer.bound(world.namespace, "third")
