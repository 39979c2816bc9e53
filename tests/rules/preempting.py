# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that are full of others, and who had to leave them."""

from enbloc.framework.profile import Profile
from tests.world.cluster import Cluster


def full(nodes: str = "n1 n2", profile: Profile | None = None, **of: int) -> Cluster:
    """Nodes of one CPU each, full of one bound pod of priority 0."""
    cluster = Cluster(profiles={"enbloc": profile} if profile is not None else None)
    cluster.nodes(nodes, cpu=1)
    for name in nodes.split():
        cluster.pod(f"low-{name}", node=name, priority=of.get(name, 0), started=10.0)
    return cluster


def evicted(cluster: Cluster) -> set[str]:
    """The names of those who were told to leave."""
    return {effect.pod.name for effect in cluster.evicted}
