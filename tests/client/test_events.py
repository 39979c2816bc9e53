# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Events are written in the background, repeated ones as one series (virtual time)."""

import asyncio
import dataclasses
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from enbloc.client.errors import APIError, Forbidden, Unreachable
from enbloc.client.events import (
    PACES,
    PARALLEL,
    QUEUE_LENGTH,
    Notice,
    ObjectReference,
    Recorder,
    Urgency,
)
from enbloc.client.paths import NODES, PODS, Resource
from enbloc.client.transport import WRITE_SECONDS
from enbloc.model.times import micro_time_text
from enbloc.telemetry import metrics
from tests.client.memory import MemoryClient, Store

POD = ObjectReference(PODS, "team", "p", "u1")
NOTICE = Notice("Warning", "FailedScheduling", "Scheduling", "no room", "enbloc", POD)


@asynccontextmanager
async def recording(
    busy: Callable[[], bool] | None = None,
) -> AsyncGenerator[tuple[Recorder, MemoryClient], None]:
    client = MemoryClient(Store())
    recorder = Recorder(client, "scheduler-0", busy)
    run = asyncio.create_task(recorder.run())
    try:
        yield recorder, client
    finally:
        run.cancel()
        await asyncio.wait({run})


def verbs(client: MemoryClient) -> list[str]:
    return [verb for verb, _, _ in client.sent]


def counts(client: MemoryClient) -> list[int]:
    return [body["series"]["count"] for _, _, body in client.sent if "series" in body]


def dropped() -> float:
    return metrics.EVENTS_DROPPED._value.get()


def failing(error: Callable[[], Exception], times: int) -> Callable[[str], None]:
    left = [None] * times

    def before(_: str) -> None:
        if left:
            left.pop()
            raise error()

    return before


def unreachable() -> APIError:
    return Unreachable("create", "events", "reset", sent=True)


async def test_an_event_has_all_that_the_server_asks_for() -> None:
    async with recording() as (recorder, client):
        recorder.emit(dataclasses.replace(NOTICE, note="ä" * 2000, related=POD))
        await asyncio.sleep(1)
    (_, _, body), *_ = client.sent
    assert body["metadata"]["namespace"] == "team"
    assert body["metadata"]["name"].startswith("p.")
    assert body["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "team",
        "name": "p",
        "uid": "u1",
    }
    assert body["related"] == body["regarding"]
    assert body["reportingController"] == "enbloc"
    assert body["reportingInstance"] == "scheduler-0"
    assert len(body["note"].encode()) == 1024
    assert body["eventTime"].endswith("Z")


async def test_what_an_event_says_is_escaped_and_then_cut() -> None:
    async with recording() as (recorder, client):
        recorder.emit(dataclasses.replace(NOTICE, note="\x1b[2J\n\u202e" + "ä" * 2000))
        await asyncio.sleep(1)
    (_, _, body), *_ = client.sent
    assert body["note"].startswith(r"\x1b[2J\n\u202eää")
    assert len(body["note"].encode()) <= 1024


async def test_an_event_about_a_node_goes_to_the_default_namespace() -> None:
    async with recording() as (recorder, client):
        recorder.emit(dataclasses.replace(NOTICE, regarding=ObjectReference(NODES, "", "n", "u")))
        await asyncio.sleep(1)
    assert client.sent[0][2]["metadata"]["namespace"] == "default"
    assert "namespace" not in client.sent[0][2]["regarding"]


async def test_repeated_events_become_a_series_that_is_written_now_and_then() -> None:
    async with recording() as (recorder, client):
        for _ in range(5):
            recorder.emit(NOTICE)
            await asyncio.sleep(1)
        assert verbs(client) == ["create", "patch"]
        assert counts(client) == [2]
        await asyncio.sleep(420)  # nothing more came: the series is finished
        assert counts(client) == [2, 5]
        recorder.emit(NOTICE)
        await asyncio.sleep(1)
        assert verbs(client) == ["create", "patch", "patch", "create"]


async def test_a_series_that_goes_on_is_refreshed() -> None:
    async with recording() as (recorder, client):
        for _ in range(32):
            recorder.emit(NOTICE)
            await asyncio.sleep(60)
        assert len(counts(client)) == 2
        assert counts(client)[1] >= 30


