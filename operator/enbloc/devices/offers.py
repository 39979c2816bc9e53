# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Offers: the devices that nodes have for claims, beside those of other claims on the fork.

Claims decided on the same fork may get other devices if that helps.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from enbloc.devices.demand import Demand
from enbloc.devices.effort import PLACE, STEP, UNSEEN
from enbloc.devices.facts import MOST_ALTERNATIVES
from enbloc.devices.inventory import Inventory
from enbloc.devices.needs import DeviceVerdict
from enbloc.devices.pools import Pool, PoolKey
from enbloc.devices.results import score_of
from enbloc.devices.search import (
    CANNOT,
    MOST_STEPS,
    PoolOnNode,
    SearchResult,
    Task,
    ordered,
    search,
)
from enbloc.devices.seats import HeldClaim, Seen, seen_in
from enbloc.devices.use import Use, removed
from enbloc.devices.views import Spread, signature
from enbloc.model.nodes import Nodes

#: The most steps, and claims, of a search that may change other claims' devices.
_MOST_REVISING: Final = 4_000
_MOST_REVISED: Final = 64
#: The steps of a search when no effort is left.
_FEWEST_STEPS: Final = 200


class Offers(Inventory):
    """The inventory, with questions about what it has for claims."""

    def spread(self, nodes: Nodes) -> Spread:
        """The pools whose use matters to several nodes, for the rows of a node table."""
        found = (self._pools.get(key) for key in sorted(self._spread))
        pools = [pool for pool in found if pool is not None]
        known = self._cache.spread
        if known is not None and known.of(pools, nodes):
            return known
        made = Spread(pools, nodes)
        if len(nodes) > 1:
            self._cache.spread = made
        return made

    def may_share(self, demands: Sequence[Demand]) -> bool:
        """Whether claims with these demands may get devices whose use matters to several nodes.

        Or may be refused because of them: a claim for all devices gets none while a pool is
        incomplete.
        """
        pools = [pool for key in self._spread if (pool := self._pools.get(key)) is not None]
        if any(each.all for each in demands) and not all(map(_whole, pools)):
            return True
        seen = (demand.lens(pool) for pool in pools for demand in demands)
        return any(any(lens.matched) or lens.unseen for lens in seen)

    def has_own(self, node: str) -> bool:
        """Whether a node has pools that no other node sees."""
        return self._by_node.get(node) is not None

    def is_spread(self, key: PoolKey) -> bool:
        """Whether the use of a pool matters to several nodes."""
        return key in self._spread

    def places(self, name: str, spread: Spread) -> tuple[PoolOnNode, ...]:
        """The pools that a node sees, in the order in which they are tried."""
        found: list[PoolOnNode] = []
        for key in self._by_node.get(name) or ():
            pool = self._pools.get(key)
            if pool is not None and key not in self._spread:
                found.append(PoolOnNode(pool, pool.by_node[name], self.use(key)))
        for pool, reach in spread.seen(name):
            found.append(PoolOnNode(pool, reach, self.use(pool.key)))
        return ordered(found) if len(found) > 1 else tuple(found)

    def lasting(self, places: Sequence[PoolOnNode]) -> tuple[PoolOnNode, ...]:
        """The same places, as if claims had nothing that they may exchange for other devices.

        So what is free there is an upper bound, whatever claims of this fork get in the end.
        """
        if not self._tried.used:
            return tuple(places)
        return tuple(each._replace(use=self.lasting_use(each.pool)) for each in places)

    def lasting_use(self, pool: Pool) -> Use:
        """What of a pool is in use by claims that keep their devices."""
        return self._lasts(pool)[0]

    def exchanging(self, pool: Pool) -> frozenset[str]:
        """The claims that have devices of a pool, and may exchange them for others."""
        return self._lasts(pool)[1]

    def _lasts(self, pool: Pool) -> tuple[Use, frozenset[str]]:
        """The `lasting_use` of a pool, and the claims that are `exchanging` its devices."""
        key, use = pool.key, self.use(pool.key)
        if not self._tried.used:
            return use, frozenset()
        known = self._lasting.get(key)
        if known is None or known[0] is not use:
            left, claims = use, set[str]()
            for claim in self._owners.claims(key):
                held = self._held.get(claim)
                if held is not None and held.demand is not None:
                    claims.add(claim)
                    for result in held.allocation.results:
                        if (result.driver, result.pool) == key:
                            left = removed(left, pool, result)
            known = self._lasting[key] = use, left, frozenset(claims)
        return known[1:]

    def uses(self) -> tuple[Use, ...]:
        """The use of each pool whose use matters to several nodes."""
        return tuple(self.use(key) for key in sorted(self._spread))

    def sight(self, demands: Sequence[Demand], name: str, spread: Spread) -> Hashable:
        """A value equal for nodes that serve claims alike, whatever the use of shared pools.

        It consists of the node's own devices, their place in the order in which devices are tried,
        and the other pools that it sees.
        """
        own: list[Hashable] = []
        for place in self.places(name, spread):
            if place.pool.key in self._spread:
                own.append(place.pool.key)
            else:
                own.append(signature(demands, (place,)))
        return spread.code(name), *own

    def spend(self, verdicts: int) -> None:
        """Count the effort of asking again for some verdicts."""
        self._cache.selectors.effort.spend(PLACE * verdicts)

    @property
    def revisable(self) -> bool:
        """Whether any claims have devices that they may exchange for others."""
        return self._tried.used

    def tried(self, node: str) -> tuple[str, ...]:
        """Claims that were decided on this fork for a node, and may change their devices."""
        return self._tried.get(node) or ()

    def verdict(
        self,
        demands: tuple[Demand, ...],
        node: str,
        places: Sequence[PoolOnNode],
        joined: Sequence[str] = (),
    ) -> DeviceVerdict:
        """Whether a node can serve claims with these demands.

        Args:
            demands: the claims' demands.
            node: the node's name; "" = claims of this fork keep their devices.
            places: what the node sees.
            joined: claims of this fork that would also be used there.
        """
        if not demands and not joined:
            return DeviceVerdict()
        if self.spent:
            return DeviceVerdict(f": {UNSEEN}", open=True)
        known = self._alone(demands, places)
        if not node or not self._tried.used:
            return known
        moves = any(not self.reached(key, places) for key in joined)
        if not (known.reason or moves):
            return known
        revised = self._revisable(demands, node, places, joined, moves=moves)
        return revised or (known if known.reason else DeviceVerdict(CANNOT))

    def _alone(self, demands: tuple[Demand, ...], places: Sequence[PoolOnNode]) -> DeviceVerdict:
        """The verdict if no other claim changes its devices."""
        if not demands:
            return DeviceVerdict()
        key = demands, signature(demands, places)
        known = self._cache.known(key)
        if known is None:
            outcome = self._search([Task(demand, tuple(places)) for demand in demands])
            known = self._keep(key, _verdict(outcome, len(demands)))
        return known

    def reached(self, key: str, places: Sequence[PoolOnNode]) -> bool:
        """Whether a node that sees these places can use the devices of a claim of this fork."""
        held = self._held.get(key)
        if held is None:
            return True
        seen = {place.pool.key: place.reach.devices for place in places}
        for result in held.allocation.results:
            pool = self._pools.get((result.driver, result.pool))
            named = pool.named.get(result.device, 0) if pool is not None else 0
            if pool is not None and not named & seen.get(pool.key, 0) & ~pool.binding:
                return False
        return True

    def begin(self) -> None:
        """Start a new decision with full effort."""
        self._cache.begin()

    @property
    def spent(self) -> bool:
        """Whether the current decision has no effort left."""
        return self._cache.selectors.effort.spent

    @property
    def unfinished(self) -> bool:
        """Whether some nodes were not fully examined, for lack of effort."""
        return self.spent or bool(self._cache.short)

    def _search(self, tasks: Sequence[Task], most: int = MOST_STEPS) -> SearchResult:
        """Search with a part of the effort that is left."""
        effort = self._cache.selectors.effort
        steps = effort.steps(most, _FEWEST_STEPS)
        outcome = search(tasks, steps)
        cut = outcome.open and (steps < most or effort.spent)
        effort.spend(STEP * outcome.steps)
        return outcome._replace(cut=cut)

    def _keep(self, key: Hashable, verdict: DeviceVerdict) -> DeviceVerdict:
        """Cache a verdict; one that comes from a lack of effort for this decision only.

        A search that used all of its steps is cached, too, or each attempt would begin with the
        same search.
        """
        if key is None:
            return verdict
        if not verdict.cut and UNSEEN not in verdict.reason:
            return self._cache.keep(key, verdict)
        self._cache.short[key] = verdict
        return verdict

    def _revisable(
        self,
        demands: tuple[Demand, ...],
        node: str,
        places: Sequence[PoolOnNode],
        joined: Sequence[str],
        *,
        moves: bool,
    ) -> DeviceVerdict | None:
        """The verdict if claims of this fork may get other devices; None = that does not help."""
        claims = self._revised_with(demands, places, joined)
        held = [
            each.used_on(node, places) if claim in joined else each
            for claim in claims
            if (each := self._held.get(claim)) is not None
        ]
        tasks = self._revising(held, demands, places, moves=moves)
        if tasks is None:
            return None
        effort = self._cache.selectors.effort
        effort.spend(PLACE * sum(len(task.places) for task in tasks))
        key: Hashable = None
        seen = seen_in(places)
        if demands and all(seen_in(task.places) == seen for task in tasks):
            every = tuple(task.demand for task in tasks)
            key = every, len(demands), signature(every, tasks[-1].places)
        known = self._cache.known(key) if key is not None else None
        if known is None:
            outcome = searched(tasks, len(demands), self._search)
            known = self._keep(key, _verdict(outcome, len(demands)))
        return known if not known.reason or known.open else None

    def _revised_with(
        self, demands: Sequence[Demand], places: Sequence[PoolOnNode], joined: Sequence[str]
    ) -> list[str]:
        """Claims of this fork that may hold what new ones lack, the shared ones first.

        These are claims with devices of a pool that could serve the new ones, then of pools that
        could serve claims that would move, and so on.
        """
        shared = {key: held for key in joined if (held := self._held.get(key)) is not None}
        seen = seen_in(places)
        wanted = [(demand, seen) for demand in demands]
        wanted += [(held.demand, held.seen) for held in shared.values() if held.demand is not None]
        pools = dict.fromkeys(pool for each in wanted for pool in self._serving(*each))
        order, found = list(shared), set(shared)
        for pool in (queue := list(pools)):  # it grows
            for claim in sorted(self._owners.claims(pool)):
                held = self._held.get(claim)
                if claim in found or held is None or held.demand is None:
                    continue
                if len(order) >= _MOST_REVISED:
                    return order
                found.add(claim)
                order.append(claim)
                more = [key for key in self._serving(held.demand, held.seen) if key not in pools]
                pools.update(dict.fromkeys(more))
                queue += more
        return order

    def _serving(self, demand: Demand, seen: Seen) -> tuple[PoolKey, ...]:
        """The pools that have devices for a demand, as a node sees them."""
        return tuple(
            key
            for key, reach in seen
            if (pool := self._pools.get(key)) is not None
            and any(bits & reach.devices for bits in demand.lens(pool).usable)
        )

    def _revising(
        self,
        held: Sequence[HeldClaim],
        demands: tuple[Demand, ...],
        places: Sequence[PoolOnNode],
        *,
        moves: bool,
    ) -> list[Task] | None:
        """Tasks for these claims and then the new ones, as if none of them had devices.

        None = no other devices would be better than what they have.
        """
        asked, seen = {known.demand for known in held} | set(demands), seen_in(places)
        alike = (
            len(asked) == 1
            and not moves
            and _indifferent(demands[0], places)
            and all(known.seen == seen for known in held)
        )
        if not held or alike:
            return None
        uses: dict[PoolKey, Use] = {}
        for known in held:
            for result in known.allocation.results:
                key = result.driver, result.pool
                pool = self._pools.get(key)
                if pool is not None:
                    uses[key] = removed(uses.get(key) or self.use(key), pool, result)
        tasks = [
            Task(known.demand, self._places_of(known, uses))
            for known in held
            if known.demand is not None
        ]
        freed = tuple(place._replace(use=uses.get(place.pool.key, place.use)) for place in places)
        return [*tasks, *(Task(demand, freed) for demand in demands)]

    def _places_of(self, held: HeldClaim, uses: dict[PoolKey, Use]) -> tuple[PoolOnNode, ...]:
        """The places that may serve a claim; on several nodes, none that binds it to one."""
        found: list[PoolOnNode] = []
        for key, reach in held.seen:
            pool = self._pools.get(key)
            if pool is not None:
                bound = pool.binding if len(held.views) > 1 else 0
                seen = reach._replace(devices=reach.devices & ~bound)
                found.append(PoolOnNode(pool, seen, uses.get(key) or self.use(key)))
        return ordered(found)


