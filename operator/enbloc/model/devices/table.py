# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Devices: the table of what drivers publish, what claims ask for, and who has what.

::

    put, drop    objects as the API server shows them: an allocation that is seen wins
    place        on a fork: a pod gets devices, and those before it may get others
    keep         on the cluster's own: a pod has what its plan decided
    remove       what only it used is free again
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from enbloc.model.devices.asked import Verdict, consumer_of, failed, misfit
from enbloc.model.devices.compilers import Compiler
from enbloc.model.devices.decisions import ClaimDecision, DeviceDecision, ExtendedDecision, Listing
from enbloc.model.devices.demand import Demand
from enbloc.model.devices.effort import PLACE, STEP, UNSEEN
from enbloc.model.devices.extended import MEANT, Mappings, meant
from enbloc.model.devices.facts import MOST_ALTERNATIVES, Allocation, ClaimSpec, Request
from enbloc.model.devices.inventory import Inventory, User
from enbloc.model.devices.pools import PoolKey, Reach
from enbloc.model.devices.results import allocation_of, score_of
from enbloc.model.devices.search import (
    CANNOT,
    MOST_STEPS,
    Outcome,
    Pick,
    Place,
    Task,
    ordered,
    search,
)
from enbloc.model.devices.use import Use, added, removed
from enbloc.model.devices.views import Spread, signature
from enbloc.model.layered import Layered
from enbloc.model.pods import Pod, PodUID

if TYPE_CHECKING:
    from enbloc.model.nodes import Nodes

#: Steps of a search in which devices of others may be changed, and claims in it.
_MOST_REVISING: Final = 4_000
_MOST_REVISED: Final = 64
#: Of a search for which no effort is left.
_FEWEST_STEPS: Final = 200

Seen = tuple[tuple[PoolKey, Reach], ...]


class Held(NamedTuple):
    """What was decided for a claim, and is not seen in the API yet.

    Attributes:
        demand: what it asks for; None = it was decided before, and stays.
        node: where the pod is that uses it.
        seen: the pools that the node sees.
    """

    allocation: Allocation
    demand: Demand | None = None
    node: str = ""
    seen: Seen = ()


class Seat(NamedTuple):
    """A pod on a node, and the claims that it uses there.

    Attributes:
        lacking: of these there is nothing to be had.
        create: requests of the last claim, if it is to be made for extended resources.
    """

    pod: Pod
    node: str
    claims: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    create: tuple[Request, ...] = ()
    mappings: Mappings = ()

    @property
    def meant(self) -> str:
        """The key of the claim that is to be made for the pod's extended resources."""
        return meant(self.pod.key.namespace, self.pod.uid)


