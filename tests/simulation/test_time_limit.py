# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is said if the simulation of what waits reaches its time limit."""

from collections.abc import Callable

import pytest

from enbloc.model.reasons import WaitCause
from enbloc.simulation import GivenUpError, Outlook, WhatIfQuestion
from tests.simulation.present import outlook, present, run
from tests.world.builders import spec
from tests.world.cluster import Cluster

NAMES = [f"wait-{at}" for at in range(10)]


def steps(number: int) -> Callable[[], bool]:
    """Time for so many steps of the scheduler, and no more."""
    left = iter(range(number - 1))
    return lambda: next(left, None) is not None


def full() -> Cluster:
    """A node that a gang fills until its limit, and for which many others wait."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("early", 2, spec=spec(cpu=2), limit=600.0)
    run(cluster, "early")
    for name in cluster.where("early-"):
        cluster.change(name, started=cluster.now)
    for at, name in enumerate(NAMES):
        cluster.gang(name, 2, spec=spec(cpu=1 + at % 2, memory=(1 + at) << 20))
    return cluster


def test_an_answer_within_the_time_limit_is_complete() -> None:
    found = outlook(full())
    assert found.complete
    assert found.cut == ""
    assert all(row.decided for row in found.rows)
    assert Outlook(present(full()), timely=steps(1000)).rows == found.rows


def test_those_whose_turn_did_not_come_are_listed_last_and_say_so() -> None:
    whole = outlook(full()).rows
    found = Outlook(present(full()), timely=steps(3))
    tried = [row for row in found.rows if row.decided]
    assert 0 < len(tried) < len(NAMES)
    assert tried == list(whole[: len(tried)])
    late = found.rows[len(tried) :]
    assert {row.key for row in found.rows} == {row.key for row in whole}
    assert {row.message for row in late} == {
        "the simulation reached its time limit before its turn"
    }
    assert not any(row.starts for row in late)
    assert not found.complete
    assert found.cut == (
        f"the simulation reached its time limit; {len(late)} of 10 waiting groups and pods were "
        "not tried, and more may start than are shown"
    )


def test_the_last_step_is_no_cut_even_when_the_time_is_over_then() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    assert Outlook(present(cluster), timely=lambda: False).complete


def test_nothing_is_concluded_from_a_simulation_that_did_not_end() -> None:
    assert outlook(full()).starts()
    found = Outlook(present(full()), timely=steps(3))
    assert found.starts() == {}
    refused = found.explain(found.rows[0])
    assert refused.cause is WaitCause.CAPACITY
    assert not refused.remedies
    assert not refused.complete
    untried = found.explain(found.rows[-1])
    assert untried.cause is WaitCause.OTHER
    assert not untried.complete
    assert not untried.remedies
    with pytest.raises(GivenUpError):
        found.answer(WhatIfQuestion())
