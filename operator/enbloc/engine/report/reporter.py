# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reporter: tells users each thing once, when it changes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from enbloc.engine.effects import (
    Emit,
    EventType,
    Related,
    RoleSucceeded,
    SetGangRunning,
    SetGroupStatus,
    SetPodCondition,
    TopologyStatus,
)
from enbloc.engine.queue import Item, QueuePlace
from enbloc.engine.report.authorship import Authorship
from enbloc.engine.report.conditions import Progress, ReasonAndMessage, conditions
from enbloc.engine.state import Run
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import MOST_RUNS_KEPT, GroupKey, RunMemory
from enbloc.model.kai import UNNAMED, UNNAMED_TEXT
from enbloc.model.names import (
    OUTDATED_REASONS,
    ROLE_KEY,
    SCHEDULER_REPORTER,
    EventReason,
    Reason,
)
from enbloc.model.pods import Pod, PodUID
from enbloc.model.reasons import GROUP_EVENTS, HAPPENED, MEMBER_EVENTS

_NOTE_LIMIT: Final = 1024

#: No pod is nominated.
NOWHERE: Final[Mapping[PodUID, str]] = {}

#: The most members of a group that get an event on what it waits for; all get the condition.
MOST_TOLD: Final = 64


def _cut(text: str) -> str:
    """Shorten an event's note as kube-scheduler does.

    Source: kube-scheduler v1.36 pkg/scheduler/schedule_one.go truncateMessage.
    """
    return text if len(text) <= _NOTE_LIMIT else text[: _NOTE_LIMIT - 4] + " ..."


def _of_member(own: str, facts: GroupFacts, why: ReasonAndMessage) -> str:
    """Return what a group waits for, for a member; `own` is why it fits no node itself."""
    # If the PodGroup does not exist, the message is about just that.
    group = f"PodGroup {facts.key}: {why.message}" if facts.group is not None else why.message
    return f"This member does not fit: {own} {group}" if own else group


def _remembered(runs: Sequence[Run]) -> tuple[RunMemory, ...]:
    """Return what another process must know: the newest run, and those that still matter."""
    known = [
        run for run in runs if run.run_name and (run.live or run.companions or run is runs[-1])
    ]
    return tuple(each.memory() for each in known[-MOST_RUNS_KEPT:])


