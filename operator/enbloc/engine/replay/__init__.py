# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Replay: recent decisions, recorded so that they can be replayed offline.

`dump` is the log of decisions with the tables and everything else, `file` the same as JSON;
`replay` repeats a decision, `whatif` plans for a cluster without some nodes.
"""

from enbloc.engine.replay.dump import Dump, ShownObjects, take_dump
from enbloc.engine.replay.file import DumpFile, decoded, encoded
from enbloc.engine.replay.replay import Replayed, replay_plan
from enbloc.engine.replay.whatif import Aftermath, WhatIf

__all__ = [
    "Aftermath",
    "Dump",
    "DumpFile",
    "Replayed",
    "ShownObjects",
    "WhatIf",
    "decoded",
    "encoded",
    "replay_plan",
    "take_dump",
]
