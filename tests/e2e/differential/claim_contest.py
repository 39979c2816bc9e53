# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods with claims, given to kube-scheduler and to enbloc in turn, each with objects of its own.

A scheduler changes the claims that it decides about, so what one has used is taken away before the
other is asked. Several streams tell of claims and volumes: a pod waits behind a scheduling gate
until its objects are as the controllers leave them, and no watch has shown a change for a while.
That is a matter of time, so a difference counts only when it shows again after a longer while.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from enbloc.kube.client import PatchType
from enbloc.kube.errors import AlreadyExists, NotFound
from enbloc.kube.paths import PODS
from enbloc.model.names import SCHEDULER_NAME
from tests.e2e.bare import Bare, PlanResult
from tests.e2e.differential import sights
from tests.e2e.differential.claim_cases import Case, Maker, nodes
from tests.e2e.differential.claim_objects import (
    CAPACITIES,
    CLAIMS,
    CSI_NODES,
    NAMESPACE,
    RESOURCE_CLAIMS,
    SLICES,
    STANDING_CLAIMS,
    TEMPLATES,
    VOLUMES,
    Made,
)
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.contest import KUBE, Answer, Contest
from tests.e2e.differential.sights import Sights
from tests.e2e.differential.vocabulary import Json
from tests.hack.processes import Process

#: For how long nothing may have changed before a scheduler is asked (seconds), first and before a
#: difference counts.
PAUSES: Final = (0.05, 2.0)
#: What no scheduler changes is the same for both.
UNCHANGED: Final = (SLICES, CSI_NODES, CAPACITIES)
WATCHED: Final = (PODS, VOLUMES, CLAIMS, RESOURCE_CLAIMS, TEMPLATES, *UNCHANGED)
GATE: Final = "example.com/not-yet"
BLOCKED: Final = "Scheduling is blocked"
GENERATED: Final = re.compile(r"(case-[0-9-]+-r[0-9])-[a-z0-9]{5}")
#: How a message begins when a plugin's error on a node, whichever came first, ended the attempt.
ERROR: Final = 'running "'
SELECTED: Final = "volume.kubernetes.io/selected-node"
#: How long controllers may take (seconds).
CONTROLLERS: Final = 20.0


class Silent(AssertionError):
    """A scheduler, or a controller, has not done in time what was waited for."""


@dataclass(frozen=True)
class ClaimAnswer:
    """What both said about a pod, and which devices each chose."""

    answer: Answer
    case: Case
    kube_devices: tuple[str, ...]
    enbloc_devices: tuple[str, ...]

    @property
    def difference(self) -> str:
        """How enbloc's answer is not one that kube-scheduler might give; "" if it is."""
        found = self.answer.difference
        if self.is_error:
            return ""
        if found or not self.same_node or self.kube_devices == self.enbloc_devices:
            return found
        return "the devices differ"

    @property
    def is_error(self) -> bool:
        """Whether an error on one node ended kube-scheduler's attempt; enbloc goes on to others."""
        return self.answer.kube.message.startswith(ERROR)

    @property
    def same_node(self) -> bool:
        """Whether both have found the same node."""
        return bool(self.answer.kube.node) and self.answer.kube.node == self.answer.enbloc.node

    def report(self, world: Cluster) -> str:
        """All that is needed to understand the difference."""
        lines = [
            f"=== {self.answer.name}: {self.difference}",
            f"kube-scheduler: {self.answer.kube} {self.kube_devices}",
            f"enbloc:         {self.answer.enbloc} {self.enbloc_devices}",
            f"  {self.answer.scores.total}",
            f"pod: {json.dumps(self.case.pod)}",
            *(f"{one.resource.kind}: {json.dumps(one.body)}" for one in self.case.objects),
            *(f"node: {json.dumps(node)}" for node in world.nodes),
        ]
        return "\n".join(lines)


