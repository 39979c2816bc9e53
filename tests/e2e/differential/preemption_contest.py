# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One pod for which others may have to give way, given to kube-scheduler and to enbloc in turn.

Nobody's kubelet ends a victim: it is marked, and then made again for the next scheduler.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from enbloc.client.client import PatchType
from enbloc.client.paths import PODS
from enbloc.model.names import SCHEDULER_NAME
from tests.e2e.bare import Bare, PodView, without_afterwards
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.contest import KUBE
from tests.e2e.differential.preemption_cases import BUDGETS
from tests.e2e.differential.stage import Stage
from tests.e2e.differential.vocabulary import Json
from tests.hack.processes import Process

VICTIM: Final = re.compile(
    r'"Pod is a potential preemption victim on node".* pod="[^"]*/(.+?)" node="(.+?)"'
)
WAITING: Final = re.compile(r"preemption: waiting for (?:pods? )?(.+) to leave$")
#: By a name for it, what is said where nobody gives way.
SAID: Final = {
    "may not": "preemptionPolicy=Never",
    "waits": "terminating pod on the nominated node",
    "nobody is lower": "No preemption victims found",
    "those who stay are in the way": "Insufficient",
    "does not help": "Preemption is not helpful",
}
PREEMPTS, BEYOND, EQUAL = "preempts", "beyond a budget", ", one of equals"
GATE: Final = "example.com/nominated"
#: A start time that nothing has yet.
NOT_STARTED: Final = math.inf


@dataclass(frozen=True)
class Verdict:
    """What a scheduler decided about a pod.

    Attributes:
        bound: the node to which it was bound.
        nominated: that for which it is nominated.
        message: of its condition PodScheduled.
        victims: names of the pods that were told to leave.
    """

    bound: str = ""
    nominated: str = ""
    message: str = ""
    victims: frozenset[str] = frozenset()

    @property
    def why(self) -> str:
        """Why no node is feasible."""
        return without_afterwards(self.message)

    @property
    def preemption(self) -> str:
        """What is said of preemption; "" = nothing, or who is waited for."""
        _, found, text = self.message.partition("preemption: ")
        return text if found and not WAITING.search(self.message) else ""


