# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kueue: how many pods it admits together, from their annotations.

Source: kueue v0.20 pkg/controller/jobs/pod/constants/constants.go.
"""

from typing import Final

from enbloc.model.names import KUEUE_FAST_KEY, KUEUE_TOTAL_KEY
from enbloc.model.text import whole_number
from enbloc.wire.objects import Texts

_DIGITS: Final = 9


def admitted_with(annotations: Texts) -> int:
    """How many pods are admitted together; 0 = unreadable, unknown, or some start before others."""
    if KUEUE_FAST_KEY in annotations:
        return 0
    return whole_number(annotations.get(KUEUE_TOTAL_KEY, ""), _DIGITS) or 0
