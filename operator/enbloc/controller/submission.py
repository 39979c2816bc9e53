# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the scheduler would see if objects were created now, and every controller did its work."""

import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from enbloc.controller.sources.at_once import called_for_at_once
from enbloc.controller.sources.derived_groups import FROM_PODS, checked, source_of
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.devices.facts import DeviceClass, ResourceClaim, Unreadable
from enbloc.engine.events import (
    Event,
    FactSeen,
    GroupGone,
    GroupSeen,
    PriorityClassSeen,
    TopologySeen,
)
from enbloc.errors import UsageError
from enbloc.model.adoptions import adopted
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.names import (
    API_GROUP,
    API_VERSION,
    INJECT_KEY,
    POD_GROUP_KIND,
    POD_TEMPLATE_HASH_KEY,
    SCHEDULER_NAME,
    TOPOLOGY_KIND,
)
from enbloc.model.near_words import near
from enbloc.model.pods import Pod, PodUID
from enbloc.model.selectors import Labels
from enbloc.model.times import time_text
from enbloc.storage.facts import PersistentVolume, PersistentVolumeClaim, StorageClass
from enbloc.wire import codec, device_codec, storage_codec
from enbloc.wire.auto_groups import AutoGroups
from enbloc.wire.device_objects import ClassObject
from enbloc.wire.objects import PodGroupObject, PodObject
from enbloc.wire.topologies import TopologyObject, topology
from enbloc.workloads import (
    Admission,
    Expansion,
    Json,
    PlannedPod,
    claimed,
    default_storage_class,
    priority_classes,
    read,
)

#: Labels that name the object that a pod is of, if another object controls the pod.
_LABELS: Final = {
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "LeaderWorkerSet": "leaderworkerset.sigs.k8s.io/name",
    "SparkApplication": "sparkoperator.k8s.io/app-name",
}
#: The random suffix of a RayCluster (kuberay ray-operator/controllers/ray/utils/util.go
#: GenerateRayClusterName; "-raycluster" before v1.4).
_RANDOM: Final = re.compile(r"(-raycluster)?-[b-df-hj-np-tv-xz24-9]{5}$")
#: By kind: the kinds that make such objects, and what they append to their own name. CronJobs
#: append the time in minutes, ScheduledSparkApplications by default in nanoseconds.
_SUFFIXES: Final = {
    "RayCluster": (("RayJob", _RANDOM), ("RayService", _RANDOM)),
    # The Job that submits a RayJob has its name.
    "Job": (("CronJob", re.compile(r"-\d{8}$")), ("RayJob", re.compile("$"))),
    "SparkApplication": (("ScheduledSparkApplication", re.compile(r"-\d{8,19}$")),),
}


@dataclass(frozen=True, slots=True)
class SubmissionContext:
    """The state of the cluster in which objects are to be created.

    Attributes:
        schedulers: our schedulerNames.
        pods: all existing pods.
        groups: enbloc's PodGroups, by key.
        facts: existing objects about volumes and devices, by kind and key.
        namespaces: the labels of each namespace.
        admission: what the API server fills in.
        keep: prefixes of the annotations that plugins read.
        now: server time, seconds since the epoch.
    """

    schedulers: Collection[str]
    pods: Collection[Pod]
    groups: Mapping[GroupKey, Group]
    facts: Mapping[tuple[str, str], Fact]
    namespaces: Mapping[str, Labels]
    admission: Admission
    keep: tuple[str, ...] = ()
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Created:
    """A pod that would be created.

    Attributes:
        pod: the pod, with its group.
        wave: when it is created, see `PlannedPod`.
        of: the object that it comes from, as "Job default/train".
        field: the path of its spec in that object.
    """

    pod: Pod
    wave: int
    of: str
    field: str


@dataclass(frozen=True, slots=True)
class Submission:
    """What the scheduler would see of new objects.

    Attributes:
        first: events before any pod.
        pods: in the order of their creation.
        replaced: pods of existing objects with the same names, which would be deleted first.
        notes: remarks about the objects, one line each.
    """

    first: Sequence[Event]
    pods: Sequence[Created]
    replaced: Sequence[Pod] = ()
    notes: Sequence[str] = field(default=())


def submission(expansion: Expansion, known: SubmissionContext) -> Submission:
    """What the scheduler would see of expanded manifests.

    Args:
        expansion: the pods, and the objects that may call for PodGroups.
        known: the state of the cluster.

    Raises:
        UsageError: an object would be refused; the message names the field and the fix.
    """
    return _Submitting(expansion, known).submission()


