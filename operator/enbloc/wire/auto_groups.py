# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Auto groups: the groups of pods that name none, by their workload, where switched on.

They also cover pods that name a Kubernetes PodGroup whose pods another group adopts
(`model.adoptions`).

Both scheduler and controller use this, with nothing but the pod and its namespace as input. So a
pod whose PodGroup does not exist yet is already a member, and waits for it. The labels are those
that each project's controller sets on its pods: JobSet api/jobset/v1alpha2, LeaderWorkerSet
api/leaderworkerset/v1, KubeRay ray-operator/controllers/ray/utils/constant.go, Spark operator
pkg/common/spark.go, training-operator and MPI operator pkg/apis/kubeflow.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from enbloc.model.adoptions import Adoptions
from enbloc.model.dns_names import LABEL, SUBDOMAIN
from enbloc.model.grouped import Index
from enbloc.model.groups import GroupKey
from enbloc.model.kai import UNNAMED
from enbloc.model.names import AUTO_GROUP_KEY, MIRROR_POD_KEY
from enbloc.model.pods import Pod, PodUID
from enbloc.model.text import clipped
from enbloc.wire.objects import OwnerReference, PodObject, controller_of

JOB: Final = "Job"
STATEFUL_SET: Final = "StatefulSet"
JOB_SET: Final = "JobSet"
LEADER_WORKER_SET: Final = "LeaderWorkerSet"
RAY_CLUSTER: Final = "RayCluster"
SPARK_APPLICATION: Final = "SparkApplication"
MPI_JOB: Final = "MPIJob"
#: Kinds of the training operator; all pods that they own are members.
TRAINING: Final = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")

#: Kinds whose pods are useless without each other.
GANGS: Final = frozenset(
    {JOB_SET, LEADER_WORKER_SET, RAY_CLUSTER, SPARK_APPLICATION, MPI_JOB, *TRAINING}
)
#: Kinds whose pods are often useful one by one.
OTHERS: Final = frozenset({JOB, STATEFUL_SET})
#: Every kind, by its name in lower case.
_KINDS: Final = {kind.lower(): kind for kind in GANGS | OTHERS}

#: The roles of kinds that name them differently, or not at all.
LEADER: Final = "leader"
WORKER: Final = "worker"
LAUNCHER: Final = "launcher"
DRIVER: Final = "driver"
EXECUTOR: Final = "executor"
HEAD: Final = "headgroup"

_NO_TEXTS: Final[Mapping[str, str]] = {}
_LONGEST: Final = 253
_HASHED: Final = 8
_QUOTED: Final = 40

_JOBSET: Final = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
_LWS: Final = "leaderworkerset.sigs.k8s.io/name"
_LWS_GROUP: Final = "leaderworkerset.sigs.k8s.io/group-index"
_LWS_WORKER: Final = "leaderworkerset.sigs.k8s.io/worker-index"
_RAY_GROUP: Final = "ray.io/group"
_SPARK_APPLICATION: Final = "sparkoperator.k8s.io/app-name"
#: The label by which Spark tells its driver from its executors.
SPARK_ROLE: Final = "spark-role"
_TRAINING_JOB: Final = "training.kubeflow.org/job-name"
_TRAINING_OPERATOR: Final = "training.kubeflow.org/operator-name"
_TRAINING_TYPE: Final = "training.kubeflow.org/replica-type"
_TRAINING_ROLE: Final = "training.kubeflow.org/job-role"
_MPI_OPERATORS: Final = frozenset({"mpi-operator", "mpijob-controller"})
#: Kinds whose pods are recognised only by their controller, with its API group.
_BY_OWNER: Final = {
    RAY_CLUSTER: "ray.io",
    JOB: "batch",
    STATEFUL_SET: "apps",
    **dict.fromkeys(TRAINING, "kubeflow.org"),
}


class AutoGroup(NamedTuple):
    """The group to which a pod belongs if groups are made for its kind.

    Attributes:
        kind: the workload's kind.
        name: the name of the PodGroup of the whole workload.
        wave: the name of the PodGroup of its part of the workload, if that part is created later
            than the rest and has its own; "" = never.
        role: its role in the workload; "" = none, or not a valid role name.
    """

    kind: str
    name: str
    wave: str = ""
    role: str = ""


def group_name(kind: str, name: str, uid: str = "", part: str = "") -> str:
    """The name of the PodGroup of a workload, or of a part of it.

    Args:
        kind: of the workload.
        name: of the workload.
        uid: the workload's UID, if its pods show it: a rerun then has a PodGroup of its own.
        part: which part; "" = the whole.
    """
    digest = hashlib.sha256(f"{kind}\n{name}\n{uid}\n{part}".encode(errors="replace"))
    readable = "-".join(filter(None, (kind.lower(), name, part)))
    cut = readable[: _LONGEST - _HASHED - 1].rstrip("-.")
    return f"{cut}-{digest.hexdigest()[:_HASHED]}"


def role_name(text: str) -> str:
    """The role of that name, in lower case, since cases vary; "" = not a valid role name."""
    lower = text.lower()
    return lower if LABEL.fullmatch(lower) else ""


