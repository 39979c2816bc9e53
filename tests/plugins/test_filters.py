# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each filter and score answers, in cases small enough to check by hand."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework.decide import NodeSet, Scores
from enbloc.framework.status import Code, Status
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import HostPort, NodeSelectorTerm, Pod, PodResourceClaim, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator
from enbloc.plugins.dynamic_resources.plugin import DynamicResources
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_declared_features import NodeDeclaredFeatures
from enbloc.plugins.node_name import NodeName
from enbloc.plugins.node_ports import NodePorts
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from enbloc.plugins.node_unschedulable import NodeUnschedulable
from enbloc.plugins.taint_toleration import TaintToleration
from enbloc.plugins.volume_binding.plugin import VolumeBinding
from tests.world.builders import node, pod, spec
from tests.world.tables import nodes, seated, snapshot

GiB = 2**30


def fit_score(member: Pod, table: Nodes) -> Scores:
    return NodeResourcesFit().pre_score(member, snapshot(table)).score(member, table)


# ── NodeResourcesFit ─────────────────────────────────────────────────────────────────────────


def test_a_pod_fits_where_every_request_is_free() -> None:
    table = nodes(node("a", cpu=4, nvidia_com__gpu=2), node("b", cpu=4), node("c", cpu=1))
    table.place(0, spec(cpu=3, nvidia_com__gpu=1))

    fits = NodeResourcesFit().filter

    assert fits(pod(spec(cpu=1, nvidia_com__gpu=1)), table).tolist() == [True, False, False]
    assert fits(pod(spec(cpu=2)), table).tolist() == [False, True, False]
    assert fits(pod(spec()), table).tolist() == [True, True, True]
    assert fits(pod(spec(amd_com__gpu=1)), table).tolist() == [False, False, False]


def test_a_pod_that_asks_for_nothing_fits_on_an_overcommitted_node() -> None:
    table = nodes(node("a", cpu=1))
    table.place(0, spec(cpu=4))

    assert NodeResourcesFit().filter(pod(spec()), table).tolist() == [True]
    assert NodeResourcesFit().filter(pod(spec(cpu="1m")), table).tolist() == [False]


def test_every_lacking_resource_is_a_reason() -> None:
    table = nodes(node("a", cpu=1, pods=0), node("b", cpu=1), node("c", cpu=8, memory="8Gi"))
    member, fit = pod(spec(cpu=2, memory="1Gi")), NodeResourcesFit()

    refused = ~fit.filter(member, table)

    assert fit.explain(member, table, refused) == Counter(
        {"Insufficient cpu": 2, "Insufficient memory": 2, "Too many pods": 1}
    )


@pytest.mark.parametrize(
    ("offers", "requests", "score"),
    [
        pytest.param({"cpu": 4, "memory": "4Gi"}, {"cpu": 1, "memory": "1Gi"}, 75, id="a quarter"),
        pytest.param({"cpu": 4, "memory": "8Gi"}, {"cpu": 2, "memory": "2Gi"}, 62, id="the mean"),
        pytest.param({"cpu": 3, "memory": "3Gi"}, {"cpu": 1, "memory": "1Gi"}, 66, id="truncated"),
        pytest.param({"cpu": 4}, {"cpu": 1}, 75, id="a resource that is not offered counts not"),
        pytest.param({"cpu": 1, "memory": "4Gi"}, {"cpu": 2, "memory": 0}, 50, id="too much is 0"),
        pytest.param({"cpu": 1, "memory": "2Gi"}, {}, 90, id="defaults for what is not mentioned"),
        pytest.param({}, {"cpu": 1}, 0, id="a node that offers nothing"),
    ],
)
def test_the_emptier_node_scores_higher(
    offers: dict[str, str], requests: dict[str, str], score: int
) -> None:
    table = nodes(node("a", **offers))

    assert fit_score(pod(spec(**requests)), table).tolist() == [score]


def test_placed_pods_count_in_scores_by_their_defaults() -> None:
    table = nodes(node("a", cpu=1, memory="2000Mi"))
    table.place(0, PodSpec())

    assert fit_score(pod(PodSpec()), table).tolist() == [80]


