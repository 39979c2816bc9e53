# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Inventory: published devices, claims, and which claims hold which devices."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import ClassVar, Final, Self

from enbloc.devices.cache import DeviceCache
from enbloc.devices.decisions import DeviceDecision
from enbloc.devices.demand import Demand
from enbloc.devices.extended import (
    MEANT,
    Mappings,
    classes_by_resource,
    meant,
    requests_for,
)
from enbloc.devices.facts import (
    MOST_CONSUMERS,
    AllocatedDevice,
    Allocation,
    ClaimSpec,
    DeviceClass,
    Fact,
    Request,
    ResourceClaim,
    ResourceSlice,
    identity,
)
from enbloc.devices.needs import (
    NOTHING_ASKED,
    DeviceNeeds,
    Joined,
    Terms,
    alternatives_score,
    claim_keys,
    consumer_of,
    exceeded,
    failed,
    full,
    misfit,
    twice,
    unclassed,
    unmade,
)
from enbloc.devices.owners import Owners
from enbloc.devices.pools import Pool, PoolKey, pool_of
from enbloc.devices.search import told
from enbloc.devices.seats import DeviceSeat, HeldClaim, Seen, Vacated
from enbloc.devices.use import UNUSED, Use
from enbloc.model.layered import Layered, LayeredGroups
from enbloc.model.ledger import ByName, Ledger
from enbloc.model.node_log import NodeLog
from enbloc.model.pods import Pod, PodUID

#: Claims of one pod.
_MOST_CLAIMS: Final = 128


