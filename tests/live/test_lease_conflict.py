# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler that stands by for another install says so, and is not ready if that lasts."""

import logging

import pytest
from prometheus_client import REGISTRY

from enbloc.live.lease_conflict import GRACE, LeaseConflict, unseen_by_kube_scheduler

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


@pytest.mark.parametrize(
    ("serves", "lease", "said"),
    [
        ("my-scheduler", "", ""),
        ("my-scheduler", "ns/mine", ""),
        ("default-scheduler", "kube-system/kube-scheduler", ""),
        ("default-scheduler", "", "takes no Lease"),
        ("default-scheduler", "kube-system/mine", "takes the Lease kube-system/mine"),
    ],
)
def test_who_takes_kube_schedulers_name_and_not_its_lease_is_warned(
    serves: str, lease: str, said: str
) -> None:
    found = unseen_by_kube_scheduler({serves, "other"}, lease)
    assert bool(found) is bool(said)
    assert said in found
