# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A leader stops before another may lead, whatever happens to its API calls (virtual time)."""

import asyncio
import logging
import re
from typing import Any

import pytest

from enbloc.client.clock import boot_clock
from enbloc.client.errors import Forbidden, NotFound, ServerError, TooManyRequests
from enbloc.client.lease import Elector, LeaseLost, LeaseTiming, identity_of
from enbloc.client.paths import LEASES
from enbloc.errors import ConfigError
from tests.client.candidates import Candidate, fails, lease, now, reset
from tests.client.memory import MemoryClient, Store


async def test_the_first_candidate_leads_and_writes_a_proper_lease() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    spec = lease(store)
    assert spec["holderIdentity"] == "one"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec["renewTime"])
    assert one.elector.holds()
    await one.stop()


async def test_a_leader_renews_and_a_standby_waits() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    two = Candidate(store, "two").start()
    await asyncio.sleep(120)
    assert one.elector.holds()
    assert not two.leading.is_set()
    assert two.elector.holder == "one"
    await one.stop()
    await two.stop()


async def test_less_time_than_a_clock_tells_apart_is_not_waited_for_to_renew_in_it() -> None:
    one = Candidate(Store(), "one").start()
    await one.leading.wait()

    def fail(_: str) -> None:
        one.elector.valid_until = ends
        raise reset()

    ends = now() + 5.0 + 1e-12
    one.client.before = fail
    assert isinstance(await one.end(), LeaseLost)


async def test_a_standby_logs_once_who_holds_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    with caplog.at_level(logging.INFO):
        two.start()
        await asyncio.sleep(60)
    told = [(each.getMessage(), vars(each)["holder"]) for each in caplog.records]
    assert told == [("Another holds the Lease", "one")]
    await one.stop()
    await two.stop()


async def test_a_released_lease_is_taken_at_the_next_try() -> None:
    store = Store()
    one, two = Candidate(store, "one"), Candidate(store, "two")
    one.start()
    await one.leading.wait()
    two.start()
    await asyncio.sleep(5)
    stopped = now()
    one.finish.set()
    assert await one.end() is None
    assert lease(store)["leaseDurationSeconds"] == 1
    await two.leading.wait()
    assert now() - stopped <= 3
    assert two.elector.epoch == 1
    await two.stop()


async def test_cancelling_the_leader_waits_for_its_work_and_renews_meanwhile() -> None:
    store = Store()
    one, two = Candidate(store, "one"), Candidate(store, "two")

    async def slow_to_stop() -> None:
        try:
            await one.work()
        finally:
            await asyncio.sleep(20)
            assert one.elector.holds()

    one.start(slow_to_stop)
    await one.leading.wait()
    two.start()
    await asyncio.sleep(5)
    began = now()
    await one.stop()
    assert now() - began >= 20
    assert lease(store)["holderIdentity"] == ""
    await two.leading.wait()
    await two.stop()


@pytest.mark.parametrize("fault", ["hang", "reset", "500", "slow", "lost answers"])
async def test_a_leader_that_cannot_renew_stops_before_another_leads(fault: str) -> None:
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    two.start()
    await asyncio.sleep(30)
    match fault:
        case "hang":
            one.client.latency = 1e9
        case "slow":
            one.client.latency = 6
        case "reset":
            one.client.before = fails(reset())
        case "lost answers":
            one.client.after = fails(reset())
        case _:
            one.client.before = fails(ServerError("update", "leases", "sad", code=500))
    began = now()
    assert isinstance(await one.end(), LeaseLost)
    assert one.stopped_at is not None
    assert one.stopped_at - began <= 10
    assert not one.elector.holds()
    await two.leading.wait()
    assert now() - one.stopped_at >= 5  # what it had sent has timed out by now
    assert now() - began <= 10 + 15 + 5
    await two.stop()


async def test_a_short_outage_costs_nothing() -> None:
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    two.start()
    await asyncio.sleep(30)
    one.client.before = fails(reset())
    await asyncio.sleep(5)  # with a pause of up to 2.4 s before and after it, less than 10 s
    one.client.before = lambda _: None
    await asyncio.sleep(60)
    assert one.elector.holds()
    assert not two.leading.is_set()
    assert [problem is None for problem in one.problems] == [False, True]
    await one.stop()
    await two.stop()


async def test_a_429_that_asks_for_an_hour_does_not_cost_the_lease() -> None:
    """It is for one request; the next renewal is sent when it is due."""
    store = Store()
    first, second = Candidate(store, "a").start(), Candidate(store, "b")
    await first.leading.wait()
    second.start()
    asked = list[float]()

    def throttle(verb: str) -> None:
        if verb == "update" and len(asked) < 3:
            asked.append(now())
            raise TooManyRequests(verb, "leases", "busy", code=429, retry_after=3600.0)

    first.client.before = throttle
    await asyncio.sleep(60)
    assert len(asked) == 3
    assert asked[-1] - asked[0] < LeaseTiming().renew_deadline
    assert first.elector.holds()
    assert first.stopped_at is None
    await first.stop()
    await second.stop()


