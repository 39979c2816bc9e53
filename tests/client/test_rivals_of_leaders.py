# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two installs that lead at once, after Leases or bindings were changed or not seen, find it out.

In virtual time; semantics §6.4.
"""

import asyncio
import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from enbloc.client.errors import Forbidden, ServerError
from enbloc.client.lease import LeaseLost, LeaseTiming
from enbloc.client.paths import CLUSTER_ROLE_BINDINGS, LEASES, Resource
from enbloc.client.transport import WRITE_SECONDS
from enbloc.model.names import HOLDER_KEY, SCHEDULER_NAMES_KEY
from tests.client.installs import Install, binding, leads
from tests.client.memory import MemoryClient, Store


@pytest.fixture
def store() -> Store:
    return Store()


def now() -> float:
    return asyncio.get_running_loop().time()


async def until(holds: Callable[[], bool], *, within: float = 60.0) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.01)


async def ends(one: Install, two: Install, *, within: float) -> None:
    """Of two that lead, one or both stand down in this time, and a minute later one leads."""
    began = now()
    await until(lambda: not (one.elector.holds() and two.elector.holds()), within=within)
    await asyncio.sleep(60)
    assert sum(leads(one, two)) == 1
    leader = leads(one, two)
    while now() - began < 300:
        await asyncio.sleep(1)
        assert leads(one, two) == leader, "it stays"
    for each in (one, two):
        where = f"{each.namespace}/{each.lease}"
        gave = f"gave back the Lease {where}: the scheduler of the Lease "
        assert all(lost.startswith(gave) for lost in each.lost)
        await each.stop()
    assert one.lost or two.lost


async def test_a_leader_that_writes_its_deleted_lease_again_sees_who_began_meanwhile(
    store: Store,
) -> None:
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one").start(again=True)
    await asyncio.sleep(60)
    del store.objects["leases", one.lease]
    two = Install(store, "two").start(again=True)
    await asyncio.sleep(0.5)
    assert leads(one, two) == [True, True]
    await ends(one, two, within=15)


async def test_a_leader_whose_lease_was_given_back_by_another_sees_who_began_meanwhile(
    store: Store,
) -> None:
    """Nothing tells it from one that was given back in vain."""
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one").start(again=True)
    await asyncio.sleep(5)
    two = Install(store, "two").start(again=True)
    await asyncio.sleep(60)
    lease = copy.deepcopy(store.objects["leases", one.lease])
    lease["metadata"]["annotations"] = {SCHEDULER_NAMES_KEY: "", HOLDER_KEY: ""}
    lease["spec"]["holderIdentity"] = ""
    store.apply("update", LEASES, one.lease, "one", lease)
    await until(lambda: two.leading)
    await ends(one, two, within=15)


@pytest.mark.parametrize("denied", [LEASES, CLUSTER_ROLE_BINDINGS])
async def test_two_that_could_not_see_each_other_find_out_once_they_can(
    store: Store, denied: Resource
) -> None:
    """No Lease changes when permissions do."""

    class Denied(MemoryClient):
        async def request(self, verb: str, resource: Resource, *args: Any, **more: Any) -> bytes:
            if (verb, resource) == ("list", denied) and blind:
                raise Forbidden(verb, resource.label(), "no", code=403)
            return await super().request(verb, resource, *args, **more)

    blind = [True]
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one", client=Denied(store)).start(again=True)
    await asyncio.sleep(60)
    if denied == CLUSTER_ROLE_BINDINGS:  # every Lease counts for who does not lead yet
        del store.objects["leases", one.lease]
    two = Install(store, "two", client=Denied(store)).start(again=True)
    await asyncio.sleep(120)
    assert leads(one, two) == [True, True]
    blind.clear()
    await ends(one, two, within=50)


async def test_two_that_lead_find_out_though_lists_are_answered_late(store: Store) -> None:
    """Each look lists four times, one after another."""

    class Late(MemoryClient):
        async def request(self, verb: str, resource: Resource, *args: Any, **more: Any) -> bytes:
            self.latency = 5.0 if verb == "list" else 0.1
            if (verb, resource) == ("list", LEASES) and blind:
                raise Forbidden(verb, resource.label(), "no", code=403)
            return await super().request(verb, resource, *args, **more)

    blind = [True]
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one", client=Late(store)).start(again=True)
    two = Install(store, "two", client=Late(store)).start(again=True)
    await asyncio.sleep(60)
    assert leads(one, two) == [True, True]
    blind.clear()
    await ends(one, two, within=100)


async def test_a_leader_that_stands_down_writes_nothing_more_and_frees_its_lease_when_that_landed(
    store: Store,
) -> None:
    """Semantics §6.3: its own standby may take the Lease at once."""

    class Slow(MemoryClient):
        """A renewal is mostly under way."""

        async def request(self, verb: str, *args: Any, **more: Any) -> bytes:
            answer = await super().request(verb, *args, **more)
            await asyncio.sleep(4.0 if verb == "update" else 0.0)
            return answer

    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one", client=Slow(store)).start()
    await asyncio.sleep(5)
    del store.objects["leases", one.lease]
    two = Install(store, "two").start()
    await until(lambda: not one.leading)
    stopped = now()
    await asyncio.sleep(4.5)
    assert not one.elector.holds(), "a renewal has succeeded since"
    await until(lambda: store.objects["leases", one.lease]["spec"]["holderIdentity"] == "")
    assert WRITE_SECONDS - 0.1 <= now() - stopped <= WRITE_SECONDS + 0.1
    lease = store.objects["leases", one.lease]
    assert lease["metadata"]["annotations"] == {SCHEDULER_NAMES_KEY: "", HOLDER_KEY: ""}
    assert two.leading
    await until(lambda: bool(one.lost))
    [lost] = one.lost
    assert lost == (
        "gave back the Lease one/one-lease: the scheduler of the Lease two/two-lease (held by "
        "two-0) serves schedulerName enbloc too; give each scheduler a schedulerName of its own, "
        "or remove one of the two"
    )
    assert one.conflicts == [], "the next term says for whom it stands by"
    with pytest.raises(LeaseLost):
        await one.stop()
    await two.stop()


@pytest.mark.parametrize(
    "bindings",
    [
        pytest.param(["one"], id="its namespace has no binding"),
        pytest.param(["team"], id="ours has none"),
        pytest.param([], id="none are found"),
    ],
)
async def test_no_lease_of_a_tenant_ends_a_term(store: Store, bindings: list[str]) -> None:
    store.objects["clusterrolebindings", "enbloc"] = binding("one")
    one = Install(store, "one").start()
    await asyncio.sleep(5)
    tenant = Install(store, "team")

    def forbidden(verb: str) -> None:
        if verb == "list":
            raise Forbidden(verb, "leases", "no")

    tenant.client.before = forbidden
    tenant.start()
    store.objects["clusterrolebindings", "enbloc"] = binding(*bindings)
    for _ in range(20):
        await asyncio.sleep(10)
        del store.objects["leases", one.lease]
    assert leads(one, tenant) == [True, True]
    await one.stop()
    await tenant.stop()


async def test_a_lease_that_a_dead_install_left_ends_no_term(store: Store) -> None:
    """It may come to count when a binding is made, but nobody renews it."""
    store.objects["clusterrolebindings", "enbloc"] = binding("one")
    dead = Install(store, "two").start()
    await asyncio.sleep(5)
    await dead.crash()
    one = Install(store, "one").start()
    await asyncio.sleep(60)
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    await asyncio.sleep(200)
    assert one.leading
    await one.stop()


@pytest.mark.parametrize("how", ["fail", "hang"])
async def test_looks_that_fail_cost_a_leader_nothing(store: Store, how: str) -> None:
    class Bad(MemoryClient):
        async def request(self, verb: str, *args: Any, **more: Any) -> bytes:
            if verb == "list" and bad:
                await asyncio.sleep(1e9 if how == "hang" else 0.0)
                raise ServerError(verb, "leases", "no quorum")
            if verb == "update":
                renewed.append(now())
            return await super().request(verb, *args, **more)

    bad, renewed = list[bool](), list[float]()
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one", client=Bad(store)).start(again=True)
    await asyncio.sleep(5)
    bad.append(True)
    await asyncio.sleep(300)
    assert one.leading
    assert one.lost == one.problems == []
    assert max(later - earlier for earlier, later in pairwise(renewed)) <= 1.2 * LeaseTiming().retry
    del store.objects["leases", one.lease]
    two = Install(store, "two").start(again=True)
    await asyncio.sleep(60)
    assert leads(one, two) == [True, False], "the other looks, too"
    await one.stop()
    await two.stop()


async def test_a_leader_looks_for_rivals_twice_a_minute(store: Store) -> None:
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one").start()
    await asyncio.sleep(10)
    one.client.sent.clear()
    await asyncio.sleep(3600)
    looks = [plural for verb, plural, _ in one.client.sent if verb == "list"]
    bindings = looks.count("clusterrolebindings")
    assert 60 * 60 / 36 - 1 <= bindings <= 60 * 60 / 24
    assert looks.count("leases") == 3 * bindings, "one for each namespace"
    await one.stop()