def test_scores_stay_exact_for_the_largest_machine() -> None:
    capacity = 2**56 - 1
    table = nodes(Node("a", allocatable=(("memory", capacity),)))
    tiny = PodSpec(nonzero_cpu=0, nonzero_memory=1)

    assert fit_score(pod(tiny), table).tolist() == [(capacity - 1) * 100 // capacity]


# ── the node object ──────────────────────────────────────────────────────────────────────────


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    table = nodes(node("a"), node("b"))

    assert NodeName().filter(pod(PodSpec(node_name="b")), table).tolist() == [False, True]
    assert NodeName().filter(pod(PodSpec(node_name="gone")), table).tolist() == [False, False]
    assert NodeName().filter(pod(), table).tolist() == [True, True]


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        (None, False),
        (Toleration("", TolerationOperator.EXISTS), True),
        (Toleration("node.kubernetes.io/unschedulable", TolerationOperator.EXISTS), True),
        (Toleration("node.kubernetes.io/unschedulable"), True),
        (Toleration("", TolerationOperator.EXISTS, effect=Effect.NO_EXECUTE), False),
    ],
)
def test_a_cordoned_node_takes_only_those_who_tolerate_it(
    toleration: Toleration | None, *, passes: bool
) -> None:
    table = nodes(replace(node("a"), unschedulable=True), node("b"))
    member = pod(PodSpec(tolerations=(toleration,) if toleration else ()))

    assert NodeUnschedulable().filter(member, table).tolist() == [passes, True]


def test_hard_taints_refuse_and_soft_ones_only_score() -> None:
    gpu = Taint("gpu", "a100", Effect.NO_SCHEDULE)
    drain = Taint("drain", "", Effect.NO_EXECUTE)
    soft = Taint("spot", "", Effect.PREFER_NO_SCHEDULE)
    table = nodes(
        replace(node("a"), taints=(gpu,)),
        replace(node("b"), taints=(gpu, drain)),
        replace(node("c"), taints=(soft,)),
        node("d"),
    )
    tolerant = PodSpec(tolerations=(Toleration("gpu", TolerationOperator.EXISTS),))
    taints = TaintToleration()

    assert taints.filter(pod(), table).tolist() == [False, False, True, True]
    assert taints.filter(pod(tolerant), table).tolist() == [True, False, True, True]
    assert taints.score(pod(), table).tolist() == [0, 0, 1, 0]
    assert taints.normalize(taints.score(pod(), table)).tolist() == [100, 100, 0, 100]


def test_a_toleration_of_a_hard_effect_does_not_soften_a_soft_taint() -> None:
    table = nodes(replace(node("a"), taints=(Taint("x", "", Effect.PREFER_NO_SCHEDULE),)))
    hard = Toleration("x", TolerationOperator.EXISTS, effect=Effect.NO_SCHEDULE)
    either = Toleration("x", TolerationOperator.EXISTS)

    def score(toleration: Toleration) -> list[int]:
        return TaintToleration().score(pod(PodSpec(tolerations=(toleration,))), table).tolist()

    assert score(hard) == [1]
    assert score(either) == [0]


def test_selector_and_any_term_must_hold() -> None:
    table = nodes(
        Node("a", labels=(("disk", "ssd"), ("zone", "1"))),
        Node("b", labels=(("zone", "1"),)),
        Node("c", labels=(("disk", "ssd"), ("zone", "2"))),
    )
    zone_2 = NodeSelectorTerm((Requirement("zone", Operator.IN, ("2",)),))
    by_name = NodeSelectorTerm(fields=(Requirement("metadata.name", Operator.IN, ("a",)),))
    not_a = NodeSelectorTerm(fields=(Requirement("metadata.name", Operator.NOT_IN, ("a",)),))
    other_field = NodeSelectorTerm(fields=(Requirement("spec.podCIDR", Operator.IN, ("a",)),))

    def mask(*terms: NodeSelectorTerm, selector: tuple[tuple[str, str], ...] = ()) -> list[bool]:
        of = PodSpec(node_selector=selector, node_affinity=terms)
        return NodeAffinity().filter(pod(of), table).tolist()

    assert mask(zone_2, by_name) == [True, False, True]
    assert mask(zone_2, not_a, selector=(("disk", "ssd"),)) == [False, False, True]
    assert mask(NodeSelectorTerm()) == [False, False, False]
    assert mask(other_field) == [False, False, False]
    assert mask() == [False, False, False]


