# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: every open plan, from its reservation to the last settled member (semantics §3)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from itertools import count, islice

from enbloc.engine import effects
from enbloc.engine.batch import Batch
from enbloc.engine.binding.open_plan import NOT_SEEN, UNSENT, Basis, MemberStage, OpenPlan, Wait
from enbloc.engine.binding.targets import prepares, target_of
from enbloc.engine.deadlines import Deadlines
from enbloc.engine.effects import Attempt, Bind, CancelPlan
from enbloc.engine.events import BindRefused, Bound, PreBindFailed, PreBound
from enbloc.engine.plan import Assignment, Plan
from enbloc.engine.state import ClusterState, Order, Trials
from enbloc.engine.tally import Tally
from enbloc.engine.trial import asked, asked_status
from enbloc.engine.turn import End, Ending, Refusal, Turn
from enbloc.errors import PluginError
from enbloc.framework.act import Target
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Happening
from enbloc.framework.profile import Profile
from enbloc.framework.status import Code, Status, refuse
from enbloc.ledgers import ledgers_of
from enbloc.model.binding import RefusalCause
from enbloc.model.grouped import Grouped
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID

#: The longest time that a Permit plugin may hold a group. Source: kube-scheduler v1.36
#: pkg/scheduler/framework/runtime/framework.go maxTimeout.
LONGEST_PERMIT_SECONDS = 15 * 60.0

#: At most this many plans may wait for slots, and as many more of namespaces that may have none;
#: further decisions would only reserve capacity early.
MOST_AHEAD = 64

#: At most this many of them are considered per turn.
MOST_WINDOWS = 256

#: With fewer slots, namespaces do not share them.
SHARED_FROM = 8

_REFUSED = refuse("")


