# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Apart: the domains with so many other groups that a group keeps away from them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine.plan import GANG_PLUGIN
from enbloc.engine.state import ClusterState, Groups
from enbloc.engine.topology.regions import held_rows
from enbloc.engine.topology.tree import DomainLevel, Numbers, domains_of
from enbloc.engine.trial import Opinion, Trial, preferring
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.selectors import Labels
from enbloc.model.text import several

#: The most groups named of those to keep away from.
_MOST_NAMED: Final = 3


class Others(NamedTuple):
    """Members of other groups.

    Attributes:
        rows: int64[M], where they are.
        owners: int64[M], the group of each.
        names: of these groups, by number.
    """

    rows: Numbers
    owners: Numbers
    names: Sequence[str]


def opinions_apart(
    facts: GroupFacts, groups: Groups, state: ClusterState, nodes: Nodes
) -> Sequence[Opinion]:
    """Return what a group's anti-affinity to other groups says of each node now.

    Args:
        facts: the group.
        groups: the members of all groups.
        state: where these are, and where plans put them.
        nodes: the node table.
    """
    found: list[Opinion] = []
    if facts.locality is None:
        return found
    others: dict[Labels, Others] = {}
    for rule, labels in facts.locality.apart:
        if rule.labels not in others:
            others[rule.labels] = _others(rule.labels, facts.key, groups, state, nodes)
        level = domains_of(nodes, labels).levels[-1]
        own = level.codes[np.array(held_rows(facts.locality, nodes), np.int64)]
        full, there = _full(rule.most, level, others[rule.labels], own[own >= 0])
        # A node in no domain may be near any group.
        mask = level.codes >= 0
        mask[mask] = ~full[level.codes[mask]]
        scores = np.zeros(len(nodes), np.int64)
        if rule.required:
            reason = f"node(s) were in no {rule.level} apart from {_words(there)}"
            found.append(preferring(GANG_PLUGIN, scores, mask, reason))
        else:
            scores[mask] = MAX_NODE_SCORE
            found.append(preferring(GANG_PLUGIN, scores))
    return found


def _others(
    labels: Labels, key: GroupKey, groups: Groups, state: ClusterState, nodes: Nodes
) -> Others:
    """Return the members of other groups with some labels that have a row.

    Runs without any placed member, of which there may be thousands, cost next to nothing.
    """
    rows: list[int] = []
    owners: list[int] = []
    names: list[str] = []
    for other in groups.labelled(key.namespace, labels):
        if other == key.podgroup:
            continue
        names.append(other.name)
        for run in groups.runs(other):
            for uid in () if run.gathers else run.live:
                seat = state.seat(uid)
                row = None if seat is None else nodes.row(seat.node)
                if row is not None:
                    rows.append(row)
                    owners.append(len(names) - 1)
    return Others(np.array(rows, np.int64), np.array(owners, np.int64), names)


def _full(
    most: int, level: DomainLevel, others: Others, own: Numbers
) -> tuple[Mask, Sequence[str]]:
    """Return bool[D]: the domains with as many other groups as are allowed; and these groups.

    Without the domains where the group already is (`own`): another member adds no group there.
    """
    codes = level.codes[others.rows]
    inside = codes >= 0
    pairs = np.unique(np.stack((codes[inside], others.owners[inside])), axis=1)
    full = np.bincount(pairs[0], minlength=level.count) >= most
    full[own] = False
    there: list[int] = np.unique(pairs[1][full[pairs[0]]]).tolist()
    return full, [others.names[number] for number in there]


def _words(others: Sequence[str]) -> str:
    """Return a few groups by name."""
    return several(sorted(others), _MOST_NAMED) if others else "other groups"


def worse_rows(trial: Trial) -> Mask | None:
    """Return bool[N]: rows that others are preferred to for the gang; None = none are.

    They are near groups from which it should be apart, or (`regions.inside`) not near the members
    that it has.
    """
    found: Mask | None = None
    for name, view, _ in trial.opinions:
        if name == GANG_PLUGIN and view.scores.any():
            worse = view.scores < MAX_NODE_SCORE
            found = worse if found is None else found | worse
    return found
