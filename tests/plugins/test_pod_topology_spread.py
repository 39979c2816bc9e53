# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodTopologySpread: who is counted where, and what that refuses and prefers."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pins import HOSTNAME
from enbloc.model.pods import NodeSelectorTerm, Owner, Pod, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator
from enbloc.model.workloads import WorkloadKey, Workloads
from enbloc.plugins.pod_topology_spread.constraints import ZONE
from enbloc.plugins.pod_topology_spread.filter import SpreadFilter
from enbloc.plugins.pod_topology_spread.plugin import PodTopologySpread
from enbloc.plugins.pod_topology_spread.score import SpreadScore
from tests.plugins.spreading import (
    EVERY_POD,
    LISTED,
    NO_KEY,
    SKEWED,
    SPREAD,
    WEB,
    each,
    fits,
    raw,
    web,
    zones,
)
from tests.world.builders import labelled
from tests.world.tables import nodes, seated

# ── DoNotSchedule ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("counts", "max_skew", "expected"),
    [
        pytest.param((0, 0, 0), 1, [True, True, True], id="an empty cluster takes it anywhere"),
        pytest.param((1, 0, 0), 1, [False, True, True], id="one more would be two ahead"),
        pytest.param((1, 1, 1), 1, [True, True, True], id="level again"),
        pytest.param((3, 1, 2), 1, [False, True, False], id="only the emptiest zone"),
        pytest.param((3, 1, 2), 2, [False, True, True], id="a skew of two allows a step more"),
        pytest.param((3, 1, 2), 3, [True, True, True], id="a skew of three allows them all"),
    ],
)
def test_a_zone_may_be_ahead_of_the_emptiest_by_the_skew(
    counts: tuple[int, ...], max_skew: int, expected: list[bool]
) -> None:
    table = zones(a="1", b="2", c="3")
    seats = [seat for name, count in zip("abc", counts, strict=True)
             for seat in each(count, web(), name)]  # fmt: skip

    assert fits(web(replace(SPREAD, max_skew=max_skew)), seated(table, *seats)) == expected


def test_a_zone_s_pods_count_on_all_of_its_nodes() -> None:
    facts = seated(zones(a="1", b="1", c="2", d="2"), (web(), "a"))

    assert fits(web(SPREAD), facts) == [False, False, True, True]


def test_a_pod_that_does_not_match_its_own_selector_adds_nothing() -> None:
    facts = seated(zones(a="1", b="2"), *each(1, web(), "a"))

    assert fits(web(SPREAD, labels=()), facts) == [True, True]
    assert fits(web(SPREAD), facts) == [False, True]


@pytest.mark.parametrize(
    ("other", "counted"),
    [
        pytest.param(web(), True, id="a pod like it"),
        pytest.param(web(namespace="elsewhere"), False, id="a pod of another namespace"),
        pytest.param(web(deleting=True), False, id="a terminating pod"),
        pytest.param(web(labels=(("app", "db"),)), False, id="a pod with another label"),
        pytest.param(web(labels=()), False, id="a pod without labels"),
    ],
)
def test_only_live_pods_of_the_namespace_that_match_are_counted(
    other: Pod, *, counted: bool
) -> None:
    facts = seated(zones(a="1", b="2"), (other, "a"))

    assert fits(web(SPREAD), facts) == [not counted, True]


def test_an_empty_selector_counts_every_pod_of_the_namespace_and_none_counts_no_pod() -> None:
    facts = seated(zones(a="1", b="2"), (web(labels=()), "a"))

    assert fits(web(SpreadConstraint("zone", selector=EVERY_POD)), facts) == [False, True]
    assert fits(web(SpreadConstraint("zone", selector=None)), facts) == [True, True]


def test_too_few_domains_for_min_domains_make_the_minimum_zero() -> None:
    facts = seated(zones(a="1", b="2"), (web(), "a"), (web(), "b"))

    assert fits(web(replace(SPREAD, min_domains=2)), facts) == [True, True]
    assert fits(web(replace(SPREAD, min_domains=3)), facts) == [False, False]


