# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Seats: pods on nodes, and what is held for the claims that they use there."""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from enbloc.devices.demand import Demand
from enbloc.devices.extended import Mappings, meant
from enbloc.devices.facts import Allocation, Request, ResourceClaim
from enbloc.devices.pools import PoolKey, Reach
from enbloc.devices.search import PoolOnNode
from enbloc.model.pods import Pod, PodUID

Seen = tuple[tuple[PoolKey, Reach], ...]


class HeldClaim(NamedTuple):
    """The decision for a claim.

    Attributes:
        demand: what it requests; None = it was decided earlier, and cannot change.
        views: the nodes of the pods that use it, and what each of them sees.
    """

    allocation: Allocation
    demand: Demand | None = None
    views: tuple[tuple[str, Seen], ...] = ()

    @property
    def seen(self) -> Seen:
        """What all of these nodes see."""
        return in_common(seen for _, seen in self.views)

    def used_on(self, node: str, places: Iterable[PoolOnNode]) -> "HeldClaim":
        """The claim, used on that node too."""
        if any(known == node for known, _ in self.views):
            return self
        return self._replace(views=(*self.views, (node, seen_in(places))))


class Vacated(NamedTuple):
    """A claim as the API shows it, on a fork where pods that it is reserved for are gone."""

    claim: ResourceClaim
    gone: frozenset[PodUID]


class DeviceSeat(NamedTuple):
    """A pod on a node, and the claims that it uses there.

    Attributes:
        lacking: the claims for which there are no devices.
        create: the requests of the last claim, if it must be created for extended resources.
    """

    pod: Pod
    node: str
    claims: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    create: tuple[Request, ...] = ()
    mappings: Mappings = ()

    @property
    def meant(self) -> str:
        """The key of the claim to be created for the pod's extended resources."""
        return meant(self.pod.key.namespace, self.pod.uid)


def seen_in(places: Iterable[PoolOnNode]) -> Seen:
    """What a node sees through these places."""
    return tuple((place.pool.key, place.reach) for place in places)


def in_common(views: Iterable[Seen]) -> Seen:
    """What several nodes all see; nothing if there are none."""
    found = list(views)
    return reduce(_common, found) if found else ()


def _common(one: Seen, other: Seen) -> Seen:
    """What two nodes both see."""
    reaches = dict(other)
    return tuple(
        (key, Reach(reach.devices & reaches[key].devices, reach.listed | reaches[key].listed))
        for key, reach in one
        if key in reaches
    )
