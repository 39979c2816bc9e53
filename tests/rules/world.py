# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster whose scheduler can be replaced: a new process sees what the API server kept."""

from typing import Final

from enbloc.engine import Settings
from enbloc.engine.effects import Bind, SetGroupStatus
from enbloc.engine.events import NodeSeen, SlotsFree, Stream, Synced
from enbloc.model.groups import Group, Memory
from enbloc.model.names import RANK_KEY, Condition
from enbloc.model.node import Node
from enbloc.model.pods import Owner, PodSpec
from tests.engine.cluster import Cluster, spec

JOB: Final = Owner("Job", "job", "job-1")
NEXT_JOB: Final = Owner("Job", "job", "job-2")

#: One member for each node of four CPUs.
ONE_A_NODE: Final = spec(cpu=4)


class World(Cluster):
    """No group is ever tried for the sake of time alone, so that a missed wake-up shows."""

    def __init__(self, *, slots: int = 32, sync: bool = True, **settings: object) -> None:
        self.seen_nodes: dict[str, Node] = {}
        chosen = {"validate": True, "longest_wait": 1e9, **settings}
        super().__init__(slots=slots, sync=sync, settings=Settings(**chosen))  # type: ignore[arg-type]

    # ── the world ────────────────────────────────────────────────────────────────────────────

    def node(self, name: str, cpu: int = 8, gpu: int = 0, **more: object) -> None:
        super().node(name, cpu, gpu, **more)
        known = self.engine._state.nodes.node(name)
        assert known is not None
        self.seen_nodes[name] = known

    def drop_node(self, name: str) -> None:
        del self.seen_nodes[name]
        super().drop_node(name)

    def job(
        self,
        name: str,
        members: int,
        minimum: int | None = None,
        *,
        owner: Owner | None = JOB,
        pod: PodSpec = ONE_A_NODE,
        priority: int = 0,
        **group: object,
    ) -> None:
        """A gang with one member for each node of four CPUs."""
        self.group(name, members if minimum is None else minimum, **{"timeout": 60, **group})
        for index in range(members):
            self.pod(f"{name}-{index}", name, owner=owner, spec=pod, priority=priority)

    def running_job(
        self, name: str, members: int, minimum: int | None = None, **more: object
    ) -> None:
        """The same, bound and Running."""
        self.job(name, members, minimum, **more)  # type: ignore[arg-type]
        self.settle()
        self.run_pods(sorted(self.where(f"{name}-")))
        self.settle()

    def job_in_part(self, name: str, nodes: str, *, of: int, **group: object) -> None:
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

    def member(self, name: str, group: str, **more: object) -> None:
        """One more member for a node of four CPUs."""
        self.pod(name, group, **{"owner": JOB, "spec": ONE_A_NODE, **more})

    def lose_node(self, name: str) -> str:
        """A node dies with the one pod on it; its name."""
        [lost] = [pod for pod, node in self.where().items() if node == name]
        self.drop_node(name)
        self.delete(lost)
        return lost

    def alter(self, name: str, **more: object) -> Group:
        """Change the spec of a PodGroup."""
        old = self.groups[name]
        return self.group(name, **{**_fields(old), "generation": old.generation + 1, **more})  # type: ignore[arg-type]

    def confirm(self, effect: Bind) -> None:
        super().confirm(effect)
        rank = dict(effect.target.annotations).get(RANK_KEY)
        name = effect.target.pod.name
        if rank is not None and name in self.pods and self.pods[name].node:
            self.change(name, rank=int(rank))

    def sync_but(self, missing: Stream) -> None:
        """Every first list is there but this one."""
        for stream in Stream:
            if stream is not missing:
                self.tell(Synced(stream))
        self.tell(SlotsFree(32))

    # ── another process ──────────────────────────────────────────────────────────────────────

    def restarted(self, *, status: bool = True) -> "World":
        """The world as a new scheduler finds it.

        Args:
            status: the status that the old one wrote last is there; False = none ever was.
        """
        other = World(sync=False, identity="1")
        other.now, other._version, other._uids = self.now, self._version, self._uids
        other.seen_nodes = dict(self.seen_nodes)
        for node in self.seen_nodes.values():
            other.tell(NodeSeen(node))
        for name, group in self.groups.items():
            written = self.status.get(name) if status else None
            memory = _memory(written) if written else Memory()
            other.group(name, **{**_fields(group), "memory": memory})  # type: ignore[arg-type]
        for pod in self.pods.values():
            other._show(pod)
        other.sync()
        return other

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


def _fields(group: Group) -> dict[str, object]:
    """What `Cluster.group` takes to make this PodGroup again."""
    names = ("uid", "generation", "min_resources", "timeout", "priority_class", "created",
             "memory", "on_incomplete", "owner")  # fmt: skip
    roles = [(role.name, role.min_member) for role in group.roles]
    return {
        "minimum": group.min_member,
        "roles": roles,
        **{name: getattr(group, name) for name in names},
    }


def _memory(status: SetGroupStatus) -> Memory:
    ever = any(c.type is Condition.INITIALLY_SCHEDULED and c.status for c in status.conditions)
    return Memory(
        incarnation=status.incarnation,
        started=status.started,
        succeeded=status.succeeded,
        roles=tuple((role.name, role.succeeded) for role in status.roles),
        attempts=status.attempts,
        initially_scheduled=ever,
    )
