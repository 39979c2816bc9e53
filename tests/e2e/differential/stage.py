# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a real cluster look like a random one, and later like the next.

Schedulers read pods from one stream in order, so who sees a new pod has seen all that happened to
pods before. Nodes come by another stream: who sees the mark, which is made last, has seen them.
"""

import asyncio
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import NotFound
from enbloc.client.paths import NODES, PODS
from tests.e2e.bare import Bare
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.vocabulary import Json

#: A label of no meaning.
MARK: Final = "mark"
#: What no node has.
NOWHERE: Final = "example.com/nowhere"


class Stage:
    """The cluster that stands now.

    Args:
        bare: the API server.
        schedulers: the names of those that must have seen a cluster before it counts.
    """

    def __init__(self, bare: Bare, schedulers: Iterable[str]) -> None:
        self._bare = bare
        self._schedulers = tuple(schedulers)
        self._now = Cluster()
        self._marks = 0

    async def become(self, cluster: Cluster) -> None:
        """Change what stands into this, and return when all schedulers have seen its nodes."""
        nodes, wanted_nodes = _by_name(self._now.nodes), _by_name(cluster.nodes)
        pods, wanted_pods = _by_name(self._now.pods), _by_name(cluster.pods)
        self._now = Cluster(self._now.nodes + cluster.nodes, self._now.pods + cluster.pods)
        await asyncio.gather(*(self._remove(pods[name]) for name in pods.keys() - wanted_pods))
        gone = nodes.keys() - wanted_nodes
        await asyncio.gather(*(self._bare.delete(NODES, name) for name in gone))
        await asyncio.gather(
            *(self._node(nodes.get(name), node) for name, node in wanted_nodes.items())
        )
        if wanted_nodes and wanted_nodes != nodes:
            await self._settle(next(iter(wanted_nodes)))
        await asyncio.gather(*(self._pod(pods.get(name), pod) for name, pod in wanted_pods.items()))
        self._now = cluster

    async def remake(self, names: Container[str]) -> None:
        """Make the pods of these names again, as they were."""
        gone = [pod for pod in self._now.pods if pod["metadata"]["name"] in names]
        await asyncio.gather(*map(self._remove, gone))
        await asyncio.gather(*(self._pod(None, pod) for pod in gone))

    # ── nodes ────────────────────────────────────────────────────────────────────────────────

    async def _node(self, before: Json | None, node: Json) -> None:
        name = node["metadata"]["name"]
        if before is None:
            await self._bare.create(NODES, node)
            return
        if _main(before) != _main(node):
            await self._bare.client.replace(NODES, name, node)
        if before["status"] != node["status"]:
            await self._patch_node(name, {"status": node["status"]}, "status")

    async def _settle(self, node: str) -> None:
        """Wait until all schedulers know the nodes as they are."""
        self._marks += 1
        await self._patch_node(node, {"metadata": {"labels": {MARK: f"m{self._marks}"}}})
        for scheduler in self._schedulers:
            await self._sees_mark(scheduler)

    async def _sees_mark(self, scheduler: str) -> None:
        """Ask for a pod that only the marked node could take, and not even that one."""
        resources = {"limits": {NOWHERE: "1"}}
        spec = {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "example.com/none", "resources": resources}],
            "nodeSelector": {MARK: f"m{self._marks}"},
            "tolerations": [{"operator": "Exists"}],
        }
        probe = {"metadata": {"name": "probe"}, "spec": spec}
        uid = await self._bare.create(PODS, probe, "default")

        def sees() -> bool:
            pod = self._bare.pods.get(uid)
            verdict = pod and pod.verdict()
            return bool(verdict) and f"1 Insufficient {NOWHERE}" in str(verdict)

        await self._bare.until(sees, f"{scheduler} sees the mark")
        await self._bare.delete(PODS, "probe", "default")

    async def _patch_node(self, name: str, patch: Mapping[str, Any], subresource: str = "") -> None:
        kind = PatchType.MERGE
        await self._bare.client.patch(NODES, name, patch, kind=kind, subresource=subresource)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    async def _pod(self, before: Json | None, pod: Json) -> None:
        metadata = pod["metadata"]
        if before is not None:
            old, new = before["metadata"]["labels"], metadata["labels"]
            if old != new:
                labels = dict.fromkeys(old) | new
                await self._patch_pod(pod, {"metadata": {"labels": labels}})
            return
        await self._bare.create(PODS, pod, metadata["namespace"])
        if "status" in pod:
            await self._patch_pod(pod, {"status": pod["status"]}, "status")
        if "finalizers" in metadata:
            await self._bare.delete(PODS, metadata["name"], metadata["namespace"])

    async def _remove(self, pod: Json) -> None:
        metadata = pod["metadata"]
        if "finalizers" in metadata:
            with suppress(NotFound):
                await self._patch_pod(pod, {"metadata": {"finalizers": None}})
        await self._bare.delete(PODS, metadata["name"], metadata["namespace"])

    async def _patch_pod(self, pod: Json, patch: Mapping[str, Any], subresource: str = "") -> None:
        where = pod["metadata"]["name"], patch, pod["metadata"]["namespace"]
        kind = PatchType.STRATEGIC
        await self._bare.client.patch(PODS, *where, kind=kind, subresource=subresource)


def _by_name(objects: Iterable[Json]) -> dict[str, Json]:
    """In order; no two have one name, not even in two namespaces."""
    return {one["metadata"]["name"]: one for one in objects}


def _main(node: Json) -> tuple[Json, Json]:
    return node["metadata"], node["spec"]
