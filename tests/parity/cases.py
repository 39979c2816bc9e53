# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random clusters and pods from a seed: thousands a second, and the seed names the case."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeVar

from enbloc.model.names import TAINT_UNSCHEDULABLE
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator
from tests.parity.reference import Host
from tests.strategies import KEYS, NAMES, RESOURCES, VALUES

T = TypeVar("T")

_TAINTED = (*KEYS, TAINT_UNSCHEDULABLE)


class Case(NamedTuple):
    """A cluster, and the pod that is asked about."""

    hosts: tuple[Host, ...]
    spec: PodSpec

    def table(self) -> Nodes:
        """The cluster as a node table."""
        table = Nodes(ResourceSpace())
        for row, host in enumerate(self.hosts):
            table.put(host.node)
            for spec in host.pods:
                table.place(row, spec)
        return table


def case(seed: int) -> Case:
    """The case of that number, the same for ever."""
    dice = Random(seed)
    count = dice.randint(0, len(NAMES))
    hosts = tuple(
        Host(_node(dice, name), tuple(_several(dice, 2, _demand))) for name in NAMES[:count]
    )
    return Case(hosts, _spec(dice))


def _node(dice: Random, name: str) -> Node:
    return Node(
        name=name,
        labels=_labels(dice),
        taints=tuple(_several(dice, dice.choice((0, 0, 1, 2)), _taint)),
        unschedulable=dice.random() < 0.1,
        allocatable=tuple(
            (resource, dice.choice((0, 3, 12, 40, 100)))
            for resource in sorted((*RESOURCES, "pods"))
            if dice.random() < 0.9
        ),
    )


def _demand(dice: Random) -> PodSpec:
    asked = [(name, dice.randint(1, 9)) for name in RESOURCES if dice.random() < 0.4]
    return PodSpec(
        requests=tuple(sorted((*asked, ("pods", 1)))),
        nonzero_cpu=dice.randint(0, 12),
        nonzero_memory=dice.randint(0, 12),
    )


def _spec(dice: Random) -> PodSpec:
    demand = _demand(dice)
    affinity = tuple(_several(dice, 2, _term)) if dice.random() < 0.3 else None
    return PodSpec(
        requests=demand.requests,
        nonzero_cpu=demand.nonzero_cpu,
        nonzero_memory=demand.nonzero_memory,
        node_selector=_labels(dice)[:1] if dice.random() < 0.15 else (),
        node_affinity=affinity,
        tolerations=tuple(_several(dice, 3, _toleration)),
        node_name=dice.choice(NAMES) if dice.random() < 0.1 else "",
    )


def _labels(dice: Random) -> tuple[tuple[str, str], ...]:
    return tuple((key, dice.choice(VALUES)) for key in sorted(KEYS) if dice.random() < 0.6)


def _taint(dice: Random) -> Taint:
    return Taint(dice.choice(_TAINTED), dice.choice(VALUES), dice.choice(tuple(Effect)))


def _toleration(dice: Random) -> Toleration:
    return Toleration(
        dice.choice(("", *_TAINTED)),
        dice.choice((*TolerationOperator, TolerationOperator.EXISTS)),
        dice.choice(VALUES),
        dice.choice((None, None, *Effect)),
    )


def _term(dice: Random) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(_several(dice, 2, _expression)), tuple(_several(dice, 2, _field)))


def _expression(dice: Random) -> Requirement:
    values = dice.sample(VALUES, dice.randint(1, 2))
    return Requirement(dice.choice(KEYS), dice.choice(tuple(Operator)), tuple(values))


def _field(dice: Random) -> Requirement:
    operator = dice.choice((Operator.IN, Operator.NOT_IN))
    return Requirement("metadata.name", operator, (dice.choice(NAMES),))


def _several(dice: Random, most: int, make: Callable[[Random], T]) -> list[T]:
    return [make(dice) for _ in range(dice.randint(0, most))]
