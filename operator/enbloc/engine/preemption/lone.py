# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemption for a pod without a gang, as kube-scheduler's DefaultPreemption chooses.

::

    refused rows that pods who leave could open ──► each without its pods of lower priority:
    feasible? ──► bring them back, the most important first, while the pod still fits ──► the row
    whose victims matter least

Where a pod who leaves matters on its own row alone, all rows are tried at once, on one fork.

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

#: So that a victim of negative priority counts more than none.
_OFFSET: Final = 2**31

#: What it takes to ask the filters about all nodes, in the time of moving a pod.
_STEPS_A_QUESTION: Final = 20
#: More of them for each term of affinity and constraint of spreading beyond a few.
_STEPS_A_TERM: Final = 5
_FEW_TERMS: Final = 4
#: Rows with pods that matter elsewhere too are tried one by one; after so many steps no further
#: one is begun.
_MOST_STEPS: Final = 20_000
#: Units of a row that are looked at in the time of moving a pod,
_UNITS_A_STEP: Final = 16
#: and where budgets are counted for them.
_BUDGETED_A_STEP: Final = 4
#: Pods of several rows that are moved together in that time.
_MOVED_A_STEP: Final = 3

#: The units of lower priority that have pods on a row of the node table.
UnitsOn = Callable[[int], Sequence[Unit]]
#: How many candidates are enough, of so many rows that could do.
Enough = Callable[[int], int]


@dataclass(slots=True)
class _Row:
    """One row without its pods of lower priority.

    Attributes:
        units: those who have pods here, and who goes with them.
        local: by unit, those of its pods that are here.
        kept: what may be brought back, in the order in which that is tried.
        beyond: those of them that go beyond a budget.
        victims: what does not fit beside the pod, and what goes with it.
        violations: how many pods of victims go beyond a budget.
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
        units: everybody of lower priority who has pods there, and who goes with them.
        beyond: those of them that go beyond a budget.
        victims: those of them who would have to go, the most important first.
        violations: how many of their pods go beyond a budget.
    """

    node: str
    units: Collection[Unit]
    beyond: frozenset[Unit]
    victims: tuple[Unit, ...]
    violations: int

    def shown(self) -> NodeVictims:
        """The same as extenders are asked about it."""
        pods = tuple(pod.uid for unit in self.victims for pod in unit.pods)
        return NodeVictims(self.node, pods, self.violations)

    def cost(self) -> tuple[int, int, int, int, float]:
        """The least is chosen: the criteria of pickOneNodeForPreemption, in its order."""
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
    """What came of looking for nodes that a pod could have.

    Attributes:
        nodes: in the order of the node table.
        message: why there is none, as kube-scheduler says it; "" = there are some.
        steps: how often filters were asked, and pods moved.
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
        units_on: who has a lower priority than the pod, by row.
        budgets: every PodDisruptionBudget.
        enough: so many candidates are, if one of them needs no budget to be broken.

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
    """Take the node where those who have to go matter least, if there is one."""
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
    """Whether each of some pods may go to the node for which it is nominated, now or later.

    That is, if others leave it: who could not even then waits for nobody there.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
    default_preemption.go PodEligibleToPreemptOthers.
    """

    def could(pod: Pod, node: str) -> bool:
        row, ranking = trial.nodes.row(node), trial.filter_of(pod)
        return row is not None and bool((ranking.mask | ranking.resolvable(trial.nodes))[row])

    return all(could(pod, node) for pod, node in pods)


def no_victims(diagnosis: Diagnosis) -> str:
    """What is said of a pod that finds no node where nobody has a lower priority."""
    nodes, helped = diagnosis.nodes, diagnosis.resolvable
    return _refusal(nodes, Counter({_NOT_HELPFUL: nodes - helped, _NO_VICTIMS: helped}))


def _refusal(nodes: int, reasons: Counter[str]) -> str:
    return f"preemption: {Diagnosis(nodes=nodes, reasons=tuple((+reasons).items())).text()}"


def _terms(pod: Pod) -> int:
    """How many terms and constraints of a pod look at other pods."""
    spec = pod.spec
    return sum(map(len, (spec.pod_affinity.terms, spec.pod_anti_affinity.terms, spec.spread)))


class _Search:
    """The rows that could do, tried one after the other or all at once."""

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
        #: Steps that it takes to ask the filters.
        self._question = _STEPS_A_QUESTION + _STEPS_A_TERM * max(0, _terms(pod) - _FEW_TERMS)
        self.steps = 0
        #: How many pods were moved; they end no search, for the next row may be the one.
        self._moved = 0

    def candidates(self) -> list[_Row]:
        """Rows on which the pod fits without some units, those that were tried."""
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
        """What all of it took, in steps."""
        return self.steps + self._moved // _MOVED_A_STEP

    def message(self) -> str:
        """Why there is none, as kube-scheduler's PostFilter says it."""
        return _refusal(len(self._trial.nodes), self._reasons)

    def _together(self, rows: Sequence[int]) -> Iterator[Sequence[_Row]]:
        """Those of some rows that have anybody of lower priority, as they are tried together."""
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
        """Those of some rows on which the pod fits, with their victims."""
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
        for row in found:  # with a gang's minimum goes the rest of it, wherever that is
            gone = set(row.victims)
            row.victims += [unit for unit in row.units if unit.of in gone and unit not in gone]
            row.violations = sum([len(unit.pods) for unit in row.victims if unit in row.beyond])
        return [row for row in found if row.victims]

    def _arrange(self, row: _Row) -> None:
        """Who is brought back first: those beyond a budget, then the most important."""
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
                tried.add(pod, row.row)
        mask = self._feasible(tried)
        for row, unit in some:
            if not mask[row.row]:
                row.victims.append(unit)
                for pod in row.local[unit]:
                    tried.remove(pod, row.row)

    def _feasible(self, tried: Trial) -> Mask:
        self.steps += self._question
        return tried.filter_of(self._pod).mask
