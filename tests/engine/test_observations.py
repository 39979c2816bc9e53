# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plugins that learn from what nodes and kubelets do: told, asked, disabled, shared, replayed."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from enbloc.config import Configuration, Source, configure
from enbloc.engine.decide.decision import Decision
from enbloc.engine.events import NodeSeen, SlotsFree
from enbloc.engine.observations import Observations
from enbloc.engine.replay.replay import replayed
from enbloc.framework import GroupFacts
from enbloc.framework.hints import ClusterEvent
from enbloc.framework.observations import Expired, NodeChanged, NodeNote, Observation, PodChanged
from enbloc.framework.profile import Profile
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Phase
from enbloc.plugins import IN_TREE
from enbloc.plugins.node_avoidance.quarantine import NodeQuarantine
from enbloc.plugins.node_avoidance.reliability import NodeReliability
from tests.world.builders import spec
from tests.world.cluster import Cluster


class Last:
    """Bars, for all gangs, the node that a pod failed on last."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.node, self.until = seconds, "", 0.0

    def observe(self, observation: Observation, now: float) -> Sequence[NodeNote]:
        if not isinstance(observation, PodChanged) or observation.pod.phase is not Phase.FAILED:
            return ()
        self.node, self.until = observation.pod.node, now + self.seconds
        return [NodeNote(self.node, "LeftAlone", "A pod failed here")]

    def refused(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, str]:
        del facts, nodes
        return {self.node: "node(s) saw a pod fail"} if now < self.until else {}

    def deadline(self) -> float | None:
        return self.until or None

    def expire(self, now: float) -> Expired:
        del now
        self.until = 0.0
        return Expired((None,))


@dataclass(frozen=True)
class LeaveAlone:
    name: ClassVar[str] = "LeaveAlone"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()
    seconds: float = 30.0

    def new_memory(self) -> Last:
        return Last(self.seconds)


def running(profile: str, scheduler: str = "enbloc") -> Configuration:
    """A configuration whose one profile has these fields."""
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    body = textwrap.indent(textwrap.dedent(profile), "  ")
    text = f"{head}profiles:\n- schedulerName: {scheduler}\n{body}"
    return configure([Source("file", text)])


def disabled(name: str) -> Cluster:
    """A cluster whose profile does not run this plugin."""
    configuration = running(f"plugins: {{multiPoint: {{disabled: [{{name: {name}}}]}}}}\n")
    return Cluster(profiles=dict(configuration.profiles))


def refuse(cluster: Cluster, name: str) -> None:
    """The kubelet takes a bound pod not."""
    cluster.change(name, phase=Phase.FAILED, rejected="OutOfcpu")


def with_plugins(*plugins: Any) -> Cluster:
    """A cluster that runs the in-tree plugins, without those that learn, and these."""
    in_tree = [
        factory()
        for factory in IN_TREE.values()
        if factory not in (NodeQuarantine, NodeReliability)
    ]
    return Cluster(profiles={"enbloc": Profile("enbloc", (*in_tree, *plugins))})


# ── disabled, and with other arguments ───────────────────────────────────────────────────────


def test_a_profile_without_node_quarantine_uses_a_node_that_refused_its_member_again() -> None:
    for cluster, comes_back in ((Cluster(), False), (disabled("NodeQuarantine"), True)):
        cluster.node("n1", cpu=4)
        cluster.gang("g", 1)
        cluster.settle()
        refuse(cluster, "g-0")
        cluster.pod("g-1", "g")
        cluster.settle()
        assert bool(cluster.where("g-1")) == comes_back


def test_a_profile_without_node_reliability_prefers_no_node_for_its_past() -> None:
    for cluster, node in ((Cluster(), "n2"), (disabled("NodeReliability"), "n1")):
        cluster.nodes("n1 n2", cpu=4)
        cluster.gang("g", 1)
        cluster.settle()
        assert cluster.where("g") == {"g-0": "n1"}
        refuse(cluster, "g-0")
        cluster.gang("other", 1)
        cluster.settle()
        assert cluster.where("other") == {"other-0": node}


def test_a_plugin_disabled_at_its_only_point_is_told_nothing() -> None:
    configuration = running("""
        plugins:
          filter: {disabled: [{name: NodeQuarantine}]}
          score: {disabled: [{name: NodeReliability}]}
    """)
    assert not Observations(configuration.profiles.values()).wanted


def test_the_time_in_quarantine_is_an_argument() -> None:
    configuration = running("""
        pluginConfig:
        - name: NodeQuarantine
          args: {firstSeconds: 10}
    """)
    cluster = Cluster(profiles=dict(configuration.profiles))
    cluster.node("n1", cpu=4)
    cluster.gang("g", 1)
    cluster.settle()
    refuse(cluster, "g-0")
    cluster.pod("g-1", "g")
    cluster.settle(seconds=9)
    assert cluster.where("g-1") == {}
    assert "1 node(s) in quarantine (OutOfcpu)" in cluster.condition("g")[2]
    cluster.settle(seconds=2)
    assert cluster.where("g-1") == {"g-1": "n1"}


# ── a plugin of somebody else ────────────────────────────────────────────────────────────────


def test_a_plugin_from_outside_keeps_gangs_off_a_node_says_so_and_wakes_them() -> None:
    cluster = with_plugins(LeaveAlone())
    cluster.node("n1", cpu=4)
    cluster.gang("g", 1)
    cluster.settle()
    cluster.finish("g-0", Phase.FAILED)
    cluster.gang("other", 1)
    cluster.settle()
    assert "1 node(s) saw a pod fail" in cluster.condition("other")[2]
    [event] = cluster.events("LeftAlone")
    assert (event.node, event.note) == ("n1", "A pod failed here")
    cluster.settle(seconds=31)
    assert cluster.where("other") == {"other-0": "n1"}


def test_a_pod_without_a_group_is_never_affected() -> None:
    cluster = with_plugins(LeaveAlone())
    cluster.node("n1", cpu=4)
    cluster.gang("g", 1)
    cluster.settle()
    cluster.finish("g-0", Phase.FAILED)
    cluster.pod("solo")
    cluster.settle()
    assert cluster.where("solo") == {"solo": "n1"}


@dataclass(frozen=True)
class Told:
    """Notes what it is told."""

    name: ClassVar[str] = "Told"
    log: list[Observation] = field(default_factory=list[Observation])

    def new_memory(self) -> "Told":
        return self

    def observe(self, observation: Observation, now: float) -> Sequence[NodeNote]:
        del now
        self.log.append(observation)
        return ()

    def scores(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, int]:
        del facts, nodes, now
        return {}


def test_it_is_told_of_nodes_that_come_change_and_go_with_their_gangs() -> None:
    told = Told()
    cluster = with_plugins(told)
    cluster.node("n1", cpu=4)
    cluster.gang("g", 1)
    cluster.settle()
    told.log.clear()
    cluster.node("n1", cpu=4, unschedulable=True)
    cluster.node("n1", cpu=4, unschedulable=True)
    cluster.drop_node("n1")
    cluster.node("n2")
    cluster.settle()
    [cordoned, gone, added] = told.log
    assert isinstance(cordoned, NodeChanged)
    assert cordoned.gangs == (cluster.groups["g"].key,)
    assert (gone, added) == (
        NodeChanged("n1", cordoned.node, None, cordoned.gangs),
        NodeChanged("n2", None, cluster.engine._state.nodes.node("n2")),
    )


def test_a_gang_that_is_only_planned_on_a_node_has_nothing_to_do_with_its_loss() -> None:
    told = Told()
    cluster = with_plugins(told)
    cluster.engine.apply(SlotsFree(-32))  # no Binding is sent
    cluster.node("n1", cpu=4)
    cluster.gang("g", 1)
    cluster.step()
    assert cluster.decisions()
    told.log.clear()
    cluster.drop_node("n1")
    cluster.step()
    [gone] = [each for each in told.log if isinstance(each, NodeChanged)]
    assert gone.gangs == ()


def test_what_is_there_at_first_is_not_observed() -> None:
    told = Told()
    cluster = with_plugins(told)
    fresh = Cluster(profiles=cluster.engine._core.profiles, sync=False)
    fresh.node("n1")
    fresh.pod("p", node="n1")
    fresh.tell(NodeSeen(Node("n1", uid="n1", ready=False)))
    fresh.sync()
    fresh.settle()
    assert told.log == []


# ── shared ───────────────────────────────────────────────────────────────────────────────────


def two_profiles(second: NodeQuarantine) -> Cluster:
    """A cluster with two profiles; the second one runs this."""
    others = [factory() for factory in IN_TREE.values() if factory is not NodeQuarantine]
    profiles = {
        name: Profile(name, (*others, plugin))
        for name, plugin in (("enbloc", NodeQuarantine()), ("second", second))
    }
    cluster = Cluster(profiles=profiles)
    cluster.node("n1", cpu=4)
    for name, scheduler in (("a", "enbloc"), ("b", "second")):
        cluster.gang(name, 1, scheduler=scheduler)
        cluster.settle()
        refuse(cluster, f"{name}-0")
        cluster.settle()
    return cluster


def test_equal_plugins_of_two_profiles_share_what_they_learn_and_write_one_event() -> None:
    cluster = two_profiles(NodeQuarantine())
    for name, scheduler in (("c", "enbloc"), ("d", "second")):
        cluster.gang(name, 1, scheduler=scheduler)
        cluster.settle()
        assert cluster.where(name) == {}
    assert len(cluster.events("NodeQuarantined")) == 1


def test_a_plugin_with_other_arguments_learns_by_itself() -> None:
    cluster = two_profiles(NodeQuarantine(witnesses=3))
    for name, scheduler, barred in (("c", "enbloc", True), ("d", "second", False)):
        cluster.gang(name, 1, scheduler=scheduler)
        cluster.settle()
        assert bool(cluster.where(name)) != barred


# ── broken ───────────────────────────────────────────────────────────────────────────────────


#: By the name of a fault, what `observe` returns.
NOTES: Mapping[str, Any] = {
    "notes": "none",
    "note": [NodeNote("n1", "LeftAlone", None)],  # type: ignore[arg-type]
    "unhashable": [NodeNote("n1", "LeftAlone", ["A pod failed here"])],  # type: ignore[arg-type]
    "reason": [NodeNote("n1", "", "A pod failed here")],
    "node": [NodeNote("", "LeftAlone", "A pod failed here")],
    "warning": [NodeNote("n1", "LeftAlone", "A pod failed here", [])],  # type: ignore[arg-type]
}
#: By the name of a fault, the groups that `expire` returns.
GROUPS: Mapping[str, Any] = {"groups": None, "group": ("ns/g",)}


class Broken(Last):
    """Fails wherever it is told to."""

    def __init__(self, at: str) -> None:
        super().__init__(30.0)
        self.at = at

    def observe(self, observation: Observation, now: float) -> Sequence[NodeNote]:
        said = super().observe(observation, now)
        if said and self.at == "observe":
            raise KeyError(self.at)
        wrong: Any = NOTES.get(self.at)
        return wrong if said and wrong else said

    def deadline(self) -> float | None:
        return float("nan") if self.at == "deadline" and self.until else super().deadline()

    def expire(self, now: float) -> Expired:
        if self.at == "expire":
            return None  # type: ignore[return-value]
        if self.at in GROUPS:
            super().expire(now)
            return Expired(GROUPS[self.at])
        return Expired() if self.at == "past" else super().expire(now)

    def refused(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, str]:
        if self.until and self.at == "refused":
            return ["n1"]  # type: ignore[return-value]
        return super().refused(facts, nodes, now)


@dataclass(frozen=True)
class Breaks:
    name: ClassVar[str] = "Breaks"
    at: str = ""

    def new_memory(self) -> Broken:
        return Broken(self.at)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("observe", 'plugin "Breaks" failed at observe: KeyError'),
        ("notes", 'plugin "Breaks" failed at observe: expected NodeNotes, got str'),
        ("note", "a NodeNote of three texts and a bool, got str, str, NoneType, bool"),
        ("unhashable", "a NodeNote of three texts and a bool, got str, str, list, bool"),
        ("reason", "observe: expected a NodeNote with a node and a reason"),
        ("node", "observe: expected a NodeNote with a node and a reason"),
        ("warning", "a NodeNote of three texts and a bool, got str, str, str, list"),
        ("deadline", 'plugin "Breaks" failed at deadline: expected a time in seconds or None'),
        ("expire", 'plugin "Breaks" failed at expire: expected an Expired, got NoneType'),
        ("groups", "expire: expected a tuple of groups, got NoneType"),
        ("group", "expire: expected a GroupKey or None, got str"),
        ("past", 'plugin "Breaks" failed at expire: the deadline 1030.0 has not moved'),
        ("refused", 'plugin "Breaks" failed at Filter: AttributeError'),
    ],
)
def test_a_broken_memory_is_told_by_the_next_gang_and_stops_nobody_for_long(
    at: str, said: str
) -> None:
    cluster = with_plugins(Breaks(at))
    cluster.node("n1", cpu=4)
    cluster.gang("g", 1)
    cluster.settle()
    cluster.finish("g-0", Phase.FAILED)
    cluster.settle(seconds=31 if at in ("expire", "past", *GROUPS) else 0)
    cluster.gang("other", 1)
    cluster.settle()
    assert cluster.condition("other")[1] == "SchedulerError"
    assert said in cluster.condition("other")[2]
    if at != "refused":  # its memory is as it was
        cluster.settle(seconds=60)
        assert cluster.where("other") == {"other-0": "n1"}


# ── replayed ─────────────────────────────────────────────────────────────────────────────────


def test_a_decision_is_replayed_with_what_was_learned_then() -> None:
    cluster = with_plugins(LeaveAlone(), NodeReliability())
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 1)
    cluster.settle()
    cluster.finish("g-0", Phase.FAILED)
    cluster.gang("other", 1, spec=spec(cpu=2))
    cluster.settle()
    assert cluster.where("other") == {"other-0": "n2"}
    dump = cluster.engine.dump()
    *_, last = [(decision, tables.fork()) for decision, tables in dump.forwards()]
    decision, tables = last
    [heard] = decision.question.opinions
    assert heard.refused == (("n1", "node(s) saw a pod fail"),)
    profiles = cluster.engine._core.profiles
    assert replayed(decision, tables, profiles, dump.search_steps).differences == []
    deaf = Decision(replace(decision.question, opinions=()), decision.plan)
    assert replayed(deaf, tables, profiles, dump.search_steps).differences != []