def test_a_node_without_the_key_is_refused_and_its_pods_do_not_count() -> None:
    facts = seated(zones(a="1", b="2", c=None), (web(), "c"), (web(), "a"))
    member = web(SPREAD)
    evaluator = PodTopologySpread().pre_filter(member, facts)
    assert evaluator is not None

    mask = evaluator.filter(member, facts.nodes)

    assert mask.tolist() == [False, True, False]
    assert evaluator.explain(member, facts.nodes, ~mask) == Counter({SKEWED: 1, NO_KEY: 1})


def test_nodes_that_lack_any_constraint_s_key_count_for_none_of_them() -> None:
    table = nodes(
        labelled("a", zone="1", rack="x"),
        labelled("b", zone="2"),
        labelled("c", zone="3", rack="y"),
    )
    facts = seated(table, (web(), "b"), (web(), "c"))
    both = web(SPREAD, SpreadConstraint("rack", selector=WEB))

    # Zone 2 is no domain, so a and c decide the minimum; b lacks the rack.
    assert fits(both, facts) == [True, False, False]


def test_each_refused_node_counts_under_the_first_constraint_that_it_breaks() -> None:
    table = nodes(
        labelled("a", zone="1", rack="x"),
        labelled("b", zone="1"),
        labelled("c", rack="y"),
        labelled("d", zone="2", rack="y"),
    )
    facts = seated(table, (web(), "a"))
    member = web(SPREAD, SpreadConstraint("rack", selector=WEB))
    evaluator = PodTopologySpread().pre_filter(member, facts)
    assert evaluator is not None
    mask = evaluator.filter(member, table)

    assert mask.tolist() == [False, False, False, True]
    # b is skewed by its zone before its rack is looked at.
    assert evaluator.explain(member, table, ~mask) == Counter({SKEWED: 2, NO_KEY: 1})


@pytest.mark.parametrize(
    ("honour", "expected"),
    [
        pytest.param(True, [True, True, True], id="Honor: zone 3 is out of reach, no minimum"),
        pytest.param(False, [False, False, True], id="Ignore: zone 3 is the emptiest"),
    ],
)
def test_node_affinity_policy_says_which_nodes_are_domains(
    *, honour: bool, expected: list[bool]
) -> None:
    table = nodes(
        labelled("a", zone="1", disk="ssd"),
        labelled("b", zone="2", disk="ssd"),
        labelled("c", zone="3"),
    )
    facts = seated(table, (web(), "a"), (web(), "b"))
    member = web(
        replace(SPREAD, honour_affinity=honour), spec={"node_selector": (("disk", "ssd"),)}
    )

    assert fits(member, facts) == expected


def test_pods_on_nodes_that_required_affinity_excludes_are_not_counted() -> None:
    table = nodes(
        labelled("a", zone="1", disk="ssd"),
        labelled("b", zone="1"),
        labelled("c", zone="2", disk="ssd"),
    )
    ssd = NodeSelectorTerm((Requirement("disk", Operator.EXISTS),))
    facts = seated(table, (web(), "b"))

    assert fits(web(SPREAD, spec={"node_affinity": (ssd,)}), facts) == [True, True, True]
    assert fits(web(SPREAD), facts) == [False, False, True]