async def test_a_renewal_whose_answer_is_lost_is_found_to_be_ours() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    one.client.after = lambda verb: fails(reset())(verb) if verb == "update" else None
    await asyncio.sleep(4)
    one.client.after = lambda _: None
    await asyncio.sleep(4)
    assert one.elector.holds()
    assert one.elector.epoch == 0
    await one.stop()


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"metadata": None}, id="metadata"),
        pytest.param({"spec": "x"}, id="spec"),
        pytest.param({"spec": {"leaseTransitions": "x"}}, id="leaseTransitions"),
        pytest.param(
            {"spec": {"holderIdentity": "two", "leaseDurationSeconds": "x"}}, id="duration"
        ),
    ],
)
async def test_what_is_no_lease_is_read_again(odd: dict[str, Any]) -> None:
    store = Store()
    store.objects["leases", "enbloc-scheduler"] = {"metadata": {"resourceVersion": "1"}, **odd}
    one = Candidate(store, "one").start()
    await asyncio.sleep(5)
    assert one.elector.last_error is not None
    store.objects.clear()
    await one.leading.wait()
    await one.stop()


@pytest.mark.parametrize(
    ("odd", "seconds"),
    [
        pytest.param({"leaseDurationSeconds": 2**31 - 1}, 300, id="a duration of 68 years"),
        pytest.param({"leaseDurationSeconds": -1}, 15, id="a negative duration"),
        pytest.param({"leaseDurationSeconds": 0}, 15, id="no duration"),
        pytest.param({"renewTime": "9999-12-31T23:59:59.999999Z"}, 15, id="the year 9999"),
        pytest.param({"renewTime": "soon"}, 15, id="no time"),
        pytest.param({"leaseTransitions": 2**31 - 1}, 15, id="as many transitions as fit"),
        pytest.param({"leaseTransitions": -5}, 15, id="a negative number of transitions"),
        pytest.param({"holderIdentity": "x" * 2**20}, 15, id="a holder of a megabyte"),
    ],
)
async def test_a_lease_of_nonsense_is_over_in_time_and_taken(
    odd: dict[str, Any], seconds: float
) -> None:
    """The API server stores most of it; whoever may edit the Lease must not keep all from it."""
    store = Store()
    spec = {"holderIdentity": "two", "leaseDurationSeconds": 15, "leaseTransitions": 3, **odd}
    metadata = {"name": "enbloc-scheduler", "resourceVersion": "1"}
    store.objects["leases", "enbloc-scheduler"] = {"metadata": metadata, "spec": spec}
    one = Candidate(store, "one").start()
    began = now()
    await one.leading.wait()
    assert seconds <= now() - began <= seconds + 3
    assert 0 <= lease(store)["leaseTransitions"] < 2**31
    assert lease(store)["leaseDurationSeconds"] == 15
    await one.stop()


async def test_a_holder_of_a_megabyte_fills_no_message() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    thief = dict(store.objects["leases", "enbloc-scheduler"])
    thief["spec"] = {**thief["spec"], "holderIdentity": "\x1b[2J" + "x" * 2**20}
    store.apply("update", LEASES, "enbloc-scheduler", "enbloc-system", thief)
    error = str(await one.end())
    assert len(error) < 500
    assert "\x1b" not in error


async def test_a_lease_that_is_over_is_taken_as_soon_as_it_is() -> None:
    """And not only at the next look after that."""
    store = Store()
    one, two = Candidate(store, "one").start(), Candidate(store, "two")
    await one.leading.wait()
    two.start()
    await asyncio.sleep(30)
    one.client.before = fails(reset())
    seen = two.elector.other.since
    await two.leading.wait()
    assert now() - max(seen, two.elector.other.since) <= LeaseTiming().duration + 0.1
    await two.stop()
    await one.end()


async def test_a_renewal_answered_with_no_lease_is_found_to_be_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(*_: object) -> dict[str, Any]:
        return {"metadata": {"resourceVersion": "9"}}

    one = Candidate(Store(), "one").start()
    await one.leading.wait()
    with monkeypatch.context() as patched:
        patched.setattr(one.client, "replace", nothing)
        await asyncio.sleep(4)
    await asyncio.sleep(10)
    assert one.elector.holds()
    await one.stop()


async def test_a_clock_that_jumps_ends_the_fence_at_once() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    one.offset = 3600.0  # the machine slept
    assert not one.elector.holds()
    assert isinstance(await one.end(), LeaseLost)


async def test_a_renewal_that_ends_after_the_fence_was_seen_closed_saves_nothing() -> None:
    """What was not sent meanwhile is not sent later: a Binding would never be settled."""

    class Asleep(MemoryClient):
        """After an outage the machine sleeps while a renewal is under way."""

        async def request(self, verb: str, *args: Any, **more: Any) -> bytes:
            if verb == "update" and now() < 5:
                raise reset()
            answer = await super().request(verb, *args, **more)
            if verb == "update" and not one.offset:
                one.offset = LeaseTiming().renew_deadline - now()
                held.append(one.elector.holds())
            return answer

    held: list[bool] = []
    store = Store()
    one = Candidate(store, "one", Asleep(store)).start()
    await one.leading.wait()
    async with asyncio.timeout(60):
        assert isinstance(await one.end(), LeaseLost)
    assert held == [False]
    assert not one.elector.holds()


