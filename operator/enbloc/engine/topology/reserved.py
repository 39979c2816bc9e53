# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reserved: minResources of groups whose members must lie in one domain.

Such a group is admitted to a domain with that much free. Once a member is there, what the group may
still take is reserved there against groups later in the order (semantics §11.10).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from enbloc.engine.plan import Assignment
from enbloc.engine.state import GroupAmount, ReservedAmounts, free_amounts
from enbloc.engine.topology.regions import inside
from enbloc.engine.topology.tree import DomainLevel, Numbers, domains_of
from enbloc.engine.trial import Trial
from enbloc.framework.facts import GroupFacts, Locality
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.model.text import several

#: Node labels of a level and of those around it, outermost first.
Labels = tuple[str, ...]
#: A domain: the labels of its level, and its number there.
DomainNumber = tuple[Labels, int]
#: Amounts by resource, by number of the domain.
AmountsByDomain = Mapping[int, Mapping[str, int]]
#: By the labels of a level, the reservations in its domains, with the domain of each, in order.
Taken = Mapping[Labels, Sequence[tuple[int, GroupAmount]]]
#: The most reservations that are named.
_MOST_NAMED: Final = 3
#: The most tries to place a group if members take too much of domains that others reserved.
_MOST_TRIES: Final = 4


def taken_in_domains(capacity: ReservedAmounts, wanted: GroupAmount, nodes: Nodes) -> Taken:
    """Return the reservations in single domains that precede a group.

    Args:
        capacity: all reservations.
        wanted: by the group that is being decided.
        nodes: the cluster, whatever runs there.
    """
    taken: dict[Labels, list[tuple[int, GroupAmount]]] = {}
    codes: dict[Labels, list[int]] = {}
    for each in capacity.earlier(wanted):
        labels = each.labels
        if not labels:
            continue
        if labels not in codes:
            codes[labels] = domains_of(nodes, labels).levels[-1].codes.tolist()
        for name in each.nodes:
            row = nodes.row(name)
            if row is not None and codes[labels][row] >= 0:
                taken.setdefault(labels, []).append((codes[labels][row], each))
                break
    return taken


