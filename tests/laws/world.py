# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A world around one engine: an API server, streams that may lag, and requests that may go astray.

What the API server holds changes at once; the engine is shown it by three streams, each of which
may fall behind the others. Requests are under way until somebody says what becomes of them, also
after the process that sent them died.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import (
    Bind,
    Effect,
    Evict,
    SetGangRunning,
    SetGroupStatus,
    SetPodCondition,
)
from enbloc.engine.events import (
    BindRefused,
    BindUnknown,
    Bound,
    Cause,
    Event,
    Evicted,
    EvictRefused,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
)
from enbloc.model.groups import Memory
from enbloc.model.names import PLAN_KEY, Condition, Reason
from tests.laws.judge import Judge
from tests.laws.objects import Objects

LAGGING = (Stream.PODS, Stream.NODES, Stream.GROUPS)
STREAMS: dict[type[Event], Stream] = {
    PodSeen: Stream.PODS,
    PodGone: Stream.PODS,
    NodeSeen: Stream.NODES,
    NodeGone: Stream.NODES,
    GroupSeen: Stream.GROUPS,
    GroupGone: Stream.GROUPS,
}
FOREVER = 1e9
PROFILES = default_profiles()


@dataclass(frozen=True, slots=True)
class Flight:
    """A request on its way, and which process sent it."""

    life: int
    effect: Bind | Evict


