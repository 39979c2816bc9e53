# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""RayClusters, including those of RayJobs and RayServices: one PodGroup each.

Source of the meaning of fields: KubeRay v1.4, ray-operator/apis/ray/v1/raycluster_types.go and
ray-operator/controllers/ray/utils/util.go CalculateDesiredReplicas, CalculateMinReplicas.
"""

from typing import Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.source import Derived, RefusedGroup, Source, SourceObject
from enbloc.controller.sources.topology_keys import with_topology
from enbloc.controller.sources.workloads import (
    MetadataOnly,
    WorkloadPart,
    bounded,
    metadata_of,
    of_roles,
)
from enbloc.wire.auto_groups import HEAD, RAY_CLUSTER, group_name

RESOURCE: Final = Resource("ray.io", "v1", "rayclusters", RAY_CLUSTER)


class _WorkerGroup(WorkloadPart):
    group_name: str = ""
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    suspend: bool | None = None
    template: MetadataOnly | None = None

    def least(self, *, scales: bool) -> int:
        """How many pods it has at the start."""
        if self.suspend:
            return 0
        least = bounded(self.min_replicas, 0)
        replicas = least if scales else max(least, bounded(self.replicas, least))
        if self.max_replicas is not None:
            replicas = min(replicas, bounded(self.max_replicas))
        return bounded(replicas * max(1, bounded(self.num_of_hosts)))


class _HeadGroup(WorkloadPart):
    template: MetadataOnly | None = None


class _Spec(WorkloadPart):
    enable_in_tree_autoscaling: bool | None = None
    head_group_spec: _HeadGroup | None = None
    worker_group_specs: tuple[_WorkerGroup, ...] | None = None


class RayCluster(SourceObject):
    """A RayCluster."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: RayCluster) -> Derived | RefusedGroup:
    """The PodGroup of the head and all workers; workers that Ray scales count by their minimum."""
    spec = found.spec
    scales = bool(spec.enable_in_tree_autoscaling)
    groups = spec.worker_group_specs or ()
    roles = [(HEAD, 1), *((group.group_name, group.least(scales=scales)) for group in groups)]
    name = group_name(RAY_CLUSTER, found.metadata.name, found.metadata.uid)
    head = spec.head_group_spec.template if spec.head_group_spec is not None else None
    metadata = [(group.group_name, metadata_of(group.template)) for group in groups]
    return with_topology(of_roles(roles, name), [(HEAD, metadata_of(head)), *metadata])


RAY_CLUSTER_SOURCE: Final = Source("KubeRay", (RESOURCE,), RayCluster, derive, controls=True)
