# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pending pods that wait in vain for volumes or devices, because a named object does not exist."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from enbloc.client import discovery
from enbloc.client.client import Client
from enbloc.client.paths import (
    DEVICE_CLASSES,
    DEVICE_VERSIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
    Resource,
)
from enbloc.devices.facts import ResourceClaim
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.reading import Reader, Waiting, count, findings
from enbloc.doctor.schedulers import served
from enbloc.doctor.shapes import RESOURCE_CLAIM_TEMPLATES, Named
from enbloc.model.pods import Pod
from enbloc.model.resources import DEVICE_CLASS_PREFIX
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.wire import codec
from enbloc.wire import device_codec as devices_codec
from enbloc.wire import storage_codec as volumes_codec
from enbloc.wire.codec_volumes import CLAIM, EPHEMERAL
from enbloc.wire.device_objects import ClaimObject
from enbloc.wire.objects import PodObject
from enbloc.wire.storage_objects import ClaimObject as VolumeClaimObject

CHECK: Final = "claims"
#: The most pending pods that are read, the most of their namespaces, and the most objects per kind.
MOST_PODS: Final = 10_000
MOST_NAMESPACES: Final = 100
MOST_OBJECTS: Final = 10_000
_PENDING: Final = {"fieldSelector": "spec.nodeName=,status.phase=Pending"}


class _Absent:
    """Names of missing objects that pods wait for.

    Attributes:
        pods: the pods that wait for each name.
    """

    def __init__(self, kind: str, fix: str) -> None:
        self.pods: Waiting = {}
        self._kind = kind
        self._fix = fix
        self._named_by: dict[str, str] = {}

    def add(self, name: str, pod: Pod, named_by: str = "") -> None:
        """Note a missing name; `named_by` is the object that names it, if that is not the pod."""
        count(self.pods, name, str(pod.key))
        self._named_by.setdefault(name, named_by)

    def findings(self) -> Iterator[Finding]:
        """A warning for each of the first names, and one for the rest."""
        return findings(CHECK, self._kind, self.pods, self._why)

    def _why(self, name: str) -> str:
        where = self._named_by[name]
        return f"does not exist{f', and {where} names it' if where else ''}; {self._fix}"


class _Cluster:
    """Pending pods, and the objects that they name; reads the pods first, to miss no object."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seen = Reader()
        self._read = Reader()

    async def pods(self, ours: Installation, concerned: Callable[[Pod], bool]) -> list[Pod]:
        """The pods of our schedulers that are concerned, of a limited number of namespaces."""
        names = {*ours.serves, *await served(self._client)}
        listed = self._client.list(PODS, query=_PENDING, shape=PodObject)
        read = [codec.pod(each) async for each in self._seen.first(MOST_PODS, listed)]
        found = [pod for pod in read if pod.live and pod.scheduler in names and concerned(pod)]
        namespaces = set(_namespaces(found)[:MOST_NAMESPACES])
        kept = [pod for pod in found if pod.key.namespace in namespaces]
        self._seen.whole = self._seen.whole and len(kept) == len(found)
        return kept

    async def objects(self, resource: Resource, pods: Iterable[Pod], shape: Any) -> Sequence[Any]:
        """The objects of a kind, in the namespaces of these pods or cluster-scoped."""
        namespaces = _namespaces(pods)
        where = namespaces if resource.namespaced else [None] * bool(namespaces)
        lists = (self._client.list(resource, each, shape=shape) for each in where)
        return [each async for each in self._read.first(MOST_OBJECTS, *lists)]

    async def names(self, resource: Resource, pods: Iterable[Pod]) -> set[str]:
        """The names of these objects."""
        return {each.key for each in await self.objects(resource, pods, Named)}

    def findings(self, *absent: _Absent) -> Iterator[Finding]:
        """The findings, and one that says if more may be missing."""
        found = [finding for each in absent for finding in each.findings()]
        if not self._read.whole:  # a name that seems missing may be among the unread rest
            found = []
        if not found and not (self._read.whole and self._seen.whole):
            message = (
                f"found nothing for the first {MOST_PODS} pending pods in {MOST_NAMESPACES} "
                f"namespaces, and the first {MOST_OBJECTS} objects of each kind; there are more"
            )
            found.append(Finding(CHECK, Verdict.UNKNOWN, PODS.label(), message))
        yield from found


async def volumes(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Missing PersistentVolumeClaims of pods, and missing StorageClasses of unbound claims."""
    if ours.planned:
        return
    cluster = _Cluster(client)
    pods = await cluster.pods(ours, lambda pod: bool(pod.claims))
    listed = await cluster.objects(PERSISTENT_VOLUME_CLAIMS, pods, VolumeClaimObject)
    made = [volumes_codec.persistent_volume_claim(each) for each in listed]
    claims: dict[str, PersistentVolumeClaim] = {each.key: each for each in made}
    classes = await cluster.names(STORAGE_CLASSES, pods)
    fix = "create it, or fix claimName in spec.volumes of the pods"
    no_claim = _Absent("persistentvolumeclaim", fix)
    fix = "create it, or create the claim again with a class that exists"
    no_class = _Absent("storageclass", fix)
    for pod in pods:
        kinds = [each.kind for each in pod.spec.volumes if each.kind in (CLAIM, EPHEMERAL)]
        for kind, name in zip(kinds, pod.claims, strict=False):
            key = f"{pod.key.namespace}/{name}"
            claim = claims.get(key)
            if claim is None:
                if kind == CLAIM:  # claims of the other kind are made for the pod
                    no_claim.add(key, pod)
            elif claim.storage_class not in {"", *classes} and not claim.volume:
                no_class.add(claim.storage_class, pod, f"PersistentVolumeClaim {key}")
    for finding in cluster.findings(no_claim, no_class):
        yield finding


