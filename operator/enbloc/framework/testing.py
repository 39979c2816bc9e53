# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""check_plugin: the plugin contract as properties, for plugin authors' own tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enbloc.framework import decide
from enbloc.framework.reads import Reads
from enbloc.framework.status import Status
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import Placed
from enbloc.model.pods import NodeSelectorTerm, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.snapshot import Snapshot
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator

_KEYS = ("zone", "disk", "example.com/x")
_VALUES = ("a", "b", "7", "true")
_RESOURCES: tuple[str, ...] = ("cpu", "memory", "nvidia.com/gpu")

_pairs = st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES), max_size=3).map(
    lambda found: tuple(sorted(found.items()))
)
_amounts = st.dictionaries(st.sampled_from(_RESOURCES), st.integers(0, 9), max_size=3)
_taints = st.lists(
    st.builds(
        Taint, st.sampled_from(_KEYS), st.sampled_from(_VALUES), st.sampled_from(list(Effect))
    ),
    max_size=2,
).map(tuple)
_tolerations = st.lists(
    st.builds(
        Toleration,
        st.sampled_from(("", *_KEYS)),
        st.sampled_from(list(TolerationOperator)),
        st.sampled_from(_VALUES),
        st.sampled_from((None, *Effect)),
    ),
    max_size=2,
).map(tuple)
_requirements = st.builds(
    Requirement,
    st.sampled_from(_KEYS),
    st.sampled_from(list(Operator)),
    st.lists(st.sampled_from(_VALUES), min_size=1, max_size=2).map(tuple),
)
_fields = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from((Operator.IN, Operator.NOT_IN)),
    st.sampled_from([(f"node-{index}",) for index in range(8)]),
)
_terms = st.builds(
    NodeSelectorTerm,
    st.lists(_requirements, max_size=2).map(tuple),
    st.lists(_fields, max_size=1).map(tuple),
)


def _sorted(amounts: dict[Any, int], **more: int) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, value) for name, value in {**amounts, **more}.items() if value))


def pod_specs() -> st.SearchStrategy[PodSpec]:
    """Classes of pods: requests, selectors, affinity, tolerations, a demanded node."""
    return st.builds(
        PodSpec,
        requests=_amounts.map(lambda amounts: _sorted(amounts, pods=1)),
        nonzero_cpu=st.integers(0, 9),
        nonzero_memory=st.integers(0, 9),
        node_selector=_pairs,
        node_affinity=st.none() | st.lists(_terms, max_size=2).map(tuple),
        tolerations=_tolerations,
        node_name=st.sampled_from(("", "", "", "node-1")),
    )


def pods() -> st.SearchStrategy[Pod]:
    """Pending pods."""
    return pod_specs().map(
        lambda spec: Pod(PodKey("default", "pod"), PodUID("pod"), spec, scheduler="enbloc")
    )


@st.composite
def tables(draw: st.DrawFn, *, max_nodes: int = 6) -> Nodes:
    """Node tables, with pods placed on some of their rows."""
    nodes = Nodes(ResourceSpace())
    for index in range(draw(st.integers(0, max_nodes))):
        node = Node(
            name=f"node-{index}",
            uid=str(index),
            labels=draw(_pairs),
            taints=draw(_taints),
            unschedulable=draw(st.booleans()),
            allocatable=_sorted(draw(_amounts), pods=draw(st.integers(0, 3))),
        )
        nodes.put(node)
    if len(nodes):
        rows = st.integers(0, len(nodes) - 1)
        for row, spec in draw(st.lists(st.tuples(rows, pod_specs()), max_size=6)):
            nodes.place(row, spec)
    return nodes


def check_plugin(plugin: decide.Plugin, *, examples: int = 200) -> None:
    """Assert what every plugin promises, on random pods and clusters.

    Shape and dtype; the same answer to the same question; no writes into what it was given; and,
    unless it reads CLUSTER, the row-wise law:
    `filter(pod, nodes)[rows] == filter(pod, nodes.take(rows))`, for `score` as well.

    Raises:
        AssertionError: the law that is broken, with the smallest example found.
    """

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        derandomize=True,
        database=None,
    )
    @given(pod=pods(), nodes=tables(), data=st.data())
    def holds(pod: Pod, nodes: Nodes, data: Any) -> None:
        frozen = nodes.snapshot()
        size = len(frozen)
        chosen = data.draw(st.lists(st.integers(0, size - 1), unique=True) if size else st.just([]))
        _check_filter(plugin, pod, frozen, sorted(chosen))
        _check_score(plugin, pod, frozen, sorted(chosen))

    holds()


def _snapshot(nodes: Nodes) -> Snapshot:
    return Snapshot(nodes, Placed().snapshot())


def _check_filter(plugin: object, pod: Pod, nodes: Nodes, rows: Sequence[int]) -> None:
    evaluator: object = plugin
    if isinstance(plugin, decide.PreFilter):
        evaluator = plugin.pre_filter(pod, _snapshot(nodes))
    if isinstance(evaluator, decide.NodeSet):
        evaluator = evaluator.then
    if evaluator is None or isinstance(evaluator, Status):
        return
    if not isinstance(evaluator, decide.Filter):
        assert not isinstance(plugin, decide.PreFilter), "pre_filter gave what cannot filter"
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
        part = nodes.take(np.array(rows, dtype=np.int64))
        assert (evaluator.filter(pod, part) == mask[list(rows)]).all(), (
            "filter is not row-wise; declare reads = Reads.CLUSTER"
        )


def _check_score(plugin: object, pod: Pod, nodes: Nodes, rows: Sequence[int]) -> None:
    scorer: object = plugin
    if isinstance(plugin, decide.PreScore):
        scorer = plugin.pre_score(pod, _snapshot(nodes))
    if not isinstance(scorer, decide.Score):
        assert scorer is None or not isinstance(plugin, decide.PreScore), (
            "pre_score gave what cannot score"
        )
        return
    scores = scorer.score(pod, nodes)
    kind = scores.dtype
    assert kind in (np.int64, np.float64), f"score must give int64 or float64, gave {kind}"
    assert scores.shape == (len(nodes),), f"score must give one number a row, gave {scores.shape}"
    assert np.isfinite(scores).all(), "score gave NaN or infinity"
    assert (scores == scorer.score(pod, nodes)).all(), "score answers differently when repeated"
    if scorer.reads is not Reads.CLUSTER:
        part = nodes.take(np.array(rows, dtype=np.int64))
        assert (scorer.score(pod, part) == scores[list(rows)]).all(), (
            "score is not row-wise; declare reads = Reads.CLUSTER"
        )
    normalizer = scorer if isinstance(scorer, decide.NormalizeScore) else plugin
    final = scores
    if isinstance(normalizer, decide.NormalizeScore):
        final = normalizer.normalize(scores)
    if len(nodes):
        assert final.min() >= 0, f"a final score is {final.min()}, below 0"
        assert final.max() <= decide.MAX_NODE_SCORE, f"a final score is {final.max()}, above 100"
