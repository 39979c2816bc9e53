# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cheapest: prefer nodes that cost little."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from enbloc import Nodes, Pod, Reads, Scores, default_normalize_reversed


@dataclass(frozen=True)
class Cheapest:
    """Score nodes by their annotation example.com/price, whole cents an hour.

    Attributes:
        highest: what a node without a readable price costs; no price counts as more.
    """

    name: ClassVar[str] = "Cheapest"
    reads: ClassVar[Reads] = Reads.SPEC
    annotations: ClassVar[tuple[str, ...]] = ("example.com/price",)
    highest: Annotated[int, Field(gt=0)] = 10_000

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """The price of each node."""
        prices = nodes.annotation_values("example.com/price")
        return np.array([self._cents(price) for price in prices], np.int64)

    def normalize(self, scores: Scores) -> Scores:
        """The dearest of the feasible nodes gets 0, one that costs nothing 100."""
        return default_normalize_reversed(scores)

    def _cents(self, price: str | None) -> int:
        if price is None or not price.isdecimal() or len(price) > 9:
            return self.highest
        return min(int(price), self.highest)
