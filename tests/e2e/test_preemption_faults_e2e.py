# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions while nodes, leaders and answers of the API server are lost."""

import asyncio
from contextlib import suppress
from typing import Any, Final

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import NotFound
from enbloc.client.paths import NODES, PODS
from enbloc.model.names import SILENT_KEY, EventReason
from enbloc.model.pins import HOSTNAME
from tests.e2e import manifests
from tests.e2e.evictions import HIGH, MID, Evictions, bound, pod_says
from tests.e2e.fault_proxy import Fault, FaultProxy, is_binding, is_eviction
from tests.e2e.replicas import Replicas
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("leaders are killed, and victims waited for")

#: Keeps a pod from being gone until it is taken off.
HOLD: Final = "example.com/hold"


async def let_go(world: World, name: str) -> None:
    """Take its finalizers off a pod."""
    patch = {"metadata": {"finalizers": None}}
    with suppress(NotFound):
        await world.client.patch(PODS, name, patch, world.namespace, kind=PatchType.MERGE)


async def held_pod(world: World, name: str, **how: Any) -> None:
    """A pod that stays terminating until it is let go, or the test ends."""
    made = manifests.pod(name, **how)
    made["metadata"]["finalizers"] = [HOLD]
    await world.client.create(PODS, made, world.namespace)
    world.stack.push_async_callback(let_go, world, name)


async def full_of_a_gang(world: World) -> set[str]:
    """Two nodes, full of a gang of four whose Job makes its pods again; the names of its pods."""
    await world.nodes(2, cpu=2)
    await world.group("low", 4)
    await world.job("low", 4, "low")
    await world.running("low", 4)
    return bound(world, "low")


# ── a node ───────────────────────────────────────────────────────────────────────────────────


