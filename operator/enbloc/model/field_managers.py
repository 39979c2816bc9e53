# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Field managers of schedulers: which of several in one cluster wrote a status.

A manager names the profiles of its scheduler: `enbloc-scheduler:batch,enbloc`. The name is the same
for all replicas, after restarts, and wherever the scheduler is installed. Earlier releases used
`enbloc-scheduler` for every scheduler.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from typing import Final

from enbloc.model.names import SCHEDULER_MANAGER

#: The API server's limit for a field manager (characters).
_LIMIT: Final = 128
_PREFIX: Final = f"{SCHEDULER_MANAGER}:"
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
#: How many are considered: nobody runs more schedulers, and anybody may write such names.
MOST_WRITERS: Final = 8


def field_manager(names: Iterable[str]) -> str:
    """The field manager of the scheduler that serves these schedulerNames.

    If the names together are too long, it holds a digest of them.
    """
    ordered = sorted(names)
    manager = _PREFIX + ",".join(ordered)
    if len(manager) <= _LIMIT and all(map(_PLAIN.fullmatch, ordered)):
        return manager
    digest = hashlib.sha256("\n".join(ordered).encode()).hexdigest()
    return f"{_PREFIX}#{digest[:32]}"


def schedulers_among(managers: Iterable[str]) -> tuple[str, ...]:
    """The field managers that are enbloc schedulers, in order, each once."""
    found = {m for m in managers if m == SCHEDULER_MANAGER or m.startswith(_PREFIX)}
    return tuple(sorted(found)[:MOST_WRITERS])


def serves(manager: str, name: str) -> bool:
    """Whether this field manager's scheduler serves a schedulerName; True for a digest."""
    served = manager.removeprefix(_PREFIX)
    return served.startswith("#") or name in served.split(",")


def is_another(manager: str, names: Collection[str]) -> bool:
    """Whether a manager belongs to another scheduler than the one that serves these names.

    False for the manager of older releases, and for one that shares a name with these: that was
    this scheduler, earlier.
    """
    if manager in (SCHEDULER_MANAGER, field_manager(names)):
        return False
    served = manager.removeprefix(_PREFIX)
    return served.startswith("#") or not any(name in names for name in served.split(","))
