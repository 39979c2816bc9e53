# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who may see our metrics and pages: the API server is asked, as kube-scheduler asks it.

::

    bearer token ───── TokenReview ──────────┐
    client certificate, checked by TLS ──────┼─► user ── SubjectAccessReview ──► let in, or 403
    neither: system:anonymous ───────────────┘
    a token that is none: 401

Both answers are kept for some seconds, so many of them at most. It runs in the event loop of the
server that it guards, with connections of its own.

Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/options/authentication.go
DelegatingAuthenticationOptions; staging/src/k8s.io/apiserver/pkg/server/options/authorization.go
DelegatingAuthorizationOptions.
"""

import asyncio
import hashlib
import logging
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final, Self

import msgspec
from cachetools import TTLCache

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.errors import APIError, Forbidden, NotFound
from enbloc.client.paths import CONFIG_MAPS, SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from enbloc.errors import EnblocError
from enbloc.process.access_rules import AccessRules
from enbloc.telemetry import Asked, Problems, RequestRefusal
from enbloc.telemetry.health import ENDPOINTS

#: The ConfigMap in which the API server says whose client certificates it accepts.
AUTHORITIES: Final = ("kube-system", "extension-apiserver-authentication", "client-ca-file")
#: It is read again this often, and this often if it may not be read (seconds).
AUTHORITY_SECONDS: Final = 60.0
REFUSED_SECONDS: Final = 600.0
#: So many answers of each kind are kept.
MOST_KEPT: Final = 1024
#: So many reviews at once; the others wait for their turn,
MOST_REVIEWS: Final = 8
#: at most so long, the answer included (seconds).
REVIEW_SECONDS: Final = 10.0
#: The longest token that is asked about (bytes).
MOST_TOKEN: Final = 12288
ANONYMOUS: Final = "system:anonymous"
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, as the API server knows them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


_ANONYMOUS: Final = User(ANONYMOUS, groups=("system:unauthenticated",))


class _ReviewedUser(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _ReviewedUser = msgspec.field(default_factory=_ReviewedUser)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


Find = Callable[[], Awaitable[Cluster]]


class Delegation:
    """The guard of one server; an async context manager.

    Args:
        component: the process, for the user agent.
        authentication: finds the API server that reviews tokens.
        authorization: finds the one that reviews access.
        rules: what the flags say.
        certify: told whose client certificates to accept, as PEM; "" = nobody's.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        component: str,
        authentication: Find,
        authorization: Find,
        rules: AccessRules,
        certify: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._component = component
        self._authentication = authentication
        self._authorization = authorization
        self._rules = rules
        self._certify = certify
        self._users: TTLCache[bytes, User | None] = TTLCache(
            MOST_KEPT, rules.token_seconds, timer=clock
        )
        self._allowed: TTLCache[tuple[User, str], bool] = TTLCache(
            MOST_KEPT, rules.allowed_seconds, timer=clock
        )
        self._refused: TTLCache[tuple[User, str], bool] = TTLCache(
            MOST_KEPT, rules.refused_seconds, timer=clock
        )
        self._clients: dict[Find, Client] = {}
        self._reviews = asyncio.Semaphore(MOST_REVIEWS)
        self._stack = AsyncExitStack()
        self._looking: asyncio.Task[None] | None = None
        self._problems = Problems()

    async def __aenter__(self) -> Self:
        if self._rules.look_up or self._rules.client_authorities is not None:
            self._looking = asyncio.create_task(self._look(), name="client authorities")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        await self._stack.aclose()

    async def refuse(self, asked: Asked) -> RequestRefusal | None:
        """Why not, as kube-scheduler would answer; None = let in."""
        if self._is_open(asked.path):
            return None
        try:
            async with asyncio.timeout(REVIEW_SECONDS):
                user = await self._user(asked)
                if user is None:
                    return RequestRefusal(401, "Unauthorized", "Unauthorized")
                allowed = await self._may(user, asked.path)
        except (EnblocError, OSError, TimeoutError) as error:
            why = str(error) or "the API server took too long"
            problem = f"Cannot decide who may read {asked.path}: {why}"
            self._problems.report(asked.path, problem, logging.WARNING)
            text = "Internal error occurred: cannot review access; see the log"
            return RequestRefusal(500, "InternalError", text)
        self._problems.report(asked.path, None)
        if allowed:
            return None
        text = f'forbidden: User "{user.name}" cannot get path "{asked.path}"'
        return RequestRefusal(403, "Forbidden", text)

    def _is_open(self, path: str) -> bool:
        """Whether everybody may see it; a single check is as open as its endpoint."""
        endpoint = path.split("/")[1]
        asked = f"/{endpoint}" if endpoint in ENDPOINTS else path
        return any(
            path.startswith(each[:-1]) if each.endswith("*") else each == asked
            for each in self._rules.open_paths
        )

    # ── who ──────────────────────────────────────────────────────────────────────────────────
    async def _user(self, asked: Asked) -> User | None:
        """Who asks; None if they say so in a way that is not valid."""
        user, ended = _certified(asked.certificate)
        if user is not None:
            return user
        scheme, token = asked.authorization[: len(_BEARER)], asked.authorization[len(_BEARER) :]
        token = token.strip()
        if scheme.lower() != _BEARER or not token:
            return None if ended else _ANONYMOUS
        if len(token) > MOST_TOKEN or not token.isascii() or not token.isprintable():
            return None
        key = hashlib.sha256(token.encode()).digest()
        with suppress(KeyError):
            return self._users[key]
        async with self._reviews:
            with suppress(KeyError):  # by now
                return self._users[key]
            user = self._users[key] = await self._review_token(token)
            return user

    async def _review_token(self, token: str) -> User | None:
        body = {
            "apiVersion": TOKEN_REVIEWS.api_version,
            "kind": TOKEN_REVIEWS.kind,
            "spec": {"token": token},
        }
        client = await self._client(self._authentication)
        review = await client.create(TOKEN_REVIEWS, body, shape=_TokenReview)
        status: _TokenStatus = review.status
        if not status.authenticated or not status.user.username:
            return None
        extra = sorted((status.user.extra or {}).items())
        user = status.user
        return User(user.username, user.uid, tuple(user.groups or ()), tuple(extra))

    # ── may they ─────────────────────────────────────────────────────────────────────────────
    async def _may(self, user: User, path: str) -> bool:
        key = (user, path)
        if key in self._allowed or key in self._refused:
            return key in self._allowed
        async with self._reviews:
            if key not in self._allowed and key not in self._refused:  # still not
                allowed = await self._review_access(user, path)
                (self._allowed if allowed else self._refused)[key] = allowed
                return allowed
            return key in self._allowed

    async def _review_access(self, user: User, path: str) -> bool:
        spec: dict[str, Any] = {
            "user": user.name,
            "groups": user.groups,
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = dict(user.extra)
        body = {
            "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
            "kind": SUBJECT_ACCESS_REVIEWS.kind,
            "spec": spec,
        }
        client = await self._client(self._authorization)
        review = await client.create(SUBJECT_ACCESS_REVIEWS, body, shape=_AccessReview)
        status: _AccessStatus = review.status
        return status.allowed

    # ── the API server ───────────────────────────────────────────────────────────────────────
    async def _client(self, find: Find) -> Client:
        """The client of an API server, opened when it is first needed."""
        if find not in self._clients:
            client = Client(await find(), component=self._component, connections=MOST_REVIEWS)
            if find in self._clients:  # another request was faster
                return self._clients[find]
            self._clients[find] = await self._stack.enter_async_context(client)
        return self._clients[find]

    async def _look(self) -> None:
        """Keep knowing whose client certificates count."""
        while True:
            wait = AUTHORITY_SECONDS
            try:
                self._certify(await self._authorities())
                self._problems.report("authorities", None)
            except (EnblocError, OSError, ValueError) as error:
                refused = isinstance(error, Forbidden | NotFound)
                wait = REFUSED_SECONDS if refused else AUTHORITY_SECONDS
                # A cluster need not publish its authorities; tokens are enough.
                level = logging.INFO if isinstance(error, NotFound) else logging.WARNING
                text = f"Client certificates are not accepted: {_why(error)}"
                self._problems.report("authorities", text, level)
            await asyncio.sleep(wait)

    async def _authorities(self) -> str:
        file = self._rules.client_authorities
        if file is not None:
            return file.read_text("utf-8", "replace")
        namespace, name, key = AUTHORITIES
        client = await self._client(self._authentication)
        found: _ConfigMap = await client.get(CONFIG_MAPS, name, namespace, shape=_ConfigMap)
        return (found.data or {}).get(key, "")


def _why(error: Exception) -> str:
    return error.advice if isinstance(error, APIError) else str(error)


def _certified(certificate: Mapping[str, Any]) -> tuple[User | None, bool]:
    """Who a client certificate is of: its common name, in the groups of its organisations.

    One that is nobody's leaves it to the token, as does none.
    Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go
    CommonNameUserConversion; staging/src/k8s.io/apiserver/pkg/authentication/request/union/union.go
    AuthenticateRequest.

    Returns:
        The user; and whether the certificate has ended: TLS checked it when its session began,
        which may be taken up again for hours.
    """
    parts: dict[str, list[str]] = {}
    with suppress(KeyError, TypeError, ValueError):
        if ssl.cert_time_to_seconds(certificate["notAfter"]) < time.time():
            return None, True
        for names in certificate.get("subject", ()):
            for kind, value in names:
                parts.setdefault(kind, []).append(value)
    name = parts.get("commonName", [""])[-1]  # of several, as Go's crypto/x509
    if not name:
        return None, False
    groups = (*parts.get("organizationName", ()), "system:authenticated")
    return User(name, groups=tuple(groups)), False
