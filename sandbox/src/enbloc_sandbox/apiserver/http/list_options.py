# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The options of lists and watches: which combinations make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from enbloc_sandbox.apiserver.status import (
    FieldError,
    Refused,
    bad_request,
    forbidden_field,
    invalid_options,
    not_supported,
)

_MATCH: Final = "resourceVersionMatch"
_EXACT: Final = "Exact"
_NOT_OLDER: Final = "NotOlderThan"


def check(query: Mapping[str, str], *, watch: bool) -> None:
    """Refused 422 for options that exclude each other."""
    errors = _watch_errors(query) if watch else _list_errors(query)
    if errors:
        raise invalid_options("ListOptions", *errors)


def version(query: Mapping[str, str], *, watch: bool) -> int:
    """The resourceVersion asked for, 0 for none; Refused 400 or 500 when it is no number."""
    text = query.get("resourceVersion", "") or "0"
    if text.isascii() and text.isdigit():
        return int(text)
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}"'
    why += ": invalid syntax"
    # The API server forgets to say whose fault it is when a watch is asked for.
    raise Refused(500, "", why) if watch else bad_request(f"invalid resource version: {why}")


def _list_errors(query: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    match = query.get(_MATCH, "")
    if match and not query.get("resourceVersion"):
        why = f"{_MATCH} is forbidden unless resourceVersion is provided"
        errors.append(forbidden_field(_MATCH, why))
    if match and query.get("continue"):
        why = f"{_MATCH} is forbidden when continue is provided"
        errors.append(forbidden_field(_MATCH, why))
    if match not in {"", _EXACT, _NOT_OLDER}:
        errors.append(not_supported(_MATCH, match, [_EXACT, _NOT_OLDER, ""]))
    if match == _EXACT and query.get("resourceVersion") == "0":
        why = f'{_MATCH} "exact" is forbidden for resourceVersion "0"'
        errors.append(forbidden_field(_MATCH, why))
    if query.get("sendInitialEvents"):
        errors.append(
            forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    return errors


def _watch_errors(query: Mapping[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    match = query.get(_MATCH, "")
    if query.get("sendInitialEvents"):
        if match != _NOT_OLDER:
            why = f"sendInitialEvents requires setting {_MATCH} to {_NOT_OLDER}"
            errors.append(forbidden_field(_MATCH, why))
    elif match:
        why = f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"
        errors.append(forbidden_field(_MATCH, why))
    if match not in {"", _NOT_OLDER}:
        errors.append(not_supported(_MATCH, match, [_NOT_OLDER]))
    return errors
