# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conduct: which changes of pods and nodes count for or against a node."""

from dataclasses import replace
from itertools import pairwise

import pytest

from enbloc.engine.conduct import Conduct
from enbloc.engine.quarantine import FIRST_BAR, NODE_GONE, NODE_NOT_READY, QUARANTINE, Lifted
from enbloc.engine.trust import STRANGERS_HALVE, TRUST
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.pods import Owner, Phase, Pod
from tests.worlds import node, nodes, pod, waiting

A, B = GroupKey("ns", "a"), GroupKey("ns", "b")
NOW = 1000.0
WAITING = pod(group=A)
BOUND = replace(WAITING, node="n1", scheduled_at=NOW - 10)
RUNNING = replace(BOUND, phase=Phase.RUNNING)
REFUSED = replace(BOUND, phase=Phase.FAILED, rejected="OutOfcpu")


def shown(*pods: Pod | None, ours: bool = True) -> Conduct:
    """What is thought after a pod was shown as each of these."""
    conduct = Conduct()
    for old, new in pairwise(pods):
        assert new is not None
        conduct.pod_changed(old, new, ours=ours, now=NOW)
    return conduct


def test_a_refused_member_costs_its_node_trust_and_bars_it_for_its_group() -> None:
    conduct = shown(BOUND, REFUSED)
    assert conduct.trust.explain("n1", NOW) == "n1: refused 1 of the last 1 members"
    assert conduct.quarantine.barred(A, NOW) == {"n1": "OutOfcpu"}


def test_a_refused_pod_without_a_group_costs_trust_and_bars_nothing() -> None:
    conduct = shown(replace(BOUND, group=None), replace(REFUSED, group=None))
    assert conduct.trust.score("n1", NOW) == 80
    assert conduct.deadline() is None


def test_a_refusal_that_depends_on_the_member_costs_no_trust() -> None:
    conduct = shown(BOUND, replace(REFUSED, rejected="AppArmor"))
    assert conduct.trust.score("n1", NOW) == 100
    assert conduct.quarantine.barred(A, NOW) == {"n1": "AppArmor"}


def test_a_refusal_of_a_stranger_s_pod_is_none_of_ours() -> None:
    conduct = shown(BOUND, REFUSED, ours=False)
    assert conduct.trust.score("n1", NOW) == 100
    assert conduct.quarantine.barred(A, NOW) == {}


def test_a_member_that_runs_tells_how_long_that_took() -> None:
    conduct = shown(BOUND, RUNNING)
    for _ in range(2):
        conduct.trust.ran("n2", 1.0, NOW)
        conduct.trust.ran("n3", 1.0, NOW)
    conduct.pod_changed(BOUND, RUNNING, ours=True, now=NOW)
    assert conduct.trust.explain("n1", NOW) == "n1: takes 10s to start one against 1s elsewhere"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(None, RUNNING, id="running when first seen"),
        pytest.param(RUNNING, replace(RUNNING, deleting=True), id="running before"),
        pytest.param(WAITING, replace(RUNNING, scheduled_at=None), id="bound nobody knows when"),
        pytest.param(WAITING, BOUND, id="bound, and no more"),
        pytest.param(None, REFUSED, id="refused when first seen"),
        pytest.param(None, WAITING, id="on no node"),
    ],
)
def test_other_changes_of_our_pods_tell_nothing(old: Pod | None, new: Pod) -> None:
    assert len(shown(old, new).trust) == 0


@pytest.mark.parametrize("old", [None, pod()], ids=["unknown before", "pending before"])
def test_a_stranger_s_pod_that_comes_to_a_node_makes_it_contested(old: Pod | None) -> None:
    conduct = shown(old, pod(node="n1", scheduled_at=NOW), ours=False)
    assert conduct.trust.explain("n1", NOW) == "n1: other schedulers put 1 pods there lately"


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(pod(node="n1", scheduled_at=NOW - STRANGERS_HALVE), id="bound long ago"),
        pytest.param(pod(node="n1", created=NOW - STRANGERS_HALVE), id="made long ago"),
        pytest.param(pod(node="n1", created=NOW, phase=Phase.FAILED), id="finished"),
        pytest.param(
            pod(node="n1", created=NOW, owner=Owner("DaemonSet", "d", "d")), id="of every node"
        ),
        pytest.param(pod(node="n1", created=NOW, owner=Owner("Node", "n1", "n")), id="a mirror"),
        pytest.param(pod(created=NOW), id="pending"),
    ],
)
def test_other_pods_of_strangers_do_not(new: Pod) -> None:
    assert len(shown(None, new, ours=False).trust) == 0


def test_a_stranger_s_pod_counts_once() -> None:
    there = pod(node="n1", created=NOW)
    conduct = shown(None, there, replace(there, phase=Phase.RUNNING), ours=False)
    assert conduct.trust.score("n1", NOW) == 90


@pytest.mark.parametrize(
    ("new", "why"), [(None, NODE_GONE), (replace(node("n1"), ready=False), NODE_NOT_READY)]
)
def test_a_node_that_is_lost_is_blamed_by_every_gang_it_holds(new: object, why: str) -> None:
    conduct = Conduct()
    here = node("n1")
    [event] = conduct.node_changed(here, new, [A, B], NOW)  # type: ignore[arg-type]
    assert event.reason is EventReason.NODE_QUARANTINED
    assert conduct.quarantine.barred(waiting().key, NOW) == {"n1": why}


def test_a_node_that_is_gone_leaves_no_record_of_trust() -> None:
    conduct = shown(BOUND, REFUSED)
    conduct.node_changed(node("n1"), None, [], NOW)
    assert len(conduct.trust) == 0


def test_who_is_held_is_not_asked_where_that_does_not_matter() -> None:
    here = node("n1")
    cordoned = replace(here, unschedulable=True)
    unasked = (pytest.fail("asked") for _ in range(1))
    assert Conduct().node_changed(None, here, unasked, NOW) == []
    assert Conduct().node_changed(here, cordoned, unasked, NOW) == []


def test_a_decision_hears_of_both_and_the_end_of_a_bar_is_waited_for() -> None:
    conduct = shown(BOUND, REFUSED)
    table = nodes(node("n1"), node("n2"))
    facts = replace(waiting(pod()), key=A)
    assert [name for name, _, _ in conduct.opinions(facts, table, NOW)] == [QUARANTINE, TRUST]
    assert conduct.opinions(replace(facts, solo=True), table, NOW) == []
    assert conduct.deadline() == NOW + FIRST_BAR
    assert conduct.expire(NOW + FIRST_BAR) == ([Lifted("n1", A)], [])


def test_a_group_that_is_gone_takes_its_bars_along() -> None:
    conduct = shown(BOUND, REFUSED)
    conduct.forget_group(A)
    assert conduct.deadline() is None
