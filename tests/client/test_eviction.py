# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An eviction is settled, spares bare pods and respects budgets (semantics §4.5)."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.errors import Fenced
from enbloc.client.eviction import PAUSE, Blocked, Evicted, EvictionRequest, Exempt, evict
from tests.client.fake import (
    HTML,
    TOMORROW,
    Handler,
    Script,
    answer,
    refusal,
    resets,
    says,
    talking_to,
)

VICTIM = EvictionRequest("default", "p", "u1", "BelowMinimum", "3 of 8 members fit")
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": True}
DONE = says(lambda: answer({"kind": "Status"}, 201))
PATH = "/api/v1/namespaces/default/pods/p"
#: 2027-01-15T08:00:00Z
NOW = 1_800_000_000.0
CREATED = "2027-01-15T07:59:00Z"


def refuses(code: int, reason: str, message: str = "", **details: Any) -> Handler:
    return says(lambda: refusal(code, reason, message, **details))


def shows(
    phase: str = "Pending",
    version: int = 7,
    *,
    uid: str = "u1",
    owner: dict[str, Any] | None = JOB,
    deleting: bool = False,
    marked: bool = False,
) -> Handler:
    metadata: dict[str, Any] = {
        "name": "p",
        "uid": uid,
        "resourceVersion": str(version),
        "creationTimestamp": CREATED,
    }
    if owner:
        metadata["ownerReferences"] = [owner]
    if deleting:
        metadata["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    conditions = [{"type": "DisruptionTarget", "status": "True"}] if marked else []
    status = {"phase": phase, "conditions": conditions}
    return says(lambda: answer({"metadata": metadata, "spec": {}, "status": status}))


GONE = refuses(404, "NotFound", 'pods "p" not found', name="p", kind="pods")


def budget(**details: Any) -> Handler:
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget b needs 8"}]
    return refuses(429, "TooManyRequests", "Cannot evict pod", causes=causes, **details)


DENIED = 'admission webhook "drain.example.com" denied the request: moved by its operator'
TERMINATING: dict[str, Any] = {"causes": [{"reason": "NamespaceTerminating"}]}


def sent(server: Script) -> list[str]:
    verbs = {PATH: "", f"{PATH}/status": " status", f"{PATH}/eviction": " eviction"}
    return [request.method + verbs[request.path] for request in server.seen]


async def test_a_pod_that_has_not_begun_to_run_is_marked_and_deleted_as_it_was_seen() -> None:
    server = Script(shows("Pending", 7), shows("Pending", 8), DONE)
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()
    assert sent(server) == ["GET", "PATCH status", "DELETE"]
    assert server.bodies[1] == {
        "metadata": {"uid": "u1", "resourceVersion": "7"},
        "status": {
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "BelowMinimum",
                    "message": "3 of 8 members fit",
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                }
            ]
        },
    }
    assert server.bodies[2]["preconditions"] == {"uid": "u1", "resourceVersion": "8"}
    assert "gracePeriodSeconds" not in server.bodies[2]


async def test_no_mark_is_older_than_its_pod() -> None:
    """Semantics §7.3: our idea of the server's time is up to two seconds off."""
    server = Script(shows("Pending", 7), shows("Pending", 8), DONE)
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW - 1e9) == Evicted()
    [condition] = server.bodies[1]["status"]["conditions"]
    assert condition["lastTransitionTime"] == CREATED


async def test_a_running_pod_is_evicted_with_its_uid_and_no_grace_period() -> None:
    server = Script(shows("Running", 7), shows("Running", 8), DONE)
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()
    assert sent(server) == ["GET", "PATCH status", "POST eviction"]
    assert server.bodies[2]["deleteOptions"] == {"preconditions": {"uid": "u1"}}


async def test_the_phase_in_the_reply_to_the_mark_decides() -> None:
    server = Script(shows("Pending"), shows("Running"), DONE)
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()
    assert sent(server)[-1] == "POST eviction"