class Devices(Inventory):
    """All that is known of devices, with the ledger of who has them.

    Args:
        compiler: of the expressions by which devices are selected; None = that of CEL.
    """

    def __init__(self, compiler: Compiler | None = None) -> None:
        super().__init__(compiler)
        self._held: Layered[str, Held] = Layered()
        self._seats: Layered[str, Seat] = Layered()
        self._tried: Layered[str, tuple[str, ...]] = Layered()
        self._left: tuple[str, str, DeviceDecision] | None = None

    # ── what nodes can give ──────────────────────────────────────────────────────────────────

    def spread(self, nodes: "Nodes") -> Spread:
        """The pools that more nodes see than they name, for the rows of a node table."""
        pools = [self._pools.get(key) for key in sorted(self._spread)]
        return Spread([pool for pool in pools if pool is not None], nodes)

    def may_share(self, demands: Sequence[Demand]) -> bool:
        """Whether claims with these demands may get devices that several nodes see."""
        pools = [pool for key in self._spread if (pool := self._pools.get(key)) is not None]
        seen = (demand.lens(pool) for pool in pools for demand in demands)
        return any(any(lens.matched) or lens.unseen for lens in seen)

    def has_own(self, node: str) -> bool:
        """Whether a node has pools that no other node sees."""
        return self._by_node.get(node) is not None

    def is_spread(self, key: PoolKey) -> bool:
        """Whether more nodes see a pool than it names."""
        return key in self._spread

    def places(self, row: int, name: str, spread: Spread) -> tuple[Place, ...]:
        """What a node sees, in the order in which it is tried."""
        found: list[Place] = []
        for key in self._by_node.get(name) or ():
            pool = self._pools.get(key)
            if pool is not None and key not in self._spread:
                found.append(Place(pool, pool.by_node[name], self.use(key)))
        for pool, reach in spread.seen(row, name):
            found.append(Place(pool, reach, self.use(pool.key)))
        return ordered(found) if len(found) > 1 else tuple(found)

    @property
    def revisable(self) -> bool:
        """Claims have devices that they may change for others."""
        return self._tried.used

    def tried(self, node: str) -> tuple[str, ...]:
        """Claims of this fork that were decided on a node, and may change their devices."""
        return self._tried.get(node) or ()

    def verdict(self, demands: tuple[Demand, ...], node: str, places: Sequence[Place]) -> Verdict:
        """Whether a node can serve claims with these demands.

        Args:
            demands: of the claims.
            node: its name; "" = claims of this fork keep what they have.
            places: what the node sees.
        """
        if not demands:
            return Verdict()
        if self.spent:
            return Verdict(f": {UNSEEN}", open=True)
        key = demands, signature(demands, places)
        known = self._memory.known(key)
        if known is None:
            outcome = self._search([Task(demand, tuple(places)) for demand in demands])
            known = self._keep(key, _verdict(outcome, len(demands)))
        if known.reason and node and self._tried.used:
            revised = self._revisable(demands, node, places)
            if revised is not None:
                return revised
        return known

    def begin(self) -> None:
        """A decision begins: so much may be worked out for it."""
        self._memory.begin()

    @property
    def spent(self) -> bool:
        """Nothing more is worked out for the decision that is made."""
        return self._memory.selectors.effort.spent

    @property
    def unfinished(self) -> bool:
        """For lack of effort there are nodes of which it was not found out whether they serve."""
        return self.spent or bool(self._memory.short)

    def _search(self, tasks: Sequence[Task], most: int = MOST_STEPS) -> Outcome:
        """Search with a part of the effort that is left."""
        effort = self._memory.selectors.effort
        steps = effort.steps(most, _FEWEST_STEPS)
        outcome = search(tasks, steps)
        cut = outcome.open and (steps < most or effort.spent)
        effort.spend(STEP * outcome.steps)
        return outcome._replace(cut=cut)

    def _keep(self, key: Hashable, verdict: Verdict) -> Verdict:
        """Remember a verdict, if it does not come from a lack of effort.

        Also one of a search that had all of its steps, or each attempt would begin with the same.
        """
        if key is None:
            return verdict
        if not verdict.cut and UNSEEN not in verdict.reason:
            return self._memory.keep(key, verdict)
        self._memory.short[key] = verdict
        return verdict

    def _revisable(
        self, demands: tuple[Demand, ...], node: str, places: Sequence[Place]
    ) -> Verdict | None:
        """The verdict if claims of this fork may get other devices; None = that does not help."""
        claims = self._revised_with(node, places)
        tasks = self._revising(claims, demands, places)
        if tasks is None:
            return None
        effort = self._memory.selectors.effort
        effort.spend(PLACE * sum(len(task.places) for task in tasks))
        key: Hashable = None
        keys = {place.pool.key for place in places}
        if all({place.pool.key for place in task.places} == keys for task in tasks):
            every = tuple(task.demand for task in tasks)
            key = every, len(demands), signature(every, tasks[-1].places)
        known = self._memory.known(key) if key is not None else None
        if known is None:
            outcome = _searched(tasks, len(demands), self._search)
            known = self._keep(key, _verdict(outcome, len(demands)))
        return known if not known.reason or known.open else None

    def _revised_with(self, node: str, places: Sequence[Place]) -> list[str]:
        """Claims of this fork that may have what a pod on the node lacks, in name order."""
        found: dict[str, None] = dict.fromkeys(self._tried.get(node) or ())
        keys = [place.pool.key for place in places if place.pool.key in self._spread]
        for key in keys:
            for claim in sorted(self._holders.get(key) or ()):
                held = self._held.get(claim)
                if held is not None and held.demand is not None:
                    found.setdefault(claim)
        return list(found)[:_MOST_REVISED]

    def _revising(
        self, claims: Sequence[str], demands: tuple[Demand, ...], places: Sequence[Place]
    ) -> list[Task] | None:
        """Tasks for these claims and then the new ones, as if none of them had anything.

        None = what they have now is as good as anything else.
        """
        held = [(claim, known) for claim in claims if (known := self._held.get(claim))]
        asked = {known.demand for _, known in held} | set(demands)
        if not held or (len(asked) == 1 and _indifferent(demands[0], places)):
            return None
        uses: dict[PoolKey, Use] = {}
        for _, known in held:
            for result in known.allocation.results:
                key = result.driver, result.pool
                pool = self._pools.get(key)
                if pool is not None:
                    uses[key] = removed(uses.get(key) or self.use(key), pool, result)
        tasks = [
            Task(known.demand, self._places_of(known.seen, uses))
            for _, known in held
            if known.demand is not None
        ]
        freed = tuple(place._replace(use=uses.get(place.pool.key, place.use)) for place in places)
        return [*tasks, *(Task(demand, freed) for demand in demands)]

    def _places_of(self, seen: Seen, uses: dict[PoolKey, Use]) -> tuple[Place, ...]:
        found: list[Place] = []
        for key, reach in seen:
            pool = self._pools.get(key)
            if pool is not None:
                found.append(Place(pool, reach, uses.get(key) or self.use(key)))
        return ordered(found)

    # ── who sits where ───────────────────────────────────────────────────────────────────────

    def place(self, pod: Pod, node: str, nodes: "Nodes") -> None:
        """The pod sits on that node from now on: decide what it gets there."""
        self._settle()
        self.version += 1
        if not self.concerns(pod):
            return
        if pod.node:
            self._seat_bound(pod, node)
            return
        asked, row = self.asked(pod), nodes.row(node)
        claims, demands = asked.claims, asked.demands
        seat = Seat(pod, node, self._keys(pod))
        if asked.served and row is not None:
            lacks = [name for name in asked.served if nodes.allocatable(name)[row] == 0]
            if lacks:
                demand, create, mappings = self.extended(pod, lacks)
                key = meant(pod.key.namespace, pod.uid)
                claims, demands = (*claims, key), (*demands, demand)
                seat = Seat(pod, node, (*seat.claims, key), (), create, mappings)
        if asked.refusal or row is None:
            seat = seat._replace(lacking=seat.claims)
        else:
            part = nodes.take(np.array([row])) if self._spread else nodes
            places = self.places(0, node, self.spread(part))
            self._join(seat, claims)
            if demands and not self._give(node, claims, demands, places):
                seat = seat._replace(lacking=claims)
        self._sit(seat)

    def _give(
        self,
        node: str,
        claims: Sequence[str],
        demands: tuple[Demand, ...],
        places: tuple[Place, ...],
    ) -> bool:
        """Find devices for claims of a pod on a node; False = there are none."""
        wide = self._wide(claims, places)
        apart = [Task(demand, each) for demand, each in zip(demands, wide, strict=True)]
        outcome = self._search(apart)
        if outcome.picks is None and any(each is not places for each in wide):
            outcome = self._search([Task(demand, places) for demand in demands])
        others: Sequence[str] = ()
        if outcome.picks is None:
            others = self._revised_with(node, places)
            tasks = self._revising(others, demands, places)
            if tasks is None:
                return False
            outcome = _searched(tasks, len(demands), self._search)
        if outcome.picks is None:
            return False
        before = [(claim, self._held.get(claim)) for claim in others]
        for claim, _ in before:
            self._release(claim)
        seen = tuple((place.pool.key, place.reach) for place in places)
        for (claim, held), picks in zip(before, outcome.picks, strict=False):
            if held is not None and held.demand is not None:
                allocation = self._allocated(claim, held.demand.spec, held.node, picks)
                self._hold(claim, held._replace(allocation=allocation))
        found = outcome.picks[len(before) :]
        for claim, demand, picks in zip(claims, demands, found, strict=True):
            allocation = self._allocated(claim, demand.spec, node, picks)
            self._hold(claim, Held(allocation, demand, node, seen))
        return True

    def _wide(self, claims: Sequence[str], places: tuple[Place, ...]) -> list[tuple[Place, ...]]:
        """What each claim should have of what a node sees: a shared one no devices of the node.

        Who else uses it would be held to the node.
        """
        found: list[tuple[Place, ...]] = []
        for claim in claims:
            found.append(tuple(map(_beyond, places)) if self.shared(claim) else places)
        return found

    def _allocated(
        self, claim: str, spec: ClaimSpec, node: str, picks: Sequence[Pick]
    ) -> Allocation:
        known = self._claims.get(claim)
        return allocation_of(picks, spec, node, known.uid if known is not None else claim)

    def _join(self, seat: Seat, own: Sequence[str]) -> None:
        """Claims that others of this fork have got, and this pod uses too, stay as they are."""
        for claim in seat.claims:
            held = self._held.get(claim)
            if claim not in own and held is not None and held.demand is not None:
                self._release(claim)
                self._hold(claim, Held(held.allocation))

    def _seat_bound(self, pod: Pod, node: str) -> None:
        """A pod that is bound has what its claims show, or what its plan decided a moment ago."""
        left, self._left = self._left, None
        if left is not None and left[:2] == (pod.uid, node):
            self.keep(pod, node, left[2])
        else:
            self._sit(Seat(pod, node, self._keys(pod)))

    def keep(self, pod: Pod, node: str, decision: DeviceDecision) -> None:
        """The pod sits on that node from now on, with what a plan decided."""
        self._settle()
        self.version += 1
        seat = Seat(pod, node, self._keys(pod))
        for each in decision.claims:
            if each.claim not in seat.claims:
                continue  # the pod names others by now
            if each.problem:
                seat = seat._replace(lacking=(*seat.lacking, each.claim))
            elif each.allocation is not None and self.allocation(each.claim) is None:
                self._hold(each.claim, Held(each.allocation))
        made = decision.extended
        if made is not None:
            key = meant(pod.key.namespace, pod.uid)
            seat = seat._replace(
                claims=(*seat.claims, key), create=made.requests, mappings=made.mappings
            )
            self._hold(key, Held(made.allocation))
            if self._root:
                self._making.add(pod.uid)
        self._sit(seat)

    def _sit(self, seat: Seat) -> None:
        self._seats.set(seat.pod.uid, seat)
        user = User(seat.pod.uid, consumer_of(seat.pod))
        for key in seat.claims:
            self._users.set(key, (self._users.get(key) or frozenset()) | {user})

    def remove(self, pod: Pod) -> None:
        """The pod sits nowhere any more, and what only it held is free."""
        seat = self._seats.get(pod.uid)
        if seat is None:
            return
        self._settle()
        self.version += 1
        if self._root:
            self._making.discard(pod.uid)
        decided = self.decision(pod.uid)
        self._left = (pod.uid, seat.node, decided) if decided else None
        self._seats.set(pod.uid, None)
        user = User(pod.uid, consumer_of(seat.pod))
        for key in seat.claims:
            users = (self._users.get(key) or frozenset()) - {user}
            self._users.set(key, users or None)
            if not users:
                self._release(key)

    def decision(self, uid: PodUID) -> DeviceDecision | None:
        """What has to be written before a pod is bound; None = nothing."""
        seat = self._seats.get(uid)
        if seat is None:
            return None
        claims = [
            each
            for key in seat.claims
            if key != seat.meant and (each := self._decided(seat, key)) is not None
        ]
        extended = self._held.get(seat.meant)
        made = None
        if extended is not None:
            made = ExtendedDecision(seat.create, seat.mappings, extended.allocation)
        elif seat.create:
            claims.append(ClaimDecision(seat.meant, "", problem=CANNOT))
        return DeviceDecision(tuple(claims), made) if claims or made else None

    def _decided(self, seat: Seat, key: str) -> ClaimDecision | None:
        """What is written of one claim; None = nothing.

        A reservation that stands is looked at again before the pod is bound: what an earlier plan
        takes back may not be seen yet.
        """
        pod, claim, held = seat.pod, self._claims.get(key), self._held.get(key)
        uid, listing = claim.uid if claim is not None else "", _listing(pod, key)
        if claim is not None and claim.allocation is not None:
            reserved = pod.node and claim.reserves(pod.uid, consumer_of(pod))
            return None if reserved else ClaimDecision(key, uid, listing=listing)
        if held is None or key in seat.lacking:
            return ClaimDecision(key, uid, problem=CANNOT)
        return ClaimDecision(key, uid, held.allocation, listing)

    def left_over(self, pod: Pod, members: frozenset[PodUID]) -> DeviceDecision | None:
        """What a pod that sits nowhere has got of an earlier attempt, and may give back.

        A claim that is reserved for nobody, as somebody may have allocated it for the pod, only
        where it keeps the pod off nodes, or its devices have failed.

        Args:
            pod: that could not be placed.
            members: of its group, that sit nowhere either; what others use is theirs.
        """
        claims: list[ClaimDecision] = []
        for position, name in enumerate(pod.resource_claims):
            key = f"{pod.key.namespace}/{name}"
            claim = self._claims.get(key) if name else None
            if name is None or claim is None or misfit(pod, position, name, claim):
                continue
            placed = self._users.get(key) or frozenset()
            users = {each.id for each in claim.reserved_for} | {each.uid for each in placed}
            given = claim.allocation
            if given is None or not users <= {*members, consumer_of(pod)}:
                continue
            if users or given.terms is not None or failed(claim):
                claims.append(ClaimDecision(key, claim.uid, listing=_listing(pod, key)))
        made = self._own_extended(pod)
        extended = None
        if made is not None and pod.uid not in self._making and not self._lent(made, pod):
            extended = ExtendedDecision((), (), Allocation(), made)
        return DeviceDecision(tuple(claims), extended) if claims or extended else None

    def _lent(self, made: str, pod: Pod) -> bool:
        """Whether others use the claim for a pod's extended resources, which any pod can name."""
        claim, placed = self._claims.get(made), self._users.get(made) or frozenset()
        users = {each.id for each in claim.reserved_for} if claim is not None else set[str]()
        return not users | {each.uid for each in placed} <= {pod.uid}

    def stands(self, uid: PodUID) -> bool:
        """Whether what was decided for a pod can still be had, by the objects as they are now."""
        seat = self._seats.get(uid)
        if seat is None or seat.lacking:
            return seat is None
        return all(self._stands(key) for key in seat.claims)

    def _stands(self, key: str) -> bool:
        claim, held = self._claims.get(key), self._held.get(key)
        if MEANT in key and held is None:  # it is made, and goes by its own name
            claim = self._claims.get(self._made_for.get(key) or "")
        if MEANT not in key and (claim is None or claim.deleting):
            return False
        if held is None:
            return claim is not None and claim.allocation is not None
        for result in held.allocation.results:
            pool = self._pools.get((result.driver, result.pool))
            position = pool.named.get(result.device, 0) if pool is not None else 0
            if pool is None or not pool.complete or pool.invalid or not position:
                return False
            again = self.use(pool.key).again
            if not result.admin and position.bit_length() - 1 in again:
                return False
        return True

    # ── the ledger ───────────────────────────────────────────────────────────────────────────

    def allocation(self, key: str) -> Allocation | None:
        """What a claim has, as it is seen or decided; None = nothing."""
        claim = self._claims.get(key)
        if claim is not None and claim.allocation is not None:
            return claim.allocation
        held = self._held.get(key)
        return held.allocation if held is not None else None

    def _keys(self, pod: Pod) -> tuple[str, ...]:
        return tuple(f"{pod.key.namespace}/{name}" for name in pod.resource_claims if name)

    def _supersede(self, key: str) -> None:
        self._release(key)

    def _hold(self, key: str, held: Held) -> None:
        self._held.set(key, held)
        self._count(key, held.allocation, added)
        if held.demand is not None:
            self._tried.set(held.node, (*(self._tried.get(held.node) or ()), key))

    def _release(self, key: str) -> None:
        held = self._held.set(key, None)
        if held is None:
            return
        self._count(key, held.allocation, removed)
        if held.demand is not None:
            left = tuple(each for each in self._tried.get(held.node) or () if each != key)
            self._tried.set(held.node, left or None)


