# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The table of members: which pods are in which group, and what creates them."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Container
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from enbloc.controller.creators import Creator
from enbloc.model.adoptions import Adoptions
from enbloc.model.grouped import Grouped, Index
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Phase, Pod, PodUID
from enbloc.wire.auto_groups import in_its_part

#: How many deleted creators that had ended are kept: their groups may not have been looked at yet.
KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a group.

    Attributes:
        live: it is neither finished nor terminating.
        bound: it is live and has a node.
        ready: its condition Ready is True.
        owner_key: as `Pod.owner_key`; "" = a pod without a controller.
        controller: UID of its controller; "" = it has none.
        controller_name: its name.
        scheduler: its schedulerName.
        created: creationTimestamp, seconds of server time since the epoch.
    """

    uid: PodUID
    role: str = ""
    phase: Phase = Phase.PENDING
    live: bool = True
    bound: bool = False
    ready: bool = False
    owner_key: str = ""
    controller: str = ""
    controller_name: str = ""
    scheduler: str = ""
    created: float = 0.0

    @classmethod
    def of(cls, pod: Pod, *, ready: bool, before: Phase | None = None) -> "Member":
        """The Member for a pod; `before` is as of `Pod.phase_after`."""
        return cls(
            uid=pod.uid,
            role=pod.role,
            phase=pod.phase_after(before),
            live=pod.live,
            bound=pod.bound,
            ready=ready and pod.live,
            owner_key=pod.owner_key,
            controller=pod.owner.uid if pod.owner is not None else "",
            controller_name=pod.owner.name if pod.owner is not None else "",
            scheduler=pod.scheduler,
            created=pod.created,
        )

    @property
    def finished(self) -> bool:
        """Whether it succeeded or failed."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    @property
    def bare(self) -> bool:
        """Whether it has no controller, so that nothing creates it again."""
        return not self.controller


