# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Queue: which group is tried next, and what the others wait for.

`scheduling_queue` holds the groups, each as an `item`; `rotation` lets namespaces take turns,
`listeners` records which events a group waits for, and `capacity_precheck` which attempts must
fail.
"""

from enbloc.engine.queue.capacity_precheck import CapacityPrecheck, Refutations
from enbloc.engine.queue.item import Backoff, Item, QueuePlace
from enbloc.engine.queue.rotation import Subqueue
from enbloc.engine.queue.scheduling_queue import MOST_DUE, SchedulingQueue

__all__ = [
    "MOST_DUE",
    "Backoff",
    "CapacityPrecheck",
    "Item",
    "QueuePlace",
    "Refutations",
    "SchedulingQueue",
    "Subqueue",
]