async def test_a_victim_that_hangs_on_a_dead_node_is_given_up_for_others(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.4."""
    dead, well = await world.nodes(2, cpu=1)
    brief: dict[str, Any] = {"terminationGracePeriodSeconds": 1}
    await world.pod("low", node_selector={HOSTNAME: dead}, **brief)
    await world.pod("mid", node_selector={HOSTNAME: well}, priority_class=MID, **brief)
    for name in ("low", "mid"):
        await world.running(name, 1)
    silent = {"metadata": {"annotations": {SILENT_KEY: "true"}}}
    await world.client.patch(NODES, dead, silent, kind=PatchType.MERGE)
    proxy.hold(after=1, of=is_eviction)
    await world.gang("high", 1, priority_class=HIGH)
    await world.until(lambda: evictions.told == {"low"}, "the cheaper one is told")
    await pod_says(world, "high-0", f"waiting for pod {world.namespace}/mid")
    await pod_says(world, "high-0", f"pod {world.namespace}/low on node {dead} did not leave")
    proxy.release()
    await world.bound("high", 1)
    assert world.observer.bound(world.namespace, "high") == {"high-0": well}
    assert evictions.told == {"low", "mid"}


# ── a leader ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def replicas(world: World, proxy: FaultProxy) -> Replicas:
    world.scheduler.kill()
    return await Replicas(world, kubeconfig=proxy.through).start()


async def one_told(world: World, evictions: Evictions, proxy: FaultProxy) -> None:
    """Return when one victim was told, and the next one is about to be."""
    await world.until(lambda: len(evictions.told) == 1 and proxy.held > 0, "one was told")
    [name] = evictions.told
    await world.event(name, EventReason.PREEMPTED)


async def test_a_gang_of_which_one_was_told_when_the_leader_died_goes_whole(
    world: World, evictions: Evictions, proxy: FaultProxy, replicas: Replicas
) -> None:
    """Semantics §10.3: though what the first one left is all that was needed."""
    await world.nodes(3, cpu=1)
    await world.gang("low", 2)
    await world.running("low", 2)
    await world.pod("mid", priority_class=MID)
    await world.running("mid", 1)
    proxy.hold(after=1, of=is_eviction)
    await world.pod("high", priority_class=HIGH)
    await one_told(world, evictions, proxy)
    await replicas.kill_the_leader()
    proxy.release()
    await world.bound("high", 1)
    await world.until(lambda: not bound(world, "low"), "the gang is gone whole")
    await world.quiet()
    assert evictions.told == {"low-0", "low-1"}


async def test_a_preemption_goes_on_when_the_leader_died_between_two_evictions(
    world: World, evictions: Evictions, proxy: FaultProxy, replicas: Replicas
) -> None:
    """Semantics §10.3."""
    victims = await full_of_a_gang(world)
    proxy.hold(after=1, of=is_eviction)
    await world.gang("high", 2, priority_class=HIGH, cpu=2)
    await one_told(world, evictions, proxy)
    await replicas.kill_the_leader()
    proxy.release()
    await world.bound("high", 2)
    await world.quiet()
    assert evictions.told == victims
    assert bound(world, "low") == set()


async def test_nobody_else_is_told_when_the_leader_died_before_the_first_binding(
    world: World, evictions: Evictions, proxy: FaultProxy, replicas: Replicas
) -> None:
    """Semantics §10.3: what the victims left is the preemptor's, whoever leads."""
    victims = await full_of_a_gang(world)
    proxy.hold(after=0, of=is_binding)
    await world.gang("high", 2, priority_class=HIGH, cpu=2)
    await world.until(lambda: proxy.held > 0, "a Binding is held")
    await world.pod("other", priority_class=MID)
    await evictions.are_said()
    await replicas.kill_the_leader()
    proxy.release()
    await world.bound("high", 2)
    await world.quiet()
    assert evictions.told == victims
    assert bound(world, "") == {"high-0", "high-1"}


async def test_a_new_leader_waits_for_those_who_leave_already(
    world: World, evictions: Evictions, replicas: Replicas
) -> None:
    """Semantics §10.3: also where somebody else would matter less to it by now."""
    first, other = await world.nodes(2, cpu=1)
    await held_pod(world, "low", node_selector={HOSTNAME: first})
    await world.pod("mid", node_selector={HOSTNAME: other}, priority_class=MID)
    for name in ("low", "mid"):
        await world.running(name, 1)
    await world.pod("high", priority_class=HIGH)
    await world.until(lambda: evictions.told == {"low"}, "the cheaper one is told")
    await pod_says(world, "high", f"waiting for pod {world.namespace}/low")
    await evictions.are_said()
    killing = asyncio.create_task(replicas.kill_the_leader())
    await world.remove_pod("mid")
    world.observer.bound_by_test.add("younger")
    await world.pod("younger", node=other)
    await killing
    await world.quiet()
    assert evictions.told == {"low"}
    await let_go(world, "low")
    await world.bound("high", 1)
    assert world.observer.bound(world.namespace, "high") == {"high": first}
    assert evictions.told == {"low"}


# ── an answer ────────────────────────────────────────────────────────────────────────────────

FAULTS: Final = {
    "429": Fault(sends=0, forge=429, retry_after="1"),
    "500": Fault(sends=0, forge=500),
    "404": Fault(sends=0, forge=404),
    "409": Fault(sends=0, forge=409),
    "lost": Fault(drop=True),
    "never sent": Fault(sends=0, drop=True),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_whatever_the_server_answers_to_evictions_each_victim_goes_once(
    world: World, evictions: Evictions, proxy: FaultProxy, fault: Fault
) -> None:
    victims = await full_of_a_gang(world)
    left = 3

    def policy(method: str, path: str) -> Fault:
        nonlocal left
        if not is_eviction(method, path) or not left:
            return Fault()
        left -= 1
        return fault

    proxy.policy = policy
    await world.gang("high", 2, priority_class=HIGH, cpu=2)
    await world.bound("high", 2)
    await world.quiet()
    assert left == 0
    assert evictions.told == victims
    await world.until(
        lambda: evictions.said(EventReason.PREEMPTING) == {"high": 1}, "the preemptor says it"
    )


def is_mark(name: str, method: str, path: str) -> bool:
    return method == "PATCH" and path.endswith(f"/pods/{name}/status")


async def test_a_gang_of_which_one_may_not_be_marked_stays_whole(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.3: an admission policy denies the status of one pod."""
    names = sorted(await full_of_a_gang(world))
    denied = 0

    def policy(method: str, path: str) -> Fault:
        nonlocal denied
        if not is_mark(names[1], method, path):
            return Fault()
        denied += 1
        return Fault(sends=0, forge=403)

    proxy.policy = policy
    await world.pod("high", priority_class=HIGH)
    await world.until(lambda: denied > 0, "a mark is denied")
    await pod_says(world, "high", "preemption:")
    await asyncio.sleep(5)
    assert evictions.told == set()
    assert bound(world, "low") == set(names)


async def test_nobody_is_evicted_later_for_a_preemptor_that_was_deleted(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.3: no mark was possible while there was a preemptor."""
    await world.nodes(1, cpu=1)
    await world.pod("low")
    await world.running("low", 1)
    tried = 0

    def policy(method: str, path: str) -> Fault:
        nonlocal tried
        if not is_mark("low", method, path):
            return Fault()
        tried += 1
        return Fault(sends=0, forge=500)

    proxy.policy = policy
    await world.pod("high", priority_class=HIGH)
    await world.until(lambda: tried > 1, "a mark fails")
    await world.remove_pod("high")
    await asyncio.sleep(2)
    proxy.policy = lambda *_: Fault()
    await asyncio.sleep(15)  # longer than what is left of a pause between two tries
    assert evictions.told == set()
    assert bound(world, "low") == {"low"}
