# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What can be read of the API server's answers about PodGroups, as kopf is given it.

kopf decodes whole objects, by a decoder that gives up on what nests deep, on numbers of thousands
of digits and on much else that a tenant may store or a proxy may send; then no PodGroup is seen
any more. So each answer is read here first, and kopf is given what was understood.
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
#: Where discovery shows PodGroups.
ROOT: Final = f"/apis/{POD_GROUPS.group}/{POD_GROUPS.version}"
#: What kopf has to find by discovery, at each path that it asks: else it watches nothing.
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
    """What of a PodGroup's status is always there, by the CRD; who reconciles relies on it."""

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
        groups: those that can be read.
        others: namespace and name of the others; empty of one that does not even tell that.
    """

    version: int
    more: str
    groups: Sequence[Mapping[str, Any]]
    others: Collection[Key]

    def as_json(self) -> Mapping[str, Any]:
        """The page as the server would have sent it."""
        metadata = {"resourceVersion": str(self.version), "continue": self.more}
        return {"metadata": metadata, "items": list(self.groups)}


def listed(raw: bytes) -> Listed:
    """One page of a list.

    Raises:
        Unreachable: it is none.
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
    """The type of one event of a watch, and what it shows; None = nothing that can be read.

    Raises:
        APIError: the server ends the watch by it, or it is no watch event.
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
    """What a bookmark shows: how far the watch has come."""
    return {"metadata": {"resourceVersion": version}}


def discovered(path: str, raw: bytes) -> Mapping[str, Any]:
    """What discovery shows at this path of what kopf has to know.

    Raises:
        NotFound: it does not show that yet.
        Unreachable: it cannot be read.
    """
    found = readable(_DISCOVERED, raw, "get", path)
    found.groups = [each for each in found.groups if each.name == API_GROUP]
    kinds = [each.name for each in found.resources if {"list", "watch"} <= set(each.verbs)]
    if _NEEDED.get(path) not in {*found.versions, *(each.name for each in found.groups), *kinds}:
        raise not_served()
    return cast("dict[str, Any]", msgspec.to_builtins(found))


def not_served() -> NotFound:
    """Discovery does not show PodGroups."""
    return NotFound("list", LABEL, "discovery does not show it", code=404)


def readable_group(raw: bytes | msgspec.Raw) -> Mapping[str, Any] | None:
    """A PodGroup as JSON, without what nobody here reads; None, and a warning, if it is none."""
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
        _ENCODE(made)  # no number that cannot be written again
    except (*UNREADABLE, OverflowError) as error:
        name = clipped("/".join(filter(None, _identity(raw))), 256) or "without a name"
        log.warning("Ignored a malformed PodGroup %s: %s", name, why(error))
        return None
    return made


def group_version(found: Mapping[str, Any]) -> int:
    """The resourceVersion of a PodGroup; 0 if it is no number."""
    return version_of(found["metadata"].get("resourceVersion"))


def _given(shown: Metadata) -> dict[str, Any]:
    """The fields that are there."""
    fields = cast("dict[str, Any]", msgspec.to_builtins(shown))
    return {name: value for name, value in fields.items() if value is not None}


def _identity(raw: bytes | msgspec.Raw) -> Key:
    """Namespace and name of what may be no PodGroup; empty if it does not tell."""
    try:
        meta = decoded(_IDENTIFIED, raw).metadata
    except UNREADABLE:
        return ("", "")
    return (meta.namespace, meta.name)
