# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Law: what is kept across decisions never changes one, whatever happens to the cluster.

After each step the engine itself asserts that every kept ranking says what one made anew says; in
the end the same events are played to an engine that keeps without looking, and to one that may
keep nothing.
"""

from dataclasses import replace
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from enbloc.config import default_profiles
from enbloc.engine import Engine
from enbloc.engine.events import (
    NamespaceGone,
    NamespaceSeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.framework.decide import Proposal
from enbloc.framework.profile import Profile
from enbloc.model.pods import HostPort, NodeSelectorTerm, Owner, Phase, Pod, PodKey, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import (
    Labels,
    PodAffinity,
    PodAffinityTerm,
    Selector,
    SpreadConstraint,
)
from enbloc.model.taints import Effect as TaintEffect
from enbloc.model.taints import Taint, Toleration, TolerationOperator
from enbloc.model.workloads import WorkloadKey, equals
from tests.effort import examples
from tests.world.builders import spec
from tests.world.cluster import Cluster, told_again

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
IMAGE = "example.com/app:1"
TAINT = Taint("maintenance", "yes", TaintEffect.NO_SCHEDULE)
GPU_TAINT = Taint("gpu", "", TaintEffect.PREFER_NO_SCHEDULE)


def _app(*values: str) -> Selector:
    return Selector((Requirement("app", Operator.IN, values),))


def _near(key: str, selector: Selector, spaces: Selector | None = None) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, namespace_selector=spaces)


PROD = Selector((Requirement("env", Operator.IN, ("prod",)),))
SSD = NodeSelectorTerm((Requirement("disk", Operator.IN, ("ssd",)),))


def _asking(**of: Any) -> PodSpec:
    return spec(**{"cpu": 1, **of})


CLASSES: tuple[PodSpec, ...] = (
    _asking(),
    _asking(cpu=2),
    _asking(spread=(SpreadConstraint(ZONE, selector=_app("a")),)),
    _asking(spread=(SpreadConstraint(HOST, selector=_app("a", "b"), hard=False),)),
    _asking(spread=(SpreadConstraint(HOST, selector=_app("a"), match_label_keys=("tier",)),)),
    _asking(pod_anti_affinity=PodAffinity((_near(HOST, _app("a")),))),
    _asking(pod_affinity=PodAffinity((_near(ZONE, _app("a")),))),
    _asking(pod_affinity=PodAffinity((), ((50, _near(ZONE, _app("b"), PROD)),))),
    _asking(pod_anti_affinity=PodAffinity((), ((9, _near(HOST, _app("b"))),))),
    _asking(host_ports=(HostPort("0.0.0.0", "TCP", 80),)),
    _asking(images=(IMAGE,)),
    _asking(node_selector=(("disk", "ssd"),)),
    _asking(preferred_node_affinity=((5, SSD),)),
    _asking(tolerations=(Toleration("maintenance", TolerationOperator.EXISTS),)),
    _asking(features=("FeatureA",)),
)
LABELS: tuple[Labels, ...] = (
    (),
    (("app", "a"),),
    (("app", "b"),),
    (("app", "a"), ("tier", "x")),
    (("tier", "y"),),
)
OWNERS = (None, Owner("ReplicaSet", "rs", "1"), Owner("ReplicaSet", "rs2", "2"))
SPACES = ("ns", "other")
classes = st.sampled_from(CLASSES)
labels = st.sampled_from(LABELS)


class KeepsNothing:
    """A ledger, though an empty one, keeps the engine from keeping anything."""

    name: ClassVar[str] = "KeepsNothing"

    def reserve(self, plan: Proposal, ledger: object) -> object:
        del plan, ledger
        return None


class StreamMachine(RuleBasedStateMachine):
    """Pods of a few classes come and go while everything around them changes."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(log=1_000_000)
        self.counter = 0

    @initialize(count=st.integers(2, 5))
    def some_nodes(self, count: int) -> None:
        for _ in range(count):
            self._add_node("a")

    def _name(self, kind: str) -> str:
        self.counter += 1
        return f"{kind}{self.counter}"

    def _add_node(self, zone: str) -> None:
        name = self._name("n")
        self.cluster.node(name, cpu=6, pods=20, labels=((HOST, name), (ZONE, zone)))

    # ── nodes, namespaces, workloads ─────────────────────────────────────────────────────────

    @precondition(lambda self: len(self.cluster.hosts) < 6)
    @rule(zone=st.sampled_from(["a", "b"]))
    def a_node_is_added(self, zone: str) -> None:
        self._add_node(zone)

    @precondition(lambda self: self.cluster.hosts)
    @rule(data=st.data(), with_pods=st.booleans())
    def a_node_is_lost(self, data: st.DataObject, with_pods: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.cluster.hosts)))
        self.cluster.drop_node(name)
        if with_pods:
            for pod in [p for p in self.cluster.pods.values() if p.node == name]:
                self.cluster.delete(pod.key.name)

    @precondition(lambda self: self.cluster.hosts)
    @rule(
        data=st.data(),
        change=st.sampled_from(
            [
                {"labels": ((ZONE, "b"), ("disk", "ssd"))},
                {"labels": ()},
                {"taints": (TAINT,)},
                {"taints": (GPU_TAINT,)},
                {"taints": ()},
                {"images": ((IMAGE, 2**30),)},
                {"images": ()},
                {"unschedulable": True},
                {"unschedulable": False},
                {"features": ("FeatureA",)},
                {"allocatable": (("cpu", 2000), ("memory", 2**36), ("pods", 20))},
                {"ready": False},
            ]
        ),
    )
    def a_node_changes(self, data: st.DataObject, change: dict[str, object]) -> None:
        name = data.draw(st.sampled_from(sorted(self.cluster.hosts)))
        self.cluster.put_node(replace(self.cluster.hosts[name], **change))  # type: ignore[arg-type]

    @rule(name=st.sampled_from(SPACES), prod=st.sampled_from([True, False, None]))
    def a_namespace_changes(self, name: str, prod: bool | None) -> None:
        if prod is None:
            self.cluster.tell(NamespaceGone(name))
        else:
            self.cluster.tell(NamespaceSeen(name, (("env", "prod"),) if prod else ()))

    @rule(
        kind=st.sampled_from(["Service", "ReplicaSet"]),
        space=st.sampled_from(SPACES),
        selects=st.sampled_from([{"app": "a"}, {"tier": "x"}, {"app": "b"}, None]),
    )
    def a_workload_changes(self, kind: str, space: str, selects: dict[str, str] | None) -> None:
        key = WorkloadKey(kind, space, "rs")
        if selects is None:
            self.cluster.tell(WorkloadGone(key))
        else:
            self.cluster.tell(WorkloadSeen(key, equals(selects)))

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    @rule(
        kind=classes,
        labels=labels,
        space=st.sampled_from(SPACES),
        owner=st.sampled_from(OWNERS),
        steps=st.lists(st.integers(0, 2), min_size=1, max_size=5),
    )
    def pods_arrive(
        self, kind: PodSpec, labels: Labels, space: str, owner: Owner | None, steps: list[int]
    ) -> None:
        for times in steps:
            name = self._name("p")
            key = PodKey(space, name)
            self.cluster.pod(name, spec=kind, labels=labels, key=key, owner=owner)
            self.it_steps(times, 0.0)

    @rule(kinds=st.lists(classes, min_size=1, max_size=3), labels=labels, extra=st.integers(0, 1))
    def a_gang_arrives(self, kinds: list[PodSpec], labels: Labels, extra: int) -> None:
        name = self._name("g")
        self.cluster.group(name, len(kinds))
        for kind in (*kinds, *kinds[:extra]):
            member = self._name(name + "-")
            self.cluster.pod(member, spec=kind, labels=labels, group=name)

    @precondition(lambda self: self.cluster.hosts)
    @rule(data=st.data(), kind=classes, labels=labels)
    def a_pod_of_somebody_else_runs(
        self, data: st.DataObject, kind: PodSpec, labels: Labels
    ) -> None:
        node = data.draw(st.sampled_from(sorted(self.cluster.hosts)))
        name = self._name("f")
        self.cluster.pod(name, node=node, spec=kind, labels=labels, scheduler="other")

    @precondition(lambda self: self.cluster.pods)
    @rule(
        data=st.data(),
        how=st.sampled_from(["delete", "succeed", "terminate", "relabel", "shrink", "delete"]),
        labels=labels,
        steps=st.integers(0, 1),
    )
    def something_happens_to_a_pod(
        self, data: st.DataObject, how: str, labels: Labels, steps: int
    ) -> None:
        name = data.draw(st.sampled_from(sorted(self.cluster.pods)))
        pod: Pod = self.cluster.pods[name]
        if how == "delete":
            self.cluster.delete(name)
        elif how == "succeed" and pod.node:
            self.cluster.finish(name, Phase.SUCCEEDED)
        elif how == "terminate":
            self.cluster.change(name, deleting=True)
        elif how == "relabel":
            self.cluster.change(name, labels=labels)
        elif how == "shrink":
            self.cluster.change(name, spec=_asking())
        self.it_steps(steps, 2.0)

    @rule(times=st.integers(1, 6), seconds=st.sampled_from([0.0, 2.0]))
    def it_steps(self, times: int, seconds: float) -> None:
        self.cluster.now += seconds
        for _ in range(times):
            self.cluster.step()

    # ── the law ──────────────────────────────────────────────────────────────────────────────

    def teardown(self) -> None:
        """Engines that keep otherwise, or nothing, decide the same on the same events."""
        default = default_profiles()["enbloc"]
        keeps_nothing = Profile(
            default.name, (*default.plugins, KeepsNothing()), default.weights, default.points
        )
        unwatched = replace(self.cluster.settings, validate=False)
        for profile in (default, keeps_nothing):
            engine = Engine({"enbloc": profile}, unwatched)
            assert told_again(self.cluster.engine.told, engine) == self.cluster.effects


StreamMachine.TestCase.settings = examples(
    60,
    stateful_step_count=40,
)
TestStreams = StreamMachine.TestCase
