# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""check_plugin: the plugin contract as property tests, for plugin authors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from enbloc.framework import decide
from enbloc.framework.declarations import misdeclared
from enbloc.framework.facts import GroupFacts
from enbloc.framework.observations import Expired, NodeNote, Observation
from enbloc.framework.points import lacks, unmet
from enbloc.framework.reads import Reads
from enbloc.framework.status import Code, Status
from enbloc.framework.strategies import (
    Cluster,
    clusters,
    group_facts,
    observed,
    pod_specs,
    pods,
    seats,
    tables,
)
from enbloc.ledgers import Ledgers
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.resources import ResourceSpace
from enbloc.model.snapshot import Snapshot

__all__ = ["check_plugin", "pod_specs", "pods", "table", "tables"]

Rows = npt.NDArray[np.int64]
Change = tuple[int, Pod]


def table(*nodes: Node) -> Nodes:
    """A node table of these nodes in this order, for a plugin's own tests."""
    made = Nodes(ResourceSpace(), Ledgers())
    for node in nodes:
        made.put(node)
    return made.snapshot()


def check_plugin(plugin: decide.Plugin, *, examples: int = 200) -> None:
    """Assert that a plugin keeps the plugin contract, on random pods and clusters.

    Each method has the attributes without which it is never called. The plugin answers whatever
    labels and declared annotations say, with the right shape and dtype; it gives the same answer to
    the same question, about groups too, and does not modify its arguments. If it does not read
    CLUSTER, it is row-wise: `filter(pod, nodes)[rows] == filter(pod, nodes.take(rows))`, and so for
    `score`. After pods came and went (it is told if it is `TracksPods`), it answers like a new one;
    so does a fork, and what a fork is told does not change its origin.

    For a plugin that observes: memories with the same observations give the same answers, reading
    changes nothing, `expire` moves a deadline that was reached, and names each gang that is then
    refused fewer nodes.

    Raises:
        AssertionError: the law that is broken, with the smallest example found.
    """
    missing = unmet(plugin)
    assert not missing, f"a method is never asked: {'; '.join(missing.values())}"
    wrong = misdeclared(plugin)
    assert not wrong, wrong
    keys = _annotation_keys(plugin)

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
    )
    @given(pod=pods(annotations=keys), cluster=clusters(annotations=keys), data=st.data())
    def holds(pod: Pod, cluster: Cluster, data: Any) -> None:
        size = len(cluster.nodes)
        chosen = data.draw(st.lists(st.integers(0, size - 1), unique=True) if size else st.just([]))
        rows = np.array([*sorted(chosen), *chosen[::2]], dtype=np.int64)  # some of them twice
        facts = cluster.snapshot()
        _check_filter(_evaluator(plugin, pod, facts), pod, facts.nodes, rows)
        scorer = _scorer(plugin, pod, facts)
        _check_score(plugin, scorer, pod, facts.nodes, rows)
        _check_changes(plugin, pod, cluster, data.draw(seats(size, "coming")))
        group = data.draw(group_facts(pod, keys))
        _check_group_answers(plugin, pod, group)
        if isinstance(plugin, decide.Observes):
            _check_memory(plugin, group, facts.nodes, data.draw(observed(pod, group.key)))

    holds()


def _annotation_keys(plugin: object) -> tuple[str, ...]:
    """A key for each prefix that a plugin declares."""
    declared = plugin.annotations if isinstance(plugin, decide.ReadsAnnotations) else ()
    return tuple(f"{prefix}x" if prefix.endswith("/") else prefix for prefix in declared)


def _evaluator(plugin: object, pod: Pod, facts: Snapshot) -> decide.Filter | None:
    """The evaluator that filters this pod; None if there is none."""
    evaluator: object = plugin
    if isinstance(plugin, decide.PreFilter):
        evaluator = plugin.pre_filter(pod, facts)
        if isinstance(evaluator, decide.NodeSet):
            evaluator = evaluator.then
        if evaluator is None or isinstance(evaluator, Status):
            return None
        assert isinstance(evaluator, decide.Filter), _cannot("pre_filter", evaluator, decide.Filter)
    return evaluator if isinstance(evaluator, decide.Filter) else None


