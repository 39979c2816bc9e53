# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption between tenants: whose pods go, and what a tenant can do about that."""

import itertools
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import Forbidden
from enbloc.client.paths import NODES, POD_DISRUPTION_BUDGETS, PODS, Resource
from enbloc.model.names import SILENT_KEY
from enbloc.model.pins import HOSTNAME
from tests.e2e import manifests
from tests.e2e.evictions import HIGH, Evictions
from tests.e2e.test_hostile_tenants_e2e import Tenant, tenant
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("hundreds of pods are created on API servers")

QUOTAS: Final = Resource("", "v1", "resourcequotas", "ResourceQuota")
#: Pods of the tenant on each of five nodes; of far more, events are dropped.
MANY: Final = 40
TEN_YEARS: Final = 10 * 365 * 24 * 3600
NEVER: Final = "example.com/never"


async def test_pods_and_gangs_take_from_those_of_other_namespaces(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1: a priority counts in the whole cluster."""
    await world.nodes(2, cpu=2)
    world.watch_over("low", 4)
    async with tenant(world) as other:
        await other.gang("low", 4, [manifests.pod(f"low-{n}", "low") for n in range(4)])
        await world.until(lambda: len(other.bound()) == 4, "the other tenant's gang is bound")
        await world.gang("high", 2, priority_class=HIGH)
        await world.bound("high", 2)
        await world.until(lambda: not other.bound(), "it is gone whole")
        assert evictions.told == {f"low-{n}" for n in range(4)}
        await other.create([manifests.pod(f"lone-{n}") for n in range(2)])
        await world.until(lambda: len(other.bound()) == 2, "the other tenant's pods are bound")
        await world.pod("urgent", priority_class=HIGH)
        await world.bound("urgent", 1)
        assert len(other.bound()) == 1


async def test_pods_of_equal_priority_stay_whoevers_they_are(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.1."""
    await world.nodes(1, cpu=2)
    async with tenant(world) as other:
        await other.create([manifests.pod(f"high-{n}", priority_class=HIGH) for n in range(2)])
        await world.until(lambda: len(other.bound()) == 2, "the other tenant's pods are bound")
        await world.gang("late", 2, priority_class=HIGH)
        await world.condition("late", "Scheduled", "False", reason="Unschedulable")
        await world.quiet()
        assert evictions.told == set()


@pytest.mark.parametrize(
    "target", [pytest.param("controlplane", marks=pytest.mark.controlplane)], indirect=True
)
async def test_a_quota_of_priorities_keeps_a_tenant_from_preempting(
    world: World, evictions: Evictions
) -> None:
    """It is the API server's: what it does not admit is never seen."""
    await world.nodes(1, cpu=1)
    await world.pod("low")
    await world.running("low", 1)
    async with tenant(world) as evil:
        scope = {"scopeName": "PriorityClass", "operator": "In", "values": [HIGH]}
        spec = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}}
        await world.client.create(QUOTAS, {"metadata": {"name": "q"}, "spec": spec}, evil.namespace)
        names = itertools.count()

        async def counts() -> bool:
            """Whether the quota counts by now: the API server learns of it by a watch."""
            named = manifests.pod(
                f"of-nobody-{next(names)}", priority_class=HIGH, scheduler="nobody"
            )
            try:
                await evil.create([named])
            except Forbidden:
                return True
            return False

        await world.eventually(counts, lambda: "the quota counts")
        with pytest.raises(Forbidden, match="quota"):
            await evil.create([manifests.pod("high", priority_class=HIGH)])
        await world.quiet()
        assert evictions.told == set()


# ── who does not want to go ──────────────────────────────────────────────────────────────────


def stubborn(nodes: Sequence[str], each: int) -> Iterator[dict[str, Any]]:
    """Pods that fill nodes: of endless grace, with finalizers that never end, and others."""
    endless, held, *_ = nodes
    for node in nodes:
        for number in range(each):
            grace = TEN_YEARS if node == endless else 1
            made = manifests.pod(
                f"{node}-{number}",
                labels={"app": "mine"},
                node_selector={HOSTNAME: node},
                terminationGracePeriodSeconds=grace,
            )
            if node == held:
                made["metadata"]["finalizers"] = [NEVER]
            yield made


@asynccontextmanager
async def stubborn_tenant(world: World, nodes: Sequence[str], each: int) -> AsyncGenerator[Tenant]:
    """Somebody who has filled these nodes, and has two budgets that allow nothing."""
    async with tenant(world) as evil:
        made = list(stubborn(nodes, each))
        for name in ("one", "two"):
            body = manifests.budget(name, {"app": "mine"}, minAvailable=len(made))
            await world.client.create(POD_DISRUPTION_BUDGETS, body, evil.namespace)
        try:
            await evil.create(made)
            await world.until(lambda: len(evil.bound()) == len(made), "they are bound", timeout=180)
            yield evil
        finally:
            patch = {"metadata": {"finalizers": None}}
            held = [pod for pod in made if "finalizers" in pod["metadata"]]
            for pod in held:
                name = pod["metadata"]["name"]
                await world.client.patch(PODS, name, patch, evil.namespace, kind=PatchType.MERGE)


async def test_a_tenant_whose_pods_never_end_keeps_nobody_of_higher_priority_out(
    world: World, evictions: Evictions
) -> None:
    """Semantics §10.3, §10.4: on one of the nodes nobody listens any more."""
    nodes = await world.nodes(5, cpu=MANY)
    async with stubborn_tenant(world, nodes, MANY):
        silent = {"metadata": {"annotations": {SILENT_KEY: "true"}}}
        await world.client.patch(NODES, nodes[2], silent, kind=PatchType.MERGE)
        await world.gang("high", 4, priority_class=HIGH, cpu=MANY // 2)
        await world.bound("high", 4, timeout=300)
        await world.pod("urgent", priority_class=HIGH, cpu=MANY)
        await world.bound("urgent", 1, timeout=300)
        where = set(world.observer.bound(world.namespace).values())
        assert where.isdisjoint(nodes[1:3])
        await evictions.judge()  # as long as events about its pods can be written
