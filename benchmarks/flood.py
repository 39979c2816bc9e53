# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One tenant does its worst while a gang of 8 of another one arrives, for which there is room."""

import datetime as dt
import gc
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.changes import PERIOD, VICTIM, Create, Delete, Patch, Trick, gang, node
from benchmarks.engine import Figure
from benchmarks.tricks import tricks
from enbloc.client.decoding import decoded
from enbloc.client.paths import NODES, POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS, Resource
from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind, Evict, SetPodCondition
from enbloc.engine.events import (
    BindRefused,
    Bound,
    BudgetSeen,
    Event,
    Evicted,
    GroupGone,
    GroupSeen,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
)
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey, PodUID
from enbloc.wire import codec
from enbloc.wire.budgets import BudgetObject, budget
from enbloc.wire.codec import NodeObject, PodGroupObject, PodObject

SIZE: Final = 8
#: An arrival that is not bound by then counts as never bound (seconds of the engine's time).
PATIENCE: Final = 10.0
BEGIN: Final = 1_800_000_000.0

_POD: Final = msgspec.json.Decoder(PodObject)
_NODE: Final = msgspec.json.Decoder(NodeObject)
_GROUP: Final = msgspec.json.Decoder(PodGroupObject)
_BUDGET: Final = msgspec.json.Decoder(BudgetObject)

Key = tuple[Resource, str, str]


class Arrival(NamedTuple):
    """What it took to bind one gang.

    Attributes:
        seconds: of the engine's work, from the last member's event to the last Bind.
        steps: how many there were.
        longest: the longest of them, seconds.
        bound: all members were.
    """

    seconds: float
    steps: int
    longest: float
    bound: bool


