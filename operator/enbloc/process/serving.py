# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Where a process shows its health and its metrics: by HTTPS, and by HTTP where asked for."""

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
    """What is served where.

    Attributes:
        component: the process, for the user agent.
        secure_port: of HTTPS; 0 = none.
        health_port: of plain HTTP, open to all; 0 = none.
        bind_address: which address both listen on; 0.0.0.0 and :: are all of both families.
        strict_port: a secure port already in use is an error; else a warning.
        shared_port: other processes may listen on the same ports.
        certificate: files of the certificate and of its key; None = a self-signed one.
        least_tls: the lowest TLS version.
        ciphers: of TLS 1.2, as OpenSSL names them; empty = Python's choice.
        authentication: the kubeconfig of the API server that reviews tokens; None = our own's.
        authorization: the kubeconfig of the one that reviews access; None = our own's.
        rules: who may see what.
        profiling: whether /debug/stacks is served.
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
        bind_address: which address it listens on.
        certificate: files of the certificate and of its key.
    """

    port: int
    bind_address: str
    certificate: tuple[Path, Path]


@dataclass(frozen=True, slots=True)
class Access:
    """Which API server, as flags name it; see `cluster_access.load`."""

    kubeconfig: Path | None = None
    context: str | None = None
    master: str | None = None

    async def __call__(self) -> Cluster:
        """Find it.

        Raises:
            ConfigError: naming the file, the field and the fix.
        """
        return await cluster_access.load(self.kubeconfig, self.context, master=self.master)


@contextmanager
def served(health: Health, serving: Serving, own: Access) -> Generator[None, None, None]:
    """Serve for as long as the context lasts.

    Args:
        health: the checks, and the pages.
        serving: where.
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
    # Imported here: the options are read without an HTTP client.
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
    """What each thread of this process is doing."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts: list[str] = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001  # its documented use
        parts.append(f"thread {names.get(ident, ident)}\n")
        parts += traceback.format_stack(frame)
    return "".join(parts)