def _cannot(method: str, given: object, *protocols: type[object]) -> str:
    """The message that a method returned an object of the wrong kind, and what that lacks."""
    texts = [text for protocol in protocols if (text := lacks(given, protocol))]
    verb = method.removeprefix("pre_")
    why = f"its method {texts[0]}" if texts else f"it has no method `{verb}`"
    return f"{method} gave what cannot {verb}: {type(given).__name__}, {why}"


def _scorer(plugin: object, pod: Pod, facts: Snapshot) -> decide.Score | decide.ScoreAmong | None:
    """The evaluator that scores this pod; None if there is none."""
    scorer: object = plugin
    if isinstance(plugin, decide.PreScore):
        scorer = plugin.pre_score(pod, facts)
        if scorer is None:
            return None
        assert isinstance(scorer, decide.Score | decide.ScoreAmong), _cannot(
            "pre_score", scorer, decide.Score, decide.ScoreAmong
        )
    return scorer if isinstance(scorer, decide.Score | decide.ScoreAmong) else None


def _check_filter(evaluator: decide.Filter | None, pod: Pod, nodes: Nodes, rows: Rows) -> None:
    if evaluator is None:
        return
    mask = evaluator.filter(pod, nodes)
    assert mask.dtype == np.bool_, f"filter must give bool, gave {mask.dtype}"
    assert mask.shape == (len(nodes),), f"filter must give one bool a row, gave {mask.shape}"
    assert (mask == evaluator.filter(pod, nodes)).all(), "filter answers differently when repeated"
    if isinstance(evaluator, decide.Explain):
        refused = ~mask
        counts = evaluator.explain(pod, nodes, refused)
        assert sum(counts.values()) >= int(refused.sum()), "explain leaves refused rows out"
    if evaluator.reads is not Reads.CLUSTER:
        assert (evaluator.filter(pod, nodes.take(rows)) == mask[rows]).all(), (
            "filter is not row-wise; declare reads = Reads.CLUSTER"
        )


def _asked(
    scorer: decide.Score | decide.ScoreAmong, pod: Pod, nodes: Nodes
) -> Callable[[], decide.Scores]:
    """A function that asks for the scores of all nodes, every second of them feasible."""
    if isinstance(scorer, decide.ScoreAmong):
        feasible = np.arange(len(nodes)) % 2 == 0
        return lambda: scorer.score_among(pod, nodes, feasible.copy())
    return lambda: scorer.score(pod, nodes)


def _check_score(
    plugin: object,
    scorer: decide.Score | decide.ScoreAmong | None,
    pod: Pod,
    nodes: Nodes,
    rows: Rows,
) -> None:
    if scorer is None:
        return
    question = _asked(scorer, pod, nodes)
    scores = question()
    kind = scores.dtype
    assert kind in (np.int64, np.float64), f"score must give int64 or float64, gave {kind}"
    assert scores.shape == (len(nodes),), f"score must give one number a row, gave {scores.shape}"
    assert np.isfinite(scores).all(), "score gave NaN or infinity"
    assert (scores == question()).all(), "score answers differently when repeated"
    if isinstance(scorer, decide.ScoreAmong):
        assert scorer.reads is Reads.CLUSTER, "score_among looks at all rows; read CLUSTER"
        scores = scores[::2]
    elif scorer.reads is not Reads.CLUSTER:
        assert (scorer.score(pod, nodes.take(rows)) == scores[rows]).all(), (
            "score is not row-wise; declare reads = Reads.CLUSTER"
        )
    normalizer = scorer if isinstance(scorer, decide.NormalizeScore) else plugin
    final = scores
    if isinstance(normalizer, decide.NormalizeScore):
        final = normalizer.normalize(scores)
        if getattr(normalizer, "by_extremes", False):
            _check_extremes(normalizer, scores)
    if len(final):
        assert final.min() >= 0, f"a final score is {final.min()}, below 0"
        assert final.max() <= decide.MAX_NODE_SCORE, f"a final score is {final.max()}, above 100"


