# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How it is decided: events in, effects out; no plugin is known here by more than its contract.

Everything here is pure: no I/O, no clock, no randomness, no logging.
"""

from enbloc.engine.engine import Engine
from enbloc.engine.queue import Backoff
from enbloc.engine.replay import Aftermath
from enbloc.engine.settings import Settings
from enbloc.engine.tally import Census, Tally
from enbloc.engine.trial import Stopwatch

__all__ = ["Aftermath", "Backoff", "Census", "Engine", "Settings", "Stopwatch", "Tally"]
