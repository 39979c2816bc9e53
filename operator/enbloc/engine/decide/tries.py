# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tries: how many domains a decision may try, and how many of them are kept for what comes later.

::

    preferred rack, no required level, 64 tries
        rack ► block ► zone ► cluster    16 each at least, and what one leaves goes to the next
"""

from collections.abc import Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from enbloc.framework.facts import Locality

#: The tries that each part of a group always has at each level, however large the cluster is.
OF_A_PART: Final = 2
#: The most that a decision has for levels beyond the innermost of each part.
MOST_WIDER: Final = 24


class Tries:
    """A number of domains to try, some of which are kept for others.

    Args:
        left: the number.

    Attributes:
        left: what is left of it, with what is kept.
    """

    def __init__(self, left: int) -> None:
        self.left, self._kept = left, 0

    @property
    def free(self) -> int:
        """Return how many may be used now; not below 0."""
        return max(0, self.left - self._kept)

    def take(self) -> None:
        """Use one, unless none is free."""
        self.left -= min(1, self.free)

    @contextmanager
    def at_most(self, count: int) -> Generator[None]:
        """Use no more than so many meanwhile.

        What was kept within, in a search that ended at a placement, is free again as well.
        """
        before = self._kept
        self._kept = max(before, self.left - count)
        yield
        self._kept = before

    def share(self, left: int, least: int) -> AbstractContextManager[None]:
        """Use no more meanwhile than an equal share, but so many at least.

        Args:
            left: how many are still to have a share.
            least: what the next one needs.
        """
        return self.at_most(max(-(-self.free // left), least))


def at_a_level(localities: Sequence[Locality], roles: Collection[str] | None = None) -> int:
    """Return the tries that these and their parts always have at one level of each.

    Args:
        localities: where members are to be.
        roles: count only those about some of these; None = all.
    """
    about = (each for each in localities if roles is None or any(map(each.about, roles)))
    return sum(OF_A_PART + at_a_level(each.parts, roles) for each in about)


def at_wider_levels(localities: Sequence[Locality]) -> int:
    """Return the tries that these and their parts want at all their other levels."""
    return sum(
        (len(each.levels.outwards) - 1) * at_a_level((each,)) + at_wider_levels(each.parts)
        for each in localities
    )
