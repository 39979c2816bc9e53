# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The resources that enbloc uses, and their URL paths on the API server."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from enbloc.model import names
from enbloc.model.topology import KAI_GROUP, KOORDINATOR_GROUP, KUEUE_GROUP, VOLCANO_GROUP


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource type.

    Attributes:
        group: the API group; "" for the core group.
        version: the version ("v1").
        plural: the name in URLs ("pods").
        kind: the kind of its objects ("Pod").
        namespaced: whether its objects live in namespaces.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects ("v1", "enbloc.dev/v1alpha1")."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def label(self, subresource: str = "") -> str:
        """The resource as RBAC and messages spell it ("pods/binding", "podgroups.enbloc.dev")."""
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{name}/{subresource}" if subresource else name

    @property
    def known_as(self) -> str:
        """The plural, with the group for other projects' kinds, because plurals repeat there."""
        of_kubernetes = "." not in self.group or self.group.endswith(".k8s.io")
        return self.plural if of_kubernetes or self.group == names.API_GROUP else self.label()

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, an object or a subresource, percent-encoded."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", _encoded(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(_encoded(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


def _encoded(text: str) -> str:
    """The text percent-encoded; most object names need no encoding."""
    plain = text.replace("-", "a").replace(".", "a")
    return text if plain.isascii() and plain.isalnum() else quote(text, safe="")


PODS: Final = Resource("", "v1", "pods", "Pod")
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICES: Final = Resource("", "v1", "services", "Service")
REPLICATION_CONTROLLERS: Final = Resource(
    "", "v1", "replicationcontrollers", "ReplicationController"
)
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
#: The same events, with other field names and more field selectors.
CORE_EVENTS: Final = Resource("", "v1", "events", "Event")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
_SCHEDULING: Final = "scheduling.k8s.io"
PRIORITY_CLASSES: Final = Resource(
    _SCHEDULING, "v1", "priorityclasses", "PriorityClass", namespaced=False
)
#: Kubernetes' own PodGroups, in every version served so far, the newest first.
NATIVE_POD_GROUPS: Final = tuple(
    Resource(_SCHEDULING, version, "podgroups", "PodGroup")
    for version in ("v1", "v1beta1", "v1alpha3", "v1alpha2")
)
POD_DISRUPTION_BUDGETS: Final = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"
)
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
CLUSTER_ROLE_BINDINGS: Final = Resource(
    "rbac.authorization.k8s.io",
    "v1",
    "clusterrolebindings",
    "ClusterRoleBinding",
    namespaced=False,
)
PERSISTENT_VOLUMES: Final = Resource(
    "", "v1", "persistentvolumes", "PersistentVolume", namespaced=False
)
PERSISTENT_VOLUME_CLAIMS: Final = Resource(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"
)
_STORAGE: Final = "storage.k8s.io"
STORAGE_CLASSES: Final = Resource(
    _STORAGE, "v1", "storageclasses", "StorageClass", namespaced=False
)
CSI_NODES: Final = Resource(_STORAGE, "v1", "csinodes", "CSINode", namespaced=False)
CSI_DRIVERS: Final = Resource(_STORAGE, "v1", "csidrivers", "CSIDriver", namespaced=False)
CSI_STORAGE_CAPACITIES: Final = Resource(
    _STORAGE, "v1", "csistoragecapacities", "CSIStorageCapacity"
)
VOLUME_ATTACHMENTS: Final = Resource(
    _STORAGE, "v1", "volumeattachments", "VolumeAttachment", namespaced=False
)
_DEVICES: Final = "resource.k8s.io"
#: The versions of resource.k8s.io that can be read, the best one first.
DEVICE_VERSIONS: Final = ("v1", "v1beta2", "v1beta1")
RESOURCE_CLAIMS: Final = Resource(_DEVICES, "v1", "resourceclaims", "ResourceClaim")
RESOURCE_SLICES: Final = Resource(
    _DEVICES, "v1", "resourceslices", "ResourceSlice", namespaced=False
)
DEVICE_CLASSES: Final = Resource(_DEVICES, "v1", "deviceclasses", "DeviceClass", namespaced=False)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
TOKEN_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
SUBJECT_ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
CRDS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
POD_GROUPS: Final = Resource(
    names.API_GROUP, names.API_VERSION, names.POD_GROUP_PLURAL, names.POD_GROUP_KIND
)
TOPOLOGIES: Final = Resource(
    names.API_GROUP,
    names.API_VERSION,
    names.TOPOLOGY_PLURAL,
    names.TOPOLOGY_KIND,
    namespaced=False,
)
KUEUE_TOPOLOGIES: Final = Resource(
    KUEUE_GROUP, "v1beta2", "topologies", "Topology", namespaced=False
)
KAI_TOPOLOGIES: Final = Resource(KAI_GROUP, "v1alpha1", "topologies", "Topology", namespaced=False)
KOORDINATOR_TOPOLOGIES: Final = Resource(
    KOORDINATOR_GROUP,
    "v1alpha1",
    "clusternetworktopologies",
    "ClusterNetworkTopology",
    namespaced=False,
)
HYPER_NODES: Final = Resource(
    VOLCANO_GROUP, "v1alpha1", "hypernodes", "HyperNode", namespaced=False
)
