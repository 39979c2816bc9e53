# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A pod's resource claims are allocated and reserved before it is bound, or a message says why."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from enbloc.devices.decisions import (
    DeviceClaimDecision,
    DeviceDecision,
    ExtendedDecision,
)
from enbloc.devices.facts import AllocatedDevice, Allocation, Request, SubRequest
from enbloc.framework.act import Reply, Target
from enbloc.framework.changes import SHOWN_SECONDS
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.pods import PodKey, PodUID
from enbloc.plugins.dynamic_resources import act
from tests.plugins.cluster import Cluster, Fault, Json, once, times

CLAIM, POD = "ResourceClaim", "Pod"
TARGET = Target("plan-1", PodKey("ns", "p"), PodUID("uid-p"), "n1")
OTHER = Target("plan-1", PodKey("ns", "q"), PodUID("uid-q"), "n1")
EXTENDED = "p-extended-resources-uidp"
OURS = {"resource": "pods", "name": "p", "uid": "uid-p"}
THEIRS = {"resource": "pods", "name": "q", "uid": "uid-q"}


def got(device: str = "gpu-0", *, waits: bool = False) -> Allocation:
    conditions = (("Attached",), ("Failed",)) if waits else ((), ())
    result = AllocatedDevice("r", "gpu.example.com", "n1", device, False, (), *conditions)
    return Allocation((result,))


