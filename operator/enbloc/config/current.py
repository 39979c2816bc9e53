# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Converts what kube-scheduler reads, or once read, to KubeSchedulerConfiguration v1."""

from collections.abc import Sequence
from typing import Any

from enbloc.config.findings import Findings, unknown
from enbloc.config.models import VERSION
from enbloc.config.older import OLDER, from_older
from enbloc.config.policy import POLICY_KIND, POLICY_VERSION, from_policy


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
