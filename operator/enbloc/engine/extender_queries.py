# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extender queries: what to ask about a group, and what their answers mean for a ranking.

An extender is a question to the outside, so a decision that needs one is put off: the group is
parked, holding nothing, until each class of its members has been through the extenders in order.
Then it is decided, once, with their answers; our own filters are asked again at that time, so an
answer may be a little old, never dangerous. Nodes that changed meanwhile make the group ask anew,
a few times at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from enbloc.engine.effects import Ask
from enbloc.engine.events import Answer
from enbloc.engine.trial import ClassKey, NodeView, Opinion, Trial
from enbloc.errors import PluginError
from enbloc.framework.extenders import Extender
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: By this name extenders appear among the plugins that refused. Source: kube-scheduler v1.36
#: pkg/scheduler/framework/types.go ExtenderName.
EXTENDER: Final = "Extender"

#: What an extender's score of 10 is worth, before its weight.
_SCORE_SCALE: Final = 10

#: Further from 0 no score is kept: all beyond 10 are invalid, and none may overflow.
_MOST_SCORE: Final = 2**31

#: Of a node for which it had no words of its own.
_REASON: Final = "node(s) were refused by an extender"

_MOST_ROUNDS: Final = 3


@dataclass(slots=True)
class _Query:
    """What one group has asked, and the answers so far.

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


class ExtenderQueries:
    """The open questions of all groups."""

    def __init__(self) -> None:
        #: By group, what was asked about it since it was last decided.
        self._open: dict[GroupKey, _Query] = {}
        #: By question that is not answered, the group that it is about.
        self._asker: dict[str, GroupKey] = {}
        #: How many questions there have been.
        self._count = 0

    def drop(self, group: GroupKey) -> None:
        """The group has its decision, or is gone: answers that come now mean nothing."""
        query = self._open.pop(group, None)
        if query is not None:
            for question in query.waiting:
                del self._asker[question]

    def answered(self, answer: Answer) -> GroupKey | None:
        """Take an answer; the group that can now go on, None when nobody waits for it."""
        group = self._asker.pop(answer.question, None)
        if group is None:
            return None
        query = self._open[group]
        key, index = query.waiting.pop(answer.question)
        query.answers.setdefault(key, {})[index] = answer
        return None if query.waiting else group

    def ask(self, group: GroupKey, trial: Trial, pods: Sequence[Pod]) -> list[Ask] | None:
        """What must be asked before the group can be decided; None = everything is known.

        An empty list means that answers are still under way.

        Raises:
            PluginError: an extender that may not be ignored failed, or a plugin did.
        """
        if not trial.profile.extenders:
            return None
        version = trial.snapshot.nodes.version
        query = self._open.get(group)
        if query is not None and query.version != version:
            rounds = query.rounds + 1
            if query.waiting or rounds <= _MOST_ROUNDS:
                self.drop(group)
                query = self._open[group] = _Query(version, rounds)
        if query is None:
            query = self._open[group] = _Query(version)
        asks: list[Ask] = []
        busy = {key for key, _ in query.waiting.values()}
        done: set[ClassKey] = set()
        for pod in pods:
            key = trial.key(pod)
            if key in busy or key in done:
                continue
            done.add(key)
            question = self._next(query, key, pod, trial)
            if question is not None:
                self._count += 1
                asks.append(question)
                query.waiting[question.question] = (key, question.extender)
                self._asker[question.question] = group
        return asks if query.waiting else None

    def _next(self, query: _Query, key: ClassKey, pod: Pod, trial: Trial) -> Ask | None:
        """The next question about a class; leaves its opinions with `trial` when done."""
        profile, nodes = trial.profile, trial.snapshot.nodes
        left = trial.ranking(pod).mask
        opinions: list[Opinion] = []
        known = query.answers.get(key, {})
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
            view = _view(extender, known[index], nodes)
            if view is not None:
                opinions.append(Opinion(EXTENDER, view, extender.weight))
                left = left & view.feasible
        trial.consulted(key, opinions)
        return None


def _view(extender: Extender, answer: Answer, nodes: Nodes) -> NodeView | None:
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
            scores[row] = min(max(score, -_MOST_SCORE), _MOST_SCORE) * _SCORE_SCALE
    said = {name: why for name, why in (*answer.refused, *answer.unresolvable) if why}
    names = nodes.names
    reasons = {row: said.get(names[row], _REASON) for row in np.flatnonzero(~feasible).tolist()}
    return NodeView(feasible, scores, reasons)