def _check_extremes(normalizer: decide.NormalizeScore, scores: decide.Scores) -> None:
    """Assert that scores between the extremes do not influence how others are normalised."""
    if not len(scores):
        return
    kept = (scores == scores.min()) | (scores == scores.max())
    kept[::2] = True
    assert (normalizer.normalize(scores[kept]) == normalizer.normalize(scores)[kept]).all(), (
        "normalize looks at more than the least and the greatest; leave by_extremes out"
    )


class _Evaluators(NamedTuple):
    """The evaluators that filter and score a pod."""

    evaluator: decide.Filter | None
    scorer: decide.Score | decide.ScoreAmong | None

    @classmethod
    def of(cls, plugin: object, pod: Pod, facts: Snapshot) -> "_Evaluators":
        return cls(_evaluator(plugin, pod, facts), _scorer(plugin, pod, facts))

    def told(self) -> list[decide.TracksPods]:
        """The evaluators that are told of changes, each once."""
        return [each for each in {id(each): each for each in self}.values() if _hears(each)]

    def fork(self) -> "_Evaluators | None":
        """A copy; None if an evaluator that is told of changes cannot be copied."""
        forks: dict[int, Any] = {}
        for each in self.told():
            if not isinstance(each, decide.Forks):
                return None
            forks[id(each)] = each.fork()
        return _Evaluators(*(forks.get(id(each), each) for each in self))

    def says(self, pod: Pod, nodes: Nodes) -> tuple[list[bool], list[float]]:
        """The mask and the scores; empty where there is no evaluator."""
        mask = [] if self.evaluator is None else self.evaluator.filter(pod, nodes).tolist()
        return mask, [] if self.scorer is None else _asked(self.scorer, pod, nodes)().tolist()


def _hears(value: object) -> TypeGuard[decide.TracksPods]:
    return isinstance(value, decide.TracksPods)


def _check_changes(plugin: object, pod: Pod, cluster: Cluster, seated: list[Change]) -> None:
    """Assert that after pods came and went, earlier evaluators answer like new ones.

    So does a fork, which is told that some of them went before its origin is.
    """
    asked = _Evaluators.of(plugin, pod, cluster.snapshot())
    for row, other in seated:
        cluster.place(other, row)
        for each in asked.told():
            ignored = isinstance(each, decide.Ignores) and each.ignores(other)
            assert each.placed(other, row) is False or not ignored, (
                "ignores said of a pod that it makes no difference, placed did not"
            )
    between = cluster.snapshot().nodes
    fork = asked.fork()
    said = asked.says(pod, between)
    if fork is not None:
        assert fork.says(pod, between) == said, "a fork answers otherwise than its origin"
    for row, other in seated[::2]:
        cluster.remove(other, row)
        for each in fork.told() if fork is not None else ():
            each.removed(other, row)
    assert asked.says(pod, between) == said, "what a fork hears changes what its origin answers"
    for row, other in seated[::2]:
        for each in asked.told():
            each.removed(other, row)
    now = cluster.snapshot()
    fresh = _Evaluators.of(plugin, pod, now)
    _check_answers(asked, fresh, pod, now.nodes, "one made anew")
    if fork is not None:
        _check_answers(fork, fresh, pod, now.nodes, "one made anew, where it is a fork")