async def test_work_that_fails_releases_the_lease_and_tells() -> None:
    store = Store()
    one = Candidate(store, "one")

    async def broken() -> None:
        raise ZeroDivisionError

    one.start(broken)
    assert isinstance(await one.end(), ZeroDivisionError)
    assert lease(store)["holderIdentity"] == ""


async def test_work_that_does_not_stop_is_not_waited_for_when_the_lease_is_lost() -> None:
    store = Store()
    one = Candidate(store, "one")
    asyncio.get_running_loop().call_later(60, one.finish.set)

    async def stubborn() -> None:
        one.leading.set()
        while not one.finish.is_set():
            try:
                await one.finish.wait()
            except asyncio.CancelledError:
                continue

    one.start(stubborn)
    await one.leading.wait()
    one.client.before = fails(reset())
    began = now()
    assert isinstance(await one.end(), LeaseLost)
    assert now() - began <= 15.1
    await one.finish.wait()
    await asyncio.sleep(1)


@pytest.mark.parametrize("lands", [False, True])
async def test_a_leader_stopped_in_the_middle_of_a_renewal_gives_its_lease_back(
    lands: bool,
) -> None:
    class Slow(MemoryClient):
        """The answer to an update takes long, whether it is applied before or never is."""

        async def request(self, verb: str, *args: Any, **more: Any) -> bytes:
            if verb == "update" and not stopping:
                renewing.set()
                if lands:
                    await super().request(verb, *args, **more)
                await asyncio.sleep(3)
            return await super().request(verb, *args, **more)

    store, renewing, stopping = Store(), asyncio.Event(), list[bool]()
    one = Candidate(store, "one", Slow(store)).start()
    await renewing.wait()
    two = Candidate(store, "two").start()
    await asyncio.sleep(0.5)
    stopping.append(True)
    stopped = now()
    await one.stop()
    assert lease(store)["holderIdentity"] == ""
    await two.leading.wait()
    assert now() - stopped <= 1.2 * LeaseTiming().retry
    await two.stop()


async def test_a_lease_that_cannot_be_released_ends_by_itself() -> None:
    store = Store()
    one = Candidate(store, "one").start()
    await one.leading.wait()
    one.client.before = fails(reset())
    await one.stop()
    assert lease(store)["holderIdentity"] == "one"
    assert not one.elector.holds()


async def test_a_missing_namespace_is_one_clear_error() -> None:
    one = Candidate(Store({"default"}), "one").start()
    error = await one.end()
    assert isinstance(error, ConfigError)
    assert 'namespace "enbloc-system"' in str(error)
    assert "--lease-namespace" in str(error)


async def test_a_404_of_a_proxy_is_no_missing_namespace() -> None:
    """It names no object: a load balancer without a server behind it may answer so."""
    store = Store()
    one = Candidate(store, "one")
    one.client.before = fails(NotFound("get", "leases", "404 page not found", code=404))
    one.start()
    await asyncio.sleep(60)
    assert one.problems[-1] is not None
    one.client.before = lambda _: None
    await one.leading.wait()
    one.client.before = fails(NotFound("get", "leases", "404 page not found", code=404))
    await asyncio.sleep(7)
    one.client.before = lambda _: None
    await asyncio.sleep(20)
    assert one.elector.holds()
    assert one.stopped_at is None
    await one.stop()


async def test_a_missing_permission_is_told_once_and_tried_again() -> None:
    one = Candidate(Store(), "one")
    one.client.before = fails(Forbidden("get", "leases.coordination.k8s.io", "no", code=403))
    one.start()
    await asyncio.sleep(60)
    [problem] = one.problems
    assert problem is not None
    assert problem.endswith('(grant the verb "get" on leases.coordination.k8s.io)')
    one.client.before = lambda _: None
    await one.leading.wait()
    await one.stop()


@pytest.mark.parametrize("seconds", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_times_that_cannot_be_safe_are_refused(seconds: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigError, match=r"lease duration .* must be above the renew deadline"):
        LeaseTiming(*seconds)


def test_identities_are_unlike_each_other() -> None:
    assert identity_of("pod-1").startswith("pod-1_")
    assert identity_of("pod-1") != identity_of("pod-1")
    assert boot_clock() <= boot_clock()


@pytest.mark.parametrize(
    ("ago", "well"),
    [
        pytest.param(float("inf"), True, id="a standby"),
        pytest.param(-5.0, True, id="a leader"),
        pytest.param(10.0, True, id="one that is about to notice that it is none"),
        pytest.param(60.0, False, id="one that should have noticed long ago"),
    ],
)
async def test_a_leader_that_outlives_its_lease_is_noticed(*, ago: float, well: bool) -> None:
    elector = Elector(MemoryClient(Store()), namespace="ns", name="l", identity="me")
    elector.valid_until = boot_clock() - ago
    assert elector.healthy() is well
