# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""No input ends a decoder but by the error that it documents, and each that is refused is named.

The inputs are the same in each run, unless hypothesis' profile is deep. A quick run tries 20,000 in
all, a full one more than a million.
"""

import logging
from collections.abc import Callable
from random import SystemRandom

import pytest

from tests.effort import deep, slow
from tests.fuzz.decoders import DECODERS, Decoder
from tests.fuzz.mutations import Mutator

#: Of a decoder that takes microseconds; others have a smaller share.
QUICK = 500
FULL = 27_000
CHUNKS = 2
#: Characters of a message; files of ours are the administrator's own, and quoted as they are.
LONGEST = 10_000
FILES = ("configuration", "conversion", "kubeconfig")


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Who is left out is logged, each time."""
    caplog.set_level(logging.ERROR, "enbloc")


def fuzz(decoder: Decoder, inputs: int, seed: int) -> tuple[int, int]:
    """How many inputs were accepted, and how many named as malformed."""
    mutated = Mutator(decoder.seeds, seed)
    malformed = 0
    for number in range(inputs):
        raw = mutated()
        try:
            problem = decoder.decode(raw)
        except Exception as error:
            error.add_note(f"{decoder.name}, seed {seed}, input {number}: {raw[:2000]!r}")
            raise
        malformed += bool(problem)
        assert len(problem) < LONGEST or decoder.name in FILES, problem[:300]
    return inputs - malformed, malformed


def inputs(decoder: Decoder, most: int) -> int:
    return max(10, most * decoder.share // 100)


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)
def test_real_objects_are_accepted(decoder: Decoder) -> None:
    """Else nearly every mutation would be refused for the same reason."""
    refusals = ("answer refusal", "answer binding")
    problems = [decoder.decode(seed) for seed in decoder.seeds]
    assert "" in problems or decoder.name in refusals, problems


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)
def test_no_mutation_of_a_real_object_ends_a_decoder(decoder: Decoder) -> None:
    fuzz(decoder, inputs(decoder, QUICK), SystemRandom().getrandbits(32) if deep() else 0)


@slow("a million inputs: a few minutes")
@pytest.mark.parametrize("chunk", range(1, CHUNKS + 1))
@pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.name)
def test_none_of_a_million_mutations_ends_a_decoder(
    decoder: Decoder, chunk: int, record_property: Callable[[str, object], None]
) -> None:
    accepted, malformed = fuzz(decoder, inputs(decoder, FULL // CHUNKS), chunk)
    print(f"{decoder.name}: {accepted} accepted, {malformed} named as malformed")
    record_property("accepted", accepted)
    record_property("malformed", malformed)


def test_a_full_run_is_a_million_inputs() -> None:
    assert sum(CHUNKS * inputs(each, FULL // CHUNKS) for each in DECODERS) >= 10**6
