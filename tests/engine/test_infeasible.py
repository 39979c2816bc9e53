# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Infeasible for good: the number that shows it, and that it is never said in error."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.core import Core
from enbloc.engine.packing.infeasibility import infeasible
from enbloc.engine.policies.min_resources import MinResources
from enbloc.engine.queue.capacity_precheck import CapacityPrecheck, Refutations
from enbloc.engine.settings import Settings
from enbloc.engine.trial import Trial
from enbloc.framework.facts import GroupFacts
from enbloc.model.node import Node
from enbloc.model.pods import Pod
from enbloc.model.selectors import PodAffinity, PodAffinityTerm
from enbloc.model.taints import Effect, Taint
from tests.effort import examples
from tests.engine.searching import (
    HOST,
    ZONE,
    Kind,
    cluster,
    gangs,
    group,
    machine,
    machine_lists,
    member,
    members,
    named,
    possible,
    trying,
)

PLENTY = 400_000


def why(facts: GroupFacts, machines: Sequence[Node], *held: Pod, steps: int = PLENTY) -> str:
    return infeasible(facts, held, trying(cluster(*machines)), steps)


def test_too_few_nodes_of_a_shape_are_counted() -> None:
    machines = [*(machine(f"n{i}", 64, gpu=8) for i in range(8)), machine("cpu", 64)]
    facts = group(members(*[Kind(gpu=8)] * 9))
    assert why(facts, machines) == "needs 9 nodes with 8 nvidia.com/gpu each; the cluster has 8"


def test_the_kind_that_lacks_nodes_is_the_one_that_is_told_of() -> None:
    machines = [machine(f"n{i}", 64, gpu=4) for i in range(3)]
    facts = group(members(*[Kind()] * 5, *[Kind(gpu=8)] * 2))
    assert why(facts, machines) == "needs 2 nodes with 8 nvidia.com/gpu each; the cluster has 0"


def test_too_few_places_on_empty_nodes_are_counted() -> None:
    machines = machine("n0", 8), machine("n1", 7)
    facts = group(members(*[Kind(cpu=3)] * 5))
    assert (
        why(facts, machines)
        == "needs capacity for 5 members with 3 cpu each; the empty nodes fit 4"
    )


def test_nodes_that_the_members_may_not_use_do_not_count() -> None:
    tainted = replace(machine("n0", 8), taints=(Taint("gone", "", Effect.NO_SCHEDULE),))
    facts = group(members(Kind(cpu=5), Kind(cpu=5)))
    assert why(facts, [tainted, machine("n1", 8)]) == ("needs 2 eligible nodes; the cluster has 1")


def test_where_bound_members_fill_the_eligible_nodes_it_is_not_said_that_there_are_none() -> None:
    tainted = replace(machine("n0", 8), taints=(Taint("gone", "", Effect.NO_SCHEDULE),))
    facts = group(members(Kind(cpu=3), Kind(cpu=3)), held=1)
    held = member(7, Kind(cpu=8), node="n1")
    assert why(facts, [tainted, machine("n1", 8)], held) == (
        "needs capacity for 2 members on eligible nodes; there is none beside its members that are "
        "bound"
    )
    facts = group(members(Kind(cpu=3), Kind(cpu=3)))
    assert why(facts, [tainted]) == "needs 2 eligible nodes; none exist"


def test_members_that_keep_apart_are_told_how_many_domains_there_are() -> None:
    by_host = Kind(apart=frozenset({(HOST, "a")}))
    by_zone = Kind(apart=frozenset({(ZONE, "a")}))
    machines = machine("n0", 9, zone="z"), machine("n1", 9, zone="y"), machine("n2", 9, zone="y")
    assert why(group(members(*[by_host] * 4)), machines) == (
        "needs 4 nodes for members that exclude each other; 3 are eligible"
    )
    assert why(group(members(*[by_zone] * 3)), machines) == (
        "needs 3 values of node label zone for members that exclude each other; 2 are eligible"
    )


