# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The laws: what must be true of every effect, judged by what the scheduler had been shown.

Each law names the rule of docs/reference/semantics.md that it stands for. Where a law needs to know
more than effects say (which member a plan puts where), `reservations` is the only place that looks
into the engine.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from enbloc.engine import Engine
from enbloc.engine.binding.open_plan import MemberStage
from enbloc.engine.effects import (
    Bind,
    Decided,
    Effect,
    Evict,
    SetGroupStatus,
    SetPodCondition,
)
from enbloc.engine.events import (
    BindRefused,
    Event,
    EvictRefused,
    EvictStopped,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
)
from enbloc.engine.plan import Assignment
from enbloc.engine.state.run import solo_key
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import Group, GroupKey, OnIncomplete
from enbloc.model.names import DEFAULT_SCHEDULE_TIMEOUT_SECONDS, Condition, Reason
from enbloc.model.pods import Pod, PodUID
from enbloc.plugins.node_avoidance.quarantine import NodeQuarantine
from tests.laws.debts import Debts
from tests.laws.naive import (
    OURS,
    RESOURCES,
    Floors,
    Run,
    View,
    cost,
    count,
    floors,
    missing,
    pending,
    pinned,
    usable,
)
from tests.laws.objects import Objects
from tests.laws.preempting import judge_preemption, preempts
from tests.laws.reached import notice


class Reservation(NamedTuple):
    """Room that a plan holds for one member until the watch shows it bound."""

    plan: str
    pod: Pod
    node: str


def assignments(engine: Engine, plan: str) -> Sequence[Assignment]:
    found = engine._plans._open.get(plan)
    return found.plan.assignments if found else ()


def reservations(engine: Engine) -> dict[PodUID, Reservation]:
    """Every reservation of the open plans."""
    return {
        each.pod.uid: Reservation(open_plan.id, each.pod, each.node)
        for open_plan in engine._plans._open.values()
        for each in open_plan.plan.assignments
        if open_plan.stage(each.pod.uid) not in (MemberStage.CONFIRMED, MemberStage.LOST)
    }


@dataclass(slots=True)
class Made:
    """A plan, as it was when it was made."""

    group: GroupKey
    floor: Floors | None  # None = a restart may have forgotten what it was when the gang started
    begun: bool = False


