# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Member ranks: the numbers that members are bound with (semantics §8.1)."""

from collections.abc import Container, Iterable, Iterator
from itertools import count

from enbloc.framework.facts import GroupFacts
from enbloc.model.member_index import member_index
from enbloc.model.pods import Pod, PodUID


def ranks_of(
    facts: GroupFacts, pods: Iterable[Pod], needed: Container[PodUID]
) -> dict[PodUID, int]:
    """Return the smallest numbers that no held member has: replacements take those of lost ones.

    Needed members come first; then, where neighbours matter, members in the order of their
    controller's numbers; then the oldest.

    Args:
        facts: the group.
        pods: pending members.
        needed: those of them that its floor needs.
    """
    numbered = facts.locality is not None

    def turn(pod: Pod) -> tuple[object, ...]:
        return pod.uid not in needed, member_index(pod) if numbered else (), pod.seniority

    return {
        pod.uid: rank for pod, rank in zip(sorted(pods, key=turn), _free(facts.ranks), strict=False)
    }


def _free(taken: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield the numbers from 0 that are in none of these ranges."""
    free = 0
    for first, end in sorted(taken):
        yield from range(free, first)
        free = max(free, end)
    yield from count(free)
