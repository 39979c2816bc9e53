# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slips in topology: which domain, who follows whom, who keeps away from whom."""

from typing import Final

from hack.faults_of_gangs import Fault

TOPOLOGY: Final = (
    Fault(
        "topology-path-is-value",
        "        path = above[inside] * nodes.domain_count(label) + own[inside]",
        "        path = own[inside]",
    ),
    Fault(
        "topology-outside-of-outer-level",
        "        inside = np.flatnonzero((own > 0) & (above >= 0))",
        "        inside = np.flatnonzero(own > 0)",
    ),
    Fault(
        "topology-others-anywhere",
        "            if own is not None:\n                mask = mask & own",
        "            if own is not None and not known:\n                mask = mask & own",
    ),
    Fault(
        "topology-held-members-forgotten",
        "            enough &= np.isin(above, sorted(self.pinned))",
        "            pass",
    ),
    Fault(
        "topology-largest-room-first",
        "        keys.append(level.sums(self.room.beyond))",
        "        keys.append(-level.sums(self.room.beyond))",
    ),
    Fault(
        "topology-outermost-level-first",
        "        for level in range(innermost, outermost - 1, -1):",
        "        for level in range(outermost, innermost + 1):",
    ),
    Fault(
        "topology-last-look-blind",
        "        if in_several_domains(open_plan.facts.locality, placed, nodes):",
        "        if False:",
    ),
    Fault(
        "topology-parts-share-a-region",
        "        tried = trial.fork()  # without what holds for that part alone",
        "        tried = floor.trial.fork()",
    ),
    Fault(
        "topology-parts-not-placed-first",
        "            tried.add_all(placed)\n        rest = _less(facts, placed)",
        "            placed = []\n        rest = _less(facts, placed)",
    ),
    Fault(
        "topology-apart-counts-itself",
        "        if other == key.podgroup:",
        "        if other == key:",
    ),
    Fault(
        "topology-apart-one-too-many",
        "    return counts >= rule.most",
        "    return counts > rule.most",
    ),
    Fault(
        "topology-change-unheard",
        "        for key in self._groups.in_topology():",
        "        for key in ():",
    ),
    Fault(
        "topology-ranks-at-random",
        "        pods = sorted((placed[at][0] for at in places), key=_turn)",
        "        pods = [placed[at][0] for at in places]",
    ),
    Fault(
        "topology-preempts-anywhere",
        "        if required is not None:\n            yield required",
        "        if required is None:\n            yield required",
    ),
)