@dataclass(frozen=True)
class Answer:
    """What both said about one pod.

    Attributes:
        candidates: by node, the names of those who would have to leave it, as kube-scheduler found
            them, those who terminate already among them.
    """

    world: Cluster
    pod: Json
    kube: Verdict
    enbloc: Verdict
    candidates: Mapping[str, frozenset[str]]

    @property
    def difference(self) -> str:
        """How enbloc's verdict is not one that kube-scheduler might give; "" if it is."""
        kube, enbloc = self.kube, self.enbloc
        if bool(kube.bound) != bool(enbloc.bound):
            return "one found a node, the other did not"
        if kube.bound:
            return ""  # which one is for another contest
        if kube.why != enbloc.why:
            return "the messages differ"
        return self._in_victims() if self.candidates else self._in_words()

    def _in_words(self) -> str:
        kube, enbloc = self.kube, self.enbloc
        if enbloc.victims:
            return "kube-scheduler preempts nobody"
        if kube.message.endswith(" not found"):
            # Where PreFilter refuses all nodes, its plugin for devices ends PostFilter by an error.
            return ""
        if kube.preemption != enbloc.preemption:
            waits = SAID["waits"] in kube.preemption and WAITING.search(enbloc.message)
            return "" if waits else "what is said of preemption differs"
        return "" if kube.nominated == enbloc.nominated else "the nominated nodes differ"

    def _in_victims(self) -> str:
        node, least = self.enbloc.nominated, min(self.costs.values())
        if self.costs.get(self.kube.nominated) != least:
            return "kube-scheduler's own choice is not understood"
        if node not in self.candidates:
            return "enbloc chose no candidate"
        if self.costs[node] != least:
            return "enbloc chose a node where more would be lost"
        return "" if self.enbloc.victims == self.told(node) else "the victims differ"

    @property
    def kind(self) -> str:
        """What kube-scheduler decided, in a few words."""
        if not self.candidates:
            found = (kind for kind, words in SAID.items() if words in self.kube.preemption)
            return next(found, "nothing")
        costs = list(self.costs.values())
        least = min(costs)
        return (BEYOND if least[0] else PREEMPTS) + (EQUAL if costs.count(least) > 1 else "")

    @property
    def costs(self) -> dict[str, tuple[float, ...]]:
        """By candidate, what kube-scheduler compares.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/preemption/preemption.go
        pickOneNodeForPreemption.
        """
        return {node: self._cost(node, victims) for node, victims in self.candidates.items()}

    def told(self, node: str) -> frozenset[str]:
        """Those of a candidate's victims that do not terminate already."""
        leaving = {pod["metadata"]["name"] for pod in self.world.pods if _leaves(pod)}
        return self.candidates.get(node, frozenset()) - leaving

    def _cost(self, node: str, names: frozenset[str]) -> tuple[float, ...]:
        lower = [
            pod
            for pod in self.world.pods
            if pod["spec"]["nodeName"] == node
            and pod["spec"]["priority"] < self.pod["spec"]["priority"]
            and pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}
        ]
        beyond = _beyond_budgets(lower)
        victims = [pod for pod in lower if pod["metadata"]["name"] in names]
        priorities = [pod["spec"]["priority"] for pod in victims]
        top = max(priorities)
        return (
            len(names & beyond),
            top,
            sum(priority + 2**31 for priority in priorities),
            len(victims),
            -min(_start(pod) for pod in victims if pod["spec"]["priority"] == top),
        )

    def report(self) -> str:
        """All that is needed to understand a difference, with the objects as JSON."""
        lines = [
            f"=== {self.pod['metadata']['name']}: {self.difference}",
            f"kube-scheduler: {self.kube}",
            f"enbloc:         {self.enbloc}",
            *(
                f"  {node}: {sorted(victims)} {self.costs[node]}"
                for node, victims in self.candidates.items()
            ),
            f"pod: {json.dumps(self.pod)}",
            *(f"node: {json.dumps(node)}" for node in self.world.nodes),
            *(f"there: {json.dumps(one)}" for one in self.world.pods),
        ]
        return "\n".join(lines)


@dataclass
class _Budget:
    body: Json
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.body["status"]["disruptionsAllowed"]

    def covers(self, pod: Json) -> bool:
        if pod["metadata"]["name"] in self.body["status"]["disruptedPods"]:
            return False
        selector, labels = self.body["spec"]["selector"] or {}, pod["metadata"]["labels"]
        wanted, expressions = selector.get("matchLabels", {}), selector.get("matchExpressions", ())
        return bool(selector and labels) and (
            all(labels.get(key) == value for key, value in wanted.items())
            and all(
                one["key"] in labels and labels[one["key"]] in one.get("values", labels.values())
                for one in expressions
            )
        )


def _beyond_budgets(pods: list[Json]) -> set[str]:
    """The names of those of some pods that go beyond a budget, the most important counted first."""
    found: set[str] = set()
    for namespace, bodies in BUDGETS.items():
        for budget in map(_Budget, bodies):
            for pod in sorted(pods, key=lambda pod: (-pod["spec"]["priority"], _start(pod))):
                if pod["metadata"]["namespace"] == namespace and budget.covers(pod):
                    budget.left -= 1
                    if budget.left < 0:
                        found.add(pod["metadata"]["name"])
    return found


def _start(pod: Json) -> float:
    text = pod.get("status", {}).get("startTime")
    return NOT_STARTED if text is None else float(text[17:19])


