# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A world around the scheduler: an API server, requests that may go astray, one process or two.

What the API server holds changes at once. Requests are under way until somebody says what becomes
of them, also after the process that sent them died. After a takeover the former leader may go on
for a while, on what it knew, before it finds out.
"""

from collections.abc import Sequence
from typing import ClassVar

from enbloc.engine.effects import Bind, Effect, Evict, StopEvict
from enbloc.engine.events import (
    BindRefused,
    BindUnknown,
    Bound,
    Event,
    Evicted,
    EvictRefused,
    EvictStopped,
    Stream,
)
from enbloc.model.binding import RefusalCause
from tests.laws.judge import Judge
from tests.laws.objects import Objects
from tests.laws.preempting import raises_what_stands, standing
from tests.laws.process import Flight, Process
from tests.world.server import SHOWN


class World(Objects):
    """What the API server holds, who schedules, and what is under way.

    Args:
        slots: how many Binds a process sends at once.

    Attributes:
        JUDGE: by whom each process is judged.
    """

    JUDGE: ClassVar[type[Judge]] = Judge

    def __init__(self, *, slots: int = 2) -> None:
        super().__init__()
        self.slots = slots
        self.lives = 0
        self.flying: list[Flight] = []
        self.doubted: set[str] = set()  # members of whose Bind nobody knew whether it landed
        self.denied: dict[str, str] = {}  # by group, the member that a webhook always denies
        self.leader: Process | None = None
        self.former: Process | None = None
        self.start()

    def changed(self, event: Event) -> None:
        super().changed(event)
        for process in (self.leader, self.former):
            if process is not None:
                process.changed(event)

    @property
    def process(self) -> Process:
        """The leader, which must be there."""
        assert self.leader is not None
        return self.leader

    # ── who schedules ────────────────────────────────────────────────────────────────────────

    def start(self, order: Sequence[Stream] = SHOWN, *, listed: int = len(SHOWN)) -> None:
        """Another process; so many streams are listed at once, and the others later."""
        self.leader = Process(self, self.lives, self.slots, order, self.JUDGE)
        self.lives += 1
        for _ in range(listed):
            self.leader.list_next()

    def kill(self) -> None:
        """The leader dies: what it had not sent is lost, what it had sent is under way."""
        self._leave("restart")
        self.leader = None

    def take_over(self, order: Sequence[Stream] = SHOWN) -> None:
        """Another process leads; the former does not know yet, and sees nothing any more."""
        self.former_ends()
        self._leave("takeover")
        self.former = self.leader
        self.leader = None
        if self.former is not None:
            self.former.lagging = set(SHOWN)
            self.former.stalled = True  # its writes meet newer objects, and are refused
        self.start(order)

    def former_ends(self) -> None:
        if self.former is not None:
            self.former.replay_gives_the_same_effects()
        self.former = None

    def _leave(self, how: str) -> None:
        self.process.replay_gives_the_same_effects()
        if any(each.life == self.process.life for each in self.flying):
            self.reached[f"{how} while requests are under way"] += 1

    def step(self) -> list[Effect]:
        return self._step(self.process)

    def _step(self, process: Process) -> list[Effect]:
        effects = process.step()
        self.flying += process.sent
        process.sent.clear()
        for effect in effects:
            if isinstance(effect, StopEvict):
                self._stop(process, effect)
        return effects

    def _stop(self, process: Process, effect: StopEvict) -> None:
        """None of the evictions is sent, unless one was."""
        waiting = {
            flight.effect.uid: flight
            for flight in self.flying
            if flight.life == process.life and isinstance(flight.effect, Evict)
        }
        if effect.uids <= waiting.keys():
            self.reached["evictions are stopped"] += 1
            for uid in sorted(effect.uids):
                self.flying.remove(waiting[uid])
                process.answers.append(EvictStopped(uid))

    def former_steps(self, *, sees: bool) -> None:
        if self.former is None:
            return
        if sees:
            for stream in SHOWN:
                self.former.catch_up(stream)
            self.former.hear_answers()
        self._step(self.former)

    def rest(self) -> None:
        """Step until only time or somebody else could change anything."""
        for _ in range(3000):
            self.step()
            if self.process.wakeup > self.now:
                return
        raise AssertionError("it never comes to rest")

    # ── what becomes of a request ────────────────────────────────────────────────────────────

    def sender(self, flight: Flight) -> Process | None:
        """Who waits for an answer; None if that process is dead."""
        living = [each for each in (self.leader, self.former) if each is not None]
        return next((each for each in living if each.life == flight.life), None)

    def land(self, flight: Flight, fate: str = "ok") -> None:
        """What becomes of a Bind: ok, refused, unknown (sent again), or gone with its sender."""
        assert isinstance(flight.effect, Bind)
        target, sender = flight.effect.target, self.sender(flight)
        if fate == "unknown":
            self.doubted.add(target.uid)
            if sender is not None:
                sender.answers.append(BindUnknown(target.plan, target.uid))
            return
        if fate == "lost" and sender is not None:
            return  # the executor of a living process sends until it knows
        self.flying.remove(flight)
        if fate == "lost":
            return
        if self._denies(flight.effect):
            fate = "refused"
        outcome = self._bind(flight) if fate == "ok" else None
        if outcome is None:
            causes = {
                "refused": RefusalCause.SCHEDULER_ERROR,
                "terminating": RefusalCause.NAMESPACE_TERMINATING,
            }
            cause = causes.get(fate, RefusalCause.MEMBER_CHANGED)
            outcome = BindRefused(target.plan, target.uid, cause, fate)
            self.reached[f"refused: {cause.value}"] += 1
        if sender is not None:
            sender.answers.append(outcome)

    def _denies(self, bind: Bind) -> bool:
        """Whether a webhook denies this: one member of the group, and another once that is gone."""
        pod = self.pods.get(bind.target.pod.name)
        group = pod.group.name if pod is not None and pod.group is not None else ""
        if pod is None or group not in self.denied:
            return False
        if all(member.uid != self.denied[group] for member in self.members(group)):
            self.denied[group] = pod.uid
        return self.denied[group] == pod.uid

    def _bind(self, flight: Flight) -> Event | None:
        """The API server takes a Binding; None if the pod is not there to be bound."""
        assert isinstance(flight.effect, Bind)
        target = flight.effect.target
        if not self.bind(target):
            return None
        sender = self.sender(flight)
        if sender is None:
            self.reached["a dead process' Bind lands"] += 1
        elif sender is self.former:
            self.reached["a former leader's Bind lands"] += 1
        if target.uid in self.doubted:
            self.reached["a Bind of which nobody knew lands"] += 1
        return Bound(target.plan, target.uid)

    def land_eviction(self, flight: Flight, fate: str = "ok") -> None:
        """What becomes of an Evict: ok, later (429), or gone with its sender."""
        assert isinstance(flight.effect, Evict)
        uid, sender = flight.effect.uid, self.sender(flight)
        if fate == "lost" and sender is not None:
            return
        self.flying.remove(flight)
        if fate == "lost":
            return
        pod = self.pods.get(flight.effect.pod.name)
        if pod is None or pod.uid != uid:
            outcome: Event = EvictRefused(uid, "it is gone", float("inf"))
        elif fate == "later":
            self.reached["a budget forbids an eviction"] += 1
            outcome = EvictRefused(uid, "a disruption budget", self.now + 10)
        else:
            if not pod.deleting:
                self.change(pod.key.name, deleting=True)
            outcome = Evicted(uid)
        if sender is not None:
            sender.answers.append(outcome)

    # ── to the end ───────────────────────────────────────────────────────────────────────────

    def everything_lands(self) -> None:
        """Nothing is under way any more, and the engine knows everything; time stands still."""
        if self.leader is None:
            self.start()
        process = self.process
        process.stalled = False
        for _ in range(500):
            process.sees_everything()
            process.write()
            process.hear_answers()
            self.rest()
            if not (self.flying or process.answers):
                return
            for flight in list(self.flying):
                if isinstance(flight.effect, Bind):
                    self.land(flight)
                else:
                    self.land_eviction(flight)
        raise AssertionError("requests are sent for ever")

    def everything_settles(self, seconds: float = 3600.0) -> None:
        """Kubelets and owners do their part, and no timer of the next hour is left."""
        self.former_ends()
        end, before = self.now + seconds, None
        for _ in range(300):
            self.everything_lands()
            busy = False
            for pod in [p for p in self.pods.values() if p.deleting]:
                self.delete(pod.key.name)
                busy = True
            for name in list(self.owners):
                busy = self.reconcile(name) or busy
            self.everything_lands()
            if busy:
                continue
            told = self.reached["somebody is preempted"]
            if before is None:
                before = standing(self.process.judge), told
            if self.process.wakeup > end:
                if not self.denied:  # else a preemptor is never bound
                    stood, earlier = before
                    raises_what_stands(self.process.judge, stood, told - earlier)
                return
            self.now = max(self.now, self.process.wakeup)
        raise AssertionError("it never comes to rest")
