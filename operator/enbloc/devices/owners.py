# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Owners: which devices of each pool are in use, and by which claims.

If the API shows a device for a claim and a plan holds the same device for it, that is one use. Two
claims with one device are two uses: only other schedulers do that.

An abandoned plan may have requests under way, so what it held stays in use until they are undone;
only its own group may plan with it.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import NamedTuple, Self

from enbloc.devices.facts import AllocatedDevice, identity
from enbloc.devices.pools import Pool, PoolKey
from enbloc.devices.use import UNUSED, Use, added, overdrawn, removed
from enbloc.model.groups import GroupKey
from enbloc.model.layered import Forked, Layered, LayeredGroups
from enbloc.model.pods import PodUID

FindPool = Callable[[PoolKey], Pool | None]


class Withdrawn(NamedTuple):
    """A member of an abandoned plan, until what was done for it is undone."""

    group: GroupKey
    plan: str
    uid: PodUID


class Owners(Forked):
    """The devices in use, by pool and by claim."""

    own = ("_used", "_has", "_claims", "_leaving", "_left")

    def __init__(self) -> None:
        self._used: Layered[PoolKey, Use] = Layered()
        self._has: Layered[str, tuple[AllocatedDevice, ...]] = Layered()
        self._claims: LayeredGroups[PoolKey, str, bool] = LayeredGroups()
        self._leaving: Layered[Withdrawn, tuple[AllocatedDevice, ...]] = Layered()
        self._left: LayeredGroups[PoolKey, Withdrawn, tuple[AllocatedDevice, ...]] = LayeredGroups()
        #: The use of a pool, without and with what is leaving.
        self._whole: dict[PoolKey, tuple[Use, Use]] = {}

    def fork(self) -> Self:
        """A copy of one's own."""
        made = super().fork()
        made._whole = {}  # noqa: SLF001  # one of our own
        return made

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def use(self, pool: Pool) -> Use:
        """What is not available of a pool."""
        used = self._used.get(pool.key) or UNUSED
        if not self.any_leaving:
            return used
        known = self._whole.get(pool.key)
        if known is None or known[0] is not used:
            left = chain.from_iterable(each for _, each in self._left.items(pool.key))
            known = self._whole[pool.key] = used, self._with(used, pool, left)
        return known[1]

    def _with(self, used: Use, pool: Pool, leaving: Iterable[AllocatedDevice]) -> Use:
        """The use with what is leaving; a device or share in both counts once."""
        shares: set[tuple[str, ...]] | None = None
        for result in leaving:
            if result.share:
                if shares is None:
                    given = chain.from_iterable(map(self.has, self.claims(pool.key)))
                    shares = {identity(each) for each in given if each.share}
                counted = identity(result) in shares
                shares.add(identity(result))
            else:
                counted = bool(pool.named.get(result.device, 0) & used.taken)
            if not counted:
                used = added(used, pool, result)
        return used

    def again(self, pool: PoolKey) -> Collection[int]:
        """The positions of exclusive devices that several claims have."""
        return (self._used.get(pool) or UNUSED).again

    def overdrawn(self, pool: Pool, result: AllocatedDevice) -> bool:
        """Whether claims have more of a device, or of counters that it consumes, than there is."""
        return overdrawn(self._used.get(pool.key) or UNUSED, pool, result)

    def claims(self, pool: PoolKey) -> Iterable[str]:
        """The claims that have devices of a pool."""
        return (claim for claim, _ in self._claims.items(pool))

    def has(self, claim: str) -> tuple[AllocatedDevice, ...]:
        """The devices of a claim."""
        return self._has.get(claim) or ()

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def give(
        self, claim: str, results: tuple[AllocatedDevice, ...], pools: FindPool
    ) -> Collection[PoolKey]:
        """Set the devices of a claim; returns the pools concerned."""
        results = tuple(dict.fromkeys(results))  # a status may list one twice
        before = self.has(claim)
        if results == before:
            return ()
        for result in before:
            if result not in results:
                self._change(result, pools, removed)
        for result in results:
            if result not in before:
                self._change(result, pools, added)
        self._has.set(claim, results or None)
        now = {_pool_of(result) for result in results}
        concerned = now | {_pool_of(result) for result in before}
        for key in concerned:
            self._claims.set(key, claim, True if key in now else None)
        return concerned

    def _change(
        self,
        result: AllocatedDevice,
        pools: FindPool,
        change: Callable[[Use, Pool, AllocatedDevice], Use],
    ) -> None:
        key = _pool_of(result)
        pool = pools(key)
        if pool is not None:
            self._used.set(key, change(self._used.get(key) or UNUSED, pool, result))

    def recount(self, key: PoolKey, pool: Pool | None) -> None:
        """Recount the use of a pool that has other devices than before, or is gone."""
        use = UNUSED
        if pool is not None:
            for claim in sorted(self.claims(key)):
                for result in self.has(claim):
                    if _pool_of(result) == key:
                        use = added(use, pool, result)
        self._used.set(key, None if use is UNUSED else use)
        self._whole.pop(key, None)

    def leave(self, member: Withdrawn, results: tuple[AllocatedDevice, ...]) -> Collection[PoolKey]:
        """Keep what a plan held for a member in use, until called again with no results.

        Returns:
            The pools concerned.
        """
        before = self._leaving.set(member, results or None) or ()
        concerned = {_pool_of(result) for result in (*before, *results)}
        for key in concerned:
            of_pool = tuple(result for result in results if _pool_of(result) == key)
            self._left.set(key, member, of_pool or None)
            self._whole.pop(key, None)
        return concerned

    def reclaim(self, group: GroupKey) -> None:
        """Let the group plan with what its earlier plans held."""
        for member in [each for each, _ in self._leaving.items() if each.group == group]:
            self.leave(member, ())

    @property
    def any_leaving(self) -> bool:
        """Whether any abandoned plan still holds devices; on a fork, or did when it was forked."""
        return self._leaving.used


def _pool_of(result: AllocatedDevice) -> PoolKey:
    return result.driver, result.pool
