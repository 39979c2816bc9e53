# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extender queries: what to ask extenders about a group, and how answers affect a ranking.

An extender is outside the process, so a decision that needs one is put off: the group is parked,
holding nothing, until the extenders have been asked, in order, about each class of its members.
Then it is decided, once, with their answers. The profile's own filters are asked again at that
time, so an answer may be a little old, but never dangerous. If nodes change meanwhile, the group
asks again, a few times at most.

The same applies to victims for a pod without a group: the pod is parked, evicting nothing, until
the extenders involved were asked; then victims are sought again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine.effects import AskExtender
from enbloc.engine.events import ExtenderAnswer
from enbloc.engine.preemption import (
    NodeCandidate,
    NodeCandidates,
    Preemption,
    importance,
    preempt_for_pod,
)
from enbloc.engine.trial import MOST_OF_EXTENDERS, ClassKey, NodeView, Opinion, Trial
from enbloc.errors import PluginError
from enbloc.framework.extenders import Extender, NodeVictims
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: The name of extenders among the plugins that refused. Source: kube-scheduler v1.36
#: pkg/scheduler/framework/types.go ExtenderName.
EXTENDER: Final = "Extender"

#: What an extender's score of 1 is worth, before its weight.
_SCORE_SCALE: Final = 10

#: For a node without a reason of its own.
_REASON: Final = "node(s) were refused by an extender"

_MOST_ROUNDS: Final = 3

#: The message if extenders leave no node. Source: kube-scheduler v1.36
#: pkg/scheduler/framework/preemption/preemption.go Evaluator.Preempt.
_NO_CANDIDATE: Final = "no candidate node for preemption"


@dataclass(slots=True)
class _Query:
    """What one group has asked, and the answers so far.

    Attributes:
        version: of the node table that the questions were about.
        waiting: questions without an answer yet; None = about victims, not about a class.
        answers: per class, by index of the extender.
        asked: the candidates asked about, by index of the extender.
        victims: the answers about them.
        changes: how often the candidates differed from those of an answer.
    """

    version: int
    rounds: int = 1
    waiting: dict[str, tuple[ClassKey | None, int]] = field(
        default_factory=dict[str, tuple[ClassKey | None, int]]
    )
    answers: dict[ClassKey, dict[int, ExtenderAnswer]] = field(
        default_factory=dict[ClassKey, dict[int, ExtenderAnswer]]
    )
    asked: dict[int, Sequence[NodeVictims]] = field(
        default_factory=dict[int, Sequence[NodeVictims]]
    )
    victims: dict[int, ExtenderAnswer] = field(default_factory=dict[int, ExtenderAnswer])
    changes: int = 0


class _Narrowed(NamedTuple):
    """The candidates that an extender leaves; or why there are no victims, "" = no reason."""

    left: Sequence[NodeCandidate] = ()
    problem: str = ""


