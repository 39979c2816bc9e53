# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Durations: for how long a pod may run, and for how long its user expects it to."""

from typing import Final

from enbloc.model.names import EXPECTED_SECONDS_KEY
from enbloc.wire.objects import PodSpecObject, Texts

#: Digits of the longest time that is believed: some thirty years.
_DIGITS: Final = 9


def limit(spec: PodSpecObject) -> float | None:
    """Seconds after its start at which its kubelet ends it; None = it never does."""
    seconds = spec.active_deadline_seconds
    return float(seconds) if seconds is not None and seconds > 0 else None


def expected(annotations: Texts) -> float | None:
    """Seconds that it is expected to run; None = nothing that can be read says so."""
    text = annotations.get(EXPECTED_SECONDS_KEY, "")
    whole = text.isascii() and text.isdigit() and len(text) <= _DIGITS
    return float(text) if whole and int(text) else None
