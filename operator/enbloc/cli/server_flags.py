# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The flags of the server commands: kube-scheduler's, and a few of enbloc's own.

All of kube-scheduler's flags are accepted, so that its manifests work with enbloc's image. Each has
the same effect, or a warning names it and says why it has none.

Source: kube-scheduler v1.36 cmd/kube-scheduler/app/options/options.go Options.Flags.
"""

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import enbloc
from enbloc.cli.flags import F, Number, all_of
from enbloc.cli.go_values import DURATION, FINITE, GO_BOOL, LEVEL, TLS_VERSIONS, ciphers_of
from enbloc.errors import ConfigError
from enbloc.model.names import CONTROLLER_PORT, SCHEDULER_PORT

if TYPE_CHECKING:
    from enbloc.model.request_rate import RequestRate
    from enbloc.process.serving import Serving


#: The key in a command's context for the given flags that have no effect.
IGNORED_KEY: Final = "enbloc.ignored"

_ANONYMOUS: Final = "requests are authenticated by tokens and client certificates only"
_JSON: Final = "enbloc uses JSON only"
_GATES: Final = "enbloc has none of kube-scheduler's feature gates"
_LOGS: Final = "each line is written to stderr at once"
_METRICS: Final = "all metrics are exposed, with all labels"
_HTTP1: Final = "health and metrics are served by HTTP/1.1"
#: Flag → why it has no effect.
WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "allow-metric-labels": _METRICS,
    "allow-metric-labels-manifest": _METRICS,
    "authentication-tolerate-lookup-failure": "a failed lookup is logged and retried",
    "cert-dir": "the certificate comes from --tls-cert-file, or is self-signed and in memory",
    "contention-profiling": "enbloc has no lock contention profiler",
    "disable-http2-serving": _HTTP1,
    "disabled-metrics": _METRICS,
    "emulated-version": _GATES,
    "feature-gates": _GATES,
    "http2-max-streams-per-connection": _HTTP1,
    "kube-api-content-type": _JSON,
    "log-flush-frequency": _LOGS,
    "log-json-info-buffer-size": _LOGS,
    "log-json-split-stream": _LOGS,
    "log-text-info-buffer-size": _LOGS,
    "log-text-split-stream": _LOGS,
    "min-compatibility-version": _GATES,
    "permit-address-sharing": "SO_REUSEADDR is always set",
    "requestheader-allowed-names": _ANONYMOUS,
    "requestheader-client-ca-file": _ANONYMOUS,
    "requestheader-extra-headers-prefix": _ANONYMOUS,
    "requestheader-group-headers": _ANONYMOUS,
    "requestheader-uid-headers": _ANONYMOUS,
    "requestheader-username-headers": _ANONYMOUS,
    "show-hidden-metrics-for-version": _METRICS,
    "tls-curve-preferences": "OpenSSL chooses the curve",
    "tls-sni-cert-key": "only one certificate is served; set it with --tls-cert-file",
    "vmodule": "verbosity cannot be set per file; use --v",
}
#: The ones among them that need no value.
_SWITCHES: Final = frozenset(
    {
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
    }
)


def server_flags(*, leader_elect: bool, secure_port: int) -> Callable[[F], F]:
    """The flags of a server command.

    Args:
        leader_elect: the default of `--leader-elect`.
        secure_port: the default of `--secure-port`.
    """
    flags = (
        *_election_flags(leader_elect=leader_elect),
        *_serving_flags(secure_port),
        *_access_flags(),
        *_log_flags(),
        click.option(
            "--master", metavar="URL", help="Address of the API server. Overrides the kubeconfig."
        ),
        *_rate_flags(),
        click.option(
            "--version",
            is_flag=False,
            flag_value="true",
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version and exit.",
        ),
        *(_without_effect(name) for name in WITHOUT_EFFECT),
    )
    return functools.partial(all_of, flags)


def switch(*names: str, default: bool | None, text: str, **more: Any) -> Callable[[F], F]:
    """A flag that may be given alone, or as `--flag=true` or `--flag=false`."""
    settings: dict[str, Any] = {"show_default": default is not None, **more}
    return click.option(
        *names,
        is_flag=False,
        flag_value="true",
        type=GO_BOOL,
        default=default,
        help=text,
        **settings,
    )


def _election_flags(*, leader_elect: bool) -> Sequence[Callable[[F], F]]:
    def duration(part: str, text: str) -> Callable[[F], F]:
        return click.option(f"--leader-elect-{part}", type=DURATION, help=text)

    return (
        switch(
            "--leader-elect",
            default=leader_elect,
            text="Act only while holding the Lease, so that several replicas can run.",
            show_default="true, for run false",
        ),
        click.option("--no-leader-elect", is_flag=True, help="The same as --leader-elect=false."),
        click.option(
            "--leader-elect-resource-name",
            "lease_name",
            metavar="NAME",
            help="Name of the Lease. `run` derives the name of its controller's Lease from it.",
        ),
        click.option(
            "--leader-elect-resource-namespace",
            "--lease-namespace",
            "lease_namespace",
            metavar="NAMESPACE",
            help="Namespace of the Lease. Default: the pod's, else the kubeconfig context's.",
        ),
        click.option(
            "--leader-elect-resource-lock",
            "resource_lock",
            default="leases",
            show_default=True,
            help="Kind of lock. Only leases is supported.",
            callback=_leases,
            expose_value=False,
        ),
        duration(
            "lease-duration", "Others may take a Lease that was not renewed for this long. [15s]"
        ),
        duration(
            "renew-deadline",
            "A leader that cannot renew the Lease for this long stops leading. [10s]",
        ),
        duration("retry-period", "Time between attempts to acquire or renew the Lease. [2s]"),
    )


def _serving_flags(secure_port: int) -> Sequence[Callable[[F], F]]:
    port, file = Number(0, 65535), click.Path(path_type=Path)
    return (
        click.option(
            "--secure-port",
            type=port,
            default=secure_port,
            show_default=f"{SCHEDULER_PORT}, for the controller {CONTROLLER_PORT}",
            help="HTTPS port for health checks and, for authorized users, /metrics, /configz and "
            "/debug/stacks. 0 disables it.",
        ),
        click.option(
            "--health-port",
            type=port,
            default=0,
            show_default=True,
            help="Port for the same over plain HTTP, without authentication. 0 disables it.",
        ),
        click.option(
            "--bind-address",
            default=lambda: "0.0.0.0" if in_pod() else "127.0.0.1",  # noqa: S104
            show_default="0.0.0.0 in a pod, else 127.0.0.1",
            help="Address to listen on. 0.0.0.0 and :: mean all addresses, IPv4 and IPv6.",
        ),
        switch(
            "--permit-port-sharing",
            default=False,
            text="Set SO_REUSEPORT, so that several processes can listen on the same ports.",
        ),
        click.option(
            "--tls-cert-file",
            type=file,
            help="Certificate for HTTPS, followed by those of its issuers. Reloaded when it "
            "changes. Default: a self-signed certificate, in memory.",
        ),
        click.option("--tls-private-key-file", type=file, help="Private key for --tls-cert-file."),
        click.option(
            "--tls-min-version",
            type=click.Choice(list(TLS_VERSIONS)),
            default="VersionTLS12",
            show_default=True,
            help="Minimum TLS version. Lower values than 1.2 mean 1.2.",
        ),
        click.option(
            "--tls-cipher-suites",
            default="",
            metavar="NAME,...",
            help="Cipher suites for TLS 1.2, by their names in Go.",
        ),
        switch("--profiling", default=True, text="Serve /debug/stacks."),
    )


def _access_flags() -> Sequence[Callable[[F], F]]:
    file = click.Path(path_type=Path)

    def kept(flag: str, text: str) -> Callable[[F], F]:
        return click.option(flag, type=DURATION, default=10.0, help=f"{text} [10s]")

    return (
        click.option(
            "--authentication-kubeconfig",
            type=file,
            help="Kubeconfig of the API server that reviews tokens. Default: this process's own.",
        ),
        click.option(
            "--authorization-kubeconfig",
            type=file,
            help="Kubeconfig of the API server that reviews access. Default: this process's own.",
        ),
        switch(
            "--authentication-skip-lookup",
            default=False,
            text="Do not look up in the cluster which CAs to accept for client certificates.",
        ),
        click.option(
            "--client-ca-file",
            type=file,
            help="File with the CAs whose client certificates are accepted.",
        ),
        click.option(
            "--authorization-always-allow-paths",
            default="/healthz,/readyz,/livez",
            show_default=True,
            metavar="PATH,...",
            help="Paths that anyone may read. A path may end in *.",
        ),
        kept("--authentication-token-webhook-cache-ttl", "How long the user of a token is cached."),
        kept(
            "--authorization-webhook-cache-authorized-ttl",
            "How long an allowed request is cached.",
        ),
        kept(
            "--authorization-webhook-cache-unauthorized-ttl", "How long a denied request is cached."
        ),
    )


def _rate_flags() -> Sequence[Callable[[F], F]]:
    return (
        click.option(
            "--kube-api-qps",
            type=FINITE,
            help="Maximum requests per second to the API server. Events are counted separately; "
            "the Lease is not limited. Negative: no limit. Default: no limit, or 50 if "
            "--kube-api-burst is given.",
        ),
        click.option(
            "--kube-api-burst",
            type=Number(0, 2**31 - 1),
            help="Maximum number of requests at once after a time with fewer. Default: 100 if "
            "--kube-api-qps is given.",
        ),
    )


def take_rate(flags: dict[str, Any]) -> "RequestRate":
    """Remove the flags about the request rate from a command's flags; returns the rate."""
    from enbloc.model.request_rate import RequestRate  # noqa: PLC0415  # `--help` needs none of it

    return RequestRate(flags.pop("kube_api_qps") or 0.0, flags.pop("kube_api_burst") or 0)


