# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Matching: which claim gets which of the volumes of one class.

A claim gets the smallest volume that fits, as upstream. If that leaves none for a later claim,
claims that were decided in the same trial swap theirs for others that fit them, along a shortest
augmenting path.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from enbloc.storage.available import Bits, VolumeChoice, each_bit

#: The longest chain of moving claims that is tried when nodes are only filtered.
_MOST_PASSES: Final = 32


class Movable(NamedTuple):
    """A claim that could get another volume than it has.

    Attributes:
        place: the place of its volume.
        own: its volume as a set.
        candidates: all volumes that fit it on its pod's node, taken or not.
    """

    place: int
    own: Bits
    candidates: Bits


def smallest_fit(
    choices: Sequence[VolumeChoice], reached: Bits, free: Bits
) -> tuple[list[int | None], Bits]:
    """The place of each claim's volume (None = none is left), and the set of taken volumes.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
    findMatchingVolumes.
    """
    found: list[int | None] = []
    taken = 0
    for choice in choices:
        candidates = choice.at(reached, free & ~taken)
        lowest = candidates & -candidates
        taken |= lowest
        found.append(lowest.bit_length() - 1 if lowest else None)
    return found, taken


def freeable(free: Bits, movable: Mapping[str, Movable]) -> Bits:
    """The volumes that are free, or would be if other claims moved."""
    found = free
    left: Collection[Movable] = movable.values()
    for _ in range(_MOST_PASSES):
        still: list[Movable] = []
        before = found
        for each in left:
            if each.candidates & before:
                found |= each.own
            else:
                still.append(each)
        if len(still) == len(left):
            break
        left = still
    return found


def exchanged(
    choices: Sequence[VolumeChoice], reached: Bits, free: Bits, movable: Mapping[str, Movable]
) -> tuple[list[int], dict[str, int]] | None:
    """A volume for each of these claims, and the new volumes of movable claims.

    None = not every claim can get one.
    """
    held = {each.place: key for key, each in movable.items()}
    moved: dict[str, int] = {}
    wants: dict[str, Bits] = {key: each.candidates for key, each in movable.items()}
    names = [f"\0{position}" for position in range(len(choices))]
    usable = free
    for place in held:
        usable |= 1 << place
    for name, choice in zip(names, choices, strict=True):
        wants[name] = choice.at(reached, usable)
        path = _path(wants, held, free, name)
        if path is None:
            return None
        for claim, place in path:
            held[place] = claim
            moved[claim] = place
        free &= ~(1 << path[-1][1])
    found = [moved.pop(name) for name in names]
    return found, {key: place for key, place in moved.items() if movable[key].place != place}


def _path(
    wants: Mapping[str, Bits], held: Mapping[int, str], free: Bits, first: str
) -> list[tuple[str, int]] | None:
    """Claims with their new places, from the first claim to the one that takes a free volume."""
    came: dict[int, str] = {}
    seen = 0
    queue = [first]
    for claim in queue:  # it grows
        wanted = wants[claim] & ~seen
        ending = wanted & free
        if ending:
            place = (ending & -ending).bit_length() - 1
            return _walked(came, held, first, claim, place)
        seen |= wanted
        for place in each_bit(wanted):
            owner = held.get(place)
            if owner is not None:
                came[place] = claim
                queue.append(owner)
    return None


def _walked(
    came: Mapping[int, str], held: Mapping[int, str], first: str, last: str, place: int
) -> list[tuple[str, int]]:
    places = {claim: held_place for held_place, claim in held.items()}
    path = [(last, place)]
    while last != first:
        place = places[last]
        last = came[place]
        path.append((last, place))
    return path[::-1]