class ReservedDomains:
    """What groups earlier in the order have reserved in single domains.

    Args:
        taken: the reservations of these groups, by domain.
        nodes: the cluster as the group that is being decided sees it.
    """

    def __init__(self, taken: Taken, nodes: Nodes) -> None:
        self._taken = taken
        self._nodes = nodes
        #: By the labels of a level, the results of `due`, `spare` and `left`.
        self._due: dict[Labels, AmountsByDomain] = {}
        self._spare: dict[Labels, AmountsByDomain] = {}
        self._left: dict[Labels, AmountsByDomain] = {}

    def __bool__(self) -> bool:
        return bool(self._taken)

    @property
    def levels(self) -> Collection[Labels]:
        """The levels with reserved domains."""
        return self._taken.keys()

    def level(self, labels: Labels) -> DomainLevel:
        """Return the domains of a level."""
        return domains_of(self._nodes, labels).levels[-1]

    def path(self, labels: Labels, code: int) -> str:
        """Return a domain in words."""
        return domains_of(self._nodes, labels).path(self._nodes, len(labels) - 1, code)

    def within(self, inner: Labels, outer: Labels) -> Numbers:
        """Return int64[D]: for each domain of a level, the outer domain that contains it, or -1."""
        return self._nodes.derived(
            ("domains within", inner, outer), lambda: _within(self.level(inner), self.level(outer))
        )

    def due(self, labels: Labels) -> AmountsByDomain:
        """Return what is reserved in domains of a level, by number; in others nothing is."""
        found = self._due.get(labels)
        if found is None:
            sums: dict[int, dict[str, int]] = {}
            for code, each in self._reserved(labels):
                amounts = sums.setdefault(code, {})
                for name, amount in each.due.items():
                    amounts[name] = amounts.get(name, 0) + amount
            found = self._due[labels] = sums
        return found

    def spare(self, labels: Labels) -> AmountsByDomain:
        """Return what is free minus what is reserved, in the domains with reservations.

        Negative values are what the reservations lack.
        """
        found = self._spare.get(labels)
        if found is None:
            due = self.due(labels)
            names = tuple(sorted({name for each in due.values() for name in each}))
            free = {
                name: each.tolist()
                for name, each in _sums(self.level(labels), names, self._nodes).items()
            }
            found = self._spare[labels] = {
                code: {name: free[name][code] - amount for name, amount in each.items()}
                for code, each in due.items()
            }
        return found

    def left(self, labels: Labels) -> AmountsByDomain:
        """Return `spare` with negative values as 0: what others may take there."""
        found = self._left.get(labels)
        if found is None:
            found = self._left[labels] = {
                code: {name: max(0, amount) for name, amount in each.items()}
                for code, each in self.spare(labels).items()
            }
        return found

    def _reserved(self, labels: Labels) -> Iterator[tuple[int, GroupAmount]]:
        """Yield the reservations within each domain of a level, whichever level they name."""
        for own, taken in self._taken.items():
            around = self.within(own, labels).tolist()
            for code, each in taken:
                if around[code] >= 0:
                    yield around[code], each

    # ── where others may lie ─────────────────────────────────────────────────────────────────

    def spared(self, trial: Trial, pods: Sequence[Pod]) -> Trial:
        """Return the trial without the domains where nothing is left for any of these pods."""
        asked = [dict(spec.requests) for spec in {id(pod.spec): pod.spec for pod in pods}.values()]
        full = [
            (labels, code)
            for labels in self.levels
            for code, left in self.left(labels).items()
            if all(_beyond(each, left) for each in asked)
        ]
        return self.without(trial, full)

    def roomy(self, trial: Trial, assignments: Sequence[Assignment]) -> Trial:
        """Return the trial without the domains that could not take all needed assignments.

        If none is needed, without those that could not take each of them.
        """
        needed: dict[str, int] = {}
        largest: dict[str, int] = {}
        for each in assignments:
            for name, amount in each.pod.spec.requests:
                largest[name] = max(largest.get(name, 0), amount)
                if each.needed:
                    needed[name] = needed.get(name, 0) + amount
        tight = [
            (labels, code)
            for labels in self.levels
            for code, left in self.left(labels).items()
            if _beyond(needed or largest, left)
        ]
        return self.without(trial, tight)

    def without(self, trial: Trial, domains: Sequence[DomainNumber]) -> Trial:
        """Return the trial with these domains excluded."""
        if not domains:
            return trial
        codes: dict[Labels, list[int]] = {}
        for labels, code in domains:
            codes.setdefault(labels, []).append(code)
        mask = np.zeros(len(self._nodes), np.bool_)
        for labels, some in codes.items():
            level = self.level(labels)
            chosen = np.zeros(level.count + 1, np.bool_)
            chosen[np.array(some, np.int64) + 1] = True
            mask |= chosen[level.bins]
        return inside(trial, ~mask, f"node(s) were in {self.words(domains)}")

    def kept(
        self, assignments: Sequence[Assignment], *, in_turn: bool
    ) -> tuple[Sequence[Assignment], Sequence[DomainNumber]]:
        """Return what of a plan fits beside what is reserved.

        Args:
            assignments: the plan's, the needed ones first.
            in_turn: no surplus member stays after one that cannot.

        Returns:
            The assignments that stay (surplus members as far as they fit); and if none stays, the
            domains of which too much would be taken.
        """
        left: dict[DomainNumber, dict[str, int]] = {}
        for each in assignments:
            if each.needed:
                for at in self._at(each, left):
                    _take(left[at], each.pod)
        overdrawn = [at for at, of in left.items() if min(of.values(), default=0) < 0]
        if overdrawn:
            return (), overdrawn
        stay: list[Assignment] = []
        for each in assignments:
            if not each.needed:
                places, asked = self._at(each, left), dict(each.pod.spec.requests)
                beyond = [at for at in places if _beyond(asked, left[at])]
                if beyond:
                    overdrawn += beyond
                    if in_turn:
                        break
                    continue
                for at in places:
                    _take(left[at], each.pod)
            stay.append(each)
        return stay, () if stay else list(dict.fromkeys(overdrawn))

    def _at(
        self, assignment: Assignment, left: dict[DomainNumber, dict[str, int]]
    ) -> Sequence[DomainNumber]:
        """Return the reserved domains that a node is in; set what is left of each in `left`."""
        row = self._nodes.row(assignment.node)
        if row is None:
            return ()
        found: list[DomainNumber] = []
        for labels in self.levels:
            code = int(self.level(labels).codes[row])
            whole = self.left(labels).get(code)
            if whole is not None:
                found.append((labels, code))
                left.setdefault((labels, code), dict(whole))
        return found

    def spares(self, pod: Pod, node: str, leaving: Sequence[Pod]) -> bool:
        """Whether a pod on a node would spare what is reserved, once others have left."""
        row, asked = self._nodes.row(node), dict(pod.spec.requests)
        if row is None:
            return False
        rows = [(each, self._nodes.row(each.node)) for each in leaving]
        for labels in self.levels:
            codes = self.level(labels).codes
            spare = dict(self.spare(labels).get(int(codes[row]), {}))
            for each, at in rows:
                if at is not None and codes[at] == codes[row]:
                    _give(spare, each)
            if _beyond(asked, {name: max(0, amount) for name, amount in spare.items()}):
                return False
        return True

    def words(self, domains: Sequence[DomainNumber]) -> str:
        """Return some domains by name, and the groups that have reserved them."""
        names: list[str] = []
        for labels, code in domains[:_MOST_NAMED]:
            whose = next(str(each.group) for at, each in self._reserved(labels) if at == code)
            names.append(f"{self.path(labels, code)} for {whose}")
        which = "a domain that is" if len(domains) == 1 else "domains that are"
        return f"{which} reserved: {several(names, _MOST_NAMED, len(domains))}"


