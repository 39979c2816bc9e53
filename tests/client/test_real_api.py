# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The same package against a real kube-apiserver, as a user with the scheduler's role only."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from enbloc.client.binding import Binding, Bound, Refused, Unknown, bind, settle
from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.errors import Conflict, Forbidden
from enbloc.client.events import Notice, ObjectReference, Recorder
from enbloc.client.eviction import PAUSE, Blocked, Evicted, EvictionRequest, Exempt, Outcome, evict
from enbloc.client.items import Seen
from enbloc.client.lease import Elector
from enbloc.client.paths import EVENTS, LEASES, NAMESPACES, NODES, POD_GROUPS, PODS, Resource
from enbloc.client.permissions import ROLES
from enbloc.client.reflector import Reflector
from enbloc.model import names
from enbloc.model.binding import RefusalCause
from tests.client.fake import Pod
from tests.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane

CRDS = Path(__file__).resolve().parents[2] / "crds"
USER = "scheduler"


@dataclass
class World:
    """A namespace of its own.

    Attributes:
        admin: may do anything.
        scheduler: has the scheduler's role, and refuses to send what is not in it.
    """

    control: ControlPlane
    admin: Client
    scheduler: Client
    namespace: str

    async def pod(
        self, name: str, *, spec: dict[str, Any] | None = None, **metadata: Any
    ) -> dict[str, Any]:
        whole = {
            "schedulerName": names.SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i"}],
            **(spec or {}),
        }
        body = {"metadata": {"name": name, **metadata}, "spec": whole}
        made: dict[str, Any] = await self.admin.create(PODS, body, self.namespace)
        return made

    def binding(self, pod: dict[str, Any], uid: str = "") -> Binding:
        metadata = pod["metadata"]
        record = {
            names.PLAN_KEY: "binding record",
            names.RANK_KEY: "3",
            names.SIZE_KEY: "8",
        }
        return Binding(self.namespace, metadata["name"], uid or metadata["uid"], "n1", record)


@pytest.fixture(scope="module")
def control() -> Generator[ControlPlane, None, None]:
    with ControlPlane() as started:
        started.kubectl("apply", "-f", str(CRDS))
        started.established("podgroups.enbloc.dev")
        started.kubectl("apply", "-f", "-", stdin=json.dumps(_role()))
        started.kubectl("create", "clusterrolebinding", USER, f"--clusterrole={USER}",
                        f"--user={USER}")  # fmt: skip
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        started.kubectl("apply", "-f", "-", stdin=json.dumps(node))
        yield started


def _role() -> dict[str, Any]:
    rules = [
        {
            "apiGroups": [rule.group],
            "resources": list(rule.resources),
            "verbs": list(rule.verbs),
            "resourceNames": list(rule.names),
        }
        for rule in ROLES["scheduler"]
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": USER},
        "rules": rules,
    }


@pytest.fixture
async def world(control: ControlPlane) -> AsyncGenerator[World, None]:
    namespace = f"t{uuid4().hex[:8]}"
    as_user = await load(control.kubeconfig_for_user(USER))
    async with (
        Client(await load(control.kubeconfig), component="admin") as admin,
        Client(as_user, component="test", rules=ROLES["scheduler"]) as scheduler,
    ):
        await admin.create(NAMESPACES, {"metadata": {"name": namespace}})
        yield World(control, admin, scheduler, namespace)


async def test_the_answers_to_a_binding_are_what_we_take_them_for(world: World) -> None:
    pod = await world.pod("p")
    another = world.binding(pod, uid="other")
    for outcome in (await bind(world.scheduler, another), await settle(world.scheduler, another)):
        assert isinstance(outcome, Refused)
        assert outcome.cause is RefusalCause.MEMBER_CHANGED
    assert await bind(world.scheduler, world.binding(pod)) == Bound()
    for send in (bind, settle):  # 409, and the pod is where it was to go
        assert await send(world.scheduler, world.binding(pod)) == Bound()
        elsewhere = await send(world.scheduler, replace(world.binding(pod), node="n2"))
        assert isinstance(elsewhere, Refused)
        assert elsewhere.cause is RefusalCause.MEMBER_CHANGED
    bound = await world.admin.get(PODS, "p", world.namespace)
    annotations = bound["metadata"]["annotations"]
    assert annotations[names.PLAN_KEY] == "binding record"
    assert (annotations[names.RANK_KEY], annotations[names.SIZE_KEY]) == ("3", "8")