class Plans:
    """The open plans, at most one per group, in the order of their creation.

    No turn walks over all of them: plans that wait at Permit or PreBind, and plans that may
    have something to send, are listed. A plan with Bindings under way costs nothing until one
    is answered.

    Attributes:
        slots: how many more Binds the executor can take.
        opened: how many plans were opened in all.
    """

    def __init__(
        self,
        state: ClusterState,
        order: Order,
        trials: Trials,
        default_timeout: float,
        tally: Tally,
    ) -> None:
        self._state, self._order = state, order
        self._trials = trials
        self._default_timeout = default_timeout
        self._tally = tally
        #: By id, in the order of their creation; the same by group.
        self._open: dict[str, OpenPlan] = {}
        self._of_group: dict[GroupKey, OpenPlan] = {}
        #: Plans that wait at Permit; by when which of the others must be prepared.
        self._waiting_at_permit: dict[str, OpenPlan] = {}
        self._prepared_by: Deadlines[str] = Deadlines()
        #: By namespace, each in the order in which they became able to send.
        self._to_send: Grouped[str, str, tuple[int, OpenPlan]] = Grouped()
        self._waiting = 0  #: The number of plans in it.
        self._count = count()
        #: The namespace of each Bind whose outcome is not known, by plan and member: it keeps its
        #: slot, whatever becomes of the member. How many they are by namespace, without zeros.
        self._unanswered: dict[tuple[str, PodUID], str] = {}
        self._unanswered_of: dict[str, int] = {}
        self.slots = 0
        self.opened = 0

    def of(self, group: GroupKey) -> OpenPlan | None:
        """Return the open plan of a group."""
        return self._of_group.get(group)

    @property
    def far_ahead(self) -> bool:
        """Whether so much waits to be sent that another decision is of no use yet.

        Plans of a namespace that has too much under way do not count while others have slots.
        """
        slots = max(0, self.slots)
        most = MOST_AHEAD + slots
        if self._waiting < most or not slots:
            return self._waiting >= most
        shared = (len(each) for name, each in self._to_send.items() if self._share(name) > 0)
        return sum(shared) >= most

    @property
    def stalled(self) -> frozenset[str]:
        """Return the namespaces where nothing is decided until a Binding of theirs is answered."""
        if self._waiting < MOST_AHEAD or self.slots <= 0:
            return frozenset()
        return frozenset(
            name
            for name, each in self._to_send.items()
            if len(each) >= MOST_AHEAD and self._share(name) <= 0
        )

    def ledgers(self, profile: Profile, looked_at: OpenPlan | None = None) -> Mapping[str, object]:
        """Return each Reserve plugin's ledger over the open plans, by plugin name.

        Of the plan `looked_at`, only the sent part counts.
        """
        return ledgers_over(profile, self.reserved(profile, looked_at))

    def reserved(self, profile: Profile, looked_at: OpenPlan | None = None) -> Sequence[Plan]:
        """Return the open plans if some plugin of the profile keeps a ledger over them."""
        if not profile.reserve:
            return ()
        plans = [p.sent_part() if p is looked_at else p.plan for p in self._open.values()]
        return [plan for plan in plans if plan.assignments]

    # ── reserve, permit ──────────────────────────────────────────────────────────────────────

    @property
    def reserving(self) -> int:
        """The number of open plans."""
        return len(self._open)

    def open(
        self, plan: Plan, profile: Profile, facts: GroupFacts, turn: Turn, attempt: Attempt
    ) -> None:
        """Reserve a plan's capacity, and ask Permit plugins about it."""
        # The plan itself reserves this capacity from here on.
        reserved = self._state.reservations.until_placed(plan.group)
        turn.happened += self._state.release(reserved)
        turn.happened += self._state.assume(plan, self._order)
        seen = Basis(self._state.foreign_version, 0)
        open_plan = OpenPlan(plan, profile, facts, seen, attempt, self.opened)
        open_plan.seen = self._basis(open_plan, seen.foreign)
        self.opened += 1
        self._open[plan.id] = self._of_group[plan.group] = open_plan
        self._waiting_at_permit[plan.id] = open_plan
        self._ask_permit(open_plan, facts, turn)

    def _ask_permit(self, open_plan: OpenPlan, facts: GroupFacts, turn: Turn) -> None:
        """Ask every Permit plugin; each that waits has a time of its own."""
        open_plan.ask_again = False
        waiting: dict[str, Wait] = {}
        try:
            for plugin in open_plan.profile.permit:
                status = asked_status(plugin.name, "Permit", plugin.permit, open_plan.plan, facts)
                if status.code is Code.WAIT:
                    begun = open_plan.waits.get(plugin.name)
                    latest = open_plan.reserved_at + LONGEST_PERMIT_SECONDS
                    deadline = min(turn.now + self._longest(status, facts), latest)
                    waiting[plugin.name] = Wait(
                        begun.deadline if begun else deadline, status.message
                    )
                elif not status.ok:
                    self._forget(turn, open_plan, End.REJECTED, status.message, plugin.name, status)
                    return
        except PluginError as error:
            self._forget(turn, open_plan, End.FAILED, str(error))
            return
        waited, open_plan.waits = bool(open_plan.waits), waiting
        if not waiting:
            if waited:
                self._tally.waited_at_permit("Success", turn.now - open_plan.reserved_at)
            if not waited or self._still_fits(open_plan, turn):
                self._release(open_plan, turn)

    def _longest(self, status: Status, facts: GroupFacts) -> float:
        """For how long a plugin may hold the reservation (seconds)."""
        own = facts.group.timeout if facts.group else 0
        longest = min(float(own or self._default_timeout), LONGEST_PERMIT_SECONDS)
        return min(longest, status.timeout) if status.timeout > 0 else longest

    def _release(self, open_plan: OpenPlan, turn: Turn) -> None:
        """Release the group to be bound: `send` may hand out its Binds."""
        open_plan.permitted = True
        self._waiting_at_permit.pop(open_plan.id, None)
        try:
            preparing = self._to_prepare(open_plan) if open_plan.profile.pre_bind else {}
        except PluginError as error:
            self._forget(turn, open_plan, End.FAILED, str(error))
            return
        for assignment in open_plan.unsent():  # others may have bound some during a wait
            uid = assignment.pod.uid
            open_plan.move(uid, MemberStage.PREPARING if uid in preparing else MemberStage.READY)
        open_plan.pre_bound.update(preparing)
        if preparing:
            self._prepared_by.put(open_plan.id, self._must_by(open_plan))
        profile, group = open_plan.profile.name, open_plan.plan.group
        turn.effects += [effects.PreBind(profile, group, each) for each in preparing.values()]
        self._look_again(open_plan)

    def _to_prepare(self, open_plan: OpenPlan) -> Mapping[PodUID, Target]:
        """Return the members for which PreBind plugins have something to do."""
        found: dict[PodUID, Target] = {}
        for assignment in open_plan.unsent():
            target = target_of(open_plan, assignment)
            for plugin in open_plan.profile.pre_bind:
                if prepares(plugin, target):
                    found[target.uid] = target
                    seconds = open_plan.profile.pre_bind_seconds.get(plugin.name, 0.0)
                    open_plan.pre_bind_seconds = max(open_plan.pre_bind_seconds, seconds)
        return found

    def _look_again(self, open_plan: OpenPlan) -> None:
        """React to a member's new stage: PreBind may be over, and more may be sent now."""
        if open_plan.permitted and open_plan.id in self._open:
            namespace = open_plan.plan.group.namespace
            if open_plan.id not in self._to_send.get(namespace, ()):
                self._to_send.put(namespace, open_plan.id, (next(self._count), open_plan))
                self._waiting += 1

    def _let_rest(self, open_plan: OpenPlan) -> None:
        """Unlist a plan with nothing to send until one of its members reaches another stage."""
        if self._to_send.drop(open_plan.plan.group.namespace, open_plan.id) is not None:
            self._waiting -= 1

    def wake(self, happened: Sequence[Happening]) -> None:
        """Mark the plans at Permit whose plugins named such events, to ask those plugins again."""
        if not happened or not self._waiting_at_permit:
            return
        batch = Batch(happened)
        for open_plan in self._waiting_at_permit.values():
            if any(batch.concerns(open_plan.profile, name) for name in open_plan.waits):
                open_plan.ask_again = True

    def permits(self, turn: Turn, facts_of: Callable[[GroupKey], GroupFacts]) -> None:
        """Ask the waiting plugins again where an event happened; end waits that are over.

        An event of the turn in which the wait ends comes first. Groups that now wait for other
        plugins are to be reviewed.
        """
        now = turn.now
        for plan_id in self._prepared_by.due(now):
            self._end_late_preparing(self._open[plan_id], turn)
        for open_plan in list(self._waiting_at_permit.values()):
            if open_plan.ask_again:
                before = open_plan.waiting()
                facts = facts_of(open_plan.plan.group)
                # Only the Permit plugin that is asked sees reserved members as pending.
                facts = replace(facts, pending=open_plan.facts.pending)
                self._ask_permit(open_plan, facts, turn)
                if before != open_plan.waiting():
                    turn.change(open_plan.plan.group)
            if open_plan.id not in self._open or open_plan.permitted:
                continue
            over = [name for name, wait in open_plan.waits.items() if wait.deadline <= now]
            if over:
                waited = f"{now - open_plan.reserved_at:g}s"
                text = f"rejected due to timeout after waiting {waited} at plugin {over[0]}"
                self._forget(turn, open_plan, End.REJECTED, text, over[0])

    def _end_late_preparing(self, open_plan: OpenPlan, turn: Turn) -> None:
        """Give up a plan whose PreBind plugins hold its capacity for too long."""
        waited = f"{turn.now - open_plan.reserved_at:g}s"
        text = f"PreBind timed out {waited} after capacity was reserved"
        late = open_plan.in_preparation()
        if any(each.needed for each in late):
            self._forget(turn, open_plan, End.FAILED, text)
            return
        for each in late:
            self._do_without(turn, open_plan, each.pod.uid, text)

    def _do_without(self, turn: Turn, open_plan: OpenPlan, uid: PodUID, why: str) -> None:
        """Drop a surplus member that cannot be prepared; the others are bound without it."""
        refusal = Refusal(uid, RefusalCause.SCHEDULER_ERROR, why)
        open_plan.unprepared.append(refusal)
        self._lose(turn, open_plan, uid)
        self._settle(turn, open_plan)

    def _must_by(self, open_plan: OpenPlan) -> float:
        """Return when PreBind must be over: the group's own timeout, or what its plugins allow."""
        longest = self._longest(_REFUSED, open_plan.facts)
        if not (open_plan.facts.group and open_plan.facts.group.timeout):
            longest = max(longest, open_plan.pre_bind_seconds)
        return open_plan.reserved_at + longest

    def _basis(self, open_plan: OpenPlan, foreign: int) -> Basis:
        """Return a value that changes whenever others change what the plan relies on."""
        return Basis(foreign, self._state.facts_version if open_plan.holds else 0)

    def deadline(self) -> float:
        """Return when the next wait at Permit or PreBind ends; 0 while plugins are to be asked."""
        waiting = self._waiting_at_permit.values()
        if any(each.ask_again for each in waiting):
            return 0.0
        waits = [wait.deadline for each in waiting for wait in each.waits.values()]
        return min([self._prepared_by.first(), *waits])

    # ── binding ──────────────────────────────────────────────────────────────────────────────

    def send(self, turn: Turn) -> None:
        """Hand out Binds of released groups while slots last, first to who could send first."""
        may_send = [each.values() for name, each in self._to_send.items() if self._share(name) > 0]
        for _, open_plan in list(islice(merge(*may_send), MOST_WINDOWS)):
            namespace = open_plan.plan.group.namespace
            share = self._share(namespace)
            if share <= 0:
                continue
            if open_plan.sendable(1) and self._still_fits(open_plan, turn):
                for assignment in open_plan.sendable(share):
                    open_plan.send(assignment)
                    target = target_of(open_plan, assignment)
                    turn.effects.append(Bind(open_plan.profile.name, target, open_plan.attempt))
                    self.slots -= 1
                    self._unanswered[open_plan.id, target.uid] = namespace
                    self._unanswered_of[namespace] = self._unanswered_of.get(namespace, 0) + 1
            if not open_plan.sendable(1):
                self._let_rest(open_plan)

    def _share(self, namespace: str) -> int:
        """Return how many slots a namespace may take; it leaves a third of what it then has sent.

        So some are always left for others, even if all that it has sent hangs (semantics §9.6). The
        last slots are for namespaces that have sent nothing, which would otherwise get none.
        """
        if self.slots + len(self._unanswered) < SHARED_FROM:
            return self.slots
        sent = self._unanswered_of.get(namespace, 0)
        share = (3 * self.slots - sent) // 4
        return share if sent else max(share, min(self.slots, 1))

    def _free_slot(self, plan: str, uid: PodUID) -> None:
        """Record that a Bind has an outcome; its plan may be closed, its member lost."""
        namespace = self._unanswered.pop((plan, uid), None)
        if namespace is not None:
            left = self._unanswered_of.pop(namespace) - 1
            if left:
                self._unanswered_of[namespace] = left

    def _move(self, open_plan: OpenPlan, uid: PodUID, stage: MemberStage) -> None:
        """Move a member to a stage; its PreBind is then no longer under way."""
        before = open_plan.stage(uid)
        open_plan.move(uid, stage)
        if before is MemberStage.PREPARING and not open_plan.preparing:
            self._prepared_by.drop(open_plan.id)

    def _still_fits(self, open_plan: OpenPlan, turn: Turn) -> bool:
        """Check the plan's own rows a last time with Filter (semantics §3.1).

        Only where others changed the cluster since; the tables exclude what the plan itself holds
        and has not sent.
        """
        seen = open_plan.seen
        open_plan.seen = self._basis(open_plan, self._state.foreign_version)
        if open_plan.seen == seen:
            return True
        try:
            if open_plan.seen.foreign == seen.foreign:
                failed = [a for a in open_plan.unsent() if not self._stands(open_plan, a)]
            else:
                failed = self._misfits(open_plan, turn.now)
        except PluginError as error:
            if not open_plan.started:
                self._forget(turn, open_plan, End.FAILED, str(error))
                return False
            # The rest is planned again; there the plugin either fails again or not.
            failed = open_plan.unsent()
        if failed and not open_plan.started:
            self._forget(turn, open_plan, End.LOOK)
            return False
        for assignment in failed:
            self._lose(turn, open_plan, assignment.pod.uid)
        self._settle(turn, open_plan)
        return open_plan.id in self._open

    def _misfits(self, open_plan: OpenPlan, now: float) -> list[Assignment]:
        unsent = open_plan.unsent()
        profile = open_plan.profile
        ledgers = self.ledgers(profile, open_plan)
        trial = self._trials.trial(profile, open_plan.facts, now, ledgers, keep=False)
        nodes = trial.snapshot.nodes
        # A seat has the pod with its present labels.
        placed = [(self._state.seat(each.pod.uid), nodes.row(each.node)) for each in unsent]
        if open_plan.misplaced(nodes):
            return unsent
        for seat, row in placed:
            if row is not None and seat is not None:
                trial.remove(seat.pod, row)
        failed: list[Assignment] = []
        for assignment, (seat, row) in zip(unsent, placed, strict=True):
            pod, stands = seat.pod if seat else assignment.pod, self._stands(open_plan, assignment)
            if row is None or not stands or not trial.feasible(pod, row):
                failed.append(assignment)
            else:
                trial.add(pod, row)
        return failed

    def _stands(self, open_plan: OpenPlan, assignment: Assignment) -> bool:
        """Whether the volumes and devices that were chosen for a member are still available."""
        pod = assignment.pod
        prepared = open_plan.stage(pod.uid) is MemberStage.READY and pod.uid in open_plan.pre_bound
        written = assignment.decided if prepared else None
        return ledgers_of(self._state.nodes).stands(pod, written=written)

    # ── outcomes ─────────────────────────────────────────────────────────────────────────────

    def answered(
        self, answer: Bound | BindRefused | PreBound | PreBindFailed, turn: Turn
    ) -> Assignment | None:
        """Record an outcome from the executor; return the assignment it settles, None = none."""
        if isinstance(answer, Bound | BindRefused):
            self._free_slot(answer.plan, answer.uid)
        open_plan = self._open.get(answer.plan)
        stage = open_plan.stage(answer.uid) if open_plan else None
        if open_plan is None or stage is None:
            return None
        match answer:
            case Bound() if stage is MemberStage.SENT:
                self._move(open_plan, answer.uid, MemberStage.BOUND)
            case PreBound() if stage is MemberStage.PREPARING:
                self._move(open_plan, answer.uid, MemberStage.READY)
                # An earlier check assumed that it was still to be written.
                open_plan.seen = open_plan.seen._replace(facts=NOT_SEEN)
            case PreBindFailed() if stage is MemberStage.PREPARING:
                assignment = open_plan.assignment(answer.uid)
                if assignment is not None and not assignment.needed:
                    self._do_without(turn, open_plan, answer.uid, answer.message)
                else:
                    self._forget(turn, open_plan, End.REJECTED, answer.message, answer.plugin)
            case BindRefused() if stage is MemberStage.SENT:
                open_plan.refusals.append(Refusal(answer.uid, answer.cause, answer.message))
                self._lose(turn, open_plan, answer.uid)
                self._settle(turn, open_plan)
            case _:
                return None
        self._look_again(open_plan)
        return open_plan.assignment(answer.uid)

    def seen(self, pod: Pod, group: GroupKey, turn: Turn) -> Assignment | None:
        """Record what the watch shows; return an assignment that it confirms before any answer."""
        open_plan = self._of_group.get(group)
        stage = open_plan.stage(pod.uid) if open_plan else None
        if open_plan is None or stage in (None, MemberStage.CONFIRMED, MemberStage.LOST):
            return None
        assignment = open_plan.assignment(pod.uid)
        if pod.node:
            same = assignment is not None and assignment.node == pod.node
            if same:
                self._move(open_plan, pod.uid, MemberStage.CONFIRMED)
            else:  # by another scheduler; what is prepared for it is of no use
                self._lose(turn, open_plan, pod.uid)
            self._settle(turn, open_plan)
            self._look_again(open_plan)
            return assignment if same and stage is MemberStage.SENT else None
        if (not pod.live or pod.gated) and stage in UNSENT:
            self.gone(pod.uid, group, turn)
        return None

    def binding(self, uid: PodUID, group: GroupKey) -> bool:
        """Whether a Binding of this member was sent that the watch does not show yet."""
        open_plan = self._of_group.get(group)
        return open_plan is not None and open_plan.stage(uid) in (
            MemberStage.SENT,
            MemberStage.BOUND,
        )

    def places(self, pod: Pod, group: GroupKey) -> bool:
        """Whether a member is on the node of a Binding that was sent."""
        if not self.binding(pod.uid, group):
            return False
        assignment = self._of_group[group].assignment(pod.uid)
        return assignment is not None and assignment.node == pod.node

    def gone(self, uid: PodUID, group: GroupKey, turn: Turn) -> None:
        """Drop a member that will not be bound as planned: deleted, gated, resized, or no node."""
        open_plan = self._of_group.get(group)
        stage = open_plan.stage(uid) if open_plan else None
        if open_plan is None or stage in (None, MemberStage.CONFIRMED, MemberStage.LOST):
            return
        self._lose(turn, open_plan, uid)
        if open_plan.started:
            self._settle(turn, open_plan)
            self._look_again(open_plan)
        else:
            self._forget(turn, open_plan, End.LOOK)

    def withdraw(self, group: GroupKey, turn: Turn) -> None:
        """Drop the unsent plan of a group whose floor changed; it is planned again."""
        open_plan = self._of_group.get(group)
        if open_plan is not None and not open_plan.started:
            self._forget(turn, open_plan, End.LOOK)

    def give_up_additions(self, group: GroupKey, turn: Turn) -> None:
        """Drop planned additions of a group that is incomplete again (semantics §3.3)."""
        open_plan = self._of_group.get(group)
        if open_plan is None or not open_plan.floor_confirmed:
            return
        if open_plan.started:
            self._lose_unsent(turn, open_plan)
            self._settle(turn, open_plan)
        else:
            self._forget(turn, open_plan, End.LOOK)

    def _lose(self, turn: Turn, open_plan: OpenPlan, uid: PodUID) -> None:
        if uid in open_plan.pre_bound:
            open_plan.pre_bound.discard(uid)
            turn.effects.append(CancelPlan(open_plan.id, frozenset({uid})))
            if open_plan.stage(uid) in UNSENT:
                self._note_withdrawal(open_plan, uid)
        self._move(open_plan, uid, MemberStage.LOST)
        turn.happened += self._state.forget(uid, open_plan.number)

    def _note_withdrawal(self, open_plan: OpenPlan, uid: PodUID) -> None:
        """Keep what a dropped member reserved: requests for it may still be under way."""
        assignment = open_plan.assignment(uid)
        if assignment is not None:
            group, decided = open_plan.plan.group, assignment.decided
            self._state.withdrawals.begin(group, open_plan.id, uid, decided)

    def _settle(self, turn: Turn, open_plan: OpenPlan) -> None:
        """Close the plan if nothing is left to send or to wait for."""
        if open_plan.doomed or open_plan.surplus_is_void:
            self._lose_unsent(turn, open_plan)
        if open_plan.closed:
            self._remove(open_plan)
            refusals = (*open_plan.refusals, *open_plan.unprepared)
            turn.endings.append(Ending(open_plan.plan, End.CLOSED, refusals))

    def _lose_unsent(self, turn: Turn, open_plan: OpenPlan) -> None:
        for assignment in open_plan.unsent():
            self._lose(turn, open_plan, assignment.pod.uid)

    def _forget(
        self,
        turn: Turn,
        open_plan: OpenPlan,
        end: End,
        message: str = "",
        plugin: str = "",
        status: Status = _REFUSED,
    ) -> None:
        """Release the whole reservation of a plan of which nothing was sent.

        Args:
            turn: receives how it ended, and which groups that may help.
            open_plan: the plan.
            end: how it ended.
            message: the reason.
            plugin: the plugin that refused it; "" = none did.
            status: the plugin's status.
        """
        assert not open_plan.started, f"plan {open_plan.id} has sent Binds"
        if open_plan.pre_bound:
            turn.effects.append(CancelPlan(open_plan.id))
            for uid in open_plan.pre_bound:
                self._note_withdrawal(open_plan, uid)
            open_plan.pre_bound.clear()
        if open_plan.waits:
            ended = "Unschedulable" if end in (End.REJECTED, End.LOOK) else "Error"
            self._tally.waited_at_permit(ended, turn.now - open_plan.reserved_at)
        self._lose_unsent(turn, open_plan)
        self._remove(open_plan)
        rejectors = frozenset({plugin}) if plugin and status.rejected else frozenset[str]()
        pending = rejectors if status.code is Code.PENDING else frozenset[str]()
        refusals = tuple(open_plan.refusals)
        ending = Ending(open_plan.plan, end, refusals, rejectors, pending, message)
        turn.endings.append(ending)

    def _remove(self, open_plan: OpenPlan) -> None:
        del self._open[open_plan.id]
        del self._of_group[open_plan.plan.group]
        self._waiting_at_permit.pop(open_plan.id, None)
        self._let_rest(open_plan)


def ledgers_over(profile: Profile, plans: Iterable[Plan]) -> Mapping[str, object]:
    """Return each Reserve plugin's ledger over these plans, by plugin name."""
    ledgers: dict[str, object] = {}
    for plugin in profile.reserve:
        ledger: object = None
        for plan in plans:
            ledger = asked(plugin.name, "Reserve", plugin.reserve, plan, ledger)
        ledgers[plugin.name] = ledger
    return ledgers
