# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Begun: preemptions that another leader or scheduler has begun, as pods show them."""

from collections.abc import Collection, Container, Iterable, Sequence

from enbloc.engine.preemption import admitted, floors_of, gang_of, kueue_key, of_kueue, parted
from enbloc.engine.state import ClusterState, Groups, Run, solo_key
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


def begun(
    state: ClusterState, groups: Groups, facts: GroupFacts, nodes: Collection[str]
) -> dict[GroupKey, list[Pod]]:
    """Return the pods chosen to leave some nodes, with all that go with them elsewhere.

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
            key, priority = _whose(state, groups, pod)
            if priority < facts.priority:
                found.setdefault(key, []).append(pod)
    for key, pods in found.items():
        uids = {pod.uid for pod in pods}
        pods += [pod for pod in _with_them(state, groups, key, pods) if pod.uid not in uids]
    return found


def _with_them(
    state: ClusterState, groups: Groups, key: GroupKey, pods: Sequence[Pod]
) -> Sequence[Pod]:
    """Return the pods of a group that go with some of it: all if a part of its minimum goes.

    A pod that does not terminate yet is told now, and may be the first with the condition.
    """
    told = {pod.uid for pod in pods if not pod.deleting}
    if of_kueue(key):
        theirs = _admitted(state, groups, key)
        return theirs if told or all_chosen(pod for pod in theirs if pod.bound) else ()
    run = groups.get(key)
    if run is None or run.solo:
        return ()
    minimum, _ = parted(run.bound, floors_of(run))
    if not told.isdisjoint(pod.uid for pod in minimum):
        return run.bound
    return run.bound if groups.facts(run).deficit and all_chosen(run.bound) else ()


def all_chosen(bound: Iterable[Pod], known: Container[PodUID] = ()) -> bool:
    """Whether those of a unit that are left were chosen: all get the condition before any leaves.

    Otherwise who is gone has left by itself, or somebody else has evicted it.

    Args:
        bound: the pods of a group that do not terminate.
        known: pods that this process has chosen.
    """
    return all(pod.preempted or pod.uid in known for pod in bound)


def left_in_part(state: ClusterState, groups: Groups) -> dict[GroupKey, list[Pod]]:
    """Return the rest of groups of Kueue of which pods were told, and one leaves or is gone.

    A pod is gone if fewer are there than the pods say; one that has finished is there.
    """
    told = [pod for pod in state.pods.values() if pod.preempted and pod.node]
    keys = {key for pod in told if (key := kueue_key(pod)) is not None}
    if not keys:
        return {}
    there: dict[GroupKey, list[Pod]] = {}
    for pod in state.pods.values():
        key = kueue_key(pod) if pod.node and not pod.mirror else None
        if key is not None and key in keys and gang_of(groups, pod.uid) is None:
            there.setdefault(key, []).append(pod)
    found: dict[GroupKey, list[Pod]] = {}
    for key, pods in there.items():
        staying = [pod for pod in pods if not (pod.preempted and pod.deleting)]
        bound = sorted((pod for pod in staying if pod.bound), key=lambda pod: pod.seniority)
        all_of_them = min((pod.admitted_with for pod in bound), default=0)
        broken = len(staying) < max(len(pods), all_of_them)
        if broken and bound and all_chosen(bound):
            found[key] = bound
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
            pod.deleting and pod.preempted and _whose(state, groups, pod)[1] < facts.priority
            for pod in state.on(node)
            if pod.uid not in spared
        )

    nominated = [(pod, pod.nominated) for pod in facts.pending if pod.nominated]
    return [(pod, node) for pod, node in nominated if leaving(node)]


def leaves_without_minimum(run: Run) -> bool:
    """Whether a member was told and terminates, in a group whose minimum is not known."""
    return run.group is None and any(pod.deleting and pod.preempted for pod in run.pods.values())


def _whose(state: ClusterState, groups: Groups, pod: Pod) -> tuple[GroupKey, int]:
    """Return the group of a pod, or the solo group of the pod itself, and its priority."""
    run = gang_of(groups, pod.uid)
    if run is not None:
        return run.key, groups.priority(run)
    key = kueue_key(pod)
    if key is None:
        return solo_key(pod), pod.priority
    return key, min(each.priority for each in (pod, *_admitted(state, groups, key)))


def _admitted(state: ClusterState, groups: Groups, key: GroupKey) -> Sequence[Pod]:
    placed = state.placed.snapshot()
    return admitted(key, placed, placed.uids, state, groups)
