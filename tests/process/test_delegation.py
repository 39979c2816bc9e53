# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who may read metrics: what the API server is asked, how often, and what its answers mean."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.config import Cluster
from enbloc.process.access_rules import AccessRules
from enbloc.process.delegation import Delegation
from enbloc.process.reviews import MOST_KEPT, MOST_TOKEN
from enbloc.telemetry import AccessRequest, RequestRefusal
from tests.client.fake import answer, hangs, refusal, serving

CERTIFICATE = {
    "subject": (
        (("organizationName", "monitoring"),),
        (("organizationName", "ops"),),
        (("commonName", "prometheus"),),
    ),
    "notAfter": "Jan  1 00:00:00 2100 GMT",
}


def bearer(token: str, path: str = "/metrics") -> AccessRequest:
    return AccessRequest(path, f"Bearer {token}")


@dataclass
class Cop:
    """An API server that knows the token `good` of prometheus, who may read /metrics."""

    seen: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    authorities: Callable[[], web.Response] = lambda: answer({"data": {"client-ca-file": "PEM"}})
    broken: Callable[[], web.Response] | None = None

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.paths.append(request.path)
        if request.method == "GET":
            return self.authorities()
        body = await request.json()
        self.seen.append(body["spec"])
        if self.broken is not None:
            return self.broken()
        if body["kind"] == "TokenReview":
            user = {"username": "prometheus", "uid": "7", "groups": ["g"], "extra": {"k": ["v"]}}
            well = body["spec"]["token"] == "good"
            return answer({"status": {"authenticated": well, **({"user": user} if well else {})}})
        allowed = body["spec"]["user"] == "prometheus"
        path = body["spec"]["nonResourceAttributes"]["path"]
        return answer({"status": {"allowed": allowed and path == "/metrics"}})

    def reviews(self, kind: str) -> int:
        return sum(path.endswith(kind) for path in self.paths)


@pytest.fixture
def cop() -> Cop:
    return Cop()


