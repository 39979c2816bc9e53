# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What `kubectl describe` says of who preempts and who gives way, on a running API server."""

import re
from contextlib import suppress
from typing import Any

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import PODS, PRIORITY_CLASSES
from enbloc.model.names import Condition, EventReason, Reason
from tests.e2e.world import World

HIGH = {"metadata": {"name": "e2e-describes"}, "value": 1000}
#: Keeps a pod terminating until somebody takes it away.
STAYS = "e2e.enbloc.dev/stays"


async def hold(world: World, name: str, *finalizers: str) -> None:
    """A pod is to have these finalizers."""
    patch = {"metadata": {"finalizers": list(finalizers)}}
    await world.client.patch(PODS, name, patch, world.namespace, kind=PatchType.MERGE)


async def test_both_sides_say_why_until_the_gang_that_gave_way_starts_again(world: World) -> None:
    """Semantics §10.3."""
    with suppress(AlreadyExists):
        await world.client.create(PRIORITY_CLASSES, HIGH)
    await world.nodes(2, cpu=1)
    await world.group("low", 2)
    await world.job("low", 2, "low")
    await world.condition("low", Condition.READY, "True", reason=Reason.RUNNING)
    victims = list(world.observer.bound(world.namespace, "low"))
    for name in victims:
        await hold(world, name, STAYS)
    await world.gang("high", 2, priority_class="e2e-describes")

    async def says_until() -> bool:
        found: dict[str, Any] = await world.client.get(PODS, "high-0", world.namespace)
        said = [each.get("message", "") for each in found["status"].get("conditions", ())]
        return any(re.search(r"to leave, until \d{4}-.*Z at the latest", text) for text in said)

    await world.eventually(says_until, lambda: "high-0 says until when it waits")
    whom = f"preempted by PodGroup {world.namespace}/high"
    await world.condition(
        "high", Condition.SCHEDULED, "False", reason=Reason.UNSCHEDULABLE, message="at the latest"
    )
    for kind in (Condition.SCHEDULED, Condition.READY):
        await world.condition("low", kind, "False", reason=Reason.PREEMPTED, message=whom)
    await world.condition(
        "low",
        Condition.DISRUPTION_TARGET,
        "True",
        reason=Reason.PREEMPTION_BY_SCHEDULER,
        message=whom,
    )
    await world.event("low", EventReason.PREEMPTED, note=whom)
    await world.event("high", EventReason.PREEMPTING, note="low-")

    for name in victims:
        await hold(world, name)
    await world.bound("high", 2)
    await world.nodes(2, cpu=1)
    await world.condition("low", Condition.READY, "True", reason=Reason.RUNNING)

    async def over() -> bool:
        kinds = {each["type"] for each in await world.conditions("low")}
        return Condition.DISRUPTION_TARGET not in kinds

    await world.eventually(over, lambda: "low is not preempted any more")