class Judge:
    """One run of the scheduler: what it was shown, what it did, and whether it might."""

    def __init__(self, server: Objects, engine: Engine) -> None:
        self.server = server
        self.engine = engine
        self.view = View(settled=False)
        self.sent: dict[PodUID, Bind] = {}
        self.made: dict[str, Made] = {}
        self.told: dict[GroupKey, SetGroupStatus] = {}
        self.evicting: dict[PodUID, float] = {}  # how long it is waited for
        self.yielded: tuple[GroupKey, float] | None = None
        self.debts = Debts(self.view)
        self.blamed: dict[tuple[GroupKey, str], float] = {}
        self.bound_by_it: set[PodUID] = set()  # those whom a Binding of this process was for
        self.terminating: set[GroupKey] = set()
        self.paused = False  # somebody may have to wait out a pause after an error
        self.tried: set[GroupKey] = set()  # in vain, since room was given back last
        self.free = 0  # Binds that may be handed out

    # ── what it was shown ────────────────────────────────────────────────────────────────────

    def heard(self, event: Event) -> None:
        match event:
            case BindRefused():
                self._refused(event)
            case SlotsFree(count):
                self.free += count
            case PodSeen(pod) if pod.node:
                self._seen_bound(pod)
            case NodeSeen(node) if not node.ready:
                self._blame_node(node.name)
            case NodeGone(name):
                self._blame_node(name)
            case PodGone(_, uid):
                self.sent.pop(uid, None)
                self._left(uid)
            case EvictStopped(uid) if self.evicting.get(uid, math.inf) <= self.server.now:
                del self.evicting[uid]  # it was given up before, and all were tried again then
            case EvictRefused(uid) | EvictStopped(uid):
                self._left(uid)
            case _:
                pass
        self.view.apply(event)

    def synced(self) -> None:
        self.view.settle()
        self.debts.listed()

    def before_step(self) -> None:
        planned = [each.plan.group for each in self.engine._plans._open.values()]
        for key, run in self.view.runs.items():
            run.planned = any(group.podgroup == key for group in planned)
        self.view.look()
        self.debts.look(planned)

    def _refused(self, refused: BindRefused) -> None:
        self.paused = True
        sent, pod = self.sent.get(refused.uid), self.view.pods.get(refused.uid)
        if sent is not None and sent.target.plan == refused.plan:
            del self.sent[refused.uid]
        if pod is not None and pod.group:
            self.tried.add(pod.group)
        if refused.cause is RefusalCause.NAMESPACE_TERMINATING and pod is not None:
            self.terminating.add(pod.group or solo_key(pod))

    def _seen_bound(self, pod: Pod) -> None:
        self.sent.pop(pod.uid, None)
        if pod.finished:
            self._left(pod.uid)
        old = self.view.pods.get(pod.uid)
        rejected = pod.rejected and old is not None and not old.rejected
        if rejected and pod.group and pod.uid in self.bound_by_it:
            self.blamed[pod.group, pod.node] = self.server.now  # its kubelet rejected it

    def _left(self, uid: PodUID) -> None:
        """A member is evicted no more; after the last one all are tried again (semantics §4.4)."""
        if self.evicting.pop(uid, None) is not None and not self.evicting:
            self.tried.clear()

    def _blame_node(self, name: str) -> None:
        """Semantics §3.6: a node that goes, or is not ready any more, is blamed by its gangs."""
        node = self.view.nodes.get(name)
        if not self.view.settled or node is None or not node.ready:
            return
        for pod in self.view.pods.values():
            if pod.group and pod.node == name and not pod.finished and pod.scheduler == OURS:
                self.blamed[pod.group, name] = self.server.now

    # ── what it did ──────────────────────────────────────────────────────────────────────────

    def judge(self, effects: Sequence[Effect]) -> None:
        notice(self, effects, self.server.reached)
        evicts = [effect for effect in effects if isinstance(effect, Evict)]
        for effect in effects:
            match effect:
                case Decided(result="scheduled"):
                    self.tried.discard(effect.group)
                    self._decided(effect)
                case Decided():
                    self.tried.add(effect.group)
                case Bind():
                    self._bind(effect)
                case Evict() if not preempts(effect):
                    self._evict(effect)
                case SetGroupStatus():
                    self._status(effect)
                case SetPodCondition():
                    self._pod_condition(effect)
                case _:
                    pass
        judge_preemption(self, [each for each in evicts if preempts(each)])
        assert len({each.group for each in evicts}) <= 1, "two deadlines at once (semantics §4.4)"
        self._rooms_add_up()

    def _decided(self, decided: Decided) -> None:
        run = self.view.runs.get(decided.group)
        if run is None:
            return  # a pod without a group
        assert run.group is not None, f"{decided.plan} was made without a PodGroup"
        planned = [each.pod for each in assignments(self.engine, decided.plan)]
        floor = run.floor
        sure = floor if floor == run.least_floor else None
        self.made[decided.plan] = Made(decided.group, sure)
        for pod in planned:
            assert pod.uid not in self.sent, f"{pod.key} is planned while Unknown (semantics §3.4)"
            assert pending(self.view.pods[pod.uid]), f"{pod.key} is planned and cannot be bound"
        have = run.held + count(planned)
        short = missing(have, run.least_floor)
        assert not short, f"{decided.plan} leaves {decided.group} short of {short} (semantics §2.1)"
        self._only_the_deficit(run, len(planned), decided.plan)
        self._roles_come_whole(run, count(planned), decided.plan)
        self._nominated_are_respected(decided.group, planned)
        self._blamed_are_avoided(decided.group, decided.plan)
        self._reservations_are_kept(decided.group, run, planned)
        self.debts.admitted(decided.group, self.server.now)
        run.plan()

    def _only_the_deficit(self, run: Run, planned: int, plan: str) -> None:
        """Semantics §3.3: no addition is planned while a gang in part is mended."""
        if self.made[plan].floor is None or run.doubtful or not run.bound:
            return
        deficit = missing(run.held, self.made[plan].floor or {})
        if deficit:
            roles = sum(lacking for role, lacking in deficit.items() if role)
            least = max(deficit.get("", 0), roles)
            assert planned == least, f"{plan} mends {deficit} with {planned} members"

    def _roles_come_whole(self, run: Run, planned: Counter[str], plan: str) -> None:
        """Semantics §2.5: a role that comes while the group runs is placed whole, or not yet."""
        if run.doubtful:
            return
        for role, least in run.coming().items():
            if planned[role]:
                have = run.held[role] + planned[role]
                assert have >= least, f"{plan} places {have} of {least} members of new role {role}"
                self.server.reached["a role that came is placed"] += 1

    def _blamed_are_avoided(self, key: GroupKey, plan: str) -> None:
        """Semantics §3.6: for a minute at least a gang keeps off a node that let it down."""
        for each in assignments(self.engine, plan):
            since = self.blamed.get((key, each.node), -math.inf)
            until = since + NodeQuarantine.first_seconds
            assert self.server.now >= until, f"{key} is planned on {each.node} again"

    def _reservations_are_kept(self, key: GroupKey, run: Run, planned: Sequence[Pod]) -> None:
        """Semantics §5.1: what we request, and what was reserved for others before, is there."""
        group = run.group
        assert group is not None
        if self.debts.has(group.owner or str(key)) or (group.min_resources and run.held[""]):
            return  # who has capacity reserved takes it in the place of that reservation
        held = reservations(self.engine)
        reserved = [(uid, each.pod) for uid, each in held.items()]
        mine = {pod.uid for pod in planned}
        for resource in RESOURCES:
            if not any(cost(pod.spec, resource) for pod in planned):
                continue
            owed = self.debts.owed_before(key, resource, reserved, self.server.now)
            rooms = {node: self.view.room(node, resource) for node in self.view.nodes}
            # What one node lacks is taken off no other node's capacity.
            asked = sum(min(self._used(node, resource, held), rooms[node]) for node in rooms)
            room = sum(rooms.values())
            if owed:
                assert asked + owed <= room, f"{key} took {resource} that was reserved for others"
            own = dict(group.min_resources).get(resource, 0)
            before = asked - sum(cost(self.view.pods[uid].spec, resource) for uid in mine)
            if own and not run.held[""]:
                assert before + own <= room, f"{key} reserves {resource} that is not there"

    def _nominated_are_respected(self, key: GroupKey, planned: Sequence[Pod]) -> None:
        """Semantics §6.1: pods of others that are expected on a node count there."""
        priority = min((pod.priority for pod in self.view.runs[key].live), default=0)
        held = reservations(self.engine)
        expected = [
            pod
            for pod in self.view.pods.values()
            if pod.scheduler != OURS and not pod.node and pod.live
            and pod.priority >= priority and self.server.now < pod.created + 300
            and all(
                cost(pod.spec, resource) <= self.view.room(pinned(pod) or pod.nominated, resource)
                for resource in RESOURCES
            )
        ]  # fmt: skip
        for node in {held[pod.uid].node for pod in planned if pod.uid in held}:
            for resource in RESOURCES:
                theirs = sum(
                    cost(p.spec, resource) for p in expected if node == (pinned(p) or p.nominated)
                )
                if theirs:
                    used = self._used(node, resource, held) + theirs
                    assert used <= self.view.room(node, resource), f"{key} took a nominee's room"

    def _used(self, node: str, resource: str, held: dict[PodUID, Reservation]) -> int:
        return self.view.used(node, resource, held) + sum(
            cost(each.pod.spec, resource) for each in held.values() if each.node == node
        )

    def _bind(self, bind: Bind) -> None:
        target = bind.target
        self.free -= 1
        assert self.free >= 0, f"{target.pod} is sent although no slot is free (semantics §3.2)"
        pod = self.view.pods.get(target.uid)
        assert pod is not None, f"{target.pod} is bound although it is gone"
        assert pending(pod), f"{target.pod} is bound although it cannot be"
        assert target.uid not in self.sent, f"{target.pod} is sent twice (semantics §3.4)"
        self.bound_by_it.add(target.uid)
        made = self.made.get(target.plan)
        if made is not None:
            run = self.view.run(made.group)
            if not made.begun:
                made.begun = True
                self._first_bind(target.plan, run)
            self._surplus_waits(target.uid, made, run)
        self.sent[target.uid] = bind
        self._fits(pod, target.node)

    def _first_bind(self, plan: str, run: Run) -> None:
        """Semantics §3.1, §3.5: the floor is held or planned, now, by members that can be bound."""
        assert run.group is not None, f"plan {plan} begins without a PodGroup"
        members = assignments(self.engine, plan)
        known = self.view.pods
        alive = [a.pod for a in members if a.pod.uid in known and pending(known[a.pod.uid])]
        short = missing(run.held + count(alive), run.least_floor)
        assert not short, f"plan {plan} begins and leaves {run.group.key} short of {short}"
        for each in members:
            if each.pod in alive:
                self._fits(each.pod, each.node)

    def _surplus_waits(self, uid: PodUID, made: Made, run: Run) -> None:
        """Semantics §3.3: who is not needed waits until the watch shows the floor bound."""
        if made.floor is None or run.doubtful:
            return
        sure = run.done + count(run.bound)
        out = [self.view.pods[other] for other in self.sent if self._group(other) == made.group]
        if not missing(sure + count(out), made.floor):
            assert not missing(sure, made.floor), f"surplus {uid} is sent before the minimum"

    def _group(self, uid: PodUID) -> GroupKey | None:
        pod = self.view.pods.get(uid)
        return pod.group if pod else None

    def _fits(self, pod: Pod, node: str) -> None:
        """Semantics §3.1, §5.1: no effect of ours raises what is requested above what there is."""
        found = self.view.nodes.get(node)
        assert usable(found, pod.spec), f"{pod.key} is bound to {node}, which takes it not"
        held = {
            uid: Reservation(bind.target.plan, self.view.pods[uid], bind.target.node)
            for uid, bind in self.sent.items()
        }
        for resource in RESOURCES:
            used, room = self._used(node, resource, held), self.view.room(node, resource)
            assert used <= room, f"{resource} on {node}: {used} requested of {room}"

    def _rooms_add_up(self) -> None:
        """Room counted = what sits there or is reserved; semantics §3.4 for the sent."""
        engine, held = self.engine, reservations(self.engine)
        for uid, bind in self.sent.items():
            kept = held.get(uid)
            assert kept is not None, f"{bind.target.pod} lost its assumption (semantics §3.4)"
            assert kept.node == bind.target.node, f"{bind.target.pod} is planned elsewhere"
        state = engine._state
        others = state.reservations.open_to_some()
        for resource in RESOURCES:
            counted = state.nodes.requested(resource)
            for row, node in enumerate(state.nodes.names):
                used = self._used(node, resource, held)
                used += sum(cost(c.pod.spec, resource) for c in others if c.pod and c.node == node)
                assert counted[row] == used, f"{resource} on {node}: {counted[row]} for {used}"

    # ── evictions (semantics §4) ──────────────────────────────────────────────────────────────────

    def _evict(self, evict: Evict) -> None:
        pod = self.view.pods.get(evict.uid)
        assert pod is not None, f"{evict.pod} is evicted although it is gone"
        assert pod.owner is not None, f"bare pod {pod.key} is evicted (semantics §4.5)"
        assert pod.bound, f"{pod.key} is evicted although it holds no room"
        assert pod.group == evict.group.podgroup, f"{pod.key} is of {pod.group}"
        run = self.view.run(evict.group)
        group = run.group
        assert group is not None, f"{pod.key} is evicted without a PodGroup"
        policy = group.on_incomplete
        assert policy is not OnIncomplete.KEEP, f"{group.key} is evicted with Keep (semantics §4.3)"
        if policy is OnIncomplete.REPAIR:
            assert not run.started, f"{group.key} has started and is evicted (semantics §4.3)"
        assert all(each.owner for each in run.bound), "a bare member is Keep (semantics §4.5)"
        assert missing(run.held, run.floor), f"{group.key} is whole and is evicted"
        out = [uid for uid in self.sent if self._group(uid) == group.key]
        assert not out, f"{group.key} is evicted while Binds are out (semantics §3.2)"
        timeout = group.timeout or DEFAULT_SCHEDULE_TIMEOUT_SECONDS
        groups = (run.group for run in self.view.runs.values() if run.group)
        patience = min((g.timeout for g in groups if g.timeout), default=timeout)
        patience = min(patience, DEFAULT_SCHEDULE_TIMEOUT_SECONDS)
        until = self.evicting.get(evict.uid, -math.inf)
        assert until <= self.server.now, f"{pod.key} is evicted again, unanswered"
        if self.yielded != (group.key, self.server.now):
            quorum = not missing(run.held + count(run.pending), run.floor)
            assert not quorum or group.key in self.tried, f"{group.key}: untried (semantics §4.2)"
        self._not_too_early(group, run, timeout)
        self.evicting[evict.uid] = self.server.now + patience
        self.yielded = (group.key, self.server.now)

    def _not_too_early(self, group: Group, run: Run, timeout: int) -> None:
        """Semantics §4.2, §4.4: at the deadline, or at once for a repair that it completes."""
        if run.started:
            since = min((pod.created for pod in run.pending), default=0.0)
        else:
            since = max((p.scheduled_at or p.created for p in run.bound), default=0.0)
        others = [
            other
            for key, other in self.view.runs.items()
            if key != group.key and other.group and other.bound
            and missing(other.held, floors(other.group))
        ]  # fmt: skip
        if self.yielded and self.yielded[0] == group.key:
            return  # the rest of those that began to yield
        late = since + timeout <= self.server.now
        assert late or others, f"{group.key} yields {since + timeout - self.server.now} s early"

    # ── words (semantics §7) ──────────────────────────────────────────────────────────────────────

    def _status(self, status: SetGroupStatus) -> None:
        run = self.view.run(status.group)
        assert run.group is not None, f"status of {status.group}, which does not exist"
        assert run.group.uid == status.uid
        last, memory = self.told.get(status.group), run.group.memory
        where = f"status of {status.group}"
        done = Counter({role.name: role.succeeded for role in status.roles})
        assert all(t is None or t <= self.server.now for t in (status.started, status.last_attempt))
        if memory.run_name == status.run_name:
            assert status.succeeded >= memory.succeeded, f"{where}: succeeded goes back"
            assert all(done[role] >= n for role, n in memory.roles if role in done)
            assert not goes_back(memory.started, status.started), f"{where}: startedTime changes"
        if last and (last.uid, last.run_name) == (status.uid, status.run_name):
            assert status.succeeded >= last.succeeded, f"{where}: succeeded goes back"
            assert all(done[r.name] >= r.succeeded for r in last.roles if r.name in done)
            assert not goes_back(last.started, status.started), f"{where}: startedTime changes"
            assert status.attempts >= last.attempts, f"{where}: attempts go back"
            assert (status.last_attempt or 0) >= (last.last_attempt or 0)
            if stands(last, Condition.INITIALLY_SCHEDULED):
                assert stands(status, Condition.INITIALLY_SCHEDULED), where
        if stands(status, Condition.SCHEDULED):
            short = missing(run.held, run.least_floor)
            assert not short, f"{where} says Scheduled and {short} are not bound (semantics §3.7)"
        starts = last is not None and last.started is None and status.started == self.server.now
        if starts and not run.relaunched:  # else what it had when it started before counts too
            run.captured = run.floor
        self._as_it_started(status, run)
        self.told[status.group] = status

    def _as_it_started(self, status: SetGroupStatus, run: Run) -> None:
        """Semantics §2.5: the floor of a started group never rises; lowering it works at once."""
        if run.captured is not None and not run.doubtful:
            needed = {role: run.captured.get(role, 0) for role in run.floor}
            whole = not missing(run.held, needed)
            assert stands(status, Condition.SCHEDULED) == whole, f"{status} of {needed}"

    def _pod_condition(self, effect: SetPodCondition) -> None:
        """Semantics §6.2: a gang says Unschedulable only where it lacks nothing but capacity."""
        pod = self.view.pods.get(effect.uid)
        if effect.reason is not Reason.UNSCHEDULABLE or pod is None or pod.group is None:
            return
        run = self.view.run(pod.group)
        assert run.group is not None
        have = run.held + count(run.pending)
        assert not missing(have, run.least_floor), f"{pod.key}: Unschedulable without a quorum"


def goes_back(before: float | None, now: float | None) -> bool:
    """A start may be over, and be followed by another; it never moves to the past."""
    return before is not None and now is not None and now < before


def stands(status: SetGroupStatus, kind: Condition) -> bool:
    return any(c.type is kind and c.status for c in status.conditions)
