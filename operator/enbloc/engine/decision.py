# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decision: one plan, and all that it was made from beyond the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.consulting import Verdict
from enbloc.engine.cycle import Room
from enbloc.engine.parts import Opinion
from enbloc.engine.plan import Plan
from enbloc.engine.promises import Claim
from enbloc.engine.tentative import Tentative
from enbloc.framework.facts import GroupFacts
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod


class Heard(NamedTuple):
    """An opinion by the names of nodes; it says the usual of those that it does not name.

    Attributes:
        usual: the score of the others.
        scores: `(node, score)`.
        refused: `(node, why)`.
    """

    name: str
    weight: int
    usual: int
    scores: tuple[tuple[str, int], ...]
    refused: tuple[tuple[str, str], ...]

    def opinion(self, nodes: Nodes) -> Opinion:
        """The same for the rows of a table."""
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
                reasons[row] = why or Verdict.reason
        return Opinion(self.name, Verdict(feasible, scores, reasons), self.weight)


@dataclass(frozen=True, slots=True)
class Question:
    """What a decision was asked, beyond the tables of nodes, pods, namespaces and workloads.

    Attributes:
        at: the engine's clock, seconds.
        profile: its name.
        held: the bound members of the group.
        lifted: `(pod, node)`, seats that did not count for this group.
        opinions: of the engine itself, of every class.
        consulted: `(pod, opinions)`, what extenders said of the pod's class.
        reserved: the open plans, where some plugin keeps a ledger over them.
        promised: what others were promised, and what of the group's owner.
        claim: what the group may claim; None = nobody claims anything.
        selector_keys: the label keys that told pods apart.
    """

    at: float
    profile: str
    facts: GroupFacts
    held: tuple[Pod, ...]
    lifted: tuple[tuple[Pod, str], ...]
    opinions: tuple[Heard, ...]
    consulted: tuple[tuple[Pod, tuple[Heard, ...]], ...]
    reserved: tuple[Plan, ...]
    promised: tuple[Claim, ...]
    claim: Claim | None
    selector_keys: frozenset[str]


class Decision(NamedTuple):
    """A question and its answer."""

    question: Question
    plan: Plan


def question(
    facts: GroupFacts,
    held: Sequence[Pod],
    tentative: Tentative,
    room: Room | None,
    reserved: Sequence[Plan],
    now: float,
) -> Question:
    """What a decision is about to be asked; it costs little, since facts are only referred to."""
    nodes = tentative.snapshot.nodes
    lifted = tentative.changes
    names = nodes.names if lifted else ()
    return Question(
        at=now,
        profile=tentative.profile.name,
        facts=facts,
        held=tuple(held),
        lifted=tuple((change.pod, names[change.row]) for change in lifted),
        opinions=_heard(tentative.opinions, nodes),
        consulted=_consulted(tentative, facts.pending),
        reserved=tuple(reserved),
        promised=room.promises.open_claims() if room else (),
        claim=room.claim if room else None,
        selector_keys=tentative.selector_keys,
    )


def _consulted(
    tentative: Tentative, pods: Sequence[Pod]
) -> tuple[tuple[Pod, tuple[Heard, ...]], ...]:
    if not tentative.profile.extenders:
        return ()
    nodes = tentative.snapshot.nodes
    classes = {tentative.key(pod): pod for pod in pods}
    return tuple((pod, _heard(tentative.opinions_of(key), nodes)) for key, pod in classes.items())


def _heard(opinions: Sequence[Opinion], nodes: Nodes) -> tuple[Heard, ...]:
    names = nodes.names if opinions else ()
    return tuple(_named(opinion, names) for opinion in opinions)


def _named(opinion: Opinion, names: Sequence[str]) -> Heard:
    verdict = opinion.evaluator
    assert isinstance(verdict, Verdict)
    usual = int(verdict.scores.max(initial=0))
    return Heard(
        opinion.name,
        opinion.weight,
        usual,
        tuple((names[row], int(verdict.scores[row])) for row in _rows(verdict.scores != usual)),
        tuple((names[row], verdict.reasons.get(row, "")) for row in _rows(~verdict.feasible)),
    )


def _rows(mask: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(mask).tolist()
