# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kubeconfig files: merging, contexts, certificates, tokens, exec plugins, OIDC.

All of it is done by ``kubernetes.aio.config``; this module checks the files first, so that a
mistake is named with its file and field, and renews credentials.
"""

import asyncio
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.dateutil import parse_rfc3339
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import (
    ENV_KUBECONFIG_PATH_SEPARATOR,
    FileOrData,
    KubeConfigLoader,
    KubeConfigMerger,
)

from enbloc.errors import ConfigError
from enbloc.kube.config import TOKEN_SECONDS, Cluster
from enbloc.model.credentials import URL, without_credentials, yaml_problem

#: An exec plugin or an identity provider that takes longer has failed (seconds).
LOAD_SECONDS: Final = 60.0
#: Credentials are renewed this long before they expire (seconds).
EARLY_SECONDS: Final = 60.0
#: A renewal that failed is tried again after this while the old credentials serve (seconds).
RETRY_SECONDS: Final = 10.0


class _Loader(KubeConfigLoader):
    """The library's loader, except that a failing exec plugin is an error, not a log line."""

    exec_expiry: datetime | None = None

    async def load_from_exec_plugin(self) -> Literal[True]:
        """Run the user's exec plugin.

        Raises:
            ConfigException: the plugin failed, or gave neither token nor certificate.
        """
        plugin = (self._user or {})["exec"]
        try:
            status = await ExecProvider(plugin).run()
        except OSError as error:  # whose text does not name the program under uvloop
            wrong = error.strerror or str(error)
            hint = f"; {plugin['installHint']}" if plugin.safe_get("installHint") else ""
            raise ConfigException(
                f"exec: cannot run the plugin {plugin['command']}: {wrong}{hint}"
            ) from error
        has_certificate = status.get("clientCertificateData") and status.get("clientKeyData")
        if not status.get("token") and not has_certificate:
            raise ConfigException("exec: the plugin gave neither a token nor certificate and key")
        if status.get("token"):
            self.token = f"Bearer {status['token']}"
        if has_certificate:
            self.cert_file = _as_file(status, "clientCertificateData")
            self.key_file = _as_file(status, "clientKeyData")
        if status.get("expirationTimestamp"):
            self.exec_expiry = parse_rfc3339(status["expirationTimestamp"])
        return True


