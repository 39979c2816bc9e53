# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who gives way to whom on a running API server; every test on both targets.

Each is judged at its end: nobody was evicted twice, no gang was left in part, everybody who was
made to leave has one event that says so.
"""

import asyncio
from contextlib import suppress
from typing import Final

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import JOBS, POD_DISRUPTION_BUDGETS, PODS, PRIORITY_CLASSES
from enbloc.model.names import Condition, EventReason, Reason
from tests.e2e import manifests
from tests.e2e.evictions import HIGH, MID, Evictions, bound, pod_says
from tests.e2e.fault_proxy import FaultProxy, is_eviction
from tests.e2e.world import World

PATIENT: Final = "e2e-never-preempts"


async def test_a_gang_takes_the_place_of_a_whole_one_whose_job_makes_its_pods_again(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1, §10.3."""
    await world.nodes(2, cpu=1)
    await world.group("low", 2)
    await world.job("low", 2, "low")
    await world.condition("low", Condition.READY, "True", reason="Running")
    victims = bound(world, "low")
    await world.gang("high", 2, priority_class=HIGH)
    await world.bound("high", 2)
    await world.condition("low", Condition.SCHEDULED, "False")
    of_preemption = Reason.PREEMPTION_BY_SCHEDULER
    by_whom = f"PodGroup {world.namespace}/high"
    await world.condition(
        "low", Condition.DISRUPTION_TARGET, "True", reason=of_preemption, message=by_whom
    )
    await world.quiet()
    assert evictions.told == victims
    assert bound(world, "low") == set()
    await world.until(
        lambda: evictions.said(EventReason.PREEMPTING) == {"high": 1}, "the preemptor says it"
    )
    for name in sorted(bound(world, "high")):
        await world.remove_pod(name)
    await world.bound("low", 2)
    assert evictions.told == victims


