# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods of lost nodes: deleted once they tolerate no longer what their node has become.

::

    node with a NoExecute taint     deleted after what the pod tolerates (300 s by default)
    node gone                       after a grace period Failed, and deleted without grace

On a real cluster the taint eviction controller and the pod garbage collector do this. A pod of a
node that only is out of reach stays terminating until its kubelet is back, or the Node is deleted.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.client.client import Client, PatchType
from enbloc.client.items import Deleted, Item, Seen, Synced
from enbloc.client.paths import NODES, PODS
from enbloc.client.reflector import Reflector
from enbloc.model.names import DISRUPTION_TARGET
from enbloc_sandbox.nodes.objects import Object, settled, timestamp
from enbloc_sandbox.nodes.selectors import tolerates

_TAINT_REASON: Final = "DeletionByTaintManager"
_GONE_REASON: Final = "DeletionByPodGC"


def patience(
    tolerations: Iterable[Mapping[str, Any]], taints: Iterable[Mapping[str, Any]]
) -> float | None:
    """Seconds that a pod stays on a node with these taints; None = for ever."""
    least: float | None = None
    for taint in taints:
        if taint.get("effect") != "NoExecute":
            continue
        fitting = [one for one in tolerations if tolerates(one, taint)]
        if not fitting:
            return 0.0
        limits = [one["tolerationSeconds"] for one in fitting if "tolerationSeconds" in one]
        for seconds in limits:
            least = min(max(0.0, float(seconds)), float("inf") if least is None else least)
    return least


@dataclass(frozen=True, slots=True)
class _Timer:
    """When a pod must go: `since` (seconds of the loop's clock) and the call that is due then."""

    since: float
    handle: asyncio.TimerHandle


class LostPods:
    """Watches nodes and bound pods, and deletes the pods that may not stay.

    Args:
        client: the API.
        grace: seconds from the deletion of a Node until its pods are collected.
    """

    def __init__(self, client: Client, grace: float = 40.0) -> None:
        self._client = client
        self._grace = grace
        self._nodes: dict[str, Object] = {}
        self._pods: dict[str, Object] = {}
        self._timers: dict[str, _Timer] = {}
        self._lists = 0
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Work until cancelled."""
        bound = {"fieldSelector": "spec.nodeName!="}
        try:
            async with asyncio.TaskGroup() as self._tasks:
                self._tasks.create_task(self._watch(NODES, self._nodes))
                self._tasks.create_task(self._watch(PODS, self._pods, bound))
        finally:
            for timer in self._timers.values():
                timer.handle.cancel()

    async def _watch(self, resource: Any, known: dict[str, Object], query: Any = None) -> None:
        async for item in Reflector(self._client, resource, Object, query=query).stream():
            self._take(item, known)

    def _take(self, item: Item[Object], known: dict[str, Object]) -> None:
        nodes = known is self._nodes
        match item:
            case Synced():
                self._lists += 1
                self._check_all("")
            case Seen():
                known[item.meta.name if nodes else item.meta.uid] = item.object
            case Deleted():
                known.pop(item.meta.name if nodes else item.meta.uid, None)
            case _:
                return
        if not isinstance(item, Synced):
            if nodes:
                self._check_all(item.meta.name)
            else:
                self._check(item.meta.uid)

    def _check_all(self, node: str) -> None:
        """Look at the pods of one node, or of all ("")."""
        for uid, pod in list(self._pods.items()):
            if node in ("", pod.spec.get("nodeName")):
                self._check(uid)

    def _check(self, uid: str) -> None:
        """Set, move or drop the timer of a pod; nothing before both lists are complete."""
        if self._lists < 2:
            return
        loop = asyncio.get_running_loop()
        pod, timer = self._pods.get(uid), self._timers.pop(uid, None)
        if timer is not None:
            timer.handle.cancel()
        wait = None if pod is None else self._wait(pod)
        if wait is not None:
            since = loop.time() if timer is None else timer.since
            self._timers[uid] = _Timer(since, loop.call_at(since + wait, self._due, uid))

    def _wait(self, pod: Object) -> float | None:
        node = self._nodes.get(pod.spec["nodeName"])
        if node is None:
            return self._grace
        if pod.deleting or pod.finished:
            return None
        return patience(pod.spec.get("tolerations") or (), node.spec.get("taints") or ())

    def _due(self, uid: str) -> None:
        pod = self._pods[uid]
        self._tasks.create_task(self._remove(pod, gone=pod.spec["nodeName"] not in self._nodes))

    async def _remove(self, pod: Object, *, gone: bool) -> None:
        """Say on the pod why, then delete it."""
        meta = pod.metadata
        said = {"lastTransitionTime": timestamp(), "status": "True", "type": DISRUPTION_TARGET}
        if gone:
            said |= {"reason": _GONE_REASON, "message": "PodGC: node no longer exists"}
        else:
            said |= {
                "reason": _TAINT_REASON,
                "message": "Taint manager: deleting due to NoExecute taint",
            }
        status: dict[str, Any] = {"conditions": [said]}
        if gone and not pod.finished:
            status["phase"] = "Failed"
        body = {"metadata": {"uid": meta.uid}, "status": status}
        strategic = PatchType.STRATEGIC
        await settled(
            lambda: self._client.patch(
                PODS, meta.name, body, meta.namespace, kind=strategic, subresource="status"
            )
        )
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": meta.uid},
            **({"gracePeriodSeconds": 0} if gone else {}),
        }
        await settled(
            lambda: self._client.request("delete", PODS, meta.name, meta.namespace, body=options)
        )
