# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The scheduler's shell: streams to the engine's events, its effects to the API server.

This package does all I/O of the scheduler, on one asyncio loop, and takes no decision. The
controller and the sandbox are other processes, which it meets only through API objects.
"""

from enbloc.live.read_once import NodeReading, Reading, read_admission, read_nodes, read_once
from enbloc.live.scheduler import Scheduler, connected, run_scheduler

__all__ = [
    "NodeReading",
    "Reading",
    "Scheduler",
    "connected",
    "read_admission",
    "read_nodes",
    "read_once",
    "run_scheduler",
]
