# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups: every known group, and to which of them each pod belongs."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from enbloc.engine.deadlines import Deadlines
from enbloc.engine.events import PriorityClassSeen
from enbloc.engine.plan import Plan
from enbloc.engine.state.localities import locality_of
from enbloc.engine.state.run import Run, solo_key
from enbloc.engine.state.runs import Runs
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.grouped import Index
from enbloc.model.groups import Group, GroupKey
from enbloc.model.labels import Mask
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodUID
from enbloc.model.selectors import Labels
from enbloc.model.topology import Topology


class Groups:
    """The runs of every group; a pod without a group is a group of one.

    Args:
        profiles: by schedulerName; pods that name none of them are not placed here.
        assumed: UIDs of pods that hold a reservation.
        raises: a PodGroup's class may raise its priority, not only lower it.

    Attributes:
        settled: every stream has synced: members are assigned to runs as they come.
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
        #: Each run of each group, and each pod without a group, by key.
        self._by_key: dict[GroupKey, Run] = {}
        #: By PodGroup; its runs are in `_by_key` as well.
        self._runs: dict[GroupKey, Runs] = {}
        #: The group of each member: the named one, or the implied one.
        self._key_of: dict[PodUID, GroupKey] = {}
        #: By family, its PodGroups.
        self._of_family: Index[str, GroupKey] = Index()
        #: By namespace, label and value, the PodGroups with it.
        self._with_label: Index[tuple[str, str, str], GroupKey] = Index()
        #: By namespace, the labels of PodGroups that others must keep away from, and how often a
        #: rule of these others names them; no entry is empty.
        self._apart: dict[str, Counter[Labels]] = {}
        #: PodGroups that name a PriorityClass.
        self._classed: set[GroupKey] = set()
        #: When to arrange members of a PodGroup again.
        self._waiting: Deadlines[GroupKey] = Deadlines()
        self.settled = False
        self.classes: dict[str, PriorityClassSeen] = {}
        self.topologies: dict[str, Topology] = {}

    def __iter__(self) -> Iterator[Run]:
        return iter(self._by_key.values())

    def __getitem__(self, key: GroupKey) -> Run:
        return self._by_key[key]

    def get(self, key: GroupKey) -> Run | None:
        """Return one run of a group, if it is known."""
        return self._by_key.get(key)

    def runs(self, key: GroupKey) -> Sequence[Run]:
        """Return the runs of the same PodGroup, the newest last; empty = it is unknown."""
        runs = self._runs.get(key.podgroup)
        return tuple(runs) if runs is not None else ()

    def newest(self, run: Run) -> Run:
        """Return the newest run of the same PodGroup."""
        runs = self._runs.get(run.key.podgroup)
        return run if runs is None else runs.newest

    def named(self, uid: PodUID) -> GroupKey | None:
        """Return the group that a pod named when it was last seen; None = it is no member."""
        return self._key_of.get(uid)

    def key_of(self, uid: PodUID) -> GroupKey | None:
        """Return the key of a member's run; None = it is no member, or its run is over."""
        key = self._key_of.get(uid)
        runs = self._runs.get(key) if key is not None else None
        if runs is None:
            return key
        run = runs.run_of(uid)
        return None if run is None else run.key

    # ── PodGroups ────────────────────────────────────────────────────────────────────────────

    def take_group(self, key: GroupKey, group: Group | None) -> Sequence[Run]:
        """Record an added, changed or deleted (None) PodGroup; return its runs."""
        runs = self._obtain(key)
        before = runs.group.family if runs.group is not None else ""
        self._move(key, before, group.family if group is not None else "")
        self._label(key, runs.group, group)
        self._keep_apart(key, runs.group, group)
        if group is not None and group.priority_class:
            self._classed.add(key)
        else:
            self._classed.discard(key)
        runs.take_group(group)
        return tuple(runs)

    def _obtain(self, key: GroupKey) -> Runs:
        runs = self._runs.get(key)
        if runs is None:
            runs = self._runs[key] = Runs(key)
            if self.settled:
                runs.settle()
            self._list(runs)
        return runs

    def _list(self, runs: Runs) -> None:
        """Index each run by its key."""
        for run in runs:
            self._by_key[run.key] = run

    def _move(self, key: GroupKey, before: str, family: str) -> None:
        """Move a PodGroup to this family; "" = none."""
        if before != family:
            self._of_family.drop(before, key)
        if family:
            self._of_family.add(family, key)

    def _label(self, key: GroupKey, before: Group | None, now: Group | None) -> None:
        """Index the new labels of a PodGroup."""
        was = before.labels if before is not None else ()
        has = now.labels if now is not None else ()
        if was == has:
            return
        for label in was:
            self._with_label.drop((key.namespace, *label), key)
        for label in has:
            self._with_label.add((key.namespace, *label), key)

    def _keep_apart(self, key: GroupKey, before: Group | None, now: Group | None) -> None:
        """Index the labels of the PodGroups that a PodGroup must keep away from."""
        was, has = _kept_from(before), _kept_from(now)
        if was == has:
            return
        counts = self._apart.setdefault(key.namespace, Counter())
        counts.update(has)
        counts.subtract(was)
        for labels in {*was, *has}:
            if not counts[labels]:
                del counts[labels]
        if not counts:
            del self._apart[key.namespace]

    def shunned(self, group: Group) -> bool:
        """Whether some PodGroup must keep away from one with these labels."""
        rules, own = self._apart.get(group.key.namespace, ()), {*group.labels}
        return any(own.issuperset(labels) for labels in rules)

    def pod_groups(self) -> Sequence[Group]:
        """Return every PodGroup that exists."""
        return [runs.group for runs in self._runs.values() if runs.group is not None]

    def labelled(self, namespace: str, labels: Labels) -> Sequence[GroupKey]:
        """Return the PodGroups of a namespace that have all of these labels."""
        if not labels:
            return [key for key in self._runs if key.namespace == namespace]
        found = [self._with_label.get((namespace, *label), {}) for label in labels]
        fewest = min(found, key=len)
        return [key for key in fewest if all(key in each for each in found)]

    def of_family(self, family: str) -> Sequence[Run]:
        """Return the runs of the groups whose PodGroups are of one family."""
        return [run for key in self._of_family.get(family, ()) for run in self._runs[key]]

    # ── members ──────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Assign the members found so far to runs in each group, once every stream has synced."""
        self.settled = True
        for key, runs in self._runs.items():
            del self._by_key[key]
            runs.settle()
            self._list(runs)

    def enter(self, pod: Pod) -> Sequence[GroupKey]:
        """Add or update a member.

        Returns:
            The runs that this changes, its own first; empty for a pod that only takes capacity, or
            whose run is over.
        """
        if pod.group is None:
            return self._enter_alone(pod)
        self._key_of[pod.uid] = pod.group
        runs = self._obtain(pod.group)
        changed = runs.put(pod)
        if runs.newest.key not in self._by_key:
            self._list(runs)
            changed += [run for run in runs if runs.spare(run)]
        return [run.key for run in changed]

    def _enter_alone(self, pod: Pod) -> Sequence[GroupKey]:
        key = solo_key(pod)
        run = self._by_key.get(key)
        if run is None:
            if not self._needs_us(pod):
                return ()
            run = self._by_key[key] = Run(key, solo=True)
        self._key_of[pod.uid] = key
        run.put(pod)
        return (key,)

    def _needs_us(self, pod: Pod) -> bool:
        return self.ours(pod) and not pod.node and not pod.finished

    def ours(self, pod: Pod) -> bool:
        """Whether the pod names a profile of this scheduler."""
        return pod.scheduler in self._profiles

    def leave(self, uid: PodUID, *, deleted: bool) -> GroupKey | None:
        """Remove a pod, deleted or of another group; return the run to review, None = no member."""
        key = self._key_of.pop(uid, None)
        if key is None:
            return None
        runs = self._runs.get(key)
        if runs is None:
            self._by_key[key].remove(uid)
            return key
        return (runs.remove(uid, deleted=deleted) or runs.newest).key

    def _tidy(self, runs: Runs) -> None:
        """Drop a PodGroup of which nothing is known any more, and that has no run to forget."""
        if runs.empty and not any(run.key in self._by_key for run in runs):
            self._runs.pop(runs.key, None)

    # ── runs ────────────────────────────────────────────────────────────────────────────────

    def arrange(self, run: Run, now: float) -> Sequence[GroupKey]:
        """Put gathering members where the rules now place them (semantics §2.4).

        Returns:
            The runs of the same PodGroup that this changed.
        """
        runs = self._runs.get(run.key.podgroup)
        if runs is None:
            return ()
        changed = runs.arrange(now)
        self._waiting.put(runs.key, runs.deadline)
        return self._changed(runs, changed)

    def commit(self, run: Run, plan: Plan) -> Sequence[GroupKey]:
        """Commit a group's run to an open plan; return the runs that have changed."""
        run.plan = plan.id
        if run.solo:
            return ()
        runs = self._runs[run.key.podgroup]
        planned = [each.pod.uid for each in plan.assignments]
        return self._changed(runs, runs.commit(run, planned))

    def plan_ended(self, run: Run) -> None:
        """Record that no plan of a group's members is open any more."""
        if not run.solo:
            run.committed = False

    def _changed(self, runs: Runs, changed: Sequence[Run]) -> Sequence[GroupKey]:
        if changed:
            self._list(runs)
        return [run.key for run in changed]

    def deadline(self) -> float:
        """Return when to arrange members of some group again; infinity = never by time."""
        return self._waiting.first()

    def overdue(self, now: float) -> Sequence[GroupKey]:
        """Return the newest runs of the groups whose members are to be arranged now, each once."""
        return [self._runs[key].newest.key for key in self._waiting.due(now)]

    def over(self, run: Run) -> bool:
        """Whether nothing more is known of a group, or of one of its runs."""
        if run.solo:
            return not run.pods
        runs = self._runs[run.key.podgroup]
        return runs.empty or runs.spare(run)

    def drop(self, run: Run) -> None:
        """Forget one run of a group, or a pod without a group."""
        del self._by_key[run.key]
        runs = self._runs.get(run.key.podgroup)
        if runs is None:
            for uid in run.pods:
                del self._key_of[uid]
        elif not runs.empty:
            runs.drop(run)
        else:
            self._waiting.drop(runs.key)
            self._tidy(runs)

    def naming_class(self, name: str) -> list[GroupKey]:
        """Return the groups whose PodGroup names this PriorityClass."""
        return [
            run.key for run in self if run.group is not None and run.group.priority_class == name
        ]

    def facts(self, run: Run) -> GroupFacts:
        """Return the facts of a group now."""
        facts = run.facts(self._profiles, self._assumed, self.classes, raises=self._raises)
        return self.located(facts, run.bound)

    def located(self, facts: GroupFacts, bound: Sequence[Pod]) -> GroupFacts:
        """Return the facts of a group with what its topology means if these members are bound."""
        group = facts.group
        if group is None or not (group.topology or group.topology_parts):
            return facts
        locality, problem = locality_of(group, bound, self.topologies)
        return replace(facts, locality=locality, problem=facts.problem or problem)

    def in_topology(self) -> list[GroupKey]:
        """Return the groups whose PodGroup requests a topology."""
        return [run.key for run in self if run.in_topology]

    def placed_below(self, priority: int, placed: PlacedPods) -> Mask:
        """Return bool[P]: the placed pods with a lower priority, or group priority."""
        mask: Mask = placed.priority < priority
        runs = (run for key in self._classed for run in self._runs[key])
        lowered = (run for run in runs if self.priority(run) < priority)
        places = [placed.place(uid) for run in lowered for uid in run.pods]
        mask[[place for place in places if place is not None]] = True
        return mask

    def priority(self, run: Run) -> int:
        """Return the priority of a group now, without the other facts."""
        return run.priority(self.classes, raises=self._raises)

    def profile(self, facts: GroupFacts) -> Profile:
        """Return the profile that decides about a group: the one that its members name."""
        name = facts.pending[0].scheduler if facts.pending else ""
        return self._profiles.get(name) or next(iter(self._profiles.values()))

    def profile_of(self, run: Run) -> Profile:
        """Return the profile that the live members of a run name, bound or not."""
        named = (self._profiles.get(pod.scheduler) for pod in run.live.values())
        return next(filter(None, named), None) or next(iter(self._profiles.values()))


def _kept_from(group: Group | None) -> Sequence[Labels]:
    """Return the labels of PodGroups that a PodGroup must keep away from."""
    if group is None or group.topology is None:
        return ()
    return [rule.labels for rule in group.topology.apart if rule.required]
