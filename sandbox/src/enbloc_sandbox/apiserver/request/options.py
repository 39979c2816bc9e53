# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a request asks for besides its object: dry run, field manager, preconditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enbloc_sandbox.apiserver.schema.types import json_name
from enbloc_sandbox.apiserver.status import (
    Refused,
    Unnamed,
    bad_request,
    cannot_handle,
    invalid,
    invalid_options,
    not_supported,
    wrong,
)
from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.storage.store import encode

_VALIDATION = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan", "nil")
_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


def refused_patch(body: Mapping[str, Any], why: str) -> Refused:
    """422 for a patch that makes an object something that it cannot be."""
    return invalid(Unnamed(), "", [wrong("patch", encode(body).decode(), why)])


@dataclass(slots=True)
class Options:
    """The options of a write.

    Attributes:
        dry_run: do everything but the write.
        manager: the field manager.
        named: whether the request names it; else it is the user agent.
        force: an apply takes fields from their owners.
        verb: create, update or patch.
        validation: what to do about unknown fields: Ignore, Warn or Strict.
        warnings: collected for the answer's `Warning` headers.
    """

    dry_run: bool = False
    manager: str = "unknown"
    named: bool = True
    force: bool = False
    validation: str = "Warn"
    verb: str = "create"
    warnings: list[str] = field(default_factory=list)

    @staticmethod
    def of(query: Mapping[str, str], user_agent: str, verb: str) -> Options:
        """The options in a query; Refused 422 for values that do not exist."""
        kind = _KINDS.get(verb, "DeleteOptions")
        validation = query.get("fieldValidation", "")
        if validation not in _VALIDATION:
            error = not_supported("fieldValidation", validation, _VALIDATION)
            raise invalid_options(kind, error)
        dry_run = query.get("dryRun", "")
        if dry_run not in {"", "All"}:
            raise invalid_options(kind, not_supported("dryRun", [dry_run], ["All"]))
        manager = query.get("fieldManager") or user_agent.partition("/")[0] or "unknown"
        return Options(
            dry_run=dry_run == "All",
            manager=manager[:128],
            named=bool(query.get("fieldManager")),
            force=query.get("force") in {"true", "1"},
            validation=validation or "Warn",
            verb=verb,
        )

    def unknown_fields(self, resource: Resource, paths: list[str], body: Mapping[str, Any]) -> None:
        """Warn of, or refuse, fields that the schema does not have."""
        texts = [f'unknown field "{path}"' for path in paths]
        if not texts or self.validation == "Ignore":
            return
        if self.validation == "Strict":
            why = f"strict decoding error: {', '.join(texts)}"
            if self.verb == "patch":
                raise refused_patch(body, why)
            raise bad_request(f"{cannot_handle(resource)}: {why}")
        self.warnings += texts


@dataclass(frozen=True, slots=True)
class Deletion:
    """DeleteOptions.

    Attributes:
        grace: seconds, None for the object's own.
        propagation: Background, Foreground, Orphan or "" for the kind's default.
        uid: delete only this incarnation.
        rv: delete only this version.
    """

    grace: int | None = None
    propagation: str = ""
    uid: str = ""
    rv: str = ""
    dry_run: bool = False

    @staticmethod
    def of(query: Mapping[str, str], body: Mapping[str, Any], *, dry_run: bool) -> Deletion:
        """The options in a query or a body."""
        grace: Any = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        propagation = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
        if propagation not in {"", *_POLICIES[:3]}:
            error = not_supported("propagationPolicy", propagation, _POLICIES)
            raise invalid_options("DeleteOptions", error)
        if body.get("orphanDependents") is True:
            propagation = "Orphan"
        preconditions = body.get("preconditions") or {}
        try:
            seconds = None if grace is None else int(grace)
        except (TypeError, ValueError):
            raise bad_request(
                f"json: cannot unmarshal {json_name(grace)} into Go struct field "
                "DeleteOptions.gracePeriodSeconds of type int64"
            ) from None
        return Deletion(
            seconds,
            propagation,
            preconditions.get("uid") or "",
            preconditions.get("resourceVersion") or "",
            dry_run or "All" in (body.get("dryRun") or ()),
        )
