# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conduct: what nodes and kubelets do with pods, told to quarantine and trust.

::

    change of a pod ───┬─ refused by its kubelet ──► Trust.refused, of a gang: Quarantine.blame
                       ├─ runs, and is ours ───────► Trust.ran
                       └─ bound, and is not ours ──► Trust.taken
    change of a node ──── gone or NotReady ────────► Quarantine.blame, by each gang that holds it
"""

from collections.abc import Iterable
from typing import Final

from enbloc.engine.effects import Emit
from enbloc.engine.parts import Opinion
from enbloc.engine.quarantine import Lifted, Quarantine, blames, lost, of_the_node
from enbloc.engine.trust import STRANGERS_HALVE, Trust
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: Their pods belong to a node like its kubelet: every node has them.
_OF_EVERY_NODE: Final = frozenset({"DaemonSet", "Node"})


class Conduct:
    """Judges changes; times are server seconds.

    Attributes:
        quarantine: which nodes are barred, for whom.
        trust: a column of 0 to 100.
    """

    def __init__(self) -> None:
        self.quarantine = Quarantine()
        self.trust = Trust()

    def pod_changed(self, old: Pod | None, pod: Pod, *, ours: bool, now: float) -> list[Emit]:
        """A pod is shown by the API server.

        Args:
            old: as it was known before; None = it was not.
            pod: as it is.
            ours: it names one of our profiles.
            now: when that was.
        """
        if not pod.node:
            return []
        if not ours:
            if _newcomer(old, pod, now):
                self.trust.taken(pod.node, now)
            return []
        if old is None:
            return []
        if pod.running and not old.running and not old.finished and pod.scheduled_at is not None:
            self.trust.ran(pod.node, now - pod.scheduled_at, now)
        why = blames(old, pod)
        if not why:
            return []
        if of_the_node(why):
            self.trust.refused(pod.node, now)
        return self.quarantine.blame(pod.group, pod.node, why, now) if pod.group else []

    def node_changed(
        self, old: Node | None, node: Node | None, holders: Iterable[GroupKey], now: float
    ) -> list[Emit]:
        """A node is shown by the API server, or is gone.

        Args:
            old: as it was known before; None = it was not.
            node: as it is; None = it is gone.
            holders: the gangs with bound members of ours on it; read only where it matters.
            now: when that was.
        """
        why = lost(old, node)
        if not why or old is None:
            return []
        if node is None:
            self.trust.forget(old.name)
        return [
            event for group in holders for event in self.quarantine.blame(group, old.name, why, now)
        ]

    def opinions(self, facts: GroupFacts, nodes: Nodes, now: float) -> list[Opinion]:
        """What counts for one decision about this group, on this very table; it does not change."""
        barred = self.quarantine.opinions(facts, nodes, now)
        return barred + self.trust.opinions(facts, nodes, now)

    def deadline(self) -> float | None:
        """When `expire` should be called next; None = there is nothing to wait for."""
        return self.quarantine.deadline()

    def expire(self, now: float) -> tuple[list[Lifted], list[Emit]]:
        """End the quarantines whose time is over."""
        return self.quarantine.expire(now)

    def forget_group(self, key: GroupKey) -> None:
        """A group is gone."""
        self.quarantine.forget_group(key)


def _newcomer(old: Pod | None, pod: Pod, now: float) -> bool:
    """Whether a stranger came to its node just now, rather than being listed there."""
    if (old is not None and old.node) or pod.finished:
        return False
    if pod.owner is not None and pod.owner.kind in _OF_EVERY_NODE:
        return False
    since = pod.created if pod.scheduled_at is None else pod.scheduled_at
    return now - since < STRANGERS_HALVE
