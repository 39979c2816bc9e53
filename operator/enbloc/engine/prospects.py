# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Prospects: which groups that found no room would find none now either, by adding up alone.

When one of eight members of a gang ends, every waiting gang of eight could use its room, and none
would find enough. To try them all would be futile, and those tried in vain would stand back
behind others (a pause follows every failure), though they came first. So an attempt that failed
leaves here what it needs of each resource on which nodes, and an event is let through only when
adding up says that there might be enough.

Nothing is lost by that: a placement needs certain nodes; of the events at these nodes the last
finds the room of all of them there, and so is let through.
"""

from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

from enbloc.engine.search_counts import shortage
from enbloc.engine.search_model import Packing
from enbloc.engine.state import ClusterState
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Amounts


@dataclass(slots=True, weakref_slot=True, eq=False)
class Want:
    """What groups of one shape need, each of them, on nodes that are otherwise empty.

    Attributes:
        packing: the shape; whose members they are does not matter here.
        looked_at: the version of the table when it was added up last.
        short: what came out then.
    """

    packing: Packing
    looked_at: object = None
    short: bool = False


class Prospects:
    """What each group lacked when it was tried last.

    Args:
        state: the cluster.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._of: dict[GroupKey, tuple[object, Want]] = {}
        self._wants: WeakValueDictionary[bytes, Want] = WeakValueDictionary()

    def want(self, packing: Packing) -> Want:
        """What groups of this shape need; the same object for all of them."""
        shape = packing.shape
        found = self._wants.get(shape)
        if found is None:
            found = self._wants[shape] = Want(packing)
        return found

    def note(self, group: GroupKey, epoch: object, want: Want) -> None:
        """A group was tried, and no placement was found.

        Args:
            group: its key.
            epoch: differs whenever what plugins see has changed other than by pods.
            want: what it needs.
        """
        self._of[group] = epoch, want

    def forget(self, group: GroupKey) -> None:
        """The group is another than it was, or is gone."""
        self._of.pop(group, None)

    def none(self, group: GroupKey) -> bool:
        """Whether adding up shows that there is no room for the group now."""
        epoch, want = self._of.get(group, (None, None))
        if want is None or epoch != self._state.epoch:
            return False
        version = (epoch, self._state.nodes.placed_version)
        if want.looked_at != version:
            want.looked_at = version
            want.short = shortage(want.packing.within(self._rooms(want.packing))) is not None
        return want.short

    def _rooms(self, packing: Packing) -> Amounts:
        """int64[R, M]: what is free now, with what counts for some groups only."""
        nodes = self._state.nodes
        names = tuple(name for name, _ in packing.resources)
        if not names:
            return np.zeros((0, len(packing.rows)), np.int64)
        free = nodes.frees(names).copy()
        for shadow in self._state.shadows:
            row = nodes.row(shadow.node)
            if row is not None:
                requests = dict(shadow.pod.spec.requests)
                free[:, row] += [requests.get(name, 0) for name in names]
        return free[:, packing.rows]
