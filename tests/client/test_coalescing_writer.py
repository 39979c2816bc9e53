# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is written of the values of a key, and when; in virtual time."""

import asyncio
import logging
from collections.abc import Callable
from itertools import pairwise

import pytest
from prometheus_client import REGISTRY

from enbloc.client.coalescing_writer import (
    BUG_SECONDS,
    CROWD_LATEST_SECONDS,
    CROWD_SETTLED_SECONDS,
    LATEST_SECONDS,
    NEWER_SECONDS,
    CoalescingWriter,
)
from enbloc.client.errors import (
    APIError,
    Conflict,
    Fenced,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from enbloc.model.groups import GroupKey
from enbloc.telemetry import ActiveProblems
from enbloc.telemetry.problems import MOST_LOGGED


class Sink:
    """Takes writes, each so many seconds long; fails the first ones as it is told."""

    def __init__(self, *errors: Exception, takes: float = 0.0) -> None:
        self.begun: list[tuple[float, str, int]] = []
        self.written: list[tuple[str, int]] = []
        self.errors = list(errors)
        self.takes = takes
        self.in_flight = self.most = 0
        self.problems = ActiveProblems()

    async def write(self, key: str, value: int) -> None:
        self.begun.append((asyncio.get_running_loop().time(), key, value))
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(self.takes)
            if self.errors:
                raise self.errors.pop(0)
            self.written.append((key, value))
        finally:
            self.in_flight -= 1

    def writer(
        self,
        *,
        parallel: int = 8,
        interval: float = 0.0,
        rejected: Callable[[str, str], None] = lambda _key, _why: None,
    ) -> CoalescingWriter[str, int]:
        return CoalescingWriter(
            "test",
            self.write,
            self.problems,
            queue="test",
            parallel=parallel,
            interval=interval,
            rejected=rejected,
        )


async def test_of_many_values_in_a_row_the_first_and_the_newest_are_written() -> None:
    sink = Sink(takes=1)
    writer = sink.writer()
    writer.put("a", 1)
    await asyncio.sleep(0)
    for value in (2, 3, 4):
        writer.put("a", value)
    await writer.settled()
    assert sink.begun == [(0, "a", 1), (1, "a", 4)]
    assert sink.most == 1


async def test_different_keys_are_written_at_once_but_not_too_many() -> None:
    sink = Sink(takes=1)
    writer = sink.writer(parallel=3)
    for index in range(10):
        writer.put(f"k{index}", index)
    await writer.settled()
    assert len(sink.written) == 10
    assert sink.most == 3


async def test_what_waits_for_others_is_still_replaced_by_a_newer_value() -> None:
    sink = Sink(takes=1)
    writer = sink.writer(parallel=1)
    writer.put("a", 1)
    writer.put("b", 1)
    await asyncio.sleep(0.5)
    writer.put("b", 2)
    await writer.settled()
    assert sink.written == [("a", 1), ("b", 2)]


async def test_a_burst_is_written_once_at_its_start_and_once_an_interval() -> None:
    sink = Sink()
    writer = sink.writer(interval=1.0)
    for value in range(25):
        writer.put("a", value)
        await asyncio.sleep(0.1)
    await writer.settled()
    assert [(round(time), value) for time, _, value in sink.begun] == [
        (0, 0),
        (1, 9),
        (2, 19),
        (3, 24),
    ]


async def test_a_write_longer_than_the_interval_is_followed_by_the_next_at_once() -> None:
    sink = Sink(takes=3)
    writer = sink.writer(interval=1.0)
    writer.put("a", 1)
    await asyncio.sleep(1)
    writer.put("a", 2)
    await writer.settled()
    assert [time for time, _, _ in sink.begun] == [0, 3]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        pytest.param(
            Unreachable("patch", "x/status", "reset", sent=True), True, id="connection reset"
        ),
        pytest.param(ServerError("patch", "x/status", "", code=500), True, id="500"),
        pytest.param(Forbidden("patch", "x/status", "no", code=403), True, id="403"),
        pytest.param(Conflict("patch", "x/status", "modified", code=409), False, id="409"),
        pytest.param(
            NotFound("patch", "x/status", "404 page not found", code=404), True, id="404 of nothing"
        ),
    ],
)
async def test_a_write_is_repeated_while_the_server_may_come_to_take_it(
    error: APIError, said: bool
) -> None:
    sink = Sink(error)
    writer = sink.writer()
    writer.put("a", 1)
    await asyncio.sleep(0.01)
    assert bool(sink.problems.active) is said
    await writer.settled()
    assert sink.written == [("a", 1)]
    assert not sink.problems.active


