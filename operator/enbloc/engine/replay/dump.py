# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Dump: recent decisions and the cluster at one moment, for offline use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enbloc.engine.core import Core
from enbloc.engine.decide import Decision, VictimSearch
from enbloc.engine.events import (
    BudgetSeen,
    Event,
    FactSeen,
    GroupSeen,
    NamespaceSeen,
    NodeSeen,
    PodSeen,
    PriorityClassSeen,
    Stream,
    Synced,
    TopologySeen,
    WorkloadSeen,
)
from enbloc.engine.packing import solver_available
from enbloc.engine.state import Checkpoint, TableChange, after
from enbloc.model.budgets import Budget
from enbloc.model.groups import Group
from enbloc.model.pods import Pod
from enbloc.model.topology import Topology

Entry = TableChange | Decision | VictimSearch


def take_dump(core: Core) -> "Dump":
    """Return what is needed to replay every recent decision, and to ask what comes next.

    It does not change afterwards.
    """
    log, state, groups = core.state.log, core.state, core.groups
    entries = (entry for entry in log.entries if isinstance(entry, Entry))
    shown = ShownObjects(
        tuple(state.pods.values()),
        tuple(groups.pod_groups()),
        tuple(groups.classes.values()),
        tuple(state.budgets),
        tuple(groups.topologies.values()),
    )
    return Dump(
        core.settings.search_steps,
        solver_available(),
        log.begin(),
        tuple(entries),
        log.whole,
        shown,
    )


@dataclass(frozen=True, slots=True)
class ShownObjects:
    """The last state that the API server showed of objects that are in no table.

    Attributes:
        pods: all of them, with or without a node.
        groups: all PodGroups.
        classes: all PriorityClasses.
        budgets: all PodDisruptionBudgets.
        topologies: all Topologies.
    """

    pods: Sequence[Pod] = ()
    groups: Sequence[Group] = ()
    classes: Sequence[PriorityClassSeen] = ()
    budgets: Sequence[Budget] = ()
    topologies: Sequence[Topology] = ()


@dataclass(frozen=True, slots=True)
class Dump:
    """A log at one moment.

    Attributes:
        search_steps: how much a search might cost.
        solver: whether the exact solver was available.
        checkpoint: the tables before all of `entries`.
        entries: changes and decisions, the latest last.
        whole: no decision was dropped.
        shown: what existed besides the tables.
    """

    search_steps: int
    solver: bool
    checkpoint: Checkpoint
    entries: Sequence[Entry]
    whole: bool
    shown: ShownObjects

    def decisions(self) -> Sequence[Decision]:
        """The decisions that it holds, the first one first."""
        return [entry for entry in self.entries if isinstance(entry, Decision)]

    def forwards(self) -> Iterator[tuple[Decision, Checkpoint]]:
        """Yield each decision with the tables that it was made on, the first one first.

        The tables keep changing: fork what is to be kept.
        """
        for entry, tables in self._noted():
            if isinstance(entry, Decision):
                yield entry, tables

    def searches(self) -> Iterator[tuple[VictimSearch, Checkpoint]]:
        """Yield each search for victims in the same way."""
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
        """Return the tables when it was taken.

        Raises:
            KeyError: the entries do not follow from the checkpoint.
        """
        return after(self.checkpoint.fork(), self.entries)

    def events(self) -> Iterator[Event]:
        """Yield every first list, and that each is complete, as an engine would be told then.

        Raises:
            KeyError: the entries do not follow from the checkpoint.
        """
        tables, shown = self.present(), self.shown
        yield from map(PodSeen, shown.pods)
        yield from map(NodeSeen, tables.nodes)
        yield from map(GroupSeen, shown.groups)
        yield from shown.classes
        yield from map(BudgetSeen, shown.budgets)
        yield from map(TopologySeen, shown.topologies)
        yield from (NamespaceSeen(*each) for each in tables.namespaces.items())
        yield from (WorkloadSeen(*each) for each in tables.workloads.items())
        yield from map(FactSeen, tables.facts.values())
        yield from map(Synced, Stream)
