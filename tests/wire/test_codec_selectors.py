# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors, affinity and spreading as the codec reads them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.pods import NodeSelectorTerm, Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.wire import codec
from enbloc.wire.objects import (
    NamespaceObject,
    NodeAffinityObject,
    PodObject,
    ReplicaSetObject,
    ReplicationControllerObject,
    ServiceObject,
    StatefulSetObject,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEB = Selector((Requirement("app", Operator.IN, ("web",)),))
ZONE = NodeSelectorTerm((Requirement("zone", Operator.EXISTS),))


def read(spec: dict[str, Any]) -> Pod:
    metadata = {"name": "p", "namespace": "n", "uid": "u"}
    return codec.pod(msgspec.convert({"metadata": metadata, "spec": spec}, PodObject))


def preferred(weight: int, *expressions: dict[str, Any]) -> dict[str, Any]:
    return {"weight": weight, "preference": {"matchExpressions": list(expressions)}}


# ── node affinity ────────────────────────────────────────────────────────────────────────────


def test_preferred_node_affinity_leaves_out_what_prefers_nothing() -> None:
    zone = {"key": "zone", "operator": "Exists"}
    terms = [preferred(7, zone), preferred(0, zone), preferred(9), {"weight": 5}]

    made = read({"affinity": {"nodeAffinity": {PREFERRED: terms}}})

    assert made.problem == ""
    assert made.spec.preferred_node_affinity == ((7, ZONE),)
    assert made.spec.node_affinity is None


def test_a_weight_of_zero_is_not_read_any_further() -> None:
    made = read({"affinity": {"nodeAffinity": {PREFERRED: [preferred(0, {"operator": "Near"})]}}})

    assert made.problem == ""


def test_node_affinity_is_read_outside_a_pod_too() -> None:
    near = {"key": "a", "operator": "Near"}
    given_affinity = {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [near]}]},
        PREFERRED: [preferred(3, {"key": "zone", "operator": "Exists"})],
    }

    required, wished, problems = codec.node_affinity(
        msgspec.convert(given_affinity, NodeAffinityObject), "addedAffinity"
    )

    assert required == (NodeSelectorTerm(),)
    assert wished == ((3, ZONE),)
    (problem,) = problems
    assert problem.startswith(f"addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]")
    assert codec.node_affinity(NodeAffinityObject()) == (None, (), [])


# ── pod affinity ─────────────────────────────────────────────────────────────────────────────


def test_pod_affinity_and_anti_affinity_are_read() -> None:
    web = {"matchLabels": {"app": "web"}}
    term = {"topologyKey": "zone", "labelSelector": web, "namespaces": ["b", "a"]}
    affinity = {
        "podAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 9, "podAffinityTerm": term}]},
        "podAntiAffinity": {REQUIRED: [{"topologyKey": "host"}], PREFERRED: None},
    }

    made = read({"affinity": affinity})

    wanted = PodAffinityTerm("zone", WEB, ("a", "b"))
    assert made.problem == ""
    assert made.spec.pod_affinity == PodAffinity((wanted,), ((9, wanted),))
    assert made.spec.pod_anti_affinity == PodAffinity((PodAffinityTerm("host"),))


@pytest.mark.parametrize(
    ("selector", "read_as"),
    [
        pytest.param(None, None, id="none selects nothing"),
        pytest.param({}, Selector(), id="an empty one selects everything"),
        pytest.param(
            {"matchLabels": {}, "matchExpressions": None}, Selector(), id="so does one of nulls"
        ),
        pytest.param({"matchLabels": {"app": "web"}}, WEB, id="labels"),
        pytest.param(
            {
                "matchLabels": {"b": "2", "a": "1"},
                "matchExpressions": [
                    {"key": "d", "operator": "DoesNotExist"},
                    {"key": "c", "operator": "NotIn", "values": ["x", "y"]},
                ],
            },
            Selector(
                (
                    Requirement("a", Operator.IN, ("1",)),
                    Requirement("b", Operator.IN, ("2",)),
                    Requirement("d", Operator.DOES_NOT_EXIST),
                    Requirement("c", Operator.NOT_IN, ("x", "y")),
                )
            ),
            id="labels and expressions",
        ),
    ],
)
def test_a_missing_selector_is_not_an_empty_one(
    selector: dict[str, Any] | None, read_as: Selector | None
) -> None:
    term = {"topologyKey": "zone", "labelSelector": selector, "namespaceSelector": selector}

    made = read({"affinity": {"podAffinity": {REQUIRED: [term]}}})

    assert made.spec.pod_affinity.required == (
        PodAffinityTerm("zone", read_as, namespace_selector=read_as),
    )


# ── spreading ────────────────────────────────────────────────────────────────────────────────


