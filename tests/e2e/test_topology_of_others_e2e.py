# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs in one rack as other projects' objects ask for it; semantics §6.5.

Racks have one name in two zones, and no zone alone is large enough but one: who takes the label of
the rack for the rack binds a gang across zones.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

import pytest

from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import (
    CRDS,
    HYPER_NODES,
    KAI_TOPOLOGIES,
    KOORDINATOR_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    NODES,
    POD_GROUPS,
    Resource,
)
from enbloc.controller.sources import coscheduling, grove, kai, volcano
from enbloc.model.names import MIN_MEMBER_KEY, Condition
from tests.e2e.recorded_jobs import exists
from tests.e2e.world import World
from tests.foreign_crds import crd

ZONE, RACK = "example.com/zone", "example.com/rack"
SIZE: Final = 3
KINDS: Final = (
    volcano.RESOURCE,
    kai.RESOURCE,
    grove.RESOURCE,
    coscheduling.RESOURCE,
    KUEUE_TOPOLOGIES,
    KAI_TOPOLOGIES,
    KOORDINATOR_TOPOLOGIES,
    HYPER_NODES,
)


@pytest.fixture
async def world(world: World) -> World:
    """With all kinds, and processes that have seen them: they look for new ones rarely."""
    new = False
    for kind in KINDS:
        with suppress(AlreadyExists):
            await world.client.create(CRDS, crd(kind))
            new = True
    for kind in KINDS:
        await world.eventually(partial(world.client.serves, kind), lambda: "it is served")
    if new:
        world.controller.kill()
        await world.start_controller()
        await world.start_scheduler(restart=True)
    return world


async def create(
    world: World, kind: Resource, name: str, spec: dict[str, Any], **more: Any
) -> None:
    """An object, which is deleted with the world if it is in no namespace."""
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
    metadata = {"name": name, **more}
    namespace = world.namespace if kind.namespaced else None
    await world.client.create(kind, {**body, "metadata": metadata}, namespace)
    if not kind.namespaced:
        world.stack.push_async_callback(world._delete, kind, name)


async def zones(world: World) -> None:
    """Two zones with a rack r1 each, of which that of the second alone holds a gang."""
    await world.nodes(SIZE - 1, cpu=1, labels={ZONE: "z1", RACK: "r1"})
    await world.nodes(SIZE, cpu=1, labels={ZONE: "z2", RACK: "r1"})


LEVELS: Final = {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]}


async def kueues(world: World) -> dict[str, Any]:
    await create(world, KUEUE_TOPOLOGIES, world.namespace, LEVELS)
    asked = {"kueue.x-k8s.io/podset-required-topology": RACK}
    group = {"pod-group.scheduling.sigs.k8s.io/name": "train"}
    return {"annotations": {MIN_MEMBER_KEY: str(SIZE), **asked}, "labels": group}


async def kais(world: World) -> dict[str, Any]:
    await create(world, KAI_TOPOLOGIES, world.namespace, LEVELS)
    near = {"topology": world.namespace, "requiredTopologyLevel": RACK}
    await create(world, kai.RESOURCE, "train", {"minMember": SIZE, "topologyConstraint": near})
    return {"annotations": {"pod-group-name": "train"}}


async def koordinators(world: World) -> dict[str, Any]:
    layers = [
        {"topologyLayer": "zone", "labelKey": [ZONE]},
        {"topologyLayer": "rack", "parentTopologyLayer": "zone", "labelKey": [RACK]},
    ]
    spec = {"networkTopologySpec": layers}
    await create(world, KOORDINATOR_TOPOLOGIES, world.namespace, spec)
    said = '{"gatherStrategy": [{"layer": "rack", "strategy": "MustGather"}]}'
    annotations = {"gang.scheduling.koordinator.sh/network-topology-spec": said}
    await create(
        world, coscheduling.RESOURCE, "train", {"minMember": SIZE}, annotations=annotations
    )
    return {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}


def hyper(name: str, tier: int, **selector: Any) -> tuple[str, dict[str, Any]]:
    kind = "Node" if "labelMatch" in selector else "HyperNode"
    return name, {"tier": tier, "members": [{"type": kind, "selector": selector}]}


async def volcanos(world: World) -> dict[str, Any]:
    for zone in ("z1", "z2"):
        rack = {"matchLabels": {ZONE: zone, RACK: "r1"}}
        for name, spec in (
            hyper(f"{world.namespace}-{zone}-r1", 1, labelMatch=rack),
            hyper(
                f"{world.namespace}-{zone}",
                2,
                exactMatch={"name": f"{world.namespace}-{zone}-r1"},
            ),
        ):
            await create(world, HYPER_NODES, name, spec)
    near = {"mode": "hard", "highestTierAllowed": 1}
    await create(world, volcano.RESOURCE, "train", {"minMember": SIZE, "networkTopology": near})
    return {"annotations": {"scheduling.k8s.io/group-name": "train"}}


