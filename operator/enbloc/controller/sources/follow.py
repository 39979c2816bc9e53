# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Follows all sources: reads their objects, and writes PodGroups and the objects' own status.

::

    objects of a source ──reflector──► derive() ──► DerivedGroups ──► PodGroups of ours
            ▲                                                             │ kopf
            └──────── status ◄──── report() ◄── members, status ◄─────────┘

    pods that declare a group ──► DeclaringPods ──► DerivedGroups
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import msgspec
from cachetools import LRUCache

from enbloc.client.backoff import Backoff
from enbloc.client.client import Client, PatchType
from enbloc.client.coalescing_writer import CoalescingWriter
from enbloc.client.discovery import first_served, until_changed
from enbloc.client.errors import AlreadyExists, APIError, NotFound
from enbloc.client.events import Notice, ObjectReference, Recorder
from enbloc.client.items import Deleted, Malformed, Meta, Seen, Synced
from enbloc.client.paths import Resource
from enbloc.client.reflector import Reflector
from enbloc.controller.creators import Creator
from enbloc.controller.members import Members
from enbloc.controller.sources.declared import declaration
from enbloc.controller.sources.declaring_pods import DeclaringPods, Read
from enbloc.controller.sources.derived_groups import (
    FROM_PODS,
    DerivedGroups,
    WantedGroup,
    checked,
    made_for,
    source_of,
)
from enbloc.controller.sources.ends import ENDS, end_of
from enbloc.controller.sources.forest import Forest
from enbloc.controller.sources.origins import Origin, owners_of, regarding
from enbloc.controller.sources.reading import called_for, fault, guarded
from enbloc.controller.sources.source import (
    Derived,
    GroupView,
    ObjectKey,
    Part,
    RefusedGroup,
    Source,
    SourceObject,
    TreeNode,
)
from enbloc.controller.sources.waits import Waits, notice
from enbloc.model import names
from enbloc.model.grouped import Index
from enbloc.model.groups import GroupKey
from enbloc.model.text import clipped
from enbloc.model.times import seconds_of
from enbloc.telemetry import ActiveProblems
from enbloc.wire import codec
from enbloc.wire.objects import Metadata, PodGroupObject

log = logging.getLogger(__name__)

#: The shortest time between two reports to one object (seconds).
INTERVAL: Final = 1.0
#: A kind not served for this long is gone, and its PodGroups are deleted (seconds).
ABSENT_SECONDS: Final = 60.0
#: For how many objects the last event about a problem is remembered.
TOLD: Final = 4096


