# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reserved: minResources of groups whose members must lie in one domain.

Such a group is admitted to a domain with that much free, and once a member is there, what it may
still take is kept there from groups that are ordered later (semantics §11.10).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine.plan import Assignment
from enbloc.engine.state import Capacity, Reservation, free_amounts
from enbloc.engine.topology.regions import inside
from enbloc.engine.topology.tree import DomainLevel, Numbers, domains_of
from enbloc.engine.trial import Trial
from enbloc.framework.facts import Locality
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.quantity import render

#: Node labels of a level and of those around it, the outermost first.
Labels = tuple[str, ...]
#: A domain: the labels of its level, and its number there.
DomainNumber = tuple[Labels, int]
#: Of reservations so many are named.
_MOST_NAMED: Final = 3


class _Taken(NamedTuple):
    """What one group has reserved in a domain.

    Attributes:
        of: the reservation.
        row: of a node that is in the domain.
    """

    of: Reservation
    row: int


class ReservedDomains:
    """What groups ordered earlier have reserved in single domains.

    Args:
        capacity: all reservations.
        wanted: of the group that is decided about.
        nodes: the cluster as that group sees it.
    """

    def __init__(self, capacity: Capacity, wanted: Reservation, nodes: Nodes) -> None:
        self._nodes = nodes
        self._taken = [
            _Taken(each, row)
            for each in capacity.earlier(wanted)
            if each.labels
            for row in _first_row(each, nodes)
        ]
        #: By the labels of a level, as of `due`.
        self._due: dict[Labels, Mapping[int, Counter[str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._taken)

    @property
    def levels(self) -> Collection[Labels]:
        """The levels of which domains are reserved."""
        return dict.fromkeys(each.of.labels for each in self._taken)

    def level(self, labels: Labels) -> DomainLevel:
        """The domains of a level."""
        return domains_of(self._nodes, labels).levels[-1]

    def due(self, labels: Labels) -> Mapping[int, Counter[str]]:
        """What is reserved within domains of a level, by their numbers; in others nothing is."""
        found = self._due.get(labels)
        if found is None:
            sums: dict[int, Counter[str]] = {}
            codes = self.level(labels).codes
            for each, row in self._taken:
                if each.labels[: len(labels)] == labels and codes[row] >= 0:
                    sums.setdefault(int(codes[row]), Counter()).update(each.due)
            found = self._due[labels] = sums
        return found

    def left(self, labels: Labels) -> dict[int, Counter[str]]:
        """What is free in the domains of a level of which something is reserved, and is not."""
        due = self.due(labels)
        names = tuple(sorted({name for each in due.values() for name in each}))
        sums = _sums(self.level(labels), names, self._nodes)
        return {
            code: Counter({name: max(0, int(sums[name][code]) - each[name]) for name in each})
            for code, each in due.items()
        }

    # ── where others may lie ─────────────────────────────────────────────────────────────────

    def spared(self, trial: Trial, pods: Sequence[Pod]) -> Trial:
        """The trial without the domains in which nothing is left for any of these pods."""
        asked = [dict(spec.requests) for spec in {id(pod.spec): pod.spec for pod in pods}.values()]
        full = [
            (labels, code)
            for labels in self.levels
            for code, left in self.left(labels).items()
            if all(_beyond(each, left) for each in asked)
        ]
        return self.without(trial, full) if full else trial

    def without(self, trial: Trial, domains: Sequence[DomainNumber]) -> Trial:
        """The trial on which nobody may lie in these domains."""
        mask = np.zeros(len(self._nodes), np.bool_)
        for labels, code in domains:
            mask |= self.level(labels).mask(code)
        return inside(trial, ~mask, self.reason(domains))

    def kept(
        self, assignments: Sequence[Assignment]
    ) -> tuple[Sequence[Assignment], Sequence[DomainNumber]]:
        """What of a plan leaves alone what is reserved.

        Returns:
            The assignments that stay, of members that are not needed those that fit; and where
            none stays, the domains of which too much would be taken.
        """
        left = {labels: self.left(labels) for labels in self.levels}
        for each in assignments:
            if each.needed:
                for _, of in self._at(each, left):
                    of.subtract(_of(each.pod, of))
        overdrawn = [
            (labels, code)
            for labels, domains in left.items()
            for code, of in domains.items()
            if min(of.values(), default=0) < 0
        ]
        if overdrawn:
            return (), overdrawn
        stay: list[Assignment] = []
        for each in assignments:
            if not each.needed:
                at = dict(self._at(each, left))
                if any(_beyond(dict(each.pod.spec.requests), of) for of in at.values()):
                    overdrawn += at
                    continue
                for of in at.values():
                    of.subtract(_of(each.pod, of))
            stay.append(each)
        return stay, () if stay else list(dict.fromkeys(overdrawn))

    def _at(
        self, assignment: Assignment, left: Mapping[Labels, Mapping[int, Counter[str]]]
    ) -> Iterator[tuple[DomainNumber, Counter[str]]]:
        """The reserved domains that a node is in, with what is left of each."""
        row = self._nodes.row(assignment.node)
        if row is None:
            return
        for labels, domains in left.items():
            code = int(self.level(labels).codes[row])
            if code in domains:
                yield (labels, code), domains[code]

    def reason(self, domains: Sequence[DomainNumber]) -> str:
        """Why nobody may lie in some domains."""
        names: list[str] = []
        for labels, code in domains[:_MOST_NAMED]:
            codes, found = self.level(labels).codes, domains_of(self._nodes, labels)
            whose = next(
                str(each.group)
                for each, row in self._taken
                if each.labels[: len(labels)] == labels and codes[row] == code
            )
            names.append(f"{found.path(self._nodes, len(labels) - 1, code)} for {whose}")
        which = "a domain that is" if len(domains) == 1 else "domains that are"
        more = f" and {len(domains) - len(names)} more" if len(domains) > len(names) else ""
        return f"node(s) were in {which} reserved: {', '.join(names)}{more}"


class DueInDomain:
    """What must be free in a domain for a group to be admitted to it, beside room for its members.

    Args:
        wanted: what the group wants reserved.
        reserved: what others have reserved.
        nodes: the cluster as the group sees it.
    """

    def __init__(self, wanted: Reservation, reserved: ReservedDomains, nodes: Nodes) -> None:
        self._wanted, self._reserved, self._nodes = wanted.due, reserved, nodes
        #: int64[D] each, by the labels of a level, then by resource.
        self._free: dict[Labels, Mapping[str, Numbers]] = {}

    def free(self, labels: Labels) -> Mapping[str, Numbers]:
        """int64[D]: by resource, what is free in the domains of a level and not reserved."""
        if labels not in self._free:
            names = tuple(sorted(self._wanted))
            sums = _sums(self._reserved.level(labels), names, self._nodes)
            for code, due in self._reserved.due(labels).items():
                for name in names:
                    sums[name][code] -= due[name]
            self._free[labels] = sums
        return self._free[labels]

    def enough(self, labels: Labels) -> Mask:
        """bool[D]: the domains of a level that have so much."""
        free = self.free(labels)
        masks = [each >= self._wanted[name] for name, each in free.items()]
        return np.logical_and.reduce(masks)

    def share(self, labels: Labels) -> Numbers:
        """float[D]: of the resource that is scarcest there, which part of what is due is free."""
        free = self.free(labels)
        return np.min([each / self._wanted[name] for name, each in free.items()], axis=0)

    def lacking(self, labels: Labels, code: int) -> str:
        """What a domain has too little of; "" = nothing."""
        for name, each in self.free(labels).items():
            if each[code] < self._wanted[name]:
                due, free = self._wanted[name], max(0, int(each[code]))
                return (
                    f"minResources needs {render(name, due)} {name} there, and "
                    f"{render(name, free)} is free"
                )
        return ""


def most_offered(locality: Locality, resource: str, nodes: Nodes) -> tuple[str, int] | None:
    """The domain of the required level with most of a resource when it is empty, and how much.

    None = no domain is required, or no node is in one.
    """
    required = locality.levels.required
    if required is None:
        return None
    domains = domains_of(nodes, locality.levels.labels[: required + 1])
    offered = domains.levels[required].sums(nodes.allocatable(resource))
    if not len(offered):
        return None
    most = int(np.argmax(offered))
    return domains.path(nodes, required, most), int(offered[most])


def _first_row(reservation: Reservation, nodes: Nodes) -> Iterator[int]:
    """The row of the first of its nodes that there is."""
    for name in reservation.nodes:
        row = nodes.row(name)
        if row is not None:
            yield row
            return


def _sums(level: DomainLevel, names: tuple[str, ...], nodes: Nodes) -> dict[str, Numbers]:
    """int64[D]: by resource, what is free in the domains of a level."""
    frees = free_amounts(nodes, names)
    return {name: level.sums(each) for name, each in zip(names, frees, strict=True)}


def _of(pod: Pod, amounts: Counter[str]) -> dict[str, int]:
    """What a pod requests of these resources."""
    return {name: each for name, each in pod.spec.requests if name in amounts}


def _beyond(asked: Mapping[str, int], left: Mapping[str, int]) -> bool:
    return any(asked.get(name, 0) > each for name, each in left.items())
