# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A Binding is settled, whatever becomes of its requests."""

import asyncio
from typing import Any

import pytest

from enbloc.client.binding import Binding, Bound, Refused, Unknown, bind, settle
from enbloc.client.errors import Fenced
from enbloc.model.binding import RefusalCause
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

BINDING = Binding("default", "p", "u1", "node-1", {"enbloc.dev/plan": "{}"})
SUCCESS = {"kind": "Status", "status": "Success"}
CREATED = says(lambda: answer(SUCCESS, 201))


def refuses(code: int, reason: str, message: str = "", **details: Any) -> Handler:
    return says(lambda: refusal(code, reason, message, **details))


def shows(uid: str = "u1", **spec: str) -> Handler:
    return says(lambda: answer({"metadata": {"name": "p", "uid": uid}, "spec": spec}))


NO_POD = refuses(404, "NotFound", name="p", kind="pods")
TERMINATING: dict[str, Any] = {"causes": [{"reason": "NamespaceTerminating"}]}
WEBHOOK = "Internal error occurred: failed calling webhook: refused"
DENIED = 'admission webhook "bind.example.com" denied the request: not in this rack'
POLICY = "ValidatingAdmissionPolicy 'v' with binding 'b' denied request: not in this rack"


async def test_a_binding_names_pod_uid_node_and_annotations() -> None:
    server = Script(CREATED)
    async with talking_to(server) as client:
        assert await bind(client, BINDING) == Bound()
    assert server.seen[0].path == "/api/v1/namespaces/default/pods/p/binding"
    assert server.bodies[0]["metadata"] == {
        "name": "p",
        "namespace": "default",
        "uid": "u1",
        "annotations": {"enbloc.dev/plan": "{}"},
    }
    assert server.bodies[0]["target"] == {"apiVersion": "v1", "kind": "Node", "name": "node-1"}


@pytest.mark.parametrize(
    ("refusing", "cause"),
    [
        pytest.param(NO_POD, RefusalCause.MEMBER_CHANGED, id="no such pod"),
        pytest.param(
            refuses(403, "Forbidden", **TERMINATING),
            RefusalCause.NAMESPACE_TERMINATING,
            id="namespace terminating",
        ),
        pytest.param(refuses(403, "Forbidden"), RefusalCause.SCHEDULER_ERROR, id="no permission"),
        pytest.param(refuses(422, "Invalid"), RefusalCause.SCHEDULER_ERROR, id="invalid"),
        pytest.param(
            refuses(500, "InternalError", WEBHOOK),
            RefusalCause.SCHEDULER_ERROR,
            id="webhook broken",
        ),
        *(
            pytest.param(
                refuses(code, "", DENIED, name="p", kind="pods"),
                RefusalCause.SCHEDULER_ERROR,
                id=f"denied by a webhook with {code}",
            )
            for code in (400, 401, 403, 404, 409, 413, 429, 500, 503)
        ),
        *(
            pytest.param(
                refuses(code, "", POLICY),
                RefusalCause.SCHEDULER_ERROR,
                id=f"by a policy with {code}",
            )
            for code in (401, 403, 413, 422)
        ),
    ],
)
async def test_a_refusal_says_whom_it_blames(refusing: Handler, cause: RefusalCause) -> None:
    """Semantics §3.6: the member, its namespace or ourselves, and never a node."""
    async with talking_to(refusing) as client, asyncio.timeout(5):
        outcome = await bind(client, BINDING)
    assert isinstance(outcome, Refused)
    assert outcome.cause is cause


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        pytest.param([shows(nodeName="node-1")], Bound(), id="it was this one, sent twice"),
        pytest.param(
            [shows(nodeName="node-2")], RefusalCause.MEMBER_CHANGED, id="bound by somebody else"
        ),
        pytest.param([shows()], RefusalCause.MEMBER_CHANGED, id="gated, or being deleted"),
        pytest.param([shows("u2")], RefusalCause.MEMBER_CHANGED, id="another pod of that name"),
        pytest.param([refuses(503, "Unavailable")], Unknown, id="not known while it is not read"),
        pytest.param([says(lambda: answer({}))], Unknown, id="nor while that shows no pod"),
    ],
)
async def test_a_conflict_is_settled_by_what_the_pod_is(
    answers: list[Handler], outcome: object
) -> None:
    """Who sends a Binding twice on our behalf makes us no second room (semantics §3.4)."""
    async with talking_to(Script(refuses(409, "Conflict"), *answers)) as client:
        found = await bind(client, BINDING)
    if isinstance(found, Refused):
        assert found.cause is outcome
    else:
        assert found == outcome or type(found) is outcome


