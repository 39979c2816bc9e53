# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Small worlds in one line each: node tables, pod classes, pods."""

from dataclasses import replace
from typing import Any

from enbloc.framework.facts import Floor, GroupFacts
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.quantity import amount
from enbloc.model.resources import ResourceSpace
from enbloc.model.snapshot import Snapshot

Quantity = str | int


def amounts(**quantities: Quantity) -> tuple[tuple[str, int], ...]:
    """`amounts(cpu="1500m", nvidia_com__gpu=8)`: `__` in a name stands for /, `_` for `.`."""
    named = {
        name.replace("__", "/").replace("_", "." if "__" in name else "-"): value
        for name, value in quantities.items()
    }
    return tuple(sorted((name, amount(name, value)) for name, value in named.items()))


def node(name: str, **quantities: Any) -> Node:
    """A node that offers these quantities, and 110 pods unless it says otherwise."""
    return Node(name=name, allocatable=amounts(**{"pods": 110, **quantities}))


def nodes(*facts: Node) -> Nodes:
    """A live table of these nodes."""
    table = Nodes(ResourceSpace())
    for fact in facts:
        table.put(fact)
    return table


def spec(**quantities: Quantity) -> PodSpec:
    """A class of pods that requests these quantities, in one container that names them all."""
    requests = dict(amounts(**{"pods": 1, **quantities}))
    asked = tuple((name, value) for name, value in requests.items() if value)
    return PodSpec(
        requests=asked,
        nonzero_cpu=requests.get("cpu", 100),
        nonzero_memory=requests.get("memory", 200 * 1024 * 1024),
    )


def pod(of: PodSpec | None = None, name: str = "pod", **facts: Any) -> Pod:
    """A pod of that class in namespace "default"."""
    return Pod(PodKey("default", name), PodUID(name), of or PodSpec(), **facts)


def snapshot(table: Nodes) -> Snapshot:
    """Frozen facts with this node table."""
    return Snapshot(table.snapshot(), Placed().snapshot())


def labelled(name: str, **labels: str) -> Node:
    """A node with these labels, and room for 110 pods."""
    return Node(name=name, labels=tuple(sorted(labels.items())), allocatable=amounts(pods=110))


def seated(table: Nodes, *seats: tuple[Pod, str], **facts: Any) -> Snapshot:
    """Frozen facts with these pods on the nodes of these names; `facts` as Snapshot's."""
    placed = Placed()
    for index, (member, name) in enumerate(seats):
        row = table.row(name)
        assert row is not None, f"there is no node {name}"
        placed.put(replace(member, uid=PodUID(f"{index}"), node=name), row)
    return Snapshot(table.snapshot(), placed.snapshot(), **facts)


def waiting(*pods: Pod) -> GroupFacts:
    """The facts of a group whose pending members are these."""
    key, count = GroupKey("default", "group"), len(pods)
    return GroupFacts(
        key=key, group=Group(key, min_member=count), solo=False, pending=pods,
        total=Floor("", count, count, 0, 0), roles=(), members=count, gated=0, foreign=0, running=0,
        started=False, incarnation="", priority=0, queue_time=0.0,
    )  # fmt: skip
