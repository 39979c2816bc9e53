# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for a pod without a gang, as kube-scheduler's DefaultPreemption chooses.

::

    refused rows that leaving pods could open ──► each without its pods of lower priority:
    feasible? ──► bring them back, the most important first, while the pod still fits ──► the row
    whose victims matter least

If leaving pods affect their own rows alone, all rows are tried at once, on one fork.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
default_preemption.go, pkg/scheduler/framework/preemption/preemption.go.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from enbloc.engine.preemption.units import Preemption, Unit, importance
from enbloc.engine.trial import Trial
from enbloc.framework.extenders import NodeVictims
from enbloc.framework.status import Diagnosis
from enbloc.model.budgets import Allowance, Budgets
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod

_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
_NO_VICTIMS: Final = "No preemption victims found for incoming pod"

#: Makes a victim of negative priority count more than none.
_OFFSET: Final = 2**31

#: The cost of asking the filters about all nodes, in pod moves.
_STEPS_A_QUESTION: Final = 20
#: Added to it for each affinity term and spreading constraint beyond a few.
_STEPS_A_TERM: Final = 5
_FEW_TERMS: Final = 4
#: Rows with pods that matter elsewhere too are tried one by one; after this many steps, no further
#: one is tried.
_MOST_STEPS: Final = 20_000
#: The number of units of a row that are checked in the time of moving a pod,
_UNITS_A_STEP: Final = 16
#: and with budgets.
_BUDGETED_A_STEP: Final = 4
#: The number of pods of several rows that are moved together in that time.
_MOVED_A_STEP: Final = 3

#: Returns the units of lower priority that have pods on a row of the node table.
UnitsOn = Callable[[int], Sequence[Unit]]
#: Returns how many candidates are enough, for a number of rows that may do.
Enough = Callable[[int], int]


@dataclass(slots=True)
class _Row:
    """One row without its pods of lower priority.

    Attributes:
        units: those with pods here, and those that go with them.
        local: by unit, its pods that are here.
        kept: units to bring back, in that order.
        beyond: units beyond a budget.
        victims: units that do not fit beside the pod, and those that go with them.
        violations: how many pods of victims are beyond a budget.
    """

    row: int
    units: Sequence[Unit]
    local: dict[Unit, Sequence[Pod]]
    kept: list[Unit] = field(default_factory=list[Unit])
    beyond: set[Unit] = field(default_factory=set[Unit])
    victims: list[Unit] = field(default_factory=list[Unit])
    violations: int = 0


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """A node on which a pod fits once some units are gone.

    Attributes:
        node: its name.
        units: all of lower priority with pods there, and those that go with them.
        beyond: those of them that are beyond a budget.
        victims: those of them that would have to go, the most important first.
        violations: how many of their pods are beyond a budget.
    """

    node: str
    units: Collection[Unit]
    beyond: frozenset[Unit]
    victims: tuple[Unit, ...]
    violations: int

    def shown(self) -> NodeVictims:
        """Return the candidate in the form in which extenders are asked about it."""
        pods = tuple(pod.uid for unit in self.victims for pod in unit.pods)
        return NodeVictims(self.node, pods, self.violations)

    def cost(self) -> tuple[int, int, int, int, float]:
        """Return the sort key: the criteria of pickOneNodeForPreemption in order; least wins."""
        top = max(unit.priority for unit in self.victims)
        return (
            self.violations,
            top,
            sum([(unit.priority + _OFFSET) * len(unit.pods) for unit in self.victims]),
            sum([len(unit.pods) for unit in self.victims]),
            -min(unit.started for unit in self.victims if unit.priority == top),
        )


@dataclass(frozen=True, slots=True)
class NodeCandidates:
    """The result of looking for nodes for a pod.

    Attributes:
        nodes: in the order of the node table.
        message: why there is none, in kube-scheduler's words; "" = there are some.
        steps: the number of calls of filters and of moves of pods, as steps.
    """

    nodes: Sequence[NodeCandidate]
    message: str
    steps: int


def candidates_for_pod(
    pod: Pod, trial: Trial, units_on: UnitsOn, budgets: Budgets, enough: Enough
) -> NodeCandidates:
    """Find the nodes on which a pod fits without pods of lower priority.

    Args:
        pod: it fits nowhere.
        trial: the cluster as the pod may see it.
        units_on: returns the units of lower priority on a row.
        budgets: every PodDisruptionBudget.
        enough: how many candidates are enough, if one of them violates no budget.

    Raises:
        PluginError: a plugin failed.
    """
    search = _Search(pod, trial, units_on, budgets, enough)
    names = trial.nodes.names
    nodes = [
        NodeCandidate(
            names[row.row],
            row.units,
            frozenset(row.beyond),
            tuple(sorted(row.victims, key=importance)),
            row.violations,
        )
        for row in search.candidates()
    ]
    return NodeCandidates(nodes, "" if nodes else search.message(), search.cost)


def preempt_for_pod(pod: Pod, found: NodeCandidates) -> Preemption:
    """Take the node whose victims matter least, if there is one."""
    if not found.nodes:
        return Preemption(message=found.message, steps=found.steps)
    chosen = min(found.nodes, key=NodeCandidate.cost)
    return Preemption(
        nodes=((pod, chosen.node),),
        victims=chosen.victims,
        beyond=chosen.beyond.intersection(chosen.victims),
        steps=found.steps,
    )


def could_go(pods: Iterable[tuple[Pod, str]], trial: Trial) -> bool:
    """Whether each of some pods may go to its nominated node, now or after others have left it.

    A pod that could not go even then waits for nothing there.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
    default_preemption.go PodEligibleToPreemptOthers.
    """

    def could(pod: Pod, node: str) -> bool:
        row, ranking = trial.nodes.row(node), trial.filter_of(pod)
        return row is not None and bool((ranking.mask | ranking.resolvable(trial.nodes))[row])

    return all(could(pod, node) for pod, node in pods)


