# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members' claims are bound before the members, against an API server, its controllers and drivers.

With the permissions of the scheduler's role and no more.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from enbloc.client.client import Client, PatchType
from enbloc.client.config import Cluster
from enbloc.client.paths import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
    Resource,
)
from enbloc.client.permissions import ROLES
from enbloc.config import default_profiles
from enbloc.devices import decisions as devices
from enbloc.devices.facts import AllocatedDevice, Allocation, Request, SubRequest
from enbloc.engine.effects import PreBind
from enbloc.engine.events import Event, PreBindFailed, PreBound, Unreserved
from enbloc.framework.act import Api, Target
from enbloc.framework.profile import Profile
from enbloc.framework.status import Status
from enbloc.ledgers import Decisions
from enbloc.live.binding import MemberApi
from enbloc.live.event_queue import EventQueue
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.objects import Objects
from enbloc.live.preparations import Preparations
from enbloc.model import names
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey, PodUID
from enbloc.plugins.dynamic_resources import act as dynamic_resources_act
from enbloc.plugins.volume_binding import act as volume_binding_act
from enbloc.storage import decisions as volumes
from enbloc.telemetry import ActiveProblems
from enbloc_sandbox import Sandbox
from enbloc_sandbox.nodes import DISK_DRIVER, Provisioner
from sandbox.tests.nodes.claims import claim as claim_body
from sandbox.tests.nodes.claims import volume as volume_body
from tests.live.world import FAST, NAMESPACE, World
from tests.world.virtual_time import time_source

Json = dict[str, Any]
SELECTED = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True)
class Claims:
    """Binds volumes, then devices, as the two plugins do."""

    name: ClassVar[str] = "Claims"

    async def pre_bind(self, target: Target, api: Api) -> Status:
        disks, gpus = target.decided
        if isinstance(disks, volumes.VolumeDecision):
            status = await volume_binding_act.pre_bind(disks, target, api, 30)
            if not status.ok:
                return status
        assert isinstance(gpus, devices.DeviceDecision)
        return await dynamic_resources_act.pre_bind(gpus, target, api, 30)

    async def unreserve(self, target: Target, api: Api) -> Status:
        disks, gpus = target.decided
        assert isinstance(gpus, devices.DeviceDecision)
        status = await dynamic_resources_act.unreserve(gpus, target, api)
        if isinstance(disks, volumes.VolumeDecision):
            status = await volume_binding_act.unreserve(disks, target, api)
        return status


class Yard:
    """A sandbox with a node, drivers and controllers, and what prepares members.

    Attributes:
        world: what a test does to the cluster.
        faults: of the API server, for everybody.
    """

    def __init__(self, sandbox: Sandbox, world: World, preparations: Preparations) -> None:
        self.world = world
        self.faults = sandbox.faults
        self.preparations = preparations
        self.outcomes: dict[str, str] = {}
        self._profile = Profile(
            "enbloc", (Claims(), *next(iter(default_profiles().values())).plugins)
        )

    def took(self, event: Event) -> None:
        """What came of a PreBind; "" = the member may be bound."""
        if isinstance(event, Unreserved):
            return
        assert isinstance(event, PreBound | PreBindFailed)
        self.outcomes[event.uid] = event.message if isinstance(event, PreBindFailed) else ""

    async def member(self, name: str, *, volume: str | None = None, gpu: bool = False) -> Target:
        """A pod on its way to the node.

        Args:
            name: of the pod, and of its claims.
            volume: the PersistentVolume for its claim; "" = one is to be made; None = no claim.
            gpu: it has a ResourceClaim, too.
        """
        await self.world.pod(name)
        uid = (await self.get(PODS, name))["metadata"]["uid"]
        disks: tuple[volumes.VolumeClaimDecision, ...] = ()
        gpus: tuple[devices.DeviceClaimDecision, ...] = ()
        if volume is not None:
            found = await self.get(PERSISTENT_VOLUME_CLAIMS, name)
            chosen = None
            if volume:
                there = await self.world.client.get(PERSISTENT_VOLUMES, volume)
                chosen = volumes.VolumeRef(volume, there["metadata"]["uid"])
            key = f"{NAMESPACE}/{name}"
            disks = (volumes.VolumeClaimDecision(key, found["metadata"]["uid"], chosen),)
        if gpu:
            found = await self.get(RESOURCE_CLAIMS, name)
            got = Allocation((AllocatedDevice("gpu", "gpu.example.com", "n1", name),))
            key = f"{NAMESPACE}/{name}"
            gpus = (devices.DeviceClaimDecision(key, found["metadata"]["uid"], got),)
        decided = Decisions(volumes.VolumeDecision(disks), devices.DeviceDecision(gpus))
        return Target("plan", PodKey(NAMESPACE, name), PodUID(uid), "n1", (), decided)

    async def prepare(self, *targets: Target) -> list[str]:
        """Why each may not be bound; "" = it may."""
        for target in targets:
            self.outcomes.pop(target.uid, None)
            effect = PreBind("enbloc", GroupKey(NAMESPACE, "g"), target)
            self.preparations.begin(effect, self._profile)
        await self.until(lambda: all(target.uid in self.outcomes for target in targets))
        return [self.outcomes[target.uid] for target in targets]

    async def give_up(self) -> None:
        self.preparations.cancel("plan", frozenset())
        await self.preparations.finish(30)

    async def until(self, holds: Callable[[], bool]) -> None:
        async def held() -> bool:
            return holds()

        await self.world.until(held)

    async def get(self, resource: Resource, name: str) -> Json:
        found: Json = await self.world.client.get(resource, name, NAMESPACE)
        return found

    async def all(self, resource: Resource) -> list[Json]:
        return [each async for each in self.world.client.list(resource)]

    async def claim(self, name: str, storage_class: str = "local", **annotations: str) -> None:
        body = claim_body(name, storage_class, annotations=annotations)
        await self.world.client.create(PERSISTENT_VOLUME_CLAIMS, body, NAMESPACE)

    async def gpu_claim(self, name: str) -> None:
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        body = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
        await self.world.client.create(RESOURCE_CLAIMS, body, NAMESPACE)