def written(device: str = "gpu-0", *, waits: bool = False) -> Json:
    result: Json = {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": device}
    if waits:
        result |= {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Failed"]}
    return {"devices": {"results": [result]}}


def of(*given: Any, found: bool = False) -> DeviceClaimDecision:
    return DeviceClaimDecision("ns/c", "uid-c", *given)._replace(found=found)


REQUESTS = (Request("container-0-request-0", SubRequest("container-0-request-0", "gpu", count=2)),)
MAPPINGS = (("main", "example.com/gpu", "container-0-request-0"),)
BY_EXTENDED = DeviceDecision((), ExtendedDecision(REQUESTS, MAPPINGS, got()))


class World(Cluster):
    """A claim that has nothing yet, and its pod."""

    def __init__(self) -> None:
        super().__init__()
        self.put(POD, "p", spec={}, status={"phase": "Pending"})
        self.put(POD, "q", spec={}, status={"phase": "Pending"})
        self.put(CLAIM, "c", spec={"devices": {}})

    async def prepare(
        self, *claims: DeviceClaimDecision, target: Target = TARGET, timeout: float = 600
    ) -> Status:
        return await act.pre_bind(DeviceDecision(claims), target, self, timeout)

    async def unreserve(self, *claims: DeviceClaimDecision, target: Target = TARGET) -> Status:
        return await act.unreserve(DeviceDecision(claims), target, self)

    @property
    def status(self) -> Json:
        found: Json = self.get(CLAIM, "c").get("status", {})
        return found

    @property
    def reserved(self) -> list[str]:
        return [each["name"] for each in self.status.get("reservedFor", [])]

    @property
    def finalizers(self) -> list[str]:
        found: list[str] = self.get(CLAIM, "c")["metadata"].get("finalizers", [])
        return found

    def allocate(self, device: str = "gpu-0", *consumers: Json, waits: bool = False) -> None:
        """As an earlier attempt, or another scheduler, has done."""
        status = {"allocation": written(device, waits=waits), "reservedFor": list(consumers)}
        self.edit(CLAIM, "c", {"metadata": {"finalizers": [act.FINALIZER]}, "status": status})

    def report(self, kind: str, status: str = "True", **more: str) -> None:
        """What the driver says of the device."""
        device = {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
        conditions = [{"type": kind, "status": status, **more}]
        self.edit(CLAIM, "c", {"status": {"devices": [{**device, "conditions": conditions}]}})


def clock() -> float:
    return asyncio.get_running_loop().time()


# ── what is written ──────────────────────────────────────────────────────────────────────────


async def test_a_claim_is_protected_then_allocated_and_reserved_in_one_write() -> None:
    world = World()
    assert await world.prepare(of(got())) == SUCCESS
    assert world.sent == ["patch ResourceClaim c", "patch/status ResourceClaim c"]
    assert world.finalizers == [act.FINALIZER]
    assert world.status == {
        "allocation": {**written(), "allocationTimestamp": "2027-01-15T08:00:00Z"},
        "reservedFor": [OURS],
    }


async def test_an_allocated_claim_is_reserved_only() -> None:
    world = World()
    world.allocate("gpu-0", THEIRS)
    assert await world.prepare(of()) == SUCCESS
    assert world.sent == ["patch/status ResourceClaim c"]
    assert world.status == {"allocation": written(), "reservedFor": [THEIRS, OURS]}


async def test_members_that_share_a_claim_do_not_hinder_each_other() -> None:
    world = World()
    done = await asyncio.gather(
        world.prepare(of(got())), world.prepare(of(got()), target=OTHER), world.prepare(of(got()))
    )
    assert set(done) == {SUCCESS}
    assert world.reserved == ["p", "q"]


@pytest.mark.parametrize("allocation", [pytest.param(got(), id="ours"), pytest.param(None, id="-")])
async def test_what_is_as_wanted_is_not_written_again(allocation: Allocation | None) -> None:
    world = World()
    await world.prepare(of(got()))
    world.sent.clear()
    assert await world.prepare(of(allocation)) == SUCCESS
    assert world.sent == []


# ── what may be different when it is written ─────────────────────────────────────────────────


def recreate(world: World) -> None:
    world.drop(CLAIM, "c")
    world.put(CLAIM, "c", uid="uid-another", spec={})


def delete(world: World) -> None:
    world.edit(CLAIM, "c", {"metadata": {"deletionTimestamp": "now", "finalizers": ["x"]}})


def fill(world: World) -> None:
    world.allocate("gpu-0", *({**THEIRS, "uid": f"uid-{index}"} for index in range(256)))


@pytest.mark.parametrize(
    ("claim", "happened", "message"),
    [
        pytest.param(
            of(got()),
            lambda world: world.allocate("gpu-1"),
            "claim ns/c got allocated elsewhere in the meantime",
            id="it has got other devices",
        ),
        pytest.param(
            of(got(), found=True),
            lambda _: None,
            "claim ns/c got deallocated elsewhere in the meantime",
            id="it has none any more",
        ),
        pytest.param(
            of(got()), delete, "claim ns/c got deleted in the meantime", id="it is deleted"
        ),
        pytest.param(
            of(got()), recreate, "ResourceClaim ns/c was deleted and created again", id="another"
        ),
        pytest.param(
            of(got()),
            lambda world: world.drop(CLAIM, "c"),
            'add finalizer to claim ns/c: ResourceClaim "c" not found',
            id="it is gone",
        ),
        pytest.param(
            of(),
            fill,
            "ResourceClaim ns/c has 256 consumers, and no more are possible: use "
            "resourceClaimTemplateName, or list it in spec.resourceClaims of a PodGroup of "
            "Kubernetes",
            id="it is full",
        ),
        pytest.param(
            of(got()),
            lambda world: world.put(CLAIM, "c", spec=[]),
            "ResourceClaim ns/c cannot be read",
            id="it cannot be read",
        ),
    ],
)
async def test_what_is_no_more_as_it_was_decided_about_is_not_written(
    claim: DeviceClaimDecision, happened: Callable[[World], Any], message: str
) -> None:
    world = World()
    happened(world)
    assert await world.prepare(claim) == Status(Code.ERROR, message)
    assert world.sent == []


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(once(Reply(409, message="modified"), f"patch {CLAIM}"), id="a conflict"),
        pytest.param(times(9, Reply(409), f"patch/status {CLAIM}"), id="many conflicts"),
        pytest.param(times(4, Reply(503), f"patch/status {CLAIM}"), id="the server fails"),
        pytest.param(times(4, Reply(429), f"get {CLAIM}"), id="it is busy"),
        pytest.param(once(Reply(0), f"patch {CLAIM}"), id="a reset"),
    ],
)
async def test_what_passes_is_waited_out(fault: Fault) -> None:
    world = World()
    world.before = fault
    assert await world.prepare(of(got())) == SUCCESS
    assert world.reserved == ["p"]


@pytest.mark.parametrize("verb", ["patch", "patch/status"])
async def test_a_write_whose_answer_was_lost_is_not_sent_twice(verb: str) -> None:
    world = World()
    world.after = once(Reply(0, message="reset"), f"{verb} {CLAIM}")
    assert await world.prepare(of(got())) == SUCCESS
    assert world.sent == ["patch ResourceClaim c", "patch/status ResourceClaim c"]


async def test_of_two_schedulers_one_gets_the_claim_and_the_other_a_message() -> None:
    world = World()

    def other(verb: str, kind: str, name: str) -> Reply | None:
        del name
        if f"{verb} {kind}" == f"patch/status {CLAIM}" and not world.reserved:
            world.allocate("gpu-1", THEIRS)
        return None

    world.before = other
    status = await world.prepare(of(got()))
    assert status.message == "claim ns/c got allocated elsewhere in the meantime"
    assert world.status["reservedFor"] == [THEIRS]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param("patch", "add finalizer to claim ns/c: forbidden", id="finalizer"),
        pytest.param(
            "patch/status", "add allocation and reservation to claim ns/c: forbidden", id="status"
        ),
    ],
)
async def test_what_is_forbidden_ends_in_a_message(asked: str, message: str) -> None:
    world = World()
    world.before = once(Reply(403, message="forbidden"), f"{asked} {CLAIM}")
    assert await world.prepare(of(got())) == Status(Code.ERROR, message)