def _log_flags() -> Sequence[Callable[[F], F]]:
    return (
        click.option(
            "--log-format",
            "--logging-format",
            "log_format",
            type=click.Choice(["text", "json"]),
            default=default_format,
            show_default="text on a terminal, else json",
            help="Format of log lines and errors, which go to stderr.",
        ),
        click.option(
            "-v",
            "--v",
            "--verbose",
            "verbosity",
            is_flag=False,
            flag_value="v",
            type=LEVEL,
            default=0,
            help="Log verbosity. From 2 on: Bindings, and each placed pod without a group. From 4 "
            "on, and with -v alone: debug lines. From 6 on: requests to the API server.",
        ),
    )


def default_format() -> str:
    """The log format without a flag."""
    return "text" if sys.stderr.isatty() else "json"


def in_pod() -> bool:
    """Whether this process runs in a pod, by the environment variables that the kubelet sets."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def _without_effect(name: str) -> Callable[[F], F]:
    def note(context: click.Context, parameter: click.Parameter, value: object) -> None:
        del parameter
        if value not in (None, ()):
            context.meta.setdefault(IGNORED_KEY, []).append(name)

    more: dict[str, Any] = {}
    if name in _SWITCHES:
        more = {"is_flag": False, "flag_value": "true"}
    return click.option(
        f"--{name}", multiple=True, expose_value=False, hidden=True, callback=note, **more
    )


def _leases(context: click.Context, parameter: click.Parameter, value: str) -> None:
    del context, parameter
    if value != "leases":
        text = f'must be "leases", is "{value}"'
        raise click.BadParameter(text, param_hint="--leader-elect-resource-lock")


def _version(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    del parameter
    if value is not None and value.lower() != "false":
        click.echo(f"enbloc {enbloc.__version__}")
        context.exit()


def warnings(context: click.Context) -> list[str]:
    """The warnings about given flags that have no effect."""
    given: list[str] = context.meta.get(IGNORED_KEY, [])
    return [f"--{name}: accepted, without effect: {WITHOUT_EFFECT[name]}" for name in given]


def take_serving(flags: dict[str, Any], *, strict_port: bool) -> "Serving":
    """Remove the flags about serving from a command's flags; returns the settings.

    Args:
        flags: by name; the flags about serving are removed.
        strict_port: see Serving.

    Raises:
        ConfigError: the flags contradict each other.
    """
    from enbloc.process.access_rules import AccessRules  # noqa: PLC0415  # `--help` needs none of it
    from enbloc.process.serving import Serving  # noqa: PLC0415  # as above

    take = flags.pop
    certificate, key = take("tls_cert_file"), take("tls_private_key_file")
    if (certificate is None) != (key is None):
        raise ConfigError("--tls-cert-file and --tls-private-key-file: give both or neither")
    paths = [part.strip() for part in take("authorization_always_allow_paths").split(",")]
    rules = AccessRules(
        open_paths=tuple(f"/{path.lstrip('/')}" for path in paths if path),
        token_seconds=take("authentication_token_webhook_cache_ttl"),
        allowed_seconds=take("authorization_webhook_cache_authorized_ttl"),
        refused_seconds=take("authorization_webhook_cache_unauthorized_ttl"),
        look_up=not take("authentication_skip_lookup"),
        client_authorities=take("client_ca_file"),
    )
    return Serving(
        secure_port=take("secure_port"),
        health_port=take("health_port"),
        bind_address=take("bind_address"),
        strict_port=strict_port,
        shared_port=take("permit_port_sharing"),
        certificate=None if certificate is None else (certificate, key),
        least_tls=TLS_VERSIONS[take("tls_min_version")],
        ciphers=ciphers_of(take("tls_cipher_suites")),
        authentication=take("authentication_kubeconfig"),
        authorization=take("authorization_kubeconfig"),
        rules=rules,
        profiling=take("profiling"),
    )
