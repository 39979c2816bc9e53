# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002, D102 - hooks are described by `Kind`; few need all of their arguments
"""Hooks of what components write about themselves: events and leases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from enbloc_sandbox.apiserver.kinds.hooks import Api, Conditional, Kind
from enbloc_sandbox.apiserver.schema.metadata import key_rule
from enbloc_sandbox.apiserver.status import FieldError, invalid, required, wrong

Document = Mapping[str, Any]
Fresh = dict[str, Any]

#: What a new-style event says once and for ever, and what the API server calls it.
_FIXED: Final = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "related": "related",
    "type": "type",
    "action": "action",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}


class Event(Kind):
    """Events: they belong to the namespace of their object."""

    def empty(self, obj: Document) -> Document:
        if obj["apiVersion"] == "v1":
            names = ("firstTimestamp", "lastTimestamp", "source")
        else:
            names = ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedSource")
        return {"eventTime": None, names[0]: None, names[1]: None, names[2]: {}}

    def default(self, obj: Fresh) -> None:
        for name, value in self.empty(obj).items():
            obj.setdefault(name, value)

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        involved = obj.get("involvedObject") or obj.get("regarding") or {}
        errors: list[FieldError] = []
        if obj["metadata"]["namespace"] != (involved.get("namespace") or "default"):
            detail = "does not match event.namespace"
            given = involved.get("namespace", "")
            errors.append(wrong("involvedObject.namespace", given, detail))
        if obj.get("eventTime") or obj["apiVersion"] != "v1":
            errors += _reported(obj)
        if obj["apiVersion"] != "v1":
            _refuse(api, obj, [*errors, *_new_style(obj)])
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        if obj["apiVersion"] != "v1":
            changed = [
                wrong(shown, obj.get(name, ""), "field is immutable")
                for name, shown in _FIXED.items()
                if obj.get(name) != old.get(name)
            ]
            _refuse(api, obj, changed)
        return []


def _reported(obj: Document) -> Iterator[FieldError]:
    """What is wrong with who reports what."""
    field = "reportingComponent" if obj["apiVersion"] == "v1" else "reportingController"
    reporter = obj.get(field) or ""
    if not reporter:
        yield required(field)
        yield wrong(field, "", "name part must be non-empty")
    if rule := key_rule(reporter):
        yield wrong(field, reporter, rule)
    for name in ("reportingInstance", "action", "reason"):
        if not obj.get(name):
            yield required(name)
    if len(obj.get("note") or obj.get("message") or "") > 1024:
        yield wrong("message", "", "can have at most 1024 characters")


def _new_style(obj: Document) -> Iterator[FieldError]:
    if not obj.get("eventTime"):
        yield required("eventTime")
    kind = obj.get("type") or ""
    if kind not in {"Normal", "Warning"}:
        yield wrong("type", "", f"has invalid value: {kind}")


def _refuse(api: Api, obj: Document, errors: list[FieldError]) -> None:
    """Refused 422 in the name of the core kind, as the API server does for the new one."""
    if errors:
        raise invalid(api.catalog.builtin("events"), obj["metadata"].get("name", ""), errors)


class Lease(Conditional):
    """Leases: their numbers make sense."""

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors: list[FieldError] = []
        if spec.get("leaseDurationSeconds", 1) <= 0:
            value = spec["leaseDurationSeconds"]
            errors.append(wrong("spec.leaseDurationSeconds", value, "must be greater than 0"))
        if spec.get("leaseTransitions", 0) < 0:
            value, detail = spec["leaseTransitions"], "must be greater than or equal to 0"
            errors.append(wrong("spec.leaseTransitions", value, detail))
        return errors