def test_terms_that_exclude_each_other_s_names_refuse_the_pod_as_a_whole() -> None:
    both = NodeSelectorTerm(
        fields=tuple(Requirement("metadata.name", Operator.IN, (name,)) for name in "ab")
    )
    facts = snapshot(nodes(node("a"), node("b")))

    answer = NodeAffinity().pre_filter(pod(PodSpec(node_affinity=(both,))), facts)

    assert answer == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "pod affinity terms conflict")


def test_a_pod_without_constraints_is_not_asked_about() -> None:
    assert NodeAffinity().pre_filter(pod(), snapshot(nodes(node("a")))) is None


def test_terms_that_all_name_nodes_leave_only_those_in_question() -> None:
    a, b = (
        NodeSelectorTerm(fields=(Requirement("metadata.name", Operator.IN, (name,)),))
        for name in "ab"
    )
    zone = NodeSelectorTerm((Requirement("zone", Operator.IN, ("1",)),))
    facts, affinity = snapshot(nodes(node("a"), node("b"))), NodeAffinity()

    def answer(*terms: NodeSelectorTerm) -> object:
        return affinity.pre_filter(pod(PodSpec(node_affinity=terms)), facts)

    assert answer(a, b) == NodeSet(frozenset("ab"), affinity)
    assert answer(a, zone) is affinity
    assert answer() is affinity


def test_the_profile_s_affinity_holds_for_every_pod_and_is_blamed_first() -> None:
    table = nodes(
        Node("a", labels=(("disk", "ssd"), ("zone", "1"))),
        Node("b", labels=(("disk", "ssd"),)),
        Node("c", labels=(("zone", "1"),)),
        Node("d"),
    )
    enforced = NodeAffinity((NodeSelectorTerm((Requirement("zone", Operator.IN, ("1",)),)),))
    member = pod(PodSpec(node_selector=(("disk", "ssd"),)))

    mask = enforced.filter(member, table)

    assert enforced.pre_filter(pod(), snapshot(table)) is enforced
    assert mask.tolist() == [True, False, False, False]
    assert enforced.explain(member, table, ~mask) == {
        "node(s) didn't match scheduler-enforced node affinity": 2,
        "node(s) didn't match Pod's node affinity/selector": 1,
    }
    assert NodeAffinity(()).filter(pod(), table).tolist() == [False] * 4


@pytest.mark.parametrize(
    ("fit", "feasible"),
    [
        pytest.param(NodeResourcesFit(), False, id="nothing is ignored"),
        pytest.param(
            NodeResourcesFit(ignored_resources=frozenset({"example.com/foo"})), True, id="the name"
        ),
        pytest.param(
            NodeResourcesFit(ignored_resource_groups=frozenset({"example.com"})),
            True,
            id="its group",
        ),
        pytest.param(
            NodeResourcesFit(ignored_resource_groups=frozenset({"example"})),
            False,
            id="a part of it",
        ),
        pytest.param(
            NodeResourcesFit(ignored_resources=frozenset({"cpu"})), False, id="another name"
        ),
    ],
)
def test_an_ignored_extended_resource_is_not_looked_at(
    fit: NodeResourcesFit, *, feasible: bool
) -> None:
    table, member = nodes(node("a", cpu=1)), pod(spec(example_com__foo=1))

    mask = fit.filter(member, table)

    assert mask.tolist() == [feasible]
    assert sum(fit.explain(member, table, ~mask).values()) == (not feasible)


@pytest.mark.parametrize("name", ["cpu", "kubernetes.io/batch-cpu", "requests.example.com/x"])
def test_only_extended_resources_can_be_ignored(name: str) -> None:
    group = name.partition("/")[0]
    fit = NodeResourcesFit(frozenset({name}), frozenset({group}))

    assert not fit.filter(pod(PodSpec(((name, 1), ("pods", 1)))), nodes(node("a")))[0]


def test_a_pod_goes_where_the_features_that_it_needs_are_declared() -> None:
    table = nodes(Node("a", features=("X", "Y")), Node("b", features=("X",)), Node("c"))
    features, member = NodeDeclaredFeatures(), pod(PodSpec(features=("X", "Y")))

    assert features.pre_filter(pod(), snapshot(table)) is None
    assert features.pre_filter(member, snapshot(table)) is features
    assert features.filter(member, table).tolist() == [True, False, False]


