# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Begun: the victims that another leader had chosen, as pods and groups show it."""

from collections.abc import Collection

from enbloc.engine.state import ClusterState, Groups, solo_key
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod


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
            members = groups.get(groups.key_of(uid) or solo_key(pod))
            if members is None or members.solo:
                key, priority = solo_key(pod), pod.priority
            else:
                key, priority = members.key, groups.facts(members).priority
            if priority < facts.priority:
                found.setdefault(key, []).append(pod)
    for key, pods in found.items():
        members = groups.get(key)
        if members is not None and groups.facts(members).deficit:
            pods += [pod for pod in members.bound if pod not in pods]
    return found
