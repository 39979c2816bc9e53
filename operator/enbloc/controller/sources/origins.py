# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of sources, and the PodGroups that they call for."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from enbloc.client.events import ObjectReference
from enbloc.client.paths import Resource
from enbloc.controller.sources.derived_groups import reference
from enbloc.controller.sources.source import (
    Derived,
    ObjectKey,
    Part,
    RefusedGroup,
    Source,
    SourceObject,
)
from enbloc.model.groups import GroupKey
from enbloc.wire.objects import OwnerReference, controller_of


@dataclass(frozen=True)
class Origin:
    """An object of a source, and what it calls for."""

    source: Source[Any]
    resource: Resource
    object: SourceObject
    found: Derived | tuple[Derived, ...] | RefusedGroup | Part | None
    #: While it is refused: the PodGroups that it called for before; they stay.
    before: tuple[GroupKey, ...] = ()

    @property
    def key(self) -> ObjectKey:
        """The key of the object."""
        metadata = self.object.metadata
        return ObjectKey(self.source.name, metadata.namespace or "", metadata.name)

    @property
    def part(self) -> Part | None:
        """Its part in the PodGroup of its tree's root; None = it is no part."""
        return self.found if isinstance(self.found, Part) else None

    @cached_property
    def derived(self) -> Mapping[GroupKey, Derived]:
        """The PodGroups that it calls for."""
        if self.found is None or isinstance(self.found, RefusedGroup | Part):
            return {}
        found = (self.found,) if isinstance(self.found, Derived) else self.found
        return {self._key(each.name): each for each in found}

    @cached_property
    def groups(self) -> tuple[GroupKey, ...]:
        """Their keys; while it calls for none, the one that its pods wait for."""
        if self.part is not None and self.part.composite:
            return (self._key(self.part.group),)
        refused = self.found.name if isinstance(self.found, RefusedGroup) else ""
        return tuple(self.derived) or self.before or (self._key(refused),)

    @property
    def group(self) -> GroupKey:
        """The PodGroup that its status reports: the first, or the one that it is a part of."""
        return self.groups[0] if self.part is None else self._key(self.part.group)

    @cached_property
    def beside(self) -> Mapping[GroupKey, Sequence[GroupKey]]:
        """The PodGroups that are made because of another one's members, by that one."""
        if self.part is not None:
            return {key: [self.group] for key in self.groups}
        beside = defaultdict[GroupKey, list[GroupKey]](list)
        for key, found in self.derived.items():
            if found.beside:
                beside[self._key(found.beside)].append(key)
        return beside

    def because_of(self, key: GroupKey) -> tuple[GroupKey, ...]:
        """The groups whose members cause this PodGroup of the object to be made."""
        found = self.derived.get(key)
        return (key, self._key(found.beside)) if found is not None and found.beside else (key,)

    def _key(self, name: str) -> GroupKey:
        metadata = self.object.metadata
        return GroupKey(metadata.namespace or "", name or metadata.name)


def regarding(origin: Origin) -> ObjectReference:
    """The object, for events about it."""
    metadata = origin.object.metadata
    return ObjectReference(origin.resource, metadata.namespace or "", metadata.name, metadata.uid)


def owners_of(origin: Origin) -> Iterator[Mapping[str, Any]]:
    """The ownerReferences of its PodGroup: the object itself, and the object's controller.

    The PodGroup is deleted with the object. A single owner counts as the controller even if not
    marked so, as clients that make PodGroups often omit the mark. The controller tells one run of
    a group from the next (semantics §2.4).
    """
    metadata = origin.object.metadata
    mine = OwnerReference(
        origin.resource.api_version, origin.resource.kind, metadata.name, metadata.uid
    )
    yield reference(mine, controller=origin.source.controls)
    if origin.source.controls:
        return
    owners = metadata.owner_references or ()
    above = controller_of(owners)
    if above is None and len(owners) == 1:
        [above] = owners
    if above is not None and above.uid:
        yield reference(above, controller=True)
