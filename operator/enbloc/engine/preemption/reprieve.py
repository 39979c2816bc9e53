# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reprieve: which victims may stay although a gang is placed as planned."""

from collections.abc import Callable, Iterator, Sequence

from enbloc.engine.preemption.units import Seats, Unit
from enbloc.engine.trial import Trial
from enbloc.model.pods import Pod

#: Returns where the pods of a unit are.
SeatsOf = Callable[[Unit], Seats]

#: What pods of some classes take on some rows; equal for units that take the same.
_Kind = tuple[tuple[int, int], ...]


def brought_back(
    order: Sequence[Unit], seats: SeatsOf, members: Seats, placed: Trial
) -> frozenset[Unit] | None:
    """Return the victims that must go for a gang to stay where it was placed.

    Each is brought back in turn, those on different rows together. None = some pod matters beyond
    its own row, so that this would prove nothing.

    Args:
        order: the victims in the order of bringing back; a gang's minimum before the rest of it.
        seats: returns the seats of each.
        members: where the gang was placed.
        placed: without the victims, with the gang.
    """
    back = _Reprieve(seats, members, placed)
    pods = [pod for unit in order for pod in unit.pods]
    if not back.independent([*pods, *(pod for pod, _ in members)]):
        return None
    return back.tried(order)


class _Reprieve:
    def __init__(self, seats: SeatsOf, members: Seats, placed: Trial) -> None:
        self._trial = placed.fork()
        self._seats = seats
        # By class, one member on each row: if it fits there beside the others, all do.
        self._ones: dict[object, dict[int, Pod]] = {}
        keys = placed.keys([pod for pod, _ in members])
        for key, (pod, row) in zip(keys, members, strict=True):
            self._ones.setdefault(key, {})[row] = pod

    def independent(self, pods: Sequence[Pod]) -> bool:
        alike = {(id(pod.spec), pod.labels, pod.key.namespace): pod for pod in pods}
        return all(
            self._trial.filter_of(next(iter(ones.values()))).independent(list(alike.values()))
            for ones in self._ones.values()
        )

    def tried(self, order: Sequence[Unit]) -> frozenset[Unit]:
        victims, crowding = set[Unit](), set[_Kind]()
        for units in self._together(order):
            some = [
                unit
                for unit in units
                # There is no more room now than for others that take the same.
                if unit.of not in victims and self._kind(unit) not in crowding
            ]
            victims.update(units)
            for unit in some:
                self._trial.add_all((unit.returning(pod), row) for pod, row in self._seats(unit))
            crowded = self._crowded({row for unit in some for row in self._rows(unit)})
            for unit in some:
                if crowded.isdisjoint(self._rows(unit)):
                    victims.discard(unit)
                else:
                    self._trial.remove_all(self._seats(unit))
                    crowding.add(self._kind(unit))
        return frozenset(victims)

    def _together(self, order: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
        """Yield units in order, together if they share no row and none follows another."""
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
        return {row for _, row in self._seats(unit)}

    def _kind(self, unit: Unit) -> _Kind:
        """Return the kind of a unit; a pod with volumes or devices is its own kind."""
        return tuple(
            sorted((row, id(pod if pod.spec.holds else pod.spec)) for pod, row in self._seats(unit))
        )

    def _crowded(self, rows: set[int]) -> set[int]:
        """Return those of some rows on which some member would not fit now."""
        found = set[int]()
        for ones in self._ones.values():
            here = [(ones[row], row) for row in rows if row in ones]
            if not here:
                continue
            self._trial.remove_all(here)
            mask = self._trial.filter_of(here[0][0]).mask
            found.update(row for _, row in here if not mask[row])
            self._trial.add_all(here)
        return found