def searched(
    tasks: Sequence[Task], new: int, find: Callable[[Sequence[Task], int], SearchResult]
) -> SearchResult:
    """Search for all claims together, the scarcest first; picks and reasons in the tasks' order.

    Args:
        tasks: those of claims that have devices, then the new ones.
        new: how many are new.
        find: the search.
    """
    order = sorted(range(len(tasks)), key=lambda at: _choice(tasks[at]))
    outcome = find([tasks[at] for at in order], _MOST_REVISING)
    if outcome.picks is None:
        return outcome._replace(of=max(0, order[outcome.of] - (len(tasks) - new)))
    picks = dict(zip(order, outcome.picks, strict=True))
    return outcome._replace(picks=tuple(picks[at] for at in range(len(tasks))))


def _indifferent(demand: Demand, places: Sequence[PoolOnNode]) -> bool:
    """Whether claims of this single demand are served alike, whatever earlier ones got."""
    return demand.plain and not any(demand.lens(place.pool).consuming for place in places)


def _choice(task: Task) -> int:
    """How many devices the claim can choose from."""
    usable = 0
    for pool, reach, use in task.places:
        for bits in task.demand.lens(pool).usable:
            usable += (bits & reach.devices & ~use.taken).bit_count()
    return usable


def _verdict(outcome: SearchResult, new: int) -> DeviceVerdict:
    """The verdict on the last `new` claims of a search."""
    if outcome.picks is None:
        return DeviceVerdict(outcome.reason, outcome.of, open=outcome.open, cut=outcome.cut)
    return DeviceVerdict(
        score=sum(
            score_of(each, MOST_ALTERNATIVES) for each in outcome.picks[len(outcome.picks) - new :]
        )
    )


def _whole(pool: Pool) -> bool:
    """Whether a pool is complete and valid, from wherever it is seen."""
    return pool.complete and not pool.invalid and not pool.twice
