# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Field managers of schedulers: which of several in one cluster wrote a status.

A manager names the profiles of its scheduler: `enbloc-scheduler:batch,enbloc`. The name is the same
for all replicas, after restarts, and wherever the scheduler is installed. Releases before had
`enbloc-scheduler` for every scheduler.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from typing import Final

from enbloc.model.names import SCHEDULER_MANAGER

#: What the API server allows a field manager (characters).
_LIMIT: Final = 128
_PREFIX: Final = f"{SCHEDULER_MANAGER}:"
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]+")
#: So many are looked at: nobody has more schedulers, and anybody may write such names.
MOST_WRITERS: Final = 8


def field_manager(names: Iterable[str]) -> str:
    """The field manager of the scheduler that serves these schedulerNames.

    It is a digest of them where they would be too long for one.
    """
    ordered = sorted(names)
    manager = _PREFIX + ",".join(ordered)
    if len(manager) <= _LIMIT and all(map(_PLAIN.fullmatch, ordered)):
        return manager
    digest = hashlib.sha256("\n".join(ordered).encode()).hexdigest()
    return f"{_PREFIX}#{digest[:32]}"


def schedulers_among(managers: Iterable[str]) -> tuple[str, ...]:
    """Those field managers that are schedulers of ours, in order, each once."""
    found = {m for m in managers if m == SCHEDULER_MANAGER or m.startswith(_PREFIX)}
    return tuple(sorted(found)[:MOST_WRITERS])


def serves(manager: str, name: str) -> bool:
    """Whether the scheduler of this field manager serves a schedulerName; of a digest, perhaps."""
    served = manager.removeprefix(_PREFIX)
    return served.startswith("#") or name in served.split(",")


def is_another(manager: str, names: Collection[str]) -> bool:
    """Whether a manager belongs to another scheduler than the one that serves these names.

    One of an older release, and one that shares a name with it, is what it was itself before.
    """
    if manager in (SCHEDULER_MANAGER, field_manager(names)):
        return False
    served = manager.removeprefix(_PREFIX)
    return served.startswith("#") or not any(name in names for name in served.split(","))
