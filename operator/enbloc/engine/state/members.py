# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members: who belongs to a group, in which incarnation, and what that means for its floor."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from enbloc.framework.facts import Floor, GroupFacts
from enbloc.model.binding_record import BindingRecord, read_binding_record
from enbloc.model.groups import Group, GroupKey, Memory
from enbloc.model.incarnation import begins_anew, count_succeeded, identity
from enbloc.model.pods import Phase, Pod, PodKey, PodUID


def solo_key(pod: Pod) -> GroupKey:
    """The key of the implied group of a pod without one; no PodGroup can have such a name."""
    return GroupKey(pod.key.namespace, "/" + pod.key.name)


def _received(pod: Pod) -> str:
    """The life of which the binding record of a bound pod speaks; "" = it has none."""
    known = read_binding_record(pod.binding_record) if pod.node and pod.binding_record else None
    return known.incarnation if known else ""


class Members:
    """The pods of one group, and the memory of its present incarnation (semantics §1, §2.2).

    Attributes:
        group: its PodGroup; None while it does not exist.
        solo: the implied group of a pod without one.
        pods: every known member, finished ones too.
        incarnation: identity of the present life; "" before the first member.
        started: when the floor first ran together in it, server seconds; None = not yet.
        captured: the minimums when it started, by role ("" = the group's own), lowered since where
            the PodGroup was; empty = not started.
        queue_time: kept for the incarnation once the quorum was there; None before.
    """

    def __init__(self, key: GroupKey, *, solo: bool) -> None:
        self.key = key
        self.solo = solo
        self.group: Group | None = Group(key) if solo else None
        self.pods: dict[PodUID, Pod] = {}
        self.incarnation = ""
        self._forgotten: Counter[str] = Counter()
        self.started: float | None = None
        self.captured: dict[str, int] = {}
        self.queue_time: float | None = None
        self._identities: set[str] = set()
        self._done: dict[PodUID, tuple[Pod, str]] = {}
        self._of_the_past: set[PodUID] = set()
        self._live = 0
        self._settled = False

    @property
    def empty(self) -> bool:
        """Nothing is known of this group any more."""
        return not self.pods and (self.group is None or self.solo)

    @property
    def at_rest(self) -> bool:
        """A pod without a group that is bound or finished, and so needs nothing more."""
        return self.solo and all(pod.node or pod.finished for pod in self.pods.values())

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def put(self, pod: Pod) -> None:
        """Add or update a member; a new life of the group begins where semantics §1 says."""
        old = self.pods.get(pod.uid)
        if self._settled and pod.live and old is None:
            self._arrive(identity(pod))
        self._live += int(pod.live) - int(old is not None and old.live)
        self.pods[pod.uid] = pod
        if pod.phase is Phase.SUCCEEDED and pod.uid not in self._of_the_past:
            self._done[pod.uid] = (pod, pod.incarnation or _received(pod))

    def remove(self, uid: PodUID) -> None:
        """A member was deleted; what succeeded stays counted."""
        pod = self.pods.pop(uid, None)
        self._of_the_past.discard(uid)
        if pod is not None:
            self._live -= int(pod.live)

    def take_group(self, group: Group | None) -> None:
        """The PodGroup was added, changed or deleted; its status may remember more than we saw."""
        self.group = group
        if self._settled and group is not None and group.memory.incarnation == self.incarnation:
            self._recall(group.memory)
        self._capture()

    def start(self, now: float) -> None:
        """The floor runs together for the first time in this incarnation."""
        self.started = now
        self._capture()

    def _capture(self) -> None:
        """Keep what a started group needs to be complete: the least since it started."""
        if self.started is None or self.group is None:
            return
        minimums = (("", self.group.min_member), *self.group.minimums())
        known = self.captured or dict(minimums)
        self.captured = known | {
            role: min(minimum, known.get(role, 0)) for role, minimum in minimums
        }

    def settle(self) -> None:
        """The first lists are complete: find out which life the members that we found belong to.

        It is the one that status remembers, if a member or a binding record of it is still there,
        or if no member is live; otherwise that of the oldest live member. The binding record of a
        member that succeeded counts for it if a live member was there before that one was bound.
        """
        if self._settled:
            return
        self._settled = True
        live = sorted(
            (pod for pod in self.pods.values() if pod.live), key=lambda pod: pod.seniority
        )
        outlived = self._outlived(live)
        records = [r for pod in live if pod.node and (r := read_binding_record(pod.binding_record))]
        records += [record for _, record in outlived]
        self._identities = {identity(pod) for pod in live}
        known = self._identities | {record.incarnation for record in records}
        memory = self.group.memory if self.group else Memory()
        remembered = not live or bool(memory.incarnation and memory.incarnation in known)
        if remembered:
            self.incarnation = memory.incarnation
        elif records:
            self.incarnation = records[0].incarnation
        elif live:
            self.incarnation = identity(live[0])
        of_it = [pod for pod, record in outlived if record.incarnation == self.incarnation]
        self._identities.update(map(identity, of_it))
        if remembered:
            if memory.incarnation:
                self._identities.add(memory.incarnation)
            self._recall(memory)
        times = [r.queue_time for r in records if r.incarnation == self.incarnation]
        self.queue_time = min(times, default=None)
        if self.started is None and any(pod.bound and pod.running for pod in live):
            # Without a status that remembers it, a running member is proof enough.
            self.started = (
                None
                if memory.incarnation
                else min(
                    pod.scheduled_at or pod.created for pod in live if pod.bound and pod.running
                )
            )
        if self.started is not None:
            self._recapture([pod for pod in live if pod.bound])
        self._capture()

    def _outlived(self, live: list[Pod]) -> list[tuple[Pod, BindingRecord]]:
        """Succeeded members in whose life a live member was there already; with their records.

        It was if it is as old as the quorum of that life, or older than that member's Binding.
        """
        if not live:
            return []
        oldest = live[0].created
        known = (
            (pod, read_binding_record(pod.binding_record))
            for pod, _ in self._done.values()
            if pod.node
        )
        return [
            (pod, record)
            for pod, record in known
            if record and (oldest <= record.queue_time or oldest < (pod.scheduled_at or 0.0))
        ]

    def _recapture(self, bound: list[Pod]) -> None:
        """The minimum that a started group had when we last placed a member of it.

        Binding records keep the group's own only. Where that is held, or was raised since, the
        roles are complete as they are.
        """
        if self.group is None:
            return
        last = max(bound, key=lambda pod: (pod.scheduled_at or pod.created, pod.key), default=None)
        known = read_binding_record(last.binding_record) if last is not None else None
        floor = min(self.group.min_member, known.floor if known else self.group.min_member)
        whole = len(bound) + self.all_succeeded >= floor
        held = Counter(pod.role for pod in bound) + self.succeeded
        self.captured = {
            role: min(minimum, held[role]) if whole or floor < self.group.min_member else minimum
            for role, minimum in self.group.minimums()
        }
        self.captured[""] = floor

    def _arrive(self, arriving: str) -> None:
        if self.incarnation and begins_anew(arriving, self._identities, live=self._live > 0):
            self._forgotten = Counter()
            self.started = None
            self.captured = {}
            self.queue_time = None
            self._identities = set()
            self._done = {}
            self._of_the_past = set(self.pods)
            self.incarnation = ""
        self.incarnation = self.incarnation or arriving
        self._identities.add(arriving)

    def _recall(self, memory: Memory) -> None:
        self.started = memory.started if self.started is None else self.started
        # What status counts and nobody saw are pods that were deleted since.
        seen = self.succeeded
        self._forgotten += count_succeeded(seen, memory) - seen

    @property
    def succeeded(self) -> Counter[str]:
        """How many members of each role succeeded in this incarnation; "" = without a role.

        Never goes back within an incarnation. Of a role that the PodGroup does not name, what
        happened before this process was there counts as without a role.
        """
        return Counter(pod.role for pod in self.successes()) + self._forgotten

    @property
    def all_succeeded(self) -> int:
        """How many members succeeded in this incarnation; it never goes back within it."""
        if not self._done and not self._forgotten:
            return 0
        return len(self.successes()) + self._forgotten.total()

    def successes(self) -> Sequence[Pod]:
        """Members that succeeded in this incarnation as far as we saw it, deleted ones too."""
        if not self._done:
            return ()
        lives = self._identities | {self.incarnation}
        return [
            pod
            for pod, life in self._done.values()
            if not life or not self._identities or life in lives
        ]

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def facts(
        self,
        ours: Container[str],
        assumed: Container[str],
        classes: Mapping[str, int],
        *,
        raises: bool = False,
    ) -> GroupFacts:
        """What is true of this group now.

        Args:
            ours: the scheduler names that we serve.
            assumed: UIDs of pods that hold a reservation, and so are not pending.
            classes: PriorityClass values by name.
            raises: the group's class may raise its priority, not only lower it.
        """
        group = self.group
        live: list[Pod] = []
        bound: list[Pod] = []
        pending: list[Pod] = []
        gated: list[Pod] = []
        foreign: list[str] = []
        for pod in self.pods.values():
            if not pod.live:
                continue
            live.append(pod)
            if pod.gates:
                gated.append(pod)
            if pod.node:
                bound.append(pod)
            elif pod.uid not in assumed:
                if pod.scheduler not in ours:
                    foreign.append(pod.scheduler)
                elif not pod.gates:
                    pending.append(pod)
        pending.sort(key=_seniority)
        total = Floor(
            role="",
            minimum=self._minimum("", group.min_member) if group else 1,
            pending=len(pending),
            bound=len(bound),
            succeeded=self.all_succeeded,
        )
        roles = self._floors(pending, bound, self.succeeded) if group and group.roles else ()
        return GroupFacts(
            key=self.key,
            group=group,
            solo=self.solo,
            pending=tuple(pending),
            total=total,
            roles=roles,
            members=len(live),
            gated=len(gated),
            foreign=len(foreign),
            foreign_schedulers=tuple(sorted(set(foreign))) if foreign else (),
            running=sum(pod.running for pod in bound) if bound else 0,
            bound_by_us=(bool(bound) or bool(self._done))
            and any(pod.binding_record for pod in (*bound, *self.successes())),
            started=self.started is not None,
            incarnation=self.incarnation,
            priority=self._priority(live, classes, raises=raises),
            queue_time=self._queue_time((total, *roles), live),
            problem=self._problem(live, pending, classes, ours),
            gates=_gates(gated) if gated else (),
            ranks=() if self.solo else self._ranks(),
        )

    def _minimum(self, role: str, minimum: int) -> int:
        return min(minimum, self.captured.get(role, 0)) if self.captured else minimum

    def _floors(
        self, pending: list[Pod], bound: list[Pod], succeeded: Counter[str]
    ) -> tuple[Floor, ...]:
        """A floor for each role that has a minimum."""
        waiting = Counter(pod.role for pod in pending)
        sitting = Counter(pod.role for pod in bound)
        minimums = self.group.minimums() if self.group else ()
        return tuple(
            Floor(role, self._minimum(role, minimum), waiting[role], sitting[role], succeeded[role])
            for role, minimum in minimums
            if minimum > 0
        )

    def _ranks(self) -> tuple[int, ...]:
        """Of members that are bound or have succeeded: whoever replaces a lost one takes its."""
        held = (*self.bound, *self.successes())
        return tuple(sorted({pod.rank for pod in held if pod.rank is not None}))

    @property
    def bound(self) -> list[Pod]:
        """The live members with a node."""
        return [pod for pod in self.pods.values() if pod.bound]

    def runs_whole(self, facts: GroupFacts) -> bool:
        """Whether the floor is Running or Succeeded now, of the group and of each role."""
        running = Counter(pod.role for pod in self.pods.values() if pod.live and pod.running)
        return (
            facts.group is not None
            and running.total() + facts.total.succeeded >= facts.total.minimum
            and all(running[f.role] + f.succeeded >= f.minimum for f in facts.roles)
        )

    def _priority(self, live: list[Pod], classes: Mapping[str, int], *, raises: bool) -> int:
        lowest = min((pod.priority for pod in live or self.successes()), default=0)
        name = self.group.priority_class if self.group else ""
        if name not in classes:
            return lowest
        return classes[name] if raises else min(lowest, classes[name])

    def _queue_time(self, floors: tuple[Floor, ...], live: list[Pod]) -> float:
        """Creation time of the k-th oldest live member, k = floor − succeeded (semantics §2.7)."""
        if self.queue_time is not None:
            return self.queue_time
        created = sorted(pod.created for pod in live)
        if not created:
            return self.group.created if self.group else 0.0
        total = floors[0]
        k = max(1, total.minimum - total.succeeded)
        complete = self.group is not None and all(floor.quorum for floor in floors)
        if k <= len(created) and complete:
            self.queue_time = created[k - 1]
        return created[min(k, len(created)) - 1]

    def _problem(
        self,
        live: list[Pod],
        pending: list[Pod],
        classes: Mapping[str, int],
        ours: Container[str],
    ) -> str:
        group = self.group
        if group is not None:
            if group.problem:
                return group.problem
            if group.priority_class and group.priority_class not in classes:
                return (
                    f'spec.priorityClassName: PriorityClass "{group.priority_class}" not found; '
                    "create it or name another"
                )
        for pod in pending:
            if pod.problem:
                return f"pod {pod.key}: {pod.problem}"
        profiles = {pod.scheduler for pod in live if pod.scheduler in ours}
        if len(profiles) > 1:
            named = ", ".join(sorted(profiles))
            return f"members name different schedulers of ours: {named}; choose one"
        return ""


def _gates(gated: list[Pod]) -> tuple[str, ...]:
    """The names of the scheduling gates of these pods, each once, of the oldest first."""
    oldest = sorted(gated, key=_seniority)
    return tuple(dict.fromkeys(gate for pod in oldest for gate in pod.gates))


def _seniority(pod: Pod) -> tuple[float, PodKey]:
    return pod.seniority
