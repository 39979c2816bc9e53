# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random nodes, workloads and plugin settings."""

from random import Random

from enbloc.model.node import Node
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector, SpreadConstraint
from enbloc.model.taints import Effect, Taint
from enbloc.model.workloads import WorkloadKey
from tests.parity.chance import (
    FEATURES,
    GI,
    GPU,
    HOSTNAME,
    IMAGES,
    NAMESPACES,
    NODE_LABELS,
    POD_LABELS,
    TAINT_KEYS,
    TOPOLOGIES,
    Aspect,
    Aspects,
    parts_of,
    some,
)
from tests.parity.chance_pods import node_term, pod_requirement
from tests.parity.settings import Settings


def random_node(dice: Random, name: str, aspects: Aspects) -> Node:
    parts = parts_of(dice, aspects)
    labels = [(key, dice.choice(values)) for key, values in NODE_LABELS.items()
              if dice.random() < 0.8]  # fmt: skip
    if dice.random() < 0.9:
        labels.append((HOSTNAME, name))
    tainted, images, able = (parts(a) for a in (Aspect.TAINTS, Aspect.IMAGES, Aspect.FEATURES))
    return Node(
        name=name,
        labels=tuple(sorted(labels)) if dice.random() < 0.95 else (),
        taints=some(tainted, 3, _taint),
        unschedulable=bool(tainted and tainted.random() < 0.15),
        allocatable=_allocatable(parts(Aspect.RESOURCES)),
        images=_images_of_node(images),
        features=tuple(each for each in FEATURES if able and able.random() < 0.6),
    )


def _allocatable(dice: Random | None) -> tuple[tuple[str, int], ...]:
    if dice is None:
        return (("cpu", 8000), ("memory", 16 * GI), ("pods", 110))
    offered = {
        "cpu": dice.choice((0, 1000, 3900, 8000)),
        "memory": dice.choice((0, 2 * GI, 8 * GI + 12345, 64 * GI)),
        "ephemeral-storage": dice.choice((10 * GI, 100 * GI)),
        GPU: dice.choice((0, 2, 8)),
        "hugepages-2Mi": 512 * 2**20,
        "pods": dice.choice((2, 5, 110, 110)),
    }
    return tuple((name, offered[name]) for name in sorted(offered) if dice.random() < 0.93)


def _images_of_node(dice: Random | None) -> tuple[tuple[str, int], ...]:
    if dice is None:
        return ()
    return tuple(
        (image, dice.choice((5, 40, 400, 1700)) * 2**20 + dice.randrange(9999))
        for image in sorted(IMAGES)
        if dice.random() < 0.6
    )


def _taint(dice: Random) -> Taint:
    return Taint(dice.choice(TAINT_KEYS), dice.choice(("", "x")), dice.choice(tuple(Effect)))


def random_workloads(dice: Random) -> tuple[tuple[WorkloadKey, Selector], ...]:
    found: list[tuple[WorkloadKey, Selector]] = []
    for namespace in NAMESPACES:
        for name in ("front", "back"):
            if dice.random() < 0.4:
                key = dice.choice(tuple(POD_LABELS))
                value = dice.choice(POD_LABELS[key])
                selector = Selector((Requirement(key, Operator.IN, (value,)),))
                found.append((WorkloadKey("Service", namespace, name), selector))
        for kind in ("ReplicaSet", "StatefulSet"):
            if dice.random() < 0.5:
                selector = Selector(some(dice, 2, pod_requirement))
                found.append((WorkloadKey(kind, namespace, "set"), selector))
    return tuple(found)


def random_settings(dice: Random) -> Settings:
    strategy = dice.choice(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    every = ("cpu", "memory", "ephemeral-storage", GPU, "hugepages-2Mi")
    shapes = (((0, 0), (100, 10)), ((0, 10), (100, 0)), ((20, 3), (50, 9), (80, 1)), ((40, 5),))
    weighed = [(name, dice.choice((1, 3, 100))) for name in dice.sample(every, dice.randint(1, 4))]
    listed = dice.random() < 0.7
    return Settings(
        added_required=some(dice, 2, node_term) or None if dice.random() < 0.2 else None,
        added_preferred=some(dice, 2, lambda each: (each.choice((1, 60)), node_term(each))),
        ignored_resources=frozenset(dice.sample((GPU, "cpu", "hugepages-2Mi"), dice.randint(0, 2))),
        ignored_groups=frozenset({"nvidia.com"} if dice.random() < 0.2 else ()),
        strategy=strategy,
        fit_resources=tuple(weighed),
        shape=dice.choice(shapes) if strategy == "RequestedToCapacityRatio" else (),
        balanced_resources=tuple(dice.sample(every, dice.randint(1, 4))),
        hard_pod_affinity_weight=dice.choice((0, 1, 1, 50)),
        ignore_preferred=dice.random() < 0.3,
        spread_defaults="List" if listed else "System",
        spread_constraints=_listed_constraints(dice) if listed else (),
    )


def _listed_constraints(dice: Random) -> tuple[SpreadConstraint, ...]:
    return tuple(
        SpreadConstraint(key, dice.choice((1, 2)), hard=dice.random() < 0.5)
        for key in dice.sample(TOPOLOGIES, dice.randint(1, 2))
    )
