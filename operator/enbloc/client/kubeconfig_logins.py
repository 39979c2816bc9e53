# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Users of a kubeconfig that log in: exec plugins and OIDC, by ``kubernetes.aio.config``."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

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

from enbloc.client.config import TOKEN_SECONDS, Cluster, Loaded
from enbloc.errors import ConfigError
from enbloc.model.credentials import without_credentials

#: Credentials are renewed this long before they expire (seconds).
EARLY_SECONDS: Final = 60.0


class _Loader(KubeConfigLoader):
    """The library's loader, but a failing exec plugin raises instead of logging."""

    exec_expiry: datetime | None = None

    async def load_from_exec_plugin(self) -> Literal[True]:
        """Run the user's exec plugin.

        Raises:
            ConfigException: the plugin failed, or gave neither token nor certificate.
        """
        plugin = (self._user or {})["exec"]
        try:
            status = await ExecProvider(plugin).run()
        except OSError as error:  # under uvloop its text does not name the program
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


async def load(paths: Sequence[Path], context: str, source: str) -> Loaded:
    """The cluster and credentials of a context, after its user has logged in.

    Args:
        paths: files that were checked.
        context: its name.
        source: the origin, for messages.

    Raises:
        ConfigError: the login failed, or the library rejects a file.
    """
    configuration = Configuration()
    configuration.verify_ssl = True
    try:
        merged = KubeConfigMerger(ENV_KUBECONFIG_PATH_SEPARATOR.join(map(str, paths)))
        beside_the_file: Any = None  # the library accepts None, though its type is str
        loader = _Loader(  # type: ignore[no-untyped-call]  # inherited
            merged.config, active_context=context, config_base_path=beside_the_file
        )
        await loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # inherited
    except (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{source}: {without_credentials(str(error))}") from error
    header = configuration.api_key.get("BearerToken")
    certificate, key = configuration.cert_file, configuration.key_file
    chosen = loader.current_context["context"]
    return Loaded(
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
