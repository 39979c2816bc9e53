# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Levels of a Topology, derived from the labels of nodes.

::

    region ⊃ zone ⊃ the fabric of one provider, up to four levels ⊃ accelerator ⊃ host

A label counts if at least half of the nodes have it together with the labels of the outer levels,
and if it nests: all nodes with one value lie in one domain of the next outer level. Labels whose
numbers restart in each outer domain, such as those of racks, need not nest, because a domain is the
path of values.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from enbloc.model.topology import Level

#: The labels of one node.
Labels = Mapping[str, str]

HOST: Final = Level("host", "kubernetes.io/hostname")


class KnownLabel(NamedTuple):
    """A well-known label that tells which nodes are near each other.

    Attributes:
        name: of its level.
        label: the node label.
        everywhere: whether a value means one domain in the whole cluster, not only within the next
            outer level.
    """

    name: str
    label: str
    everywhere: bool = True

    @property
    def level(self) -> Level:
        """The level of this label."""
        return Level(self.name, self.label)


@dataclass(frozen=True, slots=True)
class Found:
    """The levels derived from node labels.

    Attributes:
        levels: the outermost first; empty = there are none.
        notes: one line per label that was left out or is on few nodes, with the reason.
    """

    levels: tuple[Level, ...]
    notes: tuple[str, ...] = ()


def _ids(prefix: str, **names: str) -> tuple[KnownLabel, ...]:
    """Labels with one prefix, given as level name=rest of the label."""
    return tuple(KnownLabel(name.replace("_", "-"), prefix + rest) for name, rest in names.items())


def _numbers(prefix: str, **names: str) -> tuple[KnownLabel, ...]:
    """The same for labels whose values restart in each outer domain."""
    return tuple(each._replace(everywhere=False) for each in _ids(prefix, **names))


_PLACES: Final = _ids("topology.kubernetes.io/", region="region", zone="zone")

#: The labels of each provider of network topology, the outermost first; one provider's are used.
_FABRICS: Final = (
    # Amazon EKS; layer 4 only on instances that have one.
    _ids(
        "topology.k8s.aws/network-node-layer-",
        **{"layer-1": "1", "layer-2": "2", "layer-3": "3", "layer-4": "4"},
    ),
    # Google Kubernetes Engine: a physical host may run several nodes.
    _ids(
        "cloud.google.com/gce-topology-",
        block="block",
        subblock="subblock",
        physical_host="host",
    ),
    # Oracle Kubernetes Engine.
    _ids(
        "oci.oraclecloud.com/rdma.",
        island="hpc_island_id",
        network_block="network_block_id",
        local_block="local_block_id",
    ),
    # CoreWeave: superpods and leafgroups have numbers.
    (
        *_ids("backend.coreweave.cloud/", fabric="fabric"),
        *_numbers("backend.coreweave.cloud/", superpod="superpod", leafgroup="leafgroup"),
    ),
    # Nebius and Crusoe.
    _ids("topology.nebius.com/", gpu_cluster="gpu-cluster-id", tier_2="tier-2", tier_1="tier-1"),
    _ids("crusoe.ai/", partition="ib.partition.id", pod="pod.id"),
    # Topograph: since 1.0 tiers, 0 is next to the nodes; before 1.0, names.
    _ids(
        "fabric.topograph.run/tier-",
        **{"tier-3": "3", "tier-2": "2", "tier-1": "1", "tier-0": "0"},
    ),
    _ids("network.topology.nvidia.com/", core="core", spine="spine", leaf="leaf"),
    _ids("network.topology.nvidia.com/", datacenter="datacenter", spine="spine", block="block"),
    # From the docs of schedulers, widely copied: names are unique within the outer domain only.
    _numbers("cloud.provider.com/topology-", block="block", rack="rack"),
)

#: Labels of nodes with directly connected accelerators, as by NVLink; only one of them is used.
_ACCELERATORS: Final = tuple(
    KnownLabel("accelerator", label)
    for label in (
        "accelerator.topograph.run/domain",
        "network.topology.nvidia.com/accelerator",
        "nvidia.com/gpu.clique",
        "ds.coreweave.com/nvlink.domain",
        "topology.k8s.aws/ultraserver-id",
    )
)

_HOST: Final = KnownLabel(HOST.name, HOST.label)


