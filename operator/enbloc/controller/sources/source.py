# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A source: a kind of object for which a PodGroup of ours is made, and what it is told in return.

Other projects' PodGroups are sources, and so are workloads whose pods are to be a gang. A source is
three pure functions; who watches and writes is `follow.py`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from enbloc.client.decoding import UNREADABLE, decoded
from enbloc.client.paths import Resource
from enbloc.controller.members import Member
from enbloc.model.dns_names import LABEL
from enbloc.model.groups import Group
from enbloc.model.names import Condition
from enbloc.model.text import quoted
from enbloc.wire.objects import Metadata

#: The largest minimum that a PodGroup takes.
LARGEST: Final = 100_000
#: The most roles that a PodGroup takes.
MOST_ROLES: Final = 16
#: The most levels of slices that a PodGroup takes.
MOST_SLICES: Final = 4
#: So many PodGroups are made for one object: anybody may ask for billions in a few bytes.
MOST_GROUPS: Final = 1024
#: The longest schedule timeout that a PodGroup takes (seconds).
LONGEST_TIMEOUT: Final = 86_400

_LONGEST_LABEL: Final = 63
_HASHED: Final = 8
_NO_STATUS: Final = msgspec.Raw(b"{}")
_STATUS: Final = msgspec.json.Decoder(dict[str, Any]).decode


def misnamed(name: str) -> str:
    """What is wrong with the name of a role; "" = nothing."""
    if LABEL.fullmatch(name):
        return ""
    return f'{quoted(name)} is not a name of at most 63 small letters, digits and "-"'


def label(name: str) -> str:
    """The role or sub-group for an object of that name: the name, where that can be one."""
    if LABEL.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASHED]
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{plain[: _LONGEST_LABEL - _HASHED - 1]}-{digest}".lstrip("-")


def topology_of(near: Mapping[str, Any]) -> dict[str, Any]:
    """The field `topology` of a PodGroup, or of a part of one; none where it would say nothing."""
    return {"topology": near} if near else {}


class SourceObject(msgspec.Struct, gc=False, rename="camel"):
    """The base of what sources read: metadata, and the status as it stands.

    Attributes:
        raw_status: as it was sent: a tenant may write any, and read it takes ten times the memory.
    """

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    raw_status: msgspec.Raw = msgspec.field(default=_NO_STATUS, name="status")

    def __post_init__(self) -> None:
        """Hold on to the status alone, and not to the page of a list in which it was sent."""
        self.raw_status = self.raw_status.copy()

    @property
    def status(self) -> Mapping[str, Any]:
        """It, read anew each time; empty if it is no object."""
        try:
            return decoded(_STATUS, self.raw_status)
        except UNREADABLE:
            return {}


T = TypeVar("T", bound=SourceObject)


@dataclass(frozen=True, slots=True)
class Derived:
    """The PodGroup that an object calls for.

    Attributes:
        spec: of our kind, as JSON.
        name: of the PodGroup; "" = the object's own.
        always: it is made even while none of its pods names a scheduler of ours.
        ignored: which fields of the object have no effect, for an event on it; "" = none.
        beside: the PodGroup of the same object with which it is made, before it has pods of its
            own; "" = none.
        idle: it wants no pods now, so a PodGroup that was made stays as it is: its next pods may be
            there before their minimum is (semantics §2.5).
    """

    spec: Mapping[str, Any]
    name: str = ""
    always: bool = False
    ignored: str = ""
    beside: str = ""
    idle: bool = False


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """Why no PodGroup can be made for an object.

    Attributes:
        problem: the field and the fix, for an event on the object.
        name: of the PodGroup, or of the first, for which its pods wait; "" = the object's own.
        keeps: one that was made before stays as it is: what was started is not given up because
            a part of the object is gone.
    """

    problem: str
    name: str = ""
    keeps: bool = False


class ObjectKey(NamedTuple):
    """An object of a source; `str` names it."""

    source: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.source} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class TreeNode:
    """What an object is in a tree, of which one PodGroup is made (`forest.py`).

    Attributes:
        above: the source of what can be above it.
        parent: the name of the composite above it; "" = it is the root.
        composite: others name it as their parent; else its pods name it.
        minimum: of its children, or of its pods.
        uid: of the object.
        created: its creationTimestamp, as the API server writes it.
        group: of a composite, the name of the PodGroup that is made for it if it is the root.
        spec: what that PodGroup has beside the tree, as JSON.
        near: the `topology` of the role or sub-group that it is; the root's is in `spec`.
        ignored: which fields of the object have no effect; "" = none.
    """

    above: str
    parent: str
    composite: bool
    minimum: int
    uid: str = ""
    created: str = ""
    group: str = ""
    spec: Mapping[str, Any] = field(default_factory=dict[str, Any])
    near: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored: str = ""

    @property
    def root(self) -> bool:
        """The PodGroup is made for it."""
        return self.composite and not self.parent


