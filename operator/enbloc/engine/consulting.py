# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Consulting HTTP extenders: what to ask about a group, and what their answers mean for a ranking.

An extender is a question to the outside, so a decision that needs one is put off: the group is
parked, holding nothing, until each class of its members has been through the extenders in order.
Then it is decided, once, with their answers; our own filters are asked again at that time, so an
answer may be a little old, never dangerous. Nodes that changed meanwhile make the group ask anew,
a few times at most.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.assign import Tentative
from enbloc.engine.effects import Ask
from enbloc.engine.events import Answer
from enbloc.engine.parts import Opinion
from enbloc.engine.rankings import ClassKey
from enbloc.errors import PluginError
from enbloc.framework.decide import Scores
from enbloc.framework.extenders import Extender
from enbloc.framework.reads import Reads
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

#: By this name extenders appear among the plugins that refused (framework.md §16).
EXTENDER: Final = "Extender"

#: What an extender's score of 10 is worth, before its weight.
_SCORE_SCALE: Final = 10

_MOST_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """One extender's answer as a filter and a score of its own (framework.md §16)."""

    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were refused by an extender"
    feasible: Mask
    scores: npt.NDArray[np.int64]
    reasons: Mapping[int, str]

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """bool[N]: the nodes that it left, of those that it was asked about."""
        del pod, nodes
        return self.feasible.copy()

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Its own words for each node, where it had any."""
        del pod, nodes
        return Counter(self.reasons.get(int(row), self.reason) for row in np.flatnonzero(refused))

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """int64[N], 0 to 100: ten times what it gave."""
        del pod, nodes
        return self.scores


@dataclass(slots=True)
class _Consultation:
    """What one group has asked and heard.

    Attributes:
        version: of the node table that the questions were about.
        waiting: questions without an answer yet.
        answers: per class, by the place of the extender.
    """

    version: int
    rounds: int = 1
    waiting: dict[str, tuple[ClassKey, int]] = field(
        default_factory=dict[str, tuple[ClassKey, int]]
    )
    answers: dict[ClassKey, dict[int, Answer]] = field(
        default_factory=dict[ClassKey, dict[int, Answer]]
    )


class Consultations:
    """The open questions of all groups."""

    def __init__(self) -> None:
        self._open: dict[GroupKey, _Consultation] = {}
        self._asker: dict[str, GroupKey] = {}
        self._count = 0

    def drop(self, group: GroupKey) -> None:
        """The group has its decision, or is gone: answers that come now mean nothing."""
        consultation = self._open.pop(group, None)
        if consultation is not None:
            for question in consultation.waiting:
                del self._asker[question]

    def answered(self, answer: Answer) -> GroupKey | None:
        """Take an answer; the group that can now go on, None when it is an old story."""
        group = self._asker.pop(answer.question, None)
        if group is None:
            return None
        consultation = self._open[group]
        key, index = consultation.waiting.pop(answer.question)
        consultation.answers.setdefault(key, {})[index] = answer
        return None if consultation.waiting else group

    def ask(self, group: GroupKey, tentative: Tentative, pods: Sequence[Pod]) -> list[Ask] | None:
        """What must be asked before the group can be decided; None = everything is known.

        An empty list means that answers are still under way.

        Raises:
            PluginError: an extender that may not be ignored failed, or a plugin did.
        """
        version = tentative.snapshot.nodes.version
        consultation = self._open.get(group)
        if consultation is not None and consultation.version != version:
            rounds = consultation.rounds + 1
            if consultation.waiting or rounds <= _MOST_ROUNDS:
                self.drop(group)
                consultation = self._open[group] = _Consultation(version, rounds)
        if consultation is None:
            consultation = self._open[group] = _Consultation(version)
        asks: list[Ask] = []
        busy = {key for key, _ in consultation.waiting.values()}
        done: set[ClassKey] = set()
        for pod in pods:
            key = tentative.key(pod)
            if key in busy or key in done:
                continue
            done.add(key)
            question = self._next(consultation, key, pod, tentative)
            if question is not None:
                self._count += 1
                asks.append(question)
                consultation.waiting[question.question] = (key, question.extender)
                self._asker[question.question] = group
        return asks if consultation.waiting else None

    def _next(
        self, consultation: _Consultation, key: ClassKey, pod: Pod, tentative: Tentative
    ) -> Ask | None:
        """The next question about a class; leaves its opinions with `tentative` when done."""
        profile, nodes = tentative.profile, tentative.snapshot.nodes
        left = tentative.ranking(pod).mask
        opinions: list[Opinion] = []
        known = consultation.answers.get(key, {})
        for index, extender in enumerate(profile.extenders):
            wanted = extender.filter_verb or extender.prioritize_verb
            if not wanted or not extender.interested(pod) or not left.any():
                continue
            if index not in known:
                names = nodes.names
                return Ask(
                    question=f"{profile.name}/{self._count}",
                    profile=profile.name,
                    extender=index,
                    pod=pod,
                    nodes=tuple(names[row] for row in np.flatnonzero(left).tolist()),
                    filter=bool(extender.filter_verb),
                    prioritize=bool(extender.prioritize_verb),
                )
            verdict = _verdict(extender, known[index], nodes)
            if verdict is not None:
                opinions.append(Opinion(EXTENDER, verdict, extender.weight))
                left = left & verdict.feasible
        tentative.consulted(key, opinions)
        return None


def _verdict(extender: Extender, answer: Answer, nodes: Nodes) -> Verdict | None:
    """What an answer says of each row; None = nothing, because it failed and may be ignored."""
    if answer.problem:
        if extender.ignorable:
            return None
        raise PluginError(EXTENDER, "Filter", f"{extender.url}: {answer.problem}")
    feasible = np.ones(len(nodes), np.bool_)
    if answer.feasible is not None:
        feasible = nodes.named(answer.feasible)
    scores = np.zeros(len(nodes), np.int64)
    for name, score in answer.scores:
        row = nodes.row(name)
        if row is not None:
            scores[row] = score * _SCORE_SCALE
    reasons = {
        row: why
        for name, why in (*answer.refused, *answer.unresolvable)
        if (row := nodes.row(name)) is not None and why
    }
    return Verdict(feasible, scores, reasons)