@pytest.mark.parametrize(
    ("honour", "toleration", "effect", "expected"),
    [
        pytest.param(False, None, Effect.NO_SCHEDULE, [False, True], id="Ignore: taints count not"),
        pytest.param(True, None, Effect.NO_SCHEDULE, [True, True], id="Honor: a tainted zone"),
        pytest.param(True, None, Effect.NO_EXECUTE, [True, True], id="Honor: NoExecute as well"),
        pytest.param(
            True, None, Effect.PREFER_NO_SCHEDULE, [False, True], id="Honor: a soft taint is none"
        ),
        pytest.param(
            True,
            Toleration("gpu", TolerationOperator.EXISTS),
            Effect.NO_SCHEDULE,
            [False, True],
            id="Honor: a tolerated taint",
        ),
    ],
)
def test_node_taints_policy_says_which_nodes_are_domains(
    *, honour: bool, toleration: Toleration | None, effect: Effect, expected: list[bool]
) -> None:
    table = nodes(
        labelled("a", zone="1"),
        replace(labelled("b", zone="2"), taints=(Taint("gpu", "", effect),)),
    )
    facts = seated(table, (web(), "a"))
    member = web(
        replace(SPREAD, honour_taints=honour),
        spec={"tolerations": (toleration,) if toleration else ()},
    )

    assert fits(member, facts) == expected


def test_a_node_that_a_policy_excludes_is_judged_by_its_domain_all_the_same() -> None:
    table = nodes(
        labelled("a", zone="1", disk="ssd"),
        labelled("b", zone="1"),
        labelled("c", zone="2", disk="ssd"),
    )
    facts = seated(table, (web(), "a"))
    member = web(SPREAD, spec={"node_selector": (("disk", "ssd"),)})

    assert fits(member, facts) == [False, False, True]


def test_match_label_keys_narrow_the_selector_by_the_pod_s_own_values() -> None:
    spread = replace(SPREAD, match_label_keys=("revision", "absent"))
    old = web(labels=(("app", "web"), ("revision", "1")))
    new = web(spread, labels=(("app", "web"), ("revision", "2")))
    facts = seated(zones(a="1", b="2"), (old, "a"))

    assert fits(new, facts) == [True, True]
    assert fits(replace(new, labels=old.labels), facts) == [False, True]
    assert fits(web(spread), facts) == [False, True], "a key that the pod lacks says nothing"


def test_a_pod_without_hard_constraints_is_not_filtered() -> None:
    facts = seated(zones(a="1"))

    assert PodTopologySpread().pre_filter(web(), facts) is None
    assert PodTopologySpread().pre_filter(web(replace(SPREAD, hard=False)), facts) is None


# ── defaults ─────────────────────────────────────────────────────────────────────────────────


def service(selector: Selector = WEB) -> Workloads:
    workloads = Workloads()
    workloads.put(WorkloadKey("Service", "default", "web"), selector)
    return workloads


def test_listed_defaults_spread_what_a_service_selects() -> None:
    facts = seated(zones(a="1", b="2"), (web(), "a"), workloads=service())

    assert fits(web(), facts, LISTED) == [False, True]
    assert LISTED.pre_filter(web(labels=()), facts) is None, "nothing selects it"
    assert LISTED.pre_filter(web(), seated(zones(a="1"))) is None, "there is no Service"
    assert PodTopologySpread().pre_filter(web(), facts) is None, "the system's are soft"


def test_a_pod_with_any_constraint_of_its_own_gets_no_defaults() -> None:
    facts = seated(zones(a="1", b="2"), (web(), "a"), workloads=service())

    assert LISTED.pre_filter(web(replace(SPREAD, hard=False)), facts) is None
    assert PodTopologySpread().pre_score(web(SPREAD), facts) is None


def test_the_owner_is_part_of_the_class_when_its_selector_is_part_of_the_defaults() -> None:
    owned = web(owner=Owner("ReplicaSet", "web-1", "u"))
    system = PodTopologySpread()

    assert system.signature(owned) == ("ReplicaSet", "web-1")
    assert system.signature(replace(owned, owner=Owner("Job", "j", "u"))) is None
    assert system.signature(web()) is None
    assert system.signature(replace(owned, spec=PodSpec(spread=(SPREAD,)))) is None
    assert PodTopologySpread("List").signature(owned) is None


# ── ScheduleAnyway ───────────────────────────────────────────────────────────────────────────

