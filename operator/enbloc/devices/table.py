# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Devices: the table of published devices, claims, and which claims hold which devices.

::

    put, drop    objects as the API server shows them: an allocation that is seen wins
    place        on a fork: a pod gets devices, and those before it may get others
    keep         on the cluster's own: a pod has what its plan decided
    remove       what only it used is free again
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from enbloc.devices.decisions import (
    DeviceClaimDecision,
    DeviceDecision,
    ExtendedDecision,
    Listing,
)
from enbloc.devices.demand import Demand
from enbloc.devices.extended import MEANT, meant
from enbloc.devices.facts import (
    AllocatedDevice,
    Allocation,
    ClaimSpec,
    ResourceClaim,
    identity,
)
from enbloc.devices.needs import claim_keys, consumer_of, failed, misfit
from enbloc.devices.offers import Offers, searched
from enbloc.devices.owners import Withdrawn
from enbloc.devices.pools import Reach
from enbloc.devices.results import allocation_of
from enbloc.devices.search import (
    CANNOT,
    Pick,
    PoolOnNode,
    Task,
)
from enbloc.devices.seats import DeviceSeat, HeldClaim, Seen, Vacated, in_common, seen_in
from enbloc.devices.views import Spread
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodUID


class Devices(Offers):
    """All that is known of devices, with the ledger of their holders."""

    # ── who is where ───────────────────────────────────────────────────────────────────────

    def expect(self, seats: Iterable[tuple[Pod, str]], nodes: Nodes) -> None:
        """On a fork: let shared claims get devices that are seen from all of these nodes.

        Args:
            seats: the pods that are placed next, and their nodes; not all may be.
            nodes: the cluster.
        """
        self._settle()
        users: dict[str, dict[str, None]] = {}
        for pod, node in seats:
            for key in claim_keys(pod):
                if self.shared(key) and self.allocation(key) is None:
                    users.setdefault(key, {})[node] = None
        spread = self.spread(nodes)
        self._expected = {key: self._in_common([*each], spread) for key, each in users.items()}

    def _in_common(self, names: Sequence[str], spread: Spread) -> Seen:
        """What all of these nodes see."""
        if len(names) == 1:
            return seen_in(self.places(names[0], spread))
        alike = {spread.code(name): name for name in names}
        return in_common(
            tuple((pool.key, reach) for pool, reach in spread.seen(name)) for name in alike.values()
        )

    def place(self, pod: Pod, node: str, nodes: Nodes) -> None:
        """Put a pod on a node, and decide what it gets there."""
        self._settle()
        self.version += 1
        if not self.concerns(pod):
            return
        if pod.node:  # it has what its claims show
            self._return_to(pod)
            self._sit(DeviceSeat(pod, node, claim_keys(pod)))
            return
        asked, row = self.asked(pod), nodes.row(node)
        claims, demands = asked.claims, asked.demands
        seat = DeviceSeat(pod, node, claim_keys(pod))
        if asked.served and row is not None:
            lacks = [name for name in asked.served if nodes.allocatable(name)[row] == 0]
            if lacks:
                demand, create, mappings = self.extended(pod, lacks)
                key = meant(pod.key.namespace, pod.uid)
                claims, demands = (*claims, key), (*demands, demand)
                seat = DeviceSeat(pod, node, (*seat.claims, key), (), create, mappings)
        if asked.refusal or row is None:
            seat = seat._replace(lacking=seat.claims)
        else:
            places = self.places(node, self.spread(nodes))
            self._join(seat, claims, places)
            joined = [each.key for each in asked.joined]
            moves = any(not self.reached(key, places) for key in joined)
            found = not (demands or moves) or self._give(
                node, claims, demands, places, joined, moves=moves
            )
            if not found:
                seat = seat._replace(lacking=(*claims, *joined))
        self._sit(seat)

    def _give(
        self,
        node: str,
        claims: Sequence[str],
        demands: tuple[Demand, ...],
        places: tuple[PoolOnNode, ...],
        joined: Sequence[str],
        *,
        moves: bool,
    ) -> bool:
        """Find devices for claims of a pod on a node; False = there are none.

        Args:
            node: its name.
            claims: the claims without an allocation.
            demands: what these claims request.
            places: what the node sees.
            joined: claims that the pod shares with others on the fork.
            moves: one of them has devices that the node does not see.
        """
        wide = self._wide(claims, places)
        apart = [Task(demand, each) for demand, each in zip(demands, wide, strict=True)]
        outcome = self._search(apart)
        if outcome.picks is None and any(each is not places for each in wide):
            outcome = self._search([Task(demand, places) for demand in demands])
        others: Sequence[str] = ()
        if outcome.picks is None or moves:
            others = self._revised_with(demands, places, joined)
            held = [each for key in others if (each := self._held.get(key)) is not None]
            tasks = self._revising(held, demands, places, moves=moves)
            if tasks is None:
                return False
            outcome = searched(tasks, len(demands), self._search)
        if outcome.picks is None:
            return False
        before = [(claim, self._held.get(claim)) for claim in others]
        for claim, _ in before:
            self._release(claim)
        for (claim, known), picks in zip(before, outcome.picks, strict=False):
            if known is not None and known.demand is not None:
                allocation = self._allocated(claim, known.demand.spec, known.views[0][0], picks)
                self._hold(claim, known._replace(allocation=allocation))
        found = outcome.picks[len(before) :]
        for claim, demand, picks in zip(claims, demands, found, strict=True):
            allocation = self._allocated(claim, demand.spec, node, picks)
            self._hold(claim, HeldClaim(allocation, demand, ((node, seen_in(places)),)))
        return True

    def _wide(
        self, claims: Sequence[str], places: tuple[PoolOnNode, ...]
    ) -> list[tuple[PoolOnNode, ...]]:
        """The places for each claim on a node; a shared one gets what its other users see, too.

        If it is not known where they will be, it gets no devices of the node's own, which would tie
        them to the node.
        """
        found: list[tuple[PoolOnNode, ...]] = []
        for claim in claims:
            expected = self._expected.get(claim)
            if expected is not None:
                found.append(_seen_as(expected, places))
            else:
                found.append(tuple(map(_beyond, places)) if self.shared(claim) else places)
        return found

    def _allocated(
        self, claim: str, spec: ClaimSpec, node: str, picks: Sequence[Pick]
    ) -> Allocation:
        known = self._claims.get(claim)
        return allocation_of(picks, spec, node, known.uid if known is not None else claim)

    def _join(self, seat: DeviceSeat, own: Sequence[str], places: Sequence[PoolOnNode]) -> None:
        """Use claims here that others on this fork have got."""
        for claim in seat.claims:
            held = self._held.get(claim)
            if claim in own or held is None or held.demand is None:
                continue
            joined = held.used_on(seat.node, places)
            if joined is not held:
                self._release(claim)
                self._hold(claim, joined)

    def _part(self, claim: str) -> None:
        """Record that a pod no longer uses a claim: free it if unused, else it may move."""
        held, users = self._held.get(claim), self.users(claim)
        if held is None:
            return
        if held.demand is None:
            if next(users, None) is None:
                self._release(claim)
            return
        seats = [seat for uid in users if (seat := self._seats.get(uid)) is not None]
        nodes = {seat.node for seat in seats}
        if len(nodes) < len(held.views):
            self._release(claim)
            views = tuple(view for view in held.views if view[0] in nodes)
            if views:
                self._hold(claim, held._replace(views=views))

    def keep(self, pod: Pod, node: str, decision: DeviceDecision) -> None:
        """Put a pod on a node, with what a plan decided.

        The decision is held as long as the plan, whatever the API shows meanwhile, which may be
        what an earlier plan wrote.
        """
        self._settle()
        self.version += 1
        seat = DeviceSeat(pod, node, claim_keys(pod))
        for each in decision.claims:
            if each.claim not in seat.claims:
                continue  # the pod names others by now
            if each.problem:
                seat = seat._replace(lacking=(*seat.lacking, each.claim))
            elif each.allocation is not None and self._held.get(each.claim) is None:
                shown = self._shown(each.claim)
                if not pod.node or shown is None or not _same(shown, each.allocation):
                    self._hold(each.claim, HeldClaim(each.allocation))
        made = decision.extended
        if made is not None:
            key = meant(pod.key.namespace, pod.uid)
            seat = seat._replace(
                claims=(*seat.claims, key), create=made.requests, mappings=made.mappings
            )
            self._hold(key, HeldClaim(made.allocation))
            if self._root:
                self._making.add(pod.uid)
        self._sit(seat)

    def _sit(self, seat: DeviceSeat) -> None:
        self._seats.set(seat.pod.uid, seat)
        for key in seat.claims:
            self._use(seat.pod, key, 1)

    def remove(self, pod: Pod) -> None:
        """Take a pod off its node, and free what only it held."""
        seat = self._seats.get(pod.uid)
        if seat is None:
            return
        self._settle()
        self.version += 1
        if self._root:
            self._making.discard(pod.uid)
        self._seats.set(pod.uid, None)
        for key in seat.claims:
            self._use(seat.pod, key, -1)
            self._part(key)
        if pod.node and not self._root:
            self._vacate(pod)

    def _vacate(self, pod: Pod) -> None:
        """On a fork: act as if a bound pod was deleted, and the claim controllers had seen it.

        Its reservations go, and with a claim's last one its devices. What is reserved for a
        Kubernetes PodGroup stays as long as that exists.
        """
        for key in self.claims_of(pod):
            claim = self._claims.get(key)
            if claim is not None and claim.allocation is not None and claim.reserves(pod.uid):
                vacated = self._vacated.get(key) or Vacated(claim, frozenset())
                self._without(key, vacated.claim, vacated.gone | {pod.uid})

    def _return_to(self, pod: Pod) -> None:
        """On a fork: restore the claims of a pod that is back."""
        for key in self.claims_of(pod):
            vacated = self._vacated.get(key)
            if vacated is not None and pod.uid in vacated.gone:
                self._without(key, vacated.claim, vacated.gone - {pod.uid})

    def _without(self, key: str, claim: ResourceClaim, gone: frozenset[PodUID]) -> None:
        """Remove some pods' reservations of a claim; without any left, it has no devices."""
        left = tuple(each for each in claim.reserved_for if each.id not in gone)
        self._vacated.set(key, Vacated(claim, gone) if gone else None)
        allocation = claim.allocation if left else None
        self._put_claim(key, replace(claim, reserved_for=left, allocation=allocation))

    def lingers(self, key: str, gone: Collection[PodUID]) -> bool:
        """Whether a claim still has its devices, and is reserved only for pods that are gone."""
        claim = self._claims.get(key)
        if claim is None or claim.allocation is None or not claim.reserved_for:
            return False
        return claim.consumers <= {*gone}

    def withdrawn(self, member: Withdrawn, decision: DeviceDecision | None) -> None:
        """Record that a plan was abandoned, whose requests may be under way: its use stays.

        Args:
            member: a member of the plan.
            decision: its decision; None = everything done for it has been undone.
        """
        self.version += 1
        found: tuple[AllocatedDevice, ...] = ()
        if decision is not None:
            given = [each.allocation for each in decision.claims]
            given += [decision.extended.allocation] if decision.extended else []
            found = tuple(result for each in given if each is not None for result in each.results)
        self._touch(self._owners.leave(member, found))

    def reclaim(self, group: GroupKey) -> None:
        """Let the group plan with what its earlier plans held: its PreBinds come after that."""
        self._owners.reclaim(group)

    @property
    def any_withdrawn(self) -> bool:
        """Whether any abandoned plan still holds devices."""
        return self._owners.any_leaving

    def decision(self, uid: PodUID) -> DeviceDecision | None:
        """What must be written before a pod is bound; None = nothing."""
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
            claims.append(DeviceClaimDecision(seat.meant, "", problem=CANNOT))
        return DeviceDecision(tuple(claims), made) if claims or made else None

    def _decided(self, seat: DeviceSeat, key: str) -> DeviceClaimDecision | None:
        """What must be written for one claim; None = nothing.

        An existing reservation is checked again before the pod is bound: it may not be visible yet
        that an earlier plan was undone.
        """
        pod, claim, held = seat.pod, self._claims.get(key), self._held.get(key)
        uid, listing = claim.uid if claim is not None else "", _listing(pod, key)
        given = claim.allocation if claim is not None else None
        if claim is not None and given is not None and (not held or _same(given, held.allocation)):
            reserved = pod.node and claim.reserves(pod.uid, consumer_of(pod))
            # A claim of this pod alone may be allocated again: an earlier plan may still undo it.
            found = claim.owner != pod.uid and not self._names_alone(pod, key)
            return None if reserved else DeviceClaimDecision(key, uid, given, listing, found=found)
        if held is None or key in seat.lacking:
            return DeviceClaimDecision(key, uid, problem=CANNOT)
        return DeviceClaimDecision(key, uid, held.allocation, listing)

    def left_over(self, pod: Pod, members: frozenset[PodUID]) -> DeviceDecision | None:
        """What an earlier attempt left for a pod that has no node, and may be released.

        A claim that is reserved for nobody may have been allocated for the pod by somebody else; it
        is included only if it keeps the pod off nodes, or its devices cannot be used.

        Args:
            pod: the pod that could not be placed.
            members: the members of its group without a node; what others use is not left over.
        """
        claims: list[DeviceClaimDecision] = []
        for position, name in enumerate(pod.resource_claims):
            key = f"{pod.key.namespace}/{name}"
            claim = self._claims.get(key) if name else None
            if name is None or claim is None or misfit(pod, position, name, claim):
                continue
            given, own = claim.allocation, consumer_of(pod)
            if given is None or not claim.consumers - members <= {own}:
                continue
            if any(user not in members and user != own for user in self.users(key)):
                continue
            useless = failed(claim) or self._disputed(key, given)
            if claim.consumers or given.terms is not None or useless:
                claims.append(DeviceClaimDecision(key, claim.uid, listing=_listing(pod, key)))
        made = self._own_extended(pod)
        extended = None
        if made is not None and pod.uid not in self._making and not self._lent(made, pod):
            extended = ExtendedDecision((), (), Allocation(), made)
        return DeviceDecision(tuple(claims), extended) if claims or extended else None

    def _lent(self, made: str, pod: Pod) -> bool:
        """Whether other pods use the claim for a pod's extended resources: any pod can name it."""
        claim = self._claims.get(made)
        users = claim.consumers if claim is not None else ()
        return any(each != pod.uid for each in chain(users, self.users(made)))

    def stands(self, uid: PodUID, *, written: bool = False) -> bool:
        """Whether the decision for a pod is still possible, with the objects as they are now.

        Args:
            uid: the pod's uid.
            written: it is written to its claims, and the watch has shown it.
        """
        seat = self._seats.get(uid)
        if seat is None or seat.lacking:
            return seat is None
        return all(self._stands(key, written=written) for key in seat.claims)

    def _stands(self, key: str, *, written: bool) -> bool:
        claim, held = self._claims.get(key), self._held.get(key)
        if MEANT in key:  # once created, it goes by its own name
            claim = self._claims.get(self._made(key) or "")
        if (written or MEANT not in key) and (claim is None or claim.deleting):
            return False
        given = claim.allocation if claim is not None else None
        if given is not None and (held is None or _same(given, held.allocation)):
            return not self._disputed(key, given)
        if held is None or written:
            return False
        if self._disputed(key, held.allocation):
            return False
        return all(map(self._offered, held.allocation.results))

    def _offered(self, result: AllocatedDevice) -> bool:
        """Whether a device still exists."""
        pool = self._pools.get((result.driver, result.pool))
        if pool is None or not pool.complete or pool.invalid:
            return False
        return result.device in pool.named


