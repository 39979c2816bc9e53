# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A source: a kind of object that enbloc makes PodGroups for, and what is reported back to it.

Other projects' PodGroups are sources, and so are workloads whose pods are to be a gang. A source is
three pure functions; `follow.py` watches and writes.
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
#: The most PodGroups made for one object: a few bytes may ask for billions.
MOST_GROUPS: Final = 1024
#: The longest schedule timeout that a PodGroup takes (seconds).
LONGEST_TIMEOUT: Final = 86_400

_LONGEST_LABEL: Final = 63
_HASHED: Final = 8
_NO_STATUS: Final = msgspec.Raw(b"{}")
_STATUS: Final = msgspec.json.Decoder(dict[str, Any]).decode


def misnamed(name: str) -> str:
    """Why a name cannot be that of a role; "" = it can."""
    if LABEL.fullmatch(name):
        return ""
    return f'{quoted(name)} is not a name of at most 63 small letters, digits and "-"'


def label(name: str) -> str:
    """The role's or sub-group's name for an object: its own name if valid, else one with a hash."""
    if LABEL.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_HASHED]
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{plain[: _LONGEST_LABEL - _HASHED - 1]}-{digest}".lstrip("-")


def topology_of(near: Mapping[str, Any]) -> dict[str, Any]:
    """The field `topology` of a PodGroup, or of a part of one; omitted if it would be empty."""
    return {"topology": near} if near else {}


class SourceObject(msgspec.Struct, gc=False, rename="camel"):
    """The base of the objects that sources read: metadata, and the current status.

    Attributes:
        raw_status: undecoded: a tenant may write anything, and decoded it takes ten times the
            memory.
    """

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    raw_status: msgspec.Raw = msgspec.field(default=_NO_STATUS, name="status")

    def __post_init__(self) -> None:
        """Copy the status, so as not to keep the whole page of the list in memory."""
        self.raw_status = self.raw_status.copy()

    @property
    def status(self) -> Mapping[str, Any]:
        """The status, decoded at each call; empty if it is no object."""
        try:
            return decoded(_STATUS, self.raw_status)
        except UNREADABLE:
            return {}


T = TypeVar("T", bound=SourceObject)


@dataclass(frozen=True, slots=True)
class Derived:
    """The PodGroup that an object calls for.

    Attributes:
        spec: the PodGroup's spec, as JSON.
        name: of the PodGroup; "" = the object's own.
        always: it is made even while none of its pods names a scheduler of ours.
        ignored: which fields of the object have no effect, for an event on it; "" = none.
        beside: the PodGroup of the same object that it is made together with, before it has pods
            of its own; "" = none.
        idle: the object wants no pods now, so an existing PodGroup stays unchanged: the next pods
            may exist before their minimum is written (semantics §2.5).
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
        name: of the (first) PodGroup that its pods wait for; "" = the object's own.
        keeps: an existing PodGroup stays unchanged: a gang that has started is not given up
            because a part of the object is gone.
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
    """An object's node in a tree; one PodGroup is made for the whole tree (`forest.py`).

    Attributes:
        above: the source of its possible parents.
        parent: the name of the composite above it; "" = it is the root.
        composite: other objects name it as their parent; else its pods name it.
        minimum: how many of its children, or of its pods, are needed.
        uid: of the object.
        created: its creationTimestamp, as the API server writes it.
        group: for a composite, the name of the PodGroup that is made if it is the root.
        spec: the fields of that PodGroup besides the tree, as JSON.
        near: the `topology` of its role or sub-group; the root's is in `spec`.
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
        """Whether it is the root, which the PodGroup is made for."""
        return self.composite and not self.parent


#: What an object calls for: a PodGroup or several, its node in a tree, or why there can be no
#: PodGroup; None = nothing.
Called = Derived | tuple[Derived, ...] | RefusedGroup | TreeNode | None


@dataclass(frozen=True, slots=True)
class Part:
    """An object that is a part of another object's PodGroup, that of the root of its tree.

    Attributes:
        group: the name of the PodGroup.
        node: the role of its pods in that PodGroup, or the sub-group that it is.
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
    """The state of a PodGroup, for the report to its source.

    Attributes:
        group: None = it does not exist yet.
        status: its current status, both writers' parts.
        members: its pods, live or not.
        now: server time, seconds since the epoch.
        version: the API version in which the object was read.
        ours: a member names a scheduler of ours.
        part: the object's part in the PodGroup; None = it is made for this object.
        problem: why no PodGroup can be made; "" = it can. Only for sources that
            `answers_refusals`.
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
        """Whether the object's part of the PodGroup has its minimum bound."""
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
        """One of its conditions; empty = it is absent."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == kind:
                return condition
        return {}

    @property
    def scheduled(self) -> bool:
        """Whether its minimum is bound."""
        return self.condition(Condition.SCHEDULED).get("status") == "True"

    @property
    def reason(self) -> str:
        """Its state in one word, the reason of condition Ready; "" = not written yet."""
        return str(self.condition(Condition.READY).get("reason", ""))


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """A kind of object for which PodGroups are made.

    Attributes:
        name: of the project, for messages.
        resources: its versions, the preferred one first; the first that is served is read.
        shape: the type to read an object as.
        derive: returns what an object calls for.
        report: returns what the object's `status` should hold, as a JSON merge patch of the status;
            None = nothing is written. Lists are replaced whole, if the object has not changed since
            it was read.
        subresource: where the status is written; "" = the kind has no status subresource.
        scheduler_names: that project's schedulerNames. A process that serves one of them reports to
            the objects even before a pod names a scheduler of ours.
        controls: its objects control the pods, and so the PodGroups too: later pods of theirs, from
            another controller of theirs, are of the same gang (semantics §2.4).
        beside: cluster-scoped objects that its clients look for, each with its resource; a process
            that serves one of `scheduler_names` creates the missing ones.
        in_trees: its objects may be in trees; one PodGroup is made for each tree.
        answers_refusals: `report` also tells its objects why no PodGroup can be made.
    """

    name: str
    resources: tuple[Resource, ...]
    shape: type[T]
    derive: Callable[[T], Called]
    report: Callable[[T, GroupView], Mapping[str, Any] | None] | None = None
    subresource: str = "status"
    scheduler_names: frozenset[str] = frozenset()
    controls: bool = False
    beside: tuple[tuple[Resource, Mapping[str, Any]], ...] = ()
    in_trees: bool = False
    answers_refusals: bool = False

    def kept(self, found: T) -> SourceObject:
        """The part of an object that is kept once it is read: templates may take megabytes."""
        return found if self.report is not None else SourceObject(found.metadata)
