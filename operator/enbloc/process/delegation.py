# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who may see the metrics and pages: asks the API server, as kube-scheduler does.

::

    bearer token ───── TokenReview ──────────┐
    client certificate, checked by TLS ──────┼─► user ── SubjectAccessReview ──► let in, or 403
    neither: system:anonymous ───────────────┘
    an invalid token: 401

A bounded number of both answers is cached for some seconds. The guard runs in the event loop of its
server, with its own connections.

Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/options/authentication.go
DelegatingAuthenticationOptions; staging/src/k8s.io/apiserver/pkg/server/options/authorization.go
DelegatingAuthorizationOptions.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Self

import msgspec

from enbloc.client.errors import APIError, Forbidden, NotFound
from enbloc.client.paths import CONFIG_MAPS
from enbloc.errors import EnblocError
from enbloc.process.access_rules import AccessRules
from enbloc.process.reviews import REVIEW_SECONDS, Find, OfPath, Reviews, User
from enbloc.telemetry import AccessRequest, ActiveProblems, RequestRefusal
from enbloc.telemetry.health import ENDPOINTS

#: The namespace, name and key of the ConfigMap with the API server's CAs for client certificates.
AUTHORITIES: Final = ("kube-system", "extension-apiserver-authentication", "client-ca-file")
#: How often it is read again, and how often while it is forbidden or missing (seconds).
AUTHORITY_SECONDS: Final = 60.0
REFUSED_SECONDS: Final = 600.0


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


class Delegation:
    """The guard of one server; an async context manager.

    Args:
        component: the process, for the user agent.
        authentication: finds the API server that reviews tokens.
        authorization: finds the API server that reviews access.
        rules: what the flags say.
        certify: called with the CAs of client certificates, as PEM; "" = accept none.
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
        self._authentication = authentication
        self._rules = rules
        self._certify = certify
        self._reviews = Reviews(component, authentication, authorization, rules, clock)
        self._looking: asyncio.Task[None] | None = None
        self._problems = ActiveProblems()

    async def __aenter__(self) -> Self:
        if self._rules.look_up or self._rules.client_authorities is not None:
            self._looking = asyncio.create_task(self._look(), name="client authorities")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        await self._reviews.close()

    async def refuse(self, asked: AccessRequest) -> RequestRefusal | None:
        """Why the request is refused, with kube-scheduler's answer; None = let it in."""
        if self._is_open(asked.path):
            return None
        try:
            async with asyncio.timeout(REVIEW_SECONDS):
                user = await self._user(asked)
                if user is None:
                    return RequestRefusal(401, "Unauthorized", "Unauthorized")
                allowed = await self._reviews.may(user, OfPath(asked.path))
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
        """Whether everybody may see a path; a single check is as open as its endpoint."""
        endpoint = path.split("/")[1]
        asked = f"/{endpoint}" if endpoint in ENDPOINTS else path
        return any(
            path.startswith(each[:-1]) if each.endswith("*") else each == asked
            for each in self._rules.open_paths
        )

    # ── who ──────────────────────────────────────────────────────────────────────────────────
    async def _user(self, asked: AccessRequest) -> User | None:
        """The user that sends a request; None if the credentials are not valid."""
        user, ended = _certified(asked.certificate)
        if user is not None:
            return user
        if ended and not self._reviews.bears_token(asked.authorization):
            return None
        return await self._reviews.user(asked.authorization)

    # ── whose certificates ───────────────────────────────────────────────────────────────────
    async def _look(self) -> None:
        """Keep the CAs of client certificates up to date."""
        while True:
            wait = AUTHORITY_SECONDS
            try:
                self._certify(await self._authorities())
                self._problems.report("authorities", None)
            except (EnblocError, OSError, ValueError) as error:
                refused = isinstance(error, Forbidden | NotFound)
                wait = REFUSED_SECONDS if refused else AUTHORITY_SECONDS
                # A cluster need not publish its CAs; tokens are enough.
                level = logging.INFO if isinstance(error, NotFound) else logging.WARNING
                text = f"Client certificates are not accepted: {_why(error)}"
                self._problems.report("authorities", text, level)
            await asyncio.sleep(wait)

    async def _authorities(self) -> str:
        file = self._rules.client_authorities
        if file is not None:
            return file.read_text("utf-8", "replace")
        namespace, name, key = AUTHORITIES
        client = await self._reviews.client(self._authentication)
        found: _ConfigMap = await client.get(CONFIG_MAPS, name, namespace, shape=_ConfigMap)
        return (found.data or {}).get(key, "")


def _why(error: Exception) -> str:
    return error.advice if isinstance(error, APIError) else str(error)


def _certified(certificate: Mapping[str, Any]) -> tuple[User | None, bool]:
    """The user of a client certificate: its common name, in the groups of its organisations.

    Without a certificate, or with one that has no common name, the token decides.

    Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go
    CommonNameUserConversion; staging/src/k8s.io/apiserver/pkg/authentication/request/union/union.go
    AuthenticateRequest.

    Returns:
        The user; and whether the certificate has expired: TLS checks it only when a session
        begins, and sessions may be resumed for hours.
    """
    parts: dict[str, list[str]] = {}
    with suppress(KeyError, TypeError, ValueError):
        if ssl.cert_time_to_seconds(certificate["notAfter"]) < time.time():
            return None, True
        for names in certificate.get("subject", ()):
            for kind, value in names:
                parts.setdefault(kind, []).append(value)
    name = parts.get("commonName", [""])[-1]  # the last of several, as in Go's crypto/x509
    if not name:
        return None, False
    groups = (*parts.get("organizationName", ()), "system:authenticated")
    return User(name, groups=tuple(groups)), False