async def devices(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Missing ResourceClaims and templates of pods, and missing DeviceClasses of their claims."""
    if ours.planned:
        return
    resource = await discovery.served(client, RESOURCE_CLAIMS, DEVICE_VERSIONS)
    if resource is None:
        return
    version = resource.version
    cluster = _Cluster(client)
    pods = await cluster.pods(ours, lambda pod: bool(pod.resource_claims or _served(pod)))
    listed = await cluster.objects(resource, pods, ClaimObject)
    made = [devices_codec.resource_claim(each) for each in listed]
    claims: dict[str, ResourceClaim] = {each.key: each for each in made}
    templates = await cluster.names(replace(RESOURCE_CLAIM_TEMPLATES, version=version), pods)
    classes = await cluster.names(replace(DEVICE_CLASSES, version=version), pods)
    absent = _Devices()
    for pod in pods:
        absent.look(pod, claims, templates, classes)
    for finding in cluster.findings(absent.claims, absent.templates, absent.classes):
        yield finding


class _Devices:
    """The missing objects that pods need for their devices."""

    def __init__(self) -> None:
        where = "in spec.resourceClaims of the pods"
        fix = f"create it, or fix resourceClaimName {where}"
        self.claims = _Absent("resourceclaim", fix)
        fix = f"create it, or fix resourceClaimTemplateName {where}"
        self.templates = _Absent("resourceclaimtemplate", fix)
        self.classes = _Absent("deviceclass", "create it, or fix the name of the class")

    def look(
        self, pod: Pod, claims: Mapping[str, ResourceClaim], templates: set[str], classes: set[str]
    ) -> None:
        """Note what is missing for a pod."""
        namespace = pod.key.namespace
        for spec, name in zip(pod.spec.resource_claims, pod.resource_claims, strict=False):
            key, template = f"{namespace}/{name}", f"{namespace}/{spec.template}"
            if (claim := claims.get(key)) is not None:
                for each in _unserved(claim, classes):
                    self.classes.add(each, pod, f"ResourceClaim {key}")
            elif name == "" and spec.template and template not in templates:
                self.templates.add(template, pod)
            elif name and not spec.template:
                self.claims.add(key, pod)
        for each in sorted(_served(pod) - classes):
            self.classes.add(each, pod)


def _namespaces(pods: Iterable[Pod]) -> list[str]:
    return sorted({pod.key.namespace for pod in pods})


def _served(pod: Pod) -> set[str]:
    """The DeviceClasses that a pod's containers request as extended resources."""
    asked = [each.resource for each in pod.spec.extended]
    return {
        each[len(DEVICE_CLASS_PREFIX) :] for each in asked if each.startswith(DEVICE_CLASS_PREFIX)
    }


def _unserved(claim: ResourceClaim, classes: set[str]) -> Iterator[str]:
    """The missing classes that an unallocated claim names."""
    if claim.allocation is None:
        yield from sorted({each.device_class for each in claim.spec.asks} - {"", *classes})