class Tries:
    """The tries to place a group beside what others have reserved in single domains.

    Args:
        reserved: what they have reserved; None = nothing.
        trial: the cluster as the group sees it.
        facts: the group, whose members are to be placed.

    Attributes:
        where: the trial on which to place them next.
        number: how many tries were made.
        over: nothing more is to be tried.
        overdrawn: the domains of which the last try would have taken too much.
    """

    def __init__(self, reserved: ReservedDomains | None, trial: Trial, facts: GroupFacts) -> None:
        self._reserved, self._facts = reserved, facts
        spared = trial if reserved is None else reserved.spared(trial, facts.pending)
        self._first = self.where = spared
        self.number = 0
        self.over = False
        self.overdrawn: Sequence[DomainNumber] = ()

    def kept(self, assignments: Sequence[Assignment]) -> Sequence[Assignment]:
        """Return what of a try fits beside what is reserved.

        If nothing of it does, the next try avoids the domains of which it would have taken too
        much; the last one is on nodes where members cannot take too much, wherever they are placed.
        """
        self.number += 1
        stay = assignments
        if self._reserved is not None:
            stay, self.overdrawn = self._reserved.kept(assignments, in_turn=self._facts.in_slices)
        self.over = not self.overdrawn or self.number == _MOST_TRIES
        if self._reserved is not None and not self.over:
            if self.number == _MOST_TRIES - 1:
                self.where = self._reserved.roomy(self._first, assignments)
            else:
                self.where = self._reserved.without(self.where, self.overdrawn)
        return stay

    @property
    def refusal(self) -> str:
        """Why nothing of the last try stays; "" if something does, or nothing was placed."""
        if self._reserved is None or not self.overdrawn:
            return ""
        return f"The members would take too much of {self._reserved.words(self.overdrawn)}."


