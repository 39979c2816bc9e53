# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Effort: how much is worked out about devices within one decision, whatever claims ask for."""

from typing import Final

#: Of one decision; a unit is about a microsecond. Of them so many may go into expressions, which
#: are whatever a tenant writes.
MOST_EFFORT: Final = 250_000
MOST_ASKED: Final = 150_000

#: A step of a search, a pool for each claim that may get other devices of it, a glance at a pool as
#: to whether another looks the same, a look at one that no other does, both for each of its devices
#: as well, a question to a selector, beside what its evaluation takes, and a character of an
#: expression that is compiled.
STEP: Final = 2
PLACE: Final = 4
GLANCE: Final = 4
LOOK: Final = 60
DEVICE: Final = 1
QUESTION: Final = 10
COMPILING: Final = 4

#: Of each expression so many answers about devices are kept; each takes some hundred bytes.
MOST_ANSWERS: Final = 1024

UNSEEN: Final = "the claims of the group are too costly to look at all devices at once"


class Effort:
    """What is left of it; shared by all forks of a table, for one decision is made at a time.

    Attributes:
        left: units; nothing more is begun when there are none.
        asking: of them, those for expressions.
    """

    __slots__ = ("asking", "left")

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """A decision begins."""
        self.left, self.asking = MOST_EFFORT, MOST_ASKED

    def spend(self, units: int) -> None:
        """Something was worked out."""
        self.left -= units

    def ask(self, units: int) -> None:
        """An expression was compiled, or evaluated."""
        self.left -= units
        self.asking -= units

    @property
    def spent(self) -> bool:
        """Nothing more can be worked out in this decision."""
        return self.left <= 0 or self.asking <= 0

    def steps(self, most: int, fewest: int) -> int:
        """How many steps a search may take: a part of what is left, so that others can follow."""
        return min(most, max(fewest, self.left // (8 * STEP)))
