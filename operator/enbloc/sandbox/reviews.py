# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Requests that are answered and not stored: access and token reviews. All is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from enbloc.sandbox.catalog import Resource
from enbloc.sandbox.status import not_allowed

_USER: Final = {"username": "sandbox", "groups": ["system:masters", "system:authenticated"]}

_ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "selfsubjectaccessreviews": {"allowed": True},
    "selfsubjectreviews": {"userInfo": _USER},
    "tokenreviews": {"authenticated": True, "user": _USER},
}


def review(resource: Resource, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answered review; Refused 405 for a kind that we do not answer."""
    answer = _ANSWERS.get(resource.plural)
    if answer is None:
        raise not_allowed(f"the sandbox does not answer {resource.kind}")
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {**head, "metadata": {}, "spec": body.get("spec") or {}, "status": answer}