async def test_a_member_that_changed_is_refused_and_blames_nobody(world: World) -> None:
    """Semantics §3.4: gated 409, deleting 409, no such pod 404."""
    gated = await world.pod("gated", spec={"schedulingGates": [{"name": "test/gate"}]})
    leaving = await world.pod("leaving", finalizers=["test.enbloc.dev/stay"])
    await world.admin.delete(PODS, "leaving", world.namespace)
    gone = {"metadata": {"name": "gone", "uid": "u"}}
    for pod in (gated, leaving, gone):
        for send in (bind, settle):
            outcome = await send(world.scheduler, world.binding(pod))
            assert isinstance(outcome, Refused)
            assert outcome.cause is RefusalCause.MEMBER_CHANGED
    empty = {"metadata": {"finalizers": None}}
    await world.admin.patch(PODS, "leaving", empty, world.namespace, kind=PatchType.MERGE)


async def test_a_node_that_does_not_exist_and_a_finished_pod_are_no_obstacles(
    world: World,
) -> None:
    """Semantics §3.4: the server says 201, so the last look must know better."""
    pod = await world.pod("astray")
    assert await bind(world.scheduler, replace(world.binding(pod), node="none")) == Bound()
    pod = await world.pod("finished")
    status = {"status": {"phase": "Failed"}}
    await world.admin.patch(
        PODS, "finished", status, world.namespace, kind=PatchType.MERGE, subresource="status"
    )
    assert await bind(world.scheduler, world.binding(pod)) == Bound()


async def test_a_terminating_namespace_is_told_from_a_missing_permission(world: World) -> None:
    """Semantics §3.4: 403 also for a pod already bound, which a GET tells."""
    stays = ["test.enbloc.dev/stay"]
    pod, bound = [await world.pod(name, finalizers=stays) for name in ("p", "bound")]
    assert await bind(world.scheduler, world.binding(bound)) == Bound()
    await world.admin.delete(NAMESPACES, world.namespace)
    for refused in (pod, bound):
        outcome = await bind(world.scheduler, world.binding(refused))
        assert isinstance(outcome, Refused)
        assert outcome.cause is RefusalCause.NAMESPACE_TERMINATING
    assert await settle(world.scheduler, world.binding(bound)) == Bound()
    nobody = await load(world.control.kubeconfig_for_user("nobody"))
    async with Client(nobody, component="test") as client:
        outcome = await bind(client, world.binding(pod))
        assert isinstance(outcome, Refused)
        assert outcome.cause is RefusalCause.SCHEDULER_ERROR
        with pytest.raises(Forbidden, match="cannot get pods: 403 Forbidden"):
            await client.get(PODS, "p", world.namespace)
    empty = {"metadata": {"finalizers": None}}
    for name in ("p", "bound"):
        await world.admin.patch(PODS, name, empty, world.namespace, kind=PatchType.MERGE)


async def test_preconditions_protect_another_pod_of_that_name(world: World) -> None:
    pod = await world.pod("p")
    with pytest.raises(Conflict):
        await world.admin.delete(PODS, "p", world.namespace, uid="other")
    stale = str(int(pod["metadata"]["resourceVersion"]) - 1)
    with pytest.raises(Conflict):
        await world.admin.delete(PODS, "p", world.namespace, resource_version=stale)


# ── evictions (semantics §4.5) ────────────────────────────────────────────────────────────────

#: What owns pods here: nothing acts on it.
OWNERS = Resource("", "v1", "configmaps", "ConfigMap")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


async def owned(world: World, name: str, phase: str, **metadata: Any) -> dict[str, Any]:
    """As `placed`, with a controller."""
    thing = {"metadata": {"name": f"owner-of-{name}"}}
    owner = (await world.admin.create(OWNERS, thing, world.namespace))["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"]}
    references = [{**reference, "uid": owner["uid"], "controller": True}]
    return await placed(world, name, phase, ownerReferences=references, **metadata)