def test_a_resource_that_all_nodes_together_lack_is_summed() -> None:
    facts = group(members(Kind(cpu=4), Kind(cpu=3), Kind(cpu=2), Kind(cpu=1)))
    machines = machine("n0", 4), machine("n1", 5)
    assert why(facts, machines) == "needs 10 cpu; the eligible nodes have 9 that it can use"


def test_what_only_a_search_can_refute_is_said_with_members_and_nodes() -> None:
    facts = group(members(Kind(cpu=4), Kind(cpu=4), Kind(cpu=3), Kind(cpu=1)))
    machines = machine("n0", 6), machine("n1", 6)
    assert why(facts, machines) == (
        "its 4 missing members do not fit on the 2 eligible nodes, even when those are empty"
    )
    assert why(facts, machines, steps=0) == ""


def test_bound_members_stay_where_they_are() -> None:
    apart = Kind(cpu=2, apart=frozenset({(HOST, "a")}))
    machines = machine("n0", 4), machine("n1", 4)
    facts = group(members(apart), held=1)
    held = member(7, apart, node="n0")
    assert why(facts, machines, held) == ""
    assert why(facts, [machines[0]], held) != ""
    full = group(members(Kind(cpu=3)), held=1)
    assert why(full, [machines[0]], held) == "needs 1 node with 3 cpu; the cluster has 0"


def test_load_and_what_depends_on_other_pods_is_no_proof() -> None:
    others = [(member(20 + i, Kind("other", cpu=4)), "n0") for i in range(2)]
    (pod,) = members(Kind(cpu=3))
    near = PodAffinity(required=(PodAffinityTerm(HOST, named("nobody")),))
    pod = replace(pod, spec=replace(pod.spec, pod_affinity=near))
    trial = trying(cluster(machine("n0", 8), seated=others))
    assert infeasible(group((pod,)), (), trial, PLENTY) == ""


def test_pods_without_a_group_keep_upstreams_words_and_a_missing_quorum_is_no_proof() -> None:
    facts = group(members(Kind(cpu=9)))
    assert why(facts, [machine("n0", 1)]) != ""
    assert why(replace(facts, solo=True), [machine("n0", 1)]) == ""
    assert why(group(members(Kind(cpu=9)), minimum=2), [machine("n0", 1)]) == ""


def test_an_answer_is_kept_while_neither_group_nor_nodes_change() -> None:
    core = Core(default_profiles(), Settings())
    reserving = MinResources(
        core.state,
        core.groups,
        core.plans,
        core.order,
        core.reporter,
        core.settings,
    )
    refutations = Refutations(CapacityPrecheck(core.state, core.groups, reserving))
    facts = group(members(Kind(cpu=9)))
    small, large = trying(cluster(machine("n0", 1))), trying(cluster(machine("n0", 16)))

    def said(epoch: str, facts: GroupFacts, trial: Trial) -> str:
        return refutations.of(epoch, facts, (), trial, PLENTY).why

    proof = said("then", facts, small)
    assert proof
    assert said("then", facts, large) == proof
    assert said("now", facts, large) == ""
    assert said("now", facts, small) == ""
    refutations.forget(facts.key)
    assert said("now", facts, small) == proof
    assert said("now", group(members(Kind(cpu=1))), small) == ""


@given(gang=gangs(), machines=machine_lists, data=st.data())
@examples(200)
def test_it_is_said_if_and_only_if_the_empty_nodes_have_no_placement(
    gang: tuple[list[Kind], GroupFacts], machines: tuple[Node, ...], data: st.DataObject
) -> None:
    kinds, facts = gang
    steps = data.draw(st.sampled_from((0, 500, PLENTY)))
    said = why(facts, machines, steps=steps)
    if possible(facts, kinds, machines):
        assert said == ""
    elif steps == PLENTY and len(set(kinds)) > 1:
        assert said
