# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A Lease that another takes, that is deleted, or restored from a backup (virtual time)."""

import asyncio
import copy

import pytest

from enbloc.client.errors import Forbidden
from enbloc.client.lease import LeaseLost
from enbloc.client.lease_objects import follows
from enbloc.client.paths import LEASES
from tests.client.candidates import Candidate, fails, lease, now, reset
from tests.client.memory import Store


async def test_a_lease_taken_by_another_ends_leadership() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    thief = dict(store.objects["leases", "enbloc-scheduler"])
    thief["spec"] = {**thief["spec"], "holderIdentity": "thief"}
    store.apply("update", LEASES, "enbloc-scheduler", "enbloc-system", thief)
    error = await one.end()
    assert isinstance(error, LeaseLost)
    assert "thief holds it" in str(error)
    assert lease(store)["holderIdentity"] == "thief"  # not released: it is not ours


async def test_a_deleted_lease_is_made_again() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    store.objects.clear()
    await asyncio.sleep(20)
    assert one.elector.holds()
    assert lease(store)["holderIdentity"] == "one"
    await one.stop()


async def test_a_lease_deleted_under_its_holder_is_taken_no_sooner_than_another() -> None:
    """Semantics §6.3: the holder leads until its next renewal, and may not be able to renew."""
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    two.start()
    await asyncio.sleep(5)
    one.client.latency = 1e9
    store.objects.clear()
    began = now()
    await two.leading.wait()
    assert isinstance(await one.end(), LeaseLost)
    assert one.stopped_at is not None
    assert now() - one.stopped_at >= 5  # what it had sent has timed out by now
    assert now() - began <= 15 + 5
    await two.stop()


async def test_a_lease_deleted_while_a_standby_saw_nothing_is_not_taken_at_once() -> None:
    """Semantics §6.3: its holder may have renewed it just before."""
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    two.start()
    await asyncio.sleep(5)
    two.client.before = fails(Forbidden("get", "leases", "not yours"))
    await asyncio.sleep(20)
    one.client.latency = 1e9
    store.objects.clear()
    two.client.before = lambda _: None
    began = now()
    await two.leading.wait()
    assert isinstance(await one.end(), LeaseLost)
    assert one.stopped_at is not None
    assert now() - one.stopped_at >= 5  # what it had sent has timed out by now
    assert now() - began <= 15 + 5
    await two.stop()


@pytest.mark.parametrize("state", ["named the standby", "was released by it"])
@pytest.mark.parametrize("cut_off", [True, False])
async def test_a_restored_lease_is_taken_no_sooner_than_another(
    state: str, *, cut_off: bool
) -> None:
    """Semantics §6.3: who held it before the restore leads until it notices."""
    store, key = Store(), ("leases", "enbloc-scheduler")
    before = Candidate(store, "two").start()
    await before.leading.wait()
    held = copy.deepcopy(store.objects[key])
    await before.stop()
    released = copy.deepcopy(store.objects[key])
    one = Candidate(store, "one").start()
    await one.leading.wait()
    two = Candidate(store, "two").start()
    await asyncio.sleep(60)
    store.objects[key] = held if state == "named the standby" else released
    if cut_off:
        one.client.latency = 1e9
    for _ in range(300):
        await asyncio.sleep(0.1)
        assert one.stopped_at is not None or not two.leading.is_set()
        assert not (one.elector.holds() and two.elector.holds())
    if state == "named the standby" or cut_off:
        assert isinstance(await one.end(), LeaseLost)
        assert two.elector.holds()
    else:
        assert one.elector.holds(), "nobody else has taken it"
        await one.stop()
    await two.stop()


@pytest.mark.parametrize("ends", ["released", "expired"])
async def test_a_standby_that_took_the_lease_and_lost_the_answer_leads_at_its_next_try(
    ends: str,
) -> None:
    """Semantics §6.3: its own take raises the transitions, so the Lease was not restored."""
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    two.start()
    await asyncio.sleep(60)

    def lose(verb: str) -> None:
        if verb == "update":
            two.client.after = lambda _: None
            raise reset()

    two.client.after = lose
    one.client.latency = 1e9 if ends == "expired" else 0.0
    began = now()
    await one.stop()
    await two.leading.wait()
    assert lease(store)["leaseTransitions"] == 1
    assert now() - began <= 3 + 3 + (15 + 5 if ends == "expired" else 0)
    await two.stop()


def test_a_lower_number_of_transitions_is_an_older_state_but_not_where_it_wraps() -> None:
    assert follows(5, 5)
    assert follows(6, 5)
    assert follows(0, 2**31 - 1)
    assert follows(None, 0)
    assert not follows(4, 5)
    assert not follows(None, 5)