class World(Objects):
    """What the API server holds, what one scheduler was shown of it, and what is under way."""

    def __init__(self, *, slots: int = 2, settings: Settings | None = None) -> None:
        super().__init__()
        self.settings = settings or Settings(validate=True, log=10_000_000, longest_wait=FOREVER)
        self.slots = slots
        self.life = 0
        self.lagging: set[Stream] = set()
        self.undelivered: dict[Stream, deque[Event]] = {stream: deque() for stream in LAGGING}
        self.flying: list[Flight] = []
        self.answers: deque[Event] = deque()
        self.writes: deque[Effect] = deque()
        self.stalled = False  # writes of statuses and conditions do not go out
        self.effects: list[Effect] = []
        self.engine: Engine | None = None
        self.start()

    # ── the streams ──────────────────────────────────────────────────────────────────────────

    def changed(self, event: Event) -> None:
        super().changed(event)
        if self.engine is None:
            return
        stream = STREAMS[type(event)]
        self.undelivered[stream].append(event)
        if stream not in self.lagging:
            self.catch_up(stream)

    def catch_up(self, stream: Stream, limit: int = 1_000_000) -> None:
        waiting = self.undelivered[stream]
        while waiting and limit:
            self.deliver(waiting.popleft())
            limit -= 1

    def deliver(self, event: Event) -> None:
        assert self.engine is not None
        self.judge.heard(event)
        self.engine.apply(event)

    def relist(self, stream: Stream) -> None:
        """The watch is lost, and the objects are listed: what happened in between is not told."""
        self.undelivered[stream].clear()
        view = self.judge.view
        match stream:
            case Stream.PODS:
                there = {pod.uid for pod in self.pods.values()}
                for pod in [p for p in view.pods.values() if p.uid not in there]:
                    self.deliver(PodGone(pod.key, pod.uid))
                for pod in self.pods.values():
                    self.deliver(PodSeen(pod))
            case Stream.NODES:
                for name in set(view.nodes) - set(self.nodes):
                    self.deliver(NodeGone(name))
                for node in self.nodes.values():
                    self.deliver(NodeSeen(node))
            case _:
                for life in list(view.lives.values()):
                    group = life.group
                    found = self.groups.get(group.key.name) if group else None
                    if group and (found is None or found.uid != group.uid):
                        self.deliver(GroupGone(group.key, group.uid))
                for each in self.groups.values():
                    self.deliver(GroupSeen(each))

    # ── the scheduler ────────────────────────────────────────────────────────────────────────

    def kill(self) -> None:
        """The process dies: what it had not sent is lost, what it had sent is under way."""
        self.replay_gives_the_same_effects()
        self.engine = None
        self.answers.clear()
        self.writes.clear()
        self.stalled = False
        self.lagging.clear()
        for events in self.undelivered.values():
            events.clear()
        self.life += 1

    def start(self, order: Sequence[Stream] = LAGGING) -> None:
        """A process knows what the API server holds, and that only."""
        settings = replace(self.settings, identity=str(self.life))
        self.engine = Engine(PROFILES, settings)
        self.judge = Judge(self)
        self.effects = []
        lists: dict[Stream, Callable[[], list[Event]]] = {
            Stream.PODS: lambda: [PodSeen(pod) for pod in self.pods.values()],
            Stream.NODES: lambda: [NodeSeen(node) for node in self.nodes.values()],
            Stream.GROUPS: lambda: [GroupSeen(group) for group in self.groups.values()],
        }
        for stream in order:
            for event in lists[stream]():
                self.deliver(event)
            assert not self.engine.step(self.now), "it decides before it has seen everything"
            self.deliver(Synced(stream))
        for stream in set(Stream) - set(order):
            self.deliver(Synced(stream))
        self.judge.synced()
        self.deliver(SlotsFree(self.slots))

    def step(self) -> list[Effect]:
        assert self.engine is not None
        self.judge.before_step()
        effects = list(self.engine.step(self.now))
        self.effects += effects
        self.judge.judge(effects)
        for effect in effects:
            match effect:
                case Bind() | Evict():
                    self.flying.append(Flight(self.life, effect))
                case SetGroupStatus() | SetPodCondition() | SetGangRunning():
                    self.writes.append(effect)
                case _:
                    pass
        if not self.stalled:
            self.write()
        return effects

    def rest(self, until: float | None = None) -> None:
        """Step until only time after `until` or somebody else could change anything."""
        end = self.now if until is None else until
        for _ in range(3000):
            self.step()
            assert self.engine is not None
            wakeup = self.engine.wakeup()
            if wakeup is None or wakeup > end:
                return
            self.now = max(self.now, wakeup)
        raise AssertionError("it never comes to rest")

    def write(self) -> None:
        """Statuses and conditions reach the API server."""
        while self.writes:
            effect = self.writes.popleft()
            match effect:
                case SetGroupStatus(group=key):
                    group = self.groups.get(key.name)
                    if group is not None and group.uid == effect.uid:
                        self.put_group(replace(group, memory=_memory(effect)))
                case SetPodCondition(pod=key, uid=uid, reason=reason):
                    pod = self.pods.get(key.name)
                    if pod is not None and pod.uid == uid and not pod.node:
                        self.put_pod(replace(pod, unschedulable=reason is Reason.UNSCHEDULABLE))
                case SetGangRunning(pod=key, uid=uid, running=running):
                    pod = self.pods.get(key.name)
                    if pod is not None and pod.uid == uid:
                        self.put_pod(replace(pod, gang_running=running))
                case _:
                    pass

    # ── what becomes of a request ────────────────────────────────────────────────────────────

    def answer(self, event: Event) -> None:
        self.answers.append(event)

    def hear_answers(self, limit: int = 1_000_000) -> None:
        while self.answers and limit:
            event = self.answers.popleft()
            self.deliver(event)
            if isinstance(event, Bound | BindRefused):
                self.deliver(SlotsFree(1))
            limit -= 1

    def land(self, flight: Flight, fate: str = "ok") -> None:
        """What becomes of a Bind: ok, refused, unknown (sent again), or gone with its sender."""
        assert isinstance(flight.effect, Bind)
        target = flight.effect.target
        ours = flight.life == self.life and self.engine is not None
        if fate == "unknown":
            if ours:
                self.answer(BindUnknown(target.plan, target.uid))
            return
        if fate == "lost" and ours:
            return  # the executor of a living process sends until it knows
        self.flying.remove(flight)
        if fate == "lost":
            return
        pod = self.pods.get(target.pod.name)
        free = pod is not None and pod.uid == target.uid
        free = free and pod is not None and not (pod.node or pod.deleting or pod.gates)
        if fate == "ok" and free and pod is not None:
            receipt = dict(target.annotations).get(PLAN_KEY, "")
            self.put_pod(replace(pod, node=target.node, receipt=receipt, scheduled_at=self.now))
            outcome: Event = Bound(target.plan, target.uid)
        else:
            causes = {"refused": Cause.SCHEDULER_ERROR, "terminating": Cause.NAMESPACE_TERMINATING}
            cause = causes.get(fate, Cause.MEMBER_CHANGED)
            outcome = BindRefused(target.plan, target.uid, cause, fate)
        if ours:
            self.answer(outcome)

    def land_eviction(self, flight: Flight, fate: str = "ok") -> None:
        """What becomes of an Evict: ok, later (429), or gone with its sender."""
        assert isinstance(flight.effect, Evict)
        uid = flight.effect.uid
        ours = flight.life == self.life and self.engine is not None
        if fate == "lost" and ours:
            return
        self.flying.remove(flight)
        if fate == "lost":
            return
        pod = self.pods.get(flight.effect.pod.name)
        if pod is None or pod.uid != uid:
            outcome: Event = EvictRefused(uid, "it is gone", float("inf"))
        elif fate == "later":
            outcome = EvictRefused(uid, "a disruption budget", self.now + 10)
        else:
            if not pod.deleting:
                self.change(pod.key.name, deleting=True)
            outcome = Evicted(uid)
        if ours:
            self.answer(outcome)

    # ── to the end ───────────────────────────────────────────────────────────────────────────

    def everything_lands(self) -> None:
        """Nothing is under way any more, and the engine knows everything; time stands still."""
        if self.engine is None:
            self.start()
        self.stalled = False
        for _ in range(500):
            self.lagging.clear()
            for stream in LAGGING:
                self.catch_up(stream)
            self.write()
            self.hear_answers()
            self.rest()
            if not (self.flying or self.answers):
                return
            for flight in list(self.flying):
                if isinstance(flight.effect, Bind):
                    self.land(flight)
                else:
                    self.land_eviction(flight)
        raise AssertionError("requests are sent for ever")

    def everything_settles(self, seconds: float = 3600.0) -> None:
        """Kubelets and owners do their part, and no timer of the next hour is left."""
        end = self.now + seconds
        for _ in range(300):
            self.everything_lands()
            busy = False
            for pod in [p for p in self.pods.values() if p.deleting]:
                self.drop_pod(pod.key.name)
                busy = True
            for name in list(self.owners):
                busy = self.reconcile(name) or busy
            self.everything_lands()
            assert self.engine is not None
            wakeup = self.engine.wakeup()
            if not busy and (wakeup is None or wakeup > end):
                return
            if not busy and wakeup is not None:
                self.now = max(self.now, wakeup)
        raise AssertionError("it never comes to rest")

    def replay_gives_the_same_effects(self) -> None:
        if self.engine is None:
            return
        again = Engine(PROFILES, self.engine.settings)
        effects: list[Effect] = []
        for entry in self.engine.log:
            if isinstance(entry, float | int):
                effects += again.step(entry)
            else:
                again.apply(entry)
        assert effects == self.effects, "a replay decides otherwise"


def _memory(status: SetGroupStatus) -> Memory:
    """What the codec reads back from a status."""
    kinds = {c.type for c in status.conditions if c.status}
    return Memory(
        incarnation=status.incarnation,
        started=status.started,
        succeeded=status.succeeded,
        roles=tuple((role.name, role.succeeded) for role in status.roles),
        attempts=status.attempts,
        initially_scheduled=Condition.INITIALLY_SCHEDULED in kinds,
    )