def _listing(pod: Pod, key: str) -> Listing | None:
    """How the PodGroup of Kubernetes that a pod names would list one of its claims."""
    if not pod.pod_group:
        return None
    name = key.partition("/")[2]
    named = zip(pod.resource_claims, pod.spec.resource_claims, strict=False)
    return Listing(pod.pod_group, tuple(of for each, of in named if each == name))


def _searched(
    tasks: Sequence[Task], new: int, find: Callable[[Sequence[Task], int], Outcome]
) -> Outcome:
    """Search for all claims together, the scarcest first; picks and reasons in the tasks' order.

    Args:
        tasks: of claims that have something, and then the new ones.
        new: how many are new.
        find: searches.
    """
    order = sorted(range(len(tasks)), key=lambda at: _choice(tasks[at]))
    outcome = find([tasks[at] for at in order], _MOST_REVISING)
    if outcome.picks is None:
        return outcome._replace(of=max(0, order[outcome.of] - (len(tasks) - new)))
    picks = dict(zip(order, outcome.picks, strict=True))
    return outcome._replace(picks=tuple(picks[at] for at in range(len(tasks))))


def _beyond(place: Place) -> Place:
    """The same without what only this node sees."""
    pool = place.pool
    devices = 0
    if pool.chosen or pool.everywhere is not None:
        for bits in (pool.everywhere, *(reach for _, reach in pool.chosen)):
            devices |= bits.devices if bits is not None else 0
    return place._replace(reach=Reach(place.reach.devices & devices, place.reach.listed))


def _indifferent(demand: Demand, places: Sequence[Place]) -> bool:
    """Whether claims of this one demand are served alike, however those before them were."""
    return demand.plain and not any(demand.lens(place.pool).consuming for place in places)


def _choice(task: Task) -> int:
    """Among how many devices the claim may choose."""
    usable = 0
    for pool, reach, use in task.places:
        for bits in task.demand.lens(pool).usable:
            usable += (bits & reach.devices & ~use.taken).bit_count()
    return usable


def _verdict(outcome: Outcome, new: int) -> Verdict:
    """Of the last `new` claims of a search."""
    if outcome.picks is None:
        return Verdict(outcome.reason, outcome.of, open=outcome.open, cut=outcome.cut)
    return Verdict(score=sum(score_of(each, MOST_ALTERNATIVES) for each in outcome.picks[-new:]))
