# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decision: one plan, and all that went into it beyond the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.decide.cycle import AllowedCapacity
from enbloc.engine.plan import Plan
from enbloc.engine.preemption import Searched
from enbloc.engine.state import GroupAmount
from enbloc.engine.trial import Named, NodeView, Opinion, Trial
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import GroupFacts
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: Bytes that one unit keeps in memory: itself, and facts of a pod that may be gone.
_BYTES_OF_UNIT: Final = 500


class NamedOpinion(NamedTuple):
    """An opinion by node name; nodes that it does not name get the usual score.

    Attributes:
        usual: the score of nodes that are not named.
        scores: `(node, score)`.
        refused: `(node, why)`.
    """

    name: str
    weight: int
    usual: int
    scores: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, str], ...]

    def opinion(self, nodes: Nodes, highest: int = MAX_NODE_SCORE) -> Opinion:
        """Return the opinion for the rows of a table; `highest` as in NodeView."""
        feasible = np.ones(len(nodes), np.bool_)
        scores = np.full(len(nodes), self.usual, np.int64)
        reasons: dict[int, str] = {}
        for name, score in self.scores:
            row = nodes.row(name)
            if row is not None:
                scores[row] = score
        for name, why in self.refused:
            row = nodes.row(name)
            if row is not None:
                feasible[row] = False
                reasons[row] = why
        view = NodeView(feasible, scores, reasons, highest=highest)
        return Opinion(self.name, view, self.weight)


@dataclass(frozen=True, slots=True)
class DecisionInput:
    """The input of a decision, beyond the tables of nodes, pods, namespaces and workloads.

    Attributes:
        at: the engine's clock, seconds.
        profile: its name.
        held: the bound members of the group.
        lifted: `(pod, node)`, seats that did not count for this group.
        opinions: of every class, from plugins that learned something about the nodes.
        consulted: `(pod, opinions)`, the answers of extenders about the pod's class.
        plans: the open plans, if some plugin keeps a ledger over them.
        reserved: what others have reserved, and the group's owner; ranks replace their order keys,
            and that of `wanted`.
        wanted: what the group may still take, or wants reserved; None = nothing is reserved.
        selected: the labels that tell pods of the group's namespace apart.
    """

    at: float
    profile: str
    facts: GroupFacts
    held: tuple[Pod, ...]
    lifted: tuple[tuple[Pod, str], ...]
    opinions: tuple[NamedOpinion, ...]
    consulted: tuple[tuple[Pod, tuple[NamedOpinion, ...]], ...]
    plans: tuple[Plan, ...]
    reserved: tuple[GroupAmount, ...]
    wanted: GroupAmount | None
    selected: Named

    @property
    def weight(self) -> int:
        """Bytes of the classes of the pods that it is about."""
        pending, held = self.facts.pending, self.held
        if len(pending) == 1 and not held:
            return pending[0].size
        specs = {id(pod.spec): pod.spec for pod in (*pending, *held)}
        own = sum(pod.own_size for pod in (*pending, *held))
        return own + sum(spec.size for spec in specs.values())


class Decision(NamedTuple):
    """A question and its answer."""

    question: DecisionInput
    plan: Plan

    @property
    def weight(self) -> int:
        """Bytes of the classes of the pods that it is about."""
        return self.question.weight


class VictimSearch(NamedTuple):
    """A search for victims, after a decision found no place without evictions.

    Attributes:
        plan: the id of the decided plan.
        question: the input, with the cluster as this search saw it.
        searched: what was considered, and the result.
    """

    plan: str
    question: DecisionInput
    searched: Searched

    @property
    def weight(self) -> int:
        """Bytes of the units, roughly, in addition to the classes of the pods."""
        return self.question.weight + self.searched.size * _BYTES_OF_UNIT


def decision_input(
    facts: GroupFacts,
    held: Sequence[Pod],
    trial: Trial,
    allowed: AllowedCapacity | None,
    plans: Sequence[Plan],
    now: float,
) -> DecisionInput:
    """Return the input of the next decision; cheap, since facts are only referenced."""
    nodes = trial.snapshot.nodes
    lifted = trial.changes
    names = nodes.names if lifted else ()
    reserved, wanted = _numbered(allowed) if allowed else ((), None)
    return DecisionInput(
        at=now,
        profile=trial.profile.name,
        facts=facts,
        held=tuple(held),
        lifted=tuple((change.pod, names[change.row]) for change in lifted),
        opinions=_named_all(trial.opinions, nodes),
        consulted=_consulted(trial, facts.pending),
        plans=tuple(plans),
        reserved=reserved,
        wanted=wanted,
        selected=trial.selected(facts.key.namespace),
    )


def _numbered(allowed: AllowedCapacity) -> tuple[tuple[GroupAmount, ...], GroupAmount]:
    """Replace keys of QueueSort, which may be of any type, by numbers that keep their order."""
    keys = sorted({allowed.wanted.order, *(each.order for each in allowed.capacity.amounts)})
    numbers = {key: (number,) for number, key in enumerate(keys)}
    reserved = (each._replace(order=numbers[each.order]) for each in allowed.capacity.amounts)
    return tuple(reserved), allowed.wanted._replace(order=numbers[allowed.wanted.order])


def _consulted(
    trial: Trial, pods: Sequence[Pod]
) -> tuple[tuple[Pod, tuple[NamedOpinion, ...]], ...]:
    if not trial.profile.extenders:
        return ()
    nodes = trial.snapshot.nodes
    classes = {trial.key(pod): pod for pod in pods}
    return tuple((pod, _named_all(trial.opinions_of(key), nodes)) for key, pod in classes.items())


def _named_all(opinions: Sequence[Opinion], nodes: Nodes) -> tuple[NamedOpinion, ...]:
    names = nodes.names if opinions else ()
    return tuple(_named(opinion, names) for opinion in opinions)


def _named(opinion: Opinion, names: Sequence[str]) -> NamedOpinion:
    view = opinion.view
    usual = int(view.scores.max(initial=0))
    return NamedOpinion(
        opinion.name,
        opinion.weight,
        usual,
        tuple((names[row], int(view.scores[row])) for row in _rows(view.scores != usual)),
        tuple((names[row], view.reasons.get(row, view.why)) for row in _rows(~view.feasible)),
    )


def _rows(mask: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(mask).tolist()
