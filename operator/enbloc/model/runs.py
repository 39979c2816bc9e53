# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Incarnations: which life of a group a pod belongs to (semantics §1, §2.4).

Each pod has an identity: its labels or its controller say which life it belongs to. A life is the
set of identities that together held the floor; the engine keeps lives (`engine.state.runs`), the
controller reads them from status.
"""

import hashlib
from collections import Counter
from typing import Final, Protocol

from enbloc.model.groups import LifeMemory, Memory
from enbloc.model.pods import PodUID

#: The identity that all pods without a controller share.
BARE: Final = "bare"

_LONGEST: Final = 200

#: If a group's controller is of these kinds, its life does not gather pods of several controllers:
#: a CronJob makes one run after the other, and all pods of a Job are its own.
_SINGLE: Final = ("CronJob/", "Job/")


class Identified(Protocol):
    """A pod, or what is kept of one."""

    @property
    def uid(self) -> PodUID:
        """metadata.uid."""
        ...

    @property
    def incarnation(self) -> str:
        """The life that its labels or its controller name; "" = none."""
        ...


def identity(pod: Identified) -> str:
    """The identity of a pod, not counting ownership by another pod."""
    return short(pod.incarnation) or BARE


def short(said: str) -> str:
    """An identity shortened to what status can store: a UID may have any length."""
    return said if len(said) <= _LONGEST else hashlib.sha256(said.encode()).hexdigest()


def attempt_of(identity: str) -> tuple[str, int] | None:
    """The JobSet and its attempt number that an identity names; None = it names none."""
    jobset, slash, attempt = identity.partition("/")
    digits = attempt.isascii() and attempt.isdigit() and len(attempt) <= 9
    return (jobset, int(attempt)) if slash and digits else None


def joins(identity: str, owner: str) -> bool:
    """Whether a new identity belongs to the life that is live.

    All pods of the PodGroup's owner are one life, even if they come one after the other: MPI's
    launcher after the workers. Exceptions: a CronJob makes several lives, and so does a JobSet that
    restarts; pods of another Job never join a Job's life.

    Args:
        identity: the new one.
        owner: kind and UID of the PodGroup's own controller, `kind/uid`; "" = it has none.
    """
    return bool(owner) and not owner.startswith(_SINGLE) and attempt_of(identity) is None


def count_succeeded(seen: Counter[str], memory: Memory | LifeMemory) -> Counter[str]:
    """How many members of each role succeeded in a life, including pods that are gone.

    For roles that the PodGroup does not name, status stores only the sum: the part of it that was
    not seen counts as "", without a role.

    Args:
        seen: successes among the pods seen in it, by role; "" = without a role.
        memory: what status stores of it; it may lag behind, or know more.
    """
    remembered = Counter(dict(memory.roles))
    unnamed = sum(count for role, count in seen.items() if role not in remembered)
    lacking = memory.succeeded - remembered.total() - unnamed
    return (seen | remembered) + Counter({"": max(0, lacking)})
