# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Capacity precheck: groups for which aggregate free capacity is not enough.

When one of eight members of a gang ends, every waiting gang of eight could use its capacity, and
none would find enough. Each attempt would fail, and those that were tried would wait behind others
(a pause follows every failure), though they came first. So an attempt that failed leaves here
what it needs of each resource on which nodes, and what it wants reserved; an event is let through
only when what is free in all might be enough, or somebody of lower priority is placed.

Nothing is lost by that: a placement needs certain nodes; of the events at these nodes the last
finds the capacity of all of them there, and so is let through.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from enbloc.engine.packing import Packing, packings_ever, shortage, undecided
from enbloc.engine.packing import answer as answer_of
from enbloc.engine.plan import Refutation
from enbloc.engine.state import Capacity, ClusterState, Groups, Members, Reservation
from enbloc.engine.trial import Trial
from enbloc.framework.facts import GroupFacts
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

_MOST_KNOWN: Final = 4096

#: No pod has a higher priority.
_HIGHEST: Final = 2**31 - 1

#: Some change of load may help, for all that is known.
_UNKNOWN: Final = Refutation("")


class Reserving(Protocol):
    """Who has reserved how much, and wants to."""

    def capacity(self) -> Capacity:
        """What is reserved now."""
        ...

    def renewed(self, members: Members, wanted: Reservation) -> Reservation:
        """What a group wants reserved, after other groups of its owner may have got members."""
        ...


@dataclass(slots=True, weakref_slot=True, eq=False)
class Want:
    """What groups of one shape need, each of them, on nodes that are otherwise empty.

    Attributes:
        packing: the shape; whose members they are does not matter here.
        looked_at: the version of the table when it was added up last.
        short: what came out then.
    """

    packing: Packing
    looked_at: object = None
    short: bool = False


class CapacityPrecheck:
    """What each group lacked when it was tried last.

    Args:
        state: the present.
        groups: the members of every group.
        reserving: says what groups want reserved.
    """

    def __init__(self, state: ClusterState, groups: Groups, reserving: Reserving) -> None:
        self._state, self._groups, self._reserving = state, groups, reserving
        #: Of each group that was tried in vain, when (the epoch), and what it needs: one of these.
        self._of: dict[GroupKey, tuple[object, Sequence[Want]]] = {}
        #: What those want reserved that were not admitted.
        self._not_admitted: dict[GroupKey, Reservation] = {}
        #: The priority of each that may have others evicted.
        self._preemptors: dict[GroupKey, int] = {}
        #: The lowest priority of those that are placed, and of which version of the tables.
        self._lowest: tuple[object, int] = None, 0
        #: The nodes without what counts for some groups only, and of which version of the tables.
        self._open: tuple[object, Nodes | None] = None, None
        #: By shape, for as long as a group needs it.
        self._wants: WeakValueDictionary[bytes, Want] = WeakValueDictionary()

    def want(self, packing: Packing) -> Want:
        """What groups of this shape need; the same object for all of them."""
        shape = packing.shape
        found = self._wants.get(shape)
        if found is None:
            found = self._wants[shape] = Want(packing)
        return found

    def note(self, group: GroupKey, epoch: object, wants: Sequence[Want]) -> None:
        """A group was tried, and no placement was found.

        Args:
            group: its key.
            epoch: differs whenever what plugins see has changed other than by pods.
            wants: what it needs: one of these.
        """
        self._of[group] = epoch, wants

    def not_admitted(self, wanted: Reservation) -> None:
        """A group was tried and not placed; what it wants reserved may have been lacking."""
        self._not_admitted[wanted.group] = wanted

    def preempts(self, group: GroupKey, priority: int) -> None:
        """A group was tried and not placed, and those of lower priority may give way to it."""
        self._preemptors[group] = priority

    def forget(self, group: GroupKey) -> None:
        """The group is another than it was, or is gone, or must be tried in any case."""
        self._of.pop(group, None)
        self._not_admitted.pop(group, None)
        self._preemptors.pop(group, None)

    def refuses(self, group: GroupKey) -> bool:
        """Whether aggregate free capacity is not enough for the group now, nor can become it."""
        priority = self._preemptors.get(group)
        if priority is not None and priority > self._lowest_placed():
            return False
        wanted = self._not_admitted.get(group)
        if wanted is not None and self._admission_refuses(group, wanted):
            return True
        return self._packing_refuses(group)

    def _lowest_placed(self) -> int:
        known, lowest = self._lowest
        if known != self._version:
            lowest = int(self._state.placed.priority.min(initial=_HIGHEST))
            self._lowest = self._version, lowest
        return lowest

    def _admission_refuses(self, group: GroupKey, wanted: Reservation) -> bool:
        wanted = self._reserving.renewed(self._groups[group], wanted)
        return bool(self._reserving.capacity().admits(wanted, self._open_nodes()))

    def _packing_refuses(self, group: GroupKey) -> bool:
        epoch, wants = self._of.get(group, (None, ()))
        now = self._state.epoch
        if not wants or epoch not in (now, (now, ledgers_of(self._state.nodes).version)):
            return False
        version = now, self._state.nodes.placed_version
        for want in wants:
            if want.looked_at != version:
                want.looked_at = version
                want.short = shortage(want.packing.within(self._open_nodes())) is not None
            if not want.short:
                return False
        return True

    @property
    def _version(self) -> object:
        return self._state.epoch, self._state.nodes.placed_version

    def _open_nodes(self) -> Nodes:
        """The nodes without what counts for some groups only."""
        claims = self._state.claims.open_to_some()
        if not claims:
            return self._state.nodes
        known, nodes = self._open
        if nodes is None or known != self._version:
            nodes = self._state.nodes.fork()
            for claim in claims:
                row = nodes.row(claim.node)
                if row is not None and claim.pod is not None:
                    nodes.place(row, claim.pod.spec, -1)
            self._open = self._version, nodes
        return nodes


