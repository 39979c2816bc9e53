# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which claim gets which volume: the smallest that fits, and others move where that helps."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.storage.available import Bits, VolumeChoice, each_bit
from enbloc.storage.matching import Movable, exchanged, freeable, smallest_fit
from tests.effort import examples

EVERYWHERE = 0b11111111


def bits(*places: int) -> Bits:
    return sum(1 << place for place in places)


@pytest.mark.parametrize(
    ("choices", "free", "expected"),
    [
        pytest.param([bits(1, 2)], EVERYWHERE, [1], id="the smallest that fits"),
        pytest.param([bits(1, 2)], bits(2), [2], id="the next where it is taken"),
        pytest.param([bits(0, 1), bits(0, 1)], EVERYWHERE, [0, 1], id="no volume twice"),
        pytest.param([bits(0), bits(0)], EVERYWHERE, [0, None], id="none is left"),
    ],
)
def test_a_claim_gets_the_smallest_volume_that_is_left(
    choices: list[Bits], free: Bits, expected: list[int | None]
) -> None:
    assert smallest_fit([VolumeChoice(each) for each in choices], EVERYWHERE, free)[0] == expected


def test_a_volume_that_names_the_claim_is_the_only_one_in_question() -> None:
    choice = VolumeChoice(bits(0, 1), reserved=bits(3))

    assert smallest_fit([choice], EVERYWHERE, EVERYWHERE)[0] == [3]
    assert smallest_fit([choice], bits(0, 1), EVERYWHERE)[0] == [None]


def test_a_claim_moves_to_another_volume_for_one_that_has_no_other() -> None:
    movable = {"first": Movable(0, bits(0), bits(0, 1))}

    assert freeable(bits(1), movable) == bits(0, 1)
    assert exchanged([VolumeChoice(bits(0))], EVERYWHERE, bits(1), movable) == ([0], {"first": 1})


def test_claims_move_in_a_chain() -> None:
    movable = {
        "first": Movable(0, bits(0), bits(0, 1)),
        "second": Movable(1, bits(1), bits(1, 2)),
    }

    assert exchanged([VolumeChoice(bits(0))], EVERYWHERE, bits(2), movable) == (
        [0],
        {"first": 1, "second": 2},
    )


sets = st.integers(0, 31)


@pytest.mark.hypothesis
@examples(300)
@given(wants=st.lists(sets, min_size=1, max_size=2), held=st.lists(sets, max_size=3), free=sets)
def test_an_exchange_is_found_wherever_there_is_one(
    wants: list[Bits], held: list[Bits], free: Bits
) -> None:
    movable: dict[str, Movable] = {}
    for index, candidates in enumerate(held):
        mine = next((p for p in each_bit(candidates) if all(p != m.place for m in movable.values())
                     ), None)  # fmt: skip
        if mine is not None:
            movable[f"held {index}"] = Movable(mine, 1 << mine, candidates)
            free &= ~(1 << mine)

    result = exchanged([VolumeChoice(each) for each in wants], 31, free, movable)

    usable = free | bits(*(each.place for each in movable.values()))
    everyone = [*wants, *(each.candidates for each in movable.values())]
    possible = any(
        all(want & usable & (1 << place) for want, place in zip(everyone, order, strict=False))
        for order in permutations(range(5), len(everyone))
    )
    assert (result is not None) == (possible and len(everyone) <= 5)
    if result is None:
        return
    found, moved = result
    places = [*found, *(moved.get(key, each.place) for key, each in movable.items())]
    assert len(set(places)) == len(places)
    assert all(want & usable & (1 << place) for want, place in zip(everyone, places, strict=True))


@pytest.mark.hypothesis
@examples(200)
@given(want=sets, held=st.lists(sets, max_size=4), free=sets)
def test_what_could_be_freed_is_what_an_exchange_would_find(
    want: Bits, held: list[Bits], free: Bits
) -> None:
    movable: dict[str, Movable] = {}
    for index, candidates in enumerate(held):
        mine = next((p for p in each_bit(candidates) if all(p != m.place for m in movable.values())
                     ), None)  # fmt: skip
        if mine is not None:
            movable[f"held {index}"] = Movable(mine, 1 << mine, candidates)
            free &= ~(1 << mine)

    found = exchanged([VolumeChoice(want)], 31, free, movable)

    assert (found is not None) == bool(want & freeable(free, movable))