def _as_file(status: Mapping[str, Any], key: str) -> str:
    data = FileOrData(status, None, data_key_name=key, base64_file_content=False)
    return str(data.as_file())


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What one pass over the files gave.

    Attributes:
        cluster: everything but the credentials' source.
        header: the Authorization header.
        lifetime: seconds until the credentials should be read again.
    """

    cluster: Cluster
    header: str | None = field(repr=False)
    lifetime: float


class KubeconfigAuth:
    """Credentials of a kubeconfig user, read again when they expire and after a 401."""

    def __init__(self, paths: Sequence[Path], context: str, first: _Loaded | None) -> None:
        self._paths = paths
        self._context = context
        self._loaded = first
        self._due = time.monotonic() + (first.lifetime if first is not None else 0.0)
        self._lock = asyncio.Lock()

    async def header(self, tls: ssl.SSLContext | None) -> str | None:
        """The header that is valid now; a renewed client certificate goes into ``tls``.

        Raises:
            ConfigError: the credentials were rejected or ran out, and no new ones can be had.
        """
        async with self._lock:
            if self._loaded is None or time.monotonic() >= self._due:
                await self._renew(tls)
            assert self._loaded is not None
            return self._loaded.header

    async def _renew(self, tls: ssl.SSLContext | None) -> None:
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                self._loaded = await _load(self._paths, self._context)
        except (ConfigError, TimeoutError) as error:
            self._due = time.monotonic() + RETRY_SECONDS
            if self._loaded is None:
                raise ConfigError(f"cannot renew the credentials: {error}") from error
            return
        self._due = time.monotonic() + self._loaded.lifetime
        if tls is not None and self._loaded.cluster.client_cert is not None:
            tls.load_cert_chain(*self._loaded.cluster.client_cert)

    def rejected(self, header: str | None) -> bool:
        """Read the files, or run the plugin, again before the next request."""
        if self._loaded is not None and self._loaded.header == header:
            self._loaded = None
        return True

    def again(self) -> "KubeconfigAuth":
        """The same files, with what is known of them."""
        made = KubeconfigAuth(self._paths, self._context, self._loaded)
        made._due = self._due
        return made


async def read(paths: Sequence[Path], context: str | None) -> Cluster:
    """The cluster of a context in these files, the first file winning.

    Args:
        paths: files that exist.
        context: the context's name; None for current-context.

    Raises:
        ConfigError: naming the file, the field and the fix.
    """
    chosen = _check(paths, context)
    loaded = await _load(paths, chosen)
    auth = KubeconfigAuth(paths, chosen, loaded)
    return replace(loaded.cluster, auth=auth)


async def _load(paths: Sequence[Path], context: str) -> _Loaded:
    source = f"{ENV_KUBECONFIG_PATH_SEPARATOR.join(map(str, paths))}: context {context}"
    configuration = Configuration()
    configuration.verify_ssl = True
    try:
        merged = KubeConfigMerger(ENV_KUBECONFIG_PATH_SEPARATOR.join(map(str, paths)))
        beside_the_file: Any = None  # what the library means by it, though it says str
        loader = _Loader(  # type: ignore[no-untyped-call]  # inherited
            merged.config, active_context=context, config_base_path=beside_the_file
        )
        await loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # inherited
    except (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{source}: {without_credentials(str(error))}") from error
    header = configuration.api_key.get("BearerToken")
    if header and URL(configuration.host).has_user:
        raise ConfigError(
            f"{source}: the cluster's server names a user, and so does users; use one"
        )
    certificate, key = configuration.cert_file, configuration.key_file
    chosen = loader.current_context["context"]
    return _Loaded(
        cluster=Cluster(
            server=configuration.host,
            namespace=chosen.get("namespace") or "default",
            source=source,
            ca_file=Path(configuration.ssl_ca_cert) if configuration.ssl_ca_cert else None,
            client_cert=(Path(certificate), Path(key)) if certificate and key else None,
            verify=bool(configuration.verify_ssl),
            server_name=configuration.tls_server_name,
            proxy=configuration.proxy,
        ),
        header=header.strip() if header else None,
        lifetime=_lifetime(loader),
    )


def _lifetime(loader: _Loader) -> float:
    """Seconds until the credentials should be read again."""
    if loader.exec_expiry is not None:
        left = (loader.exec_expiry - datetime.now(UTC)).total_seconds()
        return max(left - EARLY_SECONDS, left / 2, 1.0)
    user = loader._user or {}  # noqa: SLF001  # the library has no accessor for it
    return TOKEN_SECONDS if "tokenFile" in user or loader.provider else float("inf")


def _check(paths: Sequence[Path], context: str | None) -> str:
    """The name of the context to use, after checking all that it refers to.

    Raises:
        ConfigError: naming the file, the field and the fix.
    """
    named: dict[str, dict[str, tuple[Path, Any]]] = {"contexts": {}, "clusters": {}, "users": {}}
    current = ""
    for path in paths:
        document = _document(path)
        current = current or str(document.get("current-context") or "")
        for kind, known in named.items():
            for entry in document.get(kind) or ():
                if not isinstance(entry, dict) or not entry.get("name"):
                    raise ConfigError(f"{path}: {kind}: each entry needs a name")
                known.setdefault(entry["name"], (path, entry.get(kind[:-1]) or {}))
    where = ", ".join(map(str, paths))
    contexts = ", ".join(named["contexts"]) or "none"
    chosen = context or current
    if not chosen:
        raise ConfigError(
            f"{where}: current-context: not set; pass --context (known contexts: {contexts})"
        )
    if chosen not in named["contexts"]:
        setting = "--context" if context else "current-context"
        raise ConfigError(f'{where}: {setting}: no context "{chosen}" (known contexts: {contexts})')
    path, body = named["contexts"][chosen]
    for kind, required in (("cluster", True), ("user", False)):
        name = body.get(kind)
        if name not in named[kind + "s"] and (required or name):
            others = ", ".join(named[kind + "s"]) or "none"
            raise ConfigError(
                f'{path}: contexts[{chosen}].{kind}: no {kind} "{name or ""}" (known: {others})'
            )
    path, cluster = named["clusters"][body["cluster"]]
    server = str(cluster.get("server") or "")
    url = URL(server)
    if not url.usable:
        raise ConfigError(
            f"{path}: clusters[{body['cluster']}].server: must be a URL such as "
            f'https://host:6443, is "{url}"'
        )
    return chosen


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as a kubeconfig: {error}") from error
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        problem = yaml_problem(error)
        raise ConfigError(f"{path}: cannot be read as a kubeconfig: {problem}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: is not a kubeconfig: the document must be a mapping")
    return document