def test_spread_constraints_are_read_with_their_defaults() -> None:
    least = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    full = {
        "topologyKey": "host",
        "maxSkew": 3,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "minDomains": 4,
        "matchLabelKeys": ["pod-template-hash"],
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
    }
    nulls = dict.fromkeys(
        ("labelSelector", "minDomains", "matchLabelKeys", "nodeAffinityPolicy", "nodeTaintsPolicy")
    )

    made = read({"topologySpreadConstraints": [least, full, {**least, **nulls}]})

    assert made.problem == ""
    assert made.spec.spread == (
        SpreadConstraint("zone"),
        SpreadConstraint(
            "host",
            max_skew=3,
            hard=False,
            selector=WEB,
            min_domains=4,
            match_label_keys=("pod-template-hash",),
            honour_affinity=False,
            honour_taints=True,
        ),
        SpreadConstraint("zone"),
    )


# ── what cannot be read ──────────────────────────────────────────────────────────────────────


def node_expression(**expression: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", **expression}]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


def node_field(**expression: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", **expression}]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


def near_pods(**term: Any) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", **term}]}}}


def spread(**constraint: Any) -> dict[str, Any]:
    good = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [good, {**good, **constraint}]}


NODE = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
WISH = f"spec.affinity.nodeAffinity.{PREFERRED}[0]"
ANTI = f"spec.affinity.podAntiAffinity.{REQUIRED}[0]"
SPREAD = "spec.topologySpreadConstraints[1]"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            node_expression(operator="Near"),
            f'{NODE}.matchExpressions[0].operator: unknown "Near"; use one of In, NotIn, Exists, '
            "DoesNotExist, Gt, Lt",
            id="an operator that nobody knows",
        ),
        pytest.param(
            node_expression(operator="In", values=[]),
            f"{NODE}.matchExpressions[0].values: In needs at least one",
            id="In nothing",
        ),
        pytest.param(
            node_expression(operator="Exists", values=["x"]),
            f"{NODE}.matchExpressions[0].values: Exists needs none; leave them out",
            id="Exists with values",
        ),
        pytest.param(
            node_expression(operator="Gt", values=["7x"]),
            f"{NODE}.matchExpressions[0].values: Gt needs exactly one integer",
            id="greater than what is no number",
        ),
        pytest.param(
            node_expression(operator="Lt", values=["1", "2"]),
            f"{NODE}.matchExpressions[0].values: Lt needs exactly one integer",
            id="less than two numbers",
        ),
        pytest.param(
            node_field(operator="Exists"),
            f'{NODE}.matchFields[0].operator: unknown "Exists"; use one of In, NotIn',
            id="an operator that fields do not have",
        ),
        pytest.param(
            node_field(operator="In", values=["a", "b"]),
            f'{NODE}.matchFields: must be metadata.name with one value, is "metadata.name"',
            id="two names at once",
        ),
        pytest.param(
            node_field(operator="In", key="spec.unschedulable", values=["true"]),
            f'{NODE}.matchFields: must be metadata.name with one value, is "spec.unschedulable"',
            id="a field that cannot be matched",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {PREFERRED: [preferred(101, {"operator": "In"})]}}},
            f"{WISH}.weight: 101 is not between 1 and 100",
            id="a wish too heavy",
        ),
        pytest.param(
            near_pods(topologyKey=""), f"{ANTI}.topologyKey: missing; name a label", id="no key"
        ),
        pytest.param(
            near_pods(labelSelector={"matchExpressions": [{"key": "a", "operator": "Gt"}]}),
            f"{ANTI}.labelSelector.matchExpressions[0].operator: "
            'unknown "Gt"; use one of In, NotIn, Exists, DoesNotExist',
            id="an operator that label selectors do not have",
        ),
        pytest.param(
            near_pods(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
            f"{ANTI}.namespaceSelector.matchExpressions[0].values: In needs at least one",
            id="namespaces with no value",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}},
            f"spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.topologyKey: missing",
            id="a wish without a term",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {PREFERRED: [{"podAffinityTerm": {"topologyKey": "zone"}}]}
                }
            },
            f"spec.affinity.podAffinity.{PREFERRED}[0].weight: 0 is not between 1 and 100",
            id="a wish without weight",
        ),
        pytest.param(
            spread(topologyKey=""), f"{SPREAD}.topologyKey: missing", id="spread without a key"
        ),
        pytest.param(
            spread(maxSkew=0), f"{SPREAD}.maxSkew: 0 is below 1; use 1 or more", id="no skew"
        ),
        pytest.param(
            spread(minDomains=-1), f"{SPREAD}.minDomains: -1 is below 1", id="too few domains"
        ),
        pytest.param(
            spread(whenUnsatisfiable="Perhaps"),
            f'{SPREAD}.whenUnsatisfiable: unknown "Perhaps"; use DoNotSchedule or ScheduleAnyway',
            id="an action that nobody knows",
        ),
        pytest.param(
            spread(nodeTaintsPolicy="honor"),
            f'{SPREAD}.nodeTaintsPolicy: unknown "honor"; use Honor or Ignore',
            id="a policy that nobody knows",
        ),
        pytest.param(
            spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "?"}]}),
            f'{SPREAD}.labelSelector.matchExpressions[0].operator: unknown "?"',
            id="a selector that cannot be read",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_field(spec: dict[str, Any], problem: str) -> None:
    made = read(spec)

    assert made.problem.startswith(problem)
    assert "; spec." not in made.problem


