# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the engine is told of the evictions that it asked for (semantics §4.5)."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from enbloc.engine.effects import Evict, StopEvict
from enbloc.engine.events import Evicted, EvictRefused, EvictStopped
from enbloc.live.evictions import SLOTS, Evictions
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import PodKey, PodUID
from tests.client.fake import answer, refusal, talking_to

NOW = 1_800_000_000.0


class Kubernetes:
    """Running pods of jobs; each test says what becomes of an Eviction."""

    def __init__(self) -> None:
        self.evict: Callable[[], web.Response] = lambda: answer({"kind": "Status"}, 201)
        self.owners: list[dict[str, Any]] = [{"controller": True, "kind": "Job", "name": "j"}]
        self.open = asyncio.Event()
        self.open.set()
        self.marks = asyncio.Event()
        self.marks.set()
        self.refuses_marks = False  # of b, as an admission policy may
        self.asked: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        await self.open.wait()
        name, _, subresource = request.path.split("/pods/")[1].partition("/")
        if (request.method, name) == ("PATCH", "b"):
            await self.marks.wait()
            if self.refuses_marks:
                return refusal(403, "Forbidden", "denied by a policy")
        self.asked.append(f"{request.method} {subresource or name}")
        if subresource == "eviction":
            return self.evict()
        metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
        return answer(
            {
                "metadata": {**metadata, "ownerReferences": self.owners},
                "status": {"phase": "Running"},
            }
        )


