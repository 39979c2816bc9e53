# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Capacity precheck: groups for which aggregate free capacity does not suffice.

When one of eight members of a gang ends, every waiting gang of eight could use its capacity, but
none would find enough. Each attempt would fail, and the gangs that were tried would wait behind
others (a pause follows every failure), though they came first. So a failed attempt records here
what it needs of each resource on which nodes, and what it wants reserved. An event is let through
only if the aggregate free capacity, or what would be free without pods of lower priority, may be
enough.

No placement is missed: it needs certain nodes, and the last of the events at these nodes finds
their whole capacity free, and so is let through.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

import numpy as np

from enbloc.engine.packing import Packing, packings_ever, shortage, undecided
from enbloc.engine.packing import answer as answer_of
from enbloc.engine.plan import Refutation
from enbloc.engine.state import ClusterState, GroupAmount, Groups, ReservedAmounts, Run
from enbloc.engine.topology import too_small
from enbloc.engine.trial import Trial
from enbloc.framework.facts import GroupFacts
from enbloc.ledgers import ledgers_of
from enbloc.model.amounts import HUGE, Amounts
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

_MOST_KNOWN: Final = 4096

#: If more pods than this may give way to a group, it is tried without summing up.
_MOST_LOWER: Final = 16_384

#: Amounts of each resource, by row of the node table (int64[N]).
Given = Mapping[str, Amounts]

#: Nothing proves that no change of load may help.
_UNKNOWN: Final = Refutation("")


class Reserving(Protocol):
    """Tells what each group has reserved, and wants reserved."""

    def capacity(self) -> ReservedAmounts:
        """Return what is reserved now."""
        ...

    def renewed(self, run: Run, wanted: GroupAmount) -> GroupAmount:
        """Return what a group wants reserved, after its owner's groups may have got members."""
        ...


@dataclass(slots=True, weakref_slot=True, eq=False)
class Want:
    """What each group of one shape needs, on nodes that are otherwise empty.

    Attributes:
        packing: the shape; it does not matter whose members they are.
        looked_at: the version of the tables at the last check.
        short: its results, by the priority below which all pods give way; None = none give way.
    """

    packing: Packing
    looked_at: object = None
    short: dict[int | None, bool] = field(default_factory=dict[int | None, bool])


class CapacityPrecheck:
    """Knows what each group lacked at its last attempt.

    Args:
        state: the present state.
        groups: the members of every group.
        reserving: tells what groups want reserved.
    """

    def __init__(self, state: ClusterState, groups: Groups, reserving: Reserving) -> None:
        self._state, self._groups, self._reserving = state, groups, reserving
        #: By group that was tried in vain: the epoch of the attempt, and its alternative needs.
        self._of: dict[GroupKey, tuple[object, Sequence[Want]]] = {}
        #: By group that was not admitted, what it wants reserved.
        self._not_admitted: dict[GroupKey, GroupAmount] = {}
        #: By group that may preempt, its priority.
        self._preemptors: dict[GroupKey, int] = {}
        #: The nodes without reservations that count for some groups only, and their version of the
        #: tables.
        self._open: tuple[object, Nodes | None] = None, None
        #: What all pods below a priority hold, by priority, and the version of the tables.
        self._given: tuple[object, dict[int, Given | None]] = None, {}
        #: By shape; an entry lives as long as a group needs it.
        self._wants: WeakValueDictionary[bytes, Want] = WeakValueDictionary()

    def want(self, packing: Packing) -> Want:
        """Return what groups of this shape need; the same object for all of them."""
        shape = packing.shape
        found = self._wants.get(shape)
        if found is None:
            found = self._wants[shape] = Want(packing)
        return found

    def note(self, group: GroupKey, epoch: object, wants: Sequence[Want]) -> None:
        """Record that a group was tried without finding a placement.

        Args:
            group: its key.
            epoch: changes whenever what plugins see has changed other than by pods.
            wants: its alternative needs.
        """
        self._of[group] = epoch, wants

    def not_admitted(self, wanted: GroupAmount) -> None:
        """Record what a group wants reserved that was not placed; that may have been lacking."""
        self._not_admitted[wanted.group] = wanted

    def preempts(self, group: GroupKey, priority: int) -> None:
        """Record that a group was not placed, and may have pods of a lower priority evicted."""
        self._preemptors[group] = priority

    def forget(self, group: GroupKey) -> None:
        """Forget a group that has changed, is gone, or must be tried in any case."""
        self._of.pop(group, None)
        self._not_admitted.pop(group, None)
        self._preemptors.pop(group, None)

    def refuses(self, group: GroupKey) -> bool:
        """Whether too little is free for the group now, even if all that may give way did."""
        given = self._gives_way(self._preemptors.get(group))
        if given is None:
            return False
        wanted = self._not_admitted.get(group)
        if wanted is not None and not given and self._admission_refuses(group, wanted):
            return True
        return self._packing_refuses(group, given)

    def awaits_admission(self, group: GroupKey) -> bool:
        """Whether it was refused what it wants free before it starts: reservations count too."""
        return group in self._not_admitted

    def _admission_refuses(self, group: GroupKey, wanted: GroupAmount) -> bool:
        wanted = self._reserving.renewed(self._groups[group], wanted)
        return bool(self._reserving.capacity().admits(wanted, self._open_nodes()))

    def _packing_refuses(self, group: GroupKey, given: Given) -> bool:
        epoch, wants = self._of.get(group, (None, ()))
        now = self._state.epoch
        if not wants or epoch not in (now, (now, ledgers_of(self._state.nodes).version)):
            return False
        priority = self._preemptors[group] if given else None
        for want in wants:
            if want.looked_at != self._version:
                want.looked_at, want.short = self._version, {}
            if priority not in want.short:
                packing = want.packing.within(self._open_nodes(), given)
                want.short[priority] = shortage(packing) is not None
            if not want.short[priority]:
                return False
        return True

    @property
    def _version(self) -> object:
        return self._state.epoch, self._state.nodes.placed_version

    def _open_nodes(self) -> Nodes:
        """Return the nodes without reservations that count for some groups only."""
        reservations = self._state.reservations.open_to_some()
        if not reservations:
            return self._state.nodes
        known, nodes = self._open
        if nodes is None or known != self._version:
            nodes = self._state.nodes.fork()
            for reservation in reservations:
                row = nodes.row(reservation.node)
                if row is not None and reservation.pod is not None:
                    nodes.place(row, reservation.pod.spec, -1)
            self._open = self._version, nodes
        return nodes

    def _gives_way(self, priority: int | None) -> Given | None:
        """Return what pods below a priority hold, by resource and row; None = too many to sum."""
        if priority is None:
            return {}
        known, given = self._given
        if known != self._version:
            given = {}
            self._given = self._version, given
        if priority not in given:
            given[priority] = self._held_below(priority)
        return given[priority]

    def _held_below(self, priority: int) -> Given | None:
        placed, size = self._state.placed, len(self._state.nodes)
        lower = self._groups.placed_below(priority, placed)
        if np.count_nonzero(lower) > _MOST_LOWER:
            return None
        held = dict[str, Amounts]()
        for spec, _, places in placed.classes(lower):
            rows = placed.row[places]
            for name, amount in spec.requests:
                if amount >= HUGE:
                    return None
                np.add.at(held.setdefault(name, np.zeros(size, np.int64)), rows, amount)
        return held


