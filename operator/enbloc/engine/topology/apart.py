# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Apart: the domains that hold so many other groups that a group keeps away from them."""

from collections.abc import Sequence

import numpy as np

from enbloc.engine.plan import GANG_PLUGIN
from enbloc.engine.state import ClusterState, Groups
from enbloc.engine.topology.regions import held_rows
from enbloc.engine.topology.tree import DomainLevel, domains_of
from enbloc.engine.trial import Opinion, Trial, preferring
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.topology import Apart


def opinions_apart(
    facts: GroupFacts, groups: Groups, state: ClusterState, nodes: Nodes
) -> Sequence[Opinion]:
    """What a group's wish to keep away from others says of each node, as they are now.

    Args:
        facts: the group.
        groups: the members of all of them.
        state: where these are, and where plans put them.
        nodes: the node table.
    """
    found: list[Opinion] = []
    if facts.locality is None:
        return found
    for rule, labels in facts.locality.apart:
        level = domains_of(nodes, labels).levels[-1]
        full = _full(rule, level, facts.key, groups, state, nodes)
        # Where it is itself, one more member of it brings no group more.
        own = level.codes[np.array(held_rows(facts.locality, nodes), np.int64)]
        full[own[own >= 0]] = False
        # A node in no domain may be near anybody.
        mask = level.codes >= 0
        mask[mask] = ~full[level.codes[mask]]
        scores = np.zeros(len(nodes), np.int64)
        if rule.required:
            reason = f"node(s) were not in a {rule.level} apart from other groups"
            found.append(preferring(GANG_PLUGIN, scores, mask, reason))
        else:
            scores[mask] = MAX_NODE_SCORE
            found.append(preferring(GANG_PLUGIN, scores))
    return found


def _full(
    rule: Apart,
    level: DomainLevel,
    key: GroupKey,
    groups: Groups,
    state: ClusterState,
    nodes: Nodes,
) -> Mask:
    """bool[D]: the domains that hold as many other groups as may be there."""
    counts = np.zeros(level.count, np.int64)
    for other in groups.labelled(key.namespace, rule.labels):
        if other == key.podgroup:
            continue
        seats = (state.seat(uid) for life in groups.lives(other) for uid in life.live)
        rows = [
            row for seat in seats if seat is not None and (row := nodes.row(seat.node)) is not None
        ]
        codes = np.unique(level.codes[np.array(rows, np.int64)])
        counts[codes[codes >= 0]] += 1
    return counts >= rule.most


def too_near(trial: Trial) -> Mask | None:
    """bool[N]: nodes that are near groups from which it had better be apart; None = none are."""
    found: Mask | None = None
    for name, view, _ in trial.opinions:
        if name == GANG_PLUGIN and view.scores.any():
            near = view.scores < MAX_NODE_SCORE
            found = near if found is None else found | near
    return found
