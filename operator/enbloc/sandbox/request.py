# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a request asks for besides its object: dry run, field manager, preconditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from enbloc.sandbox.catalog import Resource
from enbloc.sandbox.status import Refused, bad_request, cannot_handle

_VALIDATION = ("Ignore", "Warn", "Strict")


@dataclass(slots=True)
class Options:
    """The options of a write.

    Attributes:
        dry_run: do everything but the write.
        manager: the field manager.
        named: whether the request names it; else it is the user agent.
        force: an apply takes fields from their owners.
        validation: what to do about unknown fields: Ignore, Warn or Strict.
        warnings: collected for the answer's `Warning` headers.
    """

    dry_run: bool = False
    manager: str = "unknown"
    named: bool = True
    force: bool = False
    validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)

    @staticmethod
    def of(query: Mapping[str, str], user_agent: str) -> Options:
        """The options in a query; Refused 400 or 422 for values that do not exist."""
        validation = query.get("fieldValidation") or "Warn"
        if validation not in _VALIDATION:
            raise Refused(
                422,
                "Invalid",
                f'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: '
                f'"{validation}": supported values: "Ignore", "Strict", "Warn"',
            )
        dry_run = query.get("dryRun", "")
        if dry_run not in {"", "All"}:
            raise bad_request(f'invalid dry run "{dry_run}": only "All" is supported')
        manager = query.get("fieldManager") or user_agent.partition("/")[0] or "unknown"
        return Options(
            dry_run=dry_run == "All",
            manager=manager[:128],
            named=bool(query.get("fieldManager")),
            force=query.get("force") in {"true", "1"},
            validation=validation,
        )

    def unknown_fields(self, resource: Resource, paths: list[str]) -> None:
        """Warn of, or refuse, fields that the schema does not have."""
        texts = [f'unknown field "{path}"' for path in paths]
        if not texts or self.validation == "Ignore":
            return
        if self.validation == "Strict":
            message = f"strict decoding error: {', '.join(texts)}"
            if resource.custom is None:
                message = f"{cannot_handle(resource)}: {message}"
            raise bad_request(message)
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
        """The options in a query or a body, which wins."""
        grace: Any = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        propagation = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
        if propagation not in {"", "Background", "Foreground", "Orphan"}:
            raise Refused(
                422,
                "Invalid",
                f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: '
                f'"{propagation}": supported values: "Background", "Foreground", "Orphan"',
            )
        if body.get("orphanDependents") is True:
            propagation = "Orphan"
        preconditions = body.get("preconditions") or {}
        try:
            seconds = None if grace is None else int(grace)
        except (TypeError, ValueError):
            raise bad_request(f'gracePeriodSeconds "{grace}" is not a number') from None
        return Deletion(
            seconds,
            propagation,
            preconditions.get("uid") or "",
            preconditions.get("resourceVersion") or "",
            dry_run or "All" in (body.get("dryRun") or ()),
        )
