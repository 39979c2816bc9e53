# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Roaming: what a claim that members of a gang share on several nodes could still get.

The first member that is placed decides what it gets. While more are placed, that is revised if they
do not reach it, as long as there is something that all of them reach.
"""

from typing import NamedTuple

import numpy as np

from enbloc.model.nodes import Mask, Nodes
from enbloc.storage.available import Bits
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.storage.holdings import Common, Holdings
from enbloc.storage.known import KnownObjects
from enbloc.storage.topologies import of_topologies


class ClaimChoice(NamedTuple):
    """What a claim gets.

    Attributes:
        volume: the place of an existing volume in its class; None = one is provisioned.
        segment: the key of the segment that a new volume uses; "" = none that is counted.
        candidates: all volumes that it could get.
    """

    volume: int | None
    segment: str = ""
    candidates: Bits = 0


def common_of(known: KnownObjects, claim: PersistentVolumeClaim, row: int, nodes: Nodes) -> Common:
    """What a user of a claim reaches on a row."""
    name = claim.storage_class
    available, made_by, segments = known.available(name), known.classes.get(name), None
    reached = available.reached(int(available.signatures(nodes).codes[row]))
    made = made_by is not None and made_by.provisions
    if made_by is not None and made:
        made = bool(known.mask(of_topologies(made_by.topologies), nodes)[row])
        published = known.segments(name)
        if published is not None and claim.request is not None:
            segments = published.reach(nodes)[:, row]
    return Common(reached, made, segments)


class Roaming:
    """What one claim could get that all its users reach.

    Args:
        known: the storage objects.
        holdings: what is held; what the claim itself has of it counts as free.
        claim: the claim.
        common: what all its users reach.
        nodes: the rows.
    """

    def __init__(
        self,
        known: KnownObjects,
        holdings: Holdings,
        claim: PersistentVolumeClaim,
        common: Common,
        nodes: Nodes,
    ) -> None:
        name, self._nodes, self._size = claim.storage_class, nodes, claim.size
        held = holdings.claims.get(claim.key)
        self._available = known.available(name)
        free = self._available.everything & ~holdings.taken(name)
        own = self._available.places.get(held.volume) if held is not None else None
        #: The volume that it has, and all that it could get.
        self._own: Bits = 0 if own is None else 1 << own
        choice = self._available.choice(claim, known.sort_of_claim(claim))
        self._volumes = choice.at(common.volumes, free | self._own)
        #: bool[N]: where new volumes may be provisioned; None = not for these users.
        self._topology: Mask | None = None
        self._segments = None
        made_by, segments = known.classes.get(name), known.segments(name)
        if made_by is None or not common.made:
            return
        self._topology = known.mask(of_topologies(made_by.topologies), nodes)
        if segments is None or common.segments is None:
            return
        self._segments, self._common = segments, common.segments
        self._charged = holdings.charged(name, segments)
        charge = holdings.charges.get(claim.key)
        place = segments.places.get(charge.segment) if charge is not None else None
        if charge is not None and place is not None:
            self._charged = self._charged.copy()
            self._charged[place] -= charge.size

    def reach(self) -> Mask:
        """bool[N]: the nodes that reach anything of it."""
        signatures = self._available.signatures(self._nodes)
        found: Mask = np.zeros(len(self._nodes), np.bool_)
        for group in self._available.groups_of(self._volumes):
            found |= signatures.matrix[group].take(signatures.codes)
        if self._topology is None:
            return found
        if self._segments is None:
            return found | self._topology
        usable = self._common & self._segments.enough(self._size, self._charged)
        for place in np.flatnonzero(usable).tolist():
            found |= self._segments.reach(self._nodes)[place] & self._topology
        return found

    def chosen(self) -> ClaimChoice | None:
        """The volume that it has, the smallest one, or else a new one; None = there is nothing."""
        if self._volumes:
            lowest = self._own & self._volumes or self._volumes & -self._volumes
            return ClaimChoice(lowest.bit_length() - 1, candidates=self._volumes)
        if self._topology is None:
            return None
        if self._segments is None:
            return ClaimChoice(None)
        place = self._segments.chosen(self._size, self._charged, self._common)
        return None if place is None else ClaimChoice(None, self._segments.facts[place].key)