async def test_a_server_that_is_away_is_asked_by_few_and_told_all_soon_after_its_return() -> None:
    sink = Sink(takes=0.001)
    writer = sink.writer(parallel=3)
    back = 300.0
    away = Unreachable("patch", "x/status", "refused", sent=False)

    async def write(key: str, value: int) -> None:
        if asyncio.get_running_loop().time() < back:
            sink.begun.append((0, key, value))
            raise away
        await Sink.write(sink, key, value)

    writer._write = write
    for index in range(500):
        writer.put(f"k{index}", index)
    await asyncio.sleep(back)
    assert len(sink.begun) <= 3 * (back + 3)
    async with asyncio.timeout(3):
        await writer.settled()
    assert len(sink.written) == 500


async def test_a_namespace_with_thousands_of_objects_keeps_no_other_waiting() -> None:
    sink, good, written = Sink(takes=1), GroupKey("good", "train"), asyncio.Event()

    async def write(key: GroupKey, value: int) -> None:
        await sink.write(key.name, value)
        if key == good:
            written.set()

    writer = CoalescingWriter[GroupKey, int]("test", write, sink.problems, queue="test", parallel=4)
    for index in range(1000):
        writer.put(GroupKey("evil", str(index)), 1)
    writer.put(good, 1)
    async with asyncio.timeout(3):
        await written.wait()
    writer.close()


async def test_the_pauses_between_failures_grow() -> None:
    sink = Sink(*(ServerError("patch", "x/status", "", code=500) for _ in range(5)))
    writer = sink.writer()
    writer.put("a", 1)
    await writer.settled()
    times = [time for time, _, _ in sink.begun]
    pauses = [after - before for before, after in pairwise(times)]
    assert all(4.0 <= pause <= 8.0 for pause in pauses[4:])
    assert pauses[0] <= 0.5


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            NotFound("patch", "x/status", "gone", code=404, details={"name": "a"}), id="gone"
        ),
        pytest.param(Fenced("patch", "x/status", "not the leader"), id="not the leader"),
        pytest.param(
            Forbidden(
                "patch",
                "x/status",
                "terminating",
                code=403,
                details={"causes": [{"reason": "NamespaceTerminating"}]},
            ),
            id="namespace terminating",
        ),
    ],
)
async def test_a_write_that_is_pointless_is_dropped(
    error: APIError, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sink = Sink(error)
    writer = sink.writer()
    writer.put("a", 1)
    await writer.settled()
    assert sink.written == []
    assert not sink.problems.active
    assert not caplog.messages


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            NotFound("patch", "x/status", "gone", code=404, details={"name": "a"}), id="gone"
        ),
        pytest.param(Invalid("patch", "x/status", "bad", code=422), id="rejected"),
    ],
)
async def test_a_problem_is_over_once_the_server_answers_about_the_object(answer: APIError) -> None:
    """Nothing else may be written for hours, and the process was not ready meanwhile."""
    sink = Sink(ServerError("patch", "x/status", "away", code=503), answer)
    writer = sink.writer()
    writer.put("a", 1)
    await asyncio.sleep(0.01)
    assert sink.problems.active
    await asyncio.sleep(2)
    assert not sink.errors
    assert not sink.problems.active
    await writer.settled()


QUOTA = 'x "a" is forbidden: exceeded quota: small, requested: count/x=1, used: 1, limited: 1'
WEBHOOK = 'admission webhook "policy.test" denied the request: not here'
POLICY = "x is forbidden: ValidatingAdmissionPolicy 'v' with binding 'b' denied request: not here"


