# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the fields of manifests by type; an error names the path and the fix."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from enbloc.errors import UsageError
from enbloc.model.text import clipped, quoted

_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_AT: Final = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<path>.*)`)?", re.DOTALL)


class Fields(msgspec.Struct, gc=False, rename="camel"):
    """The base of types for manifests: camelCase names; unknown fields are skipped."""


class OwnerFields(Fields):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class MetadataFields(Fields):
    """`metadata` of an object, or of a pod template."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerFields, ...] | None = None


class Named(Fields):
    """An object, with its metadata only."""

    metadata: MetadataFields


class PodFields(Fields):
    """A Pod, with its spec as given."""

    spec: dict[str, Any]


class Template(Fields):
    """`template` of pods, with its spec as given."""

    spec: dict[str, Any]
    metadata: MetadataFields | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pods."""
        return (self.metadata.labels if self.metadata is not None else None) or {}

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the pods."""
        return (self.metadata.annotations if self.metadata is not None else None) or {}


T = TypeVar("T")


def read(value: Any, shape: type[T], where: str) -> T:
    """Read a part of a manifest as this type.

    Args:
        value: as JSON.
        shape: the type to read it as.
        where: its path, for messages.

    Raises:
        UsageError: a field is missing or has another type; the message has its path.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_said(str(error))}") from None


def _said(text: str) -> str:
    """Path and problem: "spec.replicas: Expected `int`, got `str`"."""
    found = _AT.fullmatch(text)
    what, path = (found["what"], found["path"] or "") if found is not None else (text, "")
    if (missing := _MISSING.fullmatch(what)) is not None:
        path, what = ".".join(filter(None, (path, missing[1]))), "is missing; write it"
    return clipped(f"{path}: {what.replace('`', '')}" if path else what.replace("`", ""))


def count(given: int | None, field: str, where: str, default: int = 1) -> int:
    """A number of pods, or of objects that make pods.

    Args:
        given: the number in the manifest; None = not set.
        field: its path, for messages.
        where: the object, for messages.
        default: the number if not set.

    Raises:
        UsageError: it is negative.
    """
    number = default if given is None else given
    if number < 0:
        raise UsageError(f"{where}: {field}: {number} is negative; write 0 or more")
    return number


def one_of(text: str, known: Mapping[str, Any], field: str, where: str) -> None:
    """Check that a field names one of these.

    Raises:
        UsageError: it names another one.
    """
    if text not in known:
        names = ", ".join(sorted(known)) or "none"
        raise UsageError(f"{where}: {field}: {quoted(text)} not found; there is {names}")
