# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that lose members, before they have started and after: who is evicted, and who never is.

The scheduler's requests are read by a proxy, so what it deletes is known by name.
"""

from typing import Any

import pytest

from enbloc.client.paths import POD_GROUPS
from enbloc.model.names import Condition, EventReason, Reason
from tests.e2e import incidents
from tests.e2e.fault_proxy import Fault, FaultProxy, evicts, is_binding
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("deadlines of gangs are waited for")

SIZE = 8
#: Seconds in which a group of these tests must be whole, where it must be.
TIMEOUT = 3
HOUR = 3600.0


def evicted(proxy: FaultProxy) -> set[str]:
    """The names of the pods that the scheduler has deleted or evicted."""
    return {asked.path.split("/")[6] for asked in proxy.asked if evicts(asked)}


def names_of(world: World, group: str) -> set[str]:
    """The members of a group that still count: neither finished nor failed."""
    return {
        pod.metadata.name
        for pod in world.observer.of(world.namespace)
        if pod.group == group and pod.status.phase not in ("Succeeded", "Failed")
    }


async def settled(world: World, group: str, count: int, timeout: float = 30) -> None:
    """Wait until so many live members of a group are Running."""

    def running() -> int:
        return sum(
            pod.group == group and pod.status.phase == "Running"
            for pod in world.observer.of(world.namespace)
        )

    await world.until(
        lambda: running() == count, f"{count} of {group} are running", timeout=timeout
    )


# ── after the start: never ───────────────────────────────────────────────────────────────────


async def test_a_job_whose_pods_finish_and_fail_one_by_one_loses_none_to_us(world: World) -> None:
    """Semantics §2.2, §4.1, §4.3: success counts, lost room is held, a started gang stays."""
    await world.nodes(1, cpu=SIZE)
    proxy = await incidents.fault_proxy(world)
    await world.group("train", SIZE, scheduleTimeoutSeconds=60)
    await world.job("train", SIZE, "train", backoff_limit=100)
    await settled(world, "train", SIZE)
    await world.quiet()  # a creationTimestamp counts whole seconds
    await world.pod("younger")
    left = SIZE
    for phase in ("Failed", "Succeeded", "Failed", "Succeeded"):
        victim = min(names_of(world, "train"))
        await incidents.ends(world, victim, phase)
        left -= phase == "Succeeded"
        await world.until(
            lambda victim=victim: victim not in names_of(world, "train"),  # type: ignore[misc]
            f"{victim} has {phase}",
        )
        await settled(world, "train", left)
        assert bool(world.observer.bound(world.namespace, "younger")) <= (left < SIZE)
    await world.bound("younger", 1)
    for name in names_of(world, "train"):
        await incidents.ends(world, name, "Succeeded")
    await world.condition("train", Condition.FINISHED, "True", reason=Reason.SUCCEEDED, timeout=60)
    assert evicted(proxy) == set()


async def halved(world: World, policy: str) -> FaultProxy:
    """A gang that was started an hour ago has lost half of its members with their node.

    The hour is in the Date of every answer that the scheduler gets: by it the gang was created,
    bound and started an hour ago, and every replacement has been waiting for an hour as well.
    """

    async def has_started() -> bool:
        found = await world.client.get(POD_GROUPS, "train", world.namespace)
        return bool(found.get("status", {}).get("startedTime"))

    await world.nodes(1, cpu=SIZE // 2)
    [lost] = await world.nodes(1, cpu=SIZE // 2)
    proxy = await incidents.fault_proxy(world)
    owner = await incidents.owner(world, "operator")
    await world.group("train", SIZE, scheduleTimeoutSeconds=TIMEOUT, onIncomplete=policy)
    for index in range(SIZE):
        await world.pod(f"train-{index}", "train", owner=owner)
    await settled(world, "train", SIZE)
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    await world.eventually(has_started, lambda: "its status says that it has started")
    proxy.ahead = HOUR
    await world.start_scheduler(kubeconfig=proxy.through, restart=True)
    gone = await incidents.lose(world, lost)
    assert len(gone) == SIZE // 2
    for name in gone:
        await world.pod(f"{name}-again", "train", owner=owner)
    return proxy


@pytest.mark.parametrize("policy", ["Repair", "Keep"])
async def test_a_gang_started_an_hour_ago_waits_for_room_and_is_never_evicted(
    world: World, policy: str
) -> None:
    """Semantics §4.3: a training run of three days does not die because one node did."""
    proxy = await halved(world, policy)
    await world.condition("train", Condition.SCHEDULED, "False", reason=Reason.BELOW_MINIMUM)
    await world.quiet()
    assert len(world.observer.bound(world.namespace, "train")) == SIZE // 2
    await world.nodes(1, cpu=SIZE // 2)
    await settled(world, "train", SIZE)
    await world.condition("train", Condition.SCHEDULED, "True")
    assert evicted(proxy) == set()


async def test_a_gang_that_asks_for_it_gives_its_room_back_after_its_start_too(
    world: World,
) -> None:
    """Semantics §4.3: `Restart`, once the replacements exist and could not be placed in time."""
    proxy = await halved(world, "Restart")
    kept = set(world.observer.bound(world.namespace, "train"))
    await world.until(
        lambda: not world.observer.bound(world.namespace, "train"), "all have given their room back"
    )
    assert evicted(proxy) == kept


# ── before the start: at the deadline ────────────────────────────────────────────────────────


async def node(world: World, cpu: int, pool: str, start: float = 0.0) -> str:
    """A node with room for as many members of this pool."""
    [name] = await world.nodes(1, cpu=cpu, start=start)
    await world.label(name, "pool", pool)
    return name


async def cut_off(world: World, owner: Any = None) -> FaultProxy:
    """A gang that is bound in part and whose other members have lost the only node for them.

    Two of its members are Running, two are bound to a node where pods take their time.
    """
    await node(world, 2, "quick")
    await node(world, 2, "slow", start=600.0)
    lost = await node(world, 4, "lost")
    proxy = await incidents.fault_proxy(world)

    def policy(method: str, path: str) -> Fault:
        stuck = is_binding(method, path) and path.split("/")[6] >= "old-4"
        return Fault(sends=0, drop=True) if stuck else Fault()

    proxy.policy = policy
    await world.group("old", SIZE, scheduleTimeoutSeconds=TIMEOUT)
    for index, pool in enumerate(["quick"] * 2 + ["slow"] * 2 + ["lost"] * 4):
        await world.pod(f"old-{index}", "old", owner=owner, node_selector={"pool": pool})
    await world.bound("old", 4)
    await settled(world, "old", 2)
    world.scheduler.kill()
    await incidents.lose(world, lost)
    proxy.policy = lambda *_: Fault()
    await world.start_scheduler(kubeconfig=proxy.through)
    return proxy


async def test_a_gang_that_cannot_be_completed_gives_its_room_to_a_younger_one(
    world: World,
) -> None:
    """Semantics §4.2, §4.3, §4.5: at the deadline, by DELETE what is not Running, else evicted."""
    proxy = await cut_off(world, await incidents.owner(world, "operator"))
    await world.gang("young", 4)
    await world.event("old", EventReason.GANG_TIMED_OUT)
    await world.bound("young", 4)
    assert evicted(proxy) == {"old-0", "old-1", "old-2", "old-3"}
    ways = {asked.method for asked in proxy.asked if evicts(asked)}
    assert ways == {"DELETE", "POST"}


async def test_bare_pods_of_a_gang_in_part_are_kept_past_the_deadline(world: World) -> None:
    """Semantics §4.5: a deleted bare pod never comes back."""
    proxy = await cut_off(world)
    await world.condition("old", Condition.SCHEDULED, "False", message="one has no controller")
    for _ in range(TIMEOUT + 1):
        await world.quiet()
    assert evicted(proxy) == set()
    await node(world, 4, "lost")
    await world.bound("old", SIZE)