async def test_another_reason_is_another_event() -> None:
    async with recording() as (recorder, client):
        recorder.emit(NOTICE)
        recorder.emit(dataclasses.replace(NOTICE, reason="Scheduled", type="Normal"))
        recorder.emit(dataclasses.replace(NOTICE, note="said in other words"))
        await asyncio.sleep(1)
        assert verbs(client) == ["create", "create", "patch"]


async def test_a_series_whose_event_has_expired_is_created_again() -> None:
    async with recording() as (recorder, client):
        recorder.emit(NOTICE)
        await asyncio.sleep(1)
        client.store.objects.clear()
        recorder.emit(NOTICE)
        await asyncio.sleep(1)
        assert verbs(client) == ["create", "patch", "create"]
        assert counts(client) == [2, 2]


async def test_a_bug_costs_one_event(caplog: pytest.LogCaptureFixture) -> None:
    before = dropped()
    async with recording() as (recorder, client):
        client.before = failing(ZeroDivisionError, 1)
        recorder.emit(NOTICE)
        recorder.emit(dataclasses.replace(NOTICE, reason="Scheduled"))
        await asyncio.sleep(1)
    assert [body["reason"] for _, _, body in client.sent] == ["FailedScheduling", "Scheduled"]
    assert caplog.messages == ["Failed to write the event FailedScheduling"]
    assert dropped() == before + 1


async def test_an_unreachable_server_is_tried_again() -> None:
    async with recording() as (recorder, client):
        client.before = failing(unreachable, 3)
        recorder.emit(NOTICE)
        await asyncio.sleep(40)
        assert verbs(client) == ["create"] * 4
        assert len(client.store.objects) == 1


async def test_an_event_written_although_its_answer_was_lost_is_written_once() -> None:
    async with recording() as (recorder, client):
        client.after = failing(unreachable, 1)
        recorder.emit(NOTICE)
        await asyncio.sleep(20)
        recorder.emit(NOTICE)
        await asyncio.sleep(1)
        assert verbs(client) == ["create", "create", "patch"]
        assert len(client.store.objects) == 1


async def test_an_event_is_given_up_after_twelve_tries() -> None:
    before = dropped()
    async with recording() as (recorder, client):
        client.before = failing(unreachable, 12)
        recorder.emit(NOTICE)
        recorder.emit(dataclasses.replace(NOTICE, reason="Other"))
        await asyncio.sleep(200)
        assert verbs(client) == ["create"] * 13
    assert dropped() - before == 1


async def test_a_refused_event_is_dropped_at_once() -> None:
    before = dropped()
    async with recording() as (recorder, client):
        client.before = failing(lambda: Forbidden("create", "events", "terminating"), 1)
        recorder.emit(NOTICE)
        await asyncio.sleep(100)
        assert verbs(client) == ["create"]
        recorder.emit(NOTICE)  # not a repetition: the first was never written
        await asyncio.sleep(1)
        assert verbs(client) == ["create", "create"]
    assert dropped() - before == 1


async def test_a_full_queue_drops_the_oldest() -> None:
    before = dropped()
    recorder = Recorder(client := MemoryClient(Store()), "scheduler-0")
    for number in range(1002):
        recorder.emit(dataclasses.replace(NOTICE, reason=f"Reason{number}"))
    await recorder.flush(60)
    assert dropped() - before == 2
    assert [client.sent[0][2]["reason"], client.sent[-1][2]["reason"]] == ["Reason2", "Reason1001"]
    assert len(client.sent) == 1000


class OneHangs(MemoryClient):
    """A server that does not answer for one namespace, as behind a webhook that hangs."""

    async def request(
        self, verb: str, resource: Resource, name: str = "", namespace: str | None = None, **of: Any
    ) -> bytes:
        if namespace == "hangs":
            await asyncio.sleep(WRITE_SECONDS)
            raise unreachable()
        return await super().request(verb, resource, name, namespace, **of)


def about(namespace: str, name: str, reason: str = "FailedScheduling") -> Notice:
    regarding = ObjectReference(PODS, namespace, name, name)
    return dataclasses.replace(NOTICE, regarding=regarding, reason=reason)