class Inventory(Ledger[Fact, DeviceDecision, DeviceSeat]):
    """The objects, and the devices that are in use.

    Attributes:
        touched: the log of nodes whose own devices (that no other node sees), or their use,
            changed; None = a fork, which has no log.
    """

    kinds: ClassVar[frozenset[str]] = frozenset(
        {ResourceSlice.kind, DeviceClass.kind, ResourceClaim.kind}
    )
    own = (
        "_seats", "_slices", "_classes", "_claims", "_made_for", "_members", "_built", "_on_node",
        "_owners", "_held", "_tried", "_users", "_counting", "_consumers",
        "_vacated",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._cache = DeviceCache()
        self._slices: Layered[str, ResourceSlice] = Layered()
        self._classes: Layered[str, DeviceClass] = Layered()
        self._claims: Layered[str, ResourceClaim] = Layered()
        #: The keys of created claims, by their key before creation; of several, made by somebody
        #: else, the first counts.
        self._made_for: Layered[str, tuple[str, ...]] = Layered()
        #: Pods for whose extended resources a plan in progress creates a claim.
        self._making: set[PodUID] = set()
        self._by_resource: dict[str, DeviceClass] = {}
        self._members: Layered[PoolKey, frozenset[str]] = Layered()
        #: Pools of which a slice has changed, rebuilt together: a driver may publish many slices at
        #: once.
        self._stale: dict[PoolKey, None] = {}
        self._built: Layered[PoolKey, Pool] = Layered()
        self._on_node: Layered[str, tuple[PoolKey, ...]] = Layered()
        self._wide_pools: frozenset[PoolKey] = frozenset()
        self._owners = Owners()
        self._held: Layered[str, HeldClaim] = Layered()
        #: Claims that were decided on this fork, by the nodes where they are used.
        self._tried: Layered[str, tuple[str, ...]] = Layered()
        #: The use of a pool; without what claims have that were decided on this fork; these claims.
        self._lasting: dict[PoolKey, tuple[Use, Use, frozenset[str]]] = {}
        #: The pods on nodes that use a claim; how many of them count as each consumer, and how many
        #: consumers there are.
        self._users: LayeredGroups[str, PodUID, bool] = LayeredGroups()
        self._counting: Layered[tuple[str, str], int] = Layered()
        self._consumers: Layered[str, int] = Layered()
        #: On a fork: what the nodes see, by shared claim, where pods that name it are placed next.
        self._expected: Mapping[str, Seen] = {}
        #: On a fork: claims of pods that are gone there.
        self._vacated: Layered[str, Vacated] = Layered()

    def fork(self) -> Self:
        """A copy of one's own."""
        self._settle()
        made = super().fork()
        made._stale = {}  # noqa: SLF001  # one of our own
        made._expected = {}  # noqa: SLF001
        made._lasting = {}  # noqa: SLF001
        return made

    @property
    def _root(self) -> bool:
        """Whether it is the cluster's own, not a fork."""
        return self.touched is not None

    def _touch(self, pools: Iterable[PoolKey]) -> None:
        """Record that nodes' own devices in these pools have changed."""
        if self.touched is not None:
            for key in pools:
                pool = self._built.get(key)
                self.touched.note(pool.by_node if pool is not None else ())

    @property
    def _pools(self) -> Layered[PoolKey, Pool]:
        self._settle()
        return self._built

    @property
    def _by_node(self) -> Layered[str, tuple[PoolKey, ...]]:
        self._settle()
        return self._on_node

    @property
    def _spread(self) -> frozenset[PoolKey]:
        self._settle()
        return self._wide_pools

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def fact(self, kind: str, key: str) -> Fact | None:
        """The object of that kind and key; None = unknown."""
        if kind == ResourceSlice.kind:
            return self._slices.get(key)
        return self._classes.get(key) if kind == DeviceClass.kind else self._claims.get(key)

    def put(self, fact: Fact) -> Fact | None:
        """Add or update an object; returns the previous one."""
        self.version += 1
        if isinstance(fact, ResourceSlice):
            before = self._slices.set(fact.key, fact)
            self._rebuild(before, fact)
            return before
        if isinstance(fact, DeviceClass):
            known = self._classes.set(fact.key, fact)
            self._map_resources()
            return known
        return self._put_claim(fact.key, fact)

    def drop(self, kind: str, key: str) -> Fact | None:
        """Remove an object; returns it."""
        self.version += 1
        if kind == ResourceSlice.kind:
            before = self._slices.set(key, None)
            self._rebuild(before, None)
            return before
        if kind == DeviceClass.kind:
            known = self._classes.set(key, None)
            self._map_resources()
            return known
        return self._put_claim(key, None) if kind == ResourceClaim.kind else None

    def _map_resources(self) -> None:
        self._by_resource = classes_by_resource(each for _, each in self._classes.items())

    def _put_claim(self, key: str, claim: ResourceClaim | None) -> ResourceClaim | None:
        self._settle()  # who has what is counted as it was until now
        before = self._claims.set(key, claim)
        if before is not None and (claim is None or claim.uid != before.uid):
            self._release(key)  # it was decided for another claim of that name
        self._map_extended(key, before, claim)
        self._recount(key)
        for each in {each.extended_for: each for each in (before, claim) if each}.values():
            if each.extended_for:
                self._recount(meant(each.namespace, each.extended_for))
        return before

    def _map_extended(
        self, key: str, before: ResourceClaim | None, claim: ResourceClaim | None
    ) -> None:
        """Record which claim of the pod's own namespace was made for its extended resources.

        Any tenant can write the UID of another's pod into a claim.
        """
        for each, made in ((before, False), (claim, True)):
            if each is not None and each.extended_for:
                of = meant(each.namespace, each.extended_for)
                others = {*(self._made_for.get(of) or ())} - {key}
                self._made_for.set(of, tuple(sorted({*others, key} if made else others)) or None)

    def _made(self, of: str) -> str | None:
        """The key of the claim created for a key before creation; None = none is created yet."""
        made = self._made_for.get(of)
        return made[0] if made else None

    def _rebuild(self, before: ResourceSlice | None, after: ResourceSlice | None) -> None:
        for each, joins in ((before, False), (after, True)):
            if each is not None:
                key = (each.driver, each.pool)
                members = (self._members.get(key) or frozenset()) - {each.name}
                self._members.set(key, members | {each.name} if joins else members or None)
                self._stale[key] = None

    def _settle(self) -> None:
        """Rebuild the pools of which a slice has changed."""
        if self._stale:
            stale, self._stale = self._stale, {}
            for key in stale:
                self._rebuild_pool(key)

    def _rebuild_pool(self, key: PoolKey) -> None:
        members = self._members.get(key) or frozenset()
        slices = [each for each in map(self._slices.get, members) if each is not None]
        pool, old = (pool_of(key, slices) if slices else None), self._pools.get(key)
        self._pools.set(key, pool)
        self._cache.forget(old)
        was, now = set(old.by_node if old else ()), set(pool.by_node if pool else ())
        for node in was ^ now:
            others = tuple(each for each in self._by_node.get(node) or () if each != key)
            kept = tuple(sorted((*others, key))) if node in now else others
            self._by_node.set(node, kept or None)
        spread = pool is not None and pool.spread
        self._wide_pools = self._spread | {key} if spread else self._spread - {key}
        self._owners.recount(key, pool)
        if self.touched is not None:
            self.touched.note(was | now)

    def problems(self) -> dict[str, str]:
        """The problems of pools, by `driver/pool`."""
        found: dict[str, str] = {}
        for key, pool in self._pools.items():
            named = next((each for each in pool.twice if each), 0)
            twice = pool.devices[(named & -named).bit_length() - 1].name if named else ""
            incomplete = "" if pool.complete else "is currently being updated"
            problem = pool.invalid or incomplete or (twice and f"duplicate device name {twice}")
            if problem:
                found["/".join(key)] = problem
        return found

    # ── what is in use ───────────────────────────────────────────────────────────────────────

    def use(self, key: PoolKey) -> Use:
        """What of a pool is in use."""
        pool = self._pools.get(key)
        return self._owners.use(pool) if pool is not None else UNUSED

    def pool(self, key: PoolKey) -> Pool | None:
        """A pool; None = there is none of that name."""
        return self._pools.get(key)

    def allocation(self, key: str) -> Allocation | None:
        """The allocation of a claim, shown or decided; None = none."""
        shown = self._shown(key)
        if shown is not None:
            return shown
        held = self._held.get(key)
        return held.allocation if held is not None else None

    def users(self, key: str) -> Iterator[PodUID]:
        """The pods on nodes that use a claim."""
        return (uid for uid, _ in self._users.items(key))

    def _use(self, pod: Pod, key: str, sign: int) -> None:
        """Record that a pod on a node uses a claim (sign 1), or no longer does (-1)."""
        self._users.set(key, pod.uid, True if sign > 0 else None)
        consumer = key, consumer_of(pod)
        before = self._counting.get(consumer) or 0
        self._counting.set(consumer, before + sign or None)
        if not before or not before + sign:
            self._consumers.set(key, (self._consumers.get(key) or 0) + sign or None)

    def _shown(self, key: str) -> Allocation | None:
        """The allocation that the API shows for a claim, or for the claim created for this key."""
        claim = self._claims.get(self._made(key) or key if MEANT in key else key)
        return claim.allocation if claim is not None else None

    def _recount(self, key: str) -> None:
        """Recount the devices of a claim: those the API shows, and those held beyond that.

        Both count: an earlier plan may have written what is shown, and may still undo it.
        """
        shown, held = self._shown(key), self._held.get(key)
        results = shown.results if shown is not None else ()
        beyond: tuple[AllocatedDevice, ...] = ()
        if held is not None:
            known = set(map(identity, results))
            beyond = tuple(each for each in held.allocation.results if identity(each) not in known)
        if MEANT not in key:  # else the claim that was made has the rest
            beyond = (*results, *beyond)
        self._touch(self._owners.give(key, beyond, self._built.get))

    def _hold(self, key: str, held: HeldClaim) -> None:
        self._held.set(key, held)
        self._recount(key)
        if held.demand is not None:
            for node, _ in held.views:
                self._tried.set(node, (*(self._tried.get(node) or ()), key))

    def _release(self, key: str) -> None:
        held = self._held.set(key, None)
        if held is None:
            return
        self._recount(key)
        if held.demand is not None:
            for node, _ in held.views:
                left = tuple(each for each in self._tried.get(node) or () if each != key)
                self._tried.set(node, left or None)

    def _disputed(self, key: str, allocation: Allocation) -> str:
        """Why a claim with this allocation is of no use beside those of others; "" = it is."""
        for result in allocation.results:
            pool = self._pools.get((result.driver, result.pool))
            if pool is None or result.admin:
                continue
            named = pool.named.get(result.device, 0)
            if any(named >> position & 1 for position in self._owners.again(pool.key)):
                return twice(key, result)
            if self._owners.overdrawn(pool, result):
                return exceeded(key, result)
        return ""

    # ── what pods need ───────────────────────────────────────────────────────────────────────

    def named(self, pod: Pod) -> Collection[str]:
        """The keys of the claims that a pod names."""
        return claim_keys(pod)

    def concerns(self, pod: Pod) -> bool:
        """Whether the pod needs anything of this table."""
        return bool(pod.spec.resource_claims) or (
            bool(pod.spec.extended)
            and any(
                each.amount and each.resource in self._by_resource for each in pod.spec.extended
            )
        )

    def settled(self) -> NodeLog | None:
        """The log of touched nodes, after applying slices that have just changed."""
        self._settle()
        return self.touched

    def alike(self, pod: Pod) -> tuple[Hashable, ...] | None:
        """A value that is equal for pods which this table does not distinguish."""
        if not self.concerns(pod):
            return None
        own = self._own_extended(pod) if pod.spec.extended else None
        served = tuple(sorted(self._served(pod)))
        claims = enumerate(pod.resource_claims)
        return own and ByName(own), served, *(self._likeness(pod, at, name) for at, name in claims)

    def claims_of(self, pod: Pod) -> list[str]:
        """The claims that a pod names, and the one that was made for its extended resources."""
        own = self._own_extended(pod) if pod.spec.extended else None
        return [*claim_keys(pod), own] if own else [*claim_keys(pod)]

    def _own_extended(self, pod: Pod) -> str | None:
        """The claim that was made for a pod's extended resources."""
        return self._made(meant(pod.key.namespace, pod.uid))

    def shared(self, key: str) -> bool:
        """Whether several pods name a claim, so that they share what it gets."""
        return len(self._names.pods(key)) > 1

    def _names_alone(self, pod: Pod, key: str) -> bool:
        """Whether a pod is the only one that names a claim."""
        named = self._names.pods(key)
        return len(named) == 1 and pod.uid in named

    def _likeness(self, pod: Pod, position: int, name: str | None) -> Hashable:
        if not name:
            return name
        key = f"{pod.key.namespace}/{name}"
        claim = self._claims.get(key)
        problem = misfit(pod, position, name, claim)
        if claim is None:
            return False
        if problem or self.shared(key) or self.allocation(key) is not None:
            reserved = bool(claim.reserved_for) and claim.reserves(pod.uid, consumer_of(pod))
            return ByName(key, reserved)
        return claim.spec

    def asked(self, pod: Pod) -> DeviceNeeds:  # noqa: C901  # one step after the other
        """What a pod needs, given the current state of its claims."""
        if not self.concerns(pod):
            return NOTHING_ASKED
        refusal = unmade(pod)
        if len(pod.resource_claims) > _MOST_CLAIMS:
            count = len(pod.resource_claims)
            refusal = f"spec.resourceClaims: {count} claims; use at most {_MOST_CLAIMS}"
        if refusal:
            return DeviceNeeds(refusal)
        claims: list[str] = []
        demands: list[Demand] = []
        pins: list[Terms] = []
        joined: list[Joined] = []
        broken, score = False, 0
        for position, name in enumerate(pod.resource_claims):
            if name is None:
                continue
            key = f"{pod.key.namespace}/{name}"
            claim = self._claims.get(key)
            refusal = misfit(pod, position, name, claim)
            if refusal or claim is None:
                return DeviceNeeds(refusal)
            # The pod may have been placed: it stands for all alike pods, which lack their own
            # claims.
            own = claim.owner == pod.uid or self._names_alone(pod, key)
            allocation = claim.allocation if own else self.allocation(key)
            if allocation is not None:
                if self._full(pod, claim):
                    return DeviceNeeds(full(claim.key))
                given = claim.allocation
                refusal = self._disputed(claim.key, given) if given is not None else ""
                if refusal:
                    return DeviceNeeds(refusal)
                broken = broken or failed(claim)
                score += alternatives_score(claim.spec, allocation)
                held = self._held.get(key)
                if claim.allocation is None and held is not None and held.demand is not None:
                    joined.append(Joined(key, allocation, held.demand))
                elif allocation.terms is not None:
                    pins.append(allocation.terms)
                continue
            demand, refusal = self._demand(key, claim.spec)
            if refusal:
                return DeviceNeeds(refusal)
            claims.append(key)
            demands.append(demand)
        served = self._served(pod)
        made = self._own_extended(pod) if served else None
        stale = made is not None and pod.uid not in self._making
        allocation = self._claims_allocation(made) if not stale else None
        if allocation is not None:  # by the plan that is under way
            served = {}
            pins += [allocation.terms] if allocation.terms is not None else []
        return DeviceNeeds(
            "",
            tuple(claims),
            tuple(demands),
            tuple(pins),
            tuple(joined),
            broken,
            stale,
            served,
            score,
        )

    def specs(self, pods: Iterable[Pod]) -> int:
        """How many different specs the claims of these pods have."""
        keys = (f"{pod.key.namespace}/{name}" for pod in pods for name in pod.resource_claims)
        return len({claim.spec for claim in map(self._claims.get, keys) if claim is not None})

    def _claims_allocation(self, key: str | None) -> Allocation | None:
        claim = self._claims.get(key) if key is not None else None
        return None if claim is None else claim.allocation

    def _demand(self, key: str, spec: ClaimSpec) -> tuple[Demand, str]:
        demand = self._cache.demand(spec, self._classes.get)
        if not demand.problem:
            return demand, ""
        found = {ask.device_class: self._classes.get(ask.device_class) for ask in spec.asks}
        return demand, unclassed(spec, key, found) or told(demand.problem, key)

    def _full(self, pod: Pod, claim: ResourceClaim) -> bool:
        """Whether a claim has too many users for the pod, which stands for all alike pods."""
        consumers = self._consumers.get(claim.key) or 0
        if len(claim.reserved_for) + consumers < MOST_CONSUMERS:
            return False
        own = consumer_of(pod)
        if claim.reserves(pod.uid, own):
            return False
        if pod.pod_group and self._counting.get((claim.key, own)):
            return False
        others = (each.id for each in claim.reserved_for)
        return (
            consumers + sum(not self._counting.get((claim.key, each)) for each in others)
            >= MOST_CONSUMERS
        )

    def _served(self, pod: Pod) -> dict[str, DeviceClass]:
        found = {each.resource for each in pod.spec.extended if each.amount}
        return {name: self._by_resource[name] for name in found if name in self._by_resource}

    def extended(
        self, pod: Pod, served: Iterable[str]
    ) -> tuple[Demand, tuple[Request, ...], Mappings]:
        """The demand on devices for some of the extended resources of a pod."""
        classes = {name: self._by_resource[name] for name in served}
        requests, mappings = requests_for(pod.spec.extended, classes)
        return self._cache.demand(ClaimSpec(requests), self._classes.get), requests, mappings

    @property
    def served(self) -> frozenset[str]:
        """The resources that devices of some class serve on nodes that do not offer them."""
        return frozenset(self._by_resource)

    def served_by_devices(self, resource: str) -> bool:
        """Whether devices of some class serve a resource on nodes that do not offer it."""
        return resource in self._by_resource
