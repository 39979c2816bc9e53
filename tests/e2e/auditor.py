# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who judges a soak by what the API server shows, and by nothing else."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from enbloc.client.items import Deleted, Seen
from enbloc.client.paths import NODES, POD_GROUPS
from enbloc.client.reflector import Reflector
from tests.e2e.census import Census
from tests.e2e.churn import TIMEOUT
from tests.e2e.observer import Meta, NodeView
from tests.e2e.world import World

#: How long a gang may be bound in part (seconds): its own deadline, and for a leader to be missed,
#: another one to start, and a server that is down to come back.
IN_PART: Final = TIMEOUT + 60.0


class _GroupSpec(msgspec.Struct, rename="camel"):
    min_member: int = 1


class _Group(msgspec.Struct):
    metadata: Meta
    spec: _GroupSpec = msgspec.field(default_factory=_GroupSpec)


class Minimums(Mapping[str, int]):
    """The least that each run of a PodGroup must hold: the lowest minMember that it ever had.

    A minimum that is raised holds for its next run, and one that is lowered at once.
    """

    def __init__(self) -> None:
        self._lowest: dict[str, int] = {}
        self.runs: set[str] = set()

    def saw(self, group: str, minimum: int) -> None:
        """A PodGroup has this minMember now."""
        self._lowest[group] = min(minimum, self._lowest.get(group, minimum))

    def __getitem__(self, run: str) -> int:
        least = self._lowest[run.partition(".")[0]]
        self.runs.add(run)
        return least

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


class Auditor:
    """Watches pods, nodes and PodGroups, and nothing else; never through a proxy.

    Args:
        world: where.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._room: dict[str, int] = {}
        self._minimums = Minimums()
        self.census = Census(world.client, world.namespace, self._room, self._minimums)

    def start(self) -> None:
        """Watch for as long as the world is there."""
        self._world.keep("auditor's nodes", self._nodes())
        self._world.keep("auditor's groups", self._groups())
        self._world.keep("auditor's pods", self.census.run())

    async def _nodes(self) -> None:
        async for item in Reflector(self._world.client, NODES, NodeView).stream():
            match item:
                case Seen(_, node):
                    self._room[node.metadata.name] = node.room.get("cpu", 0)
                case Deleted(meta, _):
                    self._room.pop(meta.name, None)
                case _:
                    pass

    async def _groups(self) -> None:
        groups = Reflector(self._world.client, POD_GROUPS, _Group, namespace=self._world.namespace)
        async for item in groups.stream():
            match item:
                case Seen(_, group):
                    self._minimums.saw(group.metadata.name, group.spec.min_member)
                    for run in [*self._minimums.runs]:
                        if run.partition(".")[0] == group.metadata.name:
                            self.census.judge(run)
                case _:
                    pass

    def problems(self) -> list[str]:
        """What must not have happened."""
        found = [f"overcommitted: {one}" for one in self.census.overcommitted]
        found += [f"bound twice: {one}" for one in self.census.moved]
        found += [f"gave way to nobody: {one}" for one in self.census.wronged]
        if self.census.burst() > IN_PART:
            found.append(f"a gang was bound in part for {self.census.burst():.1f} s")
        return found
