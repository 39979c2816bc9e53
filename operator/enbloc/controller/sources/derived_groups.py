# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Makes, updates and deletes the PodGroups that sources call for.

A PodGroup that somebody else made is left unchanged, and counts for the pods that name it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from enbloc.client.client import Client, PatchType
from enbloc.client.coalescing_writer import CoalescingWriter
from enbloc.client.errors import AlreadyExists, APIError, Conflict, NotFound, Unreachable
from enbloc.client.paths import POD_GROUPS
from enbloc.controller.answers import group_version, readable_group
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.model.groups import GroupKey
from enbloc.model.names import DERIVED_KEY, Condition
from enbloc.telemetry import ActiveProblems
from enbloc.wire import codec
from enbloc.wire.objects import OwnerReference, PodGroupObject

#: The shortest time between two writes of one PodGroup (seconds); the first is immediate.
INTERVAL: Final = 1.0
#: After a conflict, a PodGroup is read and written again at once, at most this many times.
MOST_CONFLICTS: Final = 3
#: The source of a PodGroup that only the metadata of pods declares.
FROM_PODS: Final = "pods"
_CLASS: Final = "priorityClassName"
#: The fields that say how many members are needed.
_SIZES: Final = ("minMember", "roles", "minResources", "minGroupCount", "subGroups")
#: The values that the API server fills in.
_DEFAULTS: Final[Mapping[str, object]] = {"minMember": 1, "onIncomplete": "Repair"}


