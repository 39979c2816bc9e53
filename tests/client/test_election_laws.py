# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to Leases, requests and processes, of all replicas of two installs one leads.

In virtual time; semantics §6.3 and §6.4.
"""

import asyncio
import copy
import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from enbloc.client.errors import Forbidden, ServerError, Unreachable
from enbloc.client.paths import CLUSTER_ROLE_BINDINGS, LEASES, Resource
from enbloc.model.names import HOLDER_KEY, SCHEDULER_NAMES_KEY
from tests.client.installs import Install, binding
from tests.client.memory import MemoryClient, Store

#: How long two may lead once nothing is disturbed any more (seconds).
NOTICED: Final = 45.0
#: How long nobody may lead then.
SETTLED: Final = 120.0


class Rough(MemoryClient):
    """Its requests fail, take long, or are denied; the answers of some are lost."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        super().__init__(store)
        self.chance = chance
        self.calm()

    def calm(self) -> None:
        self.fails, self.takes = 0.0, 0.0
        self.denied: Resource | None = None

    async def request(self, verb: str, resource: Resource, *args: Any, **more: Any) -> bytes:
        if self.takes:
            await asyncio.sleep(self.chance.uniform(0, self.takes))
        if (verb, resource) == ("list", self.denied):
            raise Forbidden(verb, resource.label(), "no", code=403)
        if self.chance.random() < self.fails:
            raise ServerError(verb, resource.label(), "no quorum", code=500)
        answer = await super().request(verb, resource, *args, **more)
        if self.takes:
            await asyncio.sleep(self.chance.uniform(0, self.takes))
        if self.chance.random() < self.fails:
            raise Unreachable(verb, resource.label(), "connection reset", sent=True)
        return answer


class Cluster:
    """Two installs of two replicas each, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.store = Store()
        self._bind("one", "two")
        self.replicas = [self._replica(each, index) for each in ("one", "two") for index in "01"]
        self.ended = list[Install]()
        self._past = list[tuple[tuple[str, str], dict[str, Any]]]()
        self.failures = [self._fail, self._delay, self._kill]
        self.changes = [self._deny, self._delete, self._edit, self._free, self._restore, self._hide]

    def _bind(self, *namespaces: str) -> None:
        self.store.objects["clusterrolebindings", "enbloc"] = binding(*namespaces)

    def _replica(self, namespace: str, name: str) -> Install:
        client = Rough(self.store, self.chance)
        return Install(self.store, namespace, replica=name, client=client).start(again=True)

    def holders(self) -> list[Install]:
        return [each for each in self.replicas if each.leading and each.elector.holds()]

    def one(self) -> Install:
        return self.chance.choice(self.replicas)

    def calm(self) -> None:
        self._bind("one", "two")
        for each in self.replicas:
            assert isinstance(each.client, Rough)
            each.client.calm()

    async def stop(self) -> None:
        for each in [*self.replicas, *self.ended]:
            assert each.task is not None
            each.task.cancel()
            await asyncio.wait({each.task})

    # ── failures ─────────────────────────────────────────────────────────────────────────────

    def _rough(self) -> Rough:
        client = self.one().client
        assert isinstance(client, Rough)
        return client

    def _fail(self) -> None:
        self._rough().fails = self.chance.choice([0.1, 0.5, 1.0])

    def _delay(self) -> None:
        self._rough().takes = self.chance.choice([1.0, 5.0, 30.0])

    def _kill(self) -> None:
        """A process ends without another request, and its pod begins anew."""
        old = self.one()
        assert isinstance(old.client, Rough)
        assert old.task is not None
        old.client.fails = 1.0
        old.task.cancel()
        self.ended.append(old)
        new = self._replica(old.namespace, f"{self.chance.random()}")
        self.replicas[self.replicas.index(old)] = new

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def _lease(self) -> tuple[tuple[str, str], dict[str, Any] | None]:
        key = ("leases", self.one().lease)
        lease = copy.deepcopy(self.store.objects.get(key))
        if lease is not None:
            self._past.append((key, copy.deepcopy(lease)))
        return key, lease

    def _deny(self) -> None:
        self._rough().denied = self.chance.choice([LEASES, CLUSTER_ROLE_BINDINGS])

    def _delete(self) -> None:
        key, _ = self._lease()
        self.store.objects.pop(key, None)

    def _edit(self) -> None:
        (_, name), lease = self._lease()
        if lease is not None:
            lease["metadata"]["annotations"] = {}
            self.store.apply("update", LEASES, name, "", lease)

    def _free(self) -> None:
        (_, name), lease = self._lease()
        if lease is not None:
            lease["metadata"]["annotations"] = {SCHEDULER_NAMES_KEY: "", HOLDER_KEY: ""}
            lease["spec"]["holderIdentity"] = ""
            self.store.apply("update", LEASES, name, "", lease)

    def _restore(self) -> None:
        if self._past:
            key, lease = self.chance.choice(self._past)
            self.store.objects[key] = copy.deepcopy(lease)

    def _hide(self) -> None:
        self._bind(*self.chance.choice([(), ("one",), ("two",)]))


@pytest.fixture
async def cluster(seed: int, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster(seed)
    monkeypatch.setattr(random, "uniform", found.chance.uniform)
    return found


async def disturb(cluster: Cluster, things: list[Callable[[], None]], *, seconds: float) -> int:
    """The most that held at once meanwhile."""
    most, left = 0, seconds
    while left > 0:
        cluster.chance.choice(things)()
        pause = cluster.chance.expovariate(1 / 5)
        left -= pause
        for _ in range(int(pause / 0.25) + 1):
            await asyncio.sleep(0.25)
            most = max(most, len(cluster.holders()))
    cluster.calm()
    return most


@pytest.mark.parametrize("seed", range(4))
async def test_soon_after_the_last_disturbance_one_leads_and_stays(cluster: Cluster) -> None:
    for _ in range(3):
        await disturb(cluster, cluster.failures + cluster.changes, seconds=60)
        await asyncio.sleep(NOTICED)
        for _ in range(int(SETTLED - NOTICED)):
            await asyncio.sleep(1)
            assert len(cluster.holders()) <= 1
        [leader] = cluster.holders()
        await asyncio.sleep(60)
        assert cluster.holders() == [leader]
    await cluster.stop()


@pytest.mark.parametrize("seed", range(4))
async def test_while_nobody_changes_a_lease_two_never_lead(cluster: Cluster) -> None:
    """Requests may fail and processes end in any way."""
    for _ in range(3):
        assert await disturb(cluster, cluster.failures, seconds=120) <= 1
        await asyncio.sleep(SETTLED)
        assert len(cluster.holders()) == 1
    await cluster.stop()