class Told:
    """What came of evictions."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Evicted | EvictRefused | EvictStopped] = asyncio.Queue()
        self.ended: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()

    async def next(self) -> Evicted | EvictRefused | EvictStopped:
        async with asyncio.timeout(5.0):
            return await self.events.get()


@asynccontextmanager
async def evicting(
    server: Kubernetes, *, leads: bool = True
) -> AsyncGenerator[tuple[Evictions, Told]]:
    told = Told()
    async with talking_to(server) as client:
        fenced = client.fenced(lambda: leads)
        evictions = Evictions(fenced, lambda: NOW, told.events.put_nowait, told.ended.put_nowait)
        yield evictions, told
        evictions.close()


def evict(name: str, **how: bool) -> Evict:
    pod, uid = PodKey("ns", name), PodUID(f"uid-{name}")
    return Evict(pod, uid, GroupKey("ns", "g"), Reason.BELOW_MINIMUM, "3 of 8 members fit", **how)


def stop(*names: str) -> StopEvict:
    return StopEvict(GroupKey("ns", "g"), frozenset(PodUID(f"uid-{name}") for name in names))


def counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("enbloc_evictions_total", {"outcome": outcome}) or 0.0


async def test_an_evicted_pod_is_answered_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    before = counted("evicted")
    async with evicting(Kubernetes()) as (evictions, told):
        evictions.start([evict("a")])
        assert await told.next() == Evicted(PodUID("uid-a"))
    assert counted("evicted") == before + 1
    [record] = caplog.records
    assert record.message == "Evicted a pod"
    assert vars(record).items() >= {"pod": "ns/a", "podGroup": "ns/g"}.items()


async def test_a_pod_is_never_evicted_twice_at_once() -> None:
    server = Kubernetes()
    server.open.clear()
    async with evicting(server) as (evictions, told):
        for name in "aba":
            evictions.start([evict(name)])
        await asyncio.sleep(0.01)
        server.open.set()
        answers = {(await told.next()).uid for _ in "ab"}
        assert answers == {"uid-a", "uid-b"}
        assert told.events.empty()
    assert server.asked.count("POST eviction") == 2


async def test_none_of_those_who_go_together_is_evicted_before_all_are_marked() -> None:
    """Semantics §10.3: whoever leads next knows by their conditions who else was to go."""
    server = Kubernetes()
    server.marks.clear()
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a"), evict("b")])
        await asyncio.sleep(0.1)
        assert sorted(server.asked) == ["GET a", "GET b", "PATCH status"]
        server.marks.set()
        assert {(await told.next()).uid for _ in "ab"} == {"uid-a", "uid-b"}


async def test_of_more_who_go_together_than_are_asked_about_at_once_all_are_evicted() -> None:
    async with evicting(Kubernetes()) as (evictions, told):
        evictions.start([evict(f"p{number}") for number in range(2 * SLOTS)])
        assert len({(await told.next()).uid for _ in range(2 * SLOTS)}) == 2 * SLOTS


async def test_one_that_is_gone_already_keeps_nobody_from_going() -> None:
    server = Kubernetes()
    server.owners = []
    async with evicting(server) as (evictions, told):
        evictions.start([msgspec.structs.replace(evict("a"), bare=True), evict("b")])
        answers = {type(await told.next()) for _ in "ab"}
    assert answers == {Evicted, EvictRefused}


async def test_of_a_whole_nobody_goes_where_one_may_not_be_marked() -> None:
    """Semantics §10.3: that one would stay, and a part of a minimum is worth nothing."""
    server = Kubernetes()
    server.refuses_marks = True
    async with evicting(server) as (evictions, told):
        evictions.start([evict(name, whole=True) for name in "abc"])
        answers = [await told.next() for _ in "abc"]
    assert {answer.uid for answer in answers} == {"uid-a", "uid-b", "uid-c"}
    for each in answers:
        assert isinstance(each, EvictRefused)
        assert each.retry_at == NOW + 10.0
        assert "denied by a policy" in each.message
    assert "POST eviction" not in server.asked


async def test_of_a_repair_others_go_where_one_may_not_be_marked() -> None:
    server = Kubernetes()
    server.refuses_marks = True
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a"), evict("b")])
        answers = {type(await told.next()) for _ in "ab"}
    assert answers == {Evicted, EvictRefused}


async def test_the_rest_of_a_broken_gang_goes_though_it_may_not_be_marked() -> None:
    """Semantics §10.3."""
    server = Kubernetes()
    server.refuses_marks = True
    async with evicting(server) as (evictions, told):
        evictions.start([evict("b", rest=True, regardless=True)])
        assert await told.next() == Evicted(PodUID("uid-b"))
    assert server.asked == ["GET b", "DELETE b"]


async def test_evictions_of_which_nothing_was_sent_are_stopped() -> None:
    """Semantics §10.3: an eviction that nobody needs any more would be in vain."""
    server = Kubernetes()
    server.marks.clear()
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a"), evict("b")])
        await asyncio.sleep(0.1)
        evictions.stop(stop("b"))
        answers = [await told.next() for _ in "ab"]
        server.marks.set()
        await asyncio.sleep(0.1)
        assert told.events.empty()
    assert answers == [EvictStopped(PodUID("uid-a")), EvictStopped(PodUID("uid-b"))]
    assert "POST eviction" not in server.asked


async def test_evictions_of_which_one_was_sent_go_on_until_certain() -> None:
    """The others of its gang would be a part of a minimum."""
    server = Kubernetes()
    async with evicting(server) as (evictions, told):

        def once() -> web.Response:
            evictions.stop(stop("a", "b"))
            server.evict = lambda: answer({"kind": "Status"}, 201)
            return refusal(500, "InternalError", "etcd is away")

        server.evict = once
        evictions.start([evict("a"), evict("b")])
        assert {type(await told.next()) for _ in "ab"} == {Evicted}
    assert server.asked.count("POST eviction") == 3


async def test_a_later_eviction_of_a_pod_replaces_the_one_under_way() -> None:
    """A budget keeps what was to be evicted; the rest of a broken gang is deleted all the same."""
    server = Kubernetes()
    server.evict = lambda: refusal(500, "InternalError", "etcd is away")
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a")])
        await asyncio.sleep(0.05)
        evictions.start([evict("a", regardless=True)])
        assert await told.next() == Evicted(PodUID("uid-a"))
        await asyncio.sleep(0.3)
        assert told.events.empty()
    assert server.asked[-1] == "DELETE a"


async def test_who_went_with_a_pod_that_goes_with_others_now_waits_for_it_no_more() -> None:
    async with evicting(Kubernetes()) as (evictions, told):
        evictions.start([evict("a"), evict("c")])
        evictions.start([evict("a")])
        assert {(await told.next()).uid for _ in "ac"} == {"uid-a", "uid-c"}


async def test_an_eviction_that_was_answered_may_be_asked_for_again() -> None:
    server = Kubernetes()
    async with evicting(server) as (evictions, told):
        for _ in range(2):
            evictions.start([evict("a")])
            await told.next()
    assert server.asked.count("POST eviction") == 2


async def test_a_budget_says_when_to_ask_again_on_the_engines_clock() -> None:
    before = counted("blocked")
    server = Kubernetes()
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget b needs 8"}]
    server.evict = lambda: refusal(429, "TooManyRequests", causes=causes, retryAfterSeconds=45)
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a")])
        assert await told.next() == EvictRefused(
            PodUID("uid-a"), "The disruption budget b needs 8", NOW + 45.0
        )
    assert counted("blocked") == before + 1


async def test_a_missing_permission_is_an_error_for_who_runs_enbloc(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Kubernetes()
    server.evict = lambda: refusal(403, "Forbidden", "may not create pods/eviction")
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a")])
        refused = await told.next()
    assert isinstance(refused, EvictRefused)
    assert refused.retry_at == NOW + 10.0
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_a_bare_pod_is_never_evicted() -> None:
    before = counted("exempt")
    server = Kubernetes()
    server.owners = []
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a")])
        refused = await told.next()
    assert isinstance(refused, EvictRefused)
    assert refused.retry_at == math.inf
    assert refused.message == "the pod has no controller that would replace it"
    assert server.asked == ["GET a"]
    assert counted("exempt") == before + 1


async def test_who_no_longer_leads_evicts_nothing_and_answers_nothing() -> None:
    server = Kubernetes()
    async with evicting(server, leads=False) as (evictions, told):
        evictions.start([evict("a")])
        async with asyncio.timeout(5.0):
            ended = await told.ended.get()
        assert told.events.empty()
        assert ended.exception() is None
    assert server.asked == ["GET a"]


async def test_evictions_under_way_are_given_up_at_the_end() -> None:
    server = Kubernetes()
    server.open.clear()
    async with evicting(server) as (evictions, told):
        evictions.start([evict("a")])
        await asyncio.sleep(0.01)
        evictions.close()
        async with asyncio.timeout(5.0):
            ended = await told.ended.get()
        assert ended.cancelled()
        assert told.events.empty()
