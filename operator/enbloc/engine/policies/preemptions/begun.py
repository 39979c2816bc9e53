# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Begun: preemptions that another leader, or a scheduler of others, has begun, as pods show it."""

from collections.abc import Collection, Container, Sequence

from enbloc.engine.state import ClusterState, Groups, solo_key
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


def begun(
    state: ClusterState, groups: Groups, facts: GroupFacts, nodes: Collection[str]
) -> dict[GroupKey, list[Pod]]:
    """Who was chosen to leave some nodes; with a gang that lacks some of its minimum, all of it.

    Semantics §10.3.

    Args:
        state: the cluster.
        groups: whose pods they are.
        facts: the preemptor, which was nominated for these nodes.
        nodes: a cordoned one may be drained by somebody else.
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
        members = groups.get(key)
        if members is not None and groups.facts(members).deficit:
            pods += [pod for pod in members.bound if pod not in pods]
    return found


def awaited(
    state: ClusterState, groups: Groups, facts: GroupFacts, spared: Container[PodUID]
) -> Sequence[tuple[Pod, str]]:
    """The pending pods of a group whose nodes others were told to leave for it, and do; with these.

    Args:
        state: the cluster.
        groups: whose pods they are.
        facts: the group.
        spared: pods that are waited for no more.
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
    """The group of a pod, or the one that it is alone, and its priority."""
    members = groups.get(groups.key_of(pod.uid) or solo_key(pod))
    if members is None or members.solo:
        return solo_key(pod), pod.priority
    return members.key, groups.priority(members)
