# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One by one: members are placed in turn through the plugins, with other rows tried for each.

For members that hold more than capacity, such as devices: only placing them shows whether some fit
together, so a dead end should come early. A member that found no row comes first the next time.
After too many dead ends the search restarts, and each restart may meet twice as many.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from enbloc.engine.packing.model import Packing
from enbloc.engine.trial import Trial
from enbloc.model.pods import Pod, PodUID

#: Dead ends before the first restart.
_FIRST_LIMIT: Final = 4

#: The most members to search for in this way: each is a level of the search.
MOST_MEMBERS: Final = 64


class OneByOne:
    """One search for a placement of all members.

    Attributes:
        exhausted: everything was tried.

    Args:
        packing: all of its members must be placed.
        trial: the cluster as it is; unchanged.
        charge: returns whether another member may be placed.
    """

    def __init__(self, packing: Packing, trial: Trial, charge: Callable[[], bool]) -> None:
        self.exhausted = False
        self._trial, self._charge = trial, charge
        self._pods = [pod for kind in packing.kinds for pod in kind.pods]
        self._failures = dict.fromkeys((pod.uid for pod in self._pods), 0)
        self._rows = packing.rows
        self._alike = _numbers(packing)
        self._left = 0
        self._spent = False

    def find(self) -> tuple[Sequence[tuple[Pod, int]], Trial] | None:
        """Return the members with their rows, in the order of placement, and the fork with them.

        None = there is none, or the steps were spent.
        """
        limit = _FIRST_LIMIT
        while not self._spent:
            self._left = limit
            order = sorted(self._pods, key=lambda pod: -self._failures[pod.uid])
            found = self._place(order, self._trial, ())
            if found is not None:
                return found
            if self._left > 0:
                self.exhausted = not self._spent
                return None
            limit *= 2
        return None

    def _place(
        self, order: Sequence[Pod], trial: Trial, placed: tuple[tuple[Pod, int], ...]
    ) -> tuple[Sequence[tuple[Pod, int]], Trial] | None:
        """Place these as well; None = impossible, or the search is to restart."""
        if not order:
            return placed, trial
        pod, later = order[0], order[1:]
        for row in self._choices(pod, trial, {row for _, row in placed}):
            if not self._charge():
                self._spent = True
                return None
            tried = trial.fork()
            tried.add(pod, row)
            if not tried.stands(pod):
                continue
            found = self._place(later, tried, (*placed, (pod, row)))
            if found is not None or self._spent or self._left <= 0:
                return found
        self._failures[PodUID(pod.uid)] += 1
        self._left -= 1
        return None

    def _choices(self, pod: Pod, trial: Trial, used: set[int]) -> Iterator[int]:
        """Yield the rows that take a member, best first; of identical untouched rows only one."""
        ranking = trial.ranking(pod)
        rows = self._rows[ranking.mask[self._rows]]
        known: set[int] = set()
        for row in rows[np.argsort(-ranking.totals[rows], kind="stable")].tolist():
            if row not in used:
                number = int(self._alike[np.searchsorted(self._rows, row)])
                if number in known:
                    continue
                known.add(number)
            yield row


def _numbers(packing: Packing) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return int64[M]: rows with the same number are identical while nothing is placed there."""
    said = [packing.room.T, packing.places]
    said += [domains[None] for _, domains, _ in packing.apart if np.bincount(domains).max() > 1]
    if packing.likeness is not None:
        said.append(packing.likeness[None])
    inverse = np.unique(np.concatenate(said), axis=1, return_inverse=True)[1]
    return np.asarray(inverse, np.int64).reshape(-1)