class Reporter:
    """Records what was written, so that an unchanged verdict writes nothing.

    Args:
        names: the schedulerNames of this scheduler's profiles.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._authorship = Authorship(names)
        #: PodGroups that other schedulers write about.
        self._others: set[GroupKey] = set()
        #: What was last written, by PodGroup and by pod.
        self._statuses: dict[GroupKey, SetGroupStatus] = {}
        self._pods: dict[PodUID, tuple[Reason, str, str]] = {}
        #: The reason of the latest event about a group, and a pod; and the warnings of a pod.
        self._said: dict[GroupKey, Reason] = {}
        self._told: dict[PodUID, EventReason] = {}
        self._warned: dict[PodUID, set[EventReason]] = {}
        self._warned_groups: set[GroupKey] = set()
        #: Runs of groups that have started and do not run whole.
        self._below: set[GroupKey] = set()
        #: In which domains the members of groups with a topology are.
        self.whereabouts: dict[GroupKey, TopologyStatus] = {}
        #: The last value written of a pod's condition GangRunning.
        self._gang_running: dict[PodUID, bool] = {}

    @property
    def below_minimum(self) -> int:
        """Return how many groups have started and do not run whole now."""
        return len(self._below)

    def forget_pod(self, uid: PodUID) -> None:
        """Forget a pod that is gone."""
        self._pods.pop(uid, None)
        self._told.pop(uid, None)
        self._warned.pop(uid, None)
        self._gang_running.pop(uid, None)

    def forget_podgroup(self, name: GroupKey) -> None:
        """Forget a PodGroup of which no run is left."""
        self._statuses.pop(name, None)
        self._others.discard(name)

    def forget_group(self, key: GroupKey) -> None:
        """Forget a run of a group that is gone."""
        self._said.pop(key, None)
        self._below.discard(key)
        self._warned_groups.discard(key)
        self.whereabouts.pop(key.podgroup, None)

    def look(self, run: Run) -> None:
        """Determine whether another scheduler writes about a group (semantics §6.4).

        If so, what this one wrote no longer stands.

        Args:
            run: the newest run of the group.
        """
        name = run.key.podgroup
        if self._authorship.ours(run):
            self._others.discard(name)
        else:
            self.forget_group(run.key)
            self._statuses.pop(name, None)
            self._others.add(name)

    def status(
        self,
        turn: Turn,
        runs: Sequence[Run],
        facts: GroupFacts,
        item: Item,
        why: ReasonAndMessage,
        progress: Progress,
        *,
        notes: Sequence[str] = (),
        topology: TopologyStatus | None = None,
    ) -> None:
        """Write the scheduler's part of a PodGroup's status, if it changed.

        Args:
            turn: receives what to do.
            runs: all runs of the group, the newest last.
            facts: of the newest run.
            item: its place in the queue.
            why: why its deficit is not placed, if it has one.
            progress: what the engine is doing.
            notes: what else its user should know.
            topology: where its bound members are.
        """
        run = runs[-1]
        group = run.group
        if run.key.podgroup in self._others:
            return
        satisfied = self.satisfied(turn, run, facts)
        if group is None:
            self.whereabouts.pop(run.key.podgroup, None)
            return
        succeeded = run.succeeded if group.roles else {}
        name = run.key.podgroup
        if topology is not None:
            self.whereabouts[name] = topology
        elif self.whereabouts:
            self.whereabouts.pop(name, None)
        last = self._statuses.get(name)
        memory = group.memory
        told = memory.run_name if last is None else last.run_name
        before = memory.initially_scheduled and memory.run_name == run.run_name
        replaced = self._authorship.replaced(run)
        waits = item.place is QueuePlace.BACKOFF
        status = SetGroupStatus(
            group=name,
            uid=group.uid,
            generation=group.generation,
            run_name=run.run_name,
            started=run.started,
            succeeded=run.all_succeeded,
            roles=tuple(RoleSucceeded(role.name, succeeded[role.name]) for role in group.roles),
            attempts=item.attempts,
            last_attempt=item.last_attempt,
            next_attempt=item.ready_at if waits else None,
            runs=_remembered(runs),
            conditions=conditions(
                facts,
                why,
                progress,
                ever=before or run.scheduled is not None,
                satisfied=satisfied,
                notes=notes,
            ),
            priority=facts.priority if facts.members or facts.total.succeeded else None,
            replaced=replaced,
            shown_by=group.resource_version if replaced else 0,
            topology=topology,
        )
        if len(status.runs) > 1 and told != status.run_name:
            note = (
                f"members of {len(status.runs) - 1} earlier runs are still live; those of the new "
                "run are another gang, which is scheduled whole"
            )
            kind, reason = EventType.WARNING, EventReason.OVERLAPPING_RUNS
            self.group_event(turn, facts, kind, reason, note)
        if status != last:
            self._statuses[name] = status
            turn.effects.append(status)

    def satisfied(self, turn: Turn, run: Run, facts: GroupFacts) -> bool | None:
        """Show and count whether the floor of a run, the newest or not, runs together now.

        Args:
            turn: receives what to do.
            run: the run.
            facts: of this run.

        Returns:
            None before it did, after the end, without a PodGroup, and if its status is not ours.
        """
        if facts.group is None or run.key.podgroup in self._others:
            self._below.discard(facts.key)
            return None
        satisfied = run.runs_whole(facts) if facts.started and facts.members else None
        if satisfied is False:
            self._below.add(facts.key)
        else:
            self._below.discard(facts.key)
        for pod in run.bound:
            if pod.gang_gate:
                self._show_gang(turn, pod, facts, running=bool(satisfied))
        return satisfied

    def _show_gang(self, turn: Turn, pod: Pod, facts: GroupFacts, *, running: bool) -> None:
        """Let a member be ready only while its gang is whole; no condition counts as False."""
        stands = self._gang_running.get(pod.uid, pod.gang_running or False)
        if stands is running:
            return
        self._gang_running[pod.uid] = running
        note = f"{facts.running + facts.total.succeeded} of {facts.total.minimum} members run"
        turn.effects.append(SetGangRunning(pod.key, pod.uid, running, note))

    def unplaced(
        self,
        turn: Turn,
        facts: GroupFacts,
        reporter: str,
        why: ReasonAndMessage,
        nominated: Mapping[PodUID, str] = NOWHERE,
    ) -> None:
        """Report a failed decision on every pending member, and once on the group.

        A pod without a group gets an event for each new message, a member for each new reason.

        Args:
            turn: receives what to do.
            facts: the group.
            reporter: the component that reports.
            why: the reason.
            nominated: where its pending pods go once others have left; "" = nowhere, which removes
                any nomination.
        """
        # It is infeasible on the present nodes; an autoscaler can add others (semantics §6.2).
        infeasible = why.reason is Reason.INFEASIBLE
        reason = Reason.UNSCHEDULABLE if infeasible else why.reason
        for pod in facts.pending:
            own = why.of(pod)
            text = _of_member(own, facts, why) if own else why.message
            if facts.solo:
                text = text.removeprefix(f"pod {pod.key}: ")  # the condition is on that pod
            node = nominated.get(pod.uid)
            if self._pod_condition(turn, pod, reason, text, node) and facts.solo:
                self._emit_pod(
                    turn,
                    pod,
                    EventType.WARNING,
                    EventReason.FAILED_SCHEDULING,
                    "Scheduling",
                    f"{text} {why.detail}" if why.detail else text,
                    reporter,
                )
        self.tell_members(turn, facts, why, reporter)
        self.transition(turn, facts, why)

    def gated(self, turn: Turn, facts: GroupFacts, why: ReasonAndMessage) -> None:
        """Replace outdated conditions of the members of a group that may not be tried.

        An invalid spec is always reported: it does not go away by itself.
        """
        always = why.reason is Reason.INVALID_SPEC
        for pod in facts.pending:
            stands = self._pods.get(pod.uid, (None,))[0]
            if always or pod.unschedulable or stands in OUTDATED_REASONS:
                self._pod_condition(turn, pod, why.reason, why.message)
        self.transition(turn, facts, why)

    def tell_members(
        self, turn: Turn, facts: GroupFacts, why: ReasonAndMessage, reporter: str
    ) -> None:
        """Notify pending members by an event of what their gang waits for, once for each reason.

        In a large gang the oldest are notified, those that do not fit first: events for all would
        delay other events. A pod without a group has its own.
        """
        reason = MEMBER_EVENTS.get(why.reason)
        if facts.solo or reason is None:
            return
        pods: Sequence[Pod] = facts.pending
        if why.misfits and len(pods) > MOST_TOLD:
            pods = sorted(pods, key=lambda pod: not why.of(pod))
        for pod in pods[:MOST_TOLD]:
            if self._told.get(pod.uid) is not reason:
                self._told[pod.uid] = reason
                note = _of_member(why.of(pod), facts, why)
                kind = EventType.WARNING
                self._emit_pod(turn, pod, kind, reason, "Scheduling", note, reporter)

    def transition(self, turn: Turn, facts: GroupFacts, why: ReasonAndMessage) -> None:
        """Write one event on the group when the reason changes to one that has an event."""
        if facts.key.podgroup in self._others or self._said.get(facts.key) is why.reason:
            return
        self._said[facts.key] = why.reason
        reason = GROUP_EVENTS.get(why.reason)
        if reason is not None and why.reason not in HAPPENED:
            self.group_event(turn, facts, EventType.WARNING, reason, why.message)

    def bound(self, turn: Turn, pod: Pod, node: str, reporter: str) -> None:
        """Report an accepted Binding."""
        self._pods.pop(pod.uid, None)
        note = f"Successfully assigned {pod.key} to {node}"
        self._emit_pod(
            turn, pod, EventType.NORMAL, EventReason.SCHEDULED, "Binding", note, reporter
        )

    def suspect(self, turn: Turn, facts: GroupFacts, reporter: str) -> None:
        """Report likely mistakes in the keys of the oldest pending members, once each."""
        written = facts.group if facts.group is not None and not facts.group.derived else None
        roles = [role.name for role in written.roles] if written else []
        for pod in facts.pending[:MOST_TOLD]:
            if pod.hint:
                self._warn_pod(turn, pod, EventReason.UNKNOWN_KEY, pod.hint, reporter)
            if pod.topology_key and written is not None and written.topology is None:
                note = (
                    f"{pod.topology_key} has no effect: PodGroup {facts.key} was not made for the "
                    "pod; write it to spec.topology of the PodGroup"
                )
                self._warn_pod(turn, pod, EventReason.UNSUPPORTED_FIELD, note, reporter)
            if pod.group_conflict:
                note = (
                    f"the annotation names group {facts.key.name}, the label of the same key "
                    f"{pod.group_conflict}; the annotation counts, so make them the same"
                )
                self._warn_pod(turn, pod, EventReason.POD_GROUP_AMBIGUOUS, note, reporter)
            if roles and pod.role and pod.role not in roles:
                note = (
                    f"{ROLE_KEY} is {pod.role}, which PodGroup {facts.key} does not list; it "
                    f"lists {', '.join(roles)}"
                )
                self._warn_pod(turn, pod, EventReason.UNKNOWN_ROLE, note, reporter)

    def missing_group(self, turn: Turn, facts: GroupFacts, reporter: str) -> None:
        """Report that members wait for a PodGroup that does not exist: perhaps a typo."""
        namespace, name = facts.key.namespace, facts.key.name
        text = (
            f"PodGroup {facts.key} not found; create it in namespace {namespace}, where its pods "
            "are, or fix the annotation, label or field by which the pod names it"
        )
        if name == UNNAMED:
            text = UNNAMED_TEXT
        elif "/" in name:
            text = (
                f"PodGroup {name} is not in namespace {namespace}: a pod joins a PodGroup of its "
                f"own namespace; write the name alone, {name.rpartition('/')[2]}"
            )
        why = ReasonAndMessage(Reason.POD_GROUP_NOT_FOUND, text)
        for pod in facts.pending:
            self._pod_condition(turn, pod, why.reason, why.message)
        self.tell_members(turn, facts, why, reporter)

    def group_event(
        self,
        turn: Turn,
        facts: GroupFacts,
        kind: EventType,
        reason: EventReason,
        note: str,
        related: Related | None = None,
    ) -> None:
        """Write an event on a PodGroup; a pod without a group has its own events."""
        if facts.group is None or facts.solo or facts.key.podgroup in self._others:
            return
        turn.effects.append(
            Emit(
                type=kind,
                reason=reason,
                action="Scheduling",
                note=_cut(note),
                reporter=SCHEDULER_REPORTER,
                uid=facts.group.uid,
                group=facts.key.podgroup,
                related=related,
            )
        )

    def _pod_condition(
        self, turn: Turn, pod: Pod, reason: Reason, message: str, nominated: str | None = None
    ) -> bool:
        """Write a pod's condition, in full; return False if it is unchanged.

        A nomination by another scheduler stays, unless `nominated` is "".
        """
        wanted = (reason, message, nominated or "")
        before = self._pods.get(pod.uid)
        overruled = nominated == "" and bool(pod.nominated)
        if before == wanted and not overruled:
            return False
        self._pods[pod.uid] = wanted
        ours = nominated or overruled or (before is not None and before[2])
        node = nominated or "" if ours else None
        turn.effects.append(SetPodCondition(pod.key, pod.uid, reason, message, node))
        return before is None or before[:2] != wanted[:2]

    def preempted(self, turn: Turn, pod: Pod, note: str, by: Related | None) -> None:
        """Report that a pod is preempted."""
        kind, reason = EventType.NORMAL, EventReason.PREEMPTED
        self._emit_pod(turn, pod, kind, reason, "Preempting", note, SCHEDULER_REPORTER, by)

    def warn_pod(self, turn: Turn, pod: Pod, note: str) -> None:
        """Report once on a pod what of its metadata is ignored."""
        reason = EventReason.MALFORMED_OBJECT
        self._warn_pod(turn, pod, reason, note, SCHEDULER_REPORTER)

    def warn_group(self, turn: Turn, facts: GroupFacts, note: str) -> None:
        """Report once on a PodGroup what of its metadata is ignored, until it is gone."""
        if facts.key not in self._warned_groups:
            self._warned_groups.add(facts.key)
            kind, reason = EventType.WARNING, EventReason.MALFORMED_OBJECT
            self.group_event(turn, facts, kind, reason, note)

    def _warn_pod(
        self, turn: Turn, pod: Pod, reason: EventReason, note: str, reporter: str
    ) -> None:
        """Write a warning about a pod, once."""
        warned = self._warned.setdefault(pod.uid, set())
        if reason not in warned:
            warned.add(reason)
            self._emit_pod(turn, pod, EventType.WARNING, reason, "Scheduling", note, reporter)

    def _emit_pod(
        self,
        turn: Turn,
        pod: Pod,
        kind: EventType,
        reason: EventReason,
        action: str,
        note: str,
        reporter: str,
        related: Related | None = None,
    ) -> None:
        turn.effects.append(
            Emit(
                type=kind,
                reason=reason,
                action=action,
                note=_cut(note),
                reporter=reporter,
                uid=pod.uid,
                pod=pod.key,
                related=related,
            )
        )
