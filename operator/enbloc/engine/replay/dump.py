# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Dump: the log of recent decisions as it stood at one moment, for a replay elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enbloc.engine.decide import Decision, VictimSearch
from enbloc.engine.packing import solver_available
from enbloc.engine.state import Checkpoint, Log, TableChange, after

Entry = TableChange | Decision | VictimSearch


def take_dump(log: Log, search_steps: int) -> "Dump":
    """Enough to take every decision of the log once more; it stays as it is.

    Args:
        log: of one engine.
        search_steps: how much a search might cost.
    """
    entries = (entry for entry in log.entries if isinstance(entry, Entry))
    return Dump(search_steps, solver_available(), log.begin(), tuple(entries), log.whole)


@dataclass(frozen=True, slots=True)
class Dump:
    """A log as it stood at one moment.

    Attributes:
        search_steps: how much a search might cost.
        solver: the exact solver was there to be asked.
        checkpoint: the tables before all of `entries`.
        entries: changes and decisions, the last one last.
        whole: no decision has dropped out.
    """

    search_steps: int
    solver: bool
    checkpoint: Checkpoint
    entries: Sequence[Entry]
    whole: bool

    def decisions(self) -> Sequence[Decision]:
        """The decisions that it holds, the first one first."""
        return [entry for entry in self.entries if isinstance(entry, Decision)]

    def forwards(self) -> Iterator[tuple[Decision, Checkpoint]]:
        """Each decision with the tables that it was made on, the first one first.

        The tables go on changing: fork what is to be kept.
        """
        for entry, tables in self._noted():
            if isinstance(entry, Decision):
                yield entry, tables

    def searches(self) -> Iterator[tuple[VictimSearch, Checkpoint]]:
        """The same of each search for victims."""
        for entry, tables in self._noted():
            if isinstance(entry, VictimSearch):
                yield entry, tables

    def _noted(self) -> Iterator[tuple[Decision | VictimSearch, Checkpoint]]:
        tables = self.checkpoint.fork()
        for entry in self.entries:
            if isinstance(entry, Decision | VictimSearch):
                yield entry, tables
            else:
                tables.apply(entry)

    def present(self) -> Checkpoint:
        """The tables when it was taken.

        Raises:
            KeyError: the entries do not follow from the checkpoint.
        """
        return after(self.checkpoint.fork(), self.entries)
