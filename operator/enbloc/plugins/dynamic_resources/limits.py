# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Upper bounds for pods by devices: per node, and for pools that several nodes see."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.devices.demand import Demand
from enbloc.devices.pools import PoolKey
from enbloc.devices.search import PoolOnNode
from enbloc.devices.views import signature
from enbloc.framework.searching import MOST_TOGETHER, OneDomain, SharedCapacity, numberings
from enbloc.ledgers import ledgers_of
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

UNLIMITED: Final = 2**31 - 1


def most_pods(demands: Sequence[Demand], nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
    """int64[N]: an upper bound for pods with these demands on each row.

    Args:
        demands: the demands of the claims that each pod has for itself.
        nodes: as they are.
        ever: devices that are in use count as free.
    """
    devices, names = ledgers_of(nodes).devices, nodes.names
    most = np.full(len(nodes), UNLIMITED, np.int64)
    counted = Counter(each for each in demands if each.exclusive)
    if not counted:
        return most
    spread = devices.spread(nodes)
    for row, name in enumerate(names):
        if devices.spent:
            break
        places = devices.lasting(devices.places(name, spread))
        for demand, times in counted.items():
            found = sum(_left(demand, place, ever=ever) for place in places)
            most[row] = min(most[row], found // (times * sum(demand.least)))
    return most


def likeness(pods: Sequence[Pod], nodes: Nodes) -> npt.NDArray[np.int64]:
    """int64[N]: rows with equal numbers see devices that are equivalent for these pods.

    Pods with a single claim for a number of devices of one kind need only be counted, unless others
    may exchange theirs.

    Args:
        pods: one of each class.
        nodes: as they are.
    """
    devices, names = ledgers_of(nodes).devices, nodes.names
    found = np.zeros(len(nodes), np.int64)
    asked = [devices.asked(pod).demands for pod in pods]
    demands = list(dict.fromkeys(each for of_pod in asked for each in of_pod))
    one = len(demands) == 1 and demands[0].plain and max(map(len, asked)) == 1
    if not demands or (one and not devices.revisable):
        return found
    spread = devices.spread(nodes)
    numbers: dict[Hashable, int] = {}
    for rows in spread.groups(names, devices.has_own):
        if devices.spent:
            break
        places = devices.places(names[int(rows[0])], spread)
        exchanging = (devices.exchanging(place.pool) for place in places)
        said = signature(demands, places), tuple(filter(None, exchanging))
        found[rows] = numbers.setdefault(said, len(numbers) + 1)
    return found


def _left(demand: Demand, place: PoolOnNode, *, ever: bool) -> int:
    """How many devices of a pool the demand can have, by cheap checks."""
    pool, reach, use = place
    if not pool.complete or place.broken:
        return 0
    lens, bits = demand.lens(pool), 0
    if lens.unseen:
        return UNLIMITED
    for usable in lens.usable:
        bits |= usable
    bits &= reach.devices
    if bits & pool.shared:
        return UNLIMITED
    return (bits if ever else bits & ~use.taken).bit_count()


def nodes_of_devices(pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> list[OneDomain]:
    """The sets of nodes that reach a device which a claim of several pods can get.

    Without those of single nodes.

    Args:
        pods: one of each class.
        nodes: as they are.
        ever: devices that are in use count as free.
    """
    devices = ledgers_of(nodes).devices
    users: dict[tuple[str, Demand], Mask] = {}
    for at, pod in enumerate(pods):
        asked = devices.asked(pod)
        for claim in zip(asked.claims, asked.demands, strict=False) if not asked.refusal else ():
            if devices.shared(claim[0]):
                users.setdefault(claim, np.zeros(len(pods), np.bool_))[at] = True
    if not users:
        return []
    found: list[OneDomain] = []
    numbered: dict[Demand, tuple[Sequence[npt.NDArray[np.int64]], bool]] = {}
    for (key, demand), those in islice(users.items(), MOST_TOGETHER):
        if demand not in numbered:
            numbered[demand] = numberings(_reaching(demand, nodes, ever=ever), len(nodes))
        each_domains, complete = numbered[demand]
        name = f"nodes that reach one device for ResourceClaim {key.partition('/')[2]}"
        name = name if complete and not devices.spent else ""
        found += (OneDomain(those, domains, name) for domains in each_domains)
    return found


def _reaching(demand: Demand, nodes: Nodes, *, ever: bool) -> Iterator[Mask]:
    """Yield bool[N]: the nodes that reach some device which the demand can have."""
    devices = ledgers_of(nodes).devices
    for pool, reach, rows in devices.spread(nodes).selections(nodes.names):
        if devices.spent:
            break
        if pool.complete and not pool.invalid:
            taken = 0 if ever else devices.lasting_use(pool).taken & ~pool.shared
            for want, bits in zip(demand.wants, demand.lens(pool).usable, strict=True):
                if bits & reach.devices & (-1 if want.ask.admin else ~taken):
                    yield rows
                    break


def shared_pools(pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> list[SharedCapacity]:
    """The pools that some of these pods must use, since the rows that see them have nothing else.

    Args:
        pods: one of each class.
        nodes: as they are.
        ever: devices that are in use count as free.
    """
    devices = ledgers_of(nodes).devices
    demands = [_own(pod, nodes) for pod in pods]
    if not devices.may_share([each for each in demands if each is not None]):
        return []
    spread = devices.spread(nodes)
    rows: dict[PoolKey, npt.NDArray[np.bool_]] = {}
    amounts: dict[PoolKey, list[bool]] = {}
    sample: dict[PoolKey, PoolOnNode] = {}
    for row, name in enumerate(nodes.names):
        places = devices.lasting(devices.places(name, spread))
        served = [[_gives(demand, place) for place in places] for demand in demands]
        for at, place in enumerate(places):
            key = place.pool.key
            if not devices.is_spread(key) or not any(gives[at] for gives in served):
                continue
            # Pods that can use another pool on this row need not use this one.
            only = [gives[at] and sum(gives) == 1 for gives in served]
            known = amounts.setdefault(key, [True] * len(pods))
            amounts[key] = [was and now for was, now in zip(known, only, strict=True)]
            rows.setdefault(key, np.zeros(len(nodes), np.bool_))[row] = True
            seen = sample.setdefault(key, place)
            sample[key] = seen._replace(reach=seen.reach | place.reach)
    found: list[SharedCapacity] = []
    for key, bound in amounts.items():
        takes = np.array(
            [
                demand.least[0] if demand is not None and only else 0
                for demand, only in zip(demands, bound, strict=True)
            ],
            np.int64,
        )
        free = [
            _left(demand, sample[key], ever=ever)
            for demand, only in zip(demands, bound, strict=True)
            if demand is not None and only
        ]
        if free and max(free) < UNLIMITED:
            most = _together(demands, bound, sample[key], ever=ever)
            found.append(
                SharedCapacity(rows[key], takes, most, "devices", f"of pool {'/'.join(key)}")
            )
    return found


def _together(
    demands: Sequence[Demand | None], bound: Sequence[bool], place: PoolOnNode, *, ever: bool
) -> int:
    """How many devices of a pool any of these demands can have."""
    bits = 0
    for demand, only in zip(demands, bound, strict=True):
        if demand is not None and only:
            bits |= demand.lens(place.pool).usable[0]
    bits &= place.reach.devices
    return (bits if ever else bits & ~place.use.taken).bit_count()


def _own(pod: Pod, nodes: Nodes) -> Demand | None:
    """The demand of a pod's only claim, if it requests just a number of devices."""
    asked = ledgers_of(nodes).devices.asked(pod)
    named = [each for each in pod.spec.resource_claims if not each.template]
    if named or asked.refusal or len(asked.demands) != 1 or asked.served:
        return None
    demand = asked.demands[0]
    return demand if demand.plain and demand.exclusive else None


def _gives(demand: Demand | None, place: PoolOnNode) -> bool:
    return demand is not None and _left(demand, place, ever=True) > 0
