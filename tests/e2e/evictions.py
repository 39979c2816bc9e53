# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who is made to leave, as the watch of pods, the schedulers' requests and the events have it.

::

    a member is seen terminating, and told why ──► the episode of its gang: who held it just before
    at the end: all of these were told, or as many as the minimum were not; nobody twice
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from enbloc.client.errors import AlreadyExists
from enbloc.client.items import Deleted, Seen, Synced
from enbloc.client.paths import EVENTS, PODS, PRIORITY_CLASSES
from enbloc.client.reflector import Reflector
from enbloc.model.names import DISRUPTION_TARGET, EventReason
from tests.e2e.fault_proxy import FaultProxy, evicts
from tests.e2e.observer import Meta, PodView
from tests.e2e.world import World

#: PriorityClasses: those of HIGH go before those of MID, and these before everybody's.
HIGH: Final = "e2e-preempts"
MID: Final = "e2e-between"
_VALUES: Final = {HIGH: 1000, MID: 500}


@dataclass
class Episode:
    """A gang of which members are told to leave.

    Attributes:
        held: its bound members just before the first was told, by UID.
        told: those of them that were.
    """

    group: str
    held: frozenset[str]
    told: set[str] = field(default_factory=set[str])


class Regarding(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class Series(msgspec.Struct):
    count: int = 1


class EventView(msgspec.Struct):
    metadata: Meta
    regarding: Regarding
    reason: str = ""
    series: Series | None = None


class Evictions:
    """Watches the pods of a test, and judges who was made to leave.

    Args:
        world: where.
        proxies: of the schedulers.
    """

    def __init__(self, world: World, proxies: Sequence[FaultProxy]) -> None:
        self._world = world
        self._proxies = proxies
        self._pods: dict[str, PodView] = {}
        #: By UID, the names of those who were told why they leave, and left or will.
        self._told: dict[str, str] = {}
        self._episodes: list[Episode] = []
        #: By UID, also of those that are gone.
        self._events: dict[str, EventView] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_events())
            tasks.create_task(self._watch_pods())

    async def _watch_events(self) -> None:
        async for item in Reflector(self._world.client, EVENTS, EventView).stream():
            match item:
                case Seen(meta, event) if self._ours(event.regarding.namespace):
                    self._events[meta.uid] = event
                case _:
                    pass

    async def _watch_pods(self) -> None:
        async for item in Reflector(self._world.client, PODS, PodView).stream():
            match item:
                case Seen(meta, pod) if self._ours(meta.namespace):
                    self._saw(pod)
                case Deleted(meta, _):
                    self._pods.pop(meta.uid, None)
                case Synced():
                    self.synced.set()
                case _:
                    pass

    @property
    def told(self) -> set[str]:
        """The names of those who were made to leave so far."""
        return set(self._told.values())

    def _ours(self, namespace: str) -> bool:
        """The test's own, and those of its tenants."""
        ours = self._world.namespace
        return namespace == ours or namespace.startswith(f"{ours}-")

    def _saw(self, pod: PodView) -> None:
        uid = pod.metadata.uid
        marked = any(
            (c.type, c.status) == (DISRUPTION_TARGET, "True") for c in pod.status.conditions
        )
        if pod.ends and marked and pod.spec.node_name and uid not in self._told:
            self._told[uid] = pod.metadata.name
            if pod.group:
                self._episode(uid, pod.group).told.add(uid)
        self._pods[uid] = pod

    def _episode(self, uid: str, group: str) -> Episode:
        for episode in self._episodes:
            if uid in episode.held:
                return episode
        held = frozenset(key for key, pod in self._pods.items() if pod.group == group and pod.holds)
        self._episodes.append(Episode(group, held | {uid}))
        return self._episodes[-1]

    # ── judgement ────────────────────────────────────────────────────────────────────────────

    async def judge(self) -> None:
        """Raise with all that must not have happened."""
        wrong = [
            f"{episode.told} of {episode.held} of gang {episode.group} were told to leave"
            for episode in self._episodes
            if self._in_part(episode)
        ]
        asked = Counter(
            one.path.removesuffix("/eviction").rpartition("/")[2]
            for proxy in self._proxies
            for one in proxy.asked
            if evicts(one) and 200 <= one.status < 300
        )
        wrong += [f"{name} was evicted {times} times" for name, times in asked.items() if times > 1]
        assert not wrong, "\n".join(wrong)
        await self.are_said()
        self._world.observer.deleted_by_test |= self.told

    def _in_part(self, episode: Episode) -> bool:
        minimum = self._world._minimums.get(episode.group, 1)
        return 0 < len(episode.held - episode.told) < minimum

    async def are_said(self) -> None:
        """Return when all who were told have their events; a leader that dies takes them along."""

        async def all_said() -> bool:
            return not self._unsaid()

        await self._world.eventually(all_said, lambda: f"one event each: {self._unsaid()}")

    def _unsaid(self) -> dict[str, int]:
        """Who was told, and does not have exactly one event that says so; how many they have."""
        said = self.said(EventReason.PREEMPTED)
        return {name: said[name] for name in sorted(self.told) if said[name] != 1}

    def said(self, reason: str) -> Counter[str]:
        """How often an event with this reason was written, by the name of what it is about."""
        found = Counter[str]()
        for event in self._events.values():
            if event.reason == reason:
                found[event.regarding.name] += event.series.count if event.series else 1
        return found


@asynccontextmanager
async def watched(world: World, *proxies: FaultProxy) -> AsyncGenerator[Evictions]:
    """Who is made to leave, from now on; and the PriorityClasses that lead to that."""
    for name, value in _VALUES.items():
        with suppress(AlreadyExists):
            body = {"metadata": {"name": name}, "value": value}
            await world.client.create(PRIORITY_CLASSES, body)
    evictions = Evictions(world, proxies)
    world.keep("evictions", evictions.run())
    await world.until(evictions.synced.is_set, "the watch of evictions has begun")
    yield evictions


# ── what is looked at ────────────────────────────────────────────────────────────────────────


def bound(world: World, prefix: str) -> set[str]:
    """The names of the bound pods whose names begin so."""
    return set(world.observer.bound(world.namespace, prefix))


async def pod_says(world: World, name: str, text: str) -> None:
    """Wait until a condition of a pod says this."""
    found: list[str] = []

    async def is_said() -> bool:
        pod = await world.client.get(PODS, name, world.namespace)
        conditions = pod.get("status", {}).get("conditions", ())
        found[:] = [each.get("message", "") for each in conditions]
        return any(text in each for each in found)

    await world.eventually(is_said, lambda: f"{name} says {text!r}; it says {found}")