@dataclass(frozen=True, slots=True)
class WantedGroup:
    """A PodGroup as it should be.

    Attributes:
        source: the label's value: the kind that it is made for, `plural.group`; or FROM_PODS.
        spec: its spec, as JSON.
        owners: its ownerReferences, as JSON.
        after: the PodGroups, also wanted, that must exist before it: until then, their pods would
            count as its own, and be bound one by one once its minimum is bound.
        idle: do not create it; an existing one keeps its minimums.
    """

    source: str
    spec: Mapping[str, Any]
    owners: tuple[Mapping[str, Any], ...]
    after: tuple[GroupKey, ...] = ()
    idle: bool = False

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata, without name and namespace."""
        return {"labels": {DERIVED_KEY: self.source}, "ownerReferences": list(self.owners)}


class DerivedGroups:
    """Keeps the derived PodGroups in step with their sources.

    Args:
        client: may write only while this process is the leader.
        problems: told what keeps PodGroups from being written.
        wanted: the PodGroup that should have this name; None = none.
        outdated: whether a derived PodGroup that is not wanted may be deleted.
        refused: told of a PodGroup that cannot be made or changed as wanted, and why.
    """

    def __init__(
        self,
        client: Client,
        problems: ActiveProblems,
        wanted: Callable[[GroupKey], WantedGroup | None],
        outdated: Callable[[Mapping[str, Any]], bool],
        refused: Callable[[GroupKey, str], None] = lambda _key, _why: None,
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._outdated = outdated
        self._refused = refused
        self._found: dict[GroupKey, Mapping[str, Any]] = {}
        self.writer: Final = CoalescingWriter[GroupKey, None](
            "derived PodGroup",
            self._write,
            problems,
            queue="derived_podgroup",
            parallel=16,
            interval=INTERVAL,
        )

    def found(self, key: GroupKey) -> Mapping[str, Any] | None:
        """The PodGroup of this name as last seen, whoever made it."""
        return self._found.get(key)

    def listed(self, present: Mapping[GroupKey, Mapping[str, Any]], version: int) -> None:
        """Take in the list of all PodGroups at this resourceVersion.

        A known PodGroup no newer than that, and not in the list, was deleted.
        """
        for key in self._found.keys() - present.keys():
            if group_version(self._found[key]) <= version:
                self.gone(key, self._found[key]["metadata"].get("uid"))
        for key in present.keys() - self._found.keys():
            self.seen(key, present[key])

    def seen(self, key: GroupKey, found: Mapping[str, Any]) -> None:
        """Take in a PodGroup from the watch or a reply."""
        self._found[key] = found
        if source_of(found):
            self.review(key)

    def gone(self, key: GroupKey, uid: str) -> None:
        """Take in that a PodGroup was deleted; if it is wanted, it is made again.

        It may be unknown: since its deletion was asked for, a finalizer may have kept it.
        """
        known = self._found.get(key)
        if known is None or known["metadata"].get("uid") == uid:
            self._drop(key)
            self.review(key)

    def _drop(self, key: GroupKey) -> None:
        self._found.pop(key, None)

    def review(self, key: GroupKey) -> None:
        """Compare this PodGroup with the wanted one, and write the difference."""
        found, wanted = self._found.get(key), self._wanted(key)
        if wanted is None and (found is None or not source_of(found)):
            return
        if wanted is not None and found is not None:
            ours = source_of(found) == wanted.source and _made_for(found, wanted)
            for kept in (_kept_class(found, wanted), _kept_tree(found, wanted)) if ours else ():
                if kept:
                    self._refused(key, kept)
            if self._is_as(found, wanted):
                return
        self.writer.put(key, None)

    def _is_as(self, found: Mapping[str, Any], wanted: WantedGroup) -> bool:
        """Whether a PodGroup needs no change, or is not to be changed for this source.

        That of another source is made anew once nothing of that source calls for it any more.
        """
        if source_of(found) in (wanted.source, FROM_PODS):
            return _same(found, wanted)
        return not source_of(found) or not self._outdated(found)

    def review_source(self, source: str) -> None:
        """Review every PodGroup that was made for this source."""
        for key, found in list(self._found.items()):
            if source_of(found) == source:
                self.review(key)

    async def _write(self, key: GroupKey, value: None) -> None:
        """Write the difference; retry on conflicts, as others may write the status meanwhile."""
        for _ in range(MOST_CONFLICTS):
            try:
                return await self._write_once(key, value)
            except Conflict:
                await self._read(key)
        return await self._write_once(key, value)

    async def _read(self, key: GroupKey) -> None:
        """Read a PodGroup by a list: permission to get it is not needed then."""
        named = {"fieldSelector": f"metadata.name={key.name}"}
        async for each in self._client.list(
            POD_GROUPS, key.namespace, query=named, shape=msgspec.Raw
        ):
            self._found[key] = _shown(key, each)

    async def _write_once(self, key: GroupKey, value: None) -> None:
        del value
        found, wanted = self._found.get(key), self._wanted(key)
        if wanted is None:
            if found is not None and source_of(found) and self._outdated(found):
                await self._delete(key, found)
        elif found is None:
            if wanted.idle:  # a minimum for no pods would outlast the start of the next ones
                return
            for other in wanted.after:
                if other not in self._found:
                    await self._write_once(other, None)
            await self._create(key, wanted)
        elif not self._is_as(found, wanted):
            if _made_for(found, wanted):
                await self._change(key, found, wanted)
            else:  # its status is about the members of an object that is gone
                await self._delete(key, found)
                await self._create(key, wanted)

    async def _create(self, key: GroupKey, wanted: WantedGroup) -> None:
        body = {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": key.name, "namespace": key.namespace, **wanted.metadata},
            "spec": wanted.spec,
        }
        try:
            answer = await self._client.create(POD_GROUPS, body, key.namespace, shape=msgspec.Raw)
            self._found[key] = _shown(key, answer)
        except AlreadyExists:
            pass  # the watch will show it, whoever made it
        except APIError as error:
            self._tell(key, "made", error)
            raise

    def _tell(self, key: GroupKey, what: str, error: APIError) -> None:
        """Report why the server rejects a PodGroup, if the reason is this PodGroup itself."""
        if error.of_one_object and not error.namespace_terminating:
            self._refused(key, f"cannot be {what}: {error.message}")

    async def _change(self, key: GroupKey, found: Mapping[str, Any], wanted: WantedGroup) -> None:
        metadata = found["metadata"]
        state = {name: metadata[name] for name in ("uid", "resourceVersion")}
        body = {
            "metadata": {**state, **wanted.metadata},
            "spec": _merge(found.get("spec") or {}, _spec_now(found, wanted)),
        }
        try:
            answer = await self._client.patch(
                POD_GROUPS, key.name, body, key.namespace, kind=PatchType.MERGE, shape=msgspec.Raw
            )
        except APIError as error:
            self._tell(key, "changed as it should be, and stays as it is", error)
            raise
        self._found[key] = _shown(key, answer)

    async def _delete(self, key: GroupKey, found: Mapping[str, Any]) -> None:
        uid = found["metadata"]["uid"]
        with suppress(NotFound):
            await self._client.delete(POD_GROUPS, key.name, key.namespace, uid=uid)
        self._drop(key)


def _shown(key: GroupKey, answer: msgspec.Raw) -> Mapping[str, Any]:
    """The PodGroup in the answer to a write.

    Raises:
        Unreachable: the answer does not hold that PodGroup.
    """
    found = readable_group(answer)
    metadata = found["metadata"] if found is not None else {}
    if found is None or (metadata["namespace"], metadata["name"]) != (key.namespace, key.name):
        text = "unreadable answer: it does not show the PodGroup that was written"
        raise Unreachable("write", POD_GROUPS.label(), text, sent=True)
    return found


_T = TypeVar("_T")


def checked(found: _T) -> _T | RefusedGroup:
    """`found`, or a RefusedGroup with the reason if one of the specs is invalid."""
    seen: Mapping[str, Any] = {}
    for each in found if isinstance(found, tuple) else (found,):
        if not isinstance(each, Derived) or each.spec is seen:
            continue
        seen = each.spec
        problem = _problem(seen)
        if problem:
            return RefusedGroup(
                f"a PodGroup of enbloc cannot be made from it: {problem}", each.name
            )
    return found


def _problem(spec: Mapping[str, Any]) -> str:
    """What the API server or the scheduler would reject in a spec; "" = nothing."""
    # Imported here: the models take 60 ms, and in many clusters no group is made.
    from pydantic import ValidationError  # noqa: PLC0415

    from enbloc.api.podgroup import PodGroupSpec  # noqa: PLC0415

    try:
        PodGroupSpec.model_validate(spec)
        return codec.group(msgspec.convert({"spec": spec}, PodGroupObject)).problem
    except ValidationError as error:
        first = error.errors()[0]
        return f"spec.{'.'.join(map(str, first['loc']))}: {first['msg']}"


def source_of(found: Mapping[str, Any] | None) -> str:
    """The source that a PodGroup was made for; "" = a user made it, or there is no PodGroup."""
    labels = found["metadata"].get("labels") if found is not None else None
    value = labels.get(DERIVED_KEY) if isinstance(labels, dict) else None
    return value if isinstance(value, str) else ""


def _made_for(found: Mapping[str, Any], wanted: WantedGroup) -> bool:
    """Whether a PodGroup is for the same object as the wanted one, or either is from pods alone."""
    declared = FROM_PODS in (source_of(found), wanted.source)
    return declared or made_for(found, wanted.owners[0]["uid"])


def made_for(found: Mapping[str, Any], uid: str) -> bool:
    """Whether a PodGroup was made for this object, or by a user."""
    owners = found["metadata"].get("ownerReferences") or ()
    return not source_of(found) or any(owner.get("uid") == uid for owner in owners)


def reference(owner: OwnerReference, *, controller: bool) -> Mapping[str, Any]:
    """An ownerReference, as JSON."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        **({"controller": True} if controller else {}),
    }


