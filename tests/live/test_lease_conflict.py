# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler that stands by for another install says so, and is not ready if that lasts."""

import logging

import pytest
from prometheus_client import REGISTRY

from enbloc.live.lease_conflict import GRACE, LeaseConflict

RIVAL = "the scheduler of the Lease other/enbloc-scheduler (held by pod-1) serves it too"


class Told:
    def __init__(self) -> None:
        self.now = 0.0
        self.notes: list[str] = []
        self.conflict = LeaseConflict(self.notes.append, clock=lambda: self.now)


@pytest.fixture
def told() -> Told:
    return Told()


def metric() -> float | None:
    return REGISTRY.get_sample_value("enbloc_lease_conflict")


def test_it_is_in_the_log_an_event_and_a_metric(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert metric() == 0
    told.conflict.tell(RIVAL)
    assert f"Standing by: {RIVAL}" in caplog.text
    assert told.notes == [f"standing by: {RIVAL}"]
    assert metric() == 1
    told.conflict.tell(None)
    assert metric() == 0


def test_a_standby_is_ready_as_long_as_an_update_may_take_and_then_no_more(told: Told) -> None:
    told.conflict.tell(RIVAL)
    told.now = GRACE - 1
    told.conflict.tell("held by another pod now")
    assert told.conflict.passing()
    told.now = GRACE
    assert not told.conflict.passing()
    told.conflict.tell(None)
    assert told.conflict.passing()
    told.conflict.tell(RIVAL)
    assert told.conflict.passing()
