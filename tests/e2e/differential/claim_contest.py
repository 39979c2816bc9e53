# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods with claims, given to kube-scheduler and to enbloc in turn, each with objects of its own.

A scheduler changes the claims that it decides about, so what one has used is taken away before the
other is asked. Several streams tell of claims and volumes: a pod waits behind a scheduling gate
until its objects are as the controllers leave them, and both schedulers have had a pause to see
them. That is a matter of time, so a difference counts only when it shows again after longer ones.
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
from tests.e2e.differential.claim_cases import Case, Maker, nodes
from tests.e2e.differential.claim_objects import (
    CLAIMS,
    NAMESPACE,
    RESOURCE_CLAIMS,
    STANDING_CLAIMS,
    VOLUMES,
    Made,
)
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.contest import KUBE, Answer, Contest
from tests.hack.processes import Process

#: How long schedulers are given to see a case (seconds), first and before a difference counts.
PAUSES: Final = (0.15, 2.0)
GATE: Final = "example.com/not-yet"
BLOCKED: Final = "Scheduling is blocked"
GENERATED: Final = re.compile(r"(case-[0-9-]+-r[0-9])-[a-z0-9]{5}")
#: How a message begins when a plugin's error on a node, whichever came first, ended the attempt.
ERROR: Final = 'running "'
SELECTED: Final = "volume.kubernetes.io/selected-node"
#: How long controllers may take (seconds).
CONTROLLERS: Final = 20.0


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
    """The contest of two schedulers over claims."""

    def __init__(self, bare: Bare, contest: Contest, controllers: Process) -> None:
        self._bare = bare
        self._contest = contest
        self._controllers = controllers
        self._asked = 0

    async def become(self, seed: str) -> Cluster:
        """Change the nodes into those of this seed."""
        world = Cluster(nodes(seed))
        await self._contest.stage.become(world)
        return world

    async def answer(self, seed: str, maker: Maker, names: Sequence[str]) -> ClaimAnswer:
        """Ask both; once more, and slower, when they differ."""
        found = await self._both(seed, maker, names, PAUSES[0])
        return found if not found.difference else await self._both(seed, maker, names, PAUSES[1])

    async def _both(
        self, seed: str, maker: Maker, names: Sequence[str], pause: float
    ) -> ClaimAnswer:
        verdicts: dict[str, PlanResult] = {}
        devices: dict[str, tuple[str, ...]] = {}
        pods: dict[str, str] = {}
        case = maker(seed, seed, names)
        order = (KUBE, SCHEDULER_NAME)
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
        scores = self._contest.scores(pods[KUBE])
        name = case.pod["metadata"]["name"]
        answer = Answer(name, verdicts[KUBE], verdicts[SCHEDULER_NAME], scores)
        return ClaimAnswer(answer, case, devices[KUBE], devices[SCHEDULER_NAME])

    async def _ask(
        self, case: Case, scheduler: str, pause: float
    ) -> tuple[PlanResult, tuple[str, ...]]:
        made: list[Made] = []
        spec = {**case.pod["spec"], "schedulerName": scheduler, "schedulingGates": [{"name": GATE}]}
        pod = Made(PODS, {**case.pod, "spec": spec})
        try:
            for one in [*case.objects, pod]:
                made.append(one)
                await self._make(one)
            await self._settled(case)
            await asyncio.sleep(pause)
            await self._patch(pod, {"spec": {"schedulingGates": None}})
            verdict = await self._verdict(pod, case)
            return verdict, await self._chosen(pod)
        except (AssertionError, TimeoutError) as late:
            self._controllers.check()
            said = json.dumps([case.pod, *(one.body for one in case.objects)])
            raise AssertionError(f"{scheduler} says nothing: {late} {said}") from late
        finally:
            await self._take_away(reversed(made), case)
            await asyncio.sleep(pause)

    async def _make(self, one: Made) -> None:
        body = {key: value for key, value in one.body.items() if key != "status"}
        await self._bare.create(one.resource, body, one.namespace)
        if "status" in one.body:
            await self._patch(one, {"status": one.body["status"]}, "status")

    async def _settled(self, case: Case) -> None:
        """Wait until the controllers have done all that they will do before a node is chosen."""
        volumes = [one for one in case.objects if one.resource == VOLUMES]
        await asyncio.gather(
            *(self._until(one, lambda it: it["status"].get("phase", "Pending") != "Pending")
              for one in volumes),
            *(self._until(Made(CLAIMS, {"metadata": {"name": name}}), _is_bound)
              for name in case.bound),
        )  # fmt: skip
        pod = Made(PODS, case.pod)
        for volume in case.pod["spec"].get("volumes", ()):
            if "ephemeral" in volume:
                await self._until(
                    Made(CLAIMS, {"metadata": {"name": f"{pod.name}-{volume['name']}"}}), _is_there
                )
        templates = sum(
            "resourceClaimTemplateName" in one for one in case.pod["spec"].get("resourceClaims", ())
        )
        await self._until(
            pod, lambda it: len(it["status"].get("resourceClaimStatuses", ())) >= templates
        )

    async def _until(self, one: Made, holds: Any) -> None:
        async with asyncio.timeout(CONTROLLERS):
            while True:
                with suppress(NotFound):
                    if holds(await self._read(one)):
                        return
                await asyncio.sleep(0.02)

    async def _verdict(self, pod: Made, case: Case) -> PlanResult:
        """The node, as soon as a claim names it: nobody here makes volumes."""
        claims = [Made(CLAIMS, {"metadata": {"name": name}}) for name in _claim_names(pod, case)]
        async with asyncio.timeout(30.0):
            while True:
                found = await self._read(pod)
                if node := found["spec"].get("nodeName"):
                    await self._must_be_met(found, claims)
                    return PlanResult(node=node)
                for claim in claims:
                    with suppress(NotFound):
                        annotations = (await self._read(claim))["metadata"].get("annotations", {})
                        if SELECTED in annotations:
                            return PlanResult(node=annotations[SELECTED])
                for one in found["status"].get("conditions", ()):
                    message = str(one.get("message", ""))
                    unplaced = (one["type"], one["status"]) == ("PodScheduled", "False")
                    if unplaced and message and not message.startswith(BLOCKED):
                        return PlanResult(message=message)
                await asyncio.sleep(0.02)

    async def _must_be_met(self, pod: dict[str, Any], volume_claims: Sequence[Made]) -> None:
        """Raise where a pod was bound before its claims: a kubelet would not start it."""
        for one in volume_claims:
            claim = await self._read(one)
            assert claim["spec"].get("volumeName"), f"bound before its claim {one.name}"
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

    async def _take_away(self, made: Any, case: Case) -> None:
        """Delete what was made, with what stands in the way of it."""
        own = [
            Made(CLAIMS, {"metadata": {"name": f"{case.pod['metadata']['name']}-{one['name']}"}})
            for one in case.pod["spec"].get("volumes", ())
            if "ephemeral" in one
        ]
        for one in [*made, *own]:
            if one.resource in (VOLUMES, CLAIMS, RESOURCE_CLAIMS):
                await self._bare.delete(one.resource, one.name, one.namespace)
                with suppress(NotFound):
                    await self._patch(one, {"metadata": {"finalizers": None}})
            await self._bare.delete(one.resource, one.name, one.namespace)

    async def _read(self, one: Made) -> dict[str, Any]:
        return await self._bare.client.get(one.resource, one.name, one.namespace)

    async def _patch(self, one: Made, patch: Any, subresource: str = "") -> None:
        where = one.resource, one.name, patch, one.namespace
        await self._bare.client.patch(*where, kind=PatchType.MERGE, subresource=subresource)


def _is_there(_found: dict[str, Any]) -> bool:
    return True


def _is_bound(claim: dict[str, Any]) -> bool:
    return bool(claim["status"].get("phase") == "Bound")


def _device_claims(pod: dict[str, Any]) -> list[str]:
    """The names of a pod's ResourceClaims, those made for it among them."""
    asked = [
        *pod["spec"].get("resourceClaims", ()),
        *pod["status"].get("resourceClaimStatuses", ()),
    ]
    return [one["resourceClaimName"] for one in asked if one.get("resourceClaimName")]


def _claim_names(pod: Made, case: Case) -> list[str]:
    names: list[str] = []
    for volume in case.pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{pod.name}-{volume['name']}")
    return names


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
        yield ClaimContest(bare, contest, controllers)
        await contest.stage.become(Cluster())
    finally:
        kube.stop(0)
        controllers.stop(0)