def test_what_cannot_be_read_counts_as_absent() -> None:
    assert read(spread(maxSkew=0)).spec.spread == (SpreadConstraint("zone"),)
    assert not read(near_pods(topologyKey="")).spec.pod_anti_affinity
    assert read(node_expression(operator="Near")).spec.node_affinity == (NodeSelectorTerm(),)


words = st.sampled_from(("", "In", "NotIn", "Exists", "Gt", "Near", "Honor", "ScheduleAnyway"))
texts = st.none() | st.lists(st.sampled_from(("", "1", "x")), max_size=2)
expressions = st.none() | st.lists(
    st.fixed_dictionaries({"key": words, "operator": words, "values": texts}), max_size=2
)
selectors = st.none() | st.fixed_dictionaries(
    {"matchExpressions": expressions},
    optional={"matchLabels": st.dictionaries(words, words, max_size=2)},
)
numbers = st.integers(-(2**31), 2**31 - 1)
pod_terms = st.fixed_dictionaries(
    {},
    optional={
        "topologyKey": words,
        "labelSelector": selectors,
        "namespaces": texts,
        "namespaceSelector": selectors,
    },
)
pod_affinities = st.none() | st.fixed_dictionaries(
    {},
    optional={
        REQUIRED: st.none() | st.lists(pod_terms, max_size=2),
        PREFERRED: st.lists(
            st.fixed_dictionaries(
                {}, optional={"weight": numbers, "podAffinityTerm": st.none() | pod_terms}
            ),
            max_size=2,
        ),
    },
)
node_terms = st.fixed_dictionaries(
    {}, optional={"matchExpressions": expressions, "matchFields": expressions}
)
node_affinities = st.none() | st.fixed_dictionaries(
    {},
    optional={
        REQUIRED: st.fixed_dictionaries(
            {"nodeSelectorTerms": st.none() | st.lists(node_terms, max_size=2)}
        ),
        PREFERRED: st.lists(
            st.fixed_dictionaries(
                {}, optional={"weight": numbers, "preference": st.none() | node_terms}
            ),
            max_size=2,
        ),
    },
)
spreads = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "topologyKey": words,
            "maxSkew": numbers,
            "whenUnsatisfiable": words,
            "labelSelector": selectors,
            "minDomains": st.none() | numbers,
            "matchLabelKeys": texts,
            "nodeAffinityPolicy": st.none() | words,
            "nodeTaintsPolicy": st.none() | words,
        },
    ),
    max_size=2,
)


@given(node_affinities, pod_affinities, pod_affinities, spreads)
def test_reading_is_total_and_gives_only_what_can_be_used(
    node: Any, near: Any, far: Any, constraints: Any
) -> None:
    affinity = {"nodeAffinity": node, "podAffinity": near, "podAntiAffinity": far}
    spec = read({"affinity": affinity, "topologySpreadConstraints": constraints}).spec

    for affinities in (spec.pod_affinity, spec.pod_anti_affinity):
        assert all(term.topology_key for term in affinities.terms)
        assert all(1 <= weight <= 100 for weight, _ in affinities.preferred)
    for weight, term in spec.preferred_node_affinity:
        assert 1 <= weight <= 100
        assert term != NodeSelectorTerm()
    for constraint in spec.spread:
        assert constraint.topology_key
        assert min(constraint.max_skew, constraint.min_domains) >= 1
    assert hash(spec) == hash(read({"affinity": affinity,
                                    "topologySpreadConstraints": constraints}).spec)  # fmt: skip


# ── namespaces, and what has a selector ──────────────────────────────────────────────────────


def test_a_namespace_has_labels() -> None:
    labels = {"team": "ml", "kubernetes.io/metadata.name": "n"}
    made = msgspec.convert({"metadata": {"name": "n", "labels": labels}}, NamespaceObject)

    assert codec.namespace_labels(made) == tuple(sorted(labels.items()))
    assert codec.namespace_labels(NamespaceObject()) == ()


@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        (None, None),
        ({"selector": None}, None),
        ({"selector": {}}, Selector()),
        ({"selector": {"app": "web"}}, WEB),
    ],
)
def test_services_and_replication_controllers_select_by_labels(
    spec: dict[str, Any] | None, selector: Selector | None
) -> None:
    document = {"metadata": {"name": "x"}, "spec": spec}

    assert codec.service_selector(msgspec.convert(document, ServiceObject)) == selector
    controller = msgspec.convert(document, ReplicationControllerObject)
    assert codec.controller_selector(controller) == selector


@pytest.mark.parametrize("kind", [ReplicaSetObject, StatefulSetObject])
@pytest.mark.parametrize(
    ("spec", "selector"),
    [
        (None, None),
        ({}, None),
        ({"selector": {"matchLabels": {"app": "web"}}}, WEB),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            Selector((Requirement("a", Operator.EXISTS),)),
        ),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}, None),
    ],
)
def test_replica_sets_and_stateful_sets_have_a_label_selector(
    kind: type[ReplicaSetObject] | type[StatefulSetObject],
    spec: dict[str, Any] | None,
    selector: Selector | None,
) -> None:
    assert codec.controller_selector(msgspec.convert({"spec": spec}, kind)) == selector
