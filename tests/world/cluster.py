# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster around one Engine: facts in, effects carried out, answers fed back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, Self

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import (
    Bind,
    Decided,
    Effect,
    Emit,
    Evict,
    SetGroupStatus,
    SetPodCondition,
    StopEvict,
)
from enbloc.engine.engine import Further
from enbloc.engine.events import (
    BindRefused,
    BindUnknown,
    Bound,
    Event,
    Evicted,
    EvictRefused,
    EvictStopped,
    ExtenderAnswer,
    GroupSeen,
    PreBindFailed,
    PreBound,
    SlotsFree,
    Stream,
    Synced,
    Unreserved,
)
from enbloc.framework.profile import Profile
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import Group
from enbloc.plugins import IN_TREE
from tests.world.builders import remembered
from tests.world.server import SHOWN, Server

#: What only the process is told that sent something, or led.
OWN_ANSWERS: Final = (
    SlotsFree,
    PreBound,
    PreBindFailed,
    Unreserved,
    Bound,
    BindRefused,
    BindUnknown,
    Evicted,
    EvictRefused,
    EvictStopped,
    ExtenderAnswer,
)


class Recorded(Engine):
    """An engine, and all that it was told, in order: events, and the times of its steps."""

    def __init__(
        self, profiles: Mapping[str, Profile], settings: Settings, further: Further = lambda _: ()
    ) -> None:
        super().__init__(profiles, settings, further)
        self.told: list[Event | float] = []

    def apply(self, event: Event) -> None:
        self.told.append(event)
        super().apply(event)

    def step(self, now: float) -> Sequence[Effect]:
        self.told.append(now)
        return super().step(now)


def told_again(told: Sequence[Event | float], engine: Engine) -> list[Effect]:
    """Tell another engine the same; what it does."""
    effects: list[Effect] = []
    for entry in told:
        if isinstance(entry, float | int):
            effects += engine.step(entry)
        else:
            engine.apply(entry)
    return effects