class ExtenderQueries:
    """The open questions of all groups."""

    def __init__(self) -> None:
        #: By group, what was asked since its last decision.
        self._open: dict[GroupKey, _Query] = {}
        #: By open question, its group.
        self._asker: dict[str, GroupKey] = {}
        #: The number of questions so far.
        self._count = 0

    def drop(self, group: GroupKey) -> None:
        """Drop a group that is decided or gone: later answers are ignored."""
        query = self._open.pop(group, None)
        if query is not None:
            for question in query.waiting:
                del self._asker[question]

    def answered(self, answer: ExtenderAnswer) -> GroupKey | None:
        """Record an answer; return the group that can now go on, None = none waits for it."""
        group = self._asker.pop(answer.question, None)
        if group is None:
            return None
        query = self._open[group]
        key, index = query.waiting.pop(answer.question)
        answers = query.victims if key is None else query.answers.setdefault(key, {})
        answers[index] = answer
        return None if query.waiting else group

    def ask(self, group: GroupKey, trial: Trial, pods: Sequence[Pod]) -> list[AskExtender] | None:
        """Return what must be asked before the group can be decided; None = everything is known.

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
        asks: list[AskExtender] = []
        busy = {key for key, _ in query.waiting.values()}
        done: set[ClassKey] = set()
        for pod in pods:
            key = trial.key(pod)
            if key in busy or key in done:
                continue
            done.add(key)
            question = self._next(query, key, pod, trial)
            if question is not None:
                asks.append(question)
                self._sent(group, key, question)
        return asks if query.waiting else None

    def _sent(self, group: GroupKey, key: ClassKey | None, question: AskExtender) -> None:
        self._count += 1
        self._open[group].waiting[question.question] = (key, question.extender)
        self._asker[question.question] = group

    def _next(self, query: _Query, key: ClassKey, pod: Pod, trial: Trial) -> AskExtender | None:
        """Return the next question about a class; store its opinions in `trial` when done."""
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
                return AskExtender(
                    question=f"{profile.name}/{self._count}",
                    profile=profile.name,
                    extender=index,
                    pod=pod,
                    nodes=tuple(names[row] for row in np.flatnonzero(left).tolist()),
                    filter=bool(extender.filter_verb),
                    prioritize=bool(extender.prioritize_verb),
                )
            view = _view(extender, known[index], nodes, len(profile.extenders))
            if view is not None:
                opinions.append(Opinion(EXTENDER, view, extender.weight))
                left = left & view.feasible
        trial.consulted(key, opinions)
        return None

    def consult(
        self, group: GroupKey, profile: Profile, pod: Pod, found: NodeCandidates
    ) -> tuple[Preemption, AskExtender | None]:
        """Return the victims for a pod, or what extenders must be asked first.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/preemption/preemption.go
        Evaluator.callExtenders.

        Args:
            group: that of the pod, after `ask` has returned that everything is known.
            profile: of the pod.
            pod: it fits nowhere.
            found: where it would fit, and without which victims.
        """
        left, message = found.nodes, found.message
        for index, extender in enumerate(profile.extenders):
            if not left or not extender.judges_victims(pod):
                continue
            answer = self._answer_about(group, index, left)
            if answer is None:
                question = self._ask_about(group, index, left, profile, pod)
                return Preemption(steps=found.steps), question
            narrowed = _narrowed(extender, answer, left)
            if not narrowed.problem:
                left, message = narrowed.left, f"preemption: {_NO_CANDIDATE}"
            elif not extender.ignorable:
                left, message = (), f"preemption: {extender.url}: {narrowed.problem}"
        return preempt_for_pod(pod, NodeCandidates(left, message, found.steps)), None

    def _answer_about(
        self, group: GroupKey, index: int, left: Sequence[NodeCandidate]
    ) -> ExtenderAnswer | None:
        """Return what an extender said about some candidates; None = it must be asked."""
        query = self._open[group]
        answer = query.victims.get(index)
        if answer is None or query.asked[index] == _shown(left):
            return answer
        query.changes += 1
        return answer if query.changes >= _MOST_ROUNDS else None

    def _ask_about(
        self,
        group: GroupKey,
        index: int,
        left: Sequence[NodeCandidate],
        profile: Profile,
        pod: Pod,
    ) -> AskExtender:
        shown = self._open[group].asked[index] = _shown(left)
        victims = (each for one in left for unit in one.victims for each in unit.pods)
        question = AskExtender(
            question=f"{profile.name}/{self._count}",
            profile=profile.name,
            extender=index,
            pod=pod,
            candidates=shown,
            victims=tuple({each.uid: each for each in victims}.values()),
        )
        self._sent(group, None, question)
        return question


def _shown(candidates: Sequence[NodeCandidate]) -> tuple[NodeVictims, ...]:
    return tuple(each.shown() for each in candidates)


def _narrowed(
    extender: Extender, answer: ExtenderAnswer, left: Sequence[NodeCandidate]
) -> _Narrowed:
    """Return the candidates that an extender leaves; a gang with a named pod goes whole."""
    if answer.problem:
        return _Narrowed(problem=answer.problem)
    said = {each.node: each for each in answer.candidates}
    found: list[NodeCandidate] = []
    for candidate in left:
        chosen = said.get(candidate.node)
        if chosen is None:
            continue
        unit_of = {pod.uid: unit for unit in candidate.units for pod in unit.pods}
        if not unit_of.keys() >= set(chosen.pods):
            text = f'it names a pod that is not of lower priority on node "{candidate.node}"'
            return _Narrowed(problem=text)
        victims = {unit_of[uid] for uid in chosen.pods}
        if victims:
            order = tuple(sorted(victims, key=importance))
            found.append(replace(candidate, victims=order, violations=chosen.violations))
        elif not extender.ignorable:
            text = f'expected at least one victim pod on node "{candidate.node}"'
            return _Narrowed(problem=text)
    return _Narrowed(found)


def _view(
    extender: Extender, answer: ExtenderAnswer, nodes: Nodes, extenders: int
) -> NodeView | None:
    """Return what an answer says of each row; None = nothing: it failed and may be ignored.

    As in kube-scheduler, its scores need not be 0 to 10: only their differences count.

    Source: kube-scheduler v1.36 pkg/scheduler/schedule_one.go prioritizeNodes.

    Args:
        extender: it has answered.
        answer: to a question about a class.
        nodes: the table.
        extenders: how many the profile has.
    """
    if answer.problem:
        if extender.ignorable:
            return None
        raise PluginError(EXTENDER, "Filter", f"{extender.url}: {answer.problem}")
    feasible = np.ones(len(nodes), np.bool_)
    if answer.feasible is not None:
        feasible = nodes.named(answer.feasible)
    scores = np.zeros(len(nodes), np.int64)
    most = MOST_OF_EXTENDERS // (extenders * max(extender.weight, 1))
    bound = most // (2 * _SCORE_SCALE)
    for name, score in answer.scores:
        row = nodes.row(name)
        if row is not None:
            scores[row] = min(max(score, -bound), bound) * _SCORE_SCALE
    # A total below 0 would mean that the node is not feasible.
    scores -= min(int(scores.min(initial=0)), 0)
    said = {name: why for name, why in (*answer.refused, *answer.unresolvable) if why}
    names = nodes.names
    reasons = {row: said.get(names[row], _REASON) for row in np.flatnonzero(~feasible).tolist()}
    return NodeView(feasible, scores, reasons, highest=MOST_OF_EXTENDERS)
