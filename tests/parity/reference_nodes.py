# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The plugins that look at one node and no further: taints, affinity, ports, features, images.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodeunschedulable;
pkg/scheduler/framework/plugins/nodename; pkg/scheduler/framework/plugins/tainttoleration;
pkg/scheduler/framework/plugins/nodeaffinity; pkg/scheduler/framework/plugins/nodeports;
pkg/scheduler/framework/plugins/nodedeclaredfeatures; pkg/scheduler/framework/plugins/imagelocality.
"""

from collections.abc import Sequence

from enbloc.model.node import Node
from enbloc.model.pods import HostPort, PodSpec
from enbloc.model.taints import Effect, Taint
from tests.parity.hosts import Host
from tests.parity.reference_matching import (
    any_term_matches,
    kept_off,
    term_matches,
    tolerates,
    wants_node,
)
from tests.parity.settings import Settings

MIB = 1024 * 1024


def unschedulable(spec: PodSpec, node: Node) -> str:
    taint = Taint("node.kubernetes.io/unschedulable", "", Effect.NO_SCHEDULE)
    passes = not node.unschedulable or any(tolerates(t, taint) for t in spec.tolerations)
    return "" if passes else "node(s) were unschedulable"


def node_name(spec: PodSpec, node: Node) -> str:
    passes = spec.node_name in ("", node.name)
    return "" if passes else "node(s) didn't match the requested node name"


def taints(spec: PodSpec, node: Node) -> str:
    return "node(s) had untolerated taint(s)" if kept_off(spec, node) else ""


def soft_taints(spec: PodSpec, node: Node) -> int:
    """TaintToleration's raw score."""
    soft = [t for t in spec.tolerations if t.effect in (None, Effect.PREFER_NO_SCHEDULE)]
    return sum(
        not any(tolerates(toleration, taint) for toleration in soft)
        for taint in node.taints
        if taint.effect == Effect.PREFER_NO_SCHEDULE
    )


def affinity(spec: PodSpec, node: Node, settings: Settings) -> str:
    if not any_term_matches(settings.added_required, node):
        return "node(s) didn't match scheduler-enforced node affinity"
    return "" if wants_node(spec, node) else "node(s) didn't match Pod's node affinity/selector"


def affinity_names(spec: PodSpec) -> frozenset[str] | None:
    """The only nodes that NodeAffinity's PreFilter leaves; None = all of them."""
    if not spec.node_affinity:
        return None
    names: set[str] = set()
    for term in spec.node_affinity:
        named = [set(each.values) for each in term.fields if each.operator == "In"]
        if not named:
            return None
        names |= set.intersection(*named)
    return frozenset(names)


def preferred_affinity(spec: PodSpec, node: Node, settings: Settings) -> int:
    """NodeAffinity's raw score."""
    terms = (*settings.added_preferred, *spec.preferred_node_affinity)
    return sum(weight for weight, term in terms if term_matches(term, node))


def ports(spec: PodSpec, host: Host) -> str:
    used = [port for pod in host.pods for port in pod.spec.host_ports]
    if any(_conflict(wanted, taken) for wanted in spec.host_ports for taken in used):
        return "node(s) didn't have free ports for the requested pod ports"
    return ""


def _conflict(wanted: HostPort, taken: HostPort) -> bool:
    if (wanted.protocol, wanted.port) != (taken.protocol, taken.port):
        return False
    return "0.0.0.0" in (wanted.ip, taken.ip) or wanted.ip == taken.ip


def features(spec: PodSpec, node: Node) -> str:
    passes = set(spec.features) <= set(node.features)
    return "" if passes else "node(s) didn't match Pod's required features"


def images(spec: PodSpec, node: Node, nodes: Sequence[Node]) -> int:
    """ImageLocality's score."""
    here = dict(node.images)
    total = 0
    for image in (*spec.images, *spec.image_volumes):
        if image in here:
            having = sum(image in dict(each.images) for each in nodes)
            total += int(here[image] * (having / len(nodes)))
    least, most = 23 * MIB, 1000 * MIB * len(spec.images)
    if total < least or not spec.images:
        return 0
    return 100 * (min(total, most) - least) // (most - least)
