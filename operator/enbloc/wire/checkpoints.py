# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: when the work of a pod or a group was last saved, from an annotation."""

import math
from typing import Final

from enbloc.model.names import CHECKPOINT_KEY, VOLCANO_CHECKPOINT_KEY
from enbloc.model.times import seconds_of
from enbloc.wire.objects import Texts

#: Characters of a time.
_LONGEST: Final = 64


def checkpointed(annotations: Texts) -> float | None:
    """The checkpoint's server seconds; infinity = it is not a valid time, None = absent."""
    text = annotations.get(CHECKPOINT_KEY, annotations.get(VOLCANO_CHECKPOINT_KEY))
    if text is None:
        return None
    seconds = seconds_of(text) if len(text) <= _LONGEST else None
    return math.inf if seconds is None else seconds
