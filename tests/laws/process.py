# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One process of the scheduler: its engine, what it is shown, and what it is yet to hear and write.

The engine is shown the API server by three streams, each of which may fall behind the others.
"""

from collections import deque
from collections.abc import Sequence
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
    Bound,
    Event,
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
from enbloc.model.names import OUTDATED_REASONS
from tests.laws.judge import Judge
from tests.laws.objects import Objects
from tests.world.builders import remembered
from tests.world.cluster import Recorded, told_again
from tests.world.server import SHOWN

STREAMS: dict[type[Event], Stream] = {
    PodSeen: Stream.PODS,
    PodGone: Stream.PODS,
    NodeSeen: Stream.NODES,
    NodeGone: Stream.NODES,
    GroupSeen: Stream.GROUPS,
    GroupGone: Stream.GROUPS,
}
FOREVER = 1e9
#: Nobody is tried just because much time has passed; little is kept for a dump, so that much is
#: applied to its checkpoint.
SETTINGS = Settings(validate=True, log=10, longest_wait=FOREVER)
PROFILES = default_profiles()


@dataclass(frozen=True, slots=True)
class Flight:
    """A request on its way, and which process sent it."""

    life: int
    effect: Bind | Evict


class Process:
    """A process knows what the API server showed it, and that only."""

    def __init__(
        self,
        server: Objects,
        life: int,
        slots: int,
        order: Sequence[Stream],
        judged_by: type[Judge] = Judge,
    ) -> None:
        self.server = server
        self.life = life
        self.slots = slots
        self.engine = Recorded(PROFILES, replace(SETTINGS, identity=str(life)))
        self.judge = judged_by(server, self.engine)
        self.lagging: set[Stream] = set()
        self.undelivered: dict[Stream, deque[Event]] = {stream: deque() for stream in SHOWN}
        self.answers: deque[Event] = deque()
        self.writes: deque[Effect] = deque()
        self.stalled = False  # writes of statuses and conditions do not go out
        self.effects: list[Effect] = []
        self.sent: list[Flight] = []  # since somebody looked last
        self.stirred = True  # was told something, after which the shell always steps
        #: Streams that have not delivered their first list: what changes there is in that.
        self.unlisted = list(order)

    def list_next(self) -> None:
        """The next stream delivers its first list, and with the last of them it is synced."""
        stream = self.unlisted.pop(0)
        for event in self.server.listed(stream):
            self.deliver(event)
        assert not self.engine.step(self.server.now), "it decides before it has seen everything"
        self.deliver(Synced(stream))
        if self.unlisted:
            return
        for other in set(Stream) - set(SHOWN):
            self.deliver(Synced(other))
        self.judge.synced()
        self.deliver(SlotsFree(self.slots))

    # ── the streams ──────────────────────────────────────────────────────────────────────────

    def changed(self, event: Event) -> None:
        """Something changed in the API server."""
        stream = STREAMS[type(event)]
        if stream in self.unlisted:
            return
        self.undelivered[stream].append(event)
        if stream not in self.lagging:
            self.catch_up(stream)

    def catch_up(self, stream: Stream, limit: int = 1_000_000) -> None:
        waiting = self.undelivered[stream]
        while waiting and limit:
            self.deliver(waiting.popleft())
            limit -= 1

    def sees_everything(self) -> None:
        while self.unlisted:
            self.list_next()
        self.lagging.clear()
        for stream in SHOWN:
            self.catch_up(stream)

    def deliver(self, event: Event) -> None:
        self.stirred = True
        self.judge.heard(event)
        self.engine.apply(event)

    def relist(self, stream: Stream) -> None:
        """The watch is lost, and the objects are listed: what happened in between is not told."""
        if stream in self.unlisted:
            return
        if self.undelivered[stream]:
            self.server.reached["a list instead of what happened"] += 1
        self.undelivered[stream].clear()
        for event in (*self._gone(stream), *self.server.listed(stream), Synced(stream)):
            self.deliver(event)

    def _gone(self, stream: Stream) -> list[Event]:
        """What was known and is not there any more, keyed by UID (semantics §6.3)."""
        server, view = self.server, self.judge.view
        if stream is Stream.PODS:
            there = {pod.uid for pod in server.pods.values()}
            return [PodGone(p.key, p.uid) for p in view.pods.values() if p.uid not in there]
        if stream is Stream.NODES:
            return [NodeGone(name) for name in view.nodes if name not in server.hosts]
        uids = {group.uid for group in server.groups.values()}
        known = [run.group for run in view.runs.values() if run.group is not None]
        return [GroupGone(each.key, each.uid) for each in known if each.uid not in uids]

    # ── the scheduler ────────────────────────────────────────────────────────────────────────

    def step(self) -> list[Effect]:
        self.stirred = False
        if self.unlisted:
            assert not self.engine.step(self.server.now), "it decides before it has seen everything"
            return []
        self.judge.before_step()
        effects = list(self.engine.step(self.server.now))
        self.effects += effects
        self.judge.judge(effects)
        for effect in effects:
            match effect:
                case Bind() | Evict():
                    self.sent.append(Flight(self.life, effect))
                case SetGroupStatus() | SetPodCondition() | SetGangRunning():
                    self.writes.append(effect)
                case _:
                    pass
        if not self.stalled:
            self.write()
        return effects

    def write(self) -> None:
        """Statuses and conditions reach the API server."""
        server = self.server
        while self.writes:
            effect = self.writes.popleft()
            match effect:
                case SetGroupStatus(group=key):
                    group = server.groups.get(key.name)
                    if group is not None and group.uid == effect.uid:
                        server.put_group(replace(group, memory=remembered(effect)))
                case SetPodCondition(pod=key, uid=uid, reason=reason):
                    pod = server.pods.get(key.name)
                    if pod is not None and pod.uid == uid and not pod.node:
                        server.put_pod(replace(pod, unschedulable=reason in OUTDATED_REASONS))
                case SetGangRunning(pod=key, uid=uid, running=running):
                    pod = server.pods.get(key.name)
                    if pod is not None and pod.uid == uid:
                        server.put_pod(replace(pod, gang_running=running))
                case _:
                    pass

    def hear_answers(self, limit: int = 1_000_000) -> None:
        while self.answers and limit:
            event = self.answers.popleft()
            self.deliver(event)
            if isinstance(event, Bound | BindRefused):
                self.deliver(SlotsFree(1))
            limit -= 1

    @property
    def wakeup(self) -> float:
        """When it steps again if nothing happens; infinity = never."""
        if self.stirred:
            return 0.0
        wakeup = self.engine.wakeup()
        return float("inf") if wakeup is None else wakeup

    @property
    def knows_all(self) -> bool:
        """It was shown and told everything, and has written all that it wanted to."""
        return not (self.unlisted or self.answers or self.writes or any(self.undelivered.values()))

    def replay_gives_the_same_effects(self) -> None:
        again = Engine(PROFILES, self.engine.settings)
        assert told_again(self.engine.told, again) == self.effects, "a replay decides otherwise"
