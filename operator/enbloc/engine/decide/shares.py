# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shares: what each part of a group lacks, and what is lacking besides the parts.

::

    minMember 8, role x (5, in one rack), role y (1, in one rack), others anywhere
        x lacks 5, y lacks 1                     for their own minimums
        2 more                                   from members of no part; if these are too few or
                                                 fit nowhere, from x, or from x and y in turn
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from enbloc.framework.facts import Floor, GroupFacts, Locality
from enbloc.model.pods import Pod

Shares = Sequence[tuple[Locality, GroupFacts]]
"""Parts, and what each lacks; those that lack most first."""


def shares_of(facts: GroupFacts, parts: Sequence[Locality]) -> Iterator[Shares]:
    """Yield what each part lacks, for each way to meet the minimum around the parts.

    Members of no part meet it first. What they cannot meet comes from the part with most members to
    spare, or else from all parts in turn. Last, members of no part meet only their own minimums.

    Args:
        facts: the group, or the part that `parts` divide.
        parts: its parts that have domains of their own.
    """
    owned = [(part, _own(facts, part)) for part in parts]
    spare = [max(0, len(own.pending) - own.lacking) for _, own in owned]
    others = of_no_part(facts, parts)
    more = facts.lacking - sum(own.lacking for _, own in owned)
    least = sum(floor.deficit for floor in facts.roles if _of_none(floor.role, parts))
    told: list[Sequence[int]] = []
    for offered in (len(others.pending), least):
        lacking = min(max(0, more - offered), sum(spare))
        for extra in (_largest_first(lacking, spare), _in_turn(lacking, spare)):
            if extra not in told:
                told.append(extra)
                yield _with_more(owned, extra)


def _own(facts: GroupFacts, part: Locality) -> GroupFacts:
    """Return what the roles of a part lack."""
    roles = part.roles or frozenset()
    return facts.part(roles, (floor for floor in facts.roles if floor.role in roles))


def _with_more(owned: Shares, extra: Sequence[int]) -> Shares:
    found: list[tuple[Locality, GroupFacts]] = []
    for (part, own), more in zip(owned, extra, strict=True):
        lacking, pending = own.lacking + more, len(own.pending)
        if more:
            own = replace(own, total=Floor("", lacking, pending, 0, 0))  # noqa: PLW2901
        if lacking:
            found.append((part, own))
    return sorted(found, key=lambda each: -each[1].lacking)


def _largest_first(count: int, spare: Sequence[int]) -> list[int]:
    """Split the count into a number for each; those with most to spare first."""
    found = [0] * len(spare)
    for place in sorted(range(len(spare)), key=lambda at: -spare[at]):
        found[place] = min(count, spare[place])
        count -= found[place]
    return found


def _in_turn(count: int, spare: Sequence[int]) -> list[int]:
    """Split the count into a number for each, as evenly as possible."""
    found = [0] * len(spare)
    open_ = len(spare)
    for at, place in enumerate(sorted(range(len(spare)), key=lambda at: spare[at])):
        found[place] = min(spare[place], -(-count // (open_ - at)))
        count -= found[place]
    return found


def of_no_part(facts: GroupFacts, parts: Sequence[Locality]) -> GroupFacts:
    """Return the group without the pending members that belong to a part."""
    return replace(facts, pending=tuple(p for p in facts.pending if _of_none(p.role, parts)))


def _of_none(role: str, parts: Sequence[Locality]) -> bool:
    return not any(part.about(role) for part in parts)


def without(facts: GroupFacts, placed: Sequence[tuple[Pod, int]]) -> GroupFacts:
    """Return the group as if these members were held."""
    count = Counter(pod.role for pod, _ in placed)
    there = {pod.uid for pod, _ in placed}

    def held(floor: Floor, more: int) -> Floor:
        return replace(floor, bound=floor.bound + more, pending=floor.pending - more)

    return replace(
        facts,
        pending=tuple(pod for pod in facts.pending if pod.uid not in there),
        total=held(facts.total, len(placed)),
        roles=tuple(held(floor, count[floor.role]) for floor in facts.roles),
    )