class ClaimContest:
    """The contest of two schedulers over claims.

    Attributes:
        again: how many cases were asked once more, since the first answers differed or failed.
    """

    def __init__(self, bare: Bare, sights: Sights, contest: Contest, controllers: Process) -> None:
        self.again = 0
        self._bare = bare
        self._sights = sights
        self._contest = contest
        self._controllers = controllers
        self._asked = 0

    async def become(self, seed: str) -> Cluster:
        """Change the nodes into those of this seed."""
        world = Cluster(nodes(seed))
        await self._contest.stage.become(world)
        return world

    async def answer(self, seed: str, maker: Maker, names: Sequence[str]) -> ClaimAnswer:
        """Ask both; once more, and slower, when they differ or one says nothing.

        kube-scheduler says nothing of a pod whose ResourceClaims it has not seen yet.
        """
        with suppress(Silent):
            found = await self._both(seed, maker, names, PAUSES[0])
            if not found.difference:
                return found
        self.again += 1
        return await self._both(seed, maker, names, PAUSES[1])

    async def _both(
        self, seed: str, maker: Maker, names: Sequence[str], pause: float
    ) -> ClaimAnswer:
        verdicts: dict[str, PlanResult] = {}
        devices: dict[str, tuple[str, ...]] = {}
        pods: dict[str, str] = {}
        case = maker(seed, seed, names)
        common = [one for one in case.objects if one.resource in UNCHANGED]
        order = (KUBE, SCHEDULER_NAME)
        try:
            await asyncio.gather(*(self._make(one) for one in common))
            for scheduler in order if seed[-1] in "02468" else reversed(order):
                self._asked += 1
                tag = f"t{self._asked}"
                mine = maker(seed, tag, names)
                pods[scheduler] = f"{NAMESPACE}/{mine.pod['metadata']['name']}"
                verdict, chosen = await self._ask(mine, scheduler, pause)
                # Names differ by their tags, and what the controllers append.
                message = GENERATED.sub(r"\1", verdict.message.replace(tag, seed))
                verdicts[scheduler] = replace(verdict, message=message)
                devices[scheduler] = chosen
        finally:
            await asyncio.gather(*(self._remove(one) for one in common))
        scores = self._contest.scores(pods[KUBE])
        name = case.pod["metadata"]["name"]
        answer = Answer(name, verdicts[KUBE], verdicts[SCHEDULER_NAME], scores)
        return ClaimAnswer(answer, case, devices[KUBE], devices[SCHEDULER_NAME])

    async def _ask(
        self, case: Case, scheduler: str, pause: float
    ) -> tuple[PlanResult, tuple[str, ...]]:
        spec = {**case.pod["spec"], "schedulerName": scheduler, "schedulingGates": [{"name": GATE}]}
        pod = Made(PODS, {**case.pod, "spec": spec})
        made = [one for one in case.objects if one.resource not in UNCHANGED]
        try:
            # A controller binds claims in the order in which they come.
            claims = [one for one in made if one.resource == CLAIMS]
            await asyncio.gather(*(self._make(one) for one in made if one not in claims))
            for one in [*claims, pod]:
                await self._make(one)
            await self._settled(case)
            await self._sights.quiet(pause)
            await self._patch(pod, {"spec": {"schedulingGates": None}})
            verdict = await self._verdict(pod, case, scheduler)
            return verdict, await self._chosen(pod)
        except TimeoutError as late:
            self._controllers.check()
            said = json.dumps([case.pod, *(one.body for one in case.objects)])
            raise Silent(f"{scheduler} says nothing of {said}") from late
        finally:
            await self._take_away(pod, made)

    async def _make(self, one: Made) -> None:
        body = {key: value for key, value in one.body.items() if key != "status"}
        await self._bare.create(one.resource, body, one.namespace)
        if "status" in one.body:
            await self._patch(one, {"status": one.body["status"]}, "status")

    async def _settled(self, case: Case) -> None:
        """Wait until the controllers have done all that they will do before a node is chosen."""
        find = self._sights.find
        volumes = [one.name for one in case.objects if one.resource == VOLUMES]
        name = case.pod["metadata"]["name"]
        ephemeral = _ephemeral_claims(case.pod)
        templates = sum(
            "resourceClaimTemplateName" in one for one in case.pod["spec"].get("resourceClaims", ())
        )

        def settled() -> bool:
            pod = find(PODS, name)
            return (
                all((it := find(VOLUMES, one)) and it.phase != "Pending" for one in volumes)
                and all((it := find(CLAIMS, one)) and it.phase == "Bound" for one in case.bound)
                and all(find(CLAIMS, one) for one in ephemeral)
                and pod is not None
                and len(pod.status.get("resourceClaimStatuses", ())) >= templates
            )

        await self._sights.until(settled, CONTROLLERS)

    async def _verdict(self, pod: Made, case: Case, scheduler: str) -> PlanResult:
        """The node, as soon as a claim names it: nobody here makes volumes.

        kube-scheduler names it in the pod before it begins to wait for volumes, a second at least.
        """
        find = self._sights.find
        claims = _claim_names(case.pod)

        def said() -> PlanResult | None:
            found = find(PODS, pod.name)
            if found is None:
                return None
            if node := found.spec.get("nodeName"):
                return PlanResult(node=node)
            for one in claims:
                claim = find(CLAIMS, one)
                if claim and SELECTED in claim.metadata.annotations:
                    return PlanResult(node=claim.metadata.annotations[SELECTED])
            for one in found.status.get("conditions", ()):
                message = str(one.get("message", ""))
                unplaced = (one["type"], one["status"]) == ("PodScheduled", "False")
                if unplaced and message and not message.startswith(BLOCKED):
                    return PlanResult(message=message)
            node = found.status.get("nominatedNodeName")
            if scheduler == KUBE and claims and node:
                return PlanResult(node=node)
            return None

        verdict: PlanResult = await self._sights.until(said)
        found = await self._read(pod)
        if found["spec"].get("nodeName"):
            await self._must_be_met(found, claims)
        return verdict

    async def _must_be_met(self, pod: Json, volume_claims: Sequence[str]) -> None:
        """Raise where a pod was bound before its claims: a kubelet would not start it."""
        for name in volume_claims:
            claim = await self._read(Made(CLAIMS, {"metadata": {"name": name}}))
            assert claim["spec"].get("volumeName"), f"bound before its claim {name}"
        for name in _device_claims(pod):
            claim = await self._read(Made(RESOURCE_CLAIMS, {"metadata": {"name": name}}))
            users = [one["uid"] for one in claim.get("status", {}).get("reservedFor", ())]
            assert pod["metadata"]["uid"] in users, f"bound before its claim {name} was reserved"

    async def _chosen(self, pod: Made) -> tuple[str, ...]:
        """The devices that the pod's claims have got."""
        found: list[str] = []
        for name in _device_claims(await self._read(pod)):
            with suppress(NotFound):
                claim = await self._read(Made(RESOURCE_CLAIMS, {"metadata": {"name": name}}))
                allocation = claim.get("status", {}).get("allocation", {})
                found += [
                    f"{one['request']}={one['pool']}/{one['device']}"
                    for one in allocation.get("devices", {}).get("results", ())
                ]
        return tuple(sorted(found))

    async def _take_away(self, pod: Made, made: Sequence[Made]) -> None:
        """Delete the pod, what was made for it, and then what it wanted."""
        generated: list[Made] = []
        with suppress(NotFound):
            found = await self._read(pod)
            generated = [
                Made(RESOURCE_CLAIMS, {"metadata": {"name": one["resourceClaimName"]}})
                for one in found["status"].get("resourceClaimStatuses", ())
                if "resourceClaimName" in one
            ]
        own = [Made(CLAIMS, {"metadata": {"name": name}}) for name in _ephemeral_claims(pod.body)]
        await self._remove(pod)
        gone = {(one.resource, one.name): one for one in [*made, *generated, *own]}
        await asyncio.gather(*(self._remove(one) for one in gone.values()))
        find = self._sights.find
        await self._sights.until(lambda: not any(find(*one) for one in gone))

    async def _remove(self, one: Made) -> None:
        """Delete an object, with what stands in the way of it."""
        await self._bare.delete(one.resource, one.name, one.namespace)
        if one.resource in (VOLUMES, CLAIMS, RESOURCE_CLAIMS):
            with suppress(NotFound):
                await self._patch(one, {"metadata": {"finalizers": None}})

    async def _read(self, one: Made) -> dict[str, Any]:
        return await self._bare.client.get(one.resource, one.name, one.namespace)

    async def _patch(self, one: Made, patch: Any, subresource: str = "") -> None:
        where = one.resource, one.name, patch, one.namespace
        await self._bare.client.patch(*where, kind=PatchType.MERGE, subresource=subresource)


