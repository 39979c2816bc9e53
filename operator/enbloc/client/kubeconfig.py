# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kubeconfig files: merging, contexts, certificates, tokens, and when to read them again.

Users that log in, with an exec plugin or at an identity provider, are left to `kubeconfig_logins`,
which imports a library that takes longer than the rest of a start.
"""

import asyncio
import atexit
import base64
import json
import os
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from enbloc.client.config import TOKEN_SECONDS, Cluster, Loaded
from enbloc.errors import ConfigError
from enbloc.model.credentials import URL, without_credentials, yaml_problem

#: The longest time that an exec plugin or an identity provider may take (seconds).
LOAD_SECONDS: Final = 60.0
#: The wait after a failed renewal, while the old credentials stay in use (seconds).
RETRY_SECONDS: Final = 10.0

#: The fields of a user that need a login, not only files.
_LOGINS: Final = frozenset({"exec", "auth-provider"})
#: libyaml's loader, which is ten times as fast, if PyYAML was built with it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Entry(NamedTuple):
    """A context, cluster or user, with the file that holds it."""

    path: Path
    body: Mapping[str, Any]

    def file(self, key: str) -> Path | None:
        """The file that `KEY` names, or a file with the data of `KEY-data`; None without either.

        Raises:
            OSError: there is no such file.
            ValueError: the data is not base64.
        """
        if data := self.body.get(f"{key}-data"):
            return _held(base64.b64decode(data))
        if f"{key}-data" in self.body or key not in self.body:
            return None
        return self.named(key)

    def named(self, key: str) -> Path:
        """The file that the key names; a relative path is relative to the kubeconfig.

        Raises:
            FileNotFoundError: there is no such file.
        """
        path = Path(os.path.normpath(self.path.parent / self.body[key]))
        if not path.is_file():
            raise FileNotFoundError(f"{key}: no such file: {path}")
        return path


class _Chosen(NamedTuple):
    """A context with all that it refers to."""

    name: str
    context: _Entry
    cluster: _Entry
    user: _Entry | None


@cache
def _held(content: bytes) -> Path:
    """A file with this content until the process ends: OpenSSL cannot read keys from memory."""
    descriptor, name = tempfile.mkstemp()
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    path = Path(name)
    atexit.register(path.unlink, missing_ok=True)
    return path


class KubeconfigAuth:
    """Credentials of a kubeconfig user, read again before they expire and after a 401.

    Reading them may run a plugin that takes long. It is run once, whoever gives up waiting for it,
    and nobody waits while the old credentials serve.
    """

    def __init__(self, paths: Sequence[Path], context: str, first: Loaded | None) -> None:
        self._paths = paths
        self._context = context
        self._loaded = first
        self._due = time.monotonic() + (first.lifetime if first is not None else 0.0)
        self._tls: ssl.SSLContext | None = None  #: The latest.
        #: Reads the credentials again: what they are now, or why they cannot be read.
        self._renewing: asyncio.Task[Loaded | Exception] | None = None

    async def header(self, tls: ssl.SSLContext | None) -> str | None:
        """The header to send now; loads a renewed client certificate into ``tls``.

        Raises:
            ConfigError: the credentials were rejected, and cannot be renewed.
        """
        self._tls = tls
        loaded = self._loaded
        if loaded is not None and time.monotonic() < self._due:
            return loaded.header
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())
        if loaded is not None:
            return loaded.header
        found = await asyncio.shield(self._renewing)
        if isinstance(found, Exception):
            raise ConfigError(f"cannot renew the credentials: {found}") from found
        return found.header

    async def _renew(self) -> Loaded | Exception:
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                _, loaded = await _load(self._paths, self._context)
            if self._tls is not None and loaded.cluster.client_cert is not None:
                self._tls.load_cert_chain(*loaded.cluster.client_cert)
        except (ConfigError, OSError) as error:  # TimeoutError and SSLError are OSErrors
            self._due = time.monotonic() + RETRY_SECONDS
            return error
        finally:
            self._renewing = None
        self._loaded, self._due = loaded, time.monotonic() + loaded.lifetime
        return loaded

    def rejected(self, header: str | None) -> bool:
        """Read the files or run the plugin again before the next request."""
        if self._loaded is not None and self._loaded.header == header:
            self._loaded = None
        return True

    def again(self) -> "KubeconfigAuth":
        """The same files, with the credentials already loaded from them."""
        made = KubeconfigAuth(self._paths, self._context, self._loaded)
        made._due = self._due
        return made


async def read(paths: Sequence[Path], context: str | None) -> Cluster:
    """The cluster of a context in these files; the first file wins.

    Args:
        paths: files that exist.
        context: the context's name; None for current-context.

    Raises:
        ConfigError: naming the file, the field and the fix.
    """
    chosen, loaded = await _load(paths, context)
    auth = KubeconfigAuth(paths, chosen, loaded)
    return replace(loaded.cluster, auth=auth)


async def _load(paths: Sequence[Path], context: str | None) -> tuple[str, Loaded]:
    """The name of the context, and what the files now say of it.

    Raises:
        ConfigError: naming the file, the field and the fix.
    """
    chosen = _check(paths, context)
    source = f"{os.pathsep.join(map(str, paths))}: context {chosen.name}"
    try:
        if chosen.user is not None and _LOGINS & chosen.user.body.keys():
            # Imported here: it costs 0.2 s and 47 MiB.
            from enbloc.client import kubeconfig_logins  # noqa: PLC0415

            loaded = await kubeconfig_logins.load(paths, chosen.name, source)
        else:
            loaded = _written(chosen, source)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{source}: {without_credentials(str(error))}") from error
    if loaded.header and URL(loaded.cluster.server).has_user:
        raise ConfigError(
            f"{source}: the cluster's server names a user, and so does users; use one"
        )
    compressed = not chosen.cluster.body.get("disable-compression")
    cluster = replace(loaded.cluster, compressed=compressed)
    return chosen.name, replace(loaded, cluster=cluster)


def _written(chosen: _Chosen, source: str) -> Loaded:
    """The cluster and credentials of a user that needs no login."""
    cluster, user = chosen.cluster, chosen.user
    server = cluster.body["server"].rstrip("/")
    tls = server.startswith("https")
    certificate, key = (
        user.file(f"client-{part}") if tls and user is not None else None
        for part in ("certificate", "key")
    )
    return Loaded(
        cluster=Cluster(
            server=server,
            namespace=chosen.context.body.get("namespace") or "default",
            source=source,
            ca_file=cluster.file("certificate-authority") if tls else None,
            client_cert=(certificate, key) if certificate and key else None,
            verify=not cluster.body.get("insecure-skip-tls-verify"),
            server_name=cluster.body.get("tls-server-name"),
            proxy=cluster.body.get("proxy-url"),
        ),
        header=_header(user) if user is not None else None,
        lifetime=TOKEN_SECONDS if user and "tokenFile" in user.body else float("inf"),
    )


def _header(user: _Entry) -> str | None:
    """The Authorization header of a user: by token, or by name and password."""
    body = user.body
    token = body.get("token")
    if "token" not in body and "tokenFile" in body:
        token = user.named("tokenFile").read_text()
    if token:
        return f"Bearer {token}".strip()
    if "username" in body and "password" in body:
        both = f"{body['username']}:{body['password']}"
        return f"Basic {base64.b64encode(both.encode()).decode()}"
    return None


def _check(paths: Sequence[Path], context: str | None) -> _Chosen:
    """The context to use, with everything that it refers to checked.

    Raises:
        ConfigError: naming the file, the field and the fix.
    """
    named: dict[str, dict[str, tuple[Path, Any]]] = {"contexts": {}, "clusters": {}, "users": {}}
    current = ""
    for path in paths:
        document = _document(path)
        current = current or str(document.get("current-context") or "")
        for kind, known in named.items():
            for name, body in _entries(path, document, kind):
                known.setdefault(name, (path, body))
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
        name = body.get(kind) or ""
        if not isinstance(name, str):
            raise ConfigError(f"{path}: contexts[{chosen}].{kind}: must be the name of a {kind}")
        if name not in named[kind + "s"] and (required or name):
            others = ", ".join(named[kind + "s"]) or "none"
            raise ConfigError(
                f'{path}: contexts[{chosen}].{kind}: no {kind} "{name}" (known: {others})'
            )
    path, cluster = named["clusters"][body["cluster"]]
    server = str(cluster.get("server") or "")
    url = URL(server)
    if not url.usable:
        raise ConfigError(
            f"{path}: clusters[{body['cluster']}].server: must be a URL such as "
            f'https://host:6443, is "{url}"'
        )
    user = named["users"].get(body.get("user") or "")
    return _Chosen(
        chosen,
        _Entry(*named["contexts"][chosen]),
        _Entry(path, cluster),
        _Entry(*user) if user is not None and user[1] else None,
    )


def _entries(
    path: Path, document: Mapping[str, Any], kind: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The name and the body of each entry of a list.

    Raises:
        ConfigError: an entry has no name, or another form.
    """
    entries = document.get(kind) or []
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: {kind}: must be a list")
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not name:
            raise ConfigError(f"{path}: {kind}: each entry needs a name")
        if not isinstance(name, str):
            shown = json.dumps(name, default=str)
            raise ConfigError(f"{path}: {kind}: a name must be text, is {shown}; put it in quotes")
        body = entry.get(kind[:-1]) or {}
        if not isinstance(body, dict):
            raise ConfigError(f"{path}: {kind}[{name}].{kind[:-1]}: must be a mapping")
        yield name, body


def _document(path: Path) -> Mapping[str, Any]:
    try:
        document = yaml.load(path.read_text(), _LOADER)  # noqa: S506  # a safe one
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
