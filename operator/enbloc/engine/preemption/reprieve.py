# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reprieve: who may stay although a gang is where it is to go."""

from collections.abc import Iterator, Sequence

from enbloc.engine.preemption.units import Unit
from enbloc.engine.trial import Trial
from enbloc.model.pods import Pod


def brought_back(
    order: Sequence[Unit], members: Sequence[tuple[Pod, int]], placed: Trial
) -> frozenset[Unit]:
    """Those of some victims without whom a gang would not stand where it was placed.

    Each is brought back in turn, those on different rows together. Where somebody matters beyond
    his own row that would prove nothing, and all are needed as far as this can tell.

    Args:
        order: the victims, who is brought back first; a gang's minimum before the rest of it.
        members: where the gang was placed.
        placed: without the victims, with the gang.
    """
    back = _Reprieve(members, placed)
    pods = [pod for unit in order for pod in unit.pods]
    if not back.independent([*pods, *(pod for pod, _ in members)]):
        return frozenset(order)
    return back.tried(order)


class _Reprieve:
    def __init__(self, members: Sequence[tuple[Pod, int]], placed: Trial) -> None:
        self._trial = placed.fork()
        self._row_of = placed.nodes.row
        # By class, one member on each row: if that fits there beside the others, all do.
        self._ones: dict[object, dict[int, Pod]] = {}
        for pod, row in members:
            self._ones.setdefault(placed.key(pod), {})[row] = pod

    def independent(self, pods: Sequence[Pod]) -> bool:
        alike = {(pod.spec, pod.labels, pod.key.namespace): pod for pod in pods}
        return all(
            self._trial.filter_of(next(iter(ones.values()))).independent(list(alike.values()))
            for ones in self._ones.values()
        )

    def tried(self, order: Sequence[Unit]) -> frozenset[Unit]:
        victims = set[Unit]()
        for units in self._together(order):
            some = [unit for unit in units if unit.of is None or unit.of not in victims]
            victims.update(unit for unit in units if unit not in some)
            for unit in some:
                self._move(unit, back=True)
            crowded = self._crowded({row for unit in some for row in self._rows(unit)})
            for unit in some:
                if not crowded.isdisjoint(self._rows(unit)):
                    self._move(unit, back=False)
                    victims.add(unit)
        return frozenset(victims)

    def _together(self, order: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
        """Units in order; those that share no row, nor follow one another, at one time."""
        left = list(order)
        while left:
            taken, now, later = set[int](), list[Unit](), list[Unit]()
            leaders = set[Unit]()
            for unit in left:
                rows = self._rows(unit)
                if taken.isdisjoint(rows) and unit.of not in leaders:
                    now.append(unit)
                else:
                    later.append(unit)
                taken.update(rows)
                leaders.add(unit)
            yield now
            left = later

    def _rows(self, unit: Unit) -> set[int]:
        rows = (self._row_of(pod.node) for pod in unit.pods)
        return {row for row in rows if row is not None}

    def _move(self, unit: Unit, *, back: bool) -> None:
        for pod in unit.pods:
            row = self._row_of(pod.node)
            if row is not None:
                (self._trial.put if back else self._trial.take_off)(pod, row)

    def _crowded(self, rows: set[int]) -> set[int]:
        """Those of some rows on which some member would not fit now."""
        found = set[int]()
        for ones in self._ones.values():
            here = {row: ones[row] for row in rows if row in ones}
            if not here:
                continue
            for row, pod in here.items():
                self._trial.take_off(pod, row)
            mask = self._trial.filter_of(next(iter(here.values()))).mask
            found.update(row for row in here if not mask[row])
            for row, pod in here.items():
                self._trial.put(pod, row)
        return found
