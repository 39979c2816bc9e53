# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods that declare their group by metadata alone, and the PodGroup that they call for.

Live members count; if none is live, the others do. The largest minimum counts, so that no member
starts with fewer others than it asks for. If topologies differ, the one of the pod with the largest
minimum counts, else the first.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.client.events import ObjectReference
from enbloc.client.paths import PODS
from enbloc.controller.sources.declared import declaration
from enbloc.controller.sources.derived_groups import FROM_PODS, WantedGroup, reference
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.model.dialects import membership, readable
from enbloc.model.grouped import Grouped
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.wire.auto_groups import JOB
from enbloc.wire.objects import OwnerReference, PodObject, controller_of

Read = Callable[[Mapping[str, str], Mapping[str, str]], Derived | RefusedGroup | None]
"""What labels and annotations of a pod declare; None = nothing."""

#: The most declarations of one group that get an event.
_TOLD: Final = 16
_NEAR: Final = "topology"
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Declaring:
    """A pod, and what it declares.

    Attributes:
        pod: for events about it.
        declared: the PodGroup that it declares, or what is wrong with the declaration.
        owner: its controller; None = it has none.
        live: it is neither finished nor terminating.
    """

    pod: ObjectReference
    declared: Derived | RefusedGroup
    owner: OwnerReference | None
    live: bool


@dataclass(frozen=True, slots=True)
class DeclaredGroup:
    """The result of all declarations of a group.

    Attributes:
        wanted: the PodGroup to make; None = none.
        words: the events to write, each with its pod.
    """

    wanted: WantedGroup | None = None
    words: tuple[tuple[ObjectReference, EventReason, str], ...] = ()


class DeclaringPods:
    """The pods of our schedulers that declare a group, by group.

    Args:
        scheduler_names: our schedulerNames.
        changed: called with each group that changed.
        read: reads the declaration from a pod's metadata.
    """

    def __init__(
        self,
        scheduler_names: Collection[str],
        changed: Callable[[GroupKey], None],
        read: Read = declaration,
    ) -> None:
        self._ours = frozenset(scheduler_names)
        self._changed = changed
        self._read = read
        self._group_of: dict[str, GroupKey] = {}
        self._pods: Grouped[GroupKey, str, Declaring] = Grouped()
        self._outcomes: dict[GroupKey, DeclaredGroup] = {}

    @property
    def groups(self) -> Collection[GroupKey]:
        """The groups that at least one pod declares."""
        return tuple(self._pods)

    def pod_of(self, key: GroupKey) -> ObjectReference | None:
        """The first pod that declares a group, for events; None = none does."""
        return next((each.pod for each in self._pods.get(key, {}).values()), None)

    def put(self, found: PodObject) -> None:
        """Take in a pod that was added or changed."""
        metadata, spec, status = found.metadata, found.spec, found.status
        uid, labels, annotations = metadata.uid, metadata.labels or {}, metadata.annotations or {}
        declared = None
        if spec is not None and spec.scheduler_name in self._ours:
            declared = self._read(labels, annotations)
        if declared is None:
            self.remove(uid)
            return
        native = spec.scheduling_group if spec is not None else None
        name = readable(
            membership(labels, annotations, (native.pod_group_name or "") if native else "")
        ).group
        key = GroupKey(metadata.namespace or "", name)
        if self._group_of.get(uid) != key:
            self.remove(uid)
        if not name:
            return  # the scheduler reports what the pod lacks
        ended = status is not None and status.phase in _FINISHED
        declaring = Declaring(
            ObjectReference(PODS, key.namespace, metadata.name, uid),
            declared,
            controller_of(metadata.owner_references),
            not ended and metadata.deletion_timestamp is None,
        )
        if self._pods.get(key, {}).get(uid) != declaring:
            self._group_of[uid] = key
            self._pods.put(key, uid, declaring)
            self._touch(key)

    def remove(self, uid: str) -> None:
        """Remove a pod that was deleted, or that declares nothing any more."""
        key = self._group_of.pop(uid, None)
        if key is not None:
            self._pods.drop(key, uid)
            self._touch(key)

    def _touch(self, key: GroupKey) -> None:
        self._outcomes.pop(key, None)
        self._changed(key)

    def outcome(self, key: GroupKey) -> DeclaredGroup:
        """The result of all declarations of this group."""
        if key not in self._pods:
            return DeclaredGroup()
        if key not in self._outcomes:
            self._outcomes[key] = outcome(tuple(self._pods[key].values()))
        return self._outcomes[key]


def outcome(pods: Collection[Declaring]) -> DeclaredGroup:
    """The result of the declarations of one group's pods."""
    counted = [each for each in pods if each.live] or pods
    first = _distinct(counted)
    derived = [(each, each.declared) for each in first if isinstance(each.declared, Derived)]
    if not derived:
        return DeclaredGroup(None, tuple(_words(first, {})))
    largest = max((one for _, one in derived), key=lambda one: one.spec["minMember"])
    near = [one.spec[_NEAR] for one in (largest, *(one for _, one in derived)) if _NEAR in one.spec]
    spec = {**largest.spec, _NEAR: near[0]} if near else largest.spec
    owner = _owner(counted)
    wanted = WantedGroup(
        FROM_PODS, spec, () if owner is None else (reference(owner, controller=True),)
    )
    return DeclaredGroup(wanted, tuple(_words(first, spec)))


def _owner(pods: Collection[Declaring]) -> OwnerReference | None:
    """The controller of all the pods, ignoring Jobs such as RayJob's submitter; None = none."""
    owners = {each.owner.uid if each.owner else "": each.owner for each in pods}
    others = {uid: each for uid, each in owners.items() if each is None or each.kind != JOB}
    found = list((others or owners).values())
    return found[0] if len(found) == 1 else None


def _distinct(pods: Collection[Declaring]) -> list[Declaring]:
    """The first pod of each declaration; compared by identity, as siblings share the object."""
    found: dict[int, Declaring] = {}
    for each in pods:
        found.setdefault(id(each.declared), each)
    return list(found.values())


def _words(
    first: list[Declaring], wanted: Mapping[str, Any]
) -> Iterator[tuple[ObjectReference, EventReason, str]]:
    for each in first[:_TOLD]:
        match each.declared:
            case RefusedGroup(problem=problem):
                yield each.pod, EventReason.INVALID_SPEC, problem
            case Derived(spec=spec, ignored=ignored):
                notes = [ignored] if ignored else []
                if spec["minMember"] != wanted["minMember"]:
                    notes.append(
                        f"the pod declares a minimum of {spec['minMember']}, another member of its "
                        f"group one of {wanted['minMember']}, which counts; declare the same on all"
                    )
                if spec.get(_NEAR, wanted.get(_NEAR)) != wanted.get(_NEAR):
                    notes.append(
                        "the pod declares another topology than a member of its group whose "
                        "topology counts; declare the same on all"
                    )
                if notes:
                    yield each.pod, EventReason.UNSUPPORTED_FIELD, "; ".join(notes)