async def eventually(probe: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not probe():  # noqa: ASYNC110  # a log is no event
            await asyncio.sleep(0.01)


@asynccontextmanager
async def guarding(
    cop: Callable[..., Any],
    rules: AccessRules | None = None,
    certify: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = lambda: 0.0,
) -> AsyncGenerator[Delegation]:
    async with serving(cop) as url:

        async def find() -> Cluster:
            return Cluster(url)

        rules = rules or AccessRules(look_up=False)
        async with Delegation("test", find, find, rules, certify, clock) as guard:
            yield guard


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/livez/ping"])
async def test_health_is_open_to_all_and_nobody_is_asked(cop: Cop, path: str) -> None:
    async with guarding(cop) as guard:
        assert await guard.refuse(AccessRequest(path)) is None
        assert await guard.refuse(bearer("bad", path)) is None
    assert cop.paths == []


async def test_which_paths_are_open_can_be_said(cop: Cop) -> None:
    rules = AccessRules(open_paths=("/metrics", "/debug/*", "/configz"), look_up=False)
    async with guarding(cop, rules) as guard:
        assert await guard.refuse(AccessRequest("/configz/more")) is not None
        assert await guard.refuse(AccessRequest("/metrics")) is None
        assert await guard.refuse(AccessRequest("/debug/stacks")) is None
        assert await guard.refuse(AccessRequest("/healthz")) is not None


async def test_a_token_is_reviewed_and_its_user_may_what_the_roles_say(cop: Cop) -> None:
    async with guarding(cop) as guard:
        assert await guard.refuse(bearer("good")) is None
        refused = await guard.refuse(bearer("good", "/configz"))
    text = 'forbidden: User "prometheus" cannot get path "/configz"'
    assert refused == RequestRefusal(403, "Forbidden", text)
    token, access, _ = cop.seen
    assert token == {"token": "good"}
    assert access == {
        "user": "prometheus",
        "uid": "7",
        "groups": ["g"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


async def test_who_shows_nothing_is_anonymous(cop: Cop) -> None:
    async with guarding(cop) as guard:
        refused = await guard.refuse(AccessRequest("/metrics"))
    text = 'forbidden: User "system:anonymous" cannot get path "/metrics"'
    assert refused == RequestRefusal(403, "Forbidden", text)
    assert cop.seen[0]["groups"] == ["system:unauthenticated"]


async def test_a_token_that_is_none_is_401(cop: Cop) -> None:
    async with guarding(cop) as guard:
        refused = await guard.refuse(bearer("bad"))
    assert refused == RequestRefusal(401, "Unauthorized", "Unauthorized")
    assert cop.reviews("subjectaccessreviews") == 0


@pytest.mark.parametrize("token", ["x" * (MOST_TOKEN + 1), "a\x1bb", "ä"])
async def test_what_can_be_no_token_is_not_sent_on(cop: Cop, token: str) -> None:
    async with guarding(cop) as guard:
        refused = await guard.refuse(bearer(token))
    assert refused == RequestRefusal(401, "Unauthorized", "Unauthorized")
    assert cop.paths == []


async def test_a_client_certificate_names_user_and_groups(cop: Cop) -> None:
    async with guarding(cop) as guard:
        assert await guard.refuse(AccessRequest("/metrics", certificate=CERTIFICATE)) is None
    assert cop.reviews("tokenreviews") == 0
    assert cop.seen[0]["groups"] == ["monitoring", "ops", "system:authenticated"]


async def test_a_client_certificate_that_has_ended_since_its_session_began_is_401(
    cop: Cop,
) -> None:
    async with guarding(cop) as guard:
        refused = await guard.refuse(AccessRequest("/metrics", certificate=ENDED))
    assert refused == RequestRefusal(401, "Unauthorized", "Unauthorized")
    assert cop.paths == []


NOBODY_S: Mapping[str, Any] = {**CERTIFICATE, "subject": ((("organizationName", "ops"),),)}
ENDED = {**CERTIFICATE, "notAfter": "Jan  1 00:00:00 2020 GMT"}


@pytest.mark.parametrize("certificate", [NOBODY_S, ENDED], ids=["of nobody", "ended"])
async def test_beside_a_client_certificate_that_names_no_user_the_token_counts(
    cop: Cop, certificate: Mapping[str, Any]
) -> None:
    async with guarding(cop) as guard:
        for token, code in (("good", None), ("bad", 401)):
            asked = replace(bearer(token), certificate=certificate)
            refused = await guard.refuse(asked)
            assert (refused and refused.code) == code


async def test_a_client_certificate_without_a_common_name_alone_is_anonymous(cop: Cop) -> None:
    async with guarding(cop) as guard:
        refused = await guard.refuse(AccessRequest("/metrics", certificate=NOBODY_S))
    assert refused is not None
    assert '"system:anonymous"' in refused.message


async def test_of_several_common_names_the_last_is_the_user_s(cop: Cop) -> None:
    subject = ((("commonName", "system:admin"),), (("commonName", "nobody"),))
    asked = AccessRequest("/metrics", certificate={**CERTIFICATE, "subject": subject})
    async with guarding(cop) as guard:
        refused = await guard.refuse(asked)
    assert refused is not None
    assert '"nobody"' in refused.message


async def test_answers_are_kept_for_their_time_and_no_longer(cop: Cop) -> None:
    now = [0.0]
    async with guarding(cop, clock=lambda: now[0]) as guard:
        for _ in range(5):
            assert await guard.refuse(bearer("good")) is None
            assert await guard.refuse(bearer("bad")) is not None
        assert (cop.reviews("tokenreviews"), cop.reviews("subjectaccessreviews")) == (2, 1)
        now[0] = 11.0
        assert await guard.refuse(bearer("good")) is None
        assert (cop.reviews("tokenreviews"), cop.reviews("subjectaccessreviews")) == (3, 2)


async def test_no_flood_of_tokens_makes_it_keep_more_than_a_bounded_number(cop: Cop) -> None:
    async with guarding(cop) as guard:
        for first in range(0, MOST_KEPT + 100, 50):
            some = (bearer(f"bad-{first + index}") for index in range(50))
            await asyncio.gather(*map(guard.refuse, some))
        assert len(guard._reviews._users) <= MOST_KEPT


@pytest.mark.parametrize(
    "broken",
    [
        lambda: refusal(403, "Forbidden", "no tokenreviews for you"),
        lambda: refusal(500, "InternalError"),
        lambda: answer("nonsense"),
        lambda: answer({"status": {"authenticated": "perhaps"}}),
    ],
)
async def test_who_cannot_be_decided_about_is_not_let_in_and_it_is_said_once(
    cop: Cop, broken: Callable[[], web.Response], caplog: pytest.LogCaptureFixture
) -> None:
    cop.broken = broken
    async with guarding(cop) as guard:
        for _ in range(3):
            refused = await guard.refuse(bearer("good"))
            assert refused is not None
            assert (refused.code, refused.reason) == (500, "InternalError")
        assert len([r for r in caplog.records if "Cannot decide" in r.getMessage()]) == 1
        cop.broken = None
        assert await guard.refuse(bearer("good")) is None


async def test_each_outage_is_said_once_for_a_path_whichever_is_asked_for_in_turn(
    cop: Cop, caplog: pytest.LogCaptureFixture
) -> None:
    async with guarding(cop) as guard:
        for outage in (1, 2):
            cop.broken = lambda: refusal(500, "InternalError")
            for number in range(6):
                for path in ("/metrics", "/configz"):
                    await guard.refuse(bearer(f"bad-{outage}-{number}", path))
            said = [r for r in caplog.records if "Cannot decide" in r.getMessage()]
            assert len(said) == 2 * outage
            cop.broken = None
            for path in ("/metrics", "/configz"):
                await guard.refuse(bearer("good", path))


async def test_a_server_that_never_answers_costs_a_bounded_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with guarding(hangs) as guard:
        refused = await guard.refuse(bearer("good"))
    assert refused is not None
    assert refused.code == 500
    assert "Cannot decide who may read /metrics" in caplog.text


async def test_the_authorities_of_client_certificates_are_looked_up(cop: Cop) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with guarding(cop, AccessRules(), told.put_nowait):
        async with asyncio.timeout(30):
            assert await told.get() == "PEM"
    assert cop.paths == [
        "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    ]


@pytest.mark.parametrize(("code", "level"), [(403, "WARNING"), (404, "INFO")])
async def test_a_cluster_that_publishes_no_authorities_is_no_reason_to_warn(
    cop: Cop, caplog: pytest.LogCaptureFixture, code: int, level: str
) -> None:
    cop.authorities = lambda: refusal(code, {403: "Forbidden", 404: "NotFound"}[code])
    with caplog.at_level(logging.INFO):
        async with guarding(cop, AccessRules()):
            await eventually(lambda: "Client certificates are not accepted" in caplog.text)
    [said] = [each for each in caplog.records if "Client certificates" in each.getMessage()]
    assert said.levelname == level


async def test_authorities_that_may_not_be_read_are_one_line_and_tokens_still_count(
    cop: Cop, caplog: pytest.LogCaptureFixture
) -> None:
    cop.authorities = lambda: refusal(403, "Forbidden")
    async with guarding(cop, AccessRules()) as guard:
        await eventually(lambda: "Client certificates are not accepted" in caplog.text)
        assert await guard.refuse(bearer("good")) is None