def _same(found: Mapping[str, Any], wanted: WantedGroup) -> bool:
    """Whether a PodGroup of the same source, or from pods, needs no change."""
    if source_of(found) != wanted.source:
        return False  # an object now calls for what only pods declared before
    spec, owners = found.get("spec") or {}, found["metadata"].get("ownerReferences") or []
    now = _spec_now(found, wanted)
    return {**_DEFAULTS, **spec} == {**_DEFAULTS, **now} and owners == list(wanted.owners)


def _spec_now(found: Mapping[str, Any], wanted: WantedGroup) -> Mapping[str, Any]:
    """The wanted spec, with the fields that an existing PodGroup must keep for now."""
    spec: Mapping[str, Any] = found.get("spec") or {}
    now = wanted.spec
    kept: set[str] = set(_SIZES if wanted.idle else ())
    if _kept_class(found, wanted):
        kept.add(_CLASS)
    if _kept_tree(found, wanted):
        kept |= {"subGroups", "minGroupCount", "topology"}  # it may be to move to a sub-group
        now = {**now, "roles": [_with_parent(role, _parents(spec)) for role in now["roles"]]}
    if not kept:
        return now
    others = {name: value for name, value in now.items() if name not in kept}
    return others | {name: spec[name] for name in kept if name in spec}


def _with_parent(role: Mapping[str, Any], parents: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """A role with the parent that the role of the same name has."""
    parent = parents.get(("roles", role["name"]))
    rest = {field: value for field, value in role.items() if field != "parent"}
    return {**rest, "parent": parent} if parent else rest


def _merge(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch from `found` to `wanted`; a field to remove is null."""
    return {
        **dict.fromkeys(found),
        **{
            name: _merge(before, value)
            if isinstance(value, Mapping) and isinstance(before := found.get(name), Mapping)
            else value
            for name, value in wanted.items()
        },
    }


def _kept_class(found: Mapping[str, Any], wanted: WantedGroup) -> str:
    """Why a PodGroup keeps its current priority class; "" = it may change, or does not."""
    before, after = (found.get("spec") or {}).get(_CLASS), wanted.spec.get(_CLASS)
    if before == after or not _scheduled(found):
        return ""
    named = f'"{after}"' if after else "none"
    return f"keeps its priorityClassName while it is scheduled; it is to have {named} after that"


def _kept_tree(found: Mapping[str, Any], wanted: WantedGroup) -> str:
    """Why a PodGroup keeps its current sub-groups; "" = they may change, or no parent does."""
    before, after = _parents(found.get("spec") or {}), _parents(wanted.spec)
    moved = any(before[each] != after[each] for each in before.keys() & after.keys())
    if not moved or not wanted.spec.get("roles") or not _scheduled(found):
        return ""
    return "keeps its sub-groups while it is scheduled; they are to change after that"


def _parents(spec: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """By field and name, the parent of each role and sub-group; "" = none."""
    return {
        (field, each.get("name") or ""): each.get("parent") or ""
        for field in ("roles", "subGroups")
        for each in spec.get(field) or ()
    }


def _scheduled(found: Mapping[str, Any]) -> bool:
    """Whether condition Scheduled is True: it makes some fields immutable. Status is untrusted."""
    status = found.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    return any(
        isinstance(each, Mapping)
        and (each.get("type"), each.get("status")) == (Condition.SCHEDULED, "True")
        for each in (conditions if isinstance(conditions, list) else ())
    )