@pytest.fixture
async def yard(sandbox: Sandbox) -> AsyncGenerator[Yard]:
    async with (
        World(Cluster(sandbox.url)) as world,
        world.controllers(Provisioner(world.client).run()),
        asyncio.TaskGroup() as tasks,
    ):
        rules = ROLES["scheduler"]
        async with Client(
            Cluster(sandbox.url), component="scheduler", rules=rules, clock=time_source()
        ) as client:
            watches, queue, opened = ObjectWatches(), EventQueue(), list[Yard]()
            malformed = MalformedObjects(lambda *_: None)
            informers = Informers(
                client, queue, malformed, default_profiles(), ActiveProblems(), FAST
            )
            running = [tasks.create_task(each.run()) for each in informers.facts(watches)]
            now = asyncio.get_running_loop().time
            objects = Objects(client, watches, now, lambda _group, _but: False)

            def api(target: Target) -> MemberApi:
                return MemberApi(client, lambda: None, objects, target.plan)

            def done(event: Event) -> None:
                opened[0].took(event)

            def settled(task: asyncio.Task[None]) -> None:
                assert task.cancelled() or task.exception() is None

            preparations = Preparations(api, done, settled)
            opened.append(Yard(sandbox, world, preparations))
            await world.nodes("n1", cpu=1000)
            labels = {"metadata": {"labels": {"kubernetes.io/hostname": "n1"}}}
            await world.client.patch(NODES, "n1", labels, kind=PatchType.MERGE)
            await world.client.create(
                STORAGE_CLASSES,
                {
                    "metadata": {"name": "local"},
                    "provisioner": DISK_DRIVER,
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
            )
            yield opened[0]
            preparations.close()
            for task in running:
                task.cancel()


async def test_a_gang_whose_volumes_are_made_and_whose_devices_are_allocated(yard: Yard) -> None:
    members = []
    for index in range(8):
        await yard.claim(f"m{index}")
        await yard.gpu_claim(f"m{index}")
        members.append(await yard.member(f"m{index}", volume="", gpu=True))
    assert await yard.prepare(*members) == [""] * 8
    disks = await yard.all(PERSISTENT_VOLUME_CLAIMS)
    assert {each["status"]["phase"] for each in disks} == {"Bound"}
    gpus = await yard.all(RESOURCE_CLAIMS)
    assert all(len(each["status"]["reservedFor"]) == 1 for each in gpus)


async def test_volumes_that_exist_are_bound_each_to_its_claim(yard: Yard) -> None:
    members = []
    for name in "abc":
        await yard.claim(name)
        await yard.world.client.create(PERSISTENT_VOLUMES, volume_body(f"disk-{name}", "local"))
        members.append(await yard.member(name, volume=f"disk-{name}"))
    assert await yard.prepare(*members) == ["", "", ""]
    found = {each["metadata"]["name"]: each for each in await yard.all(PERSISTENT_VOLUME_CLAIMS)}
    assert {name: each["spec"]["volumeName"] for name, each in found.items()} == {
        "a": "disk-a",
        "b": "disk-b",
        "c": "disk-c",
    }


async def test_two_plans_that_want_one_volume_get_one_volume_and_one_message(yard: Yard) -> None:
    await yard.world.client.create(PERSISTENT_VOLUMES, volume_body("disk", "local"))
    members = []
    for name in "ab":
        await yard.claim(name)
        members.append(await yard.member(name, volume="disk"))
    outcomes = await yard.prepare(*members)
    assert sorted(map(bool, outcomes)) == [False, True]
    [message] = filter(None, outcomes)
    assert message.startswith("Claims: PersistentVolume disk was claimed by default/")


async def test_of_eight_claims_one_is_refused_and_the_plan_leaves_nothing_behind(
    yard: Yard,
) -> None:
    members = []
    for index in range(8):
        refused = {names.REFUSE_KEY: "no space"} if index == 3 else {}
        await yard.claim(f"m{index}", **refused)
        await yard.gpu_claim(f"m{index}")
        members.append(await yard.member(f"m{index}", volume="", gpu=True))
    outcomes = await yard.prepare(*members)
    assert outcomes.pop(3) == (
        'Claims: binding volumes: provisioning failed for PVC "m3"; look at its events'
    )
    assert outcomes == [""] * 7
    await yard.give_up()
    for each in await yard.all(RESOURCE_CLAIMS):
        assert "allocation" not in each["status"]
        assert not each["status"].get("reservedFor")
        assert not each["metadata"].get("finalizers")
    # What was bound cannot be taken back, and is where the next plan goes.
    disks = await yard.all(PERSISTENT_VOLUME_CLAIMS)
    unbound = [each for each in disks if each["status"]["phase"] != "Bound"]
    assert [each["metadata"]["name"] for each in unbound] == ["m3"]
    assert SELECTED not in unbound[0]["metadata"]["annotations"]


async def test_a_plan_given_up_in_the_middle_is_found_and_finished_by_the_next(yard: Yard) -> None:
    members = []
    for index in range(8):
        await yard.claim(f"m{index}")
        await yard.gpu_claim(f"m{index}")
        members.append(await yard.member(f"m{index}", volume="", gpu=True))
    yard.faults.add(verb="patch", resource="*", delay=0.05)
    first = asyncio.create_task(yard.prepare(*members))
    await asyncio.sleep(0.15)
    yard.preparations.cancel("plan", frozenset())
    first.cancel()
    assert await yard.prepare(*members) == [""] * 8
    gpus = await yard.all(RESOURCE_CLAIMS)
    assert all(len(each["status"]["reservedFor"]) == 1 for each in gpus)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 500, "times": 6}, id="the server fails"),
        pytest.param({"status": 500, "after_commit": True, "times": 6}, id="after the write"),
        pytest.param(
            {"after_commit": True, "times": 6}, id="the connection is cut after the write"
        ),
        pytest.param({"status": 429, "retry_after": 1, "times": 4}, id="it is busy"),
        pytest.param({"status": 409, "times": 6}, id="conflicts"),
    ],
)
async def test_whatever_goes_wrong_on_the_way_nothing_is_done_twice(
    yard: Yard, fault: Json
) -> None:
    members = []
    for index in range(4):
        await yard.claim(f"m{index}")
        await yard.gpu_claim(f"m{index}")
        members.append(await yard.member(f"m{index}", volume="", gpu=True))
    for resource in ("resourceclaims", "resourceclaims/status"):
        yard.faults.add(verb="patch", resource=resource, **fault)
    assert await yard.prepare(*members) == [""] * 4
    for each in await yard.all(RESOURCE_CLAIMS):
        assert len(each["status"]["reservedFor"]) == 1
        assert len(each["metadata"]["finalizers"]) == 1
    yard.faults.clear()
    await yard.give_up()
    for each in await yard.all(RESOURCE_CLAIMS):
        assert "allocation" not in each["status"]


async def test_extended_resources_get_a_claim_that_goes_with_the_plan(yard: Yard) -> None:
    member = await yard.member("p")
    request = Request("container-0-request-0", SubRequest("container-0-request-0", "gpu", count=1))
    result = AllocatedDevice(request.name, "gpu.example.com", "n1", "gpu-0")
    extended = devices.ExtendedDecision(
        (request,), (("c", "example.com/gpu", request.name),), Allocation((result,))
    )
    decided = Decisions(None, devices.DeviceDecision((), extended))
    member = Target("plan", member.pod, member.uid, "n1", (), decided)
    assert await yard.prepare(member) == [""]
    [made] = await yard.all(RESOURCE_CLAIMS)
    status = (await yard.get(PODS, "p"))["status"]
    assert status["extendedResourceClaimStatus"]["resourceClaimName"] == made["metadata"]["name"]
    await yard.give_up()
    assert await yard.all(RESOURCE_CLAIMS) == []
    assert "extendedResourceClaimStatus" not in (await yard.get(PODS, "p"))["status"]