async def test_a_namespace_whose_events_hang_neither_delays_nor_drops_those_of_others() -> None:
    recorder = Recorder(client := OneHangs(Store()), "scheduler-0")
    run = asyncio.create_task(recorder.run())
    before = dropped()
    for number in range(1500):
        recorder.emit(about("hangs", f"p{number}"))
        if number % 100 == 0:
            recorder.emit(about(f"team-{number}", f"q{number}"))
            await asyncio.sleep(0.01)
    await asyncio.sleep(1)
    assert len(client.store.objects) == 15
    # One is being written, a thousand wait.
    assert dropped() - before == pytest.approx(500, abs=15)
    run.cancel()
    await asyncio.wait({run})


async def test_counts_of_series_of_a_namespace_that_hangs_delay_no_others() -> None:
    recorder = Recorder(client := OneHangs(Store()), "scheduler-0")
    run = asyncio.create_task(recorder.run())
    for _ in range(3):
        recorder.emit(about("hangs", "p"))
        recorder.emit(about("team", "q"))
        await asyncio.sleep(1)
    await asyncio.sleep(430)
    assert counts(client) == [2, 3]
    run.cancel()
    await asyncio.wait({run})


async def test_many_namespaces_that_hang_take_a_bounded_number_of_requests() -> None:
    recorder = Recorder(client := MemoryClient(Store()), "scheduler-0")
    client.latency = 1e9
    run = asyncio.create_task(recorder.run())
    for number in range(100):
        recorder.emit(about(f"n{number}", "p"))
    await asyncio.sleep(1)
    assert len(client.sent) == PARALLEL
    run.cancel()
    await asyncio.wait({run})


async def test_however_many_namespaces_hang_a_bounded_number_of_events_is_kept() -> None:
    recorder = Recorder(client := MemoryClient(Store()), "scheduler-0")
    client.latency = 1e9
    run, before, tasks = asyncio.create_task(recorder.run()), dropped(), len(asyncio.all_tasks())
    for number in range(QUEUE_LENGTH + 500):
        recorder.emit(about(f"n{number}", "p"))
        if number % 50 == 0:
            await asyncio.sleep(0.01)
    await asyncio.sleep(1)
    assert len(asyncio.all_tasks()) - tasks <= QUEUE_LENGTH + len(PACES)  # and those that pace
    assert dropped() - before == 500
    run.cancel()
    await asyncio.wait({run})


async def test_an_event_that_comes_while_the_last_one_is_written_is_written_too() -> None:
    async with recording() as (recorder, client):
        client.latency = 0.5
        for number in range(5):
            recorder.emit(about("team", f"p{number}"))
            await asyncio.sleep(0.25)
        await asyncio.sleep(5)
        assert len(client.store.objects) == 5


async def test_a_flush_writes_what_is_left_and_no_longer_than_allowed() -> None:
    recorder = Recorder(client := MemoryClient(Store()), "scheduler-0")
    for _ in range(3):
        recorder.emit(NOTICE)
    await recorder.flush(10)
    assert counts(client) == [2, 3]
    recorder.emit(NOTICE)
    client.latency = 1e9
    before, began = dropped(), asyncio.get_running_loop().time()
    recorder.emit(dataclasses.replace(NOTICE, reason="Other"))
    await recorder.flush(2)
    assert asyncio.get_running_loop().time() - began == pytest.approx(2)
    assert dropped() - before == 1


async def test_a_flush_ends_the_writing_that_is_under_way() -> None:
    recorder = Recorder(client := MemoryClient(Store()), "scheduler-0")
    writing = asyncio.create_task(recorder.run())
    await asyncio.sleep(1)
    recorder.emit(NOTICE)
    await recorder.flush(10)
    assert writing.cancelled()
    assert verbs(client) == ["create"]


def of_group(number: int, namespace: str = "team") -> Notice:
    """A group was placed."""
    about = ObjectReference(PODS, namespace, f"g{number}", f"u{number}")
    return Notice("Normal", "Scheduled", "Binding", "all", "enbloc", about, urgency=Urgency.GROUP)


def of_pod(number: int) -> Notice:
    """A pod was bound."""
    about = ObjectReference(PODS, "team", f"p{number}", f"u{number}")
    return dataclasses.replace(of_group(number), regarding=about, urgency=Urgency.POD)


GROUP, POD_PACE = PACES[Urgency.GROUP], PACES[Urgency.POD]


