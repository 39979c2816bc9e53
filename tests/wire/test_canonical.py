# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One object for all that are equal, and none for what nobody uses."""

import gc
import tracemalloc

from enbloc.devices.facts import ResourceClaim, Traits
from enbloc.wire import device_codec as codec
from enbloc.wire.canonical import Canonical


def test_equal_objects_become_one_and_the_last_user_takes_it_along() -> None:
    known: Canonical[Traits] = Canonical()
    one, other, third = Traits(("a",)), Traits(("a",)), Traits(("b",))
    assert known.of(one) is known.of(other) is one
    assert known.of(third) is third
    assert len(known) == 2
    del one
    gc.collect()
    assert len(known) == 1
    assert known.of(other) is other


def _claim(number: int) -> ResourceClaim:
    """A claim of half a megabyte, as no other is."""
    texts = [f"true || {number} == {at} || " + "x" * 10_000 for at in range(32)]
    ask = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": t}} for t in texts]}
    requests = [{"name": "a", "exactly": ask}]
    found = codec.read_resource_claim(
        {
            "metadata": {"name": f"c{number}", "namespace": "ns", "uid": str(number)},
            "spec": {"devices": {"requests": requests}},
        }
    )
    assert isinstance(found, ResourceClaim)
    return found


def test_of_claims_that_came_and_went_nothing_stays() -> None:
    _claim(0)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(1, 40):
        _claim(number)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept < 2**20
