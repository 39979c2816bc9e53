# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Effort: bounds the work about devices in one decision, whatever claims request."""

from typing import Final

#: The effort of one decision; a unit is about a microsecond. MOST_ASKED of it may be spent on
#: expressions, which tenants write.
MOST_EFFORT: Final = 250_000
MOST_ASKED: Final = 150_000

#: Costs: a search step; a pool per claim that may get other devices of it; checking whether another
#: pool looks the same (GLANCE); examining a pool (LOOK), both plus DEVICE for each of its devices;
#: a question to a selector, besides its evaluation; a character of a compiled expression.
STEP: Final = 2
PLACE: Final = 4
GLANCE: Final = 4
LOOK: Final = 60
DEVICE: Final = 1
QUESTION: Final = 10
COMPILING: Final = 4

#: How many answers about devices are cached per expression; each takes some hundred bytes.
MOST_ANSWERS: Final = 1024

UNSEEN: Final = "the claims of the group are too costly to look at all devices at once"


class DeviceEffort:
    """The effort that is left; all forks of a table share it, as one decision is made at a time.

    Attributes:
        left: units left; with none, no work is begun.
        asking: units left for expressions.
    """

    __slots__ = ("asking", "left")

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start a new decision with full effort."""
        self.left, self.asking = MOST_EFFORT, MOST_ASKED

    def spend(self, units: int) -> None:
        """Count work that was done."""
        self.left -= units

    def ask(self, units: int) -> None:
        """Count the compilation or evaluation of an expression."""
        self.left -= units
        self.asking -= units

    @property
    def spent(self) -> bool:
        """Whether no effort is left in this decision."""
        return self.left <= 0 or self.asking <= 0

    def steps(self, most: int, fewest: int) -> int:
        """How many steps a search may take: a part of what is left, so that others can follow."""
        return min(most, max(fewest, self.left // (8 * STEP)))