@pytest.mark.parametrize(
    "failing",
    [
        pytest.param(resets, id="connection reset"),
        pytest.param(refuses(504, "Timeout"), id="server timed out"),
        pytest.param(refuses(500, "InternalError"), id="server failed"),
        pytest.param(refuses(503, "ServiceUnavailable"), id="server is going away"),
        pytest.param(HTML, id="a proxy's page in place of the answer"),
        pytest.param(refuses(408, "Timeout"), id="a proxy that waited no longer"),
    ],
)
async def test_no_answer_leaves_the_outcome_unknown(failing: Handler) -> None:
    """Semantics §3.4: a 504 or a dropped connection may have bound."""
    async with talking_to(failing) as client:
        assert isinstance(await bind(client, BINDING), Unknown)


async def test_429_and_401_are_no_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Semantics §3.4: again after Retry-After, but soon; the token is read again."""
    monkeypatch.setattr("enbloc.client.backoff.LONGEST_WAIT", 0.01)
    unauthorized = refuses(401, "Unauthorized")
    server = Script(
        TOMORROW,
        unauthorized,
        unauthorized,  # the client has tried twice by itself
        CREATED,
    )
    async with talking_to(server) as client:
        assert await bind(client, BINDING) == Bound()
    assert len(server.seen) == 4


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        pytest.param([CREATED], Bound(), id="the same Binding succeeds"),
        pytest.param([resets, CREATED], Bound(), id="only the second answer arrives"),
        pytest.param(
            [refuses(409, "Conflict"), shows(nodeName="node-1")],
            Bound(),
            id="an earlier send had bound it",
        ),
        pytest.param(
            [refuses(403, "Forbidden", **TERMINATING), shows(nodeName="node-1")],
            Bound(),
            id="bound before its namespace was deleted",
        ),
        pytest.param(
            [refuses(500, "InternalError", WEBHOOK), shows(nodeName="node-1")],
            Bound(),
            id="bound before the webhook broke",
        ),
        pytest.param(
            [refuses(409, "Conflict"), refuses(503, "Unavailable"),
             refuses(409, "Conflict"), shows(nodeName="node-1")],
            Bound(),
            id="the pod could not be read at first",
        ),
        pytest.param(
            [refuses(401, "Unauthorized"), refuses(401, "Unauthorized"),
             refuses(429, "TooManyRequests", retryAfterSeconds=0.01), CREATED],
            Bound(),
            id="neither throttled nor unauthorized is an outcome",
        ),
        pytest.param(
            [refuses(409, "Conflict"), shows(nodeName="node-2")],
            RefusalCause.MEMBER_CHANGED,
            id="someone else bound it",
        ),
        pytest.param(
            [refuses(409, "Conflict"), shows("u2", nodeName="node-1")],
            RefusalCause.MEMBER_CHANGED,
            id="another pod of that name",
        ),
        pytest.param(
            [NO_POD, NO_POD],
            RefusalCause.MEMBER_CHANGED,
            id="deleted",
        ),
        pytest.param(
            [refuses(422, "Invalid"), shows()], RefusalCause.SCHEDULER_ERROR, id="refused for good"
        ),
        pytest.param(
            [refuses(500, "", DENIED), shows()], RefusalCause.SCHEDULER_ERROR, id="denied with 500"
        ),
        pytest.param(
            [refuses(429, "", DENIED), shows(nodeName="node-1")],
            Bound(),
            id="bound before a webhook denied it",
        ),
    ],
)  # fmt: skip
async def test_an_unknown_outcome_is_settled(
    answers: list[Handler], outcome: Bound | RefusalCause
) -> None:
    """Semantics §3.4: the same Binding until 201, or until a 4xx and a GET settle it."""
    async with talking_to(Script(*answers)) as client, asyncio.timeout(5):
        settled = await settle(client, BINDING)
    assert (settled.cause if isinstance(settled, Refused) else settled) == outcome


async def test_settling_goes_on_until_cancelled() -> None:
    async with talking_to(refuses(500, "InternalError")) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await settle(client, BINDING)


async def test_a_fenced_binding_is_not_sent() -> None:
    server = Script(CREATED)
    async with talking_to(server) as client:
        fenced = client.fenced(lambda: False)
        with pytest.raises(Fenced):
            await bind(fenced, BINDING)
    assert not server.seen
