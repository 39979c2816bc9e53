# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods with claims, given to kube-scheduler and to enbloc in turn, each with objects of its own.

A scheduler changes the claims that it decides about, so what one has used is taken away before the
other is asked. Several streams tell of claims and volumes: a pod waits behind a scheduling gate
until its objects are as the controllers leave them, and no watch has shown a change for a while.
That is a matter of time, so a difference counts only when it shows again after longer whiles.
"""

import asyncio
import datetime as dt
import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, NotFound, ServerError, Unreachable
from enbloc.client.paths import PODS
from enbloc.model.names import SCHEDULER_NAME
from tests.e2e.bare import Bare, PlanResult
from tests.e2e.differential import sights
from tests.e2e.differential.claim_cases import Case, Maker, nodes
from tests.e2e.differential.claim_objects import (
    ATTACHMENTS,
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
from tests.e2e.differential.sights import Seen, Sights
from tests.e2e.differential.vocabulary import Json
from tests.hack.processes import Process

#: For how long nothing may have changed before a scheduler is asked (seconds), longer each time;
#: a difference counts if it shows every time.
PAUSES: Final = (0.05, 2.0, 10.0)
#: What no scheduler changes is the same for both.
UNCHANGED: Final = (SLICES, CSI_NODES, CAPACITIES)
WATCHED: Final = (PODS, VOLUMES, ATTACHMENTS, CLAIMS, RESOURCE_CLAIMS, TEMPLATES, *UNCHANGED)
GATE: Final = "example.com/not-yet"
BLOCKED: Final = "Scheduling is blocked"
GENERATED: Final = re.compile(r"(case-[0-9-]+-r[0-9])-[a-z0-9]{5}")
#: How a message begins when a plugin's error on a node, whichever came first, ended the attempt.
ERROR: Final = 'running "'
#: What kube-scheduler says after it has made a claim without requests: for a pod with claims whose
#: extended resources a device plugin serves on the node that it chose.
MISTAKE: Final = "nil or empty request mappings"
SELECTED: Final = "volume.kubernetes.io/selected-node"
#: What comes of requests while the machine has too much to do, and how often they are sent.
BUSY: Final = (Unreachable, ServerError)
TRIES: Final = 5


class SilentError(AssertionError):
    """A scheduler, or a controller, has not done in time what was waited for."""


@dataclass(frozen=True)
class ClaimAnswer:
    """What both said about a pod, and which devices each chose.

    Attributes:
        features: what one of these devices is or has.
    """

    answer: Answer
    case: Case
    kube_devices: tuple[str, ...]
    enbloc_devices: tuple[str, ...]
    features: frozenset[str] = frozenset()

    @property
    def difference(self) -> str:
        """How enbloc's answer is not one that kube-scheduler might give; "" if it is."""
        found = self.answer.difference
        if MISTAKE in self.answer.kube.message:
            return "" if self.answer.enbloc.node else "enbloc finds no node either"
        if self.is_error:
            ours = self.answer.enbloc
            error = _of_any_pool(self.answer.kube.message.partition(" filter plugin: ")[2])
            named = ours.node or error in _of_any_pool(ours.message)
            return "" if named else "enbloc does not name the error"
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


def _of_any_pool(message: str) -> str:
    """A message without the pools of devices: enbloc tells of nodes that are alike together."""
    return re.sub(r"(\bdevice [^/ ]+/)[^/ ]+(?=/)", r"\1*", message)