async def test_a_pod_that_began_to_run_is_no_longer_deleted_but_evicted() -> None:
    server = Script(
        *(shows("Pending", 7), shows("Pending", 8), refuses(409, "Conflict")),
        *(shows("Running", 9), shows("Running", 9), DONE),
    )
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()
    assert sent(server) == [
        *("GET", "PATCH status", "DELETE"),
        *("GET", "PATCH status", "POST eviction"),
    ]


async def test_a_mark_that_stands_keeps_its_time() -> None:
    server = Script(shows("Running", marked=True), shows("Running", marked=True), DONE)
    async with talking_to(server) as client:
        await evict(client, VICTIM, lambda: NOW)
    [condition] = server.bodies[1]["status"]["conditions"]
    assert "lastTransitionTime" not in condition


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        pytest.param(shows(owner=None), "no controller", id="bare"),
        pytest.param(shows(owner={**JOB, "controller": False}), "no controller", id="owned only"),
        pytest.param(shows("Failed"), "finished", id="failed"),
        pytest.param(shows("Succeeded"), "finished", id="succeeded"),
        pytest.param(shows(uid="u2"), "another pod", id="another pod of that name"),
        pytest.param(GONE, "not found", id="gone"),
    ],
)
async def test_what_is_not_to_be_evicted_is_not_even_marked(seen: Handler, why: str) -> None:
    server = Script(seen)
    async with talking_to(server) as client:
        outcome = await evict(client, VICTIM, lambda: NOW)
    assert isinstance(outcome, Exempt)
    assert why in outcome.message
    assert sent(server) == ["GET"]


async def test_a_pod_on_its_way_out_is_left_to_it() -> None:
    server = Script(shows("Running", deleting=True))
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()
    assert sent(server) == ["GET"]


@pytest.mark.parametrize(
    ("details", "wait"),
    [
        pytest.param({}, PAUSE, id="it does not say when"),
        pytest.param({"retryAfterSeconds": 45}, 45.0, id="it says when"),
    ],
)
async def test_a_budget_is_respected(details: dict[str, Any], wait: float) -> None:
    server = Script(shows("Running"), shows("Running"), budget(**details))
    async with talking_to(server) as client:
        outcome = await evict(client, VICTIM, lambda: NOW)
    assert outcome == Blocked(wait, "The disruption budget b needs 8", budget=True)
    assert sent(server).count("POST eviction") == 1


async def test_a_budget_that_is_not_named_is_told_of_in_the_words_of_the_answer() -> None:
    unnamed = refuses(
        429, "TooManyRequests", "Cannot evict pod", causes=[{"reason": "DisruptionBudget"}]
    )
    async with talking_to(Script(shows("Running"), shows("Running"), unnamed)) as client:
        outcome = await evict(client, VICTIM, lambda: NOW)
    assert isinstance(outcome, Blocked)
    assert outcome.budget
    assert "Cannot evict pod" in outcome.message


@pytest.mark.parametrize(
    "refusing",
    [
        pytest.param(refuses(403, "Forbidden", "no permission"), id="no permission"),
        pytest.param(refuses(422, "Invalid"), id="invalid"),
        pytest.param(refuses(500, "", "failed calling webhook: refused"), id="webhook broken"),
        pytest.param(
            refuses(500, "", "This pod has more than one PodDisruptionBudget, which is bad"),
            id="two budgets",
        ),
        *(
            pytest.param(refuses(code, "", DENIED), id=f"a webhook says no with {code}")
            for code in (400, 401, 404, 409, 429, 500, 503)
        ),
        pytest.param(refuses(401, "Unauthorized", "VAP 'v' denied request: no"), id="a policy"),
    ],
)
async def test_any_other_refusal_is_worth_another_try_later(refusing: Handler) -> None:
    async with talking_to(Script(shows("Running"), shows("Running"), refusing)) as client:
        async with asyncio.timeout(5.0):
            outcome = await evict(client, VICTIM, lambda: NOW)
    assert isinstance(outcome, Blocked)
    assert outcome.retry_after == PAUSE
    assert not outcome.budget


