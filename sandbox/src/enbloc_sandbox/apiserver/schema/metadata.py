# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Object metadata: names, generated names, times, what a client may and may not set."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from enbloc_sandbox.apiserver.status import FieldError, forbidden_field, required, wrong

Document = Mapping[str, Any]

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_KEY_RULE: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})

#: Kinds whose names are DNS labels, or path segments; all others are DNS subdomains.
_LABEL_NAMED: Final = frozenset({"namespaces", "services"})
_FREE_NAMED: Final = frozenset(
    f"{plural}.rbac.authorization.k8s.io"
    for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
)


def generated(prefix: str) -> str:
    """A name for `generateName`."""
    return prefix[:58] + "".join(secrets.choice(_ALPHABET) for _ in range(5))


def name_rule(storage: str, name: str) -> str:
    """What is wrong with a name, "" for nothing."""
    if storage in _FREE_NAMED:
        bad = name in {".", ".."} or "/" in name or "%" in name
        return "may not be '.' or '..', or contain '/' or '%'" if bad else ""
    if storage in _LABEL_NAMED:
        return label_rule(name)
    if len(name) > 253:
        return "must be no more than 253 bytes"
    return "" if _SUBDOMAIN.fullmatch(name) else _SUBDOMAIN_RULE


def label_rule(text: str) -> str:
    """What is wrong with a DNS label, "" for nothing."""
    if len(text) > 63:
        return "must be no more than 63 bytes"
    return "" if _LABEL.fullmatch(text) else _LABEL_RULE


def check_metadata(storage: str, obj: Document) -> list[FieldError]:
    """The errors of names, labels and annotations."""
    metadata = obj["metadata"]
    errors: list[FieldError] = []
    prefix = metadata.get("generateName", "")
    if prefix and (rule := name_rule(storage, prefix.rstrip("-.") or "-")):
        errors.append(wrong("metadata.generateName", prefix, rule))
    name = metadata.get("name", "")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    elif rule := name_rule(storage, name):
        errors.append(wrong("metadata.name", name, rule))
    errors += check_labels("metadata.labels", metadata.get("labels") or {})
    for i, finalizer in enumerate(metadata.get("finalizers") or ()):
        if "/" not in finalizer and finalizer not in _FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(wrong(f"metadata.finalizers[{i}]", finalizer, detail))
    errors += _check_annotations(metadata.get("annotations") or {})
    errors += _check_owners(metadata.get("ownerReferences") or ())
    return errors


def _check_annotations(annotations: Mapping[str, str]) -> list[FieldError]:
    errors = [
        wrong("metadata.annotations", key, rule)
        for key in annotations
        if (rule := key_rule(key.lower()))
    ]
    if sum(len(key) + len(value) for key, value in annotations.items()) > 256 * 1024:
        detail = "may not be more than 262144 bytes"
        errors.append(FieldError("metadata.annotations", "Too long", detail))
    return errors


def _check_owners(references: Sequence[Mapping[str, str]]) -> list[FieldError]:
    names = {"apiVersion": "version ", "kind": "", "name": "", "uid": ""}
    return [
        wrong(f"metadata.ownerReferences.{key}", "", f"{name}must not be empty")
        for owner in references
        for key, name in names.items()
        if not owner.get(key)
    ]


def check_finalizers(obj: Document, old: Document) -> list[FieldError]:
    """The errors of finalizers that come too late."""
    if "deletionTimestamp" not in old["metadata"]:
        return []
    had = old["metadata"].get("finalizers") or ()
    new = [one for one in obj["metadata"].get("finalizers") or () if one not in had]
    if not new:
        return []
    listed = ", ".join(f'"{one}"' for one in sorted(new))
    return [
        forbidden_field(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{listed}}}",
        )
    ]


def check_labels(field: str, labels: Mapping[str, str]) -> list[FieldError]:
    """The errors of label keys and values."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        if rule := key_rule(key):
            errors.append(wrong(field, key, rule))
        if rule := value_rule(value):
            errors.append(wrong(field, value, rule))
    return errors


def value_rule(value: str) -> str:
    """What is wrong with a label's value, "" for nothing."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    return "" if _VALUE.fullmatch(value) else _VALUE_RULE


def key_rule(key: str) -> str:
    """What is wrong with a qualified name, "" for nothing."""
    prefix, slash, name = key.rpartition("/")
    if slash and not _SUBDOMAIN.fullmatch(prefix):
        return f"prefix part {_SUBDOMAIN_RULE}"
    if len(name) > 63:
        return "name part must be no more than 63 bytes"
    return "" if _QUALIFIED.fullmatch(name) else _KEY_RULE


def with_metadata(obj: Document, **changes: Any) -> dict[str, Any]:
    """A copy of the document with changed metadata; None removes a field."""
    metadata = {**obj["metadata"], **changes}
    for name, value in changes.items():
        if value is None:
            del metadata[name]
    return {**obj, "metadata": metadata}
