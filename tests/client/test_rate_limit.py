# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The client-side limit of requests: who waits for how long, in virtual time."""

import asyncio
import logging
from random import Random

import pytest
from prometheus_client import REGISTRY

from enbloc.client.rate_limit import RateLimiter, RateLimits
from enbloc.model.request_rate import RequestRate
from tests.world.virtual_time import busy


class Requests:
    """Takes tokens, and notes who got one at what time."""

    def __init__(self, qps: float, burst: int) -> None:
        self.limiter = RateLimiter(qps, burst)
        self.sent: list[tuple[str, float]] = []

    async def send(self, name: str) -> None:
        waited = await self.limiter.wait()
        now = asyncio.get_running_loop().time()
        assert waited <= now
        self.sent.append((name, now))

    def start(self, *names: str) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.send(name)) for name in names]


async def test_a_full_bucket_passes_at_once_and_what_comes_after_at_the_rate() -> None:
    requests = Requests(4, 3)
    await asyncio.gather(*requests.start(*"abcdef"))
    assert requests.sent == [("a", 0), ("b", 0), ("c", 0), ("d", 0.25), ("e", 0.5), ("f", 0.75)]


async def test_after_any_time_without_requests_a_burst_is_the_most_that_passes_at_once() -> None:
    requests = Requests(4, 2)
    await asyncio.gather(*requests.start(*"abcd"))
    await asyncio.sleep(99.5)
    await asyncio.gather(*requests.start(*"efg"))
    assert requests.sent[4:] == [("e", 100), ("f", 100), ("g", 100.25)]


async def test_who_comes_later_is_served_later_although_a_token_has_just_come() -> None:
    requests = Requests(1, 1)
    first = requests.start("a", "b")
    await asyncio.sleep(1)  # the token of b is there
    await asyncio.gather(*first, *requests.start("c"))
    assert requests.sent == [("a", 0), ("b", 1), ("c", 2)]


async def test_who_is_cancelled_while_waiting_takes_no_token() -> None:
    requests = Requests(1, 1)
    tasks = requests.start(*"abcd")
    await asyncio.sleep(0.5)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert requests.sent == [("a", 0), ("c", 1), ("d", 2)]


async def test_a_token_that_comes_as_its_waiter_is_cancelled_goes_to_the_next() -> None:
    requests = Requests(1, 1)
    tasks = requests.start(*"abc")
    asyncio.get_running_loop().call_later(1, lambda: asyncio.get_running_loop().call_soon(cancel))

    def cancel() -> None:
        assert not tasks[1].done()
        tasks[1].cancel()

    await asyncio.gather(*tasks, return_exceptions=True)
    assert tasks[1].cancelled()
    assert requests.sent == [("a", 0), ("c", 1)]


async def test_a_waiter_that_is_cancelled_just_before_its_token_comes_leaves_it_to_the_next() -> (
    None
):
    requests = Requests(1, 1)
    tasks = requests.start(*"ab")
    await asyncio.sleep(0.5)
    asyncio.get_running_loop().call_at(1, tasks[1].cancel)
    await asyncio.sleep(0.25)
    tasks += requests.start("c")
    await asyncio.gather(*tasks, return_exceptions=True)
    assert tasks[1].cancelled()
    assert requests.sent == [("a", 0), ("c", 1)]


async def test_tokens_that_came_while_the_loop_was_busy_are_not_lost_to_who_waits() -> None:
    requests = Requests(50, 1)
    tasks = requests.start(*"abcdefgh")
    await asyncio.sleep(0)
    busy(0.2)
    async with asyncio.timeout(0.1):
        await asyncio.gather(*tasks)
    assert [name for name, _ in requests.sent] == [*"abcdefgh"]


@pytest.mark.parametrize("seed", range(20))
async def test_no_stretch_of_time_has_more_than_its_tokens_and_all_are_served_in_order(
    seed: int,
) -> None:
    random = Random(seed)
    qps, burst = random.choice([0.5, 3, 100]), random.randint(1, 5)
    requests = Requests(qps, burst)
    tasks = list[asyncio.Task[None]]()
    for number in range(60):
        tasks += requests.start(str(number))
        if random.random() < 0.3:
            random.choice(tasks).cancel()
        await asyncio.sleep(random.choice([0, 0, 0.5 / qps, 2 / qps]))
    await asyncio.gather(*tasks, return_exceptions=True)
    lives = [str(number) for number, task in enumerate(tasks) if not task.cancelled()]
    assert [name for name, _ in requests.sent] == lives
    times = [when for _, when in requests.sent]
    for first, begin in enumerate(times):
        for last in range(first, len(times)):
            late = 0.001  # a timer may fire so much later than it is set
            assert last - first + 1 <= burst + (times[last] - begin + late) * qps + 1e-6


@pytest.mark.parametrize(
    ("rate", "limits"),
    [
        pytest.param(RequestRate(), None, id="neither"),
        pytest.param(RequestRate(-1.0, 7), None, id="negative"),
        pytest.param(RequestRate(7.0, 3), RequestRate(7.0, 3), id="both"),
        pytest.param(RequestRate(7.0), RequestRate(7.0, 100), id="qps alone"),
        pytest.param(RequestRate(burst=3), RequestRate(50.0, 3), id="burst alone"),
    ],
)
def test_what_is_not_set_is_kube_schedulers_default_or_no_limit_at_all(
    rate: RequestRate, limits: RequestRate | None
) -> None:
    made = RateLimits.of(rate, "h")
    assert (made and made._rate) == limits


async def test_events_have_a_bucket_of_their_own() -> None:
    limits = RateLimits.of(RequestRate(1.0, 1), "h")
    assert limits is not None
    now = asyncio.get_running_loop().time
    events = [asyncio.create_task(limits.wait("POST", "events.events.k8s.io")) for _ in range(9)]
    await asyncio.sleep(0.5)
    await limits.wait("POST", "pods/binding")
    assert now() == 0.5
    await asyncio.gather(*events)
    assert now() == 8


async def test_waits_are_measured_and_long_ones_logged_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    limits = RateLimits.of(RequestRate(0.5, 1), "measured")
    assert limits is not None
    await asyncio.gather(*(limits.wait("POST", "pods/binding") for _ in range(4)))
    [message] = caplog.messages
    assert "delayed POST pods/binding by 2.0 s (qps 0.5, burst 1)" in message
    name, labels = "rest_client_rate_limiter_duration_seconds", {"verb": "POST", "host": "measured"}
    assert REGISTRY.get_sample_value(f"{name}_count", labels) == 4
    assert REGISTRY.get_sample_value(f"{name}_sum", labels) == 0 + 2 + 4 + 6
    await asyncio.sleep(60)
    await asyncio.gather(*(limits.wait("POST", "pods/binding") for _ in range(2)))
    assert len(caplog.messages) == 2