@pytest.mark.parametrize(
    "asks", [kueues, kais, koordinators, volcanos], ids=["Kueue", "KAI", "Koordinator", "Volcano"]
)
async def test_a_gang_lies_in_one_rack_of_one_zone(
    world: World, asks: Callable[[World], Awaitable[dict[str, Any]]]
) -> None:
    await zones(world)
    naming = await asks(world)
    for index in range(SIZE):
        await world.pod(f"train-{index}", **naming)
    await world.bound("train", SIZE)
    assert await zones_of(world) == {"z2"}


async def zones_of(world: World) -> set[str]:
    """The zones in which members are."""
    nodes = set(world.observer.bound(world.namespace, "train").values())
    labels = [(await world.client.get(NODES, node))["metadata"]["labels"] for node in nodes]
    return {each[ZONE] for each in labels}


async def test_the_status_of_a_gang_has_every_tier_of_hypernodes(world: World) -> None:
    """Others' topologies have more levels than ours may have."""
    await zones(world)
    names = [f"{world.namespace}-{tier}" for tier in range(1, 11)]
    _, lowest = hyper(names[0], 1, labelMatch={"matchLabels": {ZONE: "z2"}})
    await create(world, HYPER_NODES, names[0], lowest)
    for tier, (below, name) in enumerate(pairwise(names), start=2):
        await create(world, HYPER_NODES, *hyper(name, tier, exactMatch={"name": below}))
    near = {"mode": "hard", "highestTierAllowed": 1}
    await create(world, volcano.RESOURCE, "train", {"minMember": SIZE, "networkTopology": near})
    for index in range(SIZE):
        await world.pod(f"train-{index}", annotations={"scheduling.k8s.io/group-name": "train"})
    await world.bound("train", SIZE)
    await world.condition("train", Condition.READY, "True")
    shown = await world.client.get(POD_GROUPS, "train", world.namespace)
    assert shown["status"]["topology"]["spread"] == {f"tier-{n}": 1 for n in range(1, 11)}
    assert shown["status"]["topology"]["path"] == "/".join(reversed(names))


async def test_a_gang_of_grove_lies_in_one_domain_of_a_node_label(world: World) -> None:
    """Grove names labels of nodes, and its own binding of topologies is made into these."""
    await zones(world)
    near = {"packConstraint": {"required": ZONE}}
    groups = [{"name": "app-0-worker", "minReplicas": SIZE, "podReferences": []}]
    spec = {"podgroups": groups, "topologyConstraint": near}
    await create(world, grove.RESOURCE, "app-0", spec)
    labels = {"grove.io/podgang": "app-0", "grove.io/podclique": "app-0-worker"}
    for index in range(SIZE):
        await world.pod(f"train-{index}", labels=labels)
    await world.bound("train", SIZE)
    assert await zones_of(world) == {"z2"}


@dataclass(frozen=True)
class Missing:
    """A gang that names a topology of another project's which is not there.

    Attributes:
        kind: of its PodGroup.
        spec: of the PodGroup.
        says: why it waits.
        then: the objects that it waits for.
    """

    kind: Resource
    spec: dict[str, Any]
    says: str
    then: tuple[tuple[Resource, str, dict[str, Any]], ...]


_, SHELF = hyper("late", 1, labelMatch={"matchLabels": {ZONE: "z2"}})
MISSING: Final = {
    "KAI": Missing(
        kai.RESOURCE,
        {"topologyConstraint": {"topology": "late", "requiredTopologyLevel": RACK}},
        'Topology "kai.scheduler/late" not found',
        ((KAI_TOPOLOGIES, "late", LEVELS),),
    ),
    "Volcano": Missing(
        volcano.RESOURCE,
        {"networkTopology": {"highestTierName": "shelf"}},
        "there are no HyperNodes",
        (
            (
                HYPER_NODES,
                "late",
                {
                    **hyper("late", 1, labelMatch={"matchLabels": {ZONE: "z2"}})[1],
                    "tierName": "shelf",
                },
            ),
        ),
    ),
}


@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING.keys())
async def test_a_topology_that_is_missing_is_named_and_waited_for(
    world: World, missing: Missing
) -> None:
    await zones(world)
    await create(world, missing.kind, "train", {"minMember": SIZE, **missing.spec})
    naming = {"pod-group-name": "train", "scheduling.k8s.io/group-name": "train"}
    [key] = [key for key in naming if (key == "pod-group-name") == (missing.kind == kai.RESOURCE)]
    for index in range(SIZE):
        await world.pod(f"train-{index}", annotations={key: "train"})
    await world.eventually(lambda: exists(world, POD_GROUPS, "train"), lambda: "it is made")
    await world.condition("train", Condition.SCHEDULED, "False", message=missing.says)
    assert not world.observer.bound(world.namespace, "train")
    for kind, name, spec in missing.then:
        await create(world, kind, name, spec)
    await world.bound("train", SIZE)
    assert await zones_of(world) == {"z2"}
