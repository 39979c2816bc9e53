# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs as the rules speak of them: Jobs with one member for each node of four CPUs."""

from dataclasses import replace
from typing import Any, ClassVar, Final

import pytest

from enbloc.engine import Settings
from enbloc.model.groups import GroupKey
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.pods import Owner, Pod, PodKey, PodSpec, PodUID
from tests.world.builders import spec
from tests.world.cluster import Cluster

JOB: Final = Owner("Job", "job", "job-1")
NEXT_JOB: Final = Owner("Job", "job", "job-2")

#: One member for each node of four CPUs.
ONE_A_NODE: Final = spec(cpu=4)


class World(Cluster):
    """No group is ever tried for the sake of time alone, so that a missed wake-up shows."""

    SETTINGS: ClassVar = Settings(validate=True, longest_wait=1e9)

    def job(
        self,
        name: str,
        members: int,
        minimum: int | None = None,
        *,
        owner: Owner | None = JOB,
        pod: PodSpec = ONE_A_NODE,
        priority: int = 0,
        **group: Any,
    ) -> None:
        """A gang with one member for each node of four CPUs."""
        self.group(name, members if minimum is None else minimum, **{"timeout": 60, **group})
        for index in range(members):
            self.pod(f"{name}-{index}", name, owner=owner, spec=pod, priority=priority)

    def running_job(self, name: str, members: int, minimum: int | None = None, **more: Any) -> None:
        """The same, bound and Running."""
        self.job(name, members, minimum, **more)
        self.settle()
        self.run_pods(sorted(self.where(f"{name}-")))
        self.settle()

    def job_in_part(self, name: str, nodes: str, *, of: int, **group: Any) -> None:
        """A gang of which only the first members are bound, as a crash may leave it."""
        self.group(name, of, **{"timeout": 60, **group})
        placed = nodes.split()
        for index in range(of):
            node = placed[index] if index < len(placed) else ""
            self.pod(
                f"{name}-{index}",
                name,
                node=node,
                scheduled_at=self.now if node else None,
                owner=JOB,
                spec=ONE_A_NODE,
            )

    def member(self, name: str, group: str, **more: Any) -> None:
        """One more member for a node of four CPUs."""
        self.pod(name, group, **{"owner": JOB, "spec": ONE_A_NODE, **more})

    # ── another namespace; names are unique over both ────────────────────────────────────────

    def their_group(self, name: str, minimum: int = 1, **of: Any) -> None:
        """A PodGroup in namespace "tenant"."""
        self.group(name, minimum, key=GroupKey("tenant", name), **of)

    def theirs(self, name: str, group: str, **of: Any) -> None:
        """A member of such a group, for a node of four CPUs."""
        member = Pod(
            PodKey("tenant", name),
            PodUID(name),
            ONE_A_NODE,
            SCHEDULER_NAME,
            group=GroupKey("tenant", group),
            created=self.now,
            owner=JOB,
        )
        self.put_pod(replace(member, **of))

    def lose_node(self, name: str) -> str:
        """A node dies with the one pod on it; its name."""
        [lost] = [pod for pod, node in self.where().items() if node == name]
        self.drop_node(name)
        self.delete(lost)
        return lost

    # ── what to look at ──────────────────────────────────────────────────────────────────────

    @property
    def evictions(self) -> list[str]:
        """Names of the members that were told to leave, in order."""
        return [effect.pod.name for effect in self.evicted]

    def plans(self) -> list[str]:
        """The plans of the Bindings that were sent, each once."""
        return list(dict.fromkeys(bind.target.plan for bind in self.sent))

    def attempts(self, group: str) -> int:
        """How often a plan of this group was tried."""
        return sum(decided.group.name == group for decided in self.decisions())

    def winner(self) -> str:
        """Which of two gangs that exclude each other is placed."""
        self.settle()
        [name] = {pod.rsplit("-", 1)[0] for pod in self.where()}
        return name

    def started(self, group: str) -> float | None:
        """When it started, as its status has it."""
        return self.status[group].started


def as_it_is(world: World) -> World:
    """The same process goes on."""
    return world


def restarted(world: World) -> World:
    """Another process takes over."""
    other = world.restarted()
    other.settle()
    return other


def taken_over(world: World) -> World:
    """A replica that stood by all the time takes over."""
    other = world.taken_over()
    other.settle()
    return other


#: Who goes on with what happened so far.
PROCESSES: Final = pytest.mark.parametrize("process", [as_it_is, restarted, taken_over])
