# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Serving a process' health and metrics: over HTTPS, and over HTTP if asked for."""

import logging
import socket
import ssl
import sys
import threading
import traceback
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from enbloc.client import cluster_access
from enbloc.client.config import Cluster
from enbloc.errors import ConfigError
from enbloc.process.access_rules import AccessRules
from enbloc.telemetry import Certificates, Guarding, Health, Server

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Serving:
    """What a process serves, and where.

    Attributes:
        component: the process, for the user agent.
        secure_port: of HTTPS; 0 = none.
        health_port: of plain HTTP, open to all; 0 = none.
        bind_address: the address of both; 0.0.0.0 and :: mean all addresses of both families.
        strict_port: whether a secure port already in use is an error, not a warning.
        shared_port: whether other processes may listen on the same ports.
        certificate: files of the certificate and of its key; None = a self-signed one.
        least_tls: the lowest TLS version.
        ciphers: for TLS 1.2, with OpenSSL's names; empty = Python's default.
        authentication: the kubeconfig of the API server that reviews tokens; None = of the one
            that this process works with.
        authorization: the same for the API server that reviews access.
        rules: who may see what.
        profiling: whether to serve /debug/stacks.
    """

    component: str = "server"
    secure_port: int = 0
    health_port: int = 0
    bind_address: str = "127.0.0.1"
    strict_port: bool = True
    shared_port: bool = False
    certificate: tuple[Path, Path] | None = None
    least_tls: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: Sequence[str] = ()
    authentication: Path | None = None
    authorization: Path | None = None
    rules: AccessRules = field(default_factory=AccessRules)
    profiling: bool = True


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Where admission webhooks are served.

    Attributes:
        port: of HTTPS.
        bind_address: the address to listen on.
        certificate: files of the certificate and of its key.
    """

    port: int
    bind_address: str
    certificate: tuple[Path, Path]


@dataclass(frozen=True, slots=True)
class Access:
    """The API server that flags name; see `cluster_access.load`."""

    kubeconfig: Path | None = None
    context: str | None = None
    master: str | None = None

    async def __call__(self) -> Cluster:
        """Find the API server.

        Raises:
            ConfigError: names the file, the field and the fix.
        """
        return await cluster_access.load(self.kubeconfig, self.context, master=self.master)


@contextmanager
def served(health: Health, serving: Serving, own: Access) -> Generator[None, None, None]:
    """Serve health and metrics for as long as the context lasts.

    Args:
        health: the checks and the pages.
        serving: what to serve, and where.
        own: the API server that this process works with.

    Raises:
        ConfigError: an address, a port or a certificate cannot be used.
    """
    if serving.profiling:
        health.pages["debug/stacks"] = stacks
    with ExitStack() as stack:
        if serving.health_port:
            stack.enter_context(
                Server(
                    health,
                    serving.health_port,
                    serving.bind_address,
                    shared=serving.shared_port,
                )
            )
        if serving.secure_port:
            try:
                stack.enter_context(_secure(health, serving, own))
            except ConfigError as error:
                if serving.strict_port:
                    raise
                logger.warning("HTTPS for health and metrics is off: %s", error)
        yield


def _secure(health: Health, serving: Serving, own: Access) -> Server:
    # Imported here: reading the options needs no HTTP client.
    from enbloc.process.delegation import Delegation  # noqa: PLC0415

    names = ("localhost", "127.0.0.1", "::1", socket.gethostname())
    certificates = Certificates(
        serving.certificate, names=names, least=serving.least_tls, ciphers=serving.ciphers
    )

    def certify(authorities: str) -> None:
        certificates.client_authorities = authorities

    def find(kubeconfig: Path | None) -> Access:
        return own if kubeconfig is None else Access(kubeconfig)

    guard: Guarding = Delegation(
        serving.component,
        find(serving.authentication),
        find(serving.authorization),
        serving.rules,
        certify,
    )
    return Server(
        health,
        serving.secure_port,
        serving.bind_address,
        tls=certificates.context,
        guard=guard,
        flag="--secure-port",
        shared=serving.shared_port,
    )


def stacks() -> str:
    """The stack of each thread of this process, as text."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts: list[str] = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001  # its documented use
        parts.append(f"thread {names.get(ident, ident)}\n")
        parts += traceback.format_stack(frame)
    return "".join(parts)
