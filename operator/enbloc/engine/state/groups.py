# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups: every known group, and to which of them each pod belongs."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from enbloc.engine.events import PriorityClassSeen
from enbloc.engine.plan import Plan
from enbloc.engine.state.localities import locality_of
from enbloc.engine.state.members import Members, solo_key
from enbloc.engine.state.runs import Lives
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.labels import Mask
from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodUID
from enbloc.model.selectors import Labels
from enbloc.model.topology import Topology


class Groups:
    """The members of every group; a pod without a group is a group of one.

    Args:
        profiles: by schedulerName; pods that name none of them are not placed here.
        assumed: UIDs of pods that hold a reservation.
        raises: a PodGroup's class may raise its priority, not only lower it.

    Attributes:
        settled: the first lists are complete, so that a new group has nothing to restore.
        classes: PriorityClasses by name.
        topologies: by name.
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
        #: Each life of each group, and each pod without a group, by key.
        self._members: dict[GroupKey, Members] = {}
        #: By PodGroup; its lives are in `_members` as well.
        self._lives: dict[GroupKey, Lives] = {}
        #: The group of each member: the named one, or the implied one.
        self._key_of: dict[PodUID, GroupKey] = {}
        #: By family, its PodGroups; no entry is empty.
        self._of_owner: dict[str, dict[GroupKey, None]] = {}
        #: By namespace, label and value, the PodGroups with it; no entry is empty.
        self._with_label: dict[tuple[str, str, str], dict[GroupKey, None]] = {}
        #: PodGroups that name a PriorityClass.
        self._classed: set[GroupKey] = set()
        #: When to arrange members of a PodGroup again; without entries that have no time.
        self._waiting: dict[GroupKey, float] = {}
        self.settled = False
        self.classes: dict[str, PriorityClassSeen] = {}
        self.topologies: dict[str, Topology] = {}

    def __iter__(self) -> Iterator[Members]:
        return iter(self._members.values())

    def __getitem__(self, key: GroupKey) -> Members:
        return self._members[key]

    def get(self, key: GroupKey) -> Members | None:
        """Return one life of a group, if it is known."""
        return self._members.get(key)

    def lives(self, key: GroupKey) -> Sequence[Members]:
        """Return the lives of the same PodGroup, the newest last; empty = it is unknown."""
        lives = self._lives.get(key.podgroup)
        return tuple(lives) if lives is not None else ()

    def newest(self, members: Members) -> Members:
        """Return the newest life of the same PodGroup."""
        lives = self._lives.get(members.key.podgroup)
        return members if lives is None else lives.newest

    def named(self, uid: PodUID) -> GroupKey | None:
        """Return the group that a pod named when it was last seen; None = it is no member."""
        return self._key_of.get(uid)

    def key_of(self, uid: PodUID) -> GroupKey | None:
        """Return the life of a member; None = it is no member, or its life is over."""
        key = self._key_of.get(uid)
        lives = self._lives.get(key) if key is not None else None
        if lives is None:
            return key
        life = lives.life_of(uid)
        return None if life is None else life.key

    # ── PodGroups ────────────────────────────────────────────────────────────────────────────

    def take_group(self, key: GroupKey, group: Group | None) -> Sequence[Members]:
        """Record an added, changed or deleted (None) PodGroup; return its lives."""
        lives = self._obtain(key)
        before = lives.group.family if lives.group is not None else ""
        self._own(key, before, group.family if group is not None else "")
        self._label(key, lives.group, group)
        if group is not None and group.priority_class:
            self._classed.add(key)
        else:
            self._classed.discard(key)
        lives.take_group(group)
        return tuple(lives)

    def _obtain(self, key: GroupKey) -> Lives:
        lives = self._lives.get(key)
        if lives is None:
            lives = self._lives[key] = Lives(key)
            if self.settled:
                lives.settle()
            self._list(lives)
        return lives

    def _list(self, lives: Lives) -> None:
        """Index each life by its key."""
        for life in lives:
            self._members[life.key] = life

    def _own(self, key: GroupKey, before: str, owner: str) -> None:
        """Move a PodGroup to this family; "" = none."""
        if before != owner:
            family = self._of_owner.get(before, {})
            family.pop(key, None)
            if not family:
                self._of_owner.pop(before, None)
        if owner:
            self._of_owner.setdefault(owner, {})[key] = None

    def _label(self, key: GroupKey, before: Group | None, now: Group | None) -> None:
        """Index the new labels of a PodGroup."""
        was = before.labels if before is not None else ()
        has = now.labels if now is not None else ()
        if was == has:
            return
        for label in was:
            with_it = self._with_label[key.namespace, *label]
            del with_it[key]
            if not with_it:
                del self._with_label[key.namespace, *label]
        for label in has:
            self._with_label.setdefault((key.namespace, *label), {})[key] = None

    def pod_groups(self) -> Sequence[Group]:
        """Return every PodGroup that exists."""
        return [lives.group for lives in self._lives.values() if lives.group is not None]

    def labelled(self, namespace: str, labels: Labels) -> Sequence[GroupKey]:
        """Return the PodGroups of a namespace that have all of these labels."""
        if not labels:
            return [key for key in self._lives if key.namespace == namespace]
        found = [self._with_label.get((namespace, *label), {}) for label in labels]
        fewest = min(found, key=len)
        return [key for key in fewest if all(key in each for each in found)]

    def of_owner(self, owner: str) -> Sequence[Members]:
        """Return the lives of the groups whose PodGroups are of one family."""
        return [life for key in self._of_owner.get(owner, ()) for life in self._lives[key]]

    # ── members ──────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Assign members to lives in each group, once the first lists are complete."""
        self.settled = True
        for key, lives in self._lives.items():
            del self._members[key]
            lives.settle()
            self._list(lives)

    def enter(self, pod: Pod) -> Sequence[GroupKey]:
        """Add or update a member.

        Returns:
            The lives that this changes, its own first; empty for a pod that only takes capacity, or
            whose life is over.
        """
        if pod.group is None:
            return self._enter_alone(pod)
        self._key_of[pod.uid] = pod.group
        lives = self._obtain(pod.group)
        changed = lives.put(pod)
        if lives.newest.key not in self._members:
            self._list(lives)
            changed += [life for life in lives if lives.spare(life)]
        return [life.key for life in changed]

    def _enter_alone(self, pod: Pod) -> Sequence[GroupKey]:
        key = solo_key(pod)
        members = self._members.get(key)
        if members is None:
            if not self._needs_us(pod):
                return ()
            members = self._members[key] = Members(key, solo=True)
        self._key_of[pod.uid] = key
        members.put(pod)
        return (key,)

    def _needs_us(self, pod: Pod) -> bool:
        return self.ours(pod) and not pod.node and not pod.finished

    def ours(self, pod: Pod) -> bool:
        """Whether the pod names a profile of this scheduler."""
        return pod.scheduler in self._profiles

    def leave(self, uid: PodUID) -> GroupKey | None:
        """Remove a pod; return the life to review, None = it was no member."""
        key = self._key_of.pop(uid, None)
        if key is None:
            return None
        lives = self._lives.get(key)
        if lives is None:
            self._members[key].remove(uid)
            return key
        return (lives.remove(uid) or lives.newest).key

    def _tidy(self, lives: Lives) -> None:
        """Drop a PodGroup of which nothing is known any more, and that has no life to forget."""
        if lives.empty and not any(life.key in self._members for life in lives):
            self._lives.pop(lives.key, None)

    # ── lives ────────────────────────────────────────────────────────────────────────────────

    def arrange(self, members: Members, now: float) -> Sequence[GroupKey]:
        """Put gathering members where the rules now place them (semantics §2.4).

        Returns:
            The lives of the same PodGroup that this changed.
        """
        lives = self._lives.get(members.key.podgroup)
        if lives is None:
            return ()
        changed = lives.arrange(now)
        if lives.deadline is None:
            self._waiting.pop(lives.key, None)
        else:
            self._waiting[lives.key] = lives.deadline
        return self._changed(lives, changed)

    def commit(self, members: Members, plan: Plan) -> Sequence[GroupKey]:
        """Commit a group's life to an open plan; return the lives that have changed."""
        members.plan = plan.id
        if members.solo:
            return ()
        lives = self._lives[members.key.podgroup]
        planned = [each.pod.uid for each in plan.assignments]
        return self._changed(lives, lives.commit(members, planned))

    def plan_ended(self, members: Members) -> None:
        """Record that no plan of a group's members is open any more."""
        if not members.solo:
            members.committed = False

    def _changed(self, lives: Lives, changed: Sequence[Members]) -> Sequence[GroupKey]:
        if changed:
            self._list(lives)
        return [life.key for life in changed]

    @property
    def deadline(self) -> float | None:
        """Return when to arrange members of some group again; None = never by time."""
        return min(self._waiting.values(), default=None)

    def overdue(self, now: float) -> Sequence[GroupKey]:
        """Return the newest lives of the groups whose members are to be arranged now."""
        due = [key for key, at in self._waiting.items() if at <= now]
        return [self._lives[key].newest.key for key in due]

    def over(self, members: Members) -> bool:
        """Whether nothing more is known of a group, or of one of its lives."""
        if members.solo:
            return not members.pods
        lives = self._lives[members.key.podgroup]
        return lives.empty or lives.spare(members)

    def drop(self, members: Members) -> None:
        """Forget one life of a group, or a pod without a group."""
        del self._members[members.key]
        lives = self._lives.get(members.key.podgroup)
        if lives is None:
            for uid in members.pods:
                del self._key_of[uid]
        elif not lives.empty:
            lives.drop(members)
        else:
            self._waiting.pop(lives.key, None)
            self._tidy(lives)

    def naming_class(self, name: str) -> list[GroupKey]:
        """Return the groups whose PodGroup names this PriorityClass."""
        return [
            members.key
            for members in self
            if members.group is not None and members.group.priority_class == name
        ]

    def facts(self, members: Members) -> GroupFacts:
        """Return the facts of a group now."""
        facts = members.facts(self._profiles, self._assumed, self.classes, raises=self._raises)
        group = facts.group
        if group is None or not members.in_topology:
            return facts
        locality, problem = locality_of(group, members.bound, self.topologies)
        return replace(facts, locality=locality, problem=facts.problem or problem)

    def in_topology(self) -> list[GroupKey]:
        """Return the groups whose PodGroup requests a topology."""
        return [members.key for members in self if members.in_topology]

    def placed_below(self, priority: int, placed: Placed) -> Mask:
        """Return bool[P]: the placed pods with a lower priority, or group priority."""
        mask: Mask = placed.priority < priority
        lives = (life for key in self._classed for life in self._lives[key])
        lowered = (life for life in lives if self.priority(life) < priority)
        places = [placed.place(uid) for life in lowered for uid in life.pods]
        mask[[place for place in places if place is not None]] = True
        return mask

    def priority(self, members: Members) -> int:
        """Return the priority of a group now, without the other facts."""
        return members.priority(self.classes, raises=self._raises)

    def profile(self, facts: GroupFacts) -> Profile:
        """Return the profile that decides about a group: the one that its members name."""
        name = facts.pending[0].scheduler if facts.pending else ""
        return self._profiles.get(name) or next(iter(self._profiles.values()))
