# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Placed: the table of pods that are on nodes, bound or assumed."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from enbloc.model.copy_on_write import ArrayRight, Lease, Ownership, leased
from enbloc.model.labels import Interned, LabelColumns, Mask
from enbloc.model.node_columns import resized
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.selectors import Selector

_FIRST_CAPACITY: Final = 256


class PlacedPods:
    """Struct of arrays keyed by pod UID, dense: the last pod takes a dropped one's place.

    A snapshot shares everything with its table. The table copies before it writes if the snapshot,
    or an array that either returned, still exists (`enbloc.model.copy_on_write`). A fork is a copy.
    """

    __slots__ = (
        "_affine",
        "_index",
        "_labels",
        "_namespace",
        "_priority",
        "_right",
        "_row",
        "_spec",
        "_terminating",
        "_uids",
    )  # fmt: skip

    def __init__(self) -> None:
        self._right: ArrayRight = Ownership()
        self._uids: list[PodUID] = []
        self._index: dict[PodUID, int] = {}
        self._row: npt.NDArray[np.int32] = np.zeros(_FIRST_CAPACITY, np.int32)
        self._priority: npt.NDArray[np.int32] = np.zeros(_FIRST_CAPACITY, np.int32)
        self._terminating: npt.NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, np.bool_)
        self._spec: Interned[PodSpec | None] = Interned(
            None, _FIRST_CAPACITY, lambda spec: spec.size if spec else 0
        )
        self._namespace: Interned[str | None] = Interned(None, _FIRST_CAPACITY)
        self._labels = LabelColumns()
        self._affine = 0

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._uids)

    @property
    def uids(self) -> Sequence[PodUID]:
        """The pods in the table, in column order."""
        return tuple(self._uids)

    @property
    def row(self) -> npt.NDArray[np.int32]:
        """int32[P]: the node table's row on which each pod is."""
        return self._read(self._row)

    @property
    def priority(self) -> npt.NDArray[np.int32]:
        """int32[P]: the priority of each pod."""
        return self._read(self._priority)

    @property
    def terminating(self) -> npt.NDArray[np.bool_]:
        """bool[P]: the pod has a deletionTimestamp."""
        return self._read(self._terminating)

    @property
    def spec(self) -> npt.NDArray[np.int32]:
        """int32[P]: a code per class of pods."""
        return self._read(self._spec.cells)

    @property
    def namespace(self) -> npt.NDArray[np.int32]:
        """int32[P]: a code per namespace."""
        return self._read(self._namespace.cells)

    def place(self, uid: PodUID) -> int | None:
        """The place of a pod in the columns; None if it is not in the table."""
        return self._index.get(uid)

    def on(self, row: int) -> Sequence[PodUID]:
        """The pods on one row of the node table."""
        return [self._uids[place] for place in np.flatnonzero(self.row == row)]

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    @property
    def has_affinity(self) -> bool:
        """Whether any pod has pod affinity or anti-affinity, required or preferred."""
        return self._affine > 0

    def matches(self, selector: Selector | None) -> Mask:
        """bool[P]: pods whose labels the selector selects; None selects nothing."""
        if selector is None:
            return np.zeros(len(self), np.bool_)
        mask = np.ones(len(self), np.bool_)
        for requirement in selector.requirements:
            mask &= self._labels.matches(requirement, self._used)
        return mask

    def in_namespaces(self, names: Collection[str]) -> Mask:
        """bool[P]: pods in any of these namespaces."""
        return self._namespace.among(names, self._used)

    def specs_where(self, predicate: Callable[[PodSpec], bool]) -> Mask:
        """bool[P]: pods for whose class `predicate` holds; called once per class."""
        chosen = self._spec.where(lambda spec: spec is not None and predicate(spec))
        return chosen.take(self._spec.cells[self._used])

    def classes(self, mask: Mask) -> list[tuple[PodSpec, str, npt.NDArray[np.int64]]]:
        """Group the pods of `mask` (bool[P]): class, namespace and the places of its pods.

        One entry per distinct pair of class and namespace; places (int64[…]) ascend and index
        this table's columns.
        """
        places = np.flatnonzero(mask)
        spaces = len(self._namespace)
        kinds = self._spec.cells[places].astype(np.int64) * spaces + self._namespace.cells[places]
        order = np.argsort(kinds, kind="stable")
        starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
        found: list[tuple[PodSpec, str, npt.NDArray[np.int64]]] = []
        for alike in np.split(places[order], starts[1:]) if len(starts) else ():
            spec, namespace = self._spec.value(alike[0]), self._namespace.value(alike[0])
            assert spec is not None
            assert namespace is not None
            found.append((spec, namespace, alike))
        return found

    # ── deriving ─────────────────────────────────────────────────────────────────────────────

    def snapshot(self) -> "PlacedPods":
        """The same pods, frozen."""
        twin = object.__new__(PlacedPods)
        twin._right = self._right.lease()
        twin._uids, twin._index, twin._labels = self._uids, self._index, self._labels
        twin._row, twin._priority, twin._terminating = self._row, self._priority, self._terminating
        twin._spec, twin._namespace, twin._affine = self._spec, self._namespace, self._affine
        return twin

    def fork(self) -> "PlacedPods":
        """An independent copy."""
        twin = self.snapshot()
        twin._copy(len(self._row))  # noqa: SLF001  # one of our own
        return twin

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def put(self, pod: Pod, row: int) -> None:
        """Put a pod on a row, or update one that is in the table."""
        self._own(len(self._uids) + 1)
        place = self._index.setdefault(pod.uid, len(self._uids))
        if place == len(self._uids):
            self._uids.append(pod.uid)
        self._affine += _affine(pod.spec) - _affine(self._spec.value(place))
        self._row[place] = row
        self._priority[place] = pod.priority
        self._terminating[place] = pod.deleting
        self._spec.set(place, pod.spec)
        self._namespace.set(place, pod.key.namespace)
        self._labels.write(place, pod.labels)

    def put_all(self, pods: Sequence[Pod], rows: Sequence[int]) -> None:
        """Put pods on rows, none of which is in the table yet; faster than `put`."""
        first, end = len(self._uids), len(self._uids) + len(pods)
        self._own(end)
        uids = [pod.uid for pod in pods]
        self._uids += uids
        self._index.update(zip(uids, range(first, end), strict=True))
        self._row[first:end] = rows
        self._priority[first:end] = [pod.priority for pod in pods]
        self._terminating[first:end] = [pod.deleting for pod in pods]
        for place, pod in enumerate(pods, first):
            self._affine += _affine(pod.spec)
            self._spec.set(place, pod.spec)
            self._namespace.set(place, pod.key.namespace)
            self._labels.write(place, pod.labels)

    def drop(self, uid: PodUID) -> None:
        """Remove a pod, if it is in the table."""
        if uid not in self._index:
            return
        self._own(len(self._uids))
        place, last = self._index.pop(uid), len(self._uids) - 1
        self._affine -= _affine(self._spec.value(place))
        for cells in (self._row, self._priority, self._terminating):
            cells[place] = cells[last]
        self._spec.move(place, last)
        self._namespace.move(place, last)
        self._labels.remove(place)
        moved = self._uids.pop()
        if place != last:
            self._uids[place] = moved
            self._index[moved] = place

    def _own(self, size: int) -> None:
        """Make everything writable, with space for `size` pods."""
        if isinstance(self._right, Lease):
            raise TypeError("this pod table is read-only; change a fork() of it")
        room = len(self._row)
        if size > room or not self._right.exclusive:
            self._copy(room if size <= room else max(size, 2 * room))

    def _copy(self, room: int) -> None:
        self._right = Ownership()
        self._uids, self._index = self._uids.copy(), self._index.copy()
        self._row = resized(self._row, (room,))
        self._priority = resized(self._priority, (room,))
        self._terminating = resized(self._terminating, (room,))
        self._spec, self._namespace = self._spec.copy(room), self._namespace.copy(room)
        self._labels = self._labels.copy()

    @property
    def _used(self) -> slice:
        return slice(0, len(self._uids))

    def _read(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return leased(column[self._used], self._right.lease())


def _affine(spec: PodSpec | None) -> bool:
    return spec is not None and bool(spec.pod_affinity or spec.pod_anti_affinity)
