# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who decides after the leader, and when: under load, and with the Lease's default times."""

import asyncio
import json
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from enbloc.client.items import Seen
from enbloc.client.lease import LeaseTiming
from enbloc.client.paths import LEASES, PODS
from enbloc.client.reflector import Reflector
from enbloc.model.names import PLAN_KEY, SCHEDULER_LEASE
from tests.e2e import incidents
from tests.e2e.fault_proxy import Fault, FaultProxy
from tests.e2e.observer import PodView
from tests.e2e.processes import Server
from tests.e2e.replicas import leads
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.world import World
from tests.effort import slow

pytestmark = [
    slow("Leases have to end"),
    pytest.mark.controlplane,
    pytest.mark.parametrize(
        "target", [pytest.param("controlplane", marks=pytest.mark.controlplane)], indirect=True
    ),
]

#: As in production, where nothing is configured.
TIMING = LeaseTiming()
SIZE = 4
#: What a busy machine adds (seconds).
BUSY = 10.0


@dataclass(frozen=True)
class Bound:
    """A pod that was seen to have got a node, in the order in which the server wrote it."""

    name: str
    by: str
    at: float


class Witness:
    """Sees which process bound what; each process begins the names of its plans alike."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.bound: list[Bound] = []
        self._known: set[str] = set()

    async def run(self) -> None:
        pods = Reflector(self._world.client, PODS, PodView, namespace=self._world.namespace)
        async for item in pods.stream():
            match item:
                case Seen(meta, pod) if pod.spec.node_name:
                    if meta.uid in self._known:
                        continue
                    self._known.add(meta.uid)
                    by = json.loads(pod.metadata.annotations[PLAN_KEY])["plan"].rpartition("-")[0]
                    self.bound.append(Bound(meta.name, by, time.monotonic()))
                case _:
                    pass

    def processes(self) -> list[str]:
        """Who has bound something, by their first Binding."""
        return list(dict.fromkeys(each.by for each in self.bound))

    def gap(self) -> float:
        """From the last Binding of the first process to the first of the second (seconds).

        Raises:
            AssertionError: there are not two, or the first went on after the second had begun.
        """
        first, second = self.processes()
        whose = [each.by for each in self.bound]
        assert whose == sorted(whose, key=[first, second].index), "two bound at once"
        last = max(each.at for each in self.bound if each.by == first)
        return min(each.at for each in self.bound if each.by == second) - last


@asynccontextmanager
async def load(world: World) -> AsyncGenerator[Witness]:
    """Gangs of SIZE that come all the time, each of which fits."""
    await world.nodes(10, cpu=100)
    witness = Witness(world)
    world.keep("witness", witness.run())
    enough = asyncio.Event()
    coming = asyncio.create_task(_come(world, enough))
    try:
        yield witness
    finally:
        enough.set()
        gangs = await coming
    await world.bound("", gangs * SIZE)


async def _come(world: World, enough: asyncio.Event) -> int:
    number = 0
    while not enough.is_set():
        await world.gang(f"g{number:04}", SIZE)
        number += 1
        await asyncio.sleep(0.25)
    return number


async def candidate(world: World, proxy: FaultProxy | None = None) -> Server:
    """A replica with the default times."""
    flags = ("--leader-elect", f"--lease-namespace={world.lease_namespace}")
    return await world.start_scheduler(*flags, kubeconfig=proxy.through if proxy else None)


async def pair(world: World, proxy: FaultProxy | None = None) -> tuple[Server, Server]:
    """A leader, maybe behind a proxy, and a standby that is ready to take over."""
    world.scheduler.kill()
    await free(world)
    leader = await candidate(world, proxy)
    await world.until(lambda: leads(leader), "the first one leads")
    standby = await candidate(world)
    await world.until(lambda: "Waiting for the Lease" in standby.text(), "the second stands by")
    return leader, standby


async def lease(world: World) -> Any:
    return await world.client.get(LEASES, SCHEDULER_LEASE, world.lease_namespace)


async def free(world: World) -> None:
    """Forget whoever held the Lease in an earlier test."""
    with suppress(Exception):
        await world.client.delete(LEASES, SCHEDULER_LEASE, world.lease_namespace)


async def some_more(world: World, witness: Witness, of: str, count: int = 3 * SIZE) -> None:
    """Wait until this process has bound so many more pods."""
    before = Counter(each.by for each in witness.bound)[of]

    def more() -> bool:
        return Counter(each.by for each in witness.bound)[of] >= before + count

    await world.until(more, f"{of} binds more", timeout=90)


def bound_once(world: World) -> None:
    """Every pod was bound by one answer of the API server, by its audit log."""
    assert isinstance(world.target, ControlPlaneTarget)
    answers = Counter(
        event["objectRef"]["name"]
        for event in world.target.cp.audit_events()
        if event["verb"] == "create"
        and event.get("objectRef", {}).get("subresource") == "binding"
        and event["objectRef"].get("namespace") == world.namespace
        and event["responseStatus"]["code"] == 201
    )
    assert answers
    assert {name: count for name, count in answers.items() if count > 1} == {}


async def test_after_a_kill_of_the_leader_the_standby_binds_within_the_lease_and_five_seconds(
    world: World,
) -> None:
    leader, _ = await pair(world)
    async with load(world) as witness:
        await world.until(lambda: bool(witness.bound), "something is bound")
        [first] = witness.processes()
        await some_more(world, witness, first)
        killed = time.monotonic()
        leader.kill()
        await world.until(lambda: len(witness.processes()) == 2, "the standby binds", timeout=90)
        took = time.monotonic() - killed
        await some_more(world, witness, witness.processes()[1])
    print(f"the standby bound {took:.1f} s after the leader was killed")
    assert took <= TIMING.duration + 5 + BUSY
    witness.gap()
    bound_once(world)


async def test_a_leader_whose_renewals_fail_stops_before_its_lease_can_be_taken(
    world: World,
) -> None:
    """Its Bindings still arrive: only what keeps it the leader does not."""
    kubeconfig = world.target.kubeconfig_of("scheduler")
    through = world.path / "leader.kubeconfig"
    proxy = await world.stack.enter_async_context(FaultProxy(kubeconfig, through))
    leader, standby = await pair(world, proxy)
    async with load(world) as witness:
        await world.until(lambda: bool(witness.bound), "something is bound")
        [first] = witness.processes()
        await some_more(world, witness, first)
        proxy.policy = lambda _, path: Fault(sends=0, drop=True) if "/leases" in path else Fault()
        cut = time.monotonic()
        await world.until(lambda: len(witness.processes()) == 2, "the standby binds", timeout=90)
        took = time.monotonic() - cut
        await some_more(world, witness, witness.processes()[1])
        gap = witness.gap()
        last = max(each.at for each in witness.bound if each.by == first) - cut
        print(
            f"without renewals the leader bound for {last:.1f} s more, the standby after "
            f"{took:.1f} s: {gap:.1f} s between the two"
        )
        assert last <= TIMING.renew_deadline + BUSY
        leader.must_run()
        await world.until(lambda: "standing by" in leader.text(), "it stands by")
        proxy.policy = lambda *_: Fault()
        # It knows what the other did, and takes over in its turn.
        await world.until(lambda: leader.text().count("Waiting for the Lease") == 2, "it is back")
        standby.kill()
        await world.until(lambda: len(witness.processes()) == 3, "it binds again", timeout=90)
    bound_once(world)


async def test_a_leader_that_is_asked_to_stop_hands_over_in_a_second(world: World) -> None:
    leader, _ = await pair(world)
    async with load(world) as witness:
        await world.until(lambda: bool(witness.bound), "something is bound")
        [first] = witness.processes()
        await some_more(world, witness, first)
        held = (await lease(world))["spec"]["holderIdentity"]
        assert leader.pid is not None
        asked = time.monotonic()
        ending = asyncio.create_task(leader.end(signal.SIGTERM))
        while (await lease(world))["spec"]["holderIdentity"] == held:
            assert time.monotonic() - asked < 1 + BUSY, "it keeps the Lease"
            await asyncio.sleep(0.02)
        released = time.monotonic() - asked
        await world.until(lambda: len(witness.processes()) == 2, "the standby binds")
        took = time.monotonic() - asked
        assert await ending == 0
    print(f"released {released:.2f} s after SIGTERM, the next one bound after {took:.1f} s")
    witness.gap()
    bound_once(world)


@pytest.mark.parametrize("alone", [False, True])
async def test_after_an_outage_that_cost_the_leader_its_lease_gangs_are_soon_whole(
    world: World, *, alone: bool
) -> None:
    """In mid-burst etcd and API server are killed, for longer than a Lease lasts.

    What is between them and the leader goes on taking its connections, as a load balancer does.
    """
    size, away = 60, 20.0
    await world.nodes(6, cpu=10)
    proxy = await incidents.fault_proxy(world)
    proxy.policy = lambda *_: Fault(after=0.1)
    leader, standby = await pair(world, proxy)
    if alone:
        standby.kill()
    proxy.hold(after=5)
    await world.gang("burst", size)
    await world.bound("burst", 5)
    await world.until(lambda: proxy.held > 0, "a Binding is held")
    assert isinstance(world.target, ControlPlaneTarget)
    await world.target.crash(away)
    proxy.policy = lambda *_: Fault()
    proxy.release()
    returned = time.monotonic()
    await world.bound("burst", size, timeout=TIMING.duration - 3)
    print(f"whole {time.monotonic() - returned:.1f} s after the return of the server")
    await world.condition("burst", "Ready", "True", reason="Running")
    for server in (leader,) if alone else (leader, standby):
        server.must_run()
    await world.until(lambda: "standing by" in leader.text(), "the first leader has stood by")