SOFT = replace(SPREAD, hard=False)


def test_a_zone_scores_by_its_pods_times_the_logarithm_of_the_zones() -> None:
    seats = (*each(3, web(), "a"), *each(1, web(), "b"), *each(4, web(), "c"))
    facts = seated(zones(a="1", b="1", c="2"), *seats)

    # ln(2 zones + 2) = 1.386…: 4 pods each.
    assert raw(web(SOFT), facts) == [6, 6, 6]
    assert raw(web(replace(SOFT, max_skew=5)), facts) == [10, 10, 10]
    # One feasible zone: ln(3) = 1.0986…; the pods of infeasible nodes count.
    assert raw(web(SOFT), facts, feasible=[True, False, False])[0] == round(4 * math.log(3))


def test_a_host_name_counts_the_node_s_own_pods_whatever_the_policies_say() -> None:
    table = nodes(
        Node("a", labels=((HOSTNAME, "a"),)),
        Node("b", labels=((HOSTNAME, "a"),)),
        Node("c", labels=((HOSTNAME, "c"),), taints=(Taint("gpu"),)),
    )
    by_host = SpreadConstraint(HOSTNAME, hard=False, selector=WEB, honour_taints=True)
    facts = seated(table, *each(2, web(), "a"), *each(5, web(), "c"))

    # ln(3 nodes + 2) = 1.609…
    assert raw(web(by_host), facts) == [3, 0, 8]
    assert raw(web(by_host), facts, feasible=[True, True, False])[:2] == [3, 0]


def test_a_node_without_the_key_is_ignored_and_gets_nothing() -> None:
    facts = seated(zones(a="1", b="2", c=None), *each(2, web(), "a"), *each(3, web(), "c"))

    scores = raw(web(SOFT), facts)

    assert scores == [3, 0, -1]
    assert PodTopologySpread().normalize(np.array(scores)).tolist() == [0, 100, 0]


def test_policies_keep_pods_out_of_the_zones_count() -> None:
    table = nodes(
        labelled("a", zone="1"),
        replace(labelled("b", zone="1"), taints=(Taint("gpu"),)),
        labelled("c", zone="2"),
    )
    facts = seated(table, *each(3, web(), "b"), *each(2, web(), "c"))

    assert raw(web(SOFT), facts) == [4, 4, 3]
    assert raw(web(replace(SOFT, honour_taints=True)), facts) == [0, 0, 3]


def test_system_defaults_spread_by_host_even_where_no_zone_is_known() -> None:
    table = nodes(
        Node("a", labels=((HOSTNAME, "a"), (ZONE, "1"))),
        Node("b", labels=((HOSTNAME, "b"),)),
        Node("c"),
    )
    facts = seated(table, *each(2, web(), "a"), *each(3, web(), "b"), workloads=service())

    # host: ln(3 + 2), skew 3; zone: "1" and the lack of one, so ln(2 + 2), skew 5
    host, zone = math.log(5), math.log(4)
    assert raw(web(), facts) == [round(2 * host + 2 + 2 * zone + 4), round(3 * host + 2), 0]


def test_listed_defaults_ignore_nodes_that_lack_a_key() -> None:
    listed = PodTopologySpread("List", (SpreadConstraint("zone", hard=False),))
    facts = seated(zones(a="1", b=None), (web(), "a"), workloads=service())

    assert raw(web(), facts, listed) == [1, -1]


def test_a_pod_that_nothing_spreads_is_not_scored() -> None:
    facts = seated(zones(a="1"))

    assert PodTopologySpread().pre_score(web(), facts) is None
    assert PodTopologySpread().pre_score(web(SPREAD), facts) is None


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([1, 4, 7], [100, 57, 14], id="100 · (max + min − score) // max"),
        pytest.param([0, 4], [100, 0], id="an empty one gets it all"),
        pytest.param([0, 0], [100, 100], id="all empty"),
        pytest.param([3, 3], [100, 100], id="all equal"),
        pytest.param([5, -1, 10], [100, 0, 50], id="an ignored one is left out"),
        pytest.param([-1, 0], [0, 100], id="ignored beside empty"),
        pytest.param([-1, -1], [0, 0], id="all ignored"),
        pytest.param([], [], id="no node"),
    ],
)
def test_fewer_pods_normalise_to_more(scores: list[int], expected: list[int]) -> None:
    assert PodTopologySpread().normalize(np.array(scores, np.int64)).tolist() == expected