class Sources:
    """Makes PodGroups for the objects of these sources, and reports back into their status.

    Args:
        client: the API.
        writer: the API; may write only while this process is the leader.
        sources: in order of precedence, if several call for a PodGroup of one name.
        members: the pods, by group; told which workloads ended.
        ask: called with each group whose workload ended, or goes on after all.
        problems: told what keeps objects from being written.
        recorder: writes events on objects that cannot be followed.
        now: server time, seconds since the epoch.
        scheduler_names: our schedulerNames.
        read: reads the declaration from a pod's metadata.
    """

    def __init__(  # noqa: PLR0913  # what it reads, and what it writes by
        self,
        client: Client,
        writer: Client,
        sources: Sequence[Source[Any]],
        *,
        members: Members,
        ask: Callable[[GroupKey], None],
        problems: ActiveProblems,
        recorder: Recorder,
        now: Callable[[], float],
        scheduler_names: Collection[str],
        read: Read = declaration,
    ) -> None:
        self._client = client
        self._writer = writer
        self._sources = sources
        self._members = members
        self._ask_for = ask
        self._recorder = recorder
        self._now = now
        self._ours = frozenset(scheduler_names)
        self._origins: dict[ObjectKey, Origin] = {}
        self._called: Index[GroupKey, ObjectKey] = Index()
        self._listed: set[str] = set()
        self._forest: Final = Forest()
        self._growing = {each.resources[0].label() for each in sources if each.in_trees}
        self._told: LRUCache[tuple[str, str, str], str] = LRUCache(TOLD)
        self._was_ours: LRUCache[str, None] = LRUCache(TOLD)  # by UID
        self._waits = Waits()
        #: What keeps sources from being read; it does not affect readiness.
        self._unread = ActiveProblems()
        self.derived: Final = DerivedGroups(
            writer, problems, self._wanted, self._outdated, self._not_as_wanted
        )
        self.declaring: Final = DeclaringPods(scheduler_names, self._declared, guarded(read))
        self._leading = False
        self.reports: Final = CoalescingWriter[ObjectKey, None](
            "source status",
            self._report,
            problems,
            queue="source_status",
            parallel=16,
            interval=INTERVAL,
            rejected=self._not_told,
        )

    async def run(self) -> None:
        """Follow all sources until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for source in self._sources:
                tasks.create_task(self._follow(source), name=f"follow {source.name}")

    async def finish(self, seconds: float) -> None:
        """Write what is waiting within `seconds`, and give up the rest."""
        await asyncio.gather(self.derived.writer.finish(seconds), self.reports.finish(seconds))

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def listed(self, found: Mapping[GroupKey, Mapping[str, Any]], version: int) -> None:
        """Take in all PodGroups at this resourceVersion; from now on, pods may declare others."""
        self.derived.listed(found, version)
        self._leading = True
        for key in self.declaring.groups:
            self._declared(key)

    def group_seen(self, found: Mapping[str, Any]) -> None:
        """Take in a PodGroup from the watch."""
        key = _key(found)
        self.derived.seen(key, found)
        self._ask(key)
        self._tell_of_wait(key, found)

    def group_gone(self, found: Mapping[str, Any]) -> None:
        """Take in that a PodGroup was deleted."""
        key = _key(found)
        self.derived.gone(key, str(found["metadata"].get("uid")))
        self._ask(key)

    def touched(self, key: GroupKey) -> None:
        """Review a group whose members were added, changed or removed."""
        if key in self._called:
            self.derived.review(key)
            self._ask(key)
            for each in self._called[key]:
                for other in self._origins[each].beside.get(key, ()):
                    if self.derived.found(other) is None:
                        self.derived.review(other)
        elif not self._members.of(key):
            self.derived.review(key)  # a declared PodGroup may go with its last pod

    def _ask(self, key: GroupKey) -> None:
        for each in self._called.get(key, ()):
            self.reports.put(each, None)
            for other in self._forest.around(each):
                self.reports.put(other, None)

    # ── one source ───────────────────────────────────────────────────────────────────────────

    async def _follow(self, source: Source[Any]) -> None:
        backoff = Backoff()
        while True:
            try:
                resource = await first_served(self._client, source.resources)
            except APIError as error:
                self._unread.report(f"discover {source.name}", error.advice, logging.WARNING)
                await backoff.wait_out(error)
                continue
            backoff.reset()
            self._unread.report(f"discover {source.name}", None)
            changed = asyncio.ensure_future(until_changed(self._client, source.resources, resource))
            reading = asyncio.ensure_future(self._read(source, resource))
            try:
                done, _ = await asyncio.wait(
                    {changed, reading}, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    task.result()
            finally:
                for task in (changed, reading):
                    task.cancel()
                await asyncio.gather(changed, reading, return_exceptions=True)
            label = source.resources[0].label()
            log.info("API server serves other versions of %s now", label)
            self._listed.discard(label)
            for key in [key for key, each in self._origins.items() if each.source is source]:
                self._forget(key)

    async def _read(self, source: Source[Any], resource: Resource | None) -> None:
        if resource is None:
            await asyncio.sleep(ABSENT_SECONDS)  # a server that just started may not serve it yet
            self._has_listed(source.resources[0])
            await asyncio.get_running_loop().create_future()
            return
        if not self._ours.isdisjoint(source.scheduler_names):
            for kind, body in source.beside:
                await self._make(kind, body)
        reflector = Reflector(self._client, resource, source.shape, report=self._says(resource))
        async for item in reflector.stream():
            match item:
                case Seen(object=found):
                    self._take(source, resource, found)
                case Deleted(meta=meta):
                    self._forget(ObjectKey(source.name, meta.namespace, meta.name))
                case Malformed(meta=meta, problem=problem) if not meta.name:
                    label = resource.label()  # there is no object to write an event on
                    log.warning("Ignored a malformed object of %s: %s", label, problem)
                case Malformed(meta=meta, problem=problem):
                    self._unreadable(source, resource, meta, problem)
                    about = ObjectReference(resource, meta.namespace, meta.name, meta.uid)
                    self._tell(about, names.EventReason.INVALID_SPEC, problem)
                case Synced():
                    self._has_listed(resource)

    async def _make(self, kind: Resource, body: Mapping[str, Any]) -> None:
        """Create an object that clients look for, if it is missing; enbloc does not need it."""
        try:
            await self._writer.create(kind, body)
        except (AlreadyExists, NotFound):  # NotFound: its kind is not served
            return
        except APIError as error:
            name = body["metadata"]["name"]
            log.warning("Cannot create %s %s: %s", kind.label(), name, error)

    def _says(self, resource: Resource) -> Callable[[str | None], None]:
        label = resource.label()

        def say(problem: str | None) -> None:
            text = None if problem is None else f"cannot follow {label}: {problem}"
            self._unread.report(label, text, logging.WARNING)

        return say

    def _has_listed(self, resource: Resource) -> None:
        self._listed.add(resource.label())
        self.derived.review_source(resource.label())
        if self._trees_known and resource.label() in self._growing:
            for key in self._origins:
                if key in self._forest:
                    self.reports.put(key, None)
                    self.derived.review(self._origins[key].group)

    @property
    def _trees_known(self) -> bool:
        """Whether all kinds that may be in trees were read in full, so that trees are complete."""
        return self._growing <= self._listed

    def _take(self, source: Source[Any], resource: Resource, found: SourceObject) -> None:
        called = called_for(source, found)
        node, plain = (called, None) if isinstance(called, TreeNode) else (None, called)
        origin = Origin(source, resource, source.kept(found), plain)
        key = origin.key
        if node is None:
            self._uproot(key)
            self._settle(key, origin)
            self._tell_end(key, found)
            return
        others = set(self._forest.around(key)) if key in self._forest else set[ObjectKey]()
        self._forest.put(key, node)
        self._settle(key, self._placed(origin))
        self._review_trees(others.union(self._forest.around(key)) - {key})

    def _tell_end(self, key: ObjectKey, found: SourceObject) -> None:
        """Record whether a workload has ended: its members do not show it (semantics §7.2)."""
        origin = self._origins[key]
        kind, metadata = origin.resource.kind, found.metadata
        if kind not in ENDS:
            return
        ended = end_of(kind, found)
        group = None if ended is None else origin.group
        created = seconds_of(metadata.creation_timestamp or "") or 0.0
        creator = Creator(kind, metadata.name, metadata.uid, group, created=created, ended=ended)
        touched = self._members.put_creator(creator)
        if touched and ended is not None:
            touched.update(origin.groups)
        for group in touched:
            self._ask_for(group)

    def _placed(self, origin: Origin) -> Origin:
        """The origin of an object in a tree, with what it calls for now."""
        return replace(origin, found=checked(self._forest.found(origin.key)))

    def _uproot(self, key: ObjectKey) -> None:
        """Remove an object from its tree, if it is in one."""
        if key in self._forest:
            others = self._forest.around(key)
            self._forest.remove(key)
            self._review_trees(set(others) - {key})

    def _review_trees(self, keys: Collection[ObjectKey]) -> None:
        """Settle these objects again, because another object of their tree changed."""
        for key in sorted(keys):
            origin = self._origins.get(key)
            if origin is not None and key in self._forest:
                self._settle(key, self._placed(origin))

    def _settle(self, key: ObjectKey, origin: Origin) -> None:
        """Record what an object calls for, and review those PodGroups."""
        before = self._origins.get(key)
        if before is not None and self._is_ours(before, before.group):
            self._was_ours[before.object.metadata.uid] = None
        if before is not None and before.part is None and isinstance(origin.found, RefusedGroup):
            origin = replace(origin, before=before.groups)
        if before is not None and before.groups != origin.groups:
            self._drop(key)
        self._origins[key] = origin
        for group in origin.groups:
            self._called.add(group, key)
            self.derived.review(group)
        self.reports.put(key, None)

    def _unreadable(
        self, source: Source[Any], resource: Resource, meta: Meta, problem: str
    ) -> None:
        """Record that an object cannot be read; the PodGroups made for it stay."""
        known = Metadata(meta.name, meta.namespace, meta.uid, meta.resource_version)
        origin = Origin(source, resource, SourceObject(known), RefusedGroup(problem))
        self._uproot(origin.key)
        self._settle(origin.key, origin)

    def _forget(self, key: ObjectKey) -> None:
        """Forget an object that is gone."""
        origin = self._origins.get(key)
        if origin is not None and origin.resource.kind in ENDS:
            self._members.remove_creator(origin.object.metadata.uid)
        self._drop(key)
        self._uproot(key)

    def _drop(self, key: ObjectKey) -> None:
        origin = self._origins.pop(key, None)
        if origin is None:
            return
        for group in origin.groups:
            self._called.drop(group, key)
            self.derived.review(group)

    def _tell(
        self, about: ObjectReference, reason: names.EventReason, note: str, of: str = ""
    ) -> None:
        """Write an event on an object; the same note is not repeated until another replaces it."""
        if self._told.get((about.uid, reason, of)) == note:
            return
        self._told[about.uid, reason, of] = note
        self._recorder.emit(
            Notice(
                type="Warning",
                reason=reason,
                action="Reconciling",
                note=note,
                reporter=names.CONTROLLER_REPORTER,
                regarding=about,
            )
        )

    def _tell_of(self, origin: Origin) -> bool:
        """Report on an object that is or was ours what cannot be followed; whether it is ours.

        A part whose tree is gone has no members of its own any more: they stay with the whole.
        """
        about, ours = regarding(origin), self._is_ours(origin, origin.group)
        if ours:
            self._was_ours[about.uid] = None
        elif about.uid not in self._was_ours:
            return False
        match _as_one(origin.found) if isinstance(origin.found, tuple) else origin.found:
            case RefusedGroup(problem=problem) | Part(problem=problem) if problem:
                self._tell(about, names.EventReason.INVALID_SPEC, problem)
            case Derived(ignored=ignored) | Part(ignored=ignored) if ignored:
                self._tell(about, names.EventReason.UNSUPPORTED_FIELD, ignored)
            case _:
                pass
        return ours

    def _not_as_wanted(self, key: GroupKey, why: str) -> None:
        """Report, on what calls for a PodGroup, why that is missing or not as wanted."""
        reason, of = names.EventReason.POD_GROUP_OUTDATED, "of its pods"
        if self.derived.found(key) is None:
            reason, of = names.EventReason.POD_GROUP_NOT_FOUND, "for which its pods wait"
        about = [regarding(self._origins[each]) for each in self._called.get(key, ())]
        for each in (*about, *filter(None, [self.declaring.pod_of(key)])):
            self._tell(each, reason, f"PodGroup {key.name}, {of}, {why}", key.name)

    def _not_told(self, key: ObjectKey, why: str) -> None:
        """Write an event on an object that says why its status cannot be written."""
        if (origin := self._origins.get(key)) is not None:
            note = f"its status cannot be written: {why}"
            self._tell(regarding(origin), names.EventReason.INVALID_SPEC, note)

    def _tell_of_wait(self, key: GroupKey, found: Mapping[str, Any]) -> None:
        """Report, on the object that a PodGroup was made for, why the group waits."""
        if not source_of(found):
            return  # a user made it, and knows where to look
        said = self._waits.news(found)
        wanted = self._wanted(key) if said is not None else None
        if said is None or wanted is None or wanted.source != source_of(found):
            return
        for owner in wanted.owners[:1]:
            self._recorder.emit(notice(said, found, owner))

    # ── groups that pods declare ─────────────────────────────────────────────────────────────

    def _declared(self, key: GroupKey) -> None:
        """Review a group whose declarations changed; at most once per second."""
        if self._leading:
            self.derived.writer.put(key, None)

    # ── wanted PodGroups and reports ─────────────────────────────────────────────────────────

    def _wanted(self, key: GroupKey) -> WantedGroup | None:
        """The PodGroup that should have this name, by the first source that calls for one.

        One that exists is that of the source for which it was made, while that calls for it.
        """
        origins = [
            self._origins[each]
            for each in self._called.get(key, ())
            if each not in self._forest or self._trees_known
        ]
        made = source_of(self.derived.found(key))
        first: WantedGroup | None = None
        for source in self._sources:
            for origin in origins:
                found = origin.derived.get(key) if origin.source is source else None
                if found is not None and self._is_ours(origin, key):
                    label = origin.resource.label()
                    after = tuple(origin.beside.get(key, ()))
                    owners = tuple(owners_of(origin))
                    wanted = WantedGroup(label, found.spec, owners, after, found.idle)
                    if label == made:
                        return wanted
                    first = first or wanted
        return first or self._declared_group(key)

    def _declared_group(self, key: GroupKey) -> WantedGroup | None:
        outcome = self.declaring.outcome(key)
        for about, reason, note in outcome.words:
            self._tell(about, reason, note)
        return outcome.wanted

    def _is_ours(self, origin: Origin, key: GroupKey) -> bool:
        """Whether a group is scheduled by us, or already has a PodGroup made for this kind."""
        found = origin.derived.get(key)
        return (
            (found is not None and found.always)
            or not self._ours.isdisjoint(origin.source.scheduler_names)
            or source_of(self.derived.found(key)) == origin.resource.label()
            or any(map(self._has_ours, self._because_of(origin, key)))
        )

    def _because_of(self, origin: Origin, key: GroupKey) -> Iterator[GroupKey]:
        """The groups whose members cause a PodGroup to be made, including those of its tree."""
        yield from origin.because_of(key)
        for each in self._forest.around(origin.key):
            if (other := self._origins.get(each)) is not None:
                yield from other.groups

    def _has_ours(self, key: GroupKey) -> bool:
        """Whether a member names a scheduler of ours; the cost does not depend on their number."""
        return not self._ours.isdisjoint(self._members.schedulers(key))

    def _outdated(self, found: Mapping[str, Any]) -> bool:
        """Whether a PodGroup that is not wanted may be deleted: its source has been read in full.

        A PodGroup that pods declared stays while pods name it, or their controller exists. One
        whose object is refused now stays too: its gang may be running.
        """
        label = source_of(found)
        for each in self._called.get(_key(found), ()):
            origin = self._origins[each]
            refused = origin.found
            if isinstance(refused, RefusedGroup) and (
                refused.keeps or made_for(found, origin.object.metadata.uid)
            ):
                return False
            if each in self._forest and not self._trees_known:
                return False
        if label == FROM_PODS:
            owners = found["metadata"].get("ownerReferences")
            return not owners and not self._members.of(_key(found))
        known = {resource.label() for source in self._sources for resource in source.resources}
        return label in self._listed or label not in known

    async def _report(self, key: ObjectKey, value: None) -> None:
        del value
        origin = self._origins.get(key)
        if origin is not None and key in self._forest:
            if not self._trees_known:
                return
            origin = self._origins[key] = self._placed(origin)
        if origin is None or not self._tell_of(origin):
            return
        refused = isinstance(origin.found, RefusedGroup) and not origin.source.answers_refusals
        if origin.source.report is None or refused:
            return
        metadata = origin.object.metadata
        try:
            wanted = origin.source.report(origin.object, self._view(origin))
        except Exception as error:  # noqa: BLE001  # a bug must not keep the log busy with one object
            self._tell(regarding(origin), names.EventReason.INVALID_SPEC, fault(key, error))
            return
        if wanted is None or _holds(origin.object.status, wanted):
            return
        state = {"uid": metadata.uid}
        if any(isinstance(value, list) for value in wanted.values()):
            state["resourceVersion"] = metadata.resource_version or ""
        written = await self._writer.patch(
            origin.resource,
            key.name,
            {"metadata": state, "status": wanted},
            key.namespace,
            kind=PatchType.MERGE,
            subresource=origin.source.subresource,
            shape=origin.source.shape,
        )
        current = self._origins.get(key)
        if current is origin and written.metadata.uid == metadata.uid:
            self._origins[key] = Origin(origin.source, origin.resource, written, origin.found)

    def _view(self, origin: Origin) -> GroupView:
        found, members = self.derived.found(origin.group), self._members.of(origin.group)
        uid = origin.object.metadata.uid if origin.part is None else origin.part.root
        if found is not None and not made_for(found, uid):
            found = None  # it was made for an earlier object of that name
        group = None
        with suppress(msgspec.ValidationError):
            group = codec.group(msgspec.convert(found, PodGroupObject)) if found else None
        status = (found or {}).get("status")
        return GroupView(
            group,
            status if isinstance(status, dict) else {},
            members,
            self._now(),
            origin.resource.version,
            any(map(self._has_ours, self._because_of(origin, origin.group))),
            origin.part,
            origin.found.problem if isinstance(origin.found, RefusedGroup) else "",
        )


def _key(found: Mapping[str, Any]) -> GroupKey:
    metadata = found["metadata"]
    return GroupKey(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))


def _holds(standing: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a merge patch would change nothing in `standing`."""
    return all(
        _holds(standing[name], value)
        if isinstance(value, Mapping) and isinstance(standing.get(name), Mapping)
        else (name not in standing if value is None else standing.get(name) == value)
        for name, value in wanted.items()
    )


def _as_one(found: Sequence[Derived]) -> Derived | None:
    """The first of several PodGroups, with the ignored fields of all; None = there is none."""
    if not found:
        return None
    ignored = dict.fromkeys(each.ignored for each in found if each.ignored)
    return replace(found[0], ignored=clipped("; ".join(ignored)))
