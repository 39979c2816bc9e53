# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who judges the soak notices what must not happen."""

import json

import msgspec

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.model.names import POD_GROUP_KEY
from tests.e2e.auditor import IN_PART, Auditor, Minimums
from tests.e2e.census import Census
from tests.e2e.observer import RUN_LABEL, PodView


def a_pod(
    name: str,
    node: str = "",
    phase: str = "Pending",
    *,
    run: str = "g.0",
    priority: int = 0,
    preempted: bool = False,
) -> PodView:
    told = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    document = {
        "metadata": {
            "name": name,
            "uid": name,
            "annotations": {POD_GROUP_KEY: "g"},
            "labels": {RUN_LABEL: run},
        },
        "spec": {
            "nodeName": node,
            "priority": priority,
            "containers": [{"resources": {"requests": {"cpu": "1"}}}],
        },
        "status": {"phase": phase, "conditions": [told] if preempted else []},
    }
    return msgspec.json.decode(json.dumps(document), type=PodView)


def census(minimum: int = 2) -> Census:
    minimums = Minimums()
    minimums.saw("g", minimum)
    client = Client(Cluster(server="http://127.0.0.1:1"), component="test")
    return Census(client, "e2e", {"n0": 2000}, minimums)


def saw(it: Census, *pods: PodView) -> None:
    for pod in pods:
        it._count(pod.metadata.uid, pod)


def test_a_node_that_holds_more_than_it_can_is_noticed() -> None:
    it = census()
    saw(it, a_pod("a", "n0"), a_pod("b", "n0"))
    assert it.overcommitted == []
    saw(it, a_pod("a", "n0", "Succeeded"), a_pod("c", "n0"))
    assert it.overcommitted == [], "who has ended takes no room"
    saw(it, a_pod("d", "n0"))
    assert len(it.overcommitted) == 1


def test_a_pod_that_gives_way_to_nobody_is_noticed() -> None:
    it = census()
    saw(it, a_pod("high", priority=10), a_pod("low", "n0"), a_pod("low", "n0", preempted=True))
    saw(it, a_pod("high", "n0", priority=10), a_pod("late", "n0", preempted=True))
    assert (it.preempted, it.wronged) == (2, [])
    saw(it, a_pod("equal", "n0", priority=10, preempted=True))
    assert (it.preempted, it.wronged) == (3, ["equal of priority 10"])


def test_a_pod_that_is_on_another_node_is_noticed() -> None:
    it = census()
    saw(it, a_pod("a"), a_pod("a", "n0"), a_pod("a", "n0", "Running"))
    assert it.moved == []
    saw(it, a_pod("a", "n1"))
    assert it.moved == ["a: n0 → n1"]


def test_a_gang_is_in_part_until_its_minimum_is_held_or_nothing_is() -> None:
    it = census()
    saw(it, a_pod("a", "n0"), a_pod("b"))
    assert it.in_part() == {"g.0": 1}
    saw(it, a_pod("b", "n1"))
    assert it.in_part() == {}
    saw(it, a_pod("a", "n0", "Failed"))
    assert it.in_part() == {"g.0": 1}
    it._count("b", None)
    assert it.in_part() == {}
    assert len(it.bursts) == 2


def test_an_earlier_run_does_not_make_a_later_one_whole() -> None:
    it = census()
    saw(it, a_pod("a", "n0", "Succeeded"), a_pod("b", "n0", "Succeeded"))
    saw(it, a_pod("c", "n0", run="g.1"))
    assert it.in_part() == {"g.1": 1}


def test_a_minimum_that_is_lowered_counts_at_once_and_one_that_is_raised_does_not() -> None:
    minimums = Minimums()
    minimums.saw("g", 3)
    minimums.saw("g", 2)
    minimums.saw("g", 5)
    assert minimums["g.0"] == 2
    assert "" not in minimums
    assert [*minimums] == ["g.0"]


def test_the_auditor_names_what_the_census_noticed() -> None:
    auditor = Auditor.__new__(Auditor)
    auditor.census = census()
    saw(auditor.census, *(a_pod(name, "n0") for name in "abc"), a_pod("a", "n1"))
    auditor.census.bursts.append(IN_PART + 1)
    kinds = [problem.partition(":")[0] for problem in auditor.problems()]
    assert kinds[:2] == ["overcommitted", "bound twice"]
    assert kinds[2].startswith("a gang was bound in part")
