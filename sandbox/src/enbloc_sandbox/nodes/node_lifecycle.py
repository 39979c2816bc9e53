# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The node lifecycle controller: taints say what a node's conditions and heartbeats say.

::

    Ready=True, heartbeat fresh     no taint of ours
    Ready=False                     not-ready:NoSchedule, :NoExecute
    heartbeat stale                 conditions Unknown; unreachable:NoSchedule, :NoExecute
    spec.unschedulable              unschedulable:NoSchedule beside these
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from enbloc.client.client import Client, PatchType
from enbloc.client.items import Deleted, Seen
from enbloc.client.paths import LEASES, NODES
from enbloc.client.reflector import Reflector
from enbloc.model import names
from enbloc_sandbox.nodes.kubelet import LEASE_NAMESPACE
from enbloc_sandbox.nodes.objects import Object, settled, timestamp

_OURS: Final = (names.TAINT_NOT_READY, names.TAINT_UNREACHABLE, names.TAINT_UNSCHEDULABLE)
_HEARTBEATS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to change about a node; None = nothing.

    Attributes:
        taints: the whole new list of spec.taints.
        conditions: those to merge into status.conditions.
    """

    taints: list[dict[str, Any]] | None = None
    conditions: list[dict[str, Any]] | None = None


def judge(node: Object, *, fresh: bool) -> Verdict:
    """What a node's taints and conditions should become.

    Args:
        node: the Node.
        fresh: its heartbeat is younger than the grace period.
    """
    conditions = {one["type"]: one for one in node.status.get("conditions") or ()}
    if fresh and "Ready" not in conditions:
        return Verdict()  # its kubelet has not spoken yet; admission has tainted it
    ready = _state(conditions, "Ready")
    wanted: list[tuple[str, str]] = []
    if node.spec.get("unschedulable"):
        wanted.append((names.TAINT_UNSCHEDULABLE, "NoSchedule"))
    if not fresh or ready == "Unknown":
        wanted += [(names.TAINT_UNREACHABLE, effect) for effect in ("NoSchedule", "NoExecute")]
    elif ready != "True":
        wanted += [(names.TAINT_NOT_READY, effect) for effect in ("NoSchedule", "NoExecute")]
    present = node.spec.get("taints") or []
    kept = [one for one in present if _id(one)[0] not in _OURS or _id(one) in wanted]
    known = {_id(one) for one in kept}
    added = [
        {
            "key": key,
            "effect": effect,
            **({"timeAdded": timestamp()} if effect == "NoExecute" else {}),
        }
        for key, effect in wanted
        if (key, effect) not in known
    ]
    stale = [name for name in _HEARTBEATS if not fresh and _state(conditions, name) != "Unknown"]
    return Verdict(
        [*kept, *added] if added or len(kept) != len(present) else None,
        [_unknown(name) for name in stale] or None,
    )


def _id(taint: dict[str, Any]) -> tuple[str, str]:
    return str(taint.get("key")), str(taint.get("effect"))


def _state(conditions: dict[str, Any], name: str) -> str:
    return str(conditions.get(name, {}).get("status", ""))


def _unknown(name: str) -> dict[str, Any]:
    return {
        "type": name,
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": timestamp(),
    }


class NodeLifecycle:
    """Watches nodes and their Leases, and keeps taints and conditions true.

    Heartbeats are dated when they are seen, by this machine's clock: the writers' clocks do not
    matter.

    Args:
        client: the API.
        grace: seconds without a heartbeat after which a node counts as lost.
    """

    def __init__(self, client: Client, grace: float = 40.0) -> None:
        self._client = client
        self._grace = grace
        self._nodes: dict[str, Object] = {}
        self._beats: dict[str, tuple[object, float]] = {}
        self._busy: set[str] = set()
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._tasks.create_task(self._watch_nodes())
            self._tasks.create_task(self._watch_leases())
            while True:
                await asyncio.sleep(self._grace / 8)
                for name in self._nodes:
                    self._check(name)

    async def _watch_nodes(self) -> None:
        async for item in Reflector(self._client, NODES, Object).stream():
            if isinstance(item, Seen):
                self._nodes[item.meta.name] = item.object
                self._check(item.meta.name)
            elif isinstance(item, Deleted):
                self._nodes.pop(item.meta.name, None)
                self._beats.pop(item.meta.name, None)

    async def _watch_leases(self) -> None:
        leases = Reflector(self._client, LEASES, Object, namespace=LEASE_NAMESPACE)
        async for item in leases.stream():
            if isinstance(item, Seen):
                self._beat(item.meta.name, item.object.spec.get("renewTime"))
                self._check(item.meta.name)

    def _beat(self, name: str, renewed: object) -> None:
        if self._beats.get(name, (None, 0.0))[0] != renewed:
            self._beats[name] = (renewed, asyncio.get_running_loop().time())

    def _check(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None or name in self._busy:
            return
        # A node that never had a heartbeat gets the grace period from when it was first seen.
        _, beat = self._beats.setdefault(name, (None, asyncio.get_running_loop().time()))
        fresh = asyncio.get_running_loop().time() - beat < self._grace
        verdict = judge(node, fresh=fresh)
        if verdict != Verdict():
            self._busy.add(name)
            self._tasks.create_task(self._apply(node, verdict))

    async def _apply(self, node: Object, verdict: Verdict) -> None:
        meta = node.metadata
        if verdict.taints is not None:
            # The list is written whole, so the node must still be the one it was made from.
            taints = {
                "metadata": {"resourceVersion": meta.resource_version},
                "spec": {"taints": verdict.taints},
            }
            await settled(
                lambda: self._client.patch(NODES, meta.name, taints, kind=PatchType.MERGE)
            )
        if verdict.conditions is not None:
            status = {"status": {"conditions": verdict.conditions}}
            await settled(
                lambda: self._client.patch(
                    NODES, meta.name, status, kind=PatchType.STRATEGIC, subresource="status"
                )
            )
        self._busy.discard(meta.name)
        if self._nodes.get(meta.name) is not node:
            self._check(meta.name)
