# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Law: what a dump answers is what the lists of the same moment answer."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.events import BudgetSeen, Event, NamespaceSeen, PriorityClassSeen, TopologySeen
from enbloc.engine.replay import DumpFile, decoded, encoded
from enbloc.model.budgets import Budget
from enbloc.model.selectors import Selector
from enbloc.model.topology import Level, Topology
from enbloc.simulation import Outlook, PresentState, Remedy
from tests.effort import examples
from tests.simulation.present import present
from tests.simulation.random_clusters import CLASSES, drawn
from tests.world.cluster import Cluster

FURTHER: tuple[Event, ...] = (
    *(PriorityClassSeen(name, value, value != 100) for name, value in CLASSES.items()),
    BudgetSeen(Budget("ns/all", "ns", Selector(()), allowed=0)),
    TopologySeen(Topology("default", (Level("zone", "zone"),))),
    NamespaceSeen("ns", (("team", "ml"),)),
)


def dumped(cluster: Cluster) -> PresentState:
    """The cluster as a dump of its scheduler shows it."""
    file = decoded(encoded(DumpFile("1970-01-01T00:16:40Z", "", [], cluster.engine.dump())))
    return PresentState(cluster.profiles, cluster.settings, tuple(file.dump.events()), cluster.now)


def explained(outlook: Outlook) -> list[Any]:
    """Of each that waits, the sentence and with what it would start."""
    found = map(outlook.explain, outlook.rows)
    return [
        (each.sentence, each.complete, *map(helps, (*each.remedies, *each.later))) for each in found
    ]


def helps(remedy: Remedy) -> tuple[Any, ...]:
    return remedy.whose, remedy.text, remedy.degree, remedy.victims


@given(seed=st.integers(0, 2**32 - 1))
@examples(25)
def test_a_dump_answers_as_the_lists_of_the_same_moment(seed: int) -> None:
    cluster = drawn(seed)
    for event in FURTHER:
        cluster.tell(event)
    listed, kept = Outlook(present(cluster, None, *FURTHER)), Outlook(dumped(cluster))
    assert kept.rows == listed.rows
    assert kept.starts() == listed.starts()
    assert kept.node_shapes() == listed.node_shapes()
    assert explained(kept) == explained(listed)
    told = {type(event): event for event in dumped(cluster).events}
    assert {type(event): event for event in FURTHER}.items() <= told.items()


def test_who_decided_before_and_keeps_no_log_is_asked_all_the_same() -> None:
    cluster = Cluster(log=0)
    cluster.nodes("n1 n2", cpu=2)
    cluster.gang("runs", 2)
    cluster.settle()
    cluster.drop_node("n1")
    cluster.gang("waits", 4)
    cluster.settle()
    assert Outlook(dumped(cluster)).rows == Outlook(present(cluster)).rows