class ClaimContest:
    """The contest of two schedulers over claims.

    Attributes:
        again: how often a case was asked again, since the answers differed or failed.
    """

    def __init__(self, bare: Bare, sights: Sights, contest: Contest, controllers: Process) -> None:
        self.again = 0
        self._bare = bare
        self._sights = sights
        self._contest = contest
        self._controllers = controllers
        self._asked = 0
        self._features: set[str] = set()

    async def become(self, seed: str) -> Cluster:
        """Change the nodes into those of this seed."""
        world = Cluster(nodes(seed))
        await self._contest.stage.become(world)
        return world

    async def answer(self, seed: str, maker: Maker, names: Sequence[str]) -> ClaimAnswer:
        """Ask both; again, and slower, when they differ or one says nothing.

        kube-scheduler says nothing of a pod whose ResourceClaims it has not seen yet.
        """
        for pause in PAUSES[:-1]:
            with suppress(SilentError, *BUSY):
                found = await self._both(seed, maker, names, pause)
                if not found.difference:
                    return found
            self.again += 1
        return await self._both(seed, maker, names, PAUSES[-1])

    async def _both(
        self, seed: str, maker: Maker, names: Sequence[str], pause: float
    ) -> ClaimAnswer:
        verdicts: dict[str, PlanResult] = {}
        devices: dict[str, tuple[str, ...]] = {}
        pods: dict[str, str] = {}
        self._features.clear()
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
        both = devices[KUBE], devices[SCHEDULER_NAME]
        return ClaimAnswer(answer, case, *both, frozenset(self._features))

    async def _ask(
        self, case: Case, scheduler: str, pause: float
    ) -> tuple[PlanResult, tuple[str, ...]]:
        spec = {**case.pod["spec"], "schedulerName": scheduler, "schedulingGates": [{"name": GATE}]}
        pod = Made(PODS, {**case.pod, "spec": spec})
        made = [one for one in case.objects if one.resource not in UNCHANGED]
        try:
            # A controller binds claims in the order in which they come, to volumes that it knows.
            claims = [one for one in made if one.resource == CLAIMS]
            await asyncio.gather(*(self._make(one) for one in made if one not in claims))
            await self._available(made)
            for one in [*claims, pod]:
                await self._make(one)
            await self._settled(case)
            for name in case.deleted:
                await self._bare.delete(CLAIMS, name, NAMESPACE)
            await self._sights.quiet(pause)
            await self._patch(pod, {"spec": {"schedulingGates": None}})
            verdict = await self._verdict(pod, case, scheduler)
            if scheduler == KUBE:  # which may be at the pod's other claims still
                await self._sights.quiet(pause)
            return verdict, await self._chosen(pod)
        except TimeoutError as late:
            self._controllers.check()
            said = json.dumps([case.pod, *(one.body for one in case.objects)])
            raise SilentError(f"{scheduler} says nothing of {said}") from late
        finally:
            await self._take_away(pod, made)

    async def _make(self, one: Made) -> None:
        body = {key: value for key, value in one.body.items() if key != "status"}
        await self._bare.create(one.resource, body, one.namespace)
        if "status" in one.body:
            await self._patch(one, {"status": one.body["status"]}, "status")

    async def _available(self, made: Sequence[Made]) -> None:
        """Wait until a controller has seen all volumes."""
        volumes = [one.name for one in made if one.resource == VOLUMES]
        find = self._sights.find
        await self._sights.until(
            lambda: all((it := find(VOLUMES, one)) and it.phase != "Pending" for one in volumes),
        )

    async def _settled(self, case: Case) -> None:
        """Wait until the controllers have done all that they will do before a node is chosen."""
        find = self._sights.find
        name = case.pod["metadata"]["name"]
        ephemeral = _ephemeral_claims(case.pod)
        templates = sum(
            "resourceClaimTemplateName" in one for one in case.pod["spec"].get("resourceClaims", ())
        )

        def settled() -> bool:
            pod = find(PODS, name)
            return (
                all(
                    (it := find(CLAIMS, one)) and it.phase == phase
                    for one, phase in case.phases.items()
                )
                and all(find(CLAIMS, one) for one in ephemeral)
                and pod is not None
                and len(pod.status.get("resourceClaimStatuses", ())) >= templates
            )

        await self._sights.until(settled)

    async def _verdict(self, pod: Made, case: Case, scheduler: str) -> PlanResult:
        """The node, as soon as a claim names it: nobody here makes volumes.

        kube-scheduler names it in the pod before it begins to wait for volumes or devices: for a
        second at least, or for five.
        """
        attaching = asyncio.create_task(self._attach(pod)) if scheduler != KUBE else None
        claims = _claim_names(case.pod)
        try:
            verdict: PlanResult = await self._sights.until(
                lambda: self._said(pod.name, claims, scheduler)
            )
        finally:
            if attaching:
                attaching.cancel()
                await asyncio.gather(attaching, return_exceptions=True)
        found = await self._read(pod)
        if found["spec"].get("nodeName"):
            await self._must_be_met(found, claims)
        return verdict

    def _said(self, name: str, claims: Sequence[str], scheduler: str) -> PlanResult | None:
        pod = self._sights.find(PODS, name)
        if pod is None:
            return None
        if node := pod.spec.get("nodeName"):
            return PlanResult(node=node)
        for one in claims:
            claim = self._sights.find(CLAIMS, one)
            if claim and SELECTED in claim.metadata.annotations:
                return PlanResult(node=claim.metadata.annotations[SELECTED])
        for one in pod.status.get("conditions", ()):
            message = str(one.get("message", ""))
            unplaced = (one["type"], one["status"]) == ("PodScheduled", "False")
            if unplaced and message and not message.startswith(BLOCKED):
                return PlanResult(message=message)
        node = pod.status.get("nominatedNodeName")
        if scheduler == KUBE and node and (claims or self._waits(pod)):
            return PlanResult(node=node)
        return None

    def _waits(self, pod: Seen) -> list[tuple[str, list[Json]]]:
        """The claims of a pod with devices that are still to be attached, and these."""
        found: list[tuple[str, list[Json]]] = []
        for name in _device_claims(pod.spec, pod.status):
            claim = self._sights.find(RESOURCE_CLAIMS, name)
            if claim and (devices := _unattached(claim.status)):
                found.append((name, devices))
        return found

    async def _attach(self, made: Made) -> None:
        """Say of devices, as their drivers would, that the pod can have them now."""

        def waits() -> list[tuple[str, list[Json]]]:
            pod = self._sights.find(PODS, made.name)
            return self._waits(pod) if pod else []

        while True:
            for name, devices in await self._sights.until(waits):
                now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                said = [
                    {
                        **{
                            key: one[key]
                            for key in ("driver", "pool", "device", "shareID")
                            if key in one
                        },
                        "conditions": [
                            {
                                "type": each,
                                "status": "True",
                                "reason": "Attached",
                                "message": "",
                                "lastTransitionTime": now,
                            }
                            for each in one["bindingConditions"]
                        ],
                    }
                    for one in devices
                ]
                await self._patch(_resource_claim(name), {"status": {"devices": said}}, "status")
                await self._sights.until(lambda: name not in dict(waits()))  # noqa: B023

    async def _must_be_met(self, pod: Json, volume_claims: Sequence[str]) -> None:
        """Raise where a pod was bound before its claims: a kubelet would not start it."""
        for name in volume_claims:
            claim = await self._read(Made(CLAIMS, {"metadata": {"name": name}}))
            assert claim["spec"].get("volumeName"), f"bound before its claim {name}"
        for name in _device_claims(pod["spec"], pod["status"]):
            status = (await self._read(_resource_claim(name))).get("status", {})
            users = [one["uid"] for one in status.get("reservedFor", ())]
            assert pod["metadata"]["uid"] in users, f"bound before its claim {name} was reserved"
            assert not _unattached(status), f"bound before the devices of {name} were attached"

    async def _chosen(self, pod: Made) -> tuple[str, ...]:
        """The devices that the pod's claims have got, with what they consume."""
        found: list[str] = []
        it = await self._read(pod)
        if "extendedResourceClaimStatus" in it["status"]:
            self._features.add("extended resource")
        for name in _device_claims(it["spec"], it["status"]):
            with suppress(NotFound):
                claim = await self._read(_resource_claim(name))
                allocation = claim.get("status", {}).get("allocation", {})
                for one in allocation.get("devices", {}).get("results", ()):
                    self._features.update(each for each in one if one[each])
                    if "/" in one["request"]:
                        self._features.add("alternative")
                    consumed = sorted(one.get("consumedCapacity", {}).items())
                    share = "".join(f" {each}={amount}" for each, amount in consumed)
                    found.append(f"{one['request']}={one['pool']}/{one['device']}{share}")
        return tuple(sorted(found))

    async def _take_away(self, pod: Made, made: Sequence[Made]) -> None:
        """Delete the pod, what was made for it, and then what it wanted."""
        generated: list[Made] = []
        with suppress(NotFound, *BUSY):
            found = await self._read(pod)
            generated = [_resource_claim(name) for name in _device_claims({}, found["status"])]
        own = [Made(CLAIMS, {"metadata": {"name": name}}) for name in _ephemeral_claims(pod.body)]
        await self._remove(pod)
        gone = {(one.resource, one.name): one for one in [*made, *generated, *own]}
        await asyncio.gather(*(self._remove(one) for one in gone.values()))
        find = self._sights.find
        await self._sights.until(lambda: not any(find(*one) for one in gone))

    async def _remove(self, one: Made) -> None:
        """Delete an object, with what stands in the way of it; a busy server is asked again."""
        for _ in range(TRIES):
            with suppress(*BUSY):
                await self._bare.delete(one.resource, one.name, one.namespace)
                if one.resource in (VOLUMES, CLAIMS, RESOURCE_CLAIMS):
                    with suppress(NotFound):
                        await self._patch(one, {"metadata": {"finalizers": None}})
                return
        raise AssertionError(f"cannot delete {one.resource.kind} {one.name}")

    async def _read(self, one: Made) -> dict[str, Any]:
        return await self._bare.client.get(one.resource, one.name, one.namespace)

    async def _patch(self, one: Made, patch: Any, subresource: str = "") -> None:
        where = one.resource, one.name, patch, one.namespace
        await self._bare.client.patch(*where, kind=PatchType.MERGE, subresource=subresource)


def _device_claims(spec: Json, status: Json) -> list[str]:
    """The names of a pod's ResourceClaims, those made for it among them."""
    asked = [
        *spec.get("resourceClaims", ()),
        *status.get("resourceClaimStatuses", ()),
        status.get("extendedResourceClaimStatus") or {},
    ]
    return [one["resourceClaimName"] for one in asked if one.get("resourceClaimName")]


def _resource_claim(name: str) -> Made:
    return Made(RESOURCE_CLAIMS, {"metadata": {"name": name}})


def _unattached(claim: Json) -> list[Json]:
    """The devices of a claim of which their driver has still to say something."""
    results = claim.get("allocation", {}).get("devices", {}).get("results", ())
    said = {(one["driver"], one["pool"], one["device"]) for one in claim.get("devices", ())}
    waiting = (one for one in results if one.get("bindingConditions"))
    return [one for one in waiting if (one["driver"], one["pool"], one["device"]) not in said]


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