class Memory:
    """Objects as an API server keeps them, and one engine that is told of each change.

    The clock is the CPU time of this process: what others do on the machine is not in a figure.
    """

    def __init__(self, nodes: int, trick: Trick) -> None:
        self.engine = Engine(default_profiles(), Settings(log=1))
        self._trick = trick
        self._objects: dict[Key, dict[str, Any]] = {}
        self._version = 0
        self._skipped = BEGIN - time.process_time()
        self._due = 0
        self._round_at = 0.0
        self._answers: list[Event] = []
        self.bound: set[str] = set()
        for index in range(nodes):
            self.change(node(index))
        for stream in Stream:
            self.engine.apply(Synced(stream))
        self.engine.apply(SlotsFree(32))

    @property
    def now(self) -> float:
        return self._skipped + time.process_time()

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def change(self, change: Create | Patch | Delete) -> None:
        """Carry a change out, and tell the engine."""
        if isinstance(change, Create):
            metadata = change.body["metadata"]
            key = change.resource, metadata.get("namespace", ""), metadata["name"]
            self._version += 1
            stamp = dt.datetime.fromtimestamp(self.now, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            made = {**change.body, "metadata": {**metadata, "creationTimestamp": stamp}}
            made["metadata"]["uid"] = f"uid-{self._version}"
            self._objects[key] = made
        else:
            key = change.resource, change.namespace, change.name
            if isinstance(change, Delete):
                if key not in self._objects:  # somebody else was faster
                    return
                metadata = self._objects[key]["metadata"]
                if not metadata.get("finalizers"):
                    self._tell_gone(key, self._objects.pop(key)["metadata"]["uid"])
                    return
                metadata["deletionTimestamp"] = metadata["creationTimestamp"]
            else:
                self._objects[key] = _merged(self._objects[key], change.body)
        self._tell(key)

    def _tell(self, key: Key) -> None:
        began = time.process_time()
        self._version += 1
        found = self._objects[key]
        found["metadata"]["resourceVersion"] = str(self._version)
        raw = msgspec.json.encode(found)
        self._skipped -= time.process_time() - began  # a server's time, not the scheduler's
        self.engine.apply(_event(key[0], raw))

    def _tell_gone(self, key: Key, uid: str) -> None:
        resource, namespace, name = key
        if resource is PODS:
            self.engine.apply(PodGone(PodKey(namespace, name), PodUID(uid)))
        else:
            self.engine.apply(GroupGone(GroupKey(namespace, name), uid))

    # ── the loop ─────────────────────────────────────────────────────────────────────────────

    def turn(self) -> float:
        """Apply what has happened by now, and step once; the seconds that it took."""
        self._rounds()
        for event in self._answers:
            self.engine.apply(event)
        self._answers.clear()
        began = time.process_time()
        effects = self.engine.step(self.now)
        took = time.process_time() - began
        for effect in effects:
            if isinstance(effect, Bind):
                self._bind(effect)
            elif isinstance(effect, Evict):
                self._answers.append(Evicted(effect.uid))
                self.change(Delete(PODS, effect.pod.namespace, effect.pod.name))
            elif isinstance(effect, SetPodCondition):
                condition = {"type": "PodScheduled", "status": "False", "reason": effect.reason}
                key = PODS, effect.pod.namespace, effect.pod.name
                if key in self._objects:
                    self._objects[key]["status"] = {"conditions": [condition]}
                    self._tell(key)
        return took

    def _rounds(self) -> None:
        """The rounds of changes that are due; one that is late is not made up for."""
        if self.now >= self._round_at:
            self._round_at = self.now + PERIOD
            for change in self._trick.round(self._due):
                self.change(change)
            self._due += 1

    def _bind(self, effect: Bind) -> None:
        target = effect.target
        hostile = target.pod.namespace != VICTIM
        if hostile and self._trick.bindings == "hang":
            return
        self._answers.append(SlotsFree(1))
        if hostile and self._trick.bindings == "denied":
            cause = RefusalCause.SCHEDULER_ERROR
            self._answers.append(BindRefused(target.plan, target.uid, cause, "denied"))
            return
        key = PODS, target.pod.namespace, target.pod.name
        if key in self._objects:
            self._objects[key]["spec"]["nodeName"] = target.node
            self._answers.append(Bound(target.plan, target.uid))
            self._tell(key)
            if not hostile:
                self.bound.add(target.pod.name)

    def idle(self) -> None:
        """Let time pass until there is something to do."""
        wakeup = self.engine.wakeup()
        at = min(self._round_at, wakeup if wakeup is not None else self._round_at)
        if not self._answers and at > self.now:
            self._skipped += at - self.now

    def run(self, seconds: float) -> None:
        """Let the flood go on for a while."""
        until = self.now + seconds
        while self.now < until:
            self.turn()
            self.idle()

    def arrive(self, number: int) -> Arrival:
        """Another tenant's gang comes, is bound, and ends."""
        for change in gang(f"gang-{number}", SIZE, namespace=VICTIM):
            self.change(change)
        wanted = {f"gang-{number}-{index}" for index in range(SIZE)}
        began, steps, longest = self.now, 0, 0.0
        while not wanted <= self.bound and self.now < began + PATIENCE:
            longest = max(longest, self.turn())
            steps += 1
            self.idle()
        result = Arrival(self.now - began, steps, longest, wanted <= self.bound)
        for name in wanted:
            self.change(Delete(PODS, VICTIM, name))
        self.change(Delete(POD_GROUPS, VICTIM, f"gang-{number}"))
        return result


def _merged(body: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A merge patch, as RFC 7396 has it."""
    merged = dict(body)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = _merged(merged.get(key) or {}, value)
        else:
            merged[key] = value
    return merged


def _event(resource: Resource, raw: bytes) -> Event:
    if resource is PODS:
        return PodSeen(codec.pod(decoded(_POD.decode, raw)))
    if resource is NODES:
        return NodeSeen(codec.node(decoded(_NODE.decode, raw)))
    if resource is POD_DISRUPTION_BUDGETS:
        return BudgetSeen(budget(decoded(_BUDGET.decode, raw)))
    return GroupSeen(codec.group(decoded(_GROUP.decode, raw)))


def arrivals(trick: Trick, nodes: int, count: int) -> Iterator[Arrival]:
    """What each of so many gangs took, one after the other."""
    memory = Memory(nodes, trick)
    for change in trick.before():
        memory.change(change)
    memory.run(2.0)
    gc.collect()
    gc.freeze()  # as the scheduler does once it has synced
    try:
        for number in range(count):
            yield memory.arrive(number)
            memory.run(1.0)
    finally:
        gc.unfreeze()


def flood(nodes: int = 1000, count: int = 5, wanted: str = "") -> Iterator[Figure]:
    """The engine alone: the seconds of work and the steps until the gang is decided.

    A table of all tricks is printed; the figures are the worst of it.
    """
    every: dict[str, list[Arrival]] = {}
    for trick in tricks(nodes):
        if wanted in trick.name:
            came = every[trick.name] = list(arrivals(trick, nodes, count))
            seconds = [each.seconds for each in came]
            late = sum(not each.bound for each in came)
            print(
                f"  {trick.name:55} median {statistics.median(seconds) * 1e3:6.0f} ms"
                f"  worst {max(seconds) * 1e3:6.0f} ms  steps {max(e.steps for e in came):5}"
                f"  longest {max(e.longest for e in came) * 1e3:5.0f} ms"
                + (f"  {late} of {count} never" if late else ""),
                flush=True,
            )
    all_ = [each for came in every.values() for each in came]
    yield "flood/worst", max(each.seconds for each in all_) * 1e3
    yield "flood/longest-step", max(each.longest for each in all_) * 1e3
    yield "flood/never-bound", sum(not each.bound for each in all_)


if __name__ == "__main__":
    for figure in flood(wanted=" ".join(sys.argv[1:])):
        print(*figure)
