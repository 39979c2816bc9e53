# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The PodGroups that a complete set of objects calls for; writes nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from enbloc.client.paths import POD_GROUPS, Resource
from enbloc.controller.sources import SOURCES
from enbloc.controller.sources.declaring_pods import DeclaringPods
from enbloc.controller.sources.derived_groups import WantedGroup, checked
from enbloc.controller.sources.forest import Forest
from enbloc.controller.sources.origins import Origin, owners_of
from enbloc.controller.sources.reading import called_for
from enbloc.controller.sources.source import (
    Derived,
    ObjectKey,
    Part,
    RefusedGroup,
    Source,
    TreeNode,
)
from enbloc.errors import UsageError
from enbloc.model.groups import GroupKey
from enbloc.wire.objects import PodObject

#: The source and its versions, by API group and kind of the object.
_READ: Final[Mapping[tuple[str, str], tuple[Source[Any], tuple[Resource, ...]]]] = {
    (resource.group, resource.kind): (source, source.resources)
    for source in SOURCES
    for resource in source.resources
}
#: API group and kind of the objects that PodGroups are made for.
KINDS: Final = frozenset(_READ)


@dataclass(frozen=True, slots=True)
class CalledFor:
    """What a set of objects calls for.

    Attributes:
        groups: enbloc's PodGroups, as JSON, by key.
        notes: remarks about the objects, one line each.
    """

    groups: Mapping[GroupKey, Mapping[str, Any]]
    notes: Sequence[str]


def called_for_at_once(
    objects: Iterable[Mapping[str, Any]],
    pods: Iterable[PodObject],
    ours: Collection[str],
    schedulers: Callable[[GroupKey], Collection[str]],
) -> CalledFor:
    """The PodGroups that these objects call for, or these pods declare.

    Args:
        objects: with namespace and UID; objects of other kinds than KINDS are skipped.
        pods: all pods that are created with them.
        ours: our schedulerNames.
        schedulers: the schedulerNames of a group's members.

    Raises:
        UsageError: an object cannot be read.
    """
    asked = _Inputs.of([*_origins(objects)], frozenset(ours), schedulers)
    wanted = dict(asked.wanted())
    declaring = DeclaringPods(ours, lambda _: None)
    for pod in pods:
        declaring.put(pod)
    notes = dict.fromkeys(asked.notes())
    for group in declaring.groups:
        outcome = declaring.outcome(group)
        for about, _, text in outcome.words:
            notes[f"Pod {about.namespace}/{about.name}: {text}"] = None
        if outcome.wanted is not None:
            wanted.setdefault(group, outcome.wanted)
    return CalledFor({key: _body(key, each) for key, each in wanted.items()}, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Inputs:
    origins: Mapping[ObjectKey, Origin]
    forest: Forest
    ours: frozenset[str]
    schedulers: Callable[[GroupKey], Collection[str]]

    @classmethod
    def of(
        cls,
        read: Sequence[tuple[Origin, TreeNode | None]],
        ours: frozenset[str],
        schedulers: Callable[[GroupKey], Collection[str]],
    ) -> "_Inputs":
        """Resolve the objects of trees to their place in the tree."""
        forest = Forest()
        for origin, node in read:
            if node is not None:
                forest.put(origin.key, node)
        origins = {
            origin.key: origin
            if node is None
            else replace(origin, found=checked(forest.found(origin.key)))
            for origin, node in read
        }
        return cls(origins, forest, ours, schedulers)

    def wanted(self) -> Iterator[tuple[GroupKey, WantedGroup]]:
        """Each key, with the PodGroup of the first source that calls for one."""
        for source in reversed(SOURCES):
            for origin in self.origins.values():
                if origin.source is not source:
                    continue
                for key, found in origin.derived.items():
                    if self._is_ours(origin, key, found):
                        label = origin.resource.label()
                        yield key, WantedGroup(label, found.spec, tuple(owners_of(origin)))

    def notes(self) -> Iterator[str]:
        """For each object of ours, the fields that have no effect, or why it has no PodGroup."""
        for origin in self.origins.values():
            if not any(self._is_ours(origin, key, None) for key in origin.groups):
                continue
            found = origin.found
            every = found if isinstance(found, tuple) else (found,)
            for each in every:
                said = ""
                if isinstance(each, RefusedGroup | Part):
                    said = each.problem
                if isinstance(each, Derived | Part):
                    said = said or each.ignored
                if said:
                    yield f"{origin.resource.kind} {origin.key.namespace}/{origin.key.name}: {said}"

    def _is_ours(self, origin: Origin, key: GroupKey, found: Derived | None) -> bool:
        return (
            (found is not None and found.always)
            or not self.ours.isdisjoint(origin.source.scheduler_names)
            or any(map(self._has_ours, self._because_of(origin, key)))
        )

    def _because_of(self, origin: Origin, key: GroupKey) -> Iterator[GroupKey]:
        yield from origin.because_of(key)
        for each in self.forest.around(origin.key):
            if (other := self.origins.get(each)) is not None:
                yield from other.groups

    def _has_ours(self, key: GroupKey) -> bool:
        return not self.ours.isdisjoint(self.schedulers(key))


def _origins(
    objects: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[Origin, TreeNode | None]]:
    """The objects that call for PodGroups, each with its node if it is in a tree."""
    for each in objects:
        version = str(each["apiVersion"])
        found_by = _READ.get((version.rpartition("/")[0], each["kind"]))
        if found_by is None:
            continue
        source, resources = found_by
        metadata = each["metadata"]
        try:
            found = msgspec.convert(each, source.shape)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"{each['kind']} {metadata.get('namespace')}/{metadata.get('name')}: {error}"
            ) from None
        same = [resource for resource in resources if resource.api_version == version]
        called = called_for(source, found)
        node, plain = (called, None) if isinstance(called, TreeNode) else (None, called)
        yield Origin(source, (same or resources)[0], source.kept(found), plain), node


def _body(key: GroupKey, wanted: WantedGroup) -> Mapping[str, Any]:
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, **wanted.metadata},
        "spec": wanted.spec,
    }
