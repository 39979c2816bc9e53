# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What admitted groups are surely owed (semantics §5.1), counted naively.

A reservation counts here only while nobody can doubt it: the group was admitted by this process, or
its members were bound when it began; it is the same run with the same minResources; and its
timeout has not passed since, not even without progress, nor the longest that any run of it has
anything reserved in all, since the first was. Whoever is ordered later, surely, must
leave that room alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from enbloc.engine import Settings
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import DEFAULT_SCHEDULE_TIMEOUT_SECONDS
from enbloc.model.pods import Pod, PodUID
from tests.laws.naive import Run, View, cost, missing


@dataclass(frozen=True, slots=True)
class Debt:
    """One group's reservation, as it was made.

    Attributes:
        latest: its place in the queue is no later than this.
        until: it does not expire before.
    """

    wanted: tuple[tuple[str, int], ...]
    owner: str
    owners: frozenset[str]
    latest: float
    until: float


def _owner(group: Group) -> str:
    return group.owner or str(group.key)


def _priority(run: Run) -> int:
    return min((pod.priority for pod in run.live), default=0)


def _in_part_by_us(run: Run) -> bool:
    held = (*run.bound, *run.succeeded.values())
    lacks = run.group is not None and missing(run.held, run.floor)
    return bool(lacks) and any(pod.binding_record for pod in held)


class Debts:
    """The reservations that stand for certain."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._debts: dict[GroupKey, Debt] = {}
        self._first: dict[GroupKey, float] = {}

    def admitted(self, key: GroupKey, since: float, first: float | None = None) -> None:
        """A group is admitted; its reservation is made, unless it was before.

        Args:
            key: the group.
            since: when it got on last.
            first: when its reservation was made; None = then.
        """
        run = self._view.runs[key]
        group = run.group
        if group is None or not group.min_resources or key in self._debts or run.doubtful:
            return
        first = self._first.setdefault(key, since if first is None else first)
        self._debts[key] = Debt(
            group.min_resources,
            _owner(group),
            frozenset(run.owners),
            max((pod.created for pod in run.live), default=group.created),
            min(
                since + (group.timeout or DEFAULT_SCHEDULE_TIMEOUT_SECONDS),
                first + Settings().reservation_seconds,
            ),
        )

    def listed(self) -> None:
        """A process begins: whoever has bound members was admitted, and got on when they were."""
        for key, run in self._view.runs.items():
            if run.bound and not run.succeeded and not run.remembered:
                times = [pod.scheduled_at or pod.created for pod in run.bound]
                started = run.group.memory.started if run.group else None
                self.admitted(key, max(times), min(*times, started or max(times)))

    def look(self, planned: Iterable[GroupKey]) -> None:
        """Forget what is in doubt: nothing is held, or it is another group, run or wish."""
        still = set(planned)
        for key, debt in list(self._debts.items()):
            run = self._view.runs.get(key)
            group = run.group if run else None
            if (
                run is None
                or group is None
                or not (run.held[""] or key in still)
                or not run.live
                or group.min_resources != debt.wanted
                or _owner(group) != debt.owner
                or not debt.owners <= run.owners
            ):
                del self._debts[key]

    def owed_before(
        self, key: GroupKey, resource: str, reserved: Iterable[tuple[PodUID, Pod]], now: float
    ) -> int:
        """What must be left alone by a group that is ordered after all of these."""
        held: dict[PodUID, Pod] = dict(reserved)
        me = self._view.runs[key]
        owed: dict[str, int] = {}
        for other, debt in self._debts.items():
            if other == key or debt.until <= now or not self._later(me, other, debt):
                continue
            run = self._view.runs[other]
            mine = {pod.uid: pod for pod in (*run.bound, *run.succeeded.values())}
            mine |= {uid: pod for uid, pod in held.items() if pod.group == other}
            left = dict(debt.wanted).get(resource, 0)
            left -= sum(cost(pod.spec, resource) for pod in mine.values())
            owed[debt.owner] = max(owed.get(debt.owner, 0), left)
        return sum(owed.values())

    def _later(self, me: Run, other: GroupKey, debt: Debt) -> bool:
        theirs = self._view.runs[other]
        mine, other_priority = _priority(me), _priority(theirs)
        if mine == other_priority and _in_part_by_us(me) and not _in_part_by_us(theirs):
            return False  # it comes before its equals
        return mine < other_priority or (mine == other_priority and debt.latest < me.oldest)

    def has(self, owner: str) -> bool:
        """Whether somebody of this owner has anything reserved."""
        return any(debt.owner == owner for debt in self._debts.values())
