# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which hooks each kind has, and the objects that every cluster starts with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from enbloc_sandbox.apiserver.kinds.cluster import (
    SYSTEM_PRIORITIES,
    Namespace,
    Node,
    PriorityClass,
)
from enbloc_sandbox.apiserver.kinds.crds import CustomResourceDefinition
from enbloc_sandbox.apiserver.kinds.devices import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
from enbloc_sandbox.apiserver.kinds.events_and_leases import Event, Lease
from enbloc_sandbox.apiserver.kinds.hooks import Api, Counted, Kind, Returned
from enbloc_sandbox.apiserver.kinds.pods import Pod
from enbloc_sandbox.apiserver.kinds.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from enbloc_sandbox.apiserver.kinds.workloads import Budget, Job, Workload
from enbloc_sandbox.apiserver.request.options import Options

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def hooks() -> Mapping[str, Kind]:
    """Storage → hooks; kinds that are not named are stored as they come."""
    workload, counted, returned = Workload(), Counted(), Returned()
    return {
        "customresourcedefinitions.apiextensions.k8s.io": CustomResourceDefinition(),
        "daemonsets.apps": workload,
        "deployments.apps": workload,
        "events": Event(),
        "jobs.batch": Job(),
        "leases.coordination.k8s.io": Lease(),
        "cronjobs.batch": counted,
        "namespaces": Namespace(),
        "nodes": Node(),
        "csidrivers.storage.k8s.io": CSIDriver(),
        "csinodes.storage.k8s.io": CSINode(),
        "csistoragecapacities.storage.k8s.io": CSIStorageCapacity(),
        "persistentvolumeclaims": PersistentVolumeClaim(),
        "persistentvolumes": PersistentVolume(),
        "poddisruptionbudgets.policy": Budget(),
        "pods": Pod(),
        "priorityclasses.scheduling.k8s.io": PriorityClass(),
        "replicasets.apps": workload,
        "replicationcontrollers": workload,
        "resourcequotas": returned,
        "deviceclasses.resource.k8s.io": DeviceClass(),
        "resourceclaims.resource.k8s.io": ResourceClaim(),
        "resourceclaimtemplates.resource.k8s.io": ResourceClaimTemplate(),
        "resourceslices.resource.k8s.io": ResourceSlice(),
        "storageclasses.storage.k8s.io": StorageClass(),
        "volumeattachments.storage.k8s.io": VolumeAttachment(),
        "serviceaccounts": returned,
        "services": returned,
        "statefulsets.apps": workload,
    }


def seed(api: Api) -> None:
    """Create what a new cluster has: namespaces with their accounts, system priorities."""
    options = Options(manager="kube-apiserver")
    namespaces = api.catalog.builtin("namespaces")
    for name in _NAMESPACES:
        api.create(namespaces, "", {"metadata": {"name": name}}, options)
    priorities = api.catalog.builtin("priorityclasses", "scheduling.k8s.io")
    for name, value in SYSTEM_PRIORITIES.items():
        api.create(priorities, "", {"metadata": {"name": name}, "value": value}, options)
