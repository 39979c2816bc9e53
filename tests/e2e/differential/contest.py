# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One pod given to kube-scheduler and to enbloc in turn, in the same world; how they differ.

Both read pods from one stream in order, so who sees a new pod has seen that the one before it is
gone. Nodes come by another stream: `settle` waits until both have the newest.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from enbloc.kube.client import PatchType
from enbloc.kube.errors import NotFound
from enbloc.kube.paths import NODES, PODS
from enbloc.model.names import SCHEDULER_NAME
from tests.e2e.bare import Bare, Verdict, without_afterwards
from tests.e2e.differential.objects import Cluster
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
    kube: Verdict
    enbloc: Verdict
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
                table[node][plugin] = score
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
    """

    def __init__(self, bare: Bare, kube: Process, owners: Mapping[str, str]) -> None:
        self.owners = owners
        self._bare = bare
        self._kube = kube
        self._read = 0

    async def answer(self, pod: Json, *, kube_first: bool) -> Answer:
        """Give the pod to one, take it away, and give it to the other."""
        verdicts: dict[str, Verdict] = {}
        for scheduler in (KUBE, SCHEDULER_NAME) if kube_first else (SCHEDULER_NAME, KUBE):
            verdicts[scheduler] = await self._ask(pod, scheduler)
        metadata = pod["metadata"]
        scores = self._scores(f"{metadata['namespace']}/{metadata['name']}")
        return Answer(metadata["name"], verdicts[KUBE], verdicts[SCHEDULER_NAME], scores)

    async def _ask(self, pod: Json, scheduler: str) -> Verdict:
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

    def _scores(self, pod: str) -> Scores:
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

    @asynccontextmanager
    async def world(self, cluster: Cluster) -> AsyncGenerator[None]:
        """Have this cluster, as long as the context lasts."""
        *others, last = cluster.nodes
        create = self._bare.create
        try:
            await asyncio.gather(*(create(NODES, node) for node in others))
            await create(NODES, last)
            await self._settle(last["metadata"]["name"])
            await asyncio.gather(
                *(create(PODS, pod, pod["metadata"]["namespace"]) for pod in cluster.pods)
            )
            await asyncio.gather(*(self._terminate(pod) for pod in cluster.pods))
            yield
        finally:
            await asyncio.gather(*(self._let_go(pod) for pod in cluster.pods))
            pods = [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in cluster.pods]
            await self._bare.clear(cluster.names, pods)

    async def _settle(self, node: str) -> None:
        """Wait until both schedulers know this node, by a pod that can go nowhere else."""
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        for scheduler in (KUBE, SCHEDULER_NAME):
            spec = {
                "schedulerName": scheduler,
                "containers": [{"name": "main", "image": "example.com/none"}],
                "affinity": {"nodeAffinity": required},
                "tolerations": [{"operator": "Exists"}],
            }
            uid = await self._bare.create(
                PODS, {"metadata": {"name": "probe"}, "spec": spec}, "default"
            )

            def knows(uid: str = uid) -> bool:
                pod = self._bare.pods.get(uid)
                return pod is not None and pod.spec.node_name == node

            await self._bare.until(knows, f"{scheduler} has put the probe on {node}")
            await self._bare.delete(PODS, "probe", "default")

    async def _terminate(self, pod: Json) -> None:
        if "finalizers" in pod["metadata"]:
            await self._bare.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])

    async def _let_go(self, pod: Json) -> None:
        if "finalizers" in pod["metadata"]:
            body = {"metadata": {"finalizers": None}}
            where = pod["metadata"]["name"], body, pod["metadata"]["namespace"]
            with suppress(NotFound):
                await self._bare.client.patch(PODS, *where, kind=PatchType.MERGE)


@asynccontextmanager
async def opened(bare: Bare, kube: Process) -> AsyncGenerator[Contest]:
    """The contest, once what stands during the whole run is there."""
    owners: dict[str, str] = {}
    kinds = {resource: namespace for namespace, resource in OWNERS.items()}
    for resource, namespace, body in STANDING:
        uid = await bare.create(resource, body, namespace)
        if resource in kinds:
            owners[kinds[resource]] = uid
    kube.start()
    bare.start_enbloc()
    try:
        yield Contest(bare, kube, owners)
    finally:
        kube.stop(0)
