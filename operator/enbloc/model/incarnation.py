# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Incarnations: the lives of a group's members, one after the other (semantics §1).

Each pod has an identity: the life that its controller or its labels name, or its own. A group's
life begins with a member of a new identity while no other member is live; what is counted within
it never goes back.
"""

from collections import Counter
from collections.abc import Container
from typing import Protocol

from enbloc.model.groups import Memory
from enbloc.model.pods import PodUID


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
    """Which life a pod belongs to; one of which nothing is said begins its own."""
    return pod.incarnation or pod.uid


def begins_anew(arriving: str, known: Container[str], *, live: bool = False) -> bool:
    """Whether a member that arrives begins another life of its group.

    Args:
        arriving: its identity.
        known: the identities of the lives so far.
        live: some other member is live.
    """
    return not live and arriving not in known


def count_succeeded(seen: Counter[str], memory: Memory) -> Counter[str]:
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