class DueInDomain:
    """What must be free in a domain to admit a group to it, besides room for its members.

    Args:
        wanted: what the group wants reserved.
        reserved: what others have reserved.
        nodes: the cluster as the group sees it.
    """

    def __init__(self, wanted: GroupAmount, reserved: ReservedDomains, nodes: Nodes) -> None:
        self._wanted, self._reserved, self._nodes = wanted.due, reserved, nodes
        #: int64[D] each, by the labels of a level, then by resource.
        self._free: dict[Labels, Mapping[str, Numbers]] = {}

    def free(self, labels: Labels) -> Mapping[str, Numbers]:
        """Return int64[D] by resource: what is free and not reserved in the domains of a level."""
        if labels not in self._free:
            names = tuple(sorted(self._wanted))
            sums = _sums(self._reserved.level(labels), names, self._nodes)
            for code, due in self._reserved.due(labels).items():
                for name in names:
                    if name in due:  # their sum may exceed int64
                        sums[name][code] = max(0, int(sums[name][code]) - due[name])
            self._free[labels] = sums
        return self._free[labels]

    def enough(self, labels: Labels) -> Mask:
        """Return bool[D]: the domains of a level where what is due is free, there and around them.

        What is reserved around a domain may be taken in it.
        """
        found = self._enough(labels)
        for outer in self._reserved.levels:
            if outer != labels:
                around = self._reserved.within(labels, outer)
                lies = around >= 0
                found[lies] &= self._enough(outer)[around[lies]]
        return found

    def _enough(self, labels: Labels) -> Mask:
        """Return bool[D]: the domains of a level where what is due is free."""
        masks = [each >= self._wanted[name] for name, each in self.free(labels).items()]
        return np.logical_and.reduce(masks)

    def share(self, labels: Labels) -> Numbers:
        """Return float[D]: the free share of what is due, for the scarcest resource there."""
        free = self.free(labels)
        return np.min([each / self._wanted[name] for name, each in free.items()], axis=0)

    def lacking(self, labels: Labels, code: int) -> str:
        """Return what a domain has too little of; "" = nothing."""
        if lacks := self._lacks(labels, code):
            return lacks
        for outer in self._reserved.levels:
            around = int(self._reserved.within(labels, outer)[code]) if outer != labels else -1
            if around >= 0 and (lacks := self._lacks(outer, around)):
                return f"{lacks} in {self._reserved.path(outer, around)}"
        return ""

    def _lacks(self, labels: Labels, code: int) -> str:
        for name, each in self.free(labels).items():
            if each[code] < self._wanted[name]:
                due, free = self._wanted[name], int(each[code])
                return (
                    f"minResources needs {render(name, due)} {name} there, and "
                    f"{render(name, free)} is free"
                )
        return ""


def most_offered(locality: Locality, resource: str, nodes: Nodes) -> tuple[str, int] | None:
    """Return the required-level domain that offers most of a resource when empty, and how much.

    None = no domain is required, or no node is in one.
    """
    required = locality.levels.required
    if required is None:
        return None
    domains = domains_of(nodes, locality.levels.labels[: required + 1])
    offered = domains.levels[required].amounts(nodes.allocatable(resource))
    if not len(offered):
        return None
    most = int(np.argmax(offered))
    return domains.path(nodes, required, most), int(offered[most])


def _within(inner: DomainLevel, outer: DomainLevel) -> Numbers:
    """Return int64[D]: for each domain of a level, the outer domain that contains it, or -1."""
    found = outer.codes[inner.first]
    rows = np.flatnonzero(inner.codes >= 0)
    codes = inner.codes[rows]
    found[codes[outer.codes[rows] != found[codes]]] = -1
    return found


def _sums(level: DomainLevel, names: tuple[str, ...], nodes: Nodes) -> dict[str, Numbers]:
    """Return int64[D] by resource: what is free in the domains of a level."""
    if not names:
        return {}
    frees = free_amounts(nodes, names)
    return {name: level.amounts(each) for name, each in zip(names, frees, strict=True)}


def _take(left: dict[str, int], pod: Pod) -> None:
    """Subtract what a pod requests of these resources."""
    for name, amount in pod.spec.requests:
        if name in left:
            left[name] -= amount


def _give(left: dict[str, int], pod: Pod) -> None:
    """Add what a pod requests of these resources."""
    for name, amount in pod.spec.requests:
        if name in left:
            left[name] += amount


def _beyond(asked: Mapping[str, int], left: Mapping[str, int]) -> bool:
    return any(asked.get(name, 0) > each for name, each in left.items())
