# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each plugin must answer for one pod and one node: plain, slow, straight from the text.

The text is kube-scheduler's documented behaviour. Nothing here uses the tables, the masks, or any
method of the model that a plugin uses: only its fields.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from enbloc.model.node import Node
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator


@dataclass(frozen=True)
class Host:
    """One node and the classes of the pods that sit on it."""

    node: Node
    pods: tuple[PodSpec, ...]

    def allocatable(self, resource: str) -> int:
        return dict(self.node.allocatable).get(resource, 0)

    def requested(self, resource: str) -> int:
        return sum(dict(pod.requests).get(resource, 0) for pod in self.pods)


def unschedulable(pod: PodSpec, host: Host) -> bool:
    """NodeUnschedulable lets the pod pass."""
    taint = Taint("node.kubernetes.io/unschedulable", "", Effect.NO_SCHEDULE)
    return not host.node.unschedulable or any(_tolerates(t, taint) for t in pod.tolerations)


def node_name(pod: PodSpec, host: Host) -> bool:
    """NodeName lets the pod pass."""
    return pod.node_name in ("", host.node.name)


def taints(pod: PodSpec, host: Host) -> bool:
    """TaintToleration lets the pod pass."""
    for taint in host.node.taints:
        if taint.effect == Effect.PREFER_NO_SCHEDULE:
            continue
        if not any(_tolerates(toleration, taint) for toleration in pod.tolerations):
            return False
    return True


def soft_taints(pod: PodSpec, host: Host) -> int:
    """TaintToleration's raw score."""
    count = 0
    for taint in host.node.taints:
        if taint.effect != Effect.PREFER_NO_SCHEDULE:
            continue
        soft = [t for t in pod.tolerations if t.effect in (None, Effect.PREFER_NO_SCHEDULE)]
        if not any(_tolerates(toleration, taint) for toleration in soft):
            count += 1
    return count


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == TolerationOperator.EXISTS:
        return True
    # Lt and Gt stand behind a gate that is off.
    return toleration.operator == TolerationOperator.EQUAL and toleration.value == taint.value


def affinity(pod: PodSpec, host: Host) -> bool:
    """NodeAffinity lets the pod pass."""
    labels = dict(host.node.labels)
    for key, value in pod.node_selector:
        if labels.get(key) != value:
            return False
    if pod.node_affinity is None:
        return True
    return any(_term(term, host) for term in pod.node_affinity)


def _term(term: NodeSelectorTerm, host: Host) -> bool:
    if not term.expressions and not term.fields:
        return False
    labels = dict(host.node.labels)
    names = {"metadata.name": host.node.name}
    return all(_holds(expression, labels) for expression in term.expressions) and all(
        _holds(field, names) for field in term.fields
    )


def _holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    present = requirement.key in labels
    value = labels.get(requirement.key, "")
    if requirement.operator == Operator.IN:
        return present and value in requirement.values
    if requirement.operator == Operator.NOT_IN:
        return not present or value not in requirement.values
    if requirement.operator == Operator.EXISTS:
        return present
    if requirement.operator == Operator.DOES_NOT_EXIST:
        return not present
    if not present or len(requirement.values) != 1:
        return False
    try:
        number, limit = int(value), int(requirement.values[0])
    except ValueError:
        return False
    return number > limit if requirement.operator == Operator.GT else number < limit


def conflict(pod: PodSpec) -> bool:
    """NodeAffinity refuses the pod as a whole: every term names nodes, and none remains."""
    if not pod.node_affinity:
        return False
    remaining: set[str] = set()
    for term in pod.node_affinity:
        named = [set(field.values) for field in term.fields if field.operator == Operator.IN]
        if not named:
            return False
        remaining |= set.intersection(*named)
    return not remaining


def lacking(pod: PodSpec, host: Host) -> list[str]:
    """NodeResourcesFit's reasons; none = it lets the pod pass."""
    reasons: list[str] = []
    if len(host.pods) + 1 > host.allocatable("pods"):
        reasons.append("Too many pods")
    for resource, request in pod.requests:
        if resource == "pods" or request == 0:
            continue
        if request > host.allocatable(resource) - host.requested(resource):
            reasons.append(f"Insufficient {resource}")
    return reasons


def least_allocated(pod: PodSpec, host: Host) -> int:
    """NodeResourcesFit's raw score."""
    total = weights = 0
    for capacity, used in (
        (host.allocatable("cpu"), pod.nonzero_cpu + sum(p.nonzero_cpu for p in host.pods)),
        (host.allocatable("memory"), pod.nonzero_memory + sum(p.nonzero_memory for p in host.pods)),
    ):
        if capacity == 0:
            continue
        weights += 1
        if used <= capacity:
            total += (capacity - used) * 100 // capacity
    return total // weights if weights else 0


def reversed_by_default(scores: Sequence[int]) -> list[int]:
    """DefaultNormalize, reversed."""
    top = max(scores, default=0)
    return [100 if top == 0 else 100 - 100 * score // top for score in scores]


def refusals(pod: PodSpec, host: Host) -> list[str]:
    """The reasons of the first plugin that refuses this node, in kube-scheduler's order."""
    if not unschedulable(pod, host):
        return ["node(s) were unschedulable"]
    if not node_name(pod, host):
        return ["node(s) didn't match the requested node name"]
    if not taints(pod, host):
        return ["node(s) had untolerated taint(s)"]
    if not affinity(pod, host):
        return ["node(s) didn't match Pod's node affinity/selector"]
    return lacking(pod, host)


def fit_error(pod: PodSpec, hosts: Sequence[Host]) -> str:
    """The sentence for a pod that fits nowhere."""
    if conflict(pod):
        return f"0/{len(hosts)} nodes are available: pod affinity terms conflict."
    counts = Counter(reason for host in hosts for reason in refusals(pod, host))
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{len(hosts)} nodes are available:" + (f" {text}." if text else "")


def totals(pod: PodSpec, hosts: Sequence[Host]) -> dict[int, int]:
    """Weighted score of each feasible node: 3 × taints, normalised over these, + 1 × fit."""
    if conflict(pod):
        return {}
    rows = [row for row, host in enumerate(hosts) if not refusals(pod, host)]
    soft = reversed_by_default([soft_taints(pod, hosts[row]) for row in rows])
    return {
        row: 3 * score + least_allocated(pod, hosts[row])
        for row, score in zip(rows, soft, strict=True)
    }
