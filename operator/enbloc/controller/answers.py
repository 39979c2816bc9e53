# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the API server's answers about PodGroups, and gives kopf what is readable of them.

kopf decodes whole objects, by a decoder that fails on deep nesting, on numbers of thousands of
digits and on much else that a tenant may store or a proxy may send; after that it sees no PodGroup
any more. So each answer is read here first, and kopf gets only what was understood.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from enbloc.client.decoding import UNREADABLE, decoded, why
from enbloc.client.errors import NotFound, from_status, readable
from enbloc.client.items import Identified, ListObject
from enbloc.client.paths import POD_GROUPS
from enbloc.client.probe import Key
from enbloc.client.reflector import CHANGES
from enbloc.model.names import API_GROUP
from enbloc.model.text import clipped, quoted
from enbloc.model.versions import version_of
from enbloc.wire.objects import Metadata, PodGroupObject

LABEL: Final = POD_GROUPS.label()
#: The path at which discovery shows PodGroups.
ROOT: Final = f"/apis/{POD_GROUPS.group}/{POD_GROUPS.version}"
#: What kopf must find by discovery at each path that it asks for; otherwise it watches nothing.
_NEEDED: Final = {
    "/api": "v1",
    "/api/v1": "namespaces",
    "/apis": API_GROUP,
    ROOT: POD_GROUPS.plural,
}

log = logging.getLogger(__name__)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_Version]
    preferred_version: _Version


class _Resource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    verbs: list[str]
    singular_name: str = ""


class _Discovered(msgspec.Struct, omit_defaults=True):
    versions: list[str] = []
    groups: list[_Group] = []
    resources: list[_Resource] = []


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str


class _Role(msgspec.Struct):
    name: str


class _WholeStatus(msgspec.Struct):
    conditions: tuple[_Condition, ...] | None = None
    roles: tuple[_Role, ...] | None = None


class WholeGroup(msgspec.Struct):
    """The status fields that the CRD requires; `reconcile` relies on them."""

    status: _WholeStatus | None = None


_PAGE: Final = msgspec.json.Decoder(ListObject[msgspec.Raw]).decode
_EVENT: Final = msgspec.json.Decoder(_Event).decode
_STATUS: Final = msgspec.json.Decoder(dict[str, Any]).decode
_DISCOVERED: Final = msgspec.json.Decoder(_Discovered).decode
_GROUP: Final = msgspec.json.Decoder(PodGroupObject).decode
_WHOLE: Final = msgspec.json.Decoder(WholeGroup).decode
_IDENTIFIED: Final = msgspec.json.Decoder(Identified).decode
_ANY: Final = msgspec.json.Decoder(dict[str, Any]).decode
_ENCODE: Final = msgspec.json.Encoder().encode


class Listed(NamedTuple):
    """One page of PodGroups.

    Attributes:
        version: the resourceVersion of the list.
        more: the continue token; "" = this is the last page.
        groups: the readable PodGroups.
        others: namespace and name of the unreadable ones; empty strings if those are unreadable.
    """

    version: int
    more: str
    groups: Sequence[Mapping[str, Any]]
    others: Collection[Key]

    def as_json(self) -> Mapping[str, Any]:
        """The page with the readable PodGroups, as the server would have sent it."""
        metadata = {"resourceVersion": str(self.version), "continue": self.more}
        return {"metadata": metadata, "items": list(self.groups)}


def listed(raw: bytes) -> Listed:
    """Read one page of a list.

    Raises:
        Unreachable: it is no such page.
    """
    page = readable(_PAGE, raw, "list", LABEL)
    groups, others = list[Mapping[str, Any]](), list[Key]()
    for item in page.items or ():
        group = readable_group(item)
        if group is None:
            others.append(_identity(item))
        else:
            groups.append(group)
    return Listed(page.version, page.metadata.more, groups, others)


def watched(line: bytes) -> tuple[str, Mapping[str, Any] | None]:
    """The type of one watch event, and its object; None = the object cannot be read.

    Raises:
        APIError: the event ends the watch, or is no watch event.
    """
    event = readable(_EVENT, line, "watch", LABEL)
    if event.type in CHANGES:
        return event.type, readable_group(event.object)
    if event.type == "BOOKMARK":
        meta = readable(_IDENTIFIED, event.object, "watch", LABEL).metadata
        return event.type, progress(meta.resource_version) if meta.version else None
    if event.type == "ERROR":
        try:
            status = decoded(_STATUS, event.object)
        except UNREADABLE:
            status = {}
        code = status.get("code")
        raise from_status("watch", LABEL, code if isinstance(code, int) else 500, status)
    log.warning("Ignored a watch event of the unknown type %s of %s", quoted(event.type), LABEL)
    return event.type, None


def event_line(kind: str, shown: Mapping[str, Any]) -> bytes:
    """A line of a watch."""
    return _ENCODE({"type": kind, "object": shown}) + b"\n"


def progress(version: str) -> Mapping[str, Any]:
    """The object of a bookmark: the resourceVersion that the watch has reached."""
    return {"metadata": {"resourceVersion": version}}


def discovered(path: str, raw: bytes) -> Mapping[str, Any]:
    """The part of discovery at this path that kopf needs.

    Raises:
        NotFound: discovery does not show it yet.
        Unreachable: the answer cannot be read.
    """
    found = readable(_DISCOVERED, raw, "get", path)
    found.groups = [each for each in found.groups if each.name == API_GROUP]
    kinds = [each.name for each in found.resources if {"list", "watch"} <= set(each.verbs)]
    if _NEEDED.get(path) not in {*found.versions, *(each.name for each in found.groups), *kinds}:
        raise not_served()
    return cast("dict[str, Any]", msgspec.to_builtins(found))


def not_served() -> NotFound:
    """The error for discovery that does not show PodGroups."""
    return NotFound("list", LABEL, "discovery does not show it", code=404)


def readable_group(raw: bytes | msgspec.Raw) -> Mapping[str, Any] | None:
    """A PodGroup as JSON, with the fields used here; None, and a warning, if it is malformed."""
    try:
        decoded(_WHOLE, raw)
        shown, found = decoded(_GROUP, raw), decoded(_ANY, raw)
        metadata = _given(shown.metadata)
        missing = [name for name in ("name", "namespace", "uid") if not metadata.get(name)]
        if missing:
            raise msgspec.ValidationError(f"metadata.{missing[0]}: missing")
        made = {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": metadata,
            **{part: found[part] for part in ("spec", "status") if found.get(part)},
        }
        _ENCODE(made)  # fails on a number that cannot be encoded
    except (*UNREADABLE, OverflowError) as error:
        name = clipped("/".join(filter(None, _identity(raw))), 256) or "without a name"
        log.warning("Ignored a malformed PodGroup %s: %s", name, why(error))
        return None
    return made


def group_version(found: Mapping[str, Any]) -> int:
    """The resourceVersion of a PodGroup; 0 if it is not a number."""
    return version_of(found["metadata"].get("resourceVersion"))


def _given(shown: Metadata) -> dict[str, Any]:
    """The fields of the metadata that are set."""
    fields = cast("dict[str, Any]", msgspec.to_builtins(shown))
    return {name: value for name, value in fields.items() if value is not None}


def _identity(raw: bytes | msgspec.Raw) -> Key:
    """Namespace and name of a malformed PodGroup; empty strings if those are unreadable."""
    try:
        meta = decoded(_IDENTIFIED, raw).metadata
    except UNREADABLE:
        return ("", "")
    return (meta.namespace, meta.name)
