# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How many Bindings are in flight follows what the API server takes."""

import random
from collections.abc import Callable

import pytest

from enbloc.client.extender import CONNECTIONS, QUESTIONS
from enbloc.live.bind_slots import BURST, BURST_SECONDS, LEAST, MOST, START, BindSlots

Server = Callable[[int], float]
"""How long one Binding takes when so many are in flight (seconds)."""


def far_away(in_flight: int) -> float:
    """A server that is 50 ms away, and takes what comes."""
    del in_flight
    return 0.05


def busy(in_flight: int) -> float:
    """A server whose CPU is good for 1000 Bindings a second."""
    return in_flight / 1000


def both(in_flight: int) -> float:
    """A server 20 ms away that is good for 3000 Bindings a second."""
    return max(0.02, in_flight / 3000)


def overloaded(in_flight: int) -> float:
    """A server that takes two seconds for each."""
    del in_flight
    return 2.0


class Clock:
    """Bindings that end one after the other, each slot used again at once."""

    def __init__(self, slots: BindSlots, noise: float = 0.0) -> None:
        self.now = 100.0
        self._slots = slots
        self._chance = random.Random(7)
        self._noise = noise

    def bind(self, server: Server, count: int, share: float = 1.0) -> None:
        """So many Bindings, with so much of the slots taken."""
        for _ in range(count):
            in_flight = max(1, int(share * self._slots.limit))
            takes = server(in_flight) * self._chance.uniform(1 - self._noise, 1 + self._noise)
            self.now += takes / in_flight
            self._slots.ended(self.now, takes, in_flight)


def test_more_are_in_flight_where_the_server_is_far_away() -> None:
    slots = BindSlots()
    Clock(slots).bind(far_away, 10_000)
    assert slots.limit > 0.75 * MOST


def test_no_more_are_in_flight_where_the_server_has_no_cpu_left() -> None:
    slots = BindSlots()
    clock = Clock(slots, noise=0.3)
    seen = []
    for _ in range(200):
        clock.bind(busy, 100)
        seen.append(slots.limit)
    assert sum(seen) / len(seen) < 1.5 * START


def test_the_number_is_found_beyond_which_nothing_is_gained() -> None:
    slots = BindSlots()
    clock = Clock(slots)
    clock.bind(both, 20_000)
    assert 48 <= slots.limit <= 80  # 60 in 20 ms are 3000 a second
    clock.bind(far_away, 20_000)
    assert slots.limit > 0.75 * MOST


def test_fewer_are_in_flight_once_that_costs_nothing() -> None:
    slots = BindSlots()
    clock = Clock(slots)
    clock.bind(far_away, 10_000)
    clock.bind(busy, 40_000)
    assert slots.limit <= 1.5 * START


def test_a_server_in_trouble_gets_few_at_once_until_it_is_well() -> None:
    slots = BindSlots()
    clock = Clock(slots)
    clock.bind(overloaded, 200)
    assert slots.limit == LEAST
    clock.bind(busy, 500)
    assert slots.limit >= START


def test_a_few_slow_bindings_of_one_tenant_take_no_slots_from_others() -> None:
    slots = BindSlots()
    clock = Clock(slots)
    for _ in range(200):
        clock.bind(busy, 7)
        clock.bind(overloaded, 3)
    assert slots.limit >= START


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_idle_slots_say_nothing_about_the_server(share: float) -> None:
    slots = BindSlots()
    Clock(slots).bind(far_away, 10_000, share=share)
    assert slots.limit == START


def test_a_pause_between_two_bursts_is_not_taken_for_slowness() -> None:
    slots = BindSlots()
    clock = Clock(slots)
    clock.bind(far_away, 10_000)
    before = slots.limit
    clock.now += 3600
    clock.bind(far_away, 10 * before)
    assert slots.limit >= before / 1.25


def test_a_burst_lasts_until_few_have_been_in_flight_for_a_while() -> None:
    slots = BindSlots()
    assert not slots.bursting(100.0)
    for _ in range(BURST):
        slots.ended(100.0, 0.01, in_flight=BURST - 1)
    assert not slots.bursting(100.0)
    slots.ended(101.0, 0.01, in_flight=BURST)
    slots.ended(101.1, 0.01, in_flight=1)
    assert slots.bursting(101.1)
    assert not slots.bursting(101.0 + BURST_SECONDS)


def test_bindings_that_hang_are_no_burst() -> None:
    slots = BindSlots()
    for other in range(60):
        now = 100.0 + other / 2
        slots.ended(now, 0.01, in_flight=3 * BURST)
        assert not slots.bursting(now)


def test_no_binding_by_an_extender_waits_for_a_connection() -> None:
    assert CONNECTIONS - QUESTIONS >= MOST