class _Known(NamedTuple):
    """What was asked about a group, what the answer was, and what the group needs."""

    question: object
    answer: str
    wants: Sequence[Want]


class Refutations:
    """What `infeasible` said of each group, kept while neither the group nor the nodes change.

    Args:
        precheck: learns what each group lacks.
    """

    def __init__(self, precheck: CapacityPrecheck) -> None:
        self._precheck = precheck
        #: The latest answers, one a group, at most _MOST_KNOWN.
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
        """As `infeasible`, with what that cost.

        Args:
            epoch: differs whenever what plugins see has changed other than by pods.
            facts: the group as it is.
            held: its bound members.
            trial: the nodes, and the plugins that are asked.
            steps: how much a search may cost.
            hurried: there is no time for a search.
        """
        if facts.solo or not (facts.deficit and facts.quorum):
            return _UNKNOWN
        members = Counter((trial.key(pod), pod.role) for pod in facts.pending)
        seats = frozenset((pod.uid, pod.node) for pod in held)
        deficits = tuple((floor.role, floor.deficit) for floor in facts.floors)
        if any(key.holds is not None for key, _ in members):  # what is left of them is no epoch's
            epoch = epoch, ledgers_of(trial.snapshot.nodes).version
        question = epoch, frozenset(members.items()), deficits, facts.choice, seats, steps
        searched = 0
        known = self._known.get(facts.key)
        if known is None or known.question != question:
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            packings = packings_ever(facts, held, trial)
            if not packings:
                return _UNKNOWN
            if undecided(packings):
                if hurried:
                    return Refutation("", put_off=True)
                searched = steps
            answer = answer_of(packings, held, trial.snapshot.nodes, steps)
            known = _Known(question, answer, [*map(self._precheck.want, packings)])
            self._known[facts.key] = known
        self._precheck.note(facts.key, epoch, known.wants)
        return Refutation(known.answer, searched)

    def forget(self, group: GroupKey) -> None:
        """The group is gone."""
        self._known.pop(group, None)