async def placed(world: World, name: str, phase: str, **metadata: Any) -> dict[str, Any]:
    """A pod with a node, where it runs or has yet to start."""
    pod = await world.pod(name, **metadata)
    assert await bind(world.scheduler, world.binding(pod)) == Bound()
    status = {"status": {"phase": phase}}
    shown: dict[str, Any] = await world.admin.patch(
        PODS, name, status, world.namespace, kind=PatchType.MERGE, subresource="status"
    )
    return shown


async def evicted(world: World, pod: dict[str, Any], uid: str = "") -> Outcome:
    metadata = pod["metadata"]
    victim = EvictionRequest(
        world.namespace, metadata["name"], uid or metadata["uid"], "BelowMinimum", "3 of 8 fit"
    )
    async with asyncio.timeout(60.0):
        return await evict(world.scheduler, victim, lambda: 1_800_000_000.0)


@pytest.mark.parametrize(
    ("phase", "reason"), [("Pending", "BelowMinimum"), ("Running", "EvictionByEvictionAPI")]
)
async def test_an_evicted_pod_is_deleted_with_its_own_grace_period_and_says_why(
    world: World, phase: str, reason: str
) -> None:
    # A finalizer keeps the pod in sight.
    stays = ["test.enbloc.dev/stay"]
    pod = await owned(world, "p", phase, finalizers=stays)
    assert await evicted(world, pod) == Evicted()
    assert await evicted(world, pod) == Evicted()
    shown = await world.admin.get(PODS, "p", world.namespace)
    assert shown["metadata"]["deletionGracePeriodSeconds"] == 30
    [reasons] = [
        c["reason"] for c in shown["status"]["conditions"] if c["type"] == "DisruptionTarget"
    ]
    assert reasons == reason
    empty = {"metadata": {"finalizers": None}}
    await world.admin.patch(PODS, "p", empty, world.namespace, kind=PatchType.MERGE)


async def test_a_bare_pod_and_a_namesake_are_spared(world: World) -> None:
    pod = await placed(world, "bare", "Running")
    assert isinstance(await evicted(world, pod), Exempt)
    shown = await world.admin.get(PODS, "bare", world.namespace)
    types = {c["type"] for c in shown["status"]["conditions"]}
    assert "DisruptionTarget" not in types
    pod = await owned(world, "owned", "Running")
    assert isinstance(await evicted(world, pod, uid="other"), Exempt)
    assert isinstance(await evicted(world, {"metadata": {"name": "no", "uid": "u"}}), Exempt)


async def test_a_budget_spares_what_runs_and_nothing_else(world: World) -> None:
    labels = {"app": "g"}
    spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    running = await owned(world, "r", "Running", labels=labels)
    for name, budget in (("one", True), ("two", False)):  # the server cannot do with two
        body = {"metadata": {"name": name}, "spec": spec}
        await world.admin.create(BUDGETS, body, world.namespace)
        blocked = await evicted(world, running)
        assert isinstance(blocked, Blocked)
        assert (blocked.budget, blocked.retry_after) == (budget, PAUSE)
    pending = await owned(world, "p", "Pending", labels=labels)
    assert await evicted(world, pending) == Evicted()


async def test_what_runs_in_a_terminating_namespace_is_left_to_its_end(world: World) -> None:
    stays = ["test.enbloc.dev/stay"]
    pod = await owned(world, "p", "Running", finalizers=stays)
    await world.admin.delete(NAMESPACES, world.namespace)
    assert isinstance(await evicted(world, pod), Exempt)
    empty = {"metadata": {"finalizers": None}}
    await world.admin.patch(PODS, "p", empty, world.namespace, kind=PatchType.MERGE)


async def test_a_status_is_applied_with_the_permission_to_patch_it_alone(world: World) -> None:
    group = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": "g"},
    }
    await world.admin.create(POD_GROUPS, {**group, "spec": {"minMember": 2}}, world.namespace)
    written = await world.scheduler.patch(
        POD_GROUPS,
        "g",
        {**group, "status": {"attempts": 3}},
        world.namespace,
        kind=PatchType.APPLY,
        subresource="status",
        query={"fieldManager": names.SCHEDULER_MANAGER, "force": "true"},
    )
    assert written["status"]["attempts"] == 3


