# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Access reviews: requests that are answered and not stored. All is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enbloc_sandbox.apiserver.storage.catalog import Resource


def review(resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answered review."""
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {**head, "metadata": {}, "spec": body.get("spec") or {}, "status": {"allowed": True}}