def _check_answers(
    asked: _Evaluators, fresh: _Evaluators, pod: Pod, nodes: Nodes, whom: str
) -> None:
    if asked.evaluator is None:
        assert fresh.evaluator is None, (
            "pre_filter skipped a pod, and would not after pods came and went"
        )
    elif fresh.evaluator is not None:
        assert (asked.evaluator.filter(pod, nodes) == fresh.evaluator.filter(pod, nodes)).all(), (
            f"after pods that came and went, filter answers otherwise than {whom}"
        )
    if asked.scorer is None:
        assert fresh.scorer is None, (
            "pre_score skipped a pod, and would not after pods came and went"
        )
    elif fresh.scorer is not None:
        scores = _asked(asked.scorer, pod, nodes)()
        assert np.allclose(scores, _asked(fresh.scorer, pod, nodes)()), (
            f"after pods that came and went, score answers otherwise than {whom}"
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """A plan to ask Permit about."""

    nodes: tuple[tuple[Pod, str], ...]
    id: str = "plan-1"


def _check_group_answers(plugin: object, pod: Pod, facts: GroupFacts) -> None:
    """Assert that answers about whole groups have the right type, and are repeatable."""
    questions: dict[str, Callable[[], object]] = {}
    if isinstance(plugin, decide.PreEnqueue):
        questions["pre_enqueue"] = lambda: plugin.pre_enqueue(facts.group, facts)
    if isinstance(plugin, decide.Permit):
        plan = _Plan(((pod, "node-0"),))
        questions["permit"] = lambda: plugin.permit(plan, facts)
    for name, question in questions.items():
        answer = question()
        assert isinstance(answer, Status), f"{name} must give a Status, gave {answer!r}"
        waits = answer.code is Code.WAIT
        assert name == "permit" or not waits, f"{name} cannot wait; refuse, and name events"
        assert answer == question(), f"{name} answers differently when repeated"
    if isinstance(plugin, decide.QueueSort) and facts.group is not None:
        key = plugin.sort_key(facts.group, facts)
        assert isinstance(key, tuple), f"sort_key must give a tuple, gave {key!r}"
        assert key == plugin.sort_key(facts.group, facts), "sort_key answers differently"


def _check_memory(
    plugin: decide.Observes,
    facts: GroupFacts,
    nodes: Nodes,
    happened: list[tuple[float, Observation]],
) -> None:
    """Assert that a memory depends on its observations alone, and that refusals end as it says."""
    memory, silent = plugin.new_memory(), plugin.new_memory()
    assert memory is not silent, "new_memory must give another object each time"
    now = 1000.0
    for pause, observation in happened:
        refused, _, _ = _said(memory, facts, nodes, now)
        now += pause
        ended = _kept_deadline(memory, now)
        _kept_deadline(silent, now)
        left, _, _ = _said(memory, facts, nodes, now)
        assert left.keys() >= refused.keys() or {facts.key, None} & set(ended), (
            "a gang is refused fewer nodes as time passes, and expire does not name it"
        )
        for each in (memory, silent):
            notes = each.observe(observation, now)
            kinds = {type(note) for note in notes} if _is_sequence(notes) else {type(notes)}
            assert kinds <= {NodeNote}, f"observe must give NodeNotes, gave {notes!r}"
            _kept_deadline(each, now)
    assert _said(memory, facts, nodes, now) == _said(silent, facts, nodes, now), (
        "a memory that was asked differs from one that was told the same, and was not asked"
    )


def _said(
    memory: decide.NodeMemory, facts: GroupFacts, nodes: Nodes, now: float
) -> tuple[dict[str, str], dict[str, int], float | None]:
    """All that a memory can be asked, checked."""
    refused: dict[str, str] = {}
    scores: dict[str, int] = {}
    deadline = None
    if isinstance(memory, decide.MemoryFilter):
        refused, deadline = dict(memory.refused(facts, nodes, now)), memory.deadline()
        assert all(refused.values()), f"refused must give a reason for each node, gave {refused}"
    if isinstance(memory, decide.MemoryScore):
        scores = dict(memory.scores(facts, nodes, now))
        fine = all(0 <= score <= decide.MAX_NODE_SCORE for score in scores.values())
        assert fine, f"scores must give 0 to 100, gave {scores}"
    return refused, scores, deadline


def _kept_deadline(memory: decide.NodeMemory, now: float) -> tuple[GroupKey | None, ...]:
    """Expire a memory if its deadline has come; the groups whose refusals that ended."""
    if not isinstance(memory, decide.MemoryFilter):
        return ()
    deadline = memory.deadline()
    if deadline is None or deadline > now:
        return ()
    expired = memory.expire(now)
    assert isinstance(expired, Expired), f"expire must give Expired, gave {expired!r}"
    later = memory.deadline()
    assert later is None or later > now, "expire leaves a deadline that is past"
    return expired.groups


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence)
