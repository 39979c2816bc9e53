# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kopf's connection, made from the cluster that the rest of the process talks to."""

import dataclasses
import ssl
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Final

import aiohttp

from enbloc.client.config import Cluster
from enbloc.client.transport import user_agent
from enbloc.controller.answers import Answers, PatientResponse
from enbloc.controller.lean_kopf import kopf
from enbloc.model.credentials import redacted

#: kopf asks again after this long, and reconnects with what it is given then: tokens in files are
#: replaced long before they expire, so that a shorter time would only cut watches.
LOGIN_SECONDS: Final = 600.0
#: Who asks, as the API server's logs and flow control see it; kopf names itself alone.
AGENT: Final = f"{user_agent('controller')} kopf/{version('kopf')}"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Connection(kopf.ConnectionInfo):
    """A connection whose TLS is the same as our own client's.

    Attributes:
        tls: the context; None for plain HTTP. Not compared, so that kopf can tell credentials
            that were refused from new ones.
    """

    tls: ssl.SSLContext | None = dataclasses.field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redacted(self.server)!r})"  # kopf's has the token

    def as_ssl_context(self) -> ssl.SSLContext:
        """The context; for plain HTTP any."""
        return self.tls or ssl.create_default_context()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Session(kopf.AiohttpSession):
    """An open connection, whose answers are read before kopf reads them.

    Attributes:
        aiohttp_session: to be closed in the loop in which it was opened.
        authorization: by which kopf tells credentials that were refused from new ones.
    """

    aiohttp_session: aiohttp.ClientSession = dataclasses.field(compare=False)
    authorization: str | None = None


def opened(connection: Connection, answers: Answers) -> Session:
    """Open a connection in the loop that runs; what is answered is read by `answers` first."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=connection.as_ssl_context()),
        headers={**connection.as_http_headers(), "User-Agent": AGENT},
        proxy=connection.proxy_url,
        middlewares=(answers.read_first,),
        response_class=PatientResponse,
    )
    return Session(
        server=connection.server,
        default_namespace=connection.default_namespace,
        expiration=connection.expiration,
        aiohttp_session=session,
        authorization=_header(connection),
    )


class Login:
    """Credentials for kopf, from the same source as the client's: one login for both."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._given: Connection | None = None

    async def __call__(self) -> Connection:
        """The connection to use from now on.

        Being asked again before the last one expired means that the server refused it.

        Raises:
            ConfigError: the credentials cannot be read, or a certificate file cannot be used.
        """
        now = datetime.now(UTC)
        last = self._given
        if last is not None and (last.expiration is None or now < last.expiration):
            self._cluster.auth.rejected(_header(last))
        tls = self._cluster.ssl_context()
        header = await self._cluster.auth.header(tls)
        scheme, _, token = (header or "").partition(" ")
        self._given = Connection(
            server=self._cluster.server,
            tls=tls,
            scheme=scheme or None,
            token=token or None,
            proxy_url=self._cluster.proxy,
            default_namespace=self._cluster.namespace,
            expiration=now + timedelta(seconds=LOGIN_SECONDS) if header else None,
        )
        return self._given


def _header(connection: Connection) -> str | None:
    return f"{connection.scheme} {connection.token}" if connection.scheme else None
