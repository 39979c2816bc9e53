# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes are in quarantine, as the scheduler's events on them say."""

import math
from typing import Any

import msgspec
import pytest

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.events import Recorder
from enbloc.client.permissions import VIEWING
from enbloc.engine.effects import Emit, EventType
from enbloc.live.notices import notice
from enbloc.model.groups import GroupKey
from enbloc.model.names import SCHEDULER_REPORTER, EventReason
from enbloc.model.times import micro_time_text
from enbloc.plugins.node_avoidance.quarantine import NodeQuarantine
from enbloc.ui.node_events import NodeEvents
from enbloc.ui.quarantine import NodeEvent, quarantined
from enbloc_sandbox import Sandbox
from tests.client.memory import MemoryClient, Store
from tests.live.world import World
from tests.patience import PATIENCE
from tests.ui.world import NOW
from tests.world.virtual_time import time_source


def note() -> str:
    """What NodeQuarantine says of a node that two gangs blame."""
    memory = NodeQuarantine().new_memory()
    memory.blame(GroupKey("ns", "a"), "n1", "OutOfcpu", NOW)
    [said] = memory.blame(GroupKey("ns", "b"), "n1", "OutOfcpu", NOW)
    return said.note


def event(**of: Any) -> NodeEvent:
    written = {
        "reason": "NodeQuarantined",
        "message": note(),
        "eventTime": micro_time_text(NOW),
        "reportingComponent": SCHEDULER_REPORTER,
        "involvedObject": {"kind": "Node", "name": "n1"},
        **of,
    }
    return msgspec.convert(written, NodeEvent)


EMIT = Emit(
    EventType.WARNING,
    EventReason.NODE_QUARANTINED,
    "Binding",
    note(),
    SCHEDULER_REPORTER,
    uid="n1",
    node="n1",
)


def test_a_quarantine_lasts_for_as_long_as_its_event_says() -> None:
    assert quarantined([event()], NOW) == {"n1": NOW + 60.0}


def test_of_several_the_one_that_lasts_longest_counts() -> None:
    later = event(eventTime=micro_time_text(NOW + 500.0))
    assert quarantined([later, event()], NOW + 500.0) == {"n1": NOW + 560.0}


def test_an_event_of_a_future_is_not_believed() -> None:
    ahead, lie = (event(eventTime=micro_time_text(NOW + later)) for later in (60.0, 3600.0))
    assert quarantined([event(), lie], NOW) == {"n1": NOW + 60.0}
    assert quarantined([ahead], NOW) == {"n1": NOW + 120.0}


@pytest.mark.parametrize(
    "of",
    [
        pytest.param({"reason": "NodeReleased"}, id="another reason"),
        pytest.param({"reportingComponent": "somebody"}, id="another reporter"),
        pytest.param({"reportingComponent": None}, id="no reporter"),
        pytest.param({"involvedObject": {"kind": "Pod", "name": "n1"}}, id="not about a node"),
        pytest.param({"involvedObject": None}, id="about nothing"),
        pytest.param({"message": "for a long time"}, id="a note that says no time"),
        pytest.param({"message": None}, id="no note"),
        pytest.param({"eventTime": None}, id="no time"),
        pytest.param({"eventTime": "yesterday"}, id="no time that can be read"),
    ],
)
def test_other_events_say_nothing(of: dict[str, Any]) -> None:
    assert quarantined([event(**of)], NOW) == {}


def test_no_event_is_believed_for_longer_than_an_hour() -> None:
    longest = f"{365 * 86_400}"  # that a configuration may name
    for seconds in ("99999", longest):
        long = event(message=f"Quarantined for gangs for {seconds}s: why")
        assert quarantined([long], NOW) == {"n1": NOW + 3600.0}


async def test_what_the_scheduler_writes_is_found_and_each_quarantine_is_an_event_of_its_own() -> (
    None
):
    client = MemoryClient(Store())
    recorder = Recorder(client, "scheduler-0")
    for _ in range(3):
        recorder.emit(notice(EMIT))
    await recorder.flush(10.0)
    written = [body for verb, _, body in client.sent if verb == "create"]
    assert len(written) == len(client.sent) == 3
    assert not any("series" in body for body in written)
    shown = [
        event(
            message=body["note"],
            eventTime=body["eventTime"],
            reportingComponent=body["reportingController"],
            involvedObject=body["regarding"],
        )
        for body in written
    ]
    assert [*quarantined(shown, math.inf)] == ["n1"]


async def test_the_api_server_is_asked_and_while_it_refuses_nothing_is_known() -> None:
    clock = time_source()
    async with Sandbox(clock=clock.wall) as sandbox, Client(
        Cluster(sandbox.url), component="test", rules=VIEWING, clock=clock
    ) as client:  # fmt: skip
        events = NodeEvents(client)
        assert events.quarantined(0.0) is None
        writer = World(Cluster(sandbox.url))
        async with writer as world:
            recorder = Recorder(world.client, "scheduler-0")
            recorder.emit(notice(EMIT))
            await recorder.flush(PATIENCE)
        await events.ask()
        assert events.quarantined(0.0) == {"n1"}
        assert events.quarantined(1e12) == frozenset()
        sandbox.faults.add(verb="list", resource="events", status=403)
        await events.ask()
        assert events.quarantined(0.0) is None