def _same(one: Allocation, other: Allocation) -> bool:
    """Whether two allocations are of the same devices."""
    return set(map(identity, one.results)) == set(map(identity, other.results))


def _listing(pod: Pod, key: str) -> Listing | None:
    """How the Kubernetes PodGroup that a pod names would list one of its claims."""
    if not pod.pod_group:
        return None
    name = key.partition("/")[2]
    named = zip(pod.resource_claims, pod.spec.resource_claims, strict=False)
    return Listing(pod.pod_group, tuple(of for each, of in named if each == name))


def _seen_as(seen: Seen, places: Sequence[PoolOnNode]) -> tuple[PoolOnNode, ...]:
    """The places without what some other node does not see."""
    common = dict(seen)
    return tuple(
        place._replace(reach=Reach(place.reach.devices & common[key].devices, place.reach.listed))
        for place in places
        if (key := place.pool.key) in common
    )


def _beyond(place: PoolOnNode) -> PoolOnNode:
    """The place without what only this node sees."""
    pool = place.pool
    devices = 0
    if pool.chosen or pool.everywhere is not None:
        for bits in (pool.everywhere, *(reach for _, reach in pool.chosen)):
            devices |= bits.devices if bits is not None else 0
    return place._replace(reach=Reach(place.reach.devices & devices, place.reach.listed))
