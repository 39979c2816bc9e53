# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""enbloc gives kube-scheduler's verdicts: random pods on random clusters, given to both.

A real kube-scheduler with its default profile and enbloc serve two scheduler names on one real
API server. For each case both must come to the same verdict, with the same message up to
` preemption:`, and enbloc's node must be one that has kube-scheduler's highest final score.

Cases are named `case-<seed>-<index>`; the same seed always makes the same cluster and pods. To try
many, and to see once more the cases of one cluster (17) that differed:

    ENBLOC_DIFFERENTIAL_CASES=5000 .venv/bin/python -m pytest -s tests/e2e/differential
    ENBLOC_DIFFERENTIAL_CASES=10 ENBLOC_DIFFERENTIAL_SEED=17 .venv/bin/python -m pytest …

Left out, because the schedulers differ on purpose or by their nature: images (kube-scheduler's
scores depend on the order in which it saw the nodes), empty label selectors of spread constraints,
and namespace selectors of a waiting pod that match a namespace without labels (see `terms`).
"""

import os
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest

from tests.e2e import bare
from tests.e2e.differential import clusters, contest, pods
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.contest import Answer, Contest
from tests.e2e.differential.vocabulary import Json
from tests.e2e.targets import ControlPlaneTarget

CASES: Final = int(os.environ.get("ENBLOC_DIFFERENTIAL_CASES", "300"))
SEED: Final = int(os.environ.get("ENBLOC_DIFFERENTIAL_SEED", "1"))
#: What happens to a cluster before each of its cases, and which pod is to be placed then. Some
#: come again when only pods have changed: what a scheduler has kept of them must have followed.
#: In between enbloc has as few changes as can be (it is asked last, then first), for after many
#: it would keep nothing.
PROGRAMME: Final = (
    *(("", 0), ("pods", 0), ("pods", 1), ("pods", 1), ("", 2)),
    *(("nodes", 3), ("pods", 4), ("pods", 4), ("pods", 5), ("pods", 5)),
)
#: A run that differs more often than this has one cause: no need to see the rest.
ENOUGH: Final = 10
#: From how many cases on the variety of a run is judged.
VARIED: Final = 300

#: What pods are refused for, each of which a run must have seen.
REASONS: Final = (
    "were unschedulable",
    "had untolerated taint(s)",
    "didn't match Pod's node affinity/selector",
    "pod affinity terms conflict",
    "didn't satisfy plugin(s) [NodeAffinity]",
    "didn't have free ports for the requested pod ports",
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
    "Insufficient example.com/gpu",
    "Insufficient hugepages-2Mi",
    "didn't match pod topology spread constraints",
    "(missing required label)",
    "didn't match pod affinity rules",
    "didn't match pod anti-affinity rules",
    "didn't satisfy existing pods anti-affinity rules",
    "didn't match Pod's required features",
)
#: What decides between nodes; images do not, as clusters here have none.
SCORERS: Final = {
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
}


@pytest.fixture
async def contestants(bare_target: ControlPlaneTarget, tmp_path: Path) -> AsyncGenerator[Contest]:
    async with bare.opened(bare_target, tmp_path) as cluster, contest.opened(cluster) as both:
        yield both


class Tally:
    """What a run has seen."""

    def __init__(self) -> None:
        self.cases = 0
        self.refused = 0
        self.several = 0
        self.reasons: Counter[str] = Counter()
        self.decisive: Counter[str] = Counter()

    def add(self, answer: Answer) -> None:
        """Count one case."""
        self.cases += 1
        self.refused += not answer.kube.node
        self.several += bool(answer.scores.total)
        self.reasons.update(each for each in REASONS if each in answer.kube.message)
        self.decisive.update(answer.scores.decisive)

    def check_variety(self) -> None:
        """Raise if the cases are too much alike to prove anything."""
        assert 0.25 < self.refused / self.cases < 0.75, self
        assert self.several > self.cases / 5, self
        assert set(self.reasons) == set(REASONS), self
        assert all(self.decisive[name] > self.cases / 60 for name in SCORERS), self

    def __str__(self) -> str:
        return (
            f"{self.cases} cases, {self.refused} refused, {self.several} with several nodes; "
            f"{dict(self.reasons)}; {dict(self.decisive)}"
        )

    __repr__ = __str__


@pytest.mark.controlplane
async def test_enbloc_gives_the_verdicts_of_kube_scheduler(contestants: Contest) -> None:
    tally = Tally()
    differences: list[str] = []
    began = time.monotonic()
    for seed in range(SEED, SEED + -(-CASES // len(PROGRAMME))):
        async for world, pod, answer in cases(seed, contestants):
            tally.add(answer)
            if answer.difference:
                differences.append(answer.report(world, pod))
        if len(differences) >= ENOUGH:
            break
    print(f"{time.monotonic() - began:.1f} s: {tally}; {len(differences)} differ")
    assert not differences, "\n\n".join(differences)
    if tally.cases >= VARIED:
        tally.check_variety()


async def cases(seed: int, both: Contest) -> AsyncGenerator[tuple[Cluster, Json, Answer]]:
    """The cases of one cluster, in which objects change on the way."""
    world = clusters.cluster(str(seed), both.owners)
    await both.stage.become(world)
    for index, (happens, number) in enumerate(PROGRAMME):
        if happens == "nodes":
            world = clusters.other_nodes(f"{seed}-{index}", world)
        if happens:
            world = clusters.other_pods(f"{seed}-{index}", world, both.owners)
            await both.stage.become(world)
        pod = pods.pod(f"{seed}-{number}", world.names, both.owners)
        pod["metadata"]["name"] = f"case-{seed}-{index}"
        yield world, pod, await both.answer(pod, kube_first=index % 2 == 0)
