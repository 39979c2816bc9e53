# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A third party that watches pods only, and keeps count: of room, and of gangs in part.

A watch shows the changes of all pods in the order in which they were written, so a node is over
its room here only if the API server held it so.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from enbloc.client.client import Client
from enbloc.client.items import Deleted, Seen
from enbloc.client.paths import PODS
from enbloc.client.reflector import Reflector
from tests.e2e.observer import PodView

#: So long after its preemptor is gone, or has a node, a pod may be told to give way (seconds): for
#: a server that is down to come back, and a leader to be missed.
LATE_SECONDS: Final = 75.0


class Census:
    """What one namespace's pods held, from the first look on.

    Args:
        client: the API.
        namespace: whose pods are counted.
        room: of each node, in thousandths of a CPU; nodes that are not named have no bound. May
            grow while the census runs.
        minimums: of each gang. May grow as well.
    """

    def __init__(
        self, client: Client, namespace: str, room: Mapping[str, int], minimums: Mapping[str, int]
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._room = room
        self._minimums = minimums
        self._pods: dict[str, PodView] = {}
        self._used: defaultdict[str, int] = defaultdict(int)
        self._held: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._since: dict[str, float] = {}
        self._running: set[str] = set()
        self._gang_seconds = 0.0
        self._until = time.monotonic()
        self._live: Counter[str] = Counter()
        #: Of each priority, how many pods wait now, and when one did last.
        self._waiting: Counter[int] = Counter()
        self._waited: dict[int, float] = {}
        #: Each pod that was seen on two nodes.
        self.moved: list[str] = []
        #: Each time a node had to hold more than it can.
        self.overcommitted: list[str] = []
        #: From a gang's first member held to its minimum held, or to none, in seconds.
        self.bursts: list[float] = []
        #: Bindings seen.
        self.binds = 0
        #: Pods that were chosen to give way.
        self.preempted = 0
        #: Those of them for which nobody of a higher priority has waited for a while.
        self.wronged: list[str] = []
        #: Notified after each change.
        self.changed = asyncio.Condition()

    async def run(self) -> None:
        """Count until cancelled."""
        pods = Reflector(self._client, PODS, PodView, namespace=self._namespace)
        async for item in pods.stream():
            match item:
                case Seen(_, pod):
                    self._count(pod.metadata.uid, pod)
                case Deleted(meta, _):
                    self._count(meta.uid, None)
                case _:
                    pass
            async with self.changed:
                self.changed.notify_all()

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def in_part(self) -> dict[str, int]:
        """Gangs that hold room, and less than their minimum; how many members they hold."""
        return {group: self._held[group] for group in self._since}

    def whole(self) -> int:
        """Gangs that hold their minimum."""
        return sum(self._held[group] >= least for group, least in self._minimums.items())

    def finished(self) -> int:
        """Gangs of which as many members as the minimum have succeeded."""
        return sum(self._ended[group] >= least for group, least in self._minimums.items())

    def burst(self) -> float:
        """The longest that a gang has been in part, those that still are included."""
        now = time.monotonic()
        return max([*self.bursts, *(now - since for since in self._since.values())], default=0.0)

    def running(self) -> int:
        """Whole gangs of which no member has ended."""
        return len(self._running)

    def gang_seconds(self) -> float:
        """`running`, summed over time so far."""
        now = time.monotonic()
        self._gang_seconds += len(self._running) * (now - self._until)
        self._until = now
        return self._gang_seconds

    # ── counting ─────────────────────────────────────────────────────────────────────────────

    def _count(self, uid: str, pod: PodView | None) -> None:
        before = self._pods.pop(uid, None)
        if before is not None:
            self._add(before, -1)
        if pod is not None:
            self._pods[uid] = pod
            self._add(pod, +1)
            if pod.preempted and not (before and before.preempted):
                self._gives_way(pod)
            if pod.spec.node_name and not (before and before.spec.node_name):
                self.binds += 1
                self._look(pod)
            if before and before.spec.node_name not in ("", pod.spec.node_name):
                self.moved.append(
                    f"{pod.metadata.name}: {before.spec.node_name} → {pod.spec.node_name}"
                )
        for seen in (before, pod):
            if seen is not None and seen.gang in self._minimums:
                self.judge(seen.gang)

    def _add(self, pod: PodView, sign: int) -> None:
        if pod.waits:
            self._waiting[pod.spec.priority] += sign
            self._waited[pod.spec.priority] = time.monotonic()
        if not pod.spec.node_name:
            return
        if pod.takes_room:
            self._used[pod.spec.node_name] += sign * pod.requests["cpu"]
        if pod.holds:
            self._held[pod.gang] += sign
        if pod.status.phase == "Succeeded":
            self._ended[pod.gang] += sign
        elif pod.holds:
            self._live[pod.gang] += sign

    def _gives_way(self, pod: PodView) -> None:
        """Look whether a pod of a higher priority waits, or has until a moment ago."""
        self.preempted += 1
        higher = [priority for priority in self._waited if priority > pod.spec.priority]
        since = time.monotonic() - LATE_SECONDS
        if not any(self._waiting[each] or self._waited[each] > since for each in higher):
            self.wronged.append(f"{pod.metadata.name} of priority {pod.spec.priority}")

    def _look(self, pod: PodView) -> None:
        node = pod.spec.node_name
        room = self._room.get(node)
        if room is not None and self._used[node] > room:
            self.overcommitted.append(
                f"{pod.metadata.name} (plan {pod.plan}) is bound to {node}, which then holds "
                f"{self._used[node]}m of {room}m"
            )

    def judge(self, group: str) -> None:
        """Look at a gang again; for who changes its minimum."""
        self.gang_seconds()
        held, least = self._held[group], self._minimums[group]
        if held >= least and not self._ended[group]:
            self._running.add(group)
        else:
            self._running.discard(group)
        if self._live[group] and held < least:
            self._since.setdefault(group, self._until)
        elif group in self._since:
            self.bursts.append(self._until - self._since.pop(group))
