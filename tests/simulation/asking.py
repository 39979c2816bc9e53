# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of what-if share: the present of a cluster, and questions about manifests."""

from collections.abc import Iterable
from textwrap import dedent

from enbloc.controller.sources.at_once import KINDS
from enbloc.controller.submission import Submission, SubmissionContext, submission
from enbloc.engine.events import NamespaceSeen
from enbloc.model.pods import Owner, Pod
from enbloc.simulation import (
    PresentState,
    SimulatedCluster,
    WhatIfAnswer,
    WhatIfQuestion,
    answer,
    created,
)
from enbloc.workloads import Admission, PriorityClass, expand, manifests
from tests.simulation.present import present as as_read
from tests.world.cluster import Cluster

NAMESPACE = "ns"
CLASSES = {"high": PriorityClass(1000), "middle": PriorityClass(500)}
#: What makes the pods of tests, which are made again where they go.
OWNER = Owner("ReplicaSet", "rs", "rs-uid", "apps/v1")


def present(cluster: Cluster, labels: dict[str, str] | None = None) -> PresentState:
    """A cluster as a command would read it; the namespace has these labels."""
    namespace = NamespaceSeen(NAMESPACE, tuple(sorted((labels or {}).items())))
    classes = {name: each.value for name, each in CLASSES.items()}
    return as_read(cluster, classes, namespace)


def submitted(found: PresentState, text: str) -> Submission:
    """What the scheduler would see of a file."""
    cluster = SimulatedCluster(found)
    expansion = expand(manifests("file", dedent(text).encode()), KINDS, NAMESPACE)
    labels = {e.name: e.labels for e in found.events if isinstance(e, NamespaceSeen)}
    known = SubmissionContext(
        schedulers=tuple(found.profiles),
        pods=tuple(cluster.pods.values()),
        groups=cluster.groups,
        facts=cluster.facts,
        namespaces=labels,
        admission=Admission(CLASSES),
        now=found.now,
    )
    return submission(expansion, known)


def asking(found: PresentState, text: str) -> WhatIfQuestion:
    """What would happen if a file was created."""
    made, cluster = submitted(found, text), SimulatedCluster(found)
    objects: dict[str, dict[int, list[Pod]]] = {}
    for each in made.pods:
        objects.setdefault(each.of, {}).setdefault(each.wave, []).append(each.pod)
    waves = [[waves[wave] for wave in sorted(waves)] for waves in objects.values()]
    return created(cluster, made.first, waves, made.replaced)


def told(found: PresentState, text: str) -> WhatIfAnswer:
    """The answer to that."""
    return answer(found, asking(found, text))


def names(pods: Iterable[Pod]) -> list[str]:
    """Of pods."""
    return [pod.key.name for pod in pods]


def job(name: str, pods: int, cpu: int = 1, priority: str = "", minimum: int | None = None) -> str:
    """A Job whose pods declare their group; its minimum is all of them unless it says otherwise."""
    least = pods if minimum is None else minimum
    return f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: {name}}}
        spec:
          parallelism: {pods}
          template:
            metadata:
              annotations: {{enbloc.dev/pod-group: {name}, enbloc.dev/min-member: "{least}"}}
            spec:
              schedulerName: enbloc
              {f"priorityClassName: {priority}" if priority else ""}
              containers: [{{name: main, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]
        """
