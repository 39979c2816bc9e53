# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if says what happens: the same objects are really created, and the scheduler runs."""

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.pods import Owner, PodUID
from enbloc.simulation import SimulatedCluster, WhatIfAnswer, answer, more_nodes, without_nodes
from tests.effort import examples
from tests.simulation.asking import CLASSES, OWNER, present, told
from tests.world.builders import spec
from tests.world.cluster import Cluster

#: As long as the simulation looks ahead.
SECONDS = 30.0
PRIORITIES = {"": 0, **{name: each.value for name, each in CLASSES.items()}}


@dataclass(frozen=True)
class Wanted:
    """What is created: `pods` of a gang, or a Deployment's where `minimum` is 0."""

    pods: int
    minimum: int
    cpu: int
    priority: str

    @property
    def manifest(self) -> str:
        annotations = f'{{enbloc.dev/pod-group: new, enbloc.dev/min-member: "{self.minimum}"}}'
        kind = "apps/v1\nkind: Deployment" if not self.minimum else "batch/v1\nkind: Job"
        number = "replicas" if not self.minimum else "parallelism"
        return f"""
apiVersion: {kind}
metadata: {{name: new}}
spec:
  {number}: {self.pods}
  template:
    metadata: {{annotations: {annotations if self.minimum else "{}"}}}
    spec:
      schedulerName: enbloc
      {f"priorityClassName: {self.priority}" if self.priority else "hostNetwork: false"}
      containers: [{{name: c, resources: {{requests: {{cpu: {self.cpu}}}}}}}]
"""

    def create(self, cluster: Cluster) -> None:
        """As its controller, and ours, would."""
        owner = ("Job", "new") if self.minimum else ("ReplicaSet", "new-new")
        of: dict[str, Any] = {
            "spec": spec(cpu=self.cpu),
            "priority": PRIORITIES[self.priority],
            "priority_class": self.priority,
            "owner": Owner(*owner, "new-uid", "batch/v1"),
        }
        if self.minimum:
            cluster.gang("new", self.pods, self.minimum, **of)
        else:
            for index in range(self.pods):
                cluster.pod(f"new-{index}", **of)


@st.composite
def wanted(draw: st.DrawFn) -> Wanted:
    pods = draw(st.integers(1, 6))
    minimum = draw(st.sampled_from([0, 1, pods, pods]))
    return Wanted(pods, minimum, draw(st.integers(1, 8)), draw(st.sampled_from([*PRIORITIES])))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Nodes of two shapes, of which some are taken, and gangs that wait."""
    cluster = Cluster()
    names = [f"small-{n}" for n in range(draw(st.integers(0, 2)))]
    cluster.nodes(" ".join(names), cpu=4)
    large = [f"large-{n}" for n in range(draw(st.integers(1, 3)))]
    cluster.nodes(" ".join(large), cpu=8)
    free = {**dict.fromkeys(names, 4), **dict.fromkeys(large, 8)}
    for at in range(draw(st.integers(0, 4))):
        cpu, size = draw(st.integers(1, 8)), draw(st.integers(1, 3))
        priority = draw(st.sampled_from([0, 0, 500]))
        nodes: list[str] = []
        for node in sorted(free):
            while free[node] >= cpu and len(nodes) < size:
                free[node] -= cpu
                nodes.append(node)
        cluster.group(f"runs-{at}", max(1, len(nodes)))
        for index, node in enumerate(nodes):
            cluster.pod(
                f"runs-{at}-{index}",
                f"runs-{at}",
                node=node,
                spec=spec(cpu=cpu),
                priority=priority,
                owner=OWNER,
            )
    cluster.now += 10
    for at in range(draw(st.integers(0, 3))):
        size = draw(st.integers(1, 4))
        cluster.gang(
            f"waits-{at}",
            size,
            draw(st.integers(1, size)),
            spec=spec(cpu=draw(st.integers(1, 6))),
            priority=draw(st.sampled_from([0, 500])),
            owner=OWNER,
        )
    cluster.now += 10
    return cluster


def settled(cluster: Cluster, change: Callable[[Cluster], None] | None = None) -> Cluster:
    """What becomes of a cluster, with this done before."""
    other = cluster.restarted()
    if change is not None:
        change(other)
    other.settle(seconds=SECONDS)
    return other


@examples(150)
@given(clusters(), wanted())
def test_the_answer_is_what_happens_when_the_objects_are_created(
    cluster: Cluster, new: Wanted
) -> None:
    found = told(present(cluster), new.manifest)
    without, with_it = settled(cluster), settled(cluster, new.create)
    on = with_it.where("new-")
    shapes = Counter(cluster.hosts[node].allocatable for node in on.values())
    placed = [node for row in found.asked for node in row.placed.values()]
    assert Counter(cluster.hosts[node].allocatable for node in placed) == shapes
    started = bool(on) if new.minimum else len(on) == new.pods
    assert found.starts == started

    same_as(found, without, with_it, set(on))


def same_as(
    answer: WhatIfAnswer, without: Cluster, with_it: Cluster, new: AbstractSet[str]
) -> None:
    """The answer names those who fare otherwise with the change."""
    there, then = without.where(), with_it.where()
    victims = {each.pod.name for each in with_it.evicted} & there.keys()
    assert {each.pod.name for each in answer.evicted} == victims
    lost = {pod.key.name for each in answer.delayed for pod in each.pods}
    assert lost == there.keys() - then.keys() - victims
    gained = {pod.key.name for each in answer.gained for pod in each.pods}
    assert gained == then.keys() - there.keys() - new


@examples(150)
@given(clusters(), st.data())
def test_the_answer_is_what_happens_when_nodes_go_and_come(
    cluster: Cluster, data: st.DataObject
) -> None:
    names = sorted(cluster.hosts)
    gone = data.draw(st.sampled_from([None, *names]))
    like, more = data.draw(st.sampled_from(names)), data.draw(st.integers(0, 2))

    def change(other: Cluster) -> None:
        for each in range(more):
            other.put_node(replace(cluster.hosts[like], name=f"{like}-more-{each}", uid=str(each)))
        if gone is not None:
            other.drop_node(gone)
            for name, pod in list(other.pods.items()):
                if pod.node == gone:
                    other.delete(name)
                    again = replace(pod, node="", uid=PodUID(f"{pod.uid}-2"), created=other.now)
                    other.put_pod(again)

    found = present(cluster)
    state = SimulatedCluster(found)
    question = more_nodes(state, more, like)
    if gone is not None:
        question = question.plus(without_nodes(state, [gone]))
    answered = answer(found, question)
    same_as(answered, settled(cluster), settled(cluster, change), set())