def in_its_part(wave: GroupKey, groups: Container[GroupKey], before: GroupKey | None) -> bool:
    """Whether what is created for a part of a workload is in that part's group.

    It is from the moment there is one, and stays there if that is deleted (semantics §6.6).

    Args:
        wave: the group of the part.
        groups: the PodGroups that exist.
        before: where it was so far; None = nowhere.
    """
    return wave in groups or before == wave


def auto_group(labels: Mapping[str, str], owner: OwnerReference | None) -> AutoGroup | None:
    """The group that a pod belongs to by its labels and its controller; None = none.

    A pod belongs to none if no PodGroup can have the name: the API server would refuse it.

    Args:
        labels: of the pod.
        owner: its controller; None = it has none.
    """
    if owner is None:
        return None
    found = _by_labels(labels) or _by_owner(labels, owner)
    if found is None or not SUBDOMAIN.fullmatch(found.name):
        return None
    return found if SUBDOMAIN.fullmatch(found.wave) else found._replace(wave="")


def _by_labels(labels: Mapping[str, str]) -> AutoGroup | None:
    if jobset := labels.get(_JOBSET):
        part = labels.get(_REPLICATED_JOB, "")
        wave = group_name(JOB_SET, jobset, part=part) if part else ""
        return AutoGroup(JOB_SET, group_name(JOB_SET, jobset), wave, role_name(part))
    lws, index = labels.get(_LWS), labels.get(_LWS_GROUP)
    if lws and index:
        role = LEADER if labels.get(_LWS_WORKER) == "0" else WORKER
        return AutoGroup(
            LEADER_WORKER_SET, group_name(LEADER_WORKER_SET, lws, part=index), "", role
        )
    if application := labels.get(_SPARK_APPLICATION):
        role = role_name(labels.get(SPARK_ROLE, ""))
        return AutoGroup(SPARK_APPLICATION, group_name(SPARK_APPLICATION, application), "", role)
    job = labels.get(_TRAINING_JOB)
    if job and labels.get(_TRAINING_OPERATOR) in _MPI_OPERATORS:
        role = role_name(labels.get(_TRAINING_TYPE) or labels.get(_TRAINING_ROLE, ""))
        return AutoGroup(MPI_JOB, group_name(MPI_JOB, job), "", role)
    return None


def _by_owner(labels: Mapping[str, str], owner: OwnerReference) -> AutoGroup | None:
    group = _BY_OWNER.get(owner.kind)
    if group is None or owner.api_version.partition("/")[0] != group:
        return None
    role = labels.get(_RAY_GROUP) if owner.kind == RAY_CLUSTER else labels.get(_TRAINING_TYPE)
    name = group_name(owner.kind, owner.name, owner.uid)
    return AutoGroup(owner.kind, name, "", role_name(role or ""))


