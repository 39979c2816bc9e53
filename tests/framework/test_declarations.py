# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Attributes of plugins with a wrong type, which are refused when the plugin is made."""

from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.engine.effects import PreBind
from enbloc.errors import ConfigError
from enbloc.framework import Reads, Registry, Status
from enbloc.framework.act import Api, Target
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.testing import check_plugin
from tests.world.cluster import cluster_with

NODE_ADDED = ClusterEvent(Resource.NODE, Action.ADD)


class Declaring:
    """A filter; the tests say what it declares."""

    name: ClassVar[str] = "Declaring"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were declared"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.zeros(len(nodes), np.bool_)


def declaring(**declared: Any) -> Declaring:
    return type("Declaring", (Declaring,), declared)()


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        pytest.param({"events": NODE_ADDED}, "`events` must be a tuple of", id="no comma"),
        pytest.param({"events": (Resource.NODE,)}, "`events` must be a tuple of", id="resources"),
        pytest.param({"events": None}, "`events` must be a tuple of", id="no events"),
        pytest.param(
            {"events": (ClusterEvent(Resource.NODE, "ADD"),)},  # type: ignore[arg-type]
            "`events` must be a tuple of",
            id="no action",
        ),
        pytest.param(
            {"annotations": "example.com/x"}, "`annotations` must be a tuple of", id="one text"
        ),
        pytest.param({"reads": "SPEC"}, "`reads` must be a Reads, not 'SPEC'", id="reads"),
        pytest.param({"reason": ["a"]}, "`reason` must be a str", id="reason"),
        pytest.param({"narrows": "yes"}, "`narrows` must be a bool, not 'yes'", id="narrows"),
        pytest.param({"pre_bind_seconds": "30"}, "`pre_bind_seconds` must be a", id="a text"),
        pytest.param(
            {"pre_bind_seconds": property(lambda _: 1 // 0)}, "ZeroDivisionError", id="raises"
        ),
    ],
)
def test_a_plugin_that_declares_something_of_a_wrong_type_is_refused(
    declared: dict[str, Any], said: str
) -> None:
    registry = Registry({"Declaring": lambda: declaring(**declared)}, ())
    with pytest.raises(ConfigError, match='"Declaring" cannot run: its ') as refused:
        registry.create("Declaring")
    assert said in str(refused.value)
    with pytest.raises((AssertionError, ZeroDivisionError)):
        check_plugin(declaring(**declared))


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"reads": "SPEC"}, "`reads` must be a Reads, not 'SPEC'"),
        (
            {"narrows": property(lambda _: 1 // 0)},
            "ZeroDivisionError: integer division or modulo by zero",
        ),
    ],
)
def test_what_pre_filter_gives_must_declare_what_it_reads(
    declared: dict[str, Any], said: str
) -> None:
    class Giving(Declaring):
        def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Declaring:
            del pod, snapshot
            return declaring(**declared)

    cluster = cluster_with(Giving())
    cluster.gang("g", 2)
    cluster.settle()
    text = f'plugin "Declaring" failed at PreFilter: {said}'
    assert cluster.condition("g")[1:] == ("SchedulerError", text)


def test_events_and_seconds_are_read_once() -> None:
    read: list[str] = []

    class Counting(Declaring):
        @property
        def events(self) -> tuple[ClusterEvent, ...]:
            read.append("events")
            return (NODE_ADDED,)

        @property
        def pre_bind_seconds(self) -> float:
            read.append("seconds")
            return 300.0

        def filter(self, pod: Pod, nodes: Nodes) -> Mask:
            del pod
            return nodes.named(("late",))

        async def pre_bind(self, target: Target, api: Api) -> Status:
            raise AssertionError(target, api)

    cluster = cluster_with(Counting())
    at_the_start = list(read)
    cluster.gang("g", 2)
    cluster.settle()
    cluster.node("late")
    cluster.settle()
    assert cluster.status["g"].attempts == 2
    assert any(isinstance(effect, PreBind) for effect in cluster.effects)
    assert read == at_the_start


@pytest.mark.parametrize("hint", [None, True, "queue"])
def test_a_hint_that_is_none_counts_as_one_that_helps(hint: Any) -> None:
    cluster = cluster_with(declaring(events=(NODE_ADDED,), hint=lambda *_: hint))
    cluster.gang("g", 2)
    cluster.settle()
    cluster.node("late")
    cluster.settle()
    assert cluster.status["g"].attempts == 2
