# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The disruption controller: what PodDisruptionBudgets allow right now.

Followed: minAvailable as a number. maxUnavailable and percentages need to know how many pods a
controller wants, which for pods of a Job nothing says: as on a real cluster such a budget allows
nothing, and its condition says why.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from enbloc.client.client import Client, PatchType
from enbloc.client.items import Deleted, Seen, Synced
from enbloc.client.paths import PODS, Resource
from enbloc.client.reflector import Reflector
from enbloc_sandbox.nodes.objects import Object, seconds_since, settled, timestamp
from enbloc_sandbox.nodes.selectors import fits_labels

BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
#: A pod whose eviction was allowed and which is still there after so long counts again.
_FORGOTTEN_AFTER: Final = 120.0
_UNKNOWN_SIZE: Final = "only minAvailable as a number is followed for pods without a scale"


def covered(budget: Object, pods: Iterable[Object]) -> list[Object]:
    """The pods that a budget speaks of and that have not ended."""
    selector: Mapping[str, Any] | None = budget.spec.get("selector")
    namespace = budget.metadata.namespace
    return [
        pod
        for pod in pods
        if pod.metadata.namespace == namespace
        and not pod.finished
        and selector is not None
        and fits_labels(selector, pod.labels)
    ]


def budget_status(budget: Object, pods: Iterable[Object]) -> dict[str, Any]:
    """The whole status of a budget, given all pods."""
    found = covered(budget, pods)
    by_name = {pod.metadata.name: pod for pod in found}
    disrupted = {
        name: since
        for name, since in (budget.status.get("disruptedPods") or {}).items()
        if name in by_name
        and not by_name[name].deleting
        and seconds_since(since) < _FORGOTTEN_AFTER
    }
    healthy = sum(
        _ready(pod) and not pod.deleting and name not in disrupted for name, pod in by_name.items()
    )
    wanted = budget.spec.get("minAvailable")
    known = isinstance(wanted, int)
    allowed = max(0, healthy - wanted) if isinstance(wanted, int) and found else 0
    return {
        "observedGeneration": budget.metadata.generation,
        "expectedPods": len(found),
        "currentHealthy": healthy,
        "desiredHealthy": wanted if known else len(found),
        "disruptionsAllowed": allowed,
        "disruptedPods": disrupted,
        "conditions": [_condition(budget, allowed=allowed > 0, known=known)],
    }


def _condition(budget: Object, *, allowed: bool, known: bool) -> dict[str, Any]:
    status = str(allowed)
    before: dict[str, Any] = next(iter(budget.status.get("conditions") or ()), {})
    same = before.get("status") == status
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": ("SufficientPods" if allowed else "InsufficientPods") if known else "SyncFailed",
        "message": "" if known else _UNKNOWN_SIZE,
        "observedGeneration": budget.metadata.generation,
        "lastTransitionTime": before["lastTransitionTime"] if same else timestamp(),
    }


def _ready(pod: Object) -> bool:
    conditions = pod.status.get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


class Budgets:
    """Keeps the status of every budget true.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._budgets: dict[str, Object] = {}
        self._pods: dict[str, Object] = {}
        self._changed = asyncio.Event()
        self._lists = 0

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch(BUDGETS, self._budgets))
            tasks.create_task(self._watch(PODS, self._pods))
            while True:
                await self._changed.wait()
                self._changed.clear()
                for budget in list(self._budgets.values()):
                    await self._judge(budget)

    async def _watch(self, resource: Resource, known: dict[str, Object]) -> None:
        async for item in Reflector(self._client, resource, Object).stream():
            if isinstance(item, Seen):
                known[item.meta.uid] = item.object
            elif isinstance(item, Deleted):
                known.pop(item.meta.uid, None)
            elif isinstance(item, Synced):
                self._lists += 1
            if self._lists >= 2:
                self._changed.set()

    async def _judge(self, budget: Object) -> None:
        wanted = budget_status(budget, self._pods.values())
        if all(
            (budget.status.get(key) or None) == (value or None) for key, value in wanted.items()
        ):
            return
        meta = budget.metadata
        # In a merge patch a name goes only when it is told to.
        before = dict.fromkeys(budget.status.get("disruptedPods") or ())
        status = {**wanted, "disruptedPods": {**before, **wanted["disruptedPods"]}}
        # An eviction may have spent of it meanwhile; its event brings us back.
        document = {"metadata": {"resourceVersion": meta.resource_version}, "status": status}
        await settled(
            lambda: self._client.patch(
                BUDGETS,
                meta.name,
                document,
                meta.namespace,
                kind=PatchType.MERGE,
                subresource="status",
            )
        )
