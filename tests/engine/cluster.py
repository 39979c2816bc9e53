# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster in memory around one Engine: facts in, effects carried out, answers fed back."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

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
)
from enbloc.engine.events import (
    BindRefused,
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
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey, Role
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.plugins import IN_TREE

GiB = 1024**3


def spec(cpu: int = 1, gpu: int = 0, **more: object) -> PodSpec:
    """A pod class that asks for whole CPUs and GPUs."""
    requests = {"cpu": cpu * 1000, "nvidia.com/gpu": gpu, "pods": 1}
    asked = tuple(sorted((name, amount) for name, amount in requests.items() if amount))
    return replace(PodSpec(requests=asked, nonzero_cpu=cpu * 1000 or 100), **more)  # type: ignore[arg-type]


class Cluster:
    """What the API server would hold; every change is told to the engine at once."""

    def __init__(
        self,
        *,
        slots: int = 32,
        profiles: dict[str, Profile] | None = None,
        sync: bool = True,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings(validate=True)
        self.engine = Engine(profiles or default_profiles(), self.settings)
        self.now = 1000.0
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, Group] = {}
        self.sent: list[Bind] = []
        self.bound_order: list[str] = []
        self.effects: list[Effect] = []
        self.status: dict[str, SetGroupStatus] = {}
        self.answer: Callable[[Bind], str] = lambda _: "ok"
        self.evicted: list[Evict] = []
        self.evict_answer: Callable[[Evict], str] = lambda _: "ok"
        self._version = 0
        self._uids = 0
        if sync:
            self.sync(slots)

    def sync(self, slots: int = 32) -> None:
        for stream in Stream:
            self.engine.apply(Synced(stream))
        self.engine.apply(SlotsFree(slots))

    # ── the world ────────────────────────────────────────────────────────────────────────────

    def node(self, name: str, cpu: int = 8, gpu: int = 0, **more: object) -> None:
        room = {"cpu": cpu * 1000, "memory": 64 * GiB, "nvidia.com/gpu": gpu, "pods": 110}
        allocatable = tuple(sorted((name, amount) for name, amount in room.items() if amount))
        node = replace(Node(name=name, uid=name, allocatable=allocatable), **more)  # type: ignore[arg-type]
        self.engine.apply(NodeSeen(node))

    def nodes(self, names: str, **room: int) -> None:
        for name in names.split():
            self.node(name, **room)

    def drop_node(self, name: str) -> None:
        self.engine.apply(NodeGone(name))

    def group(self, name: str, minimum: int = 1, **more: object) -> Group:
        roles = tuple(Role(*role) for role in more.pop("roles", ()))  # type: ignore[attr-defined]
        key = GroupKey("ns", name)
        group = replace(
            Group(key, uid=f"pg-{name}", min_member=minimum, roles=roles, generation=1),
            **more,  # type: ignore[arg-type]
        )
        self.groups[name] = group
        self.engine.apply(GroupSeen(group))
        return group

    def drop_group(self, name: str) -> None:
        group = self.groups.pop(name)
        self.engine.apply(GroupGone(group.key, group.uid))

    def pod(self, name: str, group: str | None = None, **more: object) -> Pod:
        self._uids += 1
        fields: dict[str, object] = {
            "key": PodKey("ns", name),
            "uid": PodUID(f"{name}-{self._uids}"),
            "spec": spec(),
            "scheduler": "enbloc",
            "group": GroupKey("ns", group) if group else None,
            "created": self.now,
        }
        pod = Pod(**{**fields, **more})  # type: ignore[arg-type]
        self._show(pod)
        return pod

    def gang(self, name: str, pods: int, minimum: int | None = None, **more: object) -> None:
        self.group(name, pods if minimum is None else minimum)
        for index in range(pods):
            self.pod(f"{name}-{index}", name, **more)

    def change(self, name: str, **more: object) -> Pod:
        pod = replace(self.pods[name], **more)  # type: ignore[arg-type]
        self._show(pod)
        return pod

    def finish(self, name: str, phase: Phase = Phase.SUCCEEDED) -> None:
        self.change(name, phase=phase)

    def run_pods(self, names: Iterable[str]) -> None:
        for name in names:
            self.change(name, phase=Phase.RUNNING)

    def delete(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.engine.apply(PodGone(pod.key, pod.uid))

    def _show(self, pod: Pod) -> None:
        self._version += 1
        pod = replace(pod, resource_version=self._version)
        self.pods[pod.key.name] = pod
        self.engine.apply(PodSeen(pod))

    def tell(self, event: Event) -> None:
        self.engine.apply(event)

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
            elif isinstance(effect, SetGroupStatus):
                self.status[effect.group.name] = effect
        return effects

    def settle(self, *, seconds: float = 0.0) -> None:
        """Step until only time or somebody else could change anything, for so long."""
        end = self.now + seconds
        for _ in range(100_000):
            self.step()
            wakeup = self.engine.wakeup()
            if wakeup is None or wakeup > end:
                self.now = max(self.now, end)
                return
            self.now = max(self.now, wakeup)
        raise AssertionError("the engine never comes to rest")

    def _carry_out(self, effect: Bind) -> None:
        target = effect.target
        answer = self.answer(effect)
        if answer == "hold":
            return
        if answer == "ok":
            self.confirm(effect)
        else:
            cause = Cause[answer]
            self.tell(BindRefused(target.plan, target.uid, cause, answer.lower()))
            self.tell(SlotsFree(1))

    def _evict(self, effect: Evict) -> None:
        """With "ok" the pod is gone at once, with "slow" it terminates; else it is refused."""
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
        pod = self.pods.get(target.pod.name)
        if pod is not None and pod.uid == target.uid:
            receipt = dict(target.annotations).get("enbloc.dev/plan", "")
            self._show(replace(pod, node=target.node, receipt=receipt, scheduled_at=self.now))

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


def cluster_with(
    *plugins: Any, weights: dict[str, int] | None = None, settings: Settings | None = None
) -> Cluster:
    """A cluster whose profile runs the in-tree plugins, then these."""
    in_tree = [factory() for factory in IN_TREE.values()]
    profile = Profile("enbloc", (*in_tree, *plugins), weights or {})
    cluster = Cluster(profiles={"enbloc": profile}, settings=settings)
    cluster.nodes("n1 n2", cpu=8)
    return cluster