async def test_only_the_surplus_of_an_elastic_gang_gives_way(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1."""
    await world.nodes(1, cpu=4)
    await world.group("elastic", 3)
    await world.job("elastic", 4, "elastic")
    await world.bound("elastic", 4)
    await world.pod("urgent", priority_class=HIGH)
    await world.bound("urgent", 1)
    await world.quiet()
    assert len(evictions.told) == 1
    assert len(bound(world, "elastic")) == 3
    await world.condition("elastic", Condition.SATISFIED, "True")


async def test_a_gang_takes_no_more_of_an_elastic_one_than_its_surplus(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1: the youngest, of whom two sit on each node."""
    await world.nodes(2, cpu=4)
    await world.group("elastic", 4)
    body = manifests.job("elastic", 8, "elastic")
    body["spec"]["parallelism"] = 4
    await world.client.create(JOBS, body, world.namespace)
    await world.bound("elastic", 4)
    more = {"spec": {"parallelism": 8}}
    await world.client.patch(JOBS, "elastic", more, world.namespace, kind=PatchType.MERGE)
    await world.bound("elastic", 8)
    await world.gang("urgent", 2, priority_class=HIGH, cpu=2)
    await world.bound("urgent", 2)
    await world.quiet()
    assert len(evictions.told) == 4
    assert len(bound(world, "elastic")) == 4
    await world.condition("elastic", Condition.SATISFIED, "True")


async def test_what_the_first_victim_leaves_is_not_its_jobs_again(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.3: its Job makes it again at once, and it fits where it was."""
    await world.nodes(2, cpu=1)
    for name in ("low-a", "low-b"):
        await world.job(name, 1, "")
    await world.running("low", 2)
    victims = bound(world, "low")
    proxy.hold(after=1, of=is_eviction)
    await world.gang("high", 2, priority_class=HIGH)
    await world.until(lambda: len(bound(world, "low")) == 1, "the first victim is gone")
    [left] = bound(world, "low")
    await world.until(
        lambda: len(world.observer.of(world.namespace, "low")) == 2, "it was made again"
    )
    await pod_says(world, "high-0", "preemption: waiting for pods")
    await world.quiet()
    assert bound(world, "low") == {left}
    proxy.release()
    await world.bound("high", 2)
    await world.quiet()
    assert bound(world, "low") == set()
    assert evictions.told == victims


# ── budgets ──────────────────────────────────────────────────────────────────────────────────

KEPT: Final = {"app": "kept"}


async def budget(world: World, least: int, covers: int) -> None:
    """A PodDisruptionBudget of which so many pods are there, and so many must stay."""
    body = manifests.budget("kept", KEPT, minAvailable=least)
    await world.client.create(POD_DISRUPTION_BUDGETS, body, world.namespace)

    async def counted() -> bool:
        found = await world.client.get(POD_DISRUPTION_BUDGETS, "kept", world.namespace)
        status = found.get("status", {})
        return bool(status.get("disruptionsAllowed", 0) == covers - least)

    await world.eventually(counted, lambda: "the budget has counted its pods")


async def kept_gang(world: World) -> set[str]:
    """A gang of two whose budget allows that one of them goes; the names of its pods."""
    await world.group("kept", 2)
    await world.job("kept", 2, "kept", labels=KEPT)
    await world.running("kept", 2)
    await budget(world, 1, covers=2)
    return bound(world, "kept")


async def test_a_budget_that_allows_one_of_two_members_goes_where_nobody_else_could(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.2, §10.3."""
    await world.nodes(2, cpu=1)
    victims = await kept_gang(world)
    await world.pod("high", priority_class=HIGH)
    await world.bound("high", 1)
    await world.quiet()
    assert evictions.told == victims
    assert bound(world, "kept") == set()


async def test_a_budget_that_allows_one_of_two_members_keeps_both_where_another_set_does(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.2: what goes beyond a budget counts more than a priority."""
    await world.nodes(3, cpu=1)
    members = await kept_gang(world)
    await world.pod("mid", priority_class=MID)
    await world.running("mid", 1)
    await world.gang("high", 1, priority_class=HIGH)
    await world.bound("high", 1)
    await world.quiet()
    assert evictions.told == {"mid"}
    assert bound(world, "kept") == members


async def test_a_budget_that_cannot_be_read_is_named_and_covers_its_namespace(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.2: a selector of 300 requirements, which the API server takes."""
    await world.nodes(1, cpu=1)
    await world.pod("low")
    await world.running("low", 1)
    labels = {f"key-{number}": "" for number in range(300)}
    body = manifests.budget("endless", labels, minAvailable=0)
    await world.client.create(POD_DISRUPTION_BUDGETS, body, world.namespace)
    await world.event("endless", EventReason.MALFORMED_OBJECT, note="300 requirements")
    await world.pod("high", priority_class=HIGH)
    await world.bound("high", 1)
    assert evictions.told == {"low"}


# ── what changes meanwhile ───────────────────────────────────────────────────────────────────


async def test_a_better_place_that_appears_meanwhile_is_taken(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.3: who was not told stays."""
    await world.nodes(1, cpu=40)
    await asyncio.gather(*(world.pod(f"low-{number:02}") for number in range(40)))
    await world.running("low", 40)
    proxy.hold(after=1, of=is_eviction)
    await world.gang("high", 1, priority_class=HIGH, cpu=40)
    await world.until(lambda: len(bound(world, "low")) == 39, "the first one is told")
    await pod_says(world, "high-0", "preemption: waiting for 40 pods")
    [better] = await world.nodes(1, cpu=40)
    await world.bound("high", 1)
    assert world.observer.bound(world.namespace, "high") == {"high-0": better}
    proxy.release()
    await world.quiet()
    assert len(evictions.told) <= 20
    assert bound(world, "low") >= {f"low-{number:02}" for number in range(40)} - evictions.told


async def passing_class(world: World) -> str:
    """A PriorityClass that is about to be deleted."""
    body = {"metadata": {"name": "e2e-passing"}, "value": 700}
    with suppress(AlreadyExists):
        await world.client.create(PRIORITY_CLASSES, body)
    return "e2e-passing"


async def test_the_class_of_pods_that_is_deleted_meanwhile_changes_nothing(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §2.6: pods have its value since they were admitted."""
    name = await passing_class(world)
    await world.nodes(1, cpu=2)
    await world.gang("low", 2)
    await world.running("low", 2)
    proxy.hold(after=0, of=is_eviction)
    await world.gang("high", 2, priority_class=name)
    await pod_says(world, "high-0", "preemption: waiting for pods")
    await world.client.delete(PRIORITY_CLASSES, name)
    await world.quiet()
    proxy.release()
    await world.bound("high", 2)
    assert evictions.told == {"low-0", "low-1"}


async def test_the_class_of_a_group_that_is_deleted_meanwhile_is_named_and_ends_its_claim(
    world: World, evictions: Evictions, proxy: FaultProxy
) -> None:
    """Semantics §10.3: what its victims have left is anybody's again."""
    name = await passing_class(world)
    await world.nodes(1, cpu=2)
    await world.group("low", 2)
    await world.job("low", 2, "low")
    await world.running("low", 2)
    proxy.hold(after=0, of=is_eviction)
    await world.group("high", 2, priorityClassName=name)
    for index in range(2):
        await world.pod(f"high-{index}", "high", priority_class=name)
    await pod_says(world, "high-0", "preemption: waiting for pods")
    await world.until(lambda: proxy.held == 2, "who is asked to leave is not asked to stay")
    await world.client.delete(PRIORITY_CLASSES, name)
    await world.condition(
        "high", Condition.SCHEDULED, "False", reason=Reason.INVALID_SPEC, message=name
    )
    proxy.release()
    await world.until(lambda: len(evictions.told) == 2, "its victims leave")
    await world.until(lambda: len(bound(world, "low") - evictions.told) == 2, "others take it")
    await passing_class(world)
    await world.bound("high", 2)
    assert len(evictions.told) == 4


async def test_a_pod_that_may_not_preempt_says_so_and_evicts_nobody(world: World) -> None:
    """Semantics §10.1."""
    patient = {"metadata": {"name": PATIENT}, "value": 1000, "preemptionPolicy": "Never"}
    with suppress(AlreadyExists):
        await world.client.create(PRIORITY_CLASSES, patient)
    await world.nodes(1, cpu=1)
    await world.pod("low")
    await world.bound("low", 1)
    await world.pod("patient", priority_class=PATIENT)
    await pod_says(world, "patient", "preemptionPolicy=Never")
    low = await world.client.get(PODS, "low", world.namespace)
    assert not low["metadata"].get("deletionTimestamp")
