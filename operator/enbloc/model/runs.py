# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs: which run of a group a pod belongs to (semantics §1, §2.4).

Each pod has an owner: what its labels or its controller name. A run is the members of one owner, or
of several that were placed together; the engine keeps runs (`engine.state.runs`), the controller
reads them from status.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Final, Protocol

from enbloc.model.groups import Group, GroupMemory, Relaunch, RunMemory
from enbloc.model.pods import PodUID
from enbloc.model.text import whole_number

#: The owner that all pods without a controller share.
BARE: Final = "bare"

_LONGEST: Final = 200

#: If a group's controller is of these kinds, its run does not gather pods of several controllers:
#: a CronJob makes one run after the other, and all pods of a Job are its own.
_SINGLE: Final = ("CronJob/", "Job/")


class Owned(Protocol):
    """A pod, or what is kept of one."""

    @property
    def uid(self) -> PodUID:
        """metadata.uid."""
        ...

    @property
    def owner_key(self) -> str:
        """The owner that its labels or its controller name; "" = none."""
        ...


def owner_of(pod: Owned) -> str:
    """The owner of a pod, not counting ownership by another pod."""
    return short(pod.owner_key) or BARE


def short(owner_key: str) -> str:
    """An owner shortened to what status can store: a UID may have any length."""
    return (
        owner_key if len(owner_key) <= _LONGEST else hashlib.sha256(owner_key.encode()).hexdigest()
    )


def attempt_of(owner: str) -> tuple[str, int] | None:
    """The JobSet and its attempt number that an owner names; None = it names none."""
    jobset, slash, attempt = owner.partition("/")
    number = whole_number(attempt, 9)
    return (jobset, number) if slash and number is not None else None


def joins(owner: str, controller: str) -> bool:
    """Whether the pods of a new owner belong to the run that is live.

    All pods of the PodGroup's own controller are one run, even if they come one after the other:
    MPI's launcher after the workers. Exceptions: a CronJob makes several runs, and so does a JobSet
    that restarts; pods of another Job never join a Job's run.

    Args:
        owner: the new one.
        controller: kind and UID of the PodGroup's own controller, `kind/uid`; "" = it has none.
    """
    return bool(controller) and not controller.startswith(_SINGLE) and attempt_of(owner) is None


def count_succeeded(seen: Counter[str], memory: GroupMemory | RunMemory | Relaunch) -> Counter[str]:
    """How many members of each role succeeded in a run, including pods that are gone.

    For roles that the PodGroup does not name, status stores only the sum: the part of it that was
    not seen counts as "", without a role.

    Args:
        seen: successes among the pods seen in it, by role; "" = without a role.
        memory: what status stores of it, or of the time before its relaunch; it may lag behind, or
            know more.
    """
    remembered = Counter(dict(memory.roles))
    unnamed = sum(count for role, count in seen.items() if role not in remembered)
    lacking = memory.succeeded - remembered.total() - unnamed
    return (seen | remembered) + Counter({"": max(0, lacking)})


def remembered_runs(group: Group | None) -> Sequence[RunMemory]:
    """Return what status records of each run, the newest last; of an old status, its top level.

    A status that was written before any member came names no run, and so records none.
    """
    if group is None:
        return ()
    memory: GroupMemory = group.memory
    if memory.runs or not memory.run_name:
        return tuple(run for run in memory.runs if run.name)
    return (
        RunMemory(
            memory.run_name,
            (memory.run_name,),
            scheduled=memory.started,
            started=memory.started,
            succeeded=memory.succeeded,
            roles=memory.roles,
        ),
    )
