# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The refusals of the API server: Status bodies in its own words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from enbloc.errors import EnblocError

_OMIT: Final = object()

_CAUSES: Final = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "Duplicate value": "FieldValueDuplicate",
    "Too many": "FieldValueTooMany",
    "Too long": "FieldValueTooLong",
    "Not found": "FieldValueNotFound",
}


class Named(Protocol):
    """What a refusal needs to know of a resource."""

    @property
    def group(self) -> str:
        """The API group, empty for core."""
        ...

    @property
    def plural(self) -> str:
        """The resource."""
        ...

    @property
    def kind(self) -> str:
        """As in `kind`."""
        ...


class Versioned(Protocol):
    """What the refusal of a body needs to know of a resource."""

    @property
    def kind(self) -> str:
        """As in `kind`."""
        ...

    @property
    def version(self) -> str:
        """Without the group."""
        ...


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong field, as `field.Error` of the API machinery prints it."""

    field: str
    type: str
    detail: str = ""
    value: Any = _OMIT

    @property
    def message(self) -> str:
        """The text after the field's path."""
        parts = [self.type]
        if self.value is not _OMIT and self.type not in {"Required value", "Forbidden"}:
            parts.append(self.value if isinstance(self.value, _Raw) else _shown(self.value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)

    def cause(self) -> dict[str, str]:
        """The entry of `details.causes`."""
        reason = _CAUSES.get(self.type, "FieldValueInvalid")
        if self.type == "Invalid value" and "must be of type" in self.detail:
            reason = "FieldValueTypeInvalid"
        return {"reason": reason, "message": self.message, "field": self.field}


class _Raw(str):
    """A value that is shown without quotes."""

    __slots__ = ()


def raw(text: str) -> str:
    """A value to be shown as it stands, as the API server shows "null" and "object"."""
    return _Raw(text)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def required(field: str, detail: str = "") -> FieldError:
    """The field is missing."""
    return FieldError(field, "Required value", detail)


def wrong(field: str, value: Any, detail: str) -> FieldError:
    """The field's value is not allowed."""
    return FieldError(field, "Invalid value", detail, value)


def forbidden_field(field: str, detail: str) -> FieldError:
    """The field may not be given here."""
    return FieldError(field, "Forbidden", detail)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """The field's value is not one of those that exist."""
    listed = ", ".join(_shown(one) for one in supported)
    return FieldError(field, "Unsupported value", f"supported values: {listed}", value)


def missing(field: str, value: Any, detail: str) -> FieldError:
    """The field names what is not there."""
    return FieldError(field, "Not found", detail, value)


class Refused(EnblocError):  # noqa: N818 - an answer, not a failure of ours
    """A request that gets a Status instead of what it asked for.

    Attributes:
        code: the HTTP status.
        reason: the machine-readable reason, "" for none.
        details: `details` of the Status, None for none.
    """

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        return {**body, "code": self.code}


def success(details: dict[str, Any] | None = None, code: int | None = None) -> dict[str, Any]:
    """The Status of a request that returns no object."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    body["status"] = "Success"
    if details:
        body["details"] = details
    return body if code is None else {**body, "code": code}


def qualified(resource: Named) -> str:
    """`pods`, `podgroups.enbloc.dev`."""
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def details_of(resource: Named, name: str) -> dict[str, Any]:
    """`details` that name one object."""
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": resource.plural}


def not_found(resource: Named, name: str) -> Refused:
    """404 for an object."""
    message = f'{qualified(resource)} "{name}" not found'
    return Refused(404, "NotFound", message, details_of(resource, name))


def already_exists(resource: Named, name: str) -> Refused:
    """409 for a name that is taken."""
    message = f'{qualified(resource)} "{name}" already exists'
    return Refused(409, "AlreadyExists", message, details_of(resource, name))


def conflict(resource: Named, name: str, why: str) -> Refused:
    """409 for a write that lost a race or a precondition."""
    message = f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}'
    return Refused(409, "Conflict", message, details_of(resource, name))


def storage_conflict(
    resource: Named, key: str, name: str, what: str, wanted: str, found: str
) -> Refused:
    """409 for a precondition that the API server leaves to its storage."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted}, "
        f"{what} in object meta: {found}"
    )
    return conflict(resource, name, why)


MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def forbidden(
    resource: Named, name: str, why: str, causes: Sequence[dict[str, str]] = ()
) -> Refused:
    """403 by an admission rule."""
    details = details_of(resource, name)
    if causes:
        details["causes"] = list(causes)
    message = f'{qualified(resource)} "{name}" is forbidden: {why}'
    return Refused(403, "Forbidden", message, details)


def invalid(resource: Named, name: str, errors: Sequence[FieldError]) -> Refused:
    """422 for wrong fields."""
    # What two checks found is said once, but listed twice.
    texts = list(dict.fromkeys(f"{error.field}: {error.message}" for error in errors))
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details: dict[str, Any] = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    if resource.kind:
        details["kind"] = resource.kind
    details |= {"causes": [error.cause() for error in errors]}
    return Refused(422, "Invalid", f'{kind} "{name}" is invalid: {listed}', details)


@dataclass(frozen=True, slots=True)
class Unnamed:
    """What is no resource and yet refused as one: options, patches."""

    kind: str = ""
    group: str = ""
    plural: str = ""


def invalid_options(kind: str, *errors: FieldError) -> Refused:
    """422 for wrong query parameters; `kind` is ListOptions, CreateOptions and so on."""
    return invalid(Unnamed(kind, "meta.k8s.io"), "", errors)


def bad_request(message: str) -> Refused:
    """400 for a request that makes no sense."""
    return Refused(400, "BadRequest", message)


def cannot_handle(resource: Versioned) -> str:
    """How a refusal of a built-in kind's body begins."""
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


def no_route() -> Refused:
    """404 for a path that is not served."""
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


class NoPath(Refused):
    """404 in plain text: nothing that the server knows has such a path."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "404 page not found")


def not_allowed(
    why: str = "the server does not allow this method on the requested resource",
) -> Refused:
    """405 for a verb that the resource does not have."""
    return Refused(405, "MethodNotAllowed", why, {})


def unsupported_body(why: str) -> Refused:
    """415 for a body that cannot be read."""
    return Refused(415, "UnsupportedMediaType", why)


def too_large(asked: int, current: int) -> Refused:
    """504 for a resourceVersion that is still to come."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Too large resource version: {asked}, current: {current}"
    return Refused(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def expired(why: str = "The resourceVersion for the provided list is too old.") -> Refused:
    """410 for a resourceVersion that is gone."""
    return Refused(410, "Expired", why)
