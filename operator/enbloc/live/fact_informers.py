# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Informers of the objects that describe volumes and devices, for the plugins that read them."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enbloc.client import paths
from enbloc.client.backoff import Backoff
from enbloc.client.client import Client
from enbloc.client.discovery import served
from enbloc.client.errors import APIError
from enbloc.client.items import HasMeta, Meta
from enbloc.client.paths import Resource
from enbloc.client.reflector import Reflector
from enbloc.engine.events import Event, FactGone, FactSeen
from enbloc.framework.profile import Profile
from enbloc.live.event_queue import EventQueue
from enbloc.live.informer import Informer, OptionalObjects, T
from enbloc.live.malformed import MalformedObjects
from enbloc.model.ledger import Fact
from enbloc.wire import device_codec as devices
from enbloc.wire import device_objects
from enbloc.wire import storage_codec as volumes

#: Seconds between two checks whether the server has a resource, or has it in another version.
LOOK_SECONDS: Final = 60.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FactKind:
    """One kind of objects that describe volumes or devices.

    Attributes:
        resource: where they are, in the best version.
        shape: the type to decode them into.
        read: makes a fact from the decoded object.
        plugins: which plugins read them.
        without: the consequence while they cannot be read, for the log.
        versions: in which they can be read, the best one first.
    """

    resource: Resource
    shape: type[HasMeta]
    read: Callable[[Any], Fact]
    plugins: frozenset[str]
    without: str
    versions: tuple[str, ...] = ("v1",)

    def seen(self, shown: HasMeta) -> Event:
        """The engine's event for an object."""
        return FactSeen(self.read(shown))

    def gone(self, meta: Meta) -> Event:
        """The engine's event for a deleted object."""
        namespaced = self.resource.namespaced
        key = f"{meta.namespace}/{meta.name}" if namespaced else meta.name
        return FactGone(self.resource.kind, key)


def _volumes(resource: Resource, plugins: str, without: str) -> FactKind:
    shape, read = volumes.READERS[resource.kind]
    return FactKind(resource, shape, read, frozenset(plugins.split()), without)


def _devices(
    resource: Resource, shape: type[HasMeta], read: Callable[[Any], Fact], without: str
) -> FactKind:
    plugins = frozenset({"DynamicResources"})
    return FactKind(resource, shape, read, plugins, without, paths.DEVICE_VERSIONS)


_NO_CLAIMS: Final = "pods with PersistentVolumeClaims are not scheduled"
_NO_DEVICES: Final = "pods that need devices by ResourceClaims are not scheduled"

FACTS: Final = (
    _volumes(paths.PERSISTENT_VOLUMES, "VolumeBinding VolumeZone NodeVolumeLimits", _NO_CLAIMS),
    _volumes(
        paths.PERSISTENT_VOLUME_CLAIMS,
        "VolumeBinding VolumeRestrictions VolumeZone NodeVolumeLimits",
        _NO_CLAIMS,
    ),
    _volumes(
        paths.STORAGE_CLASSES,
        "VolumeBinding VolumeZone NodeVolumeLimits",
        "pods with unbound PersistentVolumeClaims are not scheduled",
    ),
    _volumes(
        paths.CSI_NODES,
        "VolumeBinding NodeVolumeLimits",
        "how many volumes a node can attach is not known",
    ),
    _volumes(
        paths.CSI_DRIVERS, "VolumeBinding", "storage is taken to be left wherever a class allows"
    ),
    _volumes(
        paths.CSI_STORAGE_CAPACITIES,
        "VolumeBinding",
        "drivers that tell of their capacity make no volumes",
    ),
    _volumes(
        paths.VOLUME_ATTACHMENTS,
        "NodeVolumeLimits",
        "volumes that are attached without a pod do not count",
    ),
    _devices(
        paths.RESOURCE_CLAIMS, device_objects.ClaimObject, devices.resource_claim, _NO_DEVICES
    ),
    _devices(
        paths.RESOURCE_SLICES, device_objects.SliceObject, devices.resource_slice, _NO_DEVICES
    ),
    _devices(paths.DEVICE_CLASSES, device_objects.ClassObject, devices.device_class, _NO_DEVICES),
)


def wanted(profiles: Iterable[Profile]) -> Sequence[FactKind]:
    """The kinds that at least one plugin of these profiles reads."""
    asked = {plugin.name for profile in profiles for plugin in profile.plugins}
    return [kind for kind in FACTS if kind.plugins & asked]


class DiscoveredInformer(Informer[T]):
    """An informer of a resource that the API server may lack, or have in an older version only.

    While the server lacks the resource, it counts as empty.

    Args:
        client: the API.
        versions: in which the resource can be read, the best one first.
        reflector: where the objects come from.
        means: the engine's events for an object, and for a deleted one.
        queue: where the events go.
        malformed: told of objects that cannot be read, or not in full.
        problem: the fields of an object that are ignored, from its event; "" = none.
        optional: what to do while the objects cannot be read.
    """

    def __init__(
        self,
        client: Client,
        versions: Sequence[str],
        reflector: Reflector[T],
        means: tuple[Callable[[T], Event], Callable[[Meta], Event]],
        queue: EventQueue,
        malformed: MalformedObjects,
        problem: Callable[[Event], str],
        optional: OptionalObjects,
    ) -> None:
        super().__init__(None, reflector, *means, queue, malformed, problem, optional)
        self._client = client
        self._versions = versions
        #: The server did not have the resource at the last check.
        self._absent = False

    def readable(self) -> bool:
        """Whether the first list was read, or the server lacks the resource; for any thread."""
        return self._absent or self.reflector.synced

    async def run(self) -> None:
        """Wait until the server has the resource, then fill the queue until cancelled."""
        doing_without = asyncio.ensure_future(self._give_up_if_denied())
        try:
            await self._find()
        finally:
            doing_without.cancel()
        following = asyncio.ensure_future(self._follow())
        try:
            await super().run()
        finally:
            following.cancel()

    async def read_once(self) -> None:
        """Fill the queue with one list, if the server has the resource.

        Raises:
            APIError: it cannot be read; there is no retry.
        """
        resource = await self._served()
        if resource is not None:
            self.reflector.serve(resource)
            await super().read_once()

    async def _find(self) -> None:
        backoff = Backoff()
        while True:
            try:
                resource = await self._served()
            except APIError as error:
                (self._report if error.server_away else self._tell)(error.advice)
                await asyncio.sleep(backoff.after(error))
                continue
            self._tell(None)
            if resource is not None:
                self._absent = False
                self.reflector.serve(resource)
                return
            if not self._absent:
                self._have_synced()
                self._lack()
            await asyncio.sleep(LOOK_SECONDS)

    def _lack(self) -> None:
        """Note, and log, that the server does not have the resource."""
        label = self.reflector.resource.label()
        logger.info("The API server does not serve %s: %s", label, self.without)
        self._tell_engine(unread=False)
        self._absent = True

    async def _follow(self) -> None:
        """Switch to another version when the server no longer has the current one, or to none."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not self.reflector.refused:
                continue
            try:
                resource = await self._served()
            except APIError as error:
                logger.debug("Cannot discover %s: %s", self.name, error)
                continue
            if resource is None:
                if not self._absent and self.reflector.refused:
                    self._forget("it was not served")
                    self._lack()
            elif resource != self.reflector.resource:
                logger.info("Watching %s of %s now", self.name, resource.api_version)
                self.reflector.serve(resource)

    def _have_synced(self) -> None:
        self._absent = False
        super()._have_synced()

    async def _served(self) -> Resource | None:
        return await served(self._client, self.reflector.resource, self._versions)
