# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A decision taken once more from a dump is the same, and a dump is bounded."""

from dataclasses import replace

import pytest

from enbloc.config import default_profiles
from enbloc.engine import Engine
from enbloc.engine.events import BudgetSeen, NodeGone, NodeSeen
from enbloc.engine.replay import Dump, DumpFile, decoded, encoded, replay_plan
from enbloc.engine.replay.replay import replayed
from enbloc.engine.state.checkpoint import Checkpoint, Seat, SeatLeft
from enbloc.engine.state.log import Log
from enbloc.model.node import Node
from enbloc.model.pods import PodSpec
from tests.world.builders import budget, pod, spec
from tests.world.cluster import Cluster


def differences(engine: Engine) -> dict[str, list[str]]:
    dump = engine.dump()
    return {
        decision.plan.id: list(
            replayed(decision, tables, default_profiles(), dump.search_steps).differences
        )
        for decision, tables in dump.forwards()
    }


def after_a_while(log: int = 10_000) -> Cluster:
    cluster = Cluster(log=log)
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 4)
    cluster.settle()
    cluster.gang("h", 8)
    cluster.settle()
    cluster.node("n3", cpu=8)
    cluster.drop_node("n1")
    cluster.settle()
    return cluster


def test_a_plan_that_was_made_long_before_the_dump_is_made_again() -> None:
    found = differences(after_a_while().engine)
    assert len(found) >= 3
    assert not any(found.values())


def through_a_file(dump: Dump) -> Dump:
    return decoded(encoded(DumpFile("", "", [], dump))).dump


def test_the_ranks_of_held_members_come_through_a_file() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("g", 2)
    cluster.pod("g-0", "g", node="n1", rank=3)
    cluster.pod("g-1", "g")
    cluster.settle()
    dump = through_a_file(cluster.engine.dump())
    assert [entry.question.facts.ranks for entry in dump.decisions()] == [((3, 4),)]


@pytest.mark.parametrize("size", [1, 2])
def test_a_decision_that_preempted_chooses_the_same_victims_again(size: int) -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=2)
    cluster.gang("low", 4, minimum=2)
    cluster.settle()
    cluster.pod("kept", node="n3", spec=spec(cpu=2), labels=(("app", "kept"),))
    cluster.tell(BudgetSeen(budget("kept")))
    cluster.group("high", size)
    for index in range(size):
        cluster.pod(f"high-{index}", "high", priority=10, spec=spec(cpu=2))
    cluster.pod("alone", priority=5, spec=spec(cpu=2))
    cluster.settle()
    dump = through_a_file(cluster.engine.dump())
    searches = {entry.plan: entry.searched.found for entry, _ in dump.searches()}

    assert any(found.victims for found in searches.values())
    for plan, found in searches.items():
        again = replay_plan(dump, plan, default_profiles())
        assert again is not None
        assert again.was == found
        assert not again.differences


def test_victims_that_are_others_now_are_named() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.pod("low-1", node="n1", started=10.0)
    cluster.pod("low-2", node="n2", started=20.0)
    cluster.pod("high", priority=10)
    cluster.settle()
    dump = cluster.engine.dump()
    [(entry, _)] = [each for each in dump.searches() if each[0].searched.found.victims]
    [youngest] = entry.searched.found.victims
    others = {
        node: [unit for unit in units if unit is not youngest]
        for node, units in entry.searched.units.items()
    }
    without = entry._replace(searched=entry.searched._replace(units=others))
    entries = [without if each is entry else each for each in dump.entries]
    again = replay_plan(replace(dump, entries=entries), entry.plan, default_profiles())

    assert again is not None
    assert list(again.differences) == [
        "pod ns/low-2 on n2 was to give way, and is not now",
        "pod ns/low-1 on n1 is to give way now",
        "pod ns/high was to go to n2, and is to go to n1 now",
    ]


def test_a_search_among_very_many_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enbloc.engine.decide.attempts.MOST_UNITS_KEPT", 1)
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    for number in (1, 2):
        cluster.pod(f"low-{number}", node=f"n{number}")
    cluster.pod("high", priority=10)
    cluster.settle()
    dump = cluster.engine.dump()

    assert not list(dump.searches())
    assert cluster.where("high")
    assert not any(differences(cluster.engine).values())


# ── what is kept ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("log", [0, 1, 5, 10, 20])
def test_however_little_is_kept_the_present_and_the_latest_decisions_are_known(log: int) -> None:
    everything, cluster = after_a_while().engine.dump(), after_a_while(log)
    dump = cluster.engine.dump()
    kept = min(log, len(everything.entries))
    assert dump.entries == everything.entries[len(everything.entries) - kept :]
    assert dump.present() == everything.present()
    assert [node.name for node in dump.present().nodes] == list(cluster.engine._state.nodes.names)
    assert not any(differences(cluster.engine).values())


def test_the_log_keeps_fewer_entries_where_they_speak_of_large_pods() -> None:
    log = Log(100, tuple, most=1000)
    for index in range(50):
        large = replace(pod(name=f"p{index}"), spec=PodSpec(size=300))
        log.note(Seat("n1", large))
        log.note(SeatLeft(large.uid))
    assert len(log.entries) == 7
    assert log.present().seats == {}


def test_a_dump_is_whole_until_a_decision_has_dropped_out() -> None:
    cluster = Cluster(log=4)
    cluster.nodes("n1 n2 n3 n4 n5 n6", cpu=1)
    assert cluster.engine.dump().whole
    cluster.pod("p")
    cluster.settle()
    assert cluster.engine.dump().whole
    cluster.nodes("n7 n8 n9 n10", cpu=1)
    assert not cluster.engine.dump().whole


def test_a_dump_stays_as_it_is_while_the_engine_goes_on() -> None:
    cluster = after_a_while(log=3)
    dump = cluster.engine.dump()
    before = dump.checkpoint.fork(), tuple(dump.entries), dump.present()
    cluster.delete("g-0")
    cluster.nodes("n4 n5 n6 n7", cpu=4)
    cluster.settle()
    assert (dump.checkpoint, tuple(dump.entries), dump.present()) == before
    assert cluster.engine.dump().present() != dump.present()


def test_of_what_is_gone_nothing_is_kept_but_the_latest_changes() -> None:
    cluster = Cluster(log=4)
    cluster.nodes("n1 n2 n3", cpu=8)
    for index in range(50):
        cluster.gang(f"g{index}", 2)
        cluster.settle()
        cluster.delete(f"g{index}-0")
        cluster.delete(f"g{index}-1")
        cluster.drop_group(f"g{index}")
        cluster.drop_node("n2")
        cluster.node("n2", cpu=8)
        cluster.settle()
    dump = cluster.engine.dump()
    assert len(dump.entries) == 4
    assert len(dump.checkpoint.seats) <= 4
    assert len(dump.checkpoint.nodes) <= 4


# ── a checkpoint ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("dropped", "left"),
    [("a", "d b c"), ("b", "a d c"), ("c", "a b d"), ("d", "a b c")],
)
def test_the_last_row_moves_into_the_place_of_a_node_that_was_removed(
    dropped: str, left: str
) -> None:
    tables = Checkpoint()
    for name in "abcd":
        tables.apply(NodeSeen(Node(name)))
    tables.apply(NodeGone(dropped))
    assert [node.name for node in tables.nodes] == left.split()
    for name in left.split():
        tables.apply(NodeSeen(Node(name, uid="changed")))
    assert [(node.name, node.uid) for node in tables.nodes] == [
        (name, "changed") for name in left.split()
    ]
    tables.apply(NodeSeen(Node(dropped)))
    assert tables.nodes[-1].name == dropped