class Members:
    """Members and their creators by group.

    A method that changes something returns the affected groups.

    Args:
        adoptions: the Kubernetes PodGroups whose pods belong to other groups.
        groups: the PodGroups that exist.
    """

    def __init__(
        self, adoptions: Adoptions | None = None, groups: Container[GroupKey] = ()
    ) -> None:
        self._adoptions = adoptions or Adoptions()
        self._groups = groups
        self._group_of: dict[PodUID, GroupKey] = {}
        self._members: Grouped[GroupKey, PodUID, Member] = Grouped()
        self._owned: defaultdict[str, Counter[GroupKey]] = defaultdict(Counter)
        self._schedulers: defaultdict[GroupKey, Counter[str]] = defaultdict(Counter)
        self._creators: dict[str, Creator] = {}
        self._named: Index[GroupKey, str] = Index()
        #: Creators in the group of the whole, by that of their part.
        self._waves: Index[GroupKey, str] = Index()
        self._deleted: deque[str] = deque()

    def of(self, group: GroupKey) -> Collection[Member]:
        """The members of a group, live or not."""
        return self._members.get(group, {}).values()

    def schedulers(self, group: GroupKey) -> Collection[str]:
        """The schedulerNames of its members."""
        return self._schedulers[group].keys() if group in self._schedulers else ()

    def creators(self, group: GroupKey, seen: Collection[str] = ()) -> dict[str, Creator]:
        """The creators of a group, by UID: they own a member, or their template names the group.

        One that had ended stays for a while after its deletion.

        Args:
            group: the group.
            seen: UIDs of former members' controllers, and of the group's own; those that have ended
                count too, unless they are now in the group of their part.
        """
        found = {member.controller for member in self.of(group)}
        for key in (group, *self._adoptions.under(group)):
            found.update(self._named.get(key, ()))
        former = (self._creators[uid] for uid in seen if uid in self._creators)
        found |= {each.uid for each in former if each.ended is not None and not each.apart}
        known = sorted(found & self._creators.keys())
        return {uid: self._settled(self._creators[uid]) for uid in known}

    def _settled(self, creator: Creator) -> Creator:
        """The same creator, with the group and role that its pods really belong to."""
        adoption = self._adoptions.of(creator.group) if creator.group and creator.by_field else None
        if adoption is None:
            return creator
        return replace(creator, group=adoption.group, role=adoption.role)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def put(self, pod: Pod, *, ready: bool) -> set[GroupKey]:
        """Take in a pod that was added or changed; its group may have changed too."""
        if pod.group is None:
            return self.remove(pod.uid)
        touched: set[GroupKey] = set()
        group = self._group_of.get(pod.uid, pod.group)
        before = self._members.get(group, {}).get(pod.uid)
        member = Member.of(pod, ready=ready, before=before.phase if before is not None else None)
        if group != pod.group:
            touched, before = self.remove(pod.uid), None
        if before != member:
            self._group_of[pod.uid] = pod.group
            self._members.put(pod.group, pod.uid, member)
            touched.add(pod.group)
        if before is not None:
            self._count(before, pod.group, -1)
        self._count(member, pod.group, +1)
        return touched

    def remove(self, uid: PodUID) -> set[GroupKey]:
        """Remove a pod."""
        group = self._group_of.pop(uid, None)
        member = None if group is None else self._members.drop(group, uid)
        if group is None or member is None:
            return set()
        self._count(member, group, -1)
        return {group}

    def _count(self, member: Member, group: GroupKey, change: int) -> None:
        """Change the counts of the member's controller and scheduler in this group by `change`."""
        _add(self._schedulers, group, member.scheduler, change)
        if member.controller:
            _add(self._owned, member.controller, group, change)

    # ── creators ─────────────────────────────────────────────────────────────────────────────

    def put_creator(self, creator: Creator) -> set[GroupKey]:
        """Take in a creator; only those that name a group, or have ended, are kept.

        It is in the group of its part when its pods are (semantics §6.6).
        """
        before, wave = self._creators.get(creator.uid), creator.wave
        so_far = before.group if before is not None else None
        apart = wave is not None and in_its_part(wave, self._groups, so_far)
        if apart:
            creator = replace(creator, group=wave)
        if before == creator:
            return set()
        touched = self._forget(creator.uid)
        if creator.group is not None or creator.ended is not None:
            self._creators[creator.uid] = creator
            if creator.group is not None:
                self._named.add(creator.group, creator.uid)
            if wave is not None and not apart:
                self._waves.add(wave, creator.uid)
            touched |= self._touched(creator)
        return touched

    def regroup(self, wave: GroupKey) -> set[GroupKey]:
        """Move the creators of a part of a workload to its group, if that exists now."""
        of_part = [self._creators[uid] for uid in self._waves.get(wave, ())]
        return {group for creator in of_part for group in self.put_creator(creator)}

    def remove_creator(self, uid: str) -> set[GroupKey]:
        """Remove a creator; one that ended stays for a while, as its end decides the group's."""
        creator = self._creators.get(uid)
        if creator is None:
            return set()
        if creator.ended is None:
            return self._forget(uid)
        self._deleted.append(uid)
        if len(self._deleted) > KEPT:
            self._forget(self._deleted.popleft())
        return set()

    def _forget(self, uid: str) -> set[GroupKey]:
        creator = self._creators.pop(uid, None)
        if creator is None:
            return set()
        if creator.group is not None:
            self._named.drop(creator.group, uid)
        if creator.wave is not None:
            self._waves.drop(creator.wave, uid)
        return self._touched(creator)

    def _touched(self, creator: Creator) -> set[GroupKey]:
        groups, named = set(self._owned.get(creator.uid, ())), self._settled(creator).group
        return groups if named is None else groups | {named}


_K = TypeVar("_K")
_V = TypeVar("_V")


def _add(table: dict[_K, Counter[_V]], key: _K, value: _V, change: int) -> None:
    """Change the count of a value by `change`; drop entries that become zero or empty."""
    counts = table[key]
    counts[value] += change
    if not counts[value]:
        del counts[value]
    if not counts:
        del table[key]
