# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Begun: preemptions that another leader or scheduler has begun, as pods show them."""

from collections.abc import Collection, Container, Sequence

from enbloc.engine.state import ClusterState, Groups, solo_key
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


def begun(
    state: ClusterState, groups: Groups, facts: GroupFacts, nodes: Collection[str]
) -> dict[GroupKey, list[Pod]]:
    """Return the pods chosen to leave some nodes; of a gang below its minimum, all members.

    Semantics §10.3.

    Args:
        state: the cluster.
        groups: of these pods.
        facts: the preemptor, which was nominated for these nodes.
        nodes: skipped if cordoned: pods may leave it for a drain.
    """
    found: dict[GroupKey, list[Pod]] = {}
    for name in sorted(nodes):
        node = state.nodes.node(name)
        if node is None or node.unschedulable:
            continue
        for uid in sorted(pod.uid for pod in state.on(name)):
            pod = state.pods.get(uid)
            if pod is None or not pod.preempted or not pod.node:
                continue
            key, priority = _whose(groups, pod)
            if priority < facts.priority:
                found.setdefault(key, []).append(pod)
    for key, pods in found.items():
        run = groups.get(key)
        if run is not None and groups.facts(run).deficit:
            pods += [pod for pod in run.bound if pod not in pods]
    return found


def awaited(
    state: ClusterState, groups: Groups, facts: GroupFacts, spared: Container[PodUID]
) -> Sequence[tuple[Pod, str]]:
    """Return the pending pods of a group for which others are leaving their nodes, with these.

    Args:
        state: the cluster.
        groups: of these pods.
        facts: the group.
        spared: pods that are no longer waited for.
    """

    def leaving(node: str) -> bool:
        return any(
            pod.deleting and pod.preempted and _whose(groups, pod)[1] < facts.priority
            for pod in state.on(node)
            if pod.uid not in spared
        )

    nominated = [(pod, pod.nominated) for pod in facts.pending if pod.nominated]
    return [(pod, node) for pod, node in nominated if leaving(node)]


def _whose(groups: Groups, pod: Pod) -> tuple[GroupKey, int]:
    """Return the group of a pod, or the solo group of the pod itself, and its priority."""
    run = groups.get(groups.key_of(pod.uid) or solo_key(pod))
    if run is None or run.solo:
        return solo_key(pod), pod.priority
    return run.key, groups.priority(run)