def guessed(nodes: Sequence[Labels], *, host: bool = False) -> Found:
    """The levels of the well-known labels on these nodes.

    Args:
        nodes: the labels of each node.
        host: whether to add each node as a domain of the innermost level.
    """
    places, notes = _taken(nodes, (), _PLACES)
    fabrics = [_taken(nodes, places, fabric) for fabric in _FABRICS]
    taken, _ = max(fabrics, key=lambda found: len(found[0]))  # the first of equals
    notes += [note for _, left_out in fabrics for note in left_out]
    others = [found for found, _ in fabrics if len(found) > len(places) and found != taken]
    notes += [
        f"{label.label}: left out: {taken[-1].label} describes the same network"
        for found in others
        for label in found[len(places) :]
        if label not in taken
    ]
    taken = _with_accelerator(nodes, taken, notes)
    if host:
        taken, left_out = _taken(nodes, taken, (_HOST,))
        notes += left_out
    return Found(tuple(label.level for label in taken), tuple(dict.fromkeys(notes)))


def chosen(nodes: Sequence[Labels], levels: Iterable[Level]) -> Found:
    """The given levels, with notes on missing labels and on a wrong order.

    Args:
        nodes: the labels of each node.
        levels: the outermost first.
    """
    levels = tuple(levels)
    notes: list[str] = []
    for level in levels:
        carrying = sum(level.label in labels for labels in nodes)
        if carrying < len(nodes):
            notes.append(
                f"{level.label}: {carrying} of {len(nodes)} nodes have it; the others are in no "
                f"domain of {level.name}"
            )
    notes += [
        f"{inner.label}: each {outer.name} is of one {inner.name} only, as if {inner.name} were "
        f"around it; the outermost level comes first"
        for outer, inner in pairwise(levels)
        if _is_around(inner.label, outer.label, nodes)
    ]
    return Found(levels, tuple(notes))


def _is_around(label: str, other: str, nodes: Sequence[Labels]) -> bool:
    """Whether each domain of `other` lies within one of `label`, which has fewer domains."""
    pairs = {(each[other], each[label]) for each in nodes if other in each and label in each}
    return len(pairs) == len({inner for inner, _ in pairs}) > len({outer for _, outer in pairs})


def _taken(
    nodes: Sequence[Labels], around: Sequence[KnownLabel], offered: Iterable[KnownLabel]
) -> tuple[list[KnownLabel], list[str]]:
    """`around` with the offered labels that nest in it, and a note per label left out."""
    taken, left_out = list(around), list[str]()
    for label in offered:
        if not any(label.label in labels for labels in nodes):
            continue
        problem = _problem(nodes, [*taken, label])
        if problem:
            left_out.append(f"{label.label}: left out: {problem}")
        else:
            taken.append(label)
    return taken, left_out


def _with_accelerator(
    nodes: Sequence[Labels], taken: list[KnownLabel], notes: list[str]
) -> list[KnownLabel]:
    """The labels with one of directly connected accelerators, as far inside as it nests."""
    for label in _ACCELERATORS:
        if not any(label.label in labels for labels in nodes):
            continue
        outermost = sum(each in _PLACES for each in taken)
        problems: list[str] = []
        for place in range(len(taken), outermost - 1, -1):
            levels = [*taken[:place], label, *taken[place:]]
            found = (_problem(nodes, levels[: n + 1]) for n in range(place, len(levels)))
            problem = next(filter(None, found), "")
            if not problem:
                return levels
            problems.append(problem)
        notes.append(f"{label.label}: left out: {problems[0]}")
    return taken


def _problem(nodes: Sequence[Labels], levels: Sequence[KnownLabel]) -> str:
    """Why the last of these labels cannot be a level within the others; "" = it can."""
    *around, label = levels
    path_of: dict[str, tuple[str, ...]] = {}
    inside = 0
    for labels in nodes:
        value = labels.get(label.label)
        path = tuple(labels[each.label] for each in around if each.label in labels)
        if value is None or len(path) < len(around):
            continue
        inside += 1
        other = path_of.setdefault(value, path)
        if label.everywhere and other != path:
            domains = " and in ".join(map("/".join, (other, path)))
            return f"{value} lies in {domains}, which {around[-1].label} tells apart"
    if 2 * inside >= len(nodes):
        return ""
    beside = f" together with {around[-1].label}" if around else ""
    return f"only {inside} of {len(nodes)} nodes have it{beside}"
