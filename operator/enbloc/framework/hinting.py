# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the hints of several plugins have in common."""

from collections.abc import Iterable
from functools import lru_cache

from enbloc.framework.decide import Filter
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Happening, Hint
from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.resources import ResourceSpace


@lru_cache(maxsize=64)
def alone(node: Node) -> Nodes:
    """A table with this node only, and no pod on it."""
    table = Nodes(ResourceSpace(), Ledgers())
    table.put(node)
    return table.snapshot()


def classes(facts: GroupFacts) -> Iterable[Pod]:
    """One pending pod of each class in the group."""
    return {id(pod.spec): pod for pod in facts.pending}.values()


def is_own(event: Happening, facts: GroupFacts) -> bool:
    """Whether the event is about one of the group's pending pods."""
    changed = event.pod
    return changed is not None and any(pod.uid == changed.uid for pod in facts.pending)


def newly_passes(event: Happening, facts: GroupFacts, asked: Filter) -> Hint:
    """QUEUE if the event's node fits a pending pod, and is new or did not fit before."""
    assert event.node is not None, "an event of a node carries the node"
    new, old = alone(event.node), alone(event.old_node) if event.old_node else None
    for pod in classes(facts):
        if asked.filter(pod, new)[0] and (old is None or not asked.filter(pod, old)[0]):
            return Hint.QUEUE
    return Hint.SKIP