def no_victims(diagnosis: Diagnosis) -> str:
    """Return the message for a pod that finds no node where any pod has a lower priority."""
    nodes, helped = diagnosis.nodes, diagnosis.resolvable
    return _refusal(nodes, Counter({_NOT_HELPFUL: nodes - helped, _NO_VICTIMS: helped}))


def _refusal(nodes: int, reasons: Counter[str]) -> str:
    return f"preemption: {Diagnosis(nodes=nodes, reasons=tuple((+reasons).items())).text()}"


def _terms(pod: Pod) -> int:
    """Return how many terms and constraints of a pod depend on other pods."""
    spec = pod.spec
    return sum(map(len, (spec.pod_affinity.terms, spec.pod_anti_affinity.terms, spec.spread)))


class _Search:
    """Tries the rows that may do, one after the other or all at once."""

    def __init__(
        self,
        pod: Pod,
        trial: Trial,
        units_on: UnitsOn,
        budgets: Budgets,
        enough: Enough,
    ) -> None:
        self._pod, self._trial = pod, trial
        self._units_on, self._budgets = units_on, budgets
        self._enough = enough
        self._reasons: Counter[str] = Counter()
        #: The steps of one call of the filters.
        self._question = _STEPS_A_QUESTION + _STEPS_A_TERM * max(0, _terms(pod) - _FEW_TERMS)
        self.steps = 0
        #: How many pods were moved; this ends no search, since the next row may suit.
        self._moved = 0

    def candidates(self) -> list[_Row]:
        """Return the tried rows on which the pod fits without some units."""
        trial = self._trial
        may = trial.filter_of(self._pod).resolvable(trial.nodes)
        rows = np.flatnonzero(may).tolist()
        self._reasons[_NOT_HELPFUL] = len(may) - len(rows)
        enough = max(1, self._enough(len(rows)))
        found: list[_Row] = []
        for start in range(0, len(rows), enough):
            for some in self._together(rows[start : start + enough]):
                found += self._tried(some)
                if self.steps >= _MOST_STEPS:
                    return found
            if len(found) >= enough and any(not row.violations for row in found):
                break
        return found

    @property
    def cost(self) -> int:
        """The cost of all of it, in steps."""
        return self.steps + self._moved // _MOVED_A_STEP

    def message(self) -> str:
        """Return why there is none, in the words of kube-scheduler's PostFilter."""
        return _refusal(len(self._trial.nodes), self._reasons)

    def _together(self, rows: Sequence[int]) -> Iterator[Sequence[_Row]]:
        """Yield rows with pods of lower priority, grouped as they can be tried together."""
        names = self._trial.nodes.names
        able: list[_Row] = []
        for row in rows:
            units = self._units_on(row)
            if not units:
                self._reasons[_NO_VICTIMS] += 1
                continue
            local = {unit: pods for unit in units if (pods := unit.on(names[row]))}
            able.append(_Row(row, units, local))
            self.steps += len(units) // (_BUDGETED_A_STEP if self._budgets else _UNITS_A_STEP)
            if self.steps >= _MOST_STEPS:
                break
        pods = [pod for row in able for local in row.local.values() for pod in local]
        if self._trial.filter_of(self._pod).independent(pods):
            yield able
        else:
            yield from ([row] for row in able)

    def _tried(self, rows: Sequence[_Row]) -> list[_Row]:
        """Return the rows on which the pod fits, with their victims."""
        tried = self._trial.fork()
        for row in rows:
            for local in row.local.values():
                self._moved += len(local)
                for pod in local:
                    tried.remove(pod, row.row)
        mask = self._feasible(tried)
        found = [row for row in rows if mask[row.row]]
        if len(found) < len(rows):
            among = np.zeros(len(mask), np.bool_)
            among[[row.row for row in rows if not mask[row.row]]] = True
            diagnosis = tried.filter_of(self._pod).diagnosis(tried.nodes, among)
            self._reasons.update(dict(diagnosis.reasons))
        for row in found:
            self._arrange(row)
        for place in range(max((len(row.kept) for row in found), default=0)):
            self._reprieve(
                [(row, row.kept[place]) for row in found if place < len(row.kept)], tried
            )
        for row in found:  # the rest of a gang goes with its minimum, wherever it is
            gone = set(row.victims)
            row.victims += [unit for unit in row.units if unit.of in gone and unit not in gone]
            row.violations = sum([len(unit.pods) for unit in row.victims if unit in row.beyond])
        return [row for row in found if row.victims]

    def _arrange(self, row: _Row) -> None:
        """Set the order of bringing back: units beyond a budget, then the most important."""
        row.kept = sorted(row.local, key=importance)
        if self._budgets:
            allowance = Allowance(self._budgets)
            units = sorted(row.units, key=importance)
            row.beyond = {unit for unit in units if allowance.violates(unit.pods)}
            row.kept.sort(key=lambda unit: unit not in row.beyond)

    def _reprieve(self, some: Sequence[tuple[_Row, Unit]], tried: Trial) -> None:
        """Bring back one unit on each of these rows; it stays if the pod still fits."""
        for row, unit in some:
            self._moved += len(row.local[unit])
            for pod in row.local[unit]:
                tried.add(unit.returning(pod), row.row)
        mask = self._feasible(tried)
        for row, unit in some:
            if not mask[row.row]:
                row.victims.append(unit)
                for pod in row.local[unit]:
                    tried.remove(pod, row.row)

    def _feasible(self, tried: Trial) -> Mask:
        self.steps += self._question
        return tried.filter_of(self._pod).mask
