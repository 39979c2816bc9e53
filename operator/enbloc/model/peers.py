# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Peers: other batch schedulers whose schedulerName enbloc may serve, and what it lacks."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Peer(NamedTuple):
    """Another scheduler, and what a cluster loses that moves from it to enbloc.

    Attributes:
        project: the name of the project.
        lacks: what it does but enbloc does not, each with the kinds, keys or plugins concerned.
    """

    project: str
    lacks: tuple[str, ...]


#: By the schedulerName that the project's clients write into pods.
PEERS: Final[Mapping[str, Peer]] = {
    "scheduler-plugins-scheduler": Peer(
        "scheduler-plugins",
        (
            "ElasticQuota (CapacityScheduling)",
            "NUMA zones (NodeResourceTopologyMatch)",
            "AppGroup and NetworkTopology (TopologicalSort, NetworkOverhead)",
            "scores by measured load (Trimaran)",
            "the other plugins of the project",
        ),
    ),
    "volcano": Peer(
        "Volcano",
        (
            "queues and fair share (Queue, proportion, capacity, drf)",
            "reclaim",
            "GPU sharing (deviceshare) and NUMA (numaaware)",
            "Jobs of batch.volcano.sh, which keep Volcano's own controller and admission",
        ),
    ),
    "yunikorn": Peer(
        "YuniKorn",
        (
            "queues with their quotas, user limits and fair share",
            "preemption between queues",
            "placeholder pods: enbloc plans the whole task group instead",
            "its REST API and web UI",
        ),
    ),
    "kai-scheduler": Peer(
        "KAI",
        (
            "queues with quota, fair share and reclaim",
            "consolidation",
            "fractions of a GPU (gpu-fraction, gpu-memory)",
        ),
    ),
    "koord-scheduler": Peer(
        "Koordinator",
        (
            "quotas (ElasticQuota)",
            "Reservations of its own",
            "scores by measured load (LoadAwareScheduling)",
            "fractions of a GPU, RDMA and NUMA (DeviceShare, NodeNUMAResource)",
            "batch-cpu and batch-memory as anything but extended resources",
        ),
    ),
    "godel-scheduler": Peer(
        "Gödel",
        (
            "best-effort pods next to guaranteed ones, with separate resources",
            "NUMA (CustomNodeResource)",
            "rescheduling (Movement)",
            "application and affinity of its PodGroups",
        ),
    ),
}


def not_served(scheduler: str) -> str:
    """What to say of a profile of that schedulerName; "" if it is no peer's."""
    peer = PEERS.get(scheduler)
    if peer is None:
        return ""
    return f'"{scheduler}" is {peer.project}\'s name; not served are: {"; ".join(peer.lacks)}'
