# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups: every group that is known, and which of them each pod belongs to."""

from collections.abc import Container, Iterator, Mapping, Sequence

from enbloc.engine.state.members import Members, solo_key
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


class Groups:
    """The members of every group, a pod without one being a group of one.

    Args:
        profiles: by schedulerName; pods that name none of them are not ours to place.
        assumed: UIDs of pods that hold a reservation.
        raises: a PodGroup's class may raise its priority, not only lower it.

    Attributes:
        settled: the first lists are complete, so that a new group begins with nothing to recall.
        classes: PriorityClass values by name.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        assumed: Container[str],
        *,
        raises: bool = False,
    ) -> None:
        self._profiles = dict(profiles)
        self._assumed = assumed
        self._raises = raises
        self._members: dict[GroupKey, Members] = {}
        self._key_of: dict[PodUID, GroupKey] = {}
        self._of_owner: dict[str, dict[GroupKey, None]] = {}
        self.settled = False
        self.classes: dict[str, int] = {}

    def __iter__(self) -> Iterator[Members]:
        return iter(self._members.values())

    def __getitem__(self, key: GroupKey) -> Members:
        return self._members[key]

    def get(self, key: GroupKey) -> Members | None:
        """A group, if it is known."""
        return self._members.get(key)

    def key_of(self, uid: PodUID) -> GroupKey | None:
        """The group of a pod that is a member."""
        return self._key_of.get(uid)

    def obtain(self, key: GroupKey, *, solo: bool = False) -> Members:
        """A group, made when new."""
        members = self._members.get(key)
        if members is None:
            members = self._members[key] = Members(key, solo=solo)
            if self.settled:
                members.settle()
        return members

    def own(self, key: GroupKey, before: str, owner: str) -> None:
        """A PodGroup is of this family now; "" = none."""
        if before != owner:
            family = self._of_owner.get(before, {})
            family.pop(key, None)
            if not family:
                self._of_owner.pop(before, None)
        if owner:
            self._of_owner.setdefault(owner, {})[key] = None

    def of_owner(self, owner: str) -> Sequence[Members]:
        """The groups whose PodGroups are of one family."""
        return [self._members[key] for key in self._of_owner.get(owner, ())]

    def settle(self) -> None:
        """The first lists are complete: each group finds out which life its members belong to."""
        self.settled = True
        for members in self._members.values():
            members.settle()

    def enter(self, pod: Pod) -> GroupKey | None:
        """Add or update a member; None for a pod that only takes room."""
        key = pod.group or solo_key(pod)
        if pod.group is None and key not in self._members and not self._needs_us(pod):
            return None
        self._key_of[pod.uid] = key
        self.obtain(key, solo=pod.group is None).put(pod)
        return key

    def _needs_us(self, pod: Pod) -> bool:
        return self.ours(pod) and not pod.node and not pod.finished

    def ours(self, pod: Pod) -> bool:
        """The pod names one of our profiles."""
        return pod.scheduler in self._profiles

    def leave(self, uid: PodUID) -> GroupKey | None:
        """A pod is a member no more; the group that it left."""
        key = self._key_of.pop(uid, None)
        if key is not None:
            self._members[key].remove(uid)
        return key

    def drop(self, members: Members) -> None:
        """Forget a group with its members."""
        del self._members[members.key]
        for uid in members.pods:
            del self._key_of[uid]

    def naming_class(self, name: str) -> list[GroupKey]:
        """The groups whose PodGroup names this PriorityClass."""
        return [
            members.key
            for members in self
            if members.group is not None and members.group.priority_class == name
        ]

    def facts(self, members: Members) -> GroupFacts:
        """What is true of a group now."""
        return members.facts(self._profiles, self._assumed, self.classes, raises=self._raises)

    def profile(self, facts: GroupFacts) -> Profile:
        """The profile that decides about a group: the one that its members name."""
        name = facts.pending[0].scheduler if facts.pending else ""
        return self._profiles.get(name) or next(iter(self._profiles.values()))
