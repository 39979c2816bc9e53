# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Durations: how long a pod may run, and how long its user expects it to."""

from typing import Final

from enbloc.model.names import EXPECTED_SECONDS_KEY
from enbloc.model.text import whole_number
from enbloc.wire.objects import PodSpecObject, Texts

#: Digits of the longest time that is accepted: some thirty years.
_DIGITS: Final = 9


def limit(spec: PodSpecObject) -> float | None:
    """How many seconds after its start its kubelet ends it; None = never."""
    seconds = spec.active_deadline_seconds
    return float(seconds) if seconds is not None and seconds > 0 else None


def expected(annotations: Texts) -> float | None:
    """How many seconds it is expected to run; None = absent or unreadable."""
    seconds = whole_number(annotations.get(EXPECTED_SECONDS_KEY, ""), _DIGITS)
    return float(seconds) if seconds else None