# ── pods come and go ─────────────────────────────────────────────────────────────────────────

_constraints = st.builds(
    SpreadConstraint,
    st.sampled_from(("zone", "rack", HOSTNAME)),
    st.integers(1, 3),
    st.booleans(),
    st.none() | st.sampled_from((WEB, EVERY_POD)),
    st.integers(1, 3),
    st.sampled_from(((), ("app",))),
    st.booleans(),
    st.booleans(),
)
_others = st.builds(
    web,
    namespace=st.sampled_from(("default", "default", "x")),
    labels=st.sampled_from(((), (("app", "web"),), (("app", "db"),))),
    deleting=st.sampled_from((False, False, True)),
)
_seats = st.lists(st.tuples(_others, st.sampled_from("abcde")), max_size=8)


def varied() -> Nodes:
    """Five nodes that differ in zones, racks, taints and disks, some without a label."""
    return nodes(
        labelled("a", **{"zone": "1", "rack": "x", "disk": "ssd", HOSTNAME: "a"}),
        labelled("b", **{"zone": "1", "rack": "y", "disk": "ssd", HOSTNAME: "b"}),
        labelled("c", **{"zone": "2", "rack": "y", HOSTNAME: "c"}),
        replace(labelled("d", **{"zone": "3", "disk": "ssd", HOSTNAME: "d"}), taints=(Taint("t"),)),
        labelled("e", rack="z", disk="ssd"),
    )


@given(
    constraints=st.lists(_constraints, min_size=1, max_size=3),
    selector=st.sampled_from(((), (("disk", "ssd"),))),
    before=_seats,
    arriving=_seats,
    data=st.data(),
)
def test_telling_of_pods_that_come_and_go_equals_counting_anew(
    constraints: list[SpreadConstraint],
    selector: tuple[tuple[str, str], ...],
    before: list[tuple[Pod, str]],
    arriving: list[tuple[Pod, str]],
    data: st.DataObject,
) -> None:
    leaving = (
        data.draw(st.lists(st.sampled_from(range(len(before))), unique=True)) if before else []
    )
    feasible = np.array(data.draw(st.lists(st.booleans(), min_size=5, max_size=5)))
    first = seated(varied(), *before)
    staying = [seat for index, seat in enumerate(before) if index not in leaving]
    final = seated(varied(), *staying, *arriving)
    member = web(*constraints, spec={"node_selector": selector})
    changes = [(before[index], "removed") for index in leaving]
    changes += [(seat, "placed") for seat in arriving]

    def answer(evaluator: SpreadFilter | SpreadScore, facts: Snapshot) -> list[Any]:
        if isinstance(evaluator, SpreadScore):
            return evaluator.score_among(member, facts.nodes, feasible).tolist()
        mask = evaluator.filter(member, facts.nodes)
        reasons = evaluator.explain(member, facts.nodes, ~mask)
        assert sum(reasons.values()) == (~mask).sum()
        return [mask.tolist(), reasons]

    for make in (PodTopologySpread().pre_filter, PodTopologySpread().pre_score):
        told, anew = make(member, first), make(member, final)
        if told is None or anew is None:
            assert told is anew
            continue
        for (other, name), how in changes:
            old = answer(told, first)
            tell = told.placed if how == "placed" else told.removed
            if not tell(other, "abcde".index(name)):
                assert answer(told, first) == old
        assert answer(told, first) == answer(anew, final)
