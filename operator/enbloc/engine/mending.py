# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Mending: what a step does about gangs that are bound in part."""

from collections.abc import Sequence
from functools import partial

from enbloc.engine.assign import place_group
from enbloc.engine.effects import Effect, EventType, Evict
from enbloc.engine.intake import Intake, NodeChange
from enbloc.engine.members import Members
from enbloc.engine.open_plan import OpenPlan
from enbloc.engine.plan import Lift
from enbloc.engine.queue import Place
from enbloc.engine.repair import Gang
from enbloc.engine.settings import Settings
from enbloc.engine.shadows import order_of
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts, Lacking
from enbloc.framework.hints import Action, Resource
from enbloc.model.groups import GroupKey, OnIncomplete
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Pod


class Mending:
    """Notices gangs in part, holds the room of lost members, and lets one gang give way.

    Args:
        intake: what is known, and who is to be told.
        settings: of the engine.
    """

    def __init__(self, intake: Intake, settings: Settings) -> None:
        self._intake = intake
        self._state, self._groups, self._plans = intake.state, intake.groups, intake.plans
        self._repairs, self._reporter = intake.repairs, intake.reporter
        self._steps = settings.search_steps
        self.failed = intake.repairs.failed
        self.planned = intake.repairs.planned
        self.giving_back = intake.repairs.giving_back

    def note(self, now: float) -> None:
        """Take in what time has brought, and what was answered to evictions."""
        intake = self._intake
        intake.happenings += self._state.let_go(self._state.shadows.due(now))
        self._judge(now)
        refused, intake.refused_evictions = intake.refused_evictions, []
        for event in refused:
            key = self._repairs.refused(event.uid, event.retry_at, now)
            if key is not None:
                intake.dirty[key] = None
        if self._repairs.lapse(now) or (refused and not self._repairs.evicting):
            intake.retry_repairs()

    def _judge(self, now: float) -> None:
        """Hold nodes and kubelets to account, and let those go whose time is over."""
        conducts, self._intake.conducts = self._intake.conducts, []
        conduct = self._intake.conduct
        for change in conducts:
            if isinstance(change, NodeChange):
                said = conduct.node_changed(change.old, change.node, change.holders, now)
            else:
                ours = self._groups.ours(change.pod)
                said = conduct.pod_changed(change.old, change.pod, ours=ours, now=now)
            self._reporter.effects += said
        lifted, said = conduct.expire(now)
        self._reporter.effects += said
        for bar in lifted:
            lift = Lift(Resource.POD_GROUP, Action.UPDATE_OTHER, group=bar.group)
            self._intake.happenings.append(lift)

    def deadline(self) -> float | None:
        """When something is to be done here."""
        times = (
            self._repairs.deadline(),
            self._state.shadows.deadline(),
            self._intake.conduct.deadline(),
        )
        return min((time for time in times if time is not None), default=None)

    def drop(self, key: GroupKey) -> None:
        """A group is gone."""
        self._repairs.forget(key)
        self._intake.conduct.forget_group(key)
        self._intake.happenings += self._state.let_go(self._state.shadows.of(key))

    # ── one gang ─────────────────────────────────────────────────────────────────────────────

    def look(self, members: Members, facts: GroupFacts, now: float) -> None:
        """Notice when a gang without an open plan is bound in part, and when it is whole again."""
        key = members.key
        if members.solo:
            return
        before = key in self._repairs
        begun = self._repairs.look(members, facts, now)
        held, minimum = facts.total.held, facts.total.minimum
        if begun and facts.started:
            note = f"{held} of {minimum} members are left"
            reason = EventReason.GANG_BELOW_MINIMUM
            self._reporter.group_event(facts, EventType.WARNING, reason, note)
        elif before and key not in self._repairs and held and not facts.deficit:
            note = f"all {minimum} members needed are there again"
            self._reporter.group_event(facts, EventType.NORMAL, EventReason.GANG_REPAIRED, note)
        self._hold_room(facts, now)

    def _hold_room(self, facts: GroupFacts, now: float) -> None:
        """Hold the room of lost members until the deadline, and no longer than it is needed."""
        key, shadows = facts.key, self._state.shadows
        until = self._repairs.deadline_of(key)
        if until <= now or self._repairs.giving_back(key):
            self._intake.happenings += self._state.let_go(shadows.of(key))
            return
        shadows.extend(key, until)
        self._hold_needed(facts, (), until)

    def hold_in_burst(self, members: Members, open_plan: OpenPlan, now: float) -> None:
        """Hold the room of what was lost while others of the group are being bound."""
        if any(loss.group == members.key for loss in self._intake.losses):
            facts = self._groups.facts(members)
            until = now + self._repairs.timeout(facts)  # until the plan is closed and tells better
            self._hold_needed(facts, open_plan.outstanding(), until)

    def _hold_needed(self, facts: GroupFacts, coming: Sequence[Pod], until: float) -> None:
        """Hold what the deficit needs of what is held, and of what was lost in this step.

        Args:
            facts: the group.
            coming: members that an open plan may yet bind.
            until: when what is lost now is given up, engine clock.
        """
        lacking = Lacking(facts.floors)
        for pod in coming:
            lacking.take(pod.role)
        held = self._state.shadows.of(facts.key)
        spare = [shadow for shadow in held if not lacking.take(shadow.pod.role)]
        self._intake.happenings += self._state.let_go(spare)
        order = order_of(facts)
        for loss in self._intake.losses:
            role = loss.seat.pod.role
            wanted = loss.group == facts.key and lacking.wants(role)
            if wanted and self._state.hold(loss.seat, facts.key, order, until):
                lacking.take(role)

    def remark(self, members: Members, facts: GroupFacts) -> str:
        """What people should know of a gang in part beyond why it waits; "" = nothing."""
        if facts.key not in self._repairs or facts.group is None or not facts.total.bound:
            return ""
        gang = Gang(members, facts)
        stuck = self._repairs.stuck_with(facts.key)
        if stuck is not None:
            return f"PodGroup {stuck} holds room it needs, and neither may be evicted"
        if facts.group.on_incomplete is OnIncomplete.KEEP:
            return "onIncomplete is Keep: its other members keep their room"
        restarts = facts.group.on_incomplete is OnIncomplete.RESTART
        if gang.bare and (restarts or not facts.started):
            return "its members keep their room: nobody would create a bare pod again"
        return ""

    # ── who gives way ────────────────────────────────────────────────────────────────────────

    def give_way(self, now: float) -> Sequence[Effect]:
        """Let one gang in part give its room back, where gangs.md §4 says so."""
        completes = partial(self._completes, now)
        chosen = self._repairs.choose(now, self._gang, self._undecided, completes)
        self._intake.dirty.update(dict.fromkeys(self._repairs.news))
        self._repairs.news.clear()
        if chosen is None:
            return ()
        gang, waiting = chosen
        facts = gang.facts
        why = f"{facts.total.held} of {facts.total.minimum} members were placed, and " + (
            f"PodGroup {waiting.facts.key} can be completed with their room"
            if waiting is not None
            else "the others could not be placed in time"
        )
        pods, news = self._repairs.evict(gang, now)
        if news:
            note = f"gives its room back: {why}"
            self._reporter.group_event(facts, EventType.WARNING, EventReason.GANG_TIMED_OUT, note)
        self._intake.dirty[facts.key] = None
        return [Evict(pod.key, pod.uid, facts.key, Reason.BELOW_MINIMUM, why) for pod in pods]

    def _undecided(self, key: GroupKey) -> bool:
        item = self._intake.queue.get(key)
        return item is not None and item.place is Place.ACTIVE

    def _gang(self, key: GroupKey) -> Gang | None:
        """A gang bound in part, unless a plan of its own is under way."""
        members = self._groups.get(key)
        if members is None or self._plans.of(key) is not None:
            return None
        return Gang(members, self._groups.facts(members))

    def _completes(self, now: float, waiting: Gang, yielding: Gang) -> bool:
        """Whether one gang could be completed with the room of another."""
        facts = waiting.facts
        if not facts.quorum or facts.problem:
            return False
        profile = self._groups.profile(facts)
        try:
            ledgers = self._plans.ledgers(profile)
            tentative = self._intake.outlook.tentative(profile, facts, now, ledgers, keep=False)
            for pod in yielding.members.bound:
                tentative.lift(pod, pod.node)
            return not place_group(facts, tentative, self._steps).failed
        except PluginError:
            return False