# ── NodePorts ────────────────────────────────────────────────────────────────────────────────

ANY = "0.0.0.0"
HTTP = HostPort(ANY, "TCP", 80)


def on(*ports: HostPort) -> Pod:
    return pod(PodSpec(host_ports=ports))


@pytest.mark.parametrize(
    ("held", "free"),
    [
        pytest.param(HTTP, False, id="the same port"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), False, id="the port of one address"),
        pytest.param(HostPort("::", "TCP", 80), False, id="the port of a literal ::"),
        pytest.param(HostPort(ANY, "UDP", 80), True, id="another protocol"),
        pytest.param(HostPort(ANY, "TCP", 81), True, id="another port"),
    ],
)
def test_a_port_of_every_address_conflicts_with_that_of_any(held: HostPort, *, free: bool) -> None:
    table = nodes(node("a"), node("b"))
    evaluator = NodePorts().pre_filter(on(HTTP), seated(table, (on(held), "a")))

    assert evaluator is not None
    assert evaluator.filter(on(HTTP), table).tolist() == [free, True]


@pytest.mark.parametrize(
    ("held", "free"),
    [
        pytest.param(HTTP, False, id="every address"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), False, id="the same address"),
        pytest.param(HostPort("10.0.0.2", "TCP", 80), True, id="another address"),
        pytest.param(HostPort("::", "TCP", 80), True, id=":: is an address like any other"),
    ],
)
def test_a_port_of_one_address_conflicts_with_its_own(held: HostPort, *, free: bool) -> None:
    table, member = nodes(node("a")), on(HostPort("10.0.0.1", "TCP", 80))
    evaluator = NodePorts().pre_filter(member, seated(table, (on(held), "a")))

    assert evaluator is not None
    assert evaluator.filter(member, table).tolist() == [free]


def test_a_pod_that_wants_no_port_is_not_asked_about() -> None:
    assert NodePorts().pre_filter(pod(), snapshot(nodes(node("a")))) is None


_ports = st.builds(
    HostPort, st.sampled_from((ANY, "10.0.0.1", "::")), st.sampled_from(("TCP", "UDP")),
    st.sampled_from((80, 81)),
)  # fmt: skip
_holders = st.lists(_ports, max_size=2).map(lambda ports: on(*ports))


@given(
    wanted=st.lists(_ports, min_size=1, max_size=2),
    first=st.lists(st.tuples(_holders, st.sampled_from("ab")), max_size=4),
    second=st.lists(st.tuples(_holders, st.sampled_from("ab")), max_size=4),
    gone=st.integers(0, 4),
)
def test_pods_that_come_and_go_leave_ports_as_if_they_were_seen_at_once(
    wanted: list[HostPort],
    first: list[tuple[Pod, str]],
    second: list[tuple[Pod, str]],
    gone: int,
) -> None:
    table, member = nodes(node("a"), node("b")), on(*wanted)
    told = NodePorts().pre_filter(member, seated(table, *first))
    fresh = NodePorts().pre_filter(member, seated(table, *first[gone:], *second))
    assert told is not None
    assert fresh is not None

    for other, name in second:
        before = told.filter(member, table)
        mattered = told.placed(other, "ab".index(name))
        assert mattered or (told.filter(member, table) == before).all()
    for other, name in first[:gone]:
        told.removed(other, "ab".index(name))

    assert told.filter(member, table).tolist() == fresh.filter(member, table).tolist()


# ── claims ───────────────────────────────────────────────────────────────────────────────────


def test_a_pod_whose_claims_do_not_exist_is_refused_by_name() -> None:
    facts = snapshot(nodes(node("a")))
    volume = replace(pod(), claims=("data", "logs"))
    device = pod(PodSpec(resource_claims=(PodResourceClaim("gpu"), PodResourceClaim("nic"))))

    assert VolumeBinding().pre_filter(pod(), facts) is None
    assert VolumeBinding().pre_filter(volume, facts) == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        'persistentvolumeclaim "data" not found',
    )
    assert DynamicResources().pre_filter(pod(), facts) is None
    assert DynamicResources().pre_filter(device, facts) == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        f'pod "{device.key}": ResourceClaim not created yet',
    )
