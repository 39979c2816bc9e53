# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reviews by the API server: whose token it is (TokenReview), and what they may do.

A bounded number of both answers is cached for some seconds. All of it runs in one event loop, with
its own connections.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from cachetools import TTLCache

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.paths import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from enbloc.process.access_rules import AccessRules

#: The most answers of each kind that are cached.
MOST_KEPT: Final = 1024
#: The most reviews in flight; others wait for their turn.
MOST_REVIEWS: Final = 8
#: The longest time for all reviews of one request, waits included (seconds).
REVIEW_SECONDS: Final = 10.0
#: The longest token that is reviewed (bytes).
MOST_TOKEN: Final = 12288
ANONYMOUS: Final = "system:anonymous"
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class User:
    """A user, as the API server knows them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


_ANONYMOUS: Final = User(ANONYMOUS, groups=("system:unauthenticated",))


@dataclass(frozen=True, slots=True)
class OfPath:
    """The permission to get a path of this server."""

    path: str

    def spec(self) -> dict[str, Any]:
        """As a SubjectAccessReview asks it."""
        return {"nonResourceAttributes": {"path": self.path, "verb": "get"}}


@dataclass(frozen=True, slots=True)
class OfResource:
    """The permission to use a verb on objects.

    Attributes:
        namespace: "" = in all namespaces, or for cluster-scoped objects.
    """

    group: str
    resource: str
    verb: str
    namespace: str = ""

    def spec(self) -> dict[str, Any]:
        """As a SubjectAccessReview asks it."""
        named = {"namespace": self.namespace} if self.namespace else {}
        asked = {"group": self.group, "resource": self.resource, "verb": self.verb}
        return {"resourceAttributes": {**asked, **named}}


Wanted = OfPath | OfResource


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


Find = Callable[[], Awaitable[Cluster]]


class Reviews:
    """Asks the API server for reviews and caches its answers; every method raises APIError.

    Args:
        component: the process, for the user agent.
        authentication: finds the API server that reviews tokens.
        authorization: finds the API server that reviews access.
        rules: how long answers are cached.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        component: str,
        authentication: Find,
        authorization: Find,
        rules: AccessRules,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._component = component
        self._authentication = authentication
        self._authorization = authorization
        self._users: TTLCache[bytes, User | None] = TTLCache(
            MOST_KEPT, rules.token_seconds, timer=clock
        )
        self._allowed: TTLCache[tuple[User, Wanted], bool] = TTLCache(
            MOST_KEPT, rules.allowed_seconds, timer=clock
        )
        self._refused: TTLCache[tuple[User, Wanted], bool] = TTLCache(
            MOST_KEPT, rules.refused_seconds, timer=clock
        )
        self._clients: dict[Find, Client] = {}
        self._reviews = asyncio.Semaphore(MOST_REVIEWS)
        self._stack = AsyncExitStack()

    async def close(self) -> None:
        """Close the connections."""
        await self._stack.aclose()

    @staticmethod
    def bears_token(authorization: str) -> bool:
        """Whether a header has a bearer token, valid or not."""
        scheme, token = authorization[: len(_BEARER)], authorization[len(_BEARER) :]
        return scheme.lower() == _BEARER and bool(token.strip())

    async def user(self, authorization: str) -> User | None:
        """The user of an Authorization header; None if its token is not valid.

        Without a token, the user is ANONYMOUS.
        """
        if not self.bears_token(authorization):
            return _ANONYMOUS
        token = authorization[len(_BEARER) :].strip()
        if len(token) > MOST_TOKEN or not token.isascii() or not token.isprintable():
            return None
        key = hashlib.sha256(token.encode()).digest()
        with suppress(KeyError):
            return self._users[key]
        async with self._reviews:
            with suppress(KeyError):  # another request may have got the answer meanwhile
                return self._users[key]
            user = self._users[key] = await self._review_token(token)
            return user

    async def _review_token(self, token: str) -> User | None:
        body = {
            "apiVersion": TOKEN_REVIEWS.api_version,
            "kind": TOKEN_REVIEWS.kind,
            "spec": {"token": token},
        }
        client = await self.client(self._authentication)
        review = await client.create(TOKEN_REVIEWS, body, shape=_TokenReview)
        status: _TokenStatus = review.status
        if not status.authenticated or not status.user.username:
            return None
        extra = sorted((status.user.extra or {}).items())
        user = status.user
        return User(user.username, user.uid, tuple(user.groups or ()), tuple(extra))

    async def may(self, user: User, wanted: Wanted) -> bool:
        """Whether a user may do this."""
        key = (user, wanted)
        if key in self._allowed or key in self._refused:
            return key in self._allowed
        async with self._reviews:
            if key not in self._allowed and key not in self._refused:  # still not cached
                allowed = await self._review_access(user, wanted)
                (self._allowed if allowed else self._refused)[key] = allowed
                return allowed
            return key in self._allowed

    async def _review_access(self, user: User, wanted: Wanted) -> bool:
        spec: dict[str, Any] = {"user": user.name, "groups": user.groups, **wanted.spec()}
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = dict(user.extra)
        body = {
            "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
            "kind": SUBJECT_ACCESS_REVIEWS.kind,
            "spec": spec,
        }
        client = await self.client(self._authorization)
        review = await client.create(SUBJECT_ACCESS_REVIEWS, body, shape=_AccessReview)
        status: _AccessStatus = review.status
        return status.allowed

    async def client(self, find: Find) -> Client:
        """The client of an API server, opened when it is first needed."""
        if find not in self._clients:
            client = Client(await find(), component=self._component, connections=MOST_REVIEWS)
            if find in self._clients:  # another request has opened it meanwhile
                return self._clients[find]
            self._clients[find] = await self._stack.enter_async_context(client)
        return self._clients[find]