#: The details of an error about some object; webhooks pass them on.
NAMED = {"name": "a", "kind": "x"}


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Invalid("patch", "x/status", "bad", code=400), id="400"),
        pytest.param(Invalid("patch", "x/status", "bad", code=422), id="422"),
        pytest.param(Forbidden("patch", "x/status", QUOTA, code=403), id="quota"),
        pytest.param(Forbidden("patch", "x/status", WEBHOOK, code=403), id="webhook"),
        pytest.param(APIError("patch", "x/status", "too large", code=413), id="413"),
        pytest.param(Forbidden("patch", "x/status", POLICY, code=403), id="policy"),
        *(
            pytest.param(
                kind("patch", "x/status", WEBHOOK, code=code, details=NAMED), id=f"webhook {code}"
            )
            for kind, code in (
                (Unauthorized, 401),
                (NotFound, 404),
                (Conflict, 409),
                (TooManyRequests, 429),
                (ServerError, 500),
            )
        ),
    ],
)
async def test_a_write_that_is_rejected_is_repeated_later_and_said_once(
    error: APIError, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no problem of this process: a tenant could keep it unready by filling a quota."""
    caplog.set_level(logging.INFO)
    sink = Sink(error, error)
    told: list[tuple[str, str]] = []
    writer = sink.writer(rejected=lambda key, why: told.append((key, why)))
    writer.put("a", 1)
    await writer.settled()
    assert told == [("a", error.message)]
    assert [time for time, _, _ in sink.begun] == [0, BUG_SECONDS, 2 * BUG_SECONDS]
    assert sink.written == [("a", 1)]
    assert not sink.problems.active
    assert caplog.messages == [f"API server rejected the test update of a: {error}"]


async def test_a_newer_value_does_not_wait_for_one_that_was_rejected() -> None:
    sink = Sink(Invalid("patch", "x/status", "bad", code=422))
    writer = sink.writer()
    writer.put("a", 1)
    await asyncio.sleep(5)
    writer.put("a", 2)
    await writer.settled()
    assert [time for time, _, _ in sink.begun] == [0, 5]
    assert sink.written == [("a", 2)]


async def test_newer_values_that_are_rejected_as_well_are_written_once_a_second() -> None:
    sink = Sink(*(Invalid("patch", "x/status", "bad", code=422) for _ in range(2)))
    writer = sink.writer()
    writer.put("a", 1)
    for value in range(2, 15):
        await asyncio.sleep(0.1)
        writer.put("a", value)
    await writer.settled()
    assert [round(time, 1) for time, _, _ in sink.begun] == [0, NEWER_SECONDS, 2 * NEWER_SECONDS]
    assert sink.written == [("a", 14)]


async def test_a_missing_permission_is_named_once_and_until_it_is_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    sink = Sink(*(Forbidden("patch", "pods/status", "no", code=403) for _ in range(2)))
    writer = sink.writer()
    writer.put("a", 1)
    writer.put("b", 2)
    await asyncio.sleep(0.01)
    [problem] = sink.problems.active
    assert problem.endswith('(grant the verb "patch" on pods/status)')
    await writer.settled()
    assert not sink.problems.active
    assert [r.levelname for r in caplog.records] == ["ERROR", "INFO"]


async def test_a_missing_permission_of_thousands_of_objects_fills_no_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The server names the object in each refusal."""
    sink = Sink()

    async def refused(key: str, _value: int) -> None:
        text = f'x "{key}" is forbidden: User "u" cannot patch resource "x/status"'
        raise Forbidden("patch", "x/status", text, code=403)

    sink.problems = ActiveProblems(asyncio.get_running_loop().time)
    writer = CoalescingWriter("test", refused, sink.problems, queue="test")
    for index in range(500):
        writer.put(f"k{index}", index)
    await asyncio.sleep(300)
    assert MOST_LOGGED <= len(caplog.messages) <= 6 * MOST_LOGGED
    assert len(sink.problems.active) == 1
    writer.close()


async def test_a_kind_that_is_being_deleted_is_no_missing_permission(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    words = "create not allowed while custom resource definition is terminating"
    sink = Sink(Forbidden("create", "podgroups.enbloc.dev", words, code=403))
    writer = sink.writer()
    writer.put("a", 1)
    await writer.settled()
    assert sink.written == [("a", 1)]
    assert caplog.records == []


async def test_a_bug_is_logged_with_the_key_and_the_write_repeated_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = Sink(ZeroDivisionError())
    writer = sink.writer()
    writer.put("a", 1)
    await writer.settled()
    assert [time for time, _, _ in sink.begun] == [0, BUG_SECONDS]
    assert caplog.messages == ["Failed test update of a"]


async def test_what_waits_is_written_at_the_end_without_an_interval() -> None:
    sink = Sink(takes=0.5)
    writer = sink.writer(interval=10.0)
    writer.put("a", 1)
    await asyncio.sleep(0.1)
    writer.put("a", 2)
    await writer.finish(2.0)
    writer.put("a", 3)
    await writer.settled()
    assert [time for time, _, _ in sink.begun] == [0, 0.5]
    assert sink.written == [("a", 1), ("a", 2)]


async def test_what_cannot_be_written_is_given_up_at_the_end() -> None:
    sink = Sink(takes=10)
    writer = sink.writer()
    writer.put("a", 1)
    await asyncio.sleep(0)
    await writer.finish(2.0)
    await writer.settled()
    assert asyncio.get_running_loop().time() == 2.0
    assert sink.written == []


async def test_it_counts_as_a_work_queue_does() -> None:
    def value(name: str) -> float:
        return REGISTRY.get_sample_value(f"workqueue_{name}", {"name": "test"}) or 0.0

    names = ("adds_total", "retries_total", "work_duration_seconds_count")
    before = [value(name) for name in names]
    sink = Sink(ServerError("patch", "podgroups", "broken"), takes=1)
    writer = sink.writer(parallel=1)
    writer.put("a", 1)
    writer.put("b", 1)
    await asyncio.sleep(0.5)
    assert value("depth") == 1
    assert value("unfinished_work_seconds") > 0
    assert value("longest_running_processor_seconds") > 0
    await writer.settled()
    assert [value(name) - was for name, was in zip(names, before, strict=True)] == [2, 1, 3]
    assert value("depth") == value("unfinished_work_seconds") == 0


def settling(sink: Sink, seconds: float) -> CoalescingWriter[str, int]:
    """Of values that settle after so long, but 0 at once."""
    return CoalescingWriter(
        "test",
        sink.write,
        sink.problems,
        queue="test",
        settles=lambda value: seconds if value else 0.0,
    )


def patient(sink: Sink, patience: Callable[[int], float]) -> CoalescingWriter[str, int]:
    """Of values that settle after a second, or for as long as a crowd may make them."""
    return CoalescingWriter(
        "test",
        sink.write,
        sink.problems,
        queue="test",
        settles=lambda _: 1.0,
        patience=patience,
    )


async def test_a_value_is_written_once_it_has_settled() -> None:
    sink = Sink()
    writer = settling(sink, 1.0)
    for value in (1, 2, 3):
        writer.put("a", value)
        await asyncio.sleep(0.6)
    await writer.settled()
    [(at, key, value)] = sink.begun
    assert (key, value) == ("a", 3)
    assert at == pytest.approx(2.2)


async def test_a_value_that_has_settled_by_itself_is_written_at_once() -> None:
    sink = Sink()
    writer = settling(sink, 1.0)
    writer.put("a", 1)
    await asyncio.sleep(0.3)
    writer.put("a", 0)
    await writer.settled()
    assert [value for _, _, value in sink.begun] == [0]


async def test_what_never_settles_is_written_all_the_same() -> None:
    sink = Sink()
    writer = settling(sink, 1.0)
    for value in range(1, 100):
        writer.put("a", value)
        await asyncio.sleep(0.1)
    assert [time for time, _, _ in sink.begun] == pytest.approx([LATEST_SECONDS, 8.0], abs=0.3)


def grouped(sink: Sink, begun: list[tuple[float, str]]) -> CoalescingWriter[GroupKey, int]:
    """Of values of groups, which settle after a second."""

    async def write(key: GroupKey, value: int) -> None:
        begun.append((asyncio.get_running_loop().time(), key.namespace))
        await sink.write(key.name, value)

    return CoalescingWriter(
        "test", write, sink.problems, queue="test", parallel=8, settles=lambda _: 1.0
    )


async def test_in_a_burst_of_many_groups_each_is_written_once_when_it_is_over() -> None:
    sink, begun = Sink(), list[tuple[float, str]]()
    writer = grouped(sink, begun)
    groups = [GroupKey("batch", str(index)) for index in range(1000)]
    for group in groups:  # all wait from the first moment on
        writer.put(group, 1)
    for group in groups:  # and are bound one after the other, within ten seconds
        writer.put(group, 2)
        await asyncio.sleep(0.01)
    await writer.settled()
    assert len(sink.written) == len(groups)
    assert {value for _, value in sink.written} == {2}
    assert max(at for at, _ in begun) <= CROWD_LATEST_SECONDS + 0.1


async def test_what_goes_on_changing_in_a_crowd_is_written_all_the_same() -> None:
    sink, begun = Sink(), list[tuple[float, str]]()
    writer = grouped(sink, begun)
    for _ in range(25):
        for index in range(1000):
            writer.put(GroupKey("batch", str(index)), 1)
        await asyncio.sleep(0.9)
    first = {name for (name, _), (at, _) in zip(sink.written, begun, strict=True) if at < 21}
    assert len(first) == 1000
    writer.close()


async def test_a_crowd_of_one_namespace_delays_its_own_values_alone() -> None:
    sink, begun = Sink(), list[tuple[float, str]]()
    writer = grouped(sink, begun)
    for index in range(5000):
        writer.put(GroupKey("evil", str(index)), 1)
    writer.put(GroupKey("good", "train"), 1)
    await writer.settled()
    assert begun[0] == (1.0, "good")
    assert begun[1][0] == CROWD_SETTLED_SECONDS


async def test_what_must_not_wait_for_a_crowd_does_not() -> None:
    sink = Sink()
    writer = patient(sink, lambda value: CROWD_SETTLED_SECONDS if value < 1000 else 0.0)
    for value in range(1001):
        writer.put(str(value), value)
    await writer.settled()
    assert sink.written[0] == ("1000", 1000)
    assert [time for time, _, _ in sink.begun[:2]] == [1.0, CROWD_SETTLED_SECONDS]


async def test_what_must_not_wait_is_not_held_up_by_what_its_key_waits_with() -> None:
    sink = Sink()
    writer = patient(sink, lambda value: CROWD_SETTLED_SECONDS if value < 1000 else 0.0)
    for value in range(1000):
        writer.put(str(value), value)
    await asyncio.sleep(3)
    writer.put("7", 1000)
    await asyncio.sleep(1.1)
    assert [(at, value) for at, _, value in sink.begun] == [(4.0, 1000)]
    writer.close()


async def test_what_is_about_to_change_waits_for_longer_in_a_crowd() -> None:
    sink = Sink()
    writer = patient(sink, lambda value: CROWD_LATEST_SECONDS if value else CROWD_SETTLED_SECONDS)
    for value in range(1001):
        writer.put(str(value), value)
    await writer.settled()
    assert [time for time, _, _ in sink.begun[:2]] == [CROWD_SETTLED_SECONDS, CROWD_LATEST_SECONDS]
    assert sink.written[0] == ("0", 0)


async def test_a_value_whose_write_failed_need_not_settle_again() -> None:
    sink = Sink(ServerError("patch", "test", "no"))
    writer = settling(sink, 3.0)
    writer.put("a", 1)
    await writer.settled()
    first, second = (time for time, _, _ in sink.begun)
    assert first == 3.0
    assert second < 5.0


async def test_a_value_that_has_not_settled_is_written_at_the_end() -> None:
    sink = Sink()
    writer = settling(sink, 3.0)
    writer.put("a", 1)
    await asyncio.sleep(0.1)
    await writer.finish(1.0)
    assert sink.written == [("a", 1)]
