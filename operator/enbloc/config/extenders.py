# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extenders: makes the engine's extenders from `extenders` of a configuration.

Source: kube-scheduler v1.36 pkg/scheduler/extender.go NewHTTPExtender.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.models import ExtenderConfiguration, TLSConfig
from enbloc.config.names import extended_resource_problem
from enbloc.framework.extenders import TLS, Extender
from enbloc.model.credentials import URL

#: The largest weight: its product with a score fits in int64.
_HEAVIEST: Final = 2**31 - 1


def extenders_of(
    configured: Sequence[ExtenderConfiguration], findings: Findings
) -> tuple[Extender, ...]:
    """The extenders, ignorable ones last; what is wrong with them is noted."""
    managed: dict[str, str] = {}
    for each in configured:
        _check(each, findings)
        for resource in each.managed_resources:
            path = resource.at("name")
            problem = extended_resource_problem(resource.name)
            if problem:
                findings.problem(path, problem)
            elif resource.name in managed:
                text = f'Duplicate "{resource.name}": it is managed at {managed[resource.name]}'
                findings.problem(path, text)
            managed.setdefault(resource.name, path)
    binders = [each.where for each in configured if each.bind_verb]
    if len(binders) > 1:
        text = f"only one extender may have a bindVerb, but these do: {', '.join(binders)}"
        findings.problem("extenders", text)
    made = [_made(each, findings) for each in configured]
    return tuple(sorted(made, key=lambda extender: extender.ignorable))


def _check(extender: ExtenderConfiguration, findings: Findings) -> None:
    url = URL(extender.url_prefix)
    if not url.usable:
        text = f'must be a URL such as "http://127.0.0.1:8888/scheduler", is "{url}"'
        findings.problem(extender.at("urlPrefix"), text)
    if extender.prioritize_verb and extender.weight <= 0:
        text = f"must be above 0 with a prioritizeVerb, is {extender.weight}"
        findings.problem(extender.at("weight"), text)
    if extender.weight > _HEAVIEST:
        text = f"must be at most {_HEAVIEST}, is {extender.weight}"
        findings.problem(extender.at("weight"), text)
    if extender.http_timeout < 0:
        findings.problem(extender.at("httpTimeout"), "must not be negative")


def _made(extender: ExtenderConfiguration, findings: Findings) -> Extender:
    return Extender(
        url=URL(extender.url_prefix.rstrip("/")),
        filter_verb=extender.filter_verb,
        prioritize_verb=extender.prioritize_verb,
        preempt_verb=extender.preempt_verb,
        bind_verb=extender.bind_verb,
        weight=extender.weight or 1,
        timeout=extender.http_timeout or 5.0,
        node_cache_capable=extender.node_cache_capable,
        managed={each.name: each.ignored_by_scheduler for each in extender.managed_resources},
        ignorable=extender.ignorable,
        tls=_tls(extender, findings),
    )


def _tls(extender: ExtenderConfiguration, findings: Findings) -> TLS | None:
    """TLS settings; as upstream, the certificate is not checked with enableHTTPS and no CA."""
    config = extender.tls_config
    if config is None and not extender.enable_https:
        return None
    config = config or TLSConfig()
    trusting = extender.enable_https and not (config.ca_file or config.ca_data)
    if trusting and not config.insecure:
        text = "without tlsConfig.caFile or caData the certificate is not verified"
        findings.warning(extender.at("enableHTTPS"), text, SettingOutcome.KEPT)
    return TLS(
        config.insecure or trusting,
        config.server_name,
        config.ca_file,
        config.cert_file,
        config.key_file,
        _pem(config, "caData", config.ca_data, findings),
        _pem(config, "certData", config.cert_data, findings),
        _pem(config, "keyData", config.key_data, findings),
    )


def _pem(config: TLSConfig, field: str, data: str, findings: Findings) -> str:
    try:
        return base64.b64decode("".join(data.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        findings.problem(config.at(field), "must be PEM text in base64")
        return ""