async def test_a_webhook_that_refuses_says_when_to_ask_again() -> None:
    refusing = refuses(429, "TooManyRequests", DENIED, retryAfterSeconds=45)
    async with talking_to(Script(shows("Running"), shows("Running"), refusing)) as client:
        async with asyncio.timeout(5.0):
            outcome = await evict(client, VICTIM, lambda: NOW)
    assert isinstance(outcome, Blocked)
    assert (outcome.retry_after, outcome.budget) == (45.0, False)


async def test_in_a_terminating_namespace_a_pod_is_left_to_its_end() -> None:
    refusing = refuses(403, "Forbidden", **TERMINATING)
    async with talking_to(Script(shows("Running"), shows("Running"), refusing)) as client:
        assert isinstance(await evict(client, VICTIM, lambda: NOW), Exempt)


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        pytest.param([shows("Running", deleting=True)], Evicted(), id="it took effect"),
        pytest.param([GONE], Evicted(), id="it is gone already"),
        pytest.param([shows(uid="u2")], Evicted(), id="its successor is there already"),
        pytest.param([shows("Running"), shows("Running"), DONE], Evicted(), id="it did not"),
        pytest.param(
            [refuses(503, "Unavailable"), resets, shows("Running"), shows("Running"), DONE],
            Evicted(),
            id="the server was away for a while",
        ),
        pytest.param(
            [HTML, says(lambda: answer({})), shows("Running", deleting=True)],
            Evicted(),
            id="it took effect, though looks showed no pod at first",
        ),
        pytest.param(
            [shows("Succeeded")], Exempt("the pod has finished and holds no capacity"), id="ran"
        ),
    ],
)
@pytest.mark.parametrize(
    "failing",
    [
        pytest.param(resets, id="reset"),
        pytest.param(refuses(504, "Timeout"), id="504"),
        pytest.param(refuses(500, "InternalError"), id="500"),
        pytest.param(TOMORROW, id="throttled"),
        pytest.param(HTML, id="a proxy's page"),
    ],
)
async def test_an_unknown_outcome_is_settled_by_a_look(
    failing: Handler,
    then: list[Handler],
    outcome: Evicted | Exempt,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("enbloc.client.backoff.LONGEST_WAIT", 0.01)
    server = Script(shows("Running"), shows("Running"), failing, *then)
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == outcome


async def test_a_proxy_that_finds_nothing_does_not_say_that_a_pod_is_gone() -> None:
    """It may have no API server behind it for a moment."""
    nothing = says(lambda: web.Response(text="default backend - 404", status=404))
    server = Script(
        *(nothing, shows("Running"), shows("Running"), resets),
        *(nothing, shows("Running"), shows("Running"), DONE),
    )
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()
    assert sent(server).count("POST eviction") == 2


async def test_a_token_that_has_run_out_is_no_outcome() -> None:
    unauthorized = refuses(401, "Unauthorized")
    server = Script(
        shows("Running"),
        *(unauthorized, unauthorized),  # the client has tried twice by itself
        *(shows("Running"), shows("Running"), DONE),
    )
    async with talking_to(server) as client:
        assert await evict(client, VICTIM, lambda: NOW) == Evicted()


async def test_settling_an_eviction_goes_on_until_cancelled() -> None:
    async with talking_to(refuses(500, "InternalError")) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await evict(client, VICTIM, lambda: NOW)


async def test_a_fenced_eviction_writes_nothing() -> None:
    server = Script(shows("Running"))
    async with talking_to(server) as client:
        with pytest.raises(Fenced):
            await evict(client.fenced(lambda: False), VICTIM, lambda: NOW)
    assert sent(server) == ["GET"]