async def test_repeated_events_are_one_series(world: World) -> None:
    pod = await world.pod("p")
    recorder = Recorder(world.scheduler, "scheduler-0")
    about = ObjectReference(PODS, world.namespace, "p", pod["metadata"]["uid"])
    for _ in range(3):
        recorder.emit(Notice("Warning", "FailedScheduling", "Scheduling", "no", "enbloc", about))
    await recorder.flush(10)
    (event,) = [event async for event in world.admin.list(EVENTS, world.namespace)]
    assert event["series"]["count"] == 3
    described = world.control.kubectl("describe", "pod", "p", "-n", world.namespace).stdout
    assert "(x3 over" in described


async def test_leadership_passes_from_one_to_the_next(world: World) -> None:
    def elector(identity: str) -> Elector:
        return Elector(
            world.scheduler,
            namespace=world.namespace,
            name=names.SCHEDULER_LEASE,
            identity=identity,
        )

    reigns: list[tuple[str, int]] = []

    async def lead(candidate: Elector) -> None:
        async def work() -> None:
            reigns.append((candidate.holder, candidate.epoch))
            assert candidate.holds()

        await candidate.run(work)

    await lead(elector("one"))
    await lead(elector("two"))
    assert reigns == [("one", 0), ("two", 1)]
    lease = await world.admin.get(LEASES, names.SCHEDULER_LEASE, world.namespace)
    assert lease["spec"]["holderIdentity"] == ""


async def test_a_quiet_stream_is_confirmed_within_seconds(world: World) -> None:
    reflector = Reflector(world.scheduler, PODS, Pod, namespace=world.namespace)
    task = asyncio.create_task(_drain(reflector))
    await world.admin.create(NODES, {"metadata": {"name": f"n-{world.namespace}"}})
    async with asyncio.timeout(10):
        await reflector.confirm()
    assert reflector.synced
    await _cancel(task)


async def _drain(reflector: Reflector[Pod]) -> None:
    async for _ in reflector.stream():
        pass


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_crash_of_the_api_server_in_a_burst_loses_and_doubles_nothing(
    world: World,
) -> None:
    count = 300
    slots = asyncio.Semaphore(32)
    shown, on_node = Counter[tuple[str, int]](), Counter[str]()
    well = asyncio.Event()

    def report(problem: str | None) -> None:
        (well.clear if problem else well.set)()

    reflector = Reflector(world.scheduler, PODS, Pod, namespace=world.namespace, report=report)

    async def follow() -> None:
        async for item in reflector.stream():
            if isinstance(item, Seen):
                shown[item.meta.uid, item.meta.version] += 1
            if isinstance(item, Seen) and item.object.spec.get("nodeName"):
                on_node[item.meta.uid] += 1

    async def one_by_one(work: Coroutine[Any, Any, Any]) -> Any:
        async with slots:
            return await work

    async def bound(pod: dict[str, Any]) -> Bound | Refused:
        outcome = await bind(world.scheduler, world.binding(pod))
        if isinstance(outcome, Unknown):
            return await settle(world.scheduler, world.binding(pod))
        return outcome

    task = asyncio.create_task(follow())
    pods = await asyncio.gather(*(one_by_one(world.pod(f"p{index}")) for index in range(count)))
    binds = asyncio.gather(*(one_by_one(bound(pod)) for pod in pods))
    await asyncio.sleep(0.1)
    await asyncio.to_thread(world.control.restart_apiserver, 1.0, crash=True)
    outcomes = await binds
    async with asyncio.timeout(30):
        await well.wait()
        await reflector.confirm()
    # Until its own caches are warm, a restarted server may refuse what the role allows.
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert all(outcome.cause is RefusalCause.SCHEDULER_ERROR for outcome in refused)
    uids = {pod["metadata"]["uid"] for pod in pods}
    assert {uid for uid, _ in shown} == set(uids)
    assert set(shown.values()) == {1}, "no state of a pod is shown twice"
    assert on_node.keys() <= uids
    assert len(on_node) == count - len(refused)
    await _cancel(task)