# ── binding conditions ───────────────────────────────────────────────────────────────────────


async def test_a_pod_waits_for_the_conditions_of_its_devices() -> None:
    world = World()
    world.after_seconds(100, world.report, "Other")
    world.after_seconds(200, world.report, "Attached", "False")
    world.after_seconds(300, world.report, "Attached")
    assert await world.prepare(of(got(waits=True))) == SUCCESS
    assert clock() == 300


async def test_a_device_that_fails_ends_the_wait_at_once() -> None:
    world = World()
    world.after_seconds(100, lambda: world.report("Failed", reason="NoLink", message="cable"))
    status = await world.prepare(of(got(waits=True)))
    assert status == Status(
        Code.ERROR, 'device binding failed: claim=c, reason=NoLink, message="cable"'
    )
    assert clock() == 100


async def test_a_device_that_says_nothing_is_given_up() -> None:
    world = World()
    status = await world.prepare(of(got(waits=True)), timeout=50)
    assert status.message == "device binding timeout: claim=c"
    assert clock() == 50


async def test_the_time_runs_from_the_allocation_though_the_scheduler_was_restarted() -> None:
    world = World()
    first = asyncio.create_task(world.prepare(of(got(waits=True)), timeout=50))
    await asyncio.sleep(30)
    first.cancel()
    status = await world.prepare(of(), timeout=50)
    assert status.message == "device binding timeout: claim=c"
    assert clock() == 50


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        pytest.param(
            lambda world: world.edit(CLAIM, "c", {"status": {"allocation": None}}),
            "claim ns/c got deallocated elsewhere in the meantime",
            id="deallocated",
        ),
        pytest.param(recreate, "ResourceClaim ns/c was deleted and created again", id="another"),
        pytest.param(
            lambda world: world.drop(CLAIM, "c"),
            'ResourceClaim ns/c: ResourceClaim "c" not found',
            id="gone",
        ),
    ],
)
async def test_a_claim_that_loses_its_devices_ends_the_wait(
    happens: Callable[[World], Any], message: str
) -> None:
    world = World()
    world.after_seconds(20, happens, world)
    assert (await world.prepare(of(got(waits=True)))).message == message


async def test_what_the_watch_has_missed_is_found_by_a_look() -> None:
    world = World()
    world.lag = act.LOOK_SECONDS + 5
    world.after_seconds(1, world.report, "Attached")
    assert await world.prepare(of(got(waits=True))) == SUCCESS
    assert clock() == act.LOOK_SECONDS + 6  # and no pod is bound before the watch shows it


async def test_a_watch_that_does_not_show_what_was_written_is_named() -> None:
    """What another plan wrote, or somebody took back, could not be told from it."""
    world = World()
    world.lag = 1e6
    status = await world.prepare(of(got()))
    assert status.message == ("the watch has not shown ResourceClaim ns/c as it is for 10s")
    assert clock() == SHOWN_SECONDS


# ── taking it back ───────────────────────────────────────────────────────────────────────────


async def test_a_claim_that_nobody_else_uses_is_as_it_was_before() -> None:
    world = World()
    await world.prepare(of(got()))
    assert await world.unreserve(of(got())) == SUCCESS
    assert world.status == {"reservedFor": []}
    assert world.finalizers == []


async def test_a_claim_whose_device_failed_is_free_for_another_device() -> None:
    world = World()
    world.after_seconds(1, world.report, "Failed")
    await world.prepare(of(got(waits=True)))
    await world.unreserve(of(got(waits=True)))
    assert "allocation" not in world.status


