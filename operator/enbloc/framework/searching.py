# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What filter plugins may declare for searches.

If placing members one by one fails, a search looks for a placement of the whole group. It uses what
is declared here and by `decide.Narrows`; all other filters check what it found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from enbloc.framework.decide import Plugin
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot

#: The most things for which a plugin names sets of nodes, the most sets for each, and the most
#: numberings of these.
MOST_TOGETHER: Final = 4
_MOST_SETS: Final = 4096
_MOST_NUMBERINGS: Final = 64


@runtime_checkable
class Takes(Plugin, Protocol):
    """A filter plugin that tells the search which resources it checks."""

    def takes(self, pod: Pod) -> Sequence[str]:
        """The requested resources that must be free on the pod's node."""
        ...


@dataclass(frozen=True, slots=True)
class SharedCapacity:
    """A capacity that several nodes share, such as a network's devices or a zone's storage.

    Attributes:
        rows: bool[N]: a pod on one of these rows uses the pool.
        amounts: int64[P]: how much each of the P pods asked about takes.
        free: how much is available.
        unit: "bytes", or what is counted ("devices").
        name: what it is, after an amount: "of class fast-local in zone a".
    """

    rows: Mask
    amounts: npt.NDArray[np.int64]
    free: int
    unit: str
    name: str


@runtime_checkable
class Pools(Plugin, Protocol):
    """A filter plugin that checks capacity which several nodes share."""

    def pools(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[SharedCapacity]:
        """The pools that any of these pods would use.

        Args:
            pods: one of each class.
            nodes: as they are.
            ever: what others hold now is not counted.
        """
        ...


@runtime_checkable
class TellsNodesApart(Plugin, Protocol):
    """A filter plugin for which nodes differ in more than the number of pods they take."""

    def likeness(self, pods: Sequence[Pod], nodes: Nodes) -> npt.NDArray[np.int64]:
        """int64[N]: nodes with equal numbers are equivalent for these pods, together or alone.

        Args:
            pods: one of each class.
            nodes: as they are.
        """
        ...


@runtime_checkable
class KeepsApart(Plugin, Protocol):
    """A filter plugin that keeps certain pods from sharing a node or a topology domain."""

    def apart(self, pod: Pod, other: Pod, snapshot: Snapshot) -> Sequence[str]:
        """Keys of the node labels in whose domains the two exclude each other; "" = per node.

        Name a key only if the filter refuses the later of the two, in either order and whatever
        other pods are there. `other` may be of the same class, and may be `pod` itself to stand for
        such a pod. Nodes without the label belong to no domain.
        """
        ...


@runtime_checkable
class Gathers(Plugin, Protocol):
    """A filter plugin that requires certain pods to share a topology domain."""

    def gathers(self, pod: Pod, snapshot: Snapshot) -> Sequence[str]:
        """Keys of node labels in a domain of which the pod must be with others; "" = one node.

        A search tries these domains one by one: the first member may go to any of them, and ties
        the others to it.
        """
        ...


class OneDomain(NamedTuple):
    """Pods that must be in one domain.

    Attributes:
        pods: bool[C]: which of the pods that were asked about.
        domains: int64[N], of each node, from 1 on; 0 = none.
        name: what the nodes of a domain are, in words, if there are no others but single nodes;
            "" = it is not reported if all are too small.
    """

    pods: Mask
    domains: npt.NDArray[np.integer]
    name: str = ""


@runtime_checkable
class GathersInSets(Plugin, Protocol):
    """A filter plugin that may require pods to share a set of nodes that no label describes."""

    def sets(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[OneDomain]:
        """The sets of nodes in one of which pods may have to be, as domains.

        Sets that overlap are in different numberings. A search tries them one by one, as the
        domains of `Gathers`.

        Args:
            pods: one of each class.
            nodes: with every placement so far.
            ever: what other pods use counts as free.
        """
        ...


def numberings(sets: Iterable[Mask], nodes: int) -> tuple[Sequence[npt.NDArray[np.int64]], bool]:
    """Number sets of nodes as domains; those that overlap earlier ones are in another numbering.

    Single nodes are left out.

    Args:
        sets: bool[N] each.
        nodes: N.

    Returns:
        int64[N] each, from 1 on, 0 = in no set; and whether all sets are there, not too many.
    """
    found: list[npt.NDArray[np.int64]] = []
    known, complete = set[bytes](), True
    for mask in sets:
        rows = np.flatnonzero(mask)
        if len(rows) < 2 or (told := mask.tobytes()) in known:
            continue
        if len(known) >= _MOST_SETS:
            return found, False
        known.add(told)
        free = next((each for each in found if not each[rows].any()), None)
        if free is None:
            if len(found) >= _MOST_NUMBERINGS:
                complete = False
                continue
            free = np.zeros(nodes, np.int64)
            found.append(free)
        free[rows] = len(known)
    return found, complete
