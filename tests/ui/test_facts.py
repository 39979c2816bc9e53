# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Facts: of a stream of events, what a first list would have."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from enbloc.config import default_configuration
from enbloc.engine.events import (
    BudgetGone,
    BudgetSeen,
    Event,
    FactGone,
    FactSeen,
    GroupGone,
    GroupSeen,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    PriorityClassGone,
    PriorityClassSeen,
    SlotsFree,
    Stream,
    Synced,
    TopologyGone,
    TopologySeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.model.topology import Topology
from enbloc.model.workloads import WorkloadKey
from enbloc.storage.facts import StorageClass
from enbloc.ui.facts import Facts
from tests.world import builders

NODE, POD, GROUP = builders.node("n", cpu=1), builders.pod(), builders.group("g")
KEY = WorkloadKey("Service", "ns", "s")
CLASS = StorageClass("fast")
PAIRS: Sequence[tuple[Event, Event]] = (
    (NodeSeen(NODE), NodeGone("n")),
    (PodSeen(POD), PodGone(POD.key, POD.uid)),
    (GroupSeen(GROUP), GroupGone(GROUP.key, GROUP.uid)),
    (PriorityClassSeen("high", 7), PriorityClassGone("high")),
    (NamespaceSeen("ns", ()), NamespaceGone("ns")),
    (WorkloadSeen(KEY, None), WorkloadGone(KEY)),
    (BudgetSeen(builders.budget("web")), BudgetGone("ns/web")),
    (TopologySeen(Topology("t")), TopologyGone("t")),
    (FactSeen(CLASS), FactGone(CLASS.kind, CLASS.key)),
)


def after(*events: Event) -> tuple[Event, ...]:
    facts, configuration = Facts(), default_configuration()
    for event in events:
        facts.take(event)
    assert facts.changes == len(events)
    return facts.present(configuration.profiles, configuration.settings, 5.0).events


@pytest.mark.parametrize(
    ("seen", "gone"), [pytest.param(*pair, id=type(pair[0]).__name__) for pair in PAIRS]
)
def test_what_is_gone_is_kept_no_more(seen: Event, gone: Event) -> None:
    others = [other for other, _ in PAIRS if other is not seen]
    assert after(*others, seen) == (*others, seen)
    assert after(*others, seen, gone) == tuple(others)
    assert after(gone) == ()


def test_the_latest_of_an_object_counts() -> None:
    cordoned = NodeSeen(replace(NODE, unschedulable=True))
    assert after(NodeSeen(NODE), PodSeen(POD), cordoned) == (cordoned, PodSeen(POD))


def test_the_end_of_a_former_group_leaves_the_one_of_its_name() -> None:
    again = GroupSeen(replace(GROUP, uid="another"))
    assert after(GroupSeen(GROUP), again, GroupGone(GROUP.key, GROUP.uid)) == (again,)


def test_streams_that_are_complete_are_kept_and_answers_to_a_scheduler_are_not() -> None:
    synced = Synced(Stream.PODS)
    assert after(synced, SlotsFree(3), synced) == (synced,)