class _Submitting:
    def __init__(self, expansion: Expansion, known: SubmissionContext) -> None:
        self._expansion = expansion
        self._known = known
        self._notes = dict.fromkeys(expansion.notes)
        beside = expansion.beside
        self._classes = priority_classes(beside.get("PriorityClass", ()))
        classes = {**known.admission.classes, **self._classes}
        storage = default_storage_class(beside.get("StorageClass", ()))
        self._admission = Admission(classes, storage or known.admission.storage_class)
        self._namespaces = {
            **known.namespaces,
            **{
                str(each["metadata"]["name"]): tuple(
                    sorted((each["metadata"].get("labels") or {}).items())
                )
                for each in beside.get("Namespace", ())
            },
        }
        self._templates = {
            (self._namespace_of(each), str(each["metadata"].get("name"))): each
            for each in beside.get("ResourceClaimTemplate", ())
        }
        self._facts: list[Fact] = []
        self._leaving: set[PodUID] = set()

    def _namespace_of(self, body: Json) -> str:
        return str(body["metadata"].get("namespace") or self._expansion.namespace)

    def submission(self) -> Submission:
        plain = [(planned, self._read(planned)) for planned in self._expansion.pods]
        given = self._expansion.beside.get("PersistentVolumeClaim", ())
        for each in (*given, *self._expansion.claims):
            self._volume_claim(each)
        for each in self._expansion.beside.get("ResourceClaim", ()):
            self._device_claim(each)
        objects = [found for _, found in plain]
        replaced = self._replaced(self._grouped(self._auto(), objects))
        self._leaving = {pod.uid for pod in replaced}
        gone = self._gone(replaced)
        auto = self._auto(gone)
        groups = [self._group(each) for each in self._groups(objects, self._grouped(auto, objects))]
        for group in groups:
            auto.group(group.key, adopted(group.roles))
        created = [
            Created(pod, planned.wave, planned.of, planned.field)
            for (planned, _), pod in zip(plain, self._grouped(auto, objects), strict=True)
        ]
        events: list[Event] = [
            *(PriorityClassSeen(name, each.value) for name, each in self._classes.items()),
            *self._of_cluster(),
            *(FactSeen(fact) for fact in self._facts),
            *(GroupGone(key, gone[key]) for key in gone.keys() - {group.key for group in groups}),
            *(event for group in groups for event in self._seen(group)),
        ]
        return Submission(events, created, replaced, tuple(self._notes))

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def _read(self, planned: PlannedPod) -> PodObject:
        """A pod as the watch would show it; also keeps the claims that are created for it."""
        where = f"{planned.of}: {planned.field}"
        pod = planned.pod
        namespace = str(pod["metadata"]["namespace"])
        self._in_namespace(namespace, planned.of)
        if self._injects(namespace) and not pod["spec"].get("schedulerName"):
            pod = {**pod, "spec": {**pod["spec"], "schedulerName": SCHEDULER_NAME}}
        stored = self._admission.pod(pod, where)
        at = where.removesuffix(".spec").removesuffix(": spec")
        read(stored, PodObject, at)
        made = claimed(stored, self._templates)
        for claim in made.volumes:
            self._volume_claim(claim)
        for claim in made.devices:
            self._device_claim(claim)
        for name in made.lacking:
            self._note(
                f"{planned.of}: ResourceClaimTemplate {namespace}/{name} is not in the files; add "
                "it, or the pods wait for their claims"
            )
        metadata = {**made.pod["metadata"], "creationTimestamp": time_text(self._known.now)}
        return read({**made.pod, "metadata": metadata}, PodObject, at)

    def _in_namespace(self, namespace: str, of: str) -> None:
        if namespace not in self._namespaces:
            raise UsageError(
                f"{of}: namespace {namespace} not found{near(namespace, self._namespaces)}; create "
                "it, or add it to the files"
            )

    def _injects(self, namespace: str) -> bool:
        if dict(self._namespaces[namespace]).get(INJECT_KEY) != "true":
            return False
        self._note(
            f"namespace {namespace} has the label {INJECT_KEY}: pods that name no scheduler are "
            f"taken to be {SCHEDULER_NAME}'s"
        )
        return True

    def _note(self, text: str) -> None:
        self._notes[text] = None

    # ── claims ───────────────────────────────────────────────────────────────────────────────

    def _volume_claim(self, body: Json) -> None:
        """Keep a PersistentVolumeClaim, unless it exists: a StatefulSet uses an existing one."""
        stored = self._admission.claim(_placed(body, self._namespace_of(body)))
        found = storage_codec.read(PersistentVolumeClaim.kind, stored)
        if not isinstance(found, PersistentVolumeClaim):
            text = found.text if isinstance(found, storage_codec.Problem) else "it is none"
            raise UsageError(f"PersistentVolumeClaim {stored['metadata'].get('name')}: {text}")
        self._put(found)

    def _device_claim(self, body: Json) -> None:
        stored = _placed(body, self._namespace_of(body))
        found = device_codec.read_resource_claim(stored)
        if isinstance(found, Unreadable):
            raise UsageError(f"ResourceClaim {found.key}: {found.text}")
        assert isinstance(found, ResourceClaim)
        self._put(found)

    def _put(self, fact: PersistentVolumeClaim | ResourceClaim) -> None:
        if (fact.kind, fact.key) not in self._known.facts:
            self._facts.append(fact)

    def _of_cluster(self) -> Iterator[Event]:
        """Events for cluster-scoped objects that determine where pods can run."""
        beside = self._expansion.beside
        for kind in (StorageClass.kind, PersistentVolume.kind):
            for body in beside.get(kind, ()):
                fact = storage_codec.read(kind, body)
                if isinstance(fact, storage_codec.Problem):
                    raise UsageError(f"{kind} {body['metadata'].get('name')}: {fact.text}")
                yield FactSeen(fact)
        for body in beside.get(DeviceClass.kind, ()):
            where = f"{DeviceClass.kind} {body['metadata'].get('name')}"
            yield FactSeen(device_codec.device_class(read(body, ClassObject, where)))
        for body in beside.get(TOPOLOGY_KIND, ()):
            where = f"{TOPOLOGY_KIND} {body['metadata'].get('name')}"
            yield TopologySeen(topology(read(body, TopologyObject, where)))

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    def _auto(self, gone: Container[GroupKey] = ()) -> AutoGroups:
        """The groups of workloads, with the PodGroups that exist and do not go."""
        auto = AutoGroups(unknown=False)
        for name, labels in self._namespaces.items():
            auto.namespace(name, dict(labels))
        for key, group in self._known.groups.items():
            if key not in gone:
                auto.group(key, adopted(group.roles))
        return auto

    def _grouped(self, auto: AutoGroups, objects: Sequence[PodObject]) -> list[Pod]:
        return [auto.pod(found, codec.pod(found, self._known.keep)) for found in objects]

    def _gone(self, replaced: Sequence[Pod]) -> Mapping[GroupKey, str]:
        """The UIDs of PodGroups that were made for the existing objects, and go with them."""
        groups = self._known.groups
        theirs = (groups.get(pod.group) for pod in replaced if pod.group is not None)
        families = {each.family for each in theirs if each is not None} - {""}
        return {
            key: group.uid
            for key, group in groups.items()
            if group.derived and group.family in families and not self._stays(key)
        }

    def _groups(self, objects: Sequence[PodObject], pods: Sequence[Pod]) -> Sequence[Json]:
        """The PodGroups that would be created: the files' own, and those that workloads need."""
        schedulers: dict[GroupKey, set[str]] = {}
        for pod in (*self._known.pods, *pods):
            if pod.group is not None:
                schedulers.setdefault(pod.group, set()).add(pod.scheduler)
        given = {
            GroupKey(each["metadata"]["namespace"], each["metadata"]["name"]): each
            for each in self._expansion.objects
            if _is_group(each)
        }
        for key, body in given.items():
            self._in_namespace(key.namespace, f"PodGroup {key}")
            found = checked(Derived(body.get("spec") or {}))
            if isinstance(found, RefusedGroup):
                problem = found.problem.partition("from it: ")[2] or found.problem
                raise UsageError(f"PodGroup {key}: {problem}")
        called = called_for_at_once(
            self._expansion.objects,
            objects,
            self._known.schedulers,
            lambda key: schedulers.get(key, ()),
        )
        for note in called.notes:
            self._note(note)
        made = [body for key, body in called.groups.items() if key not in given]
        return [*given.values(), *(body for body in made if not self._kept(body))]

    def _kept(self, body: Json) -> bool:
        """Whether a PodGroup of that name exists that enbloc did not make; it stays as it is."""
        metadata = body["metadata"]
        known = self._known.groups.get(GroupKey(metadata["namespace"], metadata["name"]))
        if known is None or known.derived:
            return False
        self._note(f"PodGroup {known.key} exists, and counts as it is")
        return True

    def _group(self, body: Json) -> Group:
        metadata = body["metadata"]
        key = GroupKey(metadata["namespace"], metadata["name"])
        stored = {
            **body,
            "metadata": {
                **metadata,
                "uid": metadata.get("uid") or f"what-if-{key}",
                "generation": 1,
                "creationTimestamp": time_text(self._known.now),
            },
        }
        try:
            group = codec.group(msgspec.convert(stored, PodGroupObject), self._known.keep)
        except msgspec.ValidationError as error:
            raise UsageError(f"PodGroup {key}: {error}") from None
        known = self._known.groups.get(key)
        if known is None or (known.derived and not self._stays(key)):
            return group
        if not source_of(stored):
            self._note(f"PodGroup {key} exists; it is taken to be changed to what the files say")
        declared = source_of(stored) == FROM_PODS
        return replace(
            group,
            uid=known.uid,
            generation=known.generation + 1,
            created=known.created,
            memory=known.memory,
            min_member=max(known.min_member, group.min_member) if declared else group.min_member,
        )

    def _stays(self, key: GroupKey) -> bool:
        """Whether a group keeps at least one of its live members."""
        members = (pod for pod in self._known.pods if pod.group == key and pod.live)
        return any(pod.uid not in self._leaving for pod in members)

    def _seen(self, group: Group) -> Iterator[Event]:
        known = self._known.groups.get(group.key)
        if known is not None and known.uid != group.uid:
            yield GroupGone(known.key, known.uid)
        yield GroupSeen(group)

    # ── existing objects of the same names ───────────────────────────────────────────────────

    def _replaced(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Existing pods of the same objects, which would have to be deleted first."""
        objects = {
            (str(each["metadata"]["namespace"]), str(each["kind"]), str(each["metadata"]["name"]))
            for each in self._expansion.objects
        }
        objects |= {
            (pod.key.namespace, pod.owner.kind, pod.owner.name) for pod in pods if pod.owner
        }
        found: list[Pod] = []
        of: dict[str, list[Pod]] = {}
        for pod in self._known.pods:
            makers = ((pod.key.namespace, *maker) for maker in _makers(pod))
            maker = next((each for each in makers if each in objects), None)
            if maker is not None:
                found.append(pod)
                namespace, kind, own = maker
                of.setdefault(f"{kind} {namespace}/{own}", []).append(pod)
        for name, its in of.items():
            placed = sum(pod.bound for pod in its)
            counted = "1 pod" if len(its) == 1 else f"{len(its)} pods"
            self._note(
                f"{name} exists ({counted}, {placed} with a node); it is taken to be deleted first"
            )
        return found


def _is_group(body: Json) -> bool:
    return (body["apiVersion"], body["kind"]) == (f"{API_GROUP}/{API_VERSION}", POD_GROUP_KIND)


def _placed(body: Json, namespace: str) -> dict[str, Any]:
    metadata = body["metadata"]
    uid = metadata.get("uid") or f"what-if-{namespace}-{metadata.get('name')}"
    return {**body, "metadata": {**metadata, "namespace": namespace, "uid": uid}}


def _makers(pod: Pod) -> Iterator[tuple[str, str]]:
    """Kind and name of each object that a pod is of, as far as it shows; the topmost first."""
    if pod.owner is not None:
        labels = dict(pod.labels)
        for kind, key in _LABELS.items():
            if key in labels:
                yield from _with_above(kind, labels[key])
        kind, name = pod.owner.kind, pod.owner.name
        suffix = f"-{labels.get(POD_TEMPLATE_HASH_KEY)}"
        if kind == "ReplicaSet" and name.endswith(suffix):
            yield "Deployment", name.removesuffix(suffix)
        yield from _with_above(kind, name)
    yield "Pod", pod.key.name


def _with_above(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """An object, after those that may have made it according to its name."""
    for above, suffix in _SUFFIXES.get(kind, ()):
        if (found := suffix.search(name)) is not None:
            yield above, name[: found.start()]
    yield kind, name
