# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Dump: the tables as they are, and the way back to each recent decision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enbloc.engine import exact
from enbloc.engine.decision import Decision
from enbloc.engine.past import Entry
from enbloc.engine.state import ClusterState
from enbloc.engine.tables import Tables, present


@dataclass(frozen=True, slots=True)
class Dump:
    """Enough to take every recent decision once more.

    Attributes:
        search_steps: how much a search might cost.
        solver: the exact solver was there to be asked.
        tables: the present.
        past: the latest changes and decisions, the last one last.
        whole: nothing has dropped out of `past` yet.
    """

    search_steps: int
    solver: bool
    tables: Tables
    past: Sequence[Entry]
    whole: bool

    def decisions(self) -> Sequence[Decision]:
        """The decisions that it reaches back to, the first one first."""
        return [entry for entry in self.past if isinstance(entry, Decision)]

    def backwards(self) -> Iterator[tuple[Decision, Tables]]:
        """Each decision with the tables that it was made on, the last one first.

        The tables go on changing: fork what is to be kept.
        """
        tables = self.tables.fork()
        for entry in reversed(self.past):
            if isinstance(entry, Decision):
                yield entry, tables
            else:
                tables.undo(entry)


def dump(state: ClusterState, search_steps: int) -> Dump:
    """Take a dump; it refers to frozen facts, and so stays as it is while the engine goes on."""
    past = tuple(state.past)
    whole = len(past) < (state.past.maxlen or 0)
    return Dump(search_steps, exact.available(), present(state), past, whole)
