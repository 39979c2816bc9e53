# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Render the chart with helm."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from enbloc.model.names import NAMESPACE
from hack.build_controlplane import built

CHART = "helm/enbloc"
CI = Path(CHART, "ci")

# What helm adds, and plain manifests cannot have.
HELM_KEYS = {
    "helm.sh/chart",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "checksum/config",
}


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(built(["helm"]) / "helm"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def render(
    *arguments: str, release: str = "enbloc", namespace: str = NAMESPACE
) -> list[dict[str, Any]]:
    done = helm("template", release, CHART, "-n", namespace, *arguments)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def plain(value: Any) -> Any:
    """A document without what only helm sets."""
    if isinstance(value, dict):
        # A mapping that helm alone has filled goes with it.
        kept = {key: plain(inner) for key, inner in value.items() if key not in HELM_KEYS}
        return {key: inner for key, inner in kept.items() if inner or value[key] == inner}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def by_key(documents: list[dict[str, Any]], *, everything: bool = False) -> dict[str, Any]:
    return {
        f"{d['kind']}/{d['metadata']['name']}": d if everything else plain(d) for d in documents
    }


def hooked(document: dict[str, Any]) -> bool:
    """Whether it is only there while a hook runs."""
    return "helm.sh/hook" in document["metadata"].get("annotations", {})