def kinds_of(switch: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The kinds for which a namespace's label switches groups on, and its unknown words.

    "true": kinds whose pods are useless without each other. "all": every kind. "false", "": none.
    Else kinds, separated by dots.
    """
    if switch in ("", "false"):
        return frozenset(), ()
    if switch == "true":
        return GANGS, ()
    if switch == "all":
        return GANGS | OTHERS, ()
    words = switch.split(".")
    return (
        frozenset(_KINDS[word.lower()] for word in words if word.lower() in _KINDS),
        tuple(word for word in words if word.lower() not in _KINDS),
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A pod that may belong to a group, and the group that it currently belongs to.

    Attributes:
        auto: the group of its workload; None = it names a group by Kubernetes' own field.
    """

    auto: AutoGroup | None
    said: str
    plain: Pod
    pod: Pod
    ready: bool


class AutoGroups:
    """Which pods belong to groups that they do not name, as pods, namespaces and groups change.

    Args:
        unknown: whether every kind counts as switched on in a namespace that has not been seen.
            With True, the scheduler waits for the namespace; with False, the controller makes no
            PodGroups yet.

    Attributes:
        adoptions: the Kubernetes PodGroups whose pods other groups adopt.
        groups: the PodGroups that exist.
    """

    def __init__(self, *, unknown: bool) -> None:
        self._unknown = GANGS | OTHERS if unknown else frozenset[str]()
        self._switches: dict[str, frozenset[str]] = {}
        self._candidates: dict[PodUID, _Candidate] = {}
        self._in: Index[str, PodUID] = Index()
        self._on: Index[GroupKey, PodUID] = Index()
        self.groups: Final[set[GroupKey]] = set()
        self.adoptions: Final = Adoptions()

    def pod(self, found: PodObject, pod: Pod, *, ready: bool = False) -> Pod:
        """The pod, with the group that it belongs to.

        Args:
            found: as the API server shows it.
            pod: what was read of it.
            ready: what `was_ready` will return for it.
        """
        metadata = found.metadata
        labels = metadata.labels or _NO_TEXTS
        annotations = metadata.annotations or _NO_TEXTS
        auto = None
        unnamed = pod.group is None or pod.group.name == UNNAMED
        if unnamed and MIRROR_POD_KEY not in annotations:
            auto = auto_group(labels, controller_of(metadata.owner_references))
        known = self._candidates.get(pod.uid)
        if known is not None and (known.auto, known.plain.group) != (auto, pod.group):
            self.gone(pod.uid)
            known = None
        if auto is None and not _named_by_field(found, pod):
            return pod
        said = annotations.get(AUTO_GROUP_KEY) or labels.get(AUTO_GROUP_KEY, "")
        if known is None:
            if auto is not None:
                self._in.add(pod.key.namespace, pod.uid)
            if (group := _depends_on(auto, pod)) is not None:
                self._on.add(group, pod.uid)
        resolved = self._resolved(auto, said, pod, known)
        self._candidates[pod.uid] = _Candidate(auto, said, pod, resolved, ready)
        return resolved

    def was_ready(self, uid: PodUID) -> bool:
        """Whether a pod that may belong to a group was ready when last seen."""
        return uid in self._candidates and self._candidates[uid].ready

    def gone(self, uid: PodUID) -> None:
        """Forget a pod that was deleted, or that names a group now."""
        candidate = self._candidates.pop(uid, None)
        if candidate is None:
            return
        if candidate.auto is not None:
            self._in.drop(candidate.pod.key.namespace, uid)
        if (group := _depends_on(candidate.auto, candidate.plain)) is not None:
            self._on.drop(group, uid)

    def namespace(self, name: str, labels: Mapping[str, str]) -> list[Pod]:
        """Add or update a namespace; returns the pods whose group changed."""
        kinds, _ = kinds_of(labels.get(AUTO_GROUP_KEY, ""))
        if self._switches.get(name) == kinds:
            return []
        self._switches[name] = kinds
        return list(self._changed(self._in.get(name, {})))

    def namespace_gone(self, name: str) -> None:
        """Forget a namespace that was deleted, after everything in it."""
        self._switches.pop(name, None)

    def group(self, key: GroupKey, adoptions: Mapping[str, str] = _NO_TEXTS) -> list[Pod]:
        """Record a PodGroup that was seen; returns the pods whose group changed.

        Args:
            key: of the PodGroup.
            adoptions: the roles in which it adopts pods of Kubernetes PodGroups, by PodGroup.
        """
        touched = self.adoptions.put(key, adoptions)
        if key not in self.groups:
            self.groups.add(key)
            touched.append(key)
        return self._regrouped(touched)

    def group_gone(self, key: GroupKey) -> list[Pod]:
        """Record that a PodGroup was deleted; returns the pods whose group changed.

        If the PodGroup of a part is deleted, its pods stay in it and wait: as members of the whole
        they would be bound one by one, as a partially bound gang. A pod changes groups only once,
        however often the PodGroup is deleted.
        """
        self.groups.discard(key)
        return self._regrouped(self.adoptions.put(key, {}))

    def _regrouped(self, groups: Iterable[GroupKey]) -> list[Pod]:
        return [pod for key in groups for pod in self._changed(self._on.get(key, {}))]

    def _changed(self, uids: Mapping[PodUID, None]) -> Iterator[Pod]:
        for uid in uids:
            before = self._candidates[uid]
            after = self._resolved(before.auto, before.said, before.plain, before)
            if after != before.pod:
                self._candidates[uid] = replace(before, pod=after)
                yield after

    def _resolved(
        self, auto: AutoGroup | None, said: str, pod: Pod, before: _Candidate | None
    ) -> Pod:
        if auto is None:
            return self._adopted(pod, before)
        kinds = self._switches.get(pod.key.namespace, self._unknown)
        if said not in ("", "true", "false"):
            problem = f'{AUTO_GROUP_KEY} is "{clipped(said, _QUOTED)}"; use "true" or "false"'
            pod = replace(pod, problem="; ".join(filter(None, (pod.problem, problem))))
        elif said == "false" or (not said and auto.kind not in kinds):
            return pod
        wave = GroupKey(pod.key.namespace, auto.wave)
        so_far = before.pod.group if before is not None else None
        apart = in_its_part(wave, self.groups, so_far)
        key = wave if apart else GroupKey(pod.key.namespace, auto.name)
        return replace(pod, group=key, role=auto.role)

    def _adopted(self, pod: Pod, before: _Candidate | None) -> Pod:
        """A pod that names a Kubernetes PodGroup, in the group that adopts it, or last did."""
        adoption = self.adoptions.of(pod.group) if pod.group is not None else None
        if adoption is not None:
            return replace(pod, group=adoption.group, role=adoption.role)
        last = pod if before is None else before.pod
        return replace(pod, group=last.group, role=last.role)


def _named_by_field(found: PodObject, pod: Pod) -> bool:
    """Whether it names its group by Kubernetes' own field."""
    field = found.spec.scheduling_group if found.spec is not None else None
    return field is not None and pod.group is not None and field.pod_group_name == pod.group.name


def _depends_on(auto: AutoGroup | None, pod: Pod) -> GroupKey | None:
    """The PodGroup whose existence determines a pod's group; None = none does."""
    if auto is None:
        return pod.group
    return GroupKey(pod.key.namespace, auto.wave) if auto.wave else None
