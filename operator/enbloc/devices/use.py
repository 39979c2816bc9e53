# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Use: what is in use of one pool."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from enbloc.devices.facts import AllocatedDevice, Amounts
from enbloc.devices.pools import Bits, Pool, positions


class Share(NamedTuple):
    """The shares of one device.

    Attributes:
        number: how many there are.
        consumed: what they all consume of its capacity, `(name, amount)` in name order.
    """

    number: int
    consumed: Amounts


@dataclass(frozen=True, slots=True)
class Use:
    """What is in use of a pool; immutable, so that it can be a cache key.

    Attributes:
        taken: devices that are wholly allocated to a claim.
        again: by position of such a device, how many claims have it besides the first; only other
            schedulers allocate a device twice.
        shares: the shares of each device, by position.
        counted: how much is used of each counter of the pool; () = none.
    """

    taken: Bits = 0
    again: Mapping[int, int] = field(default_factory=dict[int, int])
    shares: Mapping[int, Share] = field(default_factory=dict[int, Share])
    counted: tuple[int, ...] = ()


UNUSED = Use()


def added(use: Use, pool: Pool, result: AllocatedDevice) -> Use:
    """The use after a claim gets this too; devices that are not in the pool do not count."""
    for position in _positions(pool, result):
        was_used = _used(use, position)
        if result.share:
            use = _shared(use, position, result, 1)
        elif use.taken >> position & 1:
            again = {**use.again, position: use.again.get(position, 0) + 1}
            use = replace(use, again=again)
        else:
            use = replace(use, taken=use.taken | 1 << position)
        if not was_used:
            use = _counted(use, pool, position, 1)
    return use


def removed(use: Use, pool: Pool, result: AllocatedDevice) -> Use:
    """The use after a claim releases this, which it had."""
    for position in _positions(pool, result):
        was_used = _used(use, position)
        if result.share:
            use = _shared(use, position, result, -1)
        elif position in use.again:
            more = use.again[position] - 1
            again = {each: count for each, count in use.again.items() if each != position}
            use = replace(use, again={**again, position: more} if more else again)
        else:
            use = replace(use, taken=use.taken & ~(1 << position))
        if was_used and not _used(use, position):
            use = _counted(use, pool, position, -1)
    return use


def overdrawn(use: Use, pool: Pool, result: AllocatedDevice) -> bool:
    """Whether claims have more of a device, or of the counters it consumes, than there is.

    Other schedulers may allocate so, or the driver may have published less since.
    """
    for position in _positions(pool, result):
        consumes = pool.consumes[position] if pool.consumes and use.counted else ()
        if any(use.counted[index] > pool.counters[index] for index, _ in consumes):
            return True
        share = use.shares.get(position)
        if share is not None:
            there_is = {each.name: each.value for each in pool.devices[position].traits.capacity}
            if any(amount > there_is.get(name, 0) for name, amount in share.consumed):
                return True
    return False


def _positions(pool: Pool, result: AllocatedDevice) -> list[int]:
    return [] if result.admin else list(positions(pool.named.get(result.device, 0)))


def _used(use: Use, position: int) -> bool:
    return bool(use.taken >> position & 1) or position in use.shares


def _shared(use: Use, position: int, result: AllocatedDevice, sign: int) -> Use:
    before = use.shares.get(position, Share(0, ()))
    amounts = dict(before.consumed)
    for name, amount in result.consumed:
        amounts[name] = amounts.get(name, 0) + sign * amount
    others = {each: share for each, share in use.shares.items() if each != position}
    if before.number + sign <= 0:
        return replace(use, shares=others)
    consumed = tuple(sorted((name, amount) for name, amount in amounts.items() if amount))
    return replace(use, shares={**others, position: Share(before.number + sign, consumed)})


def _counted(use: Use, pool: Pool, position: int, sign: int) -> Use:
    consumes = pool.consumes[position] if pool.consumes else ()
    if not consumes:
        return use
    counted = list(use.counted or (0,) * len(pool.counters))
    for index, amount in consumes:
        counted[index] += sign * amount
    return replace(use, counted=tuple(counted) if any(counted) else ())