class _Known(NamedTuple):
    """What was asked about a group, the answer, and what the group needs."""

    question: object
    answer: str
    wants: Sequence[Want]


class Refutations:
    """Keeps the results of `infeasible` while neither the group nor the nodes change.

    Args:
        precheck: learns what each group lacks.
    """

    def __init__(self, precheck: CapacityPrecheck) -> None:
        self._precheck = precheck
        #: The latest results, one per group, at most _MOST_KNOWN.
        self._known: dict[GroupKey, _Known] = {}

    def of(
        self,
        epoch: object,
        facts: GroupFacts,
        held: Sequence[Pod],
        trial: Trial,
        steps: int,
        *,
        hurried: bool = False,
    ) -> Refutation:
        """Return what `infeasible` returns, and its cost.

        Args:
            epoch: changes whenever what plugins see has changed other than by pods.
            facts: the group as it is.
            held: its bound members.
            trial: the nodes, and the plugins to ask.
            steps: how much a search may cost.
            hurried: do not search.
        """
        if facts.solo or not (facts.deficit and facts.quorum):
            return _UNKNOWN
        members = Counter((trial.key(pod), pod.role) for pod in facts.pending)
        seats = frozenset((pod.uid, pod.node) for pod in held)
        deficits = tuple((floor.role, floor.deficit) for floor in facts.floors)
        if any(key.holds is not None for key, _ in members):  # the epoch omits volumes and devices
            epoch = epoch, ledgers_of(trial.snapshot.nodes).version
        asked = facts.choice, facts.locality, seats, steps
        question = epoch, frozenset(members.items()), deficits, asked
        searched = 0
        known = self._known.get(facts.key)
        if known is None or known.question != question:
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            packings = packings_ever(facts, held, trial)
            if not packings:
                return _UNKNOWN
            nodes, answer = trial.snapshot.nodes, ""
            if facts.locality is not None:
                answer = too_small(facts.locality, packings, nodes)
            if not answer:
                if undecided(packings):
                    if hurried:
                        return Refutation("", put_off=True)
                    searched = steps
                answer = answer_of(packings, held, nodes, steps)
            known = _Known(question, answer, [*map(self._precheck.want, packings)])
            self._known[facts.key] = known
        self._precheck.note(facts.key, epoch, known.wants)
        return Refutation(known.answer, searched)

    def forget(self, group: GroupKey) -> None:
        """Forget a group that is gone."""
        self._known.pop(group, None)
