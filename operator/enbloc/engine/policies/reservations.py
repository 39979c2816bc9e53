# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reservations: what is left of each group's minResources, and the two clocks that end it.

A reservation is a group's minResources without what its held members request, and without what
the groups of its family request that have no minResources themselves::

    admitted ──► OPEN ──what is left reaches nothing──► gone (used up)
                 │  ▲
      no progress│  │progress      finished, evicted or deleted: gone from either
                 ▼  │
               EXPIRED

While it is open, the ledger has that amount, and the clock of the group's run is running.
Once that clock reaches the administrator's limit, nothing opens it again in this run.

Source: semantics §5.1.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from enbloc.engine.state import (
    HELD,
    MIN_RESOURCES,
    Against,
    Key,
    Order,
    Reservation,
    ReservationLedger,
    ReservedAmounts,
    reserved_amounts,
)
from enbloc.engine.turn import Turn
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.groups import GroupKey
from enbloc.model.quantity import render


@dataclass(frozen=True, slots=True)
class ReservationTerms:
    """What is due to one group, as known at a review.

    Attributes:
        family: its other groups share the reservation, as in `Reservation`.
        order: the group's position in the order.
        wanted: its minResources, `(resource, amount)`.
        due: what of them it may still take.
        progress_at: server time of the family's last progress that the API server shows: its latest
            PodScheduled=True or Ready=True; the present while the group is being admitted.
        starting: a held member does not run yet, and pending members may wait for it.
        labels: as in `Reservation`; so are nodes.
        elsewhere: what other groups of the family hold, which need not be in the domain.
        timeout: seconds without progress after which the reservation is over.
        run_name: the run of the group's members; the limit applies to all of it.
        since: server time of its begin that the API server shows: the first PodScheduled=True of
            the held members; the present without any.
    """

    family: str
    order: Key | None
    wanted: tuple[tuple[str, int], ...]
    due: Counter[str]
    progress_at: float
    timeout: float
    run_name: str
    since: float
    starting: bool = False
    labels: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    elsewhere: Counter[str] = field(default_factory=Counter[str])


@dataclass(slots=True)
class _Clock:
    """How long anything may still be reserved for one run of a group.

    Attributes:
        left: seconds, when it was last stopped.
        since: when it was started, server time; None = it is stopped.
    """

    run_name: str
    left: float
    since: float | None = None

    @property
    def ends(self) -> float:
        """When nothing is left, server time; infinity while it is stopped."""
        return math.inf if self.since is None else self.since + self.left

    @property
    def used_up(self) -> bool:
        """Whether it is stopped, and nothing is left."""
        return self.since is None and self.left <= 0.0

    def start(self, since: float) -> None:
        """Start it, unless it runs."""
        self.since = since if self.since is None else self.since

    def stop(self, now: float) -> None:
        """Stop it, if it runs."""
        if self.since is not None:
            self.left = 0.0 if self.ends <= now else self.left - max(0.0, now - self.since)
            self.since = None


@dataclass(slots=True)
class _Progress:
    """How far one reservation is used up.

    Attributes:
        least: the smallest value of `due` so far, per resource; less is progress.
        open: not expired.
        whole: all of it was kept at the last check.
    """

    terms: ReservationTerms
    least: Counter[str]
    progress_at: float
    open: bool
    whole: bool = True

    def update(self, terms: ReservationTerms, now: float) -> None:
        if terms.wanted != self.terms.wanted:  # less in the spec is no progress
            self.least = terms.due
        elif any(terms.due[resource] < amount for resource, amount in self.least.items()):
            self.progress_at, self.open = now, True
        if self.terms.starting and not terms.starting:  # members that waited for these can come now
            self.progress_at = max(self.progress_at, terms.progress_at)
        self.terms, self.least = terms, self.least & terms.due


