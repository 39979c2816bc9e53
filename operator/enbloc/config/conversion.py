# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion: whatever version or kind a file has, as KubeSchedulerConfiguration v1."""

from collections.abc import Iterable, Sequence
from typing import Any

from enbloc.config.documents import Source, parse, plain, stamped
from enbloc.config.findings import Findings, unknown
from enbloc.config.models import KIND, OUR_KIND, VERSION
from enbloc.config.older import OLDER, from_older
from enbloc.config.policy import POLICY_KIND, POLICY_VERSION, from_policy


def convert(sources: Iterable[Source], findings: Findings) -> list[dict[str, Any]]:
    """Every document, in today's form.

    Args:
        sources: the files.
        findings: collects what is said on the way.

    Raises:
        ConfigError: something has no equivalent, or cannot be read.
    """
    made: list[dict[str, Any]] = []
    for source in sources:
        findings.source = source.name
        for document in parse(source, findings):
            kind = document.get("kind")
            if kind == OUR_KIND:
                made.append(document)
            elif kind in (KIND, POLICY_KIND):
                made.append(plain(current(stamped(document), findings)))
            else:
                findings.problem("kind", unknown("", str(kind), (KIND, OUR_KIND, POLICY_KIND)))
    findings.refuse()
    return made


def current(document: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """A stamped document of kind KubeSchedulerConfiguration or Policy as v1 of the former."""
    version = document.get("apiVersion")
    if document.get("kind") == POLICY_KIND:
        _check(version, (POLICY_VERSION,), findings)
        return from_policy(document, findings)
    if version in OLDER:
        return from_older(document, findings)
    _check(version, (VERSION, *OLDER), findings)
    return document


def _check(version: Any, known: Sequence[str], findings: Findings) -> None:
    if version is None:
        findings.problem("apiVersion", f"Required: {' or '.join(known)}")
    elif version not in known:
        findings.problem("apiVersion", unknown("", str(version), known))
