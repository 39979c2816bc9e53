# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What befalls a world's gangs: lost machines, failing pods, fault proxies; and who counts."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.paths import NODES, PODS, Resource
from tests.e2e.census import Census
from tests.e2e.fault_proxy import Fault, FaultProxy
from tests.e2e.world import World

#: Seconds by which a slow write is held at most.
SLOW_WRITE: Final = 0.6
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")


async def fault_proxy(world: World, *arguments: str) -> FaultProxy:
    """A proxy to the API server, through which a new scheduler runs instead of the first one."""
    kubeconfig = world.target.kubeconfig_of("scheduler")
    through = world.path / f"proxy-{len(world.servers)}.kubeconfig"
    proxy = await world.stack.enter_async_context(FaultProxy(kubeconfig, through))
    await world.start_scheduler(*arguments, kubeconfig=through, restart=True)
    return proxy


async def mid_burst(
    world: World, size: int, after: int, *arguments: str, slow: float = 0.0
) -> FaultProxy:
    """Return in the middle of the burst that binds gang "burst": the proxy holds the rest of it.

    Args:
        world: where; its nodes have room for the gang.
        size: of the gang.
        after: how many members are bound, and no more until `FaultProxy.release`.
        arguments: more flags of the scheduler.
        slow: by which each answer and each event of a watch comes late (seconds).
    """
    proxy = await fault_proxy(world, *arguments)
    proxy.policy = lambda *_: Fault(after=slow)
    proxy.lag = slow
    proxy.hold(after)
    await world.gang("burst", size)
    await world.bound("burst", after)
    await world.until(lambda: proxy.held > 0, "a Binding is held")
    return proxy


async def slow_writes(world: World, of: Callable[[str, str], bool]) -> None:
    """A scheduler whose writes of some kind take their time, so that they do not come at once.

    Args:
        world: whose scheduler it is.
        of: whether a request (method, path) is one of them.
    """
    rng = random.Random(3)
    proxy = await fault_proxy(world)
    proxy.policy = lambda method, path: Fault(
        before=rng.uniform(0, SLOW_WRITE) if of(method, path) else 0
    )


async def census(world: World) -> Census:
    """One more observer, which counts the pods of the test from now on."""
    counting = Census(world.client, world.namespace, world.room, world._minimums)
    world.keep("census", counting.run())
    return counting


async def owner(world: World, name: str) -> Any:
    """An object that pods can name as their controller; the test does that controller's work."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return await world.client.create(CONFIG_MAPS, manifest, world.namespace)


async def lose(world: World, node: str) -> list[str]:
    """A machine is gone, and its Node; its pods too, as by the garbage collector: their names."""
    world.room.pop(node)
    await world._delete(NODES, node)
    bound = world.observer.bound(world.namespace)
    gone = [name for name, where in bound.items() if where == node]
    await asyncio.gather(*(world._delete(PODS, name) for name in gone))
    return gone


async def ends(world: World, pod: str, phase: str) -> None:
    """Report as a kubelet that a pod has Succeeded or Failed."""
    status = {"status": {"phase": phase}}
    await world.client.patch(
        PODS, pod, status, world.namespace, kind=PatchType.STRATEGIC, subresource="status"
    )