class Cluster(Server):
    """A server whose every change is told to one engine at once.

    Args:
        slots: how many Binds are sent at once.
        profiles: that the engine runs; None = the default one.
        sync: the first lists are complete from the start.
        settings: of the engine; those that are named change SETTINGS.

    Attributes:
        sent: every Bind.
        bound_order: names of pods, as they were bound.
        effects: all of them.
        status: the last that was written of each group.
        answer: what becomes of a Bind: "ok", "hold" = nothing for now, or the name of a Cause.
        evicted: every Evict.
        evict_answer: what becomes of an Evict: "ok" = the pod is gone at once, "slow" = it
            terminates, "hold" = nothing for now; any other text refuses it.
        stops: a StopEvict finds that nothing was sent yet for those on hold.
    """

    SETTINGS: ClassVar = Settings(validate=True)

    def __init__(
        self,
        *,
        slots: int = 32,
        profiles: Mapping[str, Profile] | None = None,
        sync: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._chosen = settings
        self.settings = replace(self.SETTINGS, **settings)
        self.profiles = profiles or default_profiles()
        self.engine = Recorded(self.profiles, self.settings)
        self.sent: list[Bind] = []
        self.bound_order: list[str] = []
        self.effects: list[Effect] = []
        self.status: dict[str, SetGroupStatus] = {}
        self.answer: Callable[[Bind], str] = lambda _: "ok"
        self.evicted: list[Evict] = []
        self.evict_answer: Callable[[Evict], str] = lambda _: "ok"
        self.stops = True
        if sync:
            self.sync(slots)

    def tell(self, event: Event) -> None:
        self.engine.apply(event)

    def changed(self, event: Event) -> None:
        self.tell(event)

    def sync(self, slots: int = 32, *, but: Stream | None = None) -> None:
        """Every first list is complete, but this one."""
        for stream in Stream:
            if stream is not but:
                self.tell(Synced(stream))
        self.tell(SlotsFree(slots))

    def restarted(self, *, status: bool = True) -> Self:
        """What a new scheduler finds, and that scheduler.

        Args:
            status: the status that the old one wrote last is there; False = none ever was.
        """
        other = self._successor()
        other.keep(self)
        for name, written in self.status.items() if status else ():
            if name in other.groups:
                other.groups[name] = _recorded(other.groups[name], written)
        for stream in SHOWN:
            for event in other.listed(stream):
                other.tell(event)
        other.sync()
        return other

    def taken_over(self) -> Self:
        """A replica that stood by, and was shown everything from the beginning on; now it leads."""
        other = self._successor()
        for event in self.engine.told:
            leads = isinstance(event, Synced) and event.stream is Stream.LEASE
            if not (leads or isinstance(event, (float, int, *OWN_ANSWERS))):
                other.tell(event)
                other.engine.stand_by()
        other.keep(self)
        for name, written in self.status.items():
            if name in other.groups:
                other.groups[name] = _recorded(other.groups[name], written)
                other.tell(GroupSeen(other.groups[name]))
        other.tell(Synced(Stream.LEASE))
        other.tell(SlotsFree(32))
        return other

    def _successor(self) -> Self:
        """Another process of the same scheduler, to which nothing was shown yet."""
        chosen: dict[str, Any] = {**self._chosen, "identity": "1"}
        return type(self)(profiles=self.profiles, sync=False, **chosen)

    # ── the shell ────────────────────────────────────────────────────────────────────────────

    def step(self) -> list[Effect]:
        effects = list(self.engine.step(self.now))
        self.effects += effects
        for effect in effects:
            if isinstance(effect, Bind):
                self.sent.append(effect)
                self._carry_out(effect)
            elif isinstance(effect, Evict):
                self.evicted.append(effect)
                self._evict(effect)
            elif isinstance(effect, StopEvict) and self.stops:
                for uid in sorted(effect.uids):
                    self.tell(EvictStopped(uid))
            elif isinstance(effect, SetGroupStatus):
                self.status[effect.group.name] = effect
        return effects

    def settle(self, *, seconds: float = 0.0) -> None:
        """Step until only time or somebody else could change anything, for so long."""
        end, steps = self.now + seconds, 0
        while steps < 10_000:  # at one instant
            self.step()
            wakeup = self.engine.wakeup()
            if wakeup is None or wakeup > end:
                self.now = max(self.now, end)
                return
            steps = 0 if wakeup > self.now else steps + 1
            self.now = max(self.now, wakeup)
        raise AssertionError("the engine never comes to rest")

    def _carry_out(self, effect: Bind) -> None:
        answer = self.answer(effect)
        if answer == "hold":
            return
        if answer == "ok":
            self.confirm(effect)
        else:
            self.refuse(effect, RefusalCause[answer])

    def _evict(self, effect: Evict) -> None:
        answer = self.evict_answer(effect)
        if answer == "hold":
            return
        if answer not in ("ok", "slow"):
            self.tell(EvictRefused(effect.uid, answer, self.now + 10.0))
            return
        self.tell(Evicted(effect.uid))
        self.change(effect.pod.name, deleting=True)
        if answer == "ok":
            self.delete(effect.pod.name)

    def confirm(self, effect: Bind) -> None:
        """The API server binds, answers, and the watch shows it."""
        target = effect.target
        self.tell(Bound(target.plan, target.uid))
        self.tell(SlotsFree(1))
        self.bound_order.append(target.pod.name)
        self.bind(target)

    def refuse(self, effect: Bind, cause: RefusalCause) -> None:
        """The API server answers that it does not bind."""
        target = effect.target
        self.tell(BindRefused(target.plan, target.uid, cause, cause.name.lower()))
        self.tell(SlotsFree(1))

    # ── what to look at ──────────────────────────────────────────────────────────────────────

    def where(self, prefix: str = "") -> dict[str, str]:
        """Bound pods by name, with their nodes."""
        return {
            name: pod.node
            for name, pod in self.pods.items()
            if pod.node and name.startswith(prefix)
        }

    def condition(self, group: str, kind: str = "Scheduled") -> tuple[bool | None, str, str]:
        """Status, reason and message of a condition."""
        found = [c for c in self.status[group].conditions if c.type == kind]
        return found[0].status, str(found[0].reason), found[0].message

    def events(self, reason: str) -> list[Emit]:
        return [e for e in self.effects if isinstance(e, Emit) and e.reason == reason]

    def decisions(self) -> list[Decided]:
        return [e for e in self.effects if isinstance(e, Decided)]

    def pod_conditions(self, name: str) -> list[tuple[str, str]]:
        return [
            (str(e.reason), e.message)
            for e in self.effects
            if isinstance(e, SetPodCondition) and e.pod.name == name
        ]


def _recorded(group: Group, written: SetGroupStatus) -> Group:
    """A PodGroup with the status of both writers."""
    memory = replace(remembered(written), expected=group.memory.expected)
    return replace(group, memory=memory)


def plugins_but(*names: str) -> list[Any]:
    """The plugins in the tree without some, with their defaults."""
    return [factory() for name, factory in IN_TREE.items() if name not in names]


def cluster_with(*plugins: Any, weights: dict[str, int] | None = None, **settings: Any) -> Cluster:
    """A cluster whose profile runs the in-tree plugins, then these."""
    in_tree = plugins_but("DefaultPreemption")
    profile = Profile("enbloc", (*in_tree, *plugins), weights or {})
    cluster = Cluster(profiles={"enbloc": profile}, **settings)
    cluster.nodes("n1 n2", cpu=8)
    return cluster
