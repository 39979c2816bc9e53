# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Families: what fills the reservations of a controller's groups, kept up to date by group.

A family may have thousands of groups, of which each change concerns one: what they hold is summed
up once, and then follows each group that is looked at. Source: semantics §5.1.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from enbloc.engine.state import Groups, ReservationLedger, Run
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID


class Filled(NamedTuple):
    """What the groups of a family that have no minResources hold.

    Attributes:
        held: the requests of their members that are held or planned.
        latest: when they last progressed, as `latest` returns it.
        starting: as in `ReservationTerms`.
    """

    held: Counter[str]
    latest: float | None
    starting: bool


@dataclass(slots=True)
class _Family:
    """One family.

    Attributes:
        asking: the groups for which it is kept.
        shares: by group without minResources, what it holds.
        held: the sum of these.
        times: how many of these have each `latest`.
        last: the latest of them.
        starting: the number of groups of which a member is starting.
    """

    asking: set[GroupKey] = field(default_factory=set[GroupKey])
    shares: dict[GroupKey, Filled] = field(default_factory=dict[GroupKey, Filled])
    held: Counter[str] = field(default_factory=Counter[str])
    times: Counter[float] = field(default_factory=Counter[float])
    last: float | None = None
    starting: int = 0

    def put(self, group: GroupKey, share: Filled) -> None:
        """Add or replace what a group holds."""
        before = self.shares.get(group)
        self.shares[group] = share
        self.held.update(share.held)
        self.starting += share.starting
        if share.latest is not None:
            self.times[share.latest] += 1
            self.last = share.latest if self.last is None else max(self.last, share.latest)
        if before is not None:
            self._subtract(before)

    def drop(self, group: GroupKey) -> None:
        """Drop a group, if it is there."""
        before = self.shares.pop(group, None)
        if before is not None:
            self._subtract(before)

    def _subtract(self, share: Filled) -> None:
        self.starting -= share.starting
        self.held.subtract(share.held)
        for name in share.held:
            if not self.held[name]:
                del self.held[name]
        if share.latest is not None:
            self.times[share.latest] -= 1
            if not self.times[share.latest]:
                del self.times[share.latest]
                if share.latest == self.last:
                    self.last = max(self.times, default=None)

    @property
    def filled(self) -> Filled:
        """Return what all of its groups hold."""
        return Filled(Counter(self.held), self.last, self.starting > 0)


class Families:
    """What the groups of each family hold, for the families that are asked about.

    Args:
        groups: the members of every group.
        ledger: tells which members are planned.
    """

    def __init__(self, groups: Groups, ledger: ReservationLedger) -> None:
        self._groups, self._ledger = groups, ledger
        self._of: dict[str, _Family] = {}
        #: By group without minResources, the family in which it counts.
        self._counted: dict[GroupKey, str] = {}
        #: By group that has asked, the family that is kept for it.
        self._asked: dict[GroupKey, str] = {}

    def filled(self, family: str, by: GroupKey, without: Iterable[PodUID] = ()) -> Filled:
        """Return what fills every reservation of a family; without one, nothing does.

        Args:
            family: that of the group which asks.
            by: this group; the answer is kept up to date until it is forgotten.
            without: pods whose requests do not count.
        """
        if self._asked.get(by, "") != family:
            self._leave(by)
        if not family:
            return Filled(Counter(), None, False)
        found = self._of.get(family)
        if found is None:
            found = self._of[family] = _Family()
            for run in self._groups.of_family(family):
                self.look(run)
        found.asking.add(by)
        self._asked[by] = family
        less = self._held_by(family, without)
        filled = found.filled
        return filled._replace(held=filled.held - less) if less else filled

    def _held_by(self, family: str, uids: Iterable[PodUID]) -> Counter[str]:
        """Return what some pods hold of what fills the reservations of a family."""
        planned = self._ledger.plans
        held: Counter[str] = Counter()
        looked: set[GroupKey] = set()
        for uid in uids:
            key = self._groups.key_of(uid)
            run = self._groups.get(key) if key is not None else None
            if run is None:
                continue
            if run.key not in looked:  # it may have changed since it was last looked at
                looked.add(run.key)
                self.look(run)
            pod = run.live.get(uid) if self._counted.get(run.key) == family else None
            if pod is not None and (pod.node or uid in planned):
                held.update(dict(pod.spec.requests))
        return held

    def look(self, run: Run) -> None:
        """Take in a group that may have changed."""
        group = run.group
        family = group.family if group is not None and not group.min_resources else ""
        if self._counted.get(run.key, "") != family:
            self._remove(run.key)
        found = self._of.get(family)
        if found is not None:
            found.put(run.key, Filled(self.taken(run), latest(run), starting(run)))
            self._counted[run.key] = family

    def forget(self, group: GroupKey) -> None:
        """Forget a group that is gone."""
        self._remove(group)
        self._leave(group)

    def taken(self, run: Run) -> Counter[str]:
        """Return the requests of the members of a group that are held or planned."""
        planned = self._ledger.plans
        held = Counter(run.done.requests)
        for pod in run.live.values():
            if pod.node or pod.uid in planned:
                held.update(dict(pod.spec.requests))
        return held

    def _remove(self, group: GroupKey) -> None:
        """Let a group count in no family."""
        family = self._counted.pop(group, None)
        if family is not None:
            self._of[family].drop(group)

    def _leave(self, group: GroupKey) -> None:
        """Keep nothing for a group any more."""
        family = self._asked.pop(group, None)
        if family is None:
            return
        found = self._of[family]
        found.asking.discard(group)
        if not found.asking:
            for each in found.shares:
                del self._counted[each]
            del self._of[family]


def latest(run: Run) -> float | None:
    """Return when a member of a group was last bound or became ready; None = never."""
    bound = run.bound
    times = [pod.bound_at for pod in bound]
    times += (pod.ready_at for pod in bound if pod.ready_at is not None)
    if run.done.latest is not None:
        times.append(run.done.latest)
    return max(times, default=None)


def starting(run: Run) -> bool:
    """Whether a member of a group is bound but does not run yet."""
    return any(pod.starting for pod in run.live.values())