async def test_a_claim_that_another_pod_uses_keeps_its_devices() -> None:
    world = World()
    world.allocate("gpu-0", THEIRS)
    await world.prepare(of())
    assert await world.unreserve(of()) == SUCCESS
    assert world.status == {"allocation": written(), "reservedFor": [THEIRS]}
    assert world.finalizers == [act.FINALIZER]


async def test_of_members_that_share_a_claim_the_last_takes_the_devices_away() -> None:
    world = World()
    await world.prepare(of(got()))
    await world.prepare(of(got()), target=OTHER)
    await asyncio.gather(world.unreserve(of(got())), world.unreserve(of(got()), target=OTHER))
    assert world.status == {"reservedFor": []}
    assert world.finalizers == []


async def test_devices_that_nobody_has_reserved_are_free_again() -> None:
    world = World()
    world.allocate()
    assert await world.unreserve(of()) == SUCCESS
    assert world.status == {"reservedFor": []}
    assert world.finalizers == []


async def test_devices_that_somebody_reserves_at_that_moment_stay() -> None:
    """The decision to take them back may be older than the reservation."""
    world = World()
    world.allocate()

    def somebody_is_faster(verb: str, *_: str) -> None:
        if verb == "patch/status" and not world.reserved:
            world.allocate("gpu-0", THEIRS)

    world.before = somebody_is_faster
    assert await world.unreserve(of()) == SUCCESS
    assert world.status == {"allocation": written(), "reservedFor": [THEIRS]}


async def test_a_finalizer_without_an_allocation_is_taken_away_too() -> None:
    world = World()
    world.before = once(Reply(403), f"patch/status {CLAIM}")
    await world.prepare(of(got()))
    assert world.finalizers == [act.FINALIZER]
    assert await world.unreserve(of(got())) == SUCCESS
    assert world.finalizers == []


@pytest.mark.parametrize(
    ("claim", "happened"),
    [
        pytest.param(
            of(got()),
            lambda world: world.edit(POD, "p", {"spec": {"nodeName": "n2"}}),
            id="somebody has bound the pod",
        ),
        pytest.param(of(got()), recreate, id="it is another claim"),
        pytest.param(of(got()), lambda world: world.drop(CLAIM, "c"), id="it is gone"),
    ],
)
async def test_nothing_else_is_taken_back(
    claim: DeviceClaimDecision, happened: Callable[[World], Any]
) -> None:
    world = World()
    await world.prepare(claim)
    happened(world)
    before = dict(world.objects)
    assert await world.unreserve(claim) == SUCCESS
    assert world.objects == before


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param(lambda world: world.drop(POD, "p"), id="gone"),
        pytest.param(
            lambda world: world.put(POD, "p", uid="uid-x", spec={"nodeName": "n2"}), id="another"
        ),
    ],
)
async def test_what_a_pod_that_is_gone_had_reserved_is_free(
    happened: Callable[[World], Any],
) -> None:
    world = World()
    await world.prepare(of(got()))
    happened(world)
    await world.unreserve(of(got()))
    assert world.status == {"reservedFor": []}


async def test_what_cannot_be_taken_back_is_said() -> None:
    world = World()
    await world.prepare(of(got()))
    world.before = times(10**6, Reply(503, message="down"), f"get {POD}")
    status = await world.unreserve(of(got()))
    assert status.message == "cannot tell whether the pod is bound: down"
    world.before = times(10**6, Reply(403, message="forbidden"), f"patch/status {CLAIM}")
    status = await world.unreserve(of(got()))
    assert status.message == "ResourceClaim ns/c: forbidden"


# ── extended resources ───────────────────────────────────────────────────────────────────────


async def test_extended_resources_get_a_claim_that_the_pod_owns_and_names() -> None:
    world = World()
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    claim = world.get(CLAIM, EXTENDED)
    [owner] = claim["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "v1",
        "kind": POD,
        "name": "p",
        "uid": "uid-p",
        "controller": True,
    }
    assert claim["metadata"]["annotations"] == {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    assert claim["spec"]["devices"]["requests"] == [
        {"name": "container-0-request-0", "exactly": exactly}
    ]
    assert claim["status"]["reservedFor"] == [OURS]
    assert world.get(POD, "p")["status"] == {
        "phase": "Pending",
        "extendedResourceClaimStatus": {
            "requestMappings": [
                {
                    "containerName": "main",
                    "resourceName": "example.com/gpu",
                    "requestName": "container-0-request-0",
                }
            ],
            "resourceClaimName": EXTENDED,
        },
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(None, once(Reply(0, message="reset"), f"create {CLAIM}"), id="answer is lost"),
        pytest.param(times(3, Reply(503), f"create {CLAIM}"), None, id="the server fails"),
        pytest.param(None, once(Reply(0), f"patch/status {POD}"), id="the pod's answer is lost"),
    ],
)
async def test_a_claim_for_extended_resources_is_made_once_whatever_happens(
    before: Fault | None, after: Fault | None
) -> None:
    world = World()
    world.before, world.after = before or world.before, after or world.after
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    assert [name for kind, _, name in world.objects if kind == CLAIM] == ["c", EXTENDED]
    world.sent.clear()
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    assert world.sent == []