class MinResourcesReservations:
    """The reservations of minResources, open or expired; each open one is in the ledger.

    Args:
        ledger: of all that is reserved.
        order: which group precedes which.
        longest: the most seconds in all that anything is reserved in one run of a group.
        limits: the most of each resource that the reservations of one namespace keep.
        takes_pods: whether a node of this name takes pods.
    """

    def __init__(
        self,
        ledger: ReservationLedger,
        order: Order,
        longest: float,
        limits: Mapping[str, int],
        takes_pods: Callable[[str], bool],
    ) -> None:
        self._ledger = ledger
        self._order = order
        self._longest = longest
        self._limits = limits
        self._takes_pods = takes_pods
        #: Every reservation of a current run, open or expired; each open one is in the ledger.
        self._progress: dict[GroupKey, _Progress] = {}
        #: By group, the clock of its current run; stopped while nothing is reserved.
        self._clocks: dict[GroupKey, _Clock] = {}
        #: Groups whose reservation exceeds the limit of their namespace, if that was reported.
        self._limited: dict[GroupKey, None] = {}
        #: Cached for `capacity`: the groups with reservations, and the nodes held for them; the
        #: version of the ledger, the groups' places in the order, and which of the nodes take pods.
        self._holders: list[GroupKey] = []
        self._held_nodes: list[str] = []
        self._known: tuple[int, list[Key | None], list[bool]] = (-1, [], [])
        self._capacity: ReservedAmounts | None = None

    def __bool__(self) -> bool:
        """Whether any reservation is open or expired; if none, callers can skip the rest."""
        return bool(self._progress)

    def review(self, group: GroupKey, terms: ReservationTerms, turn: Turn) -> None:
        """Review what is left to an admitted group; the first review reserves it.

        Do not call it for a group that was not admitted.
        """
        known = self._progress.get(group)
        if known is not None and known.open and _changed(known.terms, terms):
            turn.happened.append(_released(group))
        if not terms.due:
            self._progress.pop(group, None)
        elif known is None:
            fresh = terms.starting or turn.now < terms.progress_at + terms.timeout
            self._progress[group] = _Progress(terms, terms.due, terms.progress_at, fresh)
        else:
            known.update(terms, turn.now)
        self._keep_time(group, terms, turn.now)
        self._enter(group)

    def _keep_time(self, group: GroupKey, terms: ReservationTerms, now: float) -> None:
        """Run the clock while anything is reserved, and reserve nothing beyond its end."""
        clock, since = self._clocks.get(group), now
        if clock is None or clock.run_name != terms.run_name:
            clock = self._clocks[group] = _Clock(terms.run_name, self._longest)
            since = terms.since
        progress = self._progress.get(group)
        if progress is None or not progress.open:
            clock.stop(now)
            return
        clock.start(since)
        if clock.ends <= now:
            progress.open = False
            clock.stop(now)

    def _enter(self, group: GroupKey) -> None:
        """Make the ledger state what is reserved."""
        name = f"{MIN_RESOURCES}/{group}/{group.run_number}"
        progress = self._progress.get(group)
        if progress is None or not progress.open:
            self._ledger.drop(name)
            self._limited.pop(group, None)
            return
        terms = progress.terms
        reservation = Reservation(
            name,
            MIN_RESOURCES,
            Against.LATER,
            holder=group,
            family=terms.family,
            amount=tuple(sorted(terms.due.items())),
            labels=terms.labels,
            nodes=terms.nodes,
        )
        if self._ledger.get(name) != reservation:
            self._ledger.put(reservation)

    def drop(self, group: GroupKey, turn: Turn) -> None:
        """Drop a group that may take nothing more: finished, gone, evicted, or never admitted."""
        progress = self._progress.pop(group, None)
        if progress is not None:
            self._clocks[group].stop(turn.now)
            self._enter(group)
            if progress.open:
                turn.happened.append(_released(group))

    def forget(self, group: GroupKey) -> None:
        """Drop the clock of a group that is gone; call `drop` first."""
        self._clocks.pop(group, None)

    def expire(self, turn: Turn) -> list[GroupKey]:
        """End the reservations that saw no progress for too long, or lasted too long in all.

        Returns:
            Their groups, in order.
        """
        over = [g for g, p in self._progress.items() if p.open and self._end(g, p) <= turn.now]
        for group in over:
            self._progress[group].open = False
            self._clocks[group].stop(turn.now)
            self._enter(group)
            turn.happened.append(_released(group))
        return self._order.first_to_last(over)

    def _end(self, group: GroupKey, progress: _Progress) -> float:
        """Return when an open reservation expires without progress, server seconds."""
        ends = self._clocks[group].ends
        if progress.terms.starting:
            return ends
        return min(progress.progress_at + progress.terms.timeout, ends)

    def exhausted(self, group: GroupKey) -> bool:
        """Whether a reservation is over for this run of its group, whatever its progress."""
        clock = self._clocks.get(group)
        return clock is not None and clock.used_up

    def deadline(self) -> float:
        """Return when the next one expires without progress, server seconds; infinity = never."""
        ends = (self._end(group, p) for group, p in self._progress.items() if p.open)
        return min(ends, default=math.inf)

    def deadline_of(self, group: GroupKey) -> float | None:
        """Return when this group's expires; None = it has none, or it has expired."""
        progress = self._progress.get(group)
        return self._end(group, progress) if progress is not None and progress.open else None

    def holders(self, family: str) -> list[GroupKey]:
        """Return those of a family that have reservations; what its others hold affects them."""
        return [key for key, p in self._progress.items() if p.terms.family == family]

    def capacity(self) -> ReservedAmounts:
        """Return what is reserved now; the same object while that is unchanged."""
        if self._capacity is None or self._state() != self._known:
            reservations = self._ledger.amounts()
            self._holders = [each.holder for each in reservations if each.holder is not None]
            held = (self._ledger.of(HELD, group) for group in self._holders)
            self._held_nodes = [each.node for every in held for each in every]
            self._known = self._state()
            left = [self._beyond_held(each) for each in reservations]
            self._capacity = reserved_amounts(left, self._order, self._limits)
        return self._capacity

    def _state(self) -> tuple[int, list[Key | None], list[bool]]:
        """Return on what `capacity` depends."""
        places = [self._order.of(group) for group in self._holders]
        return self._ledger.version, places, [self._takes_pods(each) for each in self._held_nodes]

    def _beyond_held(self, reservation: Reservation) -> Reservation:
        """Return what is to be reserved of the cluster beside what is held for lost members."""
        group = reservation.holder
        if group is None or reservation.purpose != MIN_RESOURCES:
            return reservation
        held = self._held(group)
        if not held:
            return reservation
        amount = Counter(dict(reservation.amount)) - held
        return reservation._replace(amount=tuple(sorted(amount.items())))

    def _held(self, group: GroupKey) -> Counter[str]:
        """Return what is held for lost members of a group, on nodes that take pods."""
        held = (each for each in self._ledger.of(HELD, group) if self._takes_pods(each.node))
        total = Counter[str]()
        for each in held:
            if each.pod is not None:
                total.update(dict(each.pod.spec.requests))
        return total

    def limited(self, capacity: ReservedAmounts) -> list[tuple[GroupKey, str]]:
        """Return the groups whose reservations a limit cuts, with the message.

        Each is returned once, until it has been reserved whole again.
        """
        found: list[tuple[GroupKey, str]] = []
        if not self._limits:
            return found
        kept = {each.group: each.due for each in capacity.amounts}
        for group, progress in self._progress.items():
            if not progress.open or self._order.of(group) is None:
                continue
            due = progress.terms.due - self._held(group)
            left_out = due - kept.get(group, Counter())
            if not left_out:
                self._limited.pop(group, None)
            elif group not in self._limited:
                self._limited[group] = None
                found.append((group, self._beyond_limit(group, min(left_out), left_out, due)))
        return found

    def _beyond_limit(
        self, group: GroupKey, resource: str, left_out: Counter[str], due: Counter[str]
    ) -> str:
        """Return the message that a part of a reservation is not kept."""
        limit = render(resource, self._limits[resource])
        return (
            f"{render(resource, left_out[resource])} of {render(resource, due[resource])} "
            f"{resource} of minResources are not reserved: the configuration limits the "
            f"reservations of namespace {group.namespace} to {limit} {resource} (reservationLimits)"
        )

    def revoked(
        self, capacity: ReservedAmounts, standing: dict[GroupKey, Counter[str]]
    ) -> list[tuple[GroupKey, str]]:
        """Return the groups whose reservations are no longer whole, last in order first; and why.

        Each is returned once, until it has been whole again.
        """
        found: list[tuple[GroupKey, str]] = []
        for each in reversed(capacity.amounts):
            progress = self._progress.get(each.group)
            if progress is None:
                continue  # it belongs to another policy
            whole = standing[each.group] == each.due
            if progress.whole and not whole:
                found.append((each.group, _revoked(each.due, standing[each.group])))
            progress.whole = whole
        return found


def _revoked(due: Counter[str], stands: Counter[str]) -> str:
    """Return the message that less can be kept than is to be reserved."""
    resource = min(due - stands)
    return (
        f"{render(resource, stands[resource])} of {render(resource, due[resource])} {resource} can "
        "be kept for minResources: a group ordered earlier has taken the rest, or no node has it"
    )


def _released(group: GroupKey) -> Happening:
    """Return the event after which groups that a reservation kept out can be tried again."""
    return Happening(Resource.POD_GROUP, Action.UPDATE_MINIMUM, group=group.podgroup)


def _changed(old: ReservationTerms, new: ReservationTerms) -> bool:
    """Whether a reservation differs in more than how far it is used up.

    In a domain, what the family's groups hold elsewhere counts too: it may leave more there.
    """
    if old.labels and old.elsewhere != new.elsewhere:
        return True
    terms = [(each.family, each.order, each.wanted, each.labels) for each in (old, new)]
    return terms[0] != terms[1]
