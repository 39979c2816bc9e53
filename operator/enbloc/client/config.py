# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The API server to talk to, the credentials to use, and how its certificate is checked.

Precedence: the ``--kubeconfig`` flag, ``$KUBECONFIG`` (a list of files), the service account of
the pod, ``~/.kube/config``. A named context skips the service account, which has no contexts.
"""

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from enbloc.errors import ConfigError
from enbloc.model.credentials import redacted

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: How often a token file is read again, because projected tokens are rotated on disk (seconds).
TOKEN_SECONDS: Final = 60.0


class Auth(Protocol):
    """A source of credentials."""

    async def header(self, tls: ssl.SSLContext | None) -> str | None:
        """The Authorization header to send now, if any.

        Args:
            tls: the connections' TLS context; a source of client certificates loads a renewed
                certificate into it.

        Raises:
            ConfigError: the credentials cannot be read.
        """
        ...

    def rejected(self, header: str | None) -> bool:
        """Note a 401 for this header: get new credentials before the next request.

        Returns:
            Whether new credentials may exist, so that the request is worth sending again.
        """
        ...

    def again(self) -> "Auth":
        """The same source, for another event loop."""
        ...


class FixedAuth:
    """A client certificate alone, or a token that cannot be renewed."""

    def __init__(self, header: str | None = None) -> None:
        self._header = header

    async def header(self, tls: ssl.SSLContext | None) -> str | None:  # noqa: ARG002  # protocol
        """The header that was given."""
        return self._header

    def rejected(self, header: str | None) -> bool:  # noqa: ARG002  # protocol
        """False: there is nothing to read again."""
        return False

    def again(self) -> "FixedAuth":
        """Itself: it has no state."""
        return self


class TokenFile:
    """A bearer token in a file, read again every minute and after a 401."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._header: str | None = None
        self._read_at = float("-inf")

    async def header(self, tls: ssl.SSLContext | None) -> str | None:  # noqa: ARG002  # protocol
        """The token as a header; while the file cannot be read, the last one read."""
        now = self._clock()
        if now - self._read_at >= TOKEN_SECONDS:
            try:
                self._header = f"Bearer {self._token()}"
                self._read_at = now
            except (OSError, ValueError) as error:
                if self._header is None:
                    raise ConfigError(f"{self._path}: cannot read the token: {error}") from error
        return self._header

    def _token(self) -> str:
        """The token.

        Raises:
            ValueError: the file has no token.
        """
        token = self._path.read_text(encoding="ascii").strip()
        if not token or not token.isprintable() or " " in token:
            raise ValueError("the file holds no token")
        return token

    def rejected(self, header: str | None) -> bool:
        """Read the file again before the next request."""
        if header == self._header:
            self._read_at = float("-inf")
        return True

    def again(self) -> "TokenFile":
        """The same file."""
        return TokenFile(self._path, self._clock)


@dataclass(frozen=True, slots=True)
class Cluster:
    """One API server and how to talk to it.

    Attributes:
        server: the base URL, without a trailing slash; for messages use `shown`.
        namespace: the default namespace.
        auth: the source of credentials.
        source: where this came from, for messages.
        ca_file: certificate authorities; None for the system's.
        client_cert: files of the client certificate and of its key.
        verify: False for insecure-skip-tls-verify.
        server_name: the name expected in the server's certificate, if not the URL's host.
        proxy: URL of an HTTP proxy.
        compressed: whether to ask for compressed answers. They cost the API server twice the CPU
            of a list, more than they save on a fast network.
    """

    server: str = field(repr=False)
    namespace: str = "default"
    auth: Auth = field(default_factory=FixedAuth)
    source: str = ""
    ca_file: Path | None = None
    client_cert: tuple[Path, Path] | None = None
    verify: bool = True
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)
    compressed: bool = True

    @property
    def shown(self) -> str:
        """The base URL without credentials."""
        return redacted(self.server)

    def ssl_context(self) -> ssl.SSLContext | None:
        """A new TLS context, or None for plain HTTP.

        Raises:
            ConfigError: a certificate file is missing or is not a certificate, or the expected
                name is not valid.
        """
        if not self.server.startswith("https:"):
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            # Cluster CAs often fail the strict RFC 5280 checks that Python 3.13 enables by default.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if not self.verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.client_cert is not None:
                context.load_cert_chain(*self.client_cert)
        except (OSError, ValueError) as error:
            files = ", ".join(map(str, filter(None, (self.ca_file, *(self.client_cert or ())))))
            raise ConfigError(f"{self.source}: cannot use {files}: {error}") from error
        if self.server_name:
            try:
                context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=self.server_name)
            except (ValueError, TypeError) as error:  # what each connection would raise
                raise ConfigError(
                    f"{self.source}: tls-server-name {self.server_name!r} is no DNS name: {error}"
                ) from error
        return context


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of reading the kubeconfig files once.

    Attributes:
        cluster: everything but the source of credentials.
        header: the Authorization header.
        lifetime: seconds until the credentials should be read again.
    """

    cluster: Cluster
    header: str | None = field(repr=False)
    lifetime: float


def in_cluster(env: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Cluster | None:
    """The cluster that this pod runs in; None outside a cluster.

    Raises:
        ConfigError: the service account's files are incomplete.
    """
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    token = service_account / "token"
    if not host or not port or not service_account.is_dir():
        return None
    for name in ("token", "ca.crt"):
        if not (service_account / name).is_file():
            raise ConfigError(
                f"{service_account / name}: missing; set automountServiceAccountToken: true on the "
                "pod, or pass --kubeconfig"
            )
    namespace = service_account / "namespace"
    return Cluster(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        auth=TokenFile(token),
        source="the pod's service account",
        ca_file=service_account / "ca.crt",
        compressed=False,
    )
