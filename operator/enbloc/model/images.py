# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Images: which container images are on which nodes, with their sizes."""

from typing import Final

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.int64]

#: How many images have their sizes kept as an array. Each array costs 8 bytes per node.
_MOST_ARRAYS: Final = 256


class Images:
    """The images of all rows, sparse, by name: thousands of images, each on some nodes.

    A copy shares the sizes of each image until either changes them.
    """

    __slots__ = ("_arrays", "_mine", "_on")

    def __init__(self) -> None:
        self._on: dict[str, dict[int, int]] = {}
        self._mine: set[str] = set()
        self._arrays: dict[str, Amounts] = {}

    def sizes(self, name: str, count: int) -> Amounts | None:
        """int64[count]: the image's bytes on each row, 0 = not there; None = on no row."""
        on = self._on.get(name)
        if on is None:
            return None
        sizes = self._arrays.get(name)
        if sizes is None or len(sizes) != count:
            sizes = np.zeros(count, np.int64)
            rows = np.fromiter(on, np.int64, len(on))
            sizes[rows] = np.fromiter(on.values(), np.int64, len(on))
            sizes.flags.writeable = False
            if len(self._arrays) >= _MOST_ARRAYS:
                self._arrays.clear()
            self._arrays[name] = sizes
        return sizes

    def write(
        self, row: int, old: tuple[tuple[str, int], ...], new: tuple[tuple[str, int], ...]
    ) -> None:
        """Replace the images `old` of a row by `new`."""
        if old == new:
            return
        before, after = dict(old), dict(new)
        for name, size in after.items():
            if before.pop(name, None) != size:
                self._sizes_of(name)[row] = size
        for name in before:
            self._forget(name, row)

    def move(self, row: int, last: int, images: tuple[tuple[str, int], ...]) -> None:
        """Move the images of row `last` to `row`, which has none."""
        for name, size in dict(images).items():
            self._forget(name, last)
            self._sizes_of(name)[row] = size

    def copy(self) -> "Images":
        """An independent copy."""
        twin = Images()
        twin._on = self._on.copy()
        twin._arrays = self._arrays.copy()
        self._mine = set()
        return twin

    def _sizes_of(self, name: str) -> dict[int, int]:
        """The sizes of one image, writable."""
        self._arrays.pop(name, None)
        sizes = self._on.get(name)
        if sizes is None or name not in self._mine:
            sizes = self._on[name] = dict(sizes or ())
            self._mine.add(name)
        return sizes

    def _forget(self, name: str, row: int) -> None:
        sizes = self._sizes_of(name)
        del sizes[row]
        if not sizes:
            del self._on[name]
            self._mine.discard(name)