def _device_claims(pod: dict[str, Any]) -> list[str]:
    """The names of a pod's ResourceClaims, those made for it among them."""
    asked = [
        *pod["spec"].get("resourceClaims", ()),
        *pod["status"].get("resourceClaimStatuses", ()),
    ]
    return [one["resourceClaimName"] for one in asked if one.get("resourceClaimName")]


def _ephemeral_claims(pod: Json) -> list[str]:
    name = pod["metadata"]["name"]
    return [f"{name}-{one['name']}" for one in pod["spec"].get("volumes", ()) if "ephemeral" in one]


def _claim_names(pod: Json) -> list[str]:
    """The names of a pod's PersistentVolumeClaims."""
    sources = [one.get("persistentVolumeClaim") for one in pod["spec"].get("volumes", ())]
    return [*(one["claimName"] for one in sources if one), *_ephemeral_claims(pod)]


@asynccontextmanager
async def opened_claims(
    bare: Bare, kube: Process, controllers: Process
) -> AsyncGenerator[ClaimContest]:
    """The contest, once what stands during the whole run is there."""
    for one in STANDING_CLAIMS:
        with suppress(AlreadyExists):  # of a run before on this control plane
            await bare.create(one.resource, one.body)
    kube.start()
    controllers.start()
    bare.start_enbloc()
    contest = Contest(bare, kube, {})
    try:
        async with sights.opened(bare.client, WATCHED) as seen:
            yield ClaimContest(bare, seen, contest, controllers)
        await contest.stage.become(Cluster())
    finally:
        kube.stop(0)
        controllers.stop(0)
