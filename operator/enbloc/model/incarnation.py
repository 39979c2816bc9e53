# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Incarnations: which life of a group a pod belongs to (semantics §1, §2.4).

Each pod has an identity: what its labels or its controller say of the life that it is of. A life
is the identities that held the floor together; the engine keeps lives (`engine.state.lives`), the
controller reads of them in status.
"""

import hashlib
from collections import Counter
from typing import Final, Protocol

from enbloc.model.groups import LifeMemory, Memory
from enbloc.model.pods import PodUID

#: The identity that all pods without a controller share.
BARE: Final = "bare"

_LONGEST: Final = 200

#: A controller of the group of these kinds does not gather pods of several: a CronJob makes one run
#: after the other, and all pods of a Job are its own.
_SINGLE: Final = ("CronJob/", "Job/")


class Identified(Protocol):
    """A pod, or what is kept of one."""

    @property
    def uid(self) -> PodUID:
        """metadata.uid."""
        ...

    @property
    def incarnation(self) -> str:
        """What its controller or its labels say of its life; "" = nothing."""
        ...


def identity(pod: Identified) -> str:
    """Which life a pod belongs to, apart from pods that own others."""
    return short(pod.incarnation) or BARE


def short(said: str) -> str:
    """What a life is recognized by, no longer than status can keep: a UID may be of any length."""
    return said if len(said) <= _LONGEST else hashlib.sha256(said.encode()).hexdigest()


def attempt_of(identity: str) -> tuple[str, int] | None:
    """The JobSet and the number of its attempt that an identity names; None = it names none."""
    jobset, slash, attempt = identity.partition("/")
    digits = attempt.isascii() and attempt.isdigit() and len(attempt) <= 9
    return (jobset, int(attempt)) if slash and digits else None


def joins(identity: str, owner: str) -> bool:
    """Whether a new identity belongs to the life that is live.

    Who owns the PodGroup makes one life alone, of pods that may come one after the other: MPI's
    launcher after the workers. A CronJob makes several, and so does a JobSet that starts anew; what
    another Job makes is no part of a Job.

    Args:
        identity: the new one.
        owner: kind and UID of the PodGroup's own controller, `kind/uid`; "" = it has none.
    """
    return bool(owner) and not owner.startswith(_SINGLE) and attempt_of(identity) is None


def count_succeeded(seen: Counter[str], memory: Memory | LifeMemory) -> Counter[str]:
    """How many members of each role succeeded in a life, those of pods gone since included.

    Of roles that the PodGroup does not name, status remembers the sum alone: what of it was not
    seen counts as "", without a role.

    Args:
        seen: by role, of the pods that were seen in it; "" = without a role.
        memory: what status remembers of it; it may lag behind, or know of more.
    """
    remembered = Counter(dict(memory.roles))
    unnamed = sum(count for role, count in seen.items() if role not in remembered)
    lacking = memory.succeeded - remembered.total() - unnamed
    return (seen | remembered) + Counter({"": max(0, lacking)})
