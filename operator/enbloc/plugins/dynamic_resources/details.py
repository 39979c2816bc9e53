# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Details: how many devices a refused pod's claims request, and how many the best node has."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from enbloc.devices.demand import Demand, DeviceWant
from enbloc.devices.search import PoolOnNode
from enbloc.ledgers import ledgers_of
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: How many claims of one pod are examined, and how many are reported.
_MOST_CLAIMS: Final = 16
_MOST_TOLD: Final = 3


class _Best(NamedTuple):
    """What nodes have for one request; each number is the highest of any node.

    Attributes:
        matching: devices that its class and selectors select.
        free: those of them that are not in use.
    """

    matching: int
    free: int


def devices_detail(pod: Pod, nodes: Nodes) -> str:
    """What each unallocated claim of a pod requests, if nodes have too little.

    If each of them alone could be served, the first is reported.
    """
    devices = ledgers_of(nodes).devices
    asked = devices.asked(pod)
    if asked.refusal or not asked.demands:
        return ""
    spread = devices.spread(nodes)
    seen: list[tuple[PoolOnNode, ...]] = []
    for rows in spread.groups(nodes.names, devices.has_own):
        if devices.spent:
            return ""
        seen.append(devices.places(nodes.names[int(rows[0])], spread))
    claims = islice(zip(asked.claims, asked.demands, strict=False), _MOST_CLAIMS)
    told = [
        (f"ResourceClaim {key.partition('/')[2]} {text}.", short)
        for key, demand in claims
        for text, short in _told(demand, seen)
    ]
    said = [text for text, short in told if short] or [text for text, _ in told[:1]]
    return " ".join(said[:_MOST_TOLD])


def _told(demand: Demand, seen: Sequence[Sequence[PoolOnNode]]) -> Iterator[tuple[str, bool]]:
    """Each request in words, and whether no node has enough; and unsatisfiable constraints."""
    for alternatives, least in zip(demand.requests, demand.least, strict=True):
        bests = [_best(demand, want, seen) for want in alternatives]
        short = all(
            best.free < want.ask.count or (want.all and not best.matching)
            for best, want in zip(bests, alternatives, strict=True)
        )
        yield _request(alternatives[0], len(alternatives), least, bests[0]), short
    matched = [
        lens
        for pool in {place.pool.key: place.pool for places in seen for place in places}.values()
        if any((lens := demand.lens(pool)).matched)
    ]
    for at, constraint in enumerate(demand.spec.constraints):
        if matched and all(lens.values[at].none for lens in matched):
            kind = "distinctAttribute" if constraint.distinct else "matchAttribute"
            text = f"has constraint {kind} {constraint.attribute}"
            yield f"{text}, an attribute that no matching device has", True


def _request(want: DeviceWant, alternatives: int, least: int, best: _Best) -> str:
    number = "all devices" if want.all else f"{least} device{'s' if least != 1 else ''}"
    text = f"needs {number} of DeviceClass {want.device_class.name} (request {want.request}"
    text += f", with {alternatives} alternatives)" if alternatives > 1 else ")"
    if not best.matching:
        return f"{text}; no node has any that its selectors match"
    return f"{text}; at most {best.matching} on one node match, and at most {best.free} are free"


def _best(demand: Demand, want: DeviceWant, seen: Iterable[Sequence[PoolOnNode]]) -> _Best:
    """The most that any node has for a request, or an alternative of one."""
    matching = free = 0
    for places in seen:
        here = [_count(demand, want, place) for place in places]
        matching = max(matching, sum(each.matching for each in here))
        free = max(free, sum(each.free for each in here))
    return _Best(matching, free)


def _count(demand: Demand, want: DeviceWant, place: PoolOnNode) -> _Best:
    pool, reach, use = place
    if not pool.complete or place.broken:
        return _Best(0, 0)
    lens = demand.lens(pool)
    usable = lens.usable[want.number] & reach.devices
    left = usable & (pool.shared | ~use.taken)
    matched = lens.matched[want.number] & reach.devices
    return _Best(matched.bit_count(), left.bit_count())
