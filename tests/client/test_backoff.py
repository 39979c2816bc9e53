# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long is waited after which error, and who can see it."""

import asyncio
import logging
import re

import pytest
from prometheus_client import REGISTRY

from enbloc.client.backoff import DOWN_SECONDS, Backoff, asked_for
from enbloc.client.binding import Binding, Bound, bind
from enbloc.client.errors import (
    LONGEST_WAIT,
    ServerError,
    TooManyRequests,
    Unreachable,
    from_status,
)
from tests.client.fake import Script, answer, says, talking_to

LABELS = {"verb": "create", "resource": "pods/binding"}


def busy(asked: float) -> TooManyRequests:
    return TooManyRequests("create", "pods/binding", "busy", code=429, retry_after=asked)


def waiting() -> float:
    return REGISTRY.get_sample_value("enbloc_waiting_requests", LABELS) or 0.0


@pytest.mark.parametrize("asked", [3600.0, 1e300, float("inf")])
def test_no_server_makes_anybody_wait_longer_than_half_a_minute(asked: float) -> None:
    """semantics §3.4"""
    waits = [Backoff().after(busy(asked)) for _ in range(100)]
    assert max(waits) <= LONGEST_WAIT
    assert min(waits) >= LONGEST_WAIT * 0.8
    assert len(set(waits)) > 50, "all come back at the same moment"


def test_what_a_server_asks_for_within_reason_is_waited_and_spread() -> None:
    waits = [Backoff().after(busy(10.0)) for _ in range(100)]
    assert 10.0 <= min(waits) <= max(waits) <= 12.0
    assert len(set(waits)) > 50


def test_a_server_that_always_asks_for_nothing_is_asked_less_and_less() -> None:
    backoff = Backoff()
    waits = [backoff.after(busy(0.0)) for _ in range(10)]
    assert waits[0] <= 0.5
    assert waits[-1] >= 15.0


def test_a_long_wait_is_logged_and_every_one_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    def count() -> float:
        return REGISTRY.get_sample_value("enbloc_throttled_requests_total", LABELS) or 0.0

    before = count()
    with caplog.at_level(logging.WARNING):
        Backoff().after(busy(1.0))
        assert caplog.records == []
        Backoff().after(busy(3600.0))
    [record] = caplog.records
    asks = r"API server asks to wait 3600 s; retrying in (2[4-9]|30) s: "
    assert re.match(asks, record.getMessage())
    assert "cannot create pods/binding: 429: busy" in record.getMessage()
    assert count() == before + 2


def test_what_a_failing_server_asks_for_is_known_and_bounded() -> None:
    """semantics §3.4"""
    waits = [
        asked_for(from_status("patch", "pods", 503, {}, asked)) for asked in (20.0, 3600.0, None)
    ]
    assert 20.0 <= waits[0] <= 24.0 <= waits[1] <= LONGEST_WAIT
    assert waits[2] == 0.0
    details = {"retryAfterSeconds": 20}
    assert asked_for(from_status("patch", "pods", 500, {"details": details})) >= 20.0
    assert asked_for(from_status("patch", "pods", 409, {"details": details}, 20.0)) == 0.0


def test_a_server_that_takes_no_connection_is_tried_every_second_or_two() -> None:
    backoff = Backoff()
    away = Unreachable("list", "pods", "refused", sent=False)
    waits = [backoff.after(away) for _ in range(100)]
    assert DOWN_SECONDS / 2 <= min(waits) <= max(waits) <= DOWN_SECONDS
    # What it then answers while it starts is waited out from the beginning.
    assert backoff.after(ServerError("list", "pods", "starting", code=503)) <= 0.5


def test_what_may_have_been_sent_is_tried_less_and_less() -> None:
    backoff = Backoff()
    waits = [backoff.after(Unreachable("list", "pods", "reset", sent=True)) for _ in range(10)]
    assert waits[-1] >= 15.0


async def test_a_binding_that_waits_is_shown_by_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enbloc.client.backoff.LONGEST_WAIT", 0.2)
    throttled = says(lambda: answer({}, 429, **{"Retry-After": "3600"}))
    server = Script(throttled, says(lambda: answer({"kind": "Status", "status": "Success"}, 201)))
    shown = list[float]()

    async def look() -> None:
        while True:
            shown.append(waiting())
            await asyncio.sleep(0.01)

    looking = asyncio.create_task(look())
    async with talking_to(server) as client:
        assert await bind(client, Binding("default", "p", "u1", "n")) == Bound()
    looking.cancel()
    assert max(shown) == 1.0
    assert waiting() == 0.0