class PreemptionContest:
    """Two schedulers on one API server.

    Args:
        bare: the API server, with enbloc.
        kube: kube-scheduler, whose log names the victims on each candidate.
    """

    def __init__(self, bare: Bare, kube: Process) -> None:
        self._bare, self._kube = bare, kube
        self._stage = Stage(bare, (KUBE, SCHEDULER_NAME))
        self._world = Cluster()
        self._read = 0

    async def become(self, world: Cluster) -> None:
        """The cluster in which they compete from now on."""
        await self._stage.become(Cluster())  # names come again
        await self._stage.become(world)
        self._world = world

    async def answer(self, pod: Json) -> Answer:
        """Give the pod to kube-scheduler, take back what that did, and give it to enbloc."""
        self._new_log()
        view = await self._decided(pod, KUBE)
        candidates: dict[str, set[str]] = {}
        for name, node in VICTIM.findall(self._new_log()):
            candidates.setdefault(node, set()).add(name)
        found = {node: frozenset(names) for node, names in candidates.items()}
        answer = Answer(self._world, pod, Verdict(), Verdict(), found)
        kube = await self._over(pod, view, len(answer.told(view.status.nominated_node_name)))
        view = await self._decided(pod, SCHEDULER_NAME)
        enbloc = await self._over(pod, view, self._least(answer, view))
        return replace(answer, kube=kube, enbloc=enbloc)

    def _least(self, answer: Answer, view: PodView) -> int:
        """How many at least enbloc tells to leave, by its own words."""
        verdict, node = view.verdict(), view.status.nominated_node_name
        named = WAITING.search(verdict.message) if verdict is not None else None
        if named is None:
            return 0
        told, number = len(answer.told(node)), _count(named[1])
        if number == len(answer.candidates.get(node, ())):
            return told
        leaving = [each for each in self._world.pods if _leaves(each)]
        return max(0, number - sum(each["spec"]["nodeName"] == node for each in leaving))

    async def _decided(self, pod: Json, scheduler: str) -> PodView:
        """Create the pod for a scheduler; the pod once it has decided."""
        gates = {"schedulingGates": [{"name": GATE}]} if "status" in pod else {}
        body = {
            "metadata": pod["metadata"],
            "spec": {**pod["spec"], "schedulerName": scheduler, **gates},
        }
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        uid = await self._bare.create(PODS, body, namespace)
        if gates:
            merge, patch = PatchType.MERGE, self._bare.client.patch
            status = {"status": pod["status"]}
            await patch(PODS, name, status, namespace, kind=merge, subresource="status")
            await patch(PODS, name, {"spec": {"schedulingGates": []}}, namespace, kind=merge)
        try:
            await self._bare.verdict(uid)
        except AssertionError as late:
            self._kube.check()
            raise AssertionError(f"{scheduler} says nothing of {json.dumps(pod)}") from late
        return self._bare.pods[uid]

    async def _over(self, pod: Json, view: PodView, victims: int) -> Verdict:
        """What was decided, once so many are told to leave; then all is as it was."""
        verdict = view.verdict()
        assert verdict is not None
        before = {each["metadata"]["name"] for each in self._world.pods if _leaves(each)}

        def told() -> frozenset[str]:
            return frozenset(
                each.metadata.name
                for each in self._bare.pods.values()
                if each.metadata.deletion_timestamp
                and each.preempted()
                and each.metadata.name not in before
            )

        await self._bare.until(lambda: len(told()) >= victims, f"{victims} victims for {verdict}")
        found = Verdict(verdict.node, view.status.nominated_node_name, verdict.message, told())
        metadata = pod["metadata"]
        await self._bare.delete(PODS, metadata["name"], metadata["namespace"])
        await self._stage.remake(found.victims)
        return found

    def _new_log(self) -> str:
        """What kube-scheduler has logged since the last time."""
        with self._kube.log.open("rb") as log:
            log.seek(self._read)
            text = log.read().decode()
            self._read = log.tell()
        return text


def _leaves(pod: Json) -> bool:
    return "finalizers" in pod["metadata"]


def _count(named: str) -> int:
    """How many pods are named: "a", "a, b" or "5 pods (a, b, c and 2 more)"."""
    number = re.match(r"\d+(?= pods)", named)
    return int(number[0]) if number else named.count(",") + 1