async def test_what_went_well_is_written_at_once_up_to_a_burst_and_then_at_a_steady_rate() -> None:
    async with recording() as (recorder, client):
        for number in range(GROUP.burst + 200):
            recorder.emit(of_group(number))
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        first = len(client.sent)
        await asyncio.sleep(4)
        after_four_seconds = len(client.sent)
        await asyncio.sleep(10)
    assert first == GROUP.burst
    assert after_four_seconds == pytest.approx(GROUP.burst + 4 * GROUP.rate, abs=2)
    assert [body["regarding"]["name"] for _, _, body in client.sent] == [
        f"g{number}" for number in range(GROUP.burst + 200)
    ]


async def test_what_went_well_trickles_while_something_matters_more_and_then_catches_up() -> None:
    busy = True
    async with recording(lambda: busy) as (recorder, client):
        for number in range(150):
            recorder.emit(of_group(number))
        await asyncio.sleep(4)
        meanwhile = len(client.sent)
        busy = False
        await asyncio.sleep(4)
    assert meanwhile == pytest.approx(4 * GROUP.trickle, abs=2)
    assert len(client.sent) == 150


async def test_what_is_said_of_groups_does_not_wait_for_what_is_said_of_pods() -> None:
    async with recording(lambda: True) as (recorder, client):
        for number in range(100):
            recorder.emit(of_pod(number))
        recorder.emit(of_group(7))
        await asyncio.sleep(0.1)
        named = [body["regarding"]["name"] for _, _, body in client.sent]
    assert named == ["p0", "g7"]


async def test_other_events_do_not_wait_for_what_went_well() -> None:
    async with recording() as (recorder, client):
        for number in range(GROUP.burst + 500):
            recorder.emit(of_group(number))
        recorder.emit(NOTICE)
        await asyncio.sleep(0.01)
        reasons = [body["reason"] for _, _, body in client.sent]
    assert reasons.count("Scheduled") == GROUP.burst
    assert reasons[-1] == "FailedScheduling"


async def test_of_too_many_some_are_dropped_where_most_wait_and_counted() -> None:
    before = dropped()
    async with recording() as (recorder, client):
        for number in range(GROUP.burst + GROUP.length):
            recorder.emit(of_group(number, "crowded"))
        for number in range(10):
            recorder.emit(of_group(number, "quiet"))
        await asyncio.sleep(1)  # they come in turn
    assert dropped() - before == 10
    names = [body["regarding"]["namespace"] for _, _, body in client.sent]
    assert names.count("quiet") == 10


async def test_of_many_pods_that_are_bound_at_once_few_have_an_event() -> None:
    before, many = dropped(), 5000
    async with recording() as (recorder, client):
        for number in range(many):
            recorder.emit(of_pod(number))
        await asyncio.sleep(60)
    assert len(client.sent) == POD_PACE.burst + POD_PACE.length
    assert dropped() - before == many - len(client.sent)


async def test_what_waits_is_written_at_the_end() -> None:
    client = MemoryClient(Store())
    recorder = Recorder(client, "scheduler-0")
    for number in range(GROUP.burst + 50):
        recorder.emit(of_group(number))
    await recorder.flush(60)
    assert len(client.sent) == GROUP.burst + 50


async def test_what_waits_goes_before_nothing_urgent_at_the_end() -> None:
    client, before = MemoryClient(Store()), dropped()
    recorder = Recorder(client, "scheduler-0", lambda: True)
    for number in range(GROUP.length):
        recorder.emit(of_group(number))
    urgent = QUEUE_LENGTH - 100
    for number in range(urgent):
        about = dataclasses.replace(POD, name=f"p{number}")
        recorder.emit(dataclasses.replace(NOTICE, regarding=about))
    await recorder.flush(600)
    reasons = Counter(body["reason"] for _, _, body in client.sent)
    assert reasons["FailedScheduling"] == urgent
    assert reasons["Scheduled"] + dropped() - before == GROUP.length
    assert reasons["Scheduled"] >= 99


async def test_an_event_that_comes_late_says_when_it_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0 + loop.time())
    async with recording(lambda: True) as (recorder, client):
        began = loop.time()
        for number in range(10):
            recorder.emit(of_group(number))
        await asyncio.sleep(20)
    assert len(client.sent) == 10
    assert {body["eventTime"] for _, _, body in client.sent} == {
        micro_time_text(1_800_000_000.0 + began)
    }
