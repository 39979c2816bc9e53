# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Placed: the table of pods that sit on nodes, bound or assumed."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Interned
from enbloc.model.pods import Pod, PodSpec, PodUID

_FIRST_CAPACITY: Final = 256


class Placed:
    """Struct of arrays keyed by pod UID, dense: a dropped pod's place is taken by the last.

    A snapshot or fork shares the arrays; whichever of them is written to next copies them first.
    """

    __slots__ = ("_frozen", "_index", "_namespace", "_priority", "_row", "_shared", "_spec",
                 "_terminating", "_uids")  # fmt: skip

    def __init__(self) -> None:
        self._uids: list[PodUID] = []
        self._index: dict[PodUID, int] | None = {}
        self._row: npt.NDArray[np.int32] = np.zeros(_FIRST_CAPACITY, np.int32)
        self._priority: npt.NDArray[np.int32] = np.zeros(_FIRST_CAPACITY, np.int32)
        self._terminating: npt.NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, np.bool_)
        self._spec: Interned[PodSpec | None] = Interned(None, _FIRST_CAPACITY)
        self._namespace: Interned[str | None] = Interned(None, _FIRST_CAPACITY)
        self._shared = False
        self._frozen = False

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._uids)

    @property
    def uids(self) -> Sequence[PodUID]:
        """Who is in the table, in the order of the columns."""
        return self._uids

    @property
    def row(self) -> npt.NDArray[np.int32]:
        """int32[P]: the node table's row on which each pod sits."""
        return self._read(self._row)

    @property
    def priority(self) -> npt.NDArray[np.int32]:
        """int32[P]."""
        return self._read(self._priority)

    @property
    def terminating(self) -> npt.NDArray[np.bool_]:
        """bool[P]: the pod has a deletionTimestamp."""
        return self._read(self._terminating)

    @property
    def spec(self) -> npt.NDArray[np.int32]:
        """int32[P]: a code, equal for pods of one class; `spec_of` gives the class."""
        return self._read(self._spec.cells)

    @property
    def namespace(self) -> npt.NDArray[np.int32]:
        """int32[P]: a code, equal for pods of one namespace."""
        return self._read(self._namespace.cells)

    def row_of(self, uid: PodUID) -> int | None:
        """The row on which a pod sits; None if it is not in the table."""
        place = self._places().get(uid)
        return None if place is None else int(self._row[place])

    def spec_of(self, uid: PodUID) -> PodSpec | None:
        """The class as which a pod is counted; None if it is not in the table."""
        place = self._places().get(uid)
        return None if place is None else self._spec.value(place)

    def on(self, row: int) -> Sequence[PodUID]:
        """The pods on one row of the node table."""
        return [self._uids[place] for place in np.flatnonzero(self.row == row)]

    # ── deriving ─────────────────────────────────────────────────────────────────────────────

    def snapshot(self) -> "Placed":
        """The same pods, frozen."""
        return self._derive(frozen=True)

    def fork(self) -> "Placed":
        """A table of one's own with the same pods."""
        return self._derive(frozen=False)

    def _derive(self, *, frozen: bool) -> "Placed":
        self._shared = True
        twin = object.__new__(Placed)
        twin._uids = self._uids
        twin._index = None
        twin._row, twin._priority, twin._terminating = self._row, self._priority, self._terminating
        twin._spec, twin._namespace = self._spec, self._namespace
        twin._shared, twin._frozen = True, frozen
        return twin

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def put(self, pod: Pod, row: int) -> None:
        """Seat a pod on a row, or say anew what is known of one that sits."""
        self._own(len(self._uids) + 1)
        index = self._places()
        place = index.setdefault(pod.uid, len(self._uids))
        if place == len(self._uids):
            self._uids.append(pod.uid)
        self._row[place] = row
        self._priority[place] = pod.priority
        self._terminating[place] = pod.deleting
        self._spec.set(place, pod.spec)
        self._namespace.set(place, pod.key.namespace)

    def drop(self, uid: PodUID) -> None:
        """Take a pod out; nothing happens if it is not there."""
        index = self._places()
        if uid not in index:
            return
        self._own(len(self._uids))
        place, last = index.pop(uid), len(self._uids) - 1
        for column in self._cells():
            column[place] = column[last]
        moved = self._uids.pop()
        if place != last:
            self._uids[place] = moved
            index[moved] = place

    def _own(self, size: int) -> None:
        """Arrays that may be written, with room for `size` pods."""
        if self._frozen:
            raise TypeError("this pod table is read-only; change a fork() of it")
        room = len(self._row)
        if not self._shared and size <= room:
            return
        room = room if size <= room else 2 * room
        used = len(self._uids)
        if self._shared:
            self._uids = self._uids.copy()
        self._row = _longer(self._row, used, room)
        self._priority = _longer(self._priority, used, room)
        self._terminating = _longer(self._terminating, used, room)
        self._spec = self._spec.copy(used, room)
        self._namespace = self._namespace.copy(used, room)
        self._shared = False

    def _places(self) -> dict[PodUID, int]:
        if self._index is None:
            self._index = {uid: place for place, uid in enumerate(self._uids)}
        return self._index

    def _cells(self) -> list[npt.NDArray[np.generic]]:
        return [self._row, self._priority, self._terminating, self._spec.cells,
                self._namespace.cells]  # fmt: skip

    def _read(self, column: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]  # any dtype
        view = column[: len(self._uids)]
        view.flags.writeable = False
        return view


def _longer(array: npt.NDArray, used: int, room: int) -> npt.NDArray:  # type: ignore[type-arg]
    longer = np.zeros(room, array.dtype)
    longer[:used] = array[:used]
    return longer
