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
        "            mask = mask & (codes >= 0 if own is None else own)",
        "            mask = mask & (codes >= 0)",
    ),
    Fault(
        "topology-held-members-forgotten",
        "            enough &= np.isin(above, sorted(self.pinned))",
        "            pass",
    ),
    Fault(
        "topology-largest-room-first",
        "        keys.append(self.room.beyond_of(level))",
        "        keys.append(-self.room.beyond_of(level))",
    ),
    Fault(
        "topology-outermost-level-first",
        "            level = outer.pop(0)",
        "            level = outer.pop()",
    ),
    Fault(
        "topology-last-look-blind",
        "        if open_plan.misplaced(nodes):",
        "        if False:",
    ),
    Fault(
        "topology-parts-share-a-region",
        "            return self._each_part(facts, parts, others, needed, trial)",
        "            return self._each_part(facts, parts, others, needed, floor.trial)",
    ),
    Fault(
        "topology-parts-not-placed-first",
        "            needed = [*placed, *floor.outcome.needed]",
        "            needed = [*floor.outcome.needed]",
    ),
    Fault(
        "topology-parts-not-revised",
        "        return _first(map(with_next, self._floors(own, part, tried, later=later)))",
        "        return with_next(next(self._floors(own, part, tried)))",
    ),
    Fault(
        "topology-more-of-one-part-alone",
        "        for extra in (_largest_first(lacking, spare), _in_turn(lacking, spare)):",
        "        for extra in (_largest_first(lacking, spare),):",
    ),
    Fault(
        "topology-sums-of-slots-not-kept",
        "            np.add.at(sums, bins[rows], more)",
        "            pass",
    ),
    Fault(
        "topology-slots-of-refused-rows",
        "        found[~mask] = 0",
        "        pass",
    ),
    Fault(
        "topology-slices-close-up",
        "            if len(outcome.placed) < len(placed) + len(these):",
        "            if False:",
    ),
    Fault(
        "topology-slices-take-no-room",
        "        np.subtract.at(self._slots, seats, 1)  # a lower bound of what they take",
        "        pass",
    ),
    Fault(
        "topology-slices-moved-unseen",
        "    for size, place in locality.levels.slices:\n        rows = _by_slice",
        "    for size, place in ():\n        rows = _by_slice",
    ),
    Fault(
        "topology-role-that-comes-is-not-cut",
        "        if facts.coming and (locality.levels.slices or not region.pinned):",
        "        if False:",
    ),
    Fault(
        "topology-apart-counts-itself",
        "        if other == key.podgroup:",
        "        if other == key:",
    ),
    Fault(
        "topology-forgets-who-is-not-needed",
        "            keys.append(-found.usable)",
        "            keys.append(0 * found.usable)",
    ),
    Fault(
        "topology-apart-one-too-many",
        "    full = np.bincount(pairs[0], minlength=level.count) >= most",
        "    full = np.bincount(pairs[0], minlength=level.count) > most",
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
        "        del required",
    ),
    Fault(
        "topology-prices-one-node",
        "            if free >= self._facts.lacking:\n                break\n            emptied",
        "            if emptied:\n                break\n            emptied",
    ),
    Fault(
        "topology-prices-a-node-for-each-member",
        "            free += room[row]",
        "            free += 1",
    ),
    Fault(
        "topology-compares-racks-that-are-too-small",
        "        return free < self._facts.lacking, cost(",
        "        return False, cost(",
    ),
    Fault(
        "topology-tries-where-nothing-is-left",
        "trial if reserved is None else reserved.spared(trial, facts.pending)",
        "trial",
    ),
    Fault(
        "topology-admits-to-what-others-reserved",
        "sums[name][code] = max(0, int(sums[name][code]) - due[name])",
        "pass",
    ),
    Fault(
        "topology-lets-later-ones-overdraw-a-domain",
        "overdrawn = [at for at, of in left.items() if min(of.values(), default=0) < 0]",
        "overdrawn = []",
    ),
    Fault(
        "topology-forgets-what-is-reserved-further-in",
        "        for own, taken in self._taken.items():\n            around",
        "        for own, taken in ((labels, self._taken.get(labels, ())),):\n            around",
    ),
)