async def test_a_claim_of_an_earlier_attempt_for_something_else_is_deleted_first() -> None:
    world = World()
    await act.pre_bind(BY_EXTENDED, TARGET, world, 600)
    [request] = REQUESTS
    more = (Request(request.name, SubRequest(request.name, "gpu", count=3)),)
    now = DeviceDecision((), ExtendedDecision(more, MAPPINGS, got("gpu-1")))
    status = await act.pre_bind(now, TARGET, world, 600)
    assert status.message == f"claim ns/{EXTENDED} of an earlier attempt was deleted"
    assert await act.pre_bind(now, TARGET, world, 600) == SUCCESS


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            once(Reply(403, message="forbidden"), f"create {CLAIM}"),
            f"create claim for extended resources ns/{EXTENDED}: forbidden",
            id="it may not be made",
        ),
        pytest.param(
            times(10**6, Reply(503, message="down"), f"create {CLAIM}"),
            f"create claim for extended resources ns/{EXTENDED}: down",
            id="it cannot be made",
        ),
        pytest.param(
            once(Reply(422, message="invalid"), f"patch/status {POD}"),
            "update pod ns/p ExtendedResourceClaimStatus: invalid",
            id="the pod cannot name it",
        ),
    ],
)
async def test_what_fails_of_extended_resources_ends_in_a_message(
    fault: Fault, message: str
) -> None:
    world = World()
    world.before = fault
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == Status(Code.ERROR, message)
    world.before = lambda *_: None
    assert await act.unreserve(BY_EXTENDED, TARGET, world) == SUCCESS
    assert not any(name == EXTENDED for _, _, name in world.objects)


async def test_a_claim_of_that_name_that_is_somebody_elses_is_left_alone() -> None:
    world = World()
    world.put(CLAIM, EXTENDED, spec={})
    status = await act.pre_bind(BY_EXTENDED, TARGET, world, 600)
    assert status.message == f"ResourceClaim ns/{EXTENDED} is not of this pod: delete it"
    await act.unreserve(BY_EXTENDED, TARGET, world)
    assert world.sent == []


async def test_the_claim_of_a_plan_given_up_is_deleted_and_the_pod_names_none() -> None:
    world = World()
    await act.pre_bind(BY_EXTENDED, TARGET, world, 600)
    assert await act.unreserve(BY_EXTENDED, TARGET, world) == SUCCESS
    assert (CLAIM, "ns", EXTENDED) not in world.objects
    assert world.get(POD, "p")["status"] == {"phase": "Pending"}


async def test_a_claim_that_another_scheduler_made_for_extended_resources_is_deleted_too() -> None:
    world = World()
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    made = world.get(CLAIM, EXTENDED)
    world.drop(CLAIM, EXTENDED)
    metadata = {key: made["metadata"][key] for key in ("annotations", "ownerReferences")}
    world.put(CLAIM, "p-extended-resources-x7k2p", metadata=metadata, spec=made["spec"])
    left = ExtendedDecision((), (), Allocation(), "ns/p-extended-resources-x7k2p")
    assert await act.unreserve(DeviceDecision((), left), TARGET, world) == SUCCESS
    assert (CLAIM, "ns", "p-extended-resources-x7k2p") not in world.objects


async def test_a_long_name_of_a_pod_leaves_its_claim_a_name_of_its_own() -> None:
    world = World()
    long = Target("plan-1", PodKey("ns", "p" * 253), PodUID("4bba0b2c-77aa"), "n1")
    world.put(POD, long.pod.name, uid=long.uid, spec={})
    assert await act.pre_bind(BY_EXTENDED, long, world, 600) == SUCCESS
    assert (CLAIM, "ns", "p" * 55 + "4bba0b2c") in world.objects
