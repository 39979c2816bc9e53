# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One pod given to kube-scheduler and to enbloc in turn, in the same cluster; how they differ."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from enbloc.client.paths import PODS
from enbloc.model.names import SCHEDULER_NAME
from tests.controlplane import SCHEDULER
from tests.e2e.bare import Bare, PlanResult, without_afterwards
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.stage import Stage
from tests.e2e.differential.vocabulary import OWNERS, STANDING, Json
from tests.hack.processes import Process

KUBE: Final = "default-scheduler"
SCORE: Final = re.compile(
    r'"Plugin scored node for pod" pod="(.+?)" plugin="(.+?)" node="(.+?)" score=(-?\d+)'
    r"|\"Calculated node's final score for pod\" pod=\"(.+?)\" node=\"(.+?)\" score=(-?\d+)"
)


@dataclass
class Scores:
    """What kube-scheduler gave each node, in total and by plugin; nothing for a single node."""

    total: dict[str, int] = field(default_factory=dict)
    plugins: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def decisive(self) -> set[str]:
        """The plugins whose scores of the nodes differ."""
        return {name for name, scores in self.plugins.items() if len(set(scores.values())) > 1}


@dataclass(frozen=True)
class Answer:
    """What both said about one pod."""

    name: str
    kube: PlanResult
    enbloc: PlanResult
    scores: Scores

    @property
    def difference(self) -> str:
        """How enbloc's verdict is not one that kube-scheduler might give; "" if it is."""
        if bool(self.kube.node) != bool(self.enbloc.node):
            return "one found a node, the other did not"
        if not self.kube.node:
            theirs, ours = map(without_afterwards, (self.kube.message, self.enbloc.message))
            return "" if theirs == ours else "the messages differ"
        if not self.scores.total:
            return "" if self.kube.node == self.enbloc.node else "only one node is feasible"
        best = max(self.scores.total.values())
        if self.enbloc.node not in self.scores.total:
            return "enbloc chose a node that kube-scheduler filtered out"
        if self.scores.total[self.enbloc.node] < best:
            return "enbloc chose a node whose score is not the highest"
        return ""

    def report(self, world: Cluster, pod: Json) -> str:
        """All that is needed to understand a difference, with the objects as JSON."""
        table = {node: {"total": total} for node, total in self.scores.total.items()}
        for plugin, scores in self.scores.plugins.items():
            for node, score in scores.items():
                table.setdefault(node, {})[plugin] = score
        lines = [
            f"=== {self.name}: {self.difference}",
            f"kube-scheduler: {self.kube}",
            f"enbloc:         {self.enbloc}",
            *(f"  {node}: {scores}" for node, scores in table.items()),
            f"pod: {json.dumps(pod)}",
            *(f"node: {json.dumps(node)}" for node in world.nodes),
            *(f"there: {json.dumps(one)}" for one in world.pods),
        ]
        return "\n".join(lines)


class Contest:
    """Two schedulers on one API server.

    Args:
        bare: the API server, with enbloc.
        kube: kube-scheduler, whose log has the scores.
        owners: the UID of the object that owns pods, by namespace.

    Attributes:
        stage: makes the cluster in which they compete.
    """

    def __init__(self, bare: Bare, kube: Process, owners: Mapping[str, str]) -> None:
        self.owners = owners
        self.stage = Stage(bare, (KUBE, SCHEDULER_NAME))
        self._bare = bare
        self._kube = kube
        self._read = 0

    async def answer(self, pod: Json, *, kube_first: bool) -> Answer:
        """Give the pod to one, take it away, and give it to the other."""
        verdicts: dict[str, PlanResult] = {}
        for scheduler in (KUBE, SCHEDULER_NAME) if kube_first else (SCHEDULER_NAME, KUBE):
            verdicts[scheduler] = await self._ask(pod, scheduler)
        metadata = pod["metadata"]
        scores = self.scores(f"{metadata['namespace']}/{metadata['name']}")
        return Answer(metadata["name"], verdicts[KUBE], verdicts[SCHEDULER_NAME], scores)

    async def _ask(self, pod: Json, scheduler: str) -> PlanResult:
        body = {**pod, "spec": {**pod["spec"], "schedulerName": scheduler}}
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        uid = await self._bare.create(PODS, body, namespace)
        try:
            return await self._bare.verdict(uid)
        except AssertionError as late:
            self._kube.check()
            raise AssertionError(f"{scheduler} says nothing of {json.dumps(pod)}") from late
        finally:
            await self._bare.delete(PODS, name, namespace)

    def scores(self, pod: str) -> Scores:
        """What kube-scheduler has logged about this pod since the last time."""
        with self._kube.log.open("rb") as log:
            log.seek(self._read)
            text = log.read().decode()
            self._read = log.tell()
        scores = Scores()
        for found in SCORE.finditer(text):
            plugin_pod, plugin, plugin_node, score, total_pod, node, total = found.groups()
            if plugin_pod == pod:
                scores.plugins.setdefault(plugin, {})[plugin_node] = int(score)
            elif total_pod == pod:
                scores.total[node] = int(total)
        return scores


async def furnished(bare: Bare) -> dict[str, str]:
    """Make what stands during the whole run; the UID of the object that owns pods, by namespace."""
    owners: dict[str, str] = {}
    kinds = {resource: namespace for namespace, resource in OWNERS.items()}
    for resource, namespace, body in STANDING:
        uid = await bare.create(resource, body, namespace)
        if resource in kinds:
            owners[kinds[resource]] = uid
    return owners


def kube_scheduler(bare: Bare, verbose: str) -> Process:
    """A kube-scheduler with its default profile, not started yet.

    Args:
        bare: the API server.
        verbose: which files of its source log how much, as in "schedule_one=10".
    """
    cp = bare.target.cp
    command = [
        str(cp.bin(SCHEDULER)),
        f"--kubeconfig={cp.kubeconfig_for_user(f'system:{SCHEDULER}')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        f"--vmodule={verbose}",
    ]
    return Process(SCHEDULER, command, bare.path / f"{SCHEDULER}.log")


@asynccontextmanager
async def opened(bare: Bare) -> AsyncGenerator[Contest]:
    """The contest, once what stands during the whole run is there."""
    owners = await furnished(bare)
    kube = kube_scheduler(bare, "schedule_one=10")
    kube.start()
    bare.start_enbloc()
    contest = Contest(bare, kube, owners)
    try:
        yield contest
        await contest.stage.become(Cluster())
    finally:
        kube.stop(0)