@dataclass(frozen=True, slots=True)
class Part:
    """An object that is a part of the PodGroup that is made for another one, the root of its tree.

    Attributes:
        group: the name of the PodGroup.
        node: the role that its pods have there, or the sub-group that it is.
        composite: it is a sub-group.
        root: UID of the root.
        problem: why there is no such PodGroup, or it has no such part; "" = it has.
        ignored: which fields of the object have no effect; "" = none.
    """

    group: str
    node: str
    composite: bool
    root: str = ""
    problem: str = ""
    ignored: str = ""


@dataclass(frozen=True, slots=True)
class GroupView:
    """What is known of a PodGroup, for the report to its source.

    Attributes:
        group: None = it does not exist yet.
        status: its status as it stands, both writers' parts.
        members: the pods that name it, live or not.
        now: server time, seconds since the epoch.
        version: of the API in which the object was read.
        ours: a member names a scheduler of ours.
        part: what the object is of the PodGroup; None = it is made for this object.
        problem: why none can be made; "" = it can be. Only who `answers_refusals` is told.
    """

    group: Group | None = None
    status: Mapping[str, Any] = field(default_factory=dict[str, Any])
    members: Collection[Member] = ()
    now: float = 0.0
    version: str = ""
    ours: bool = False
    part: Part | None = None
    problem: str = ""

    @property
    def whole(self) -> bool:
        """The part of the PodGroup that the object is has its minimum bound."""
        part, group = self.part, self.group
        if part is None or group is None:
            return self.scheduled
        counts = Counter[str]()
        for role in self.status.get("roles") or ():
            counts[role["name"]] = role.get("scheduled", 0) + role.get("succeeded", 0)
        whole = {role.name for role in group.roles if counts[role.name] >= role.min_member}
        if not part.composite:
            return part.node in whole
        if group.tree is None:  # every part is needed
            return self.scheduled
        nodes = {node.name: node for node in group.tree.nodes()}
        return part.node in nodes and nodes[part.node].holds(whole.__contains__)

    def condition(self, kind: Condition) -> Mapping[str, Any]:
        """One of its conditions; empty = it does not have it."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == kind:
                return condition
        return {}

    @property
    def scheduled(self) -> bool:
        """Its minimum is bound."""
        return self.condition(Condition.SCHEDULED).get("status") == "True"

    @property
    def reason(self) -> str:
        """Its state in one word, the reason of condition Ready; "" = nobody has said it."""
        return str(self.condition(Condition.READY).get("reason", ""))


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """A kind of object for which PodGroups are made.

    Attributes:
        name: of the project, for messages.
        resources: its versions, the preferred one first; the first that is served is read.
        shape: the type to read an object as.
        derive: the PodGroup that an object calls for, or several, or what it is in a tree;
            None = none.
        report: what its `status` should hold, as a JSON merge patch of the status; None = nothing
            is written. Lists are replaced whole, if the object is still as it was read.
        subresource: where the status is written; "" = the kind has no such subresource.
        scheduler_names: whoever serves one of these takes that project's scheduler's place, and so
            answers its objects even before a pod names a scheduler of ours.
        controls: its objects control the pods, and so the PodGroups too: pods of theirs that come
            later, from another controller of theirs, are of the same gang (semantics §2.4).
        beside: cluster-scoped objects that its clients look for, each with its resource; who takes
            that scheduler's place makes those that are not there.
        in_trees: its objects may be in trees, of which one PodGroup is made.
        answers_refusals: its objects are told by `report` too why no PodGroup can be made.
    """

    name: str
    resources: tuple[Resource, ...]
    shape: type[T]
    derive: Callable[[T], Derived | tuple[Derived, ...] | RefusedGroup | TreeNode | None]
    report: Callable[[T, GroupView], Mapping[str, Any] | None] | None = None
    subresource: str = "status"
    scheduler_names: frozenset[str] = frozenset()
    controls: bool = False
    beside: tuple[tuple[Resource, Mapping[str, Any]], ...] = ()
    in_trees: bool = False
    answers_refusals: bool = False

    def kept(self, found: T) -> SourceObject:
        """What of an object is kept once it is read: templates may take megabytes."""
        return found if self.report is not None else SourceObject(found.metadata)
