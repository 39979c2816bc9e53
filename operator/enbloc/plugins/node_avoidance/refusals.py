# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals: detects that a kubelet refused a pod, or that a node was lost."""

from typing import Final

from enbloc.framework.observations import NodeChanged, PodChanged

#: Reasons of ours, beside the kubelet's.
NODE_GONE: Final = "NodeGone"
NODE_NOT_READY: Final = "NodeNotReady"

#: Reasons about the node, whichever pod comes. All others (SysctlForbidden, AppArmor,
#: TopologyAffinityError, …) depend on what the pod requests: they bar the node for its group alone.
#: Otherwise two gangs that no kubelet accepts could bar the whole cluster for everybody.
#: Source: kubelet v1.36 pkg/kubelet/allocation/allocation_manager.go admissionRejectionReasons;
#: pkg/kubelet/lifecycle/predicate.go generalFilter, for the filters it runs again.
_OF_THE_NODE: Final = frozenset({
    "Evicted", "InvalidNodeInfo", "NodeAffinity", "NodeName", "NodePorts", "NodeShutdown",
    "TaintToleration", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType",
    "UnknownReason", "VolumeAttachmentLimitExceeded", NODE_GONE, NODE_NOT_READY,
})  # fmt: skip
_OUT_OF: Final = "OutOf"


def refusal(change: PodChanged) -> str:
    """The kubelet's reason, if this change shows that it refused a pod of ours; "" = it does not.

    A pod that is first seen refused is old news (a list holds failed pods for days).
    """
    old, pod = change.old, change.pod
    if not change.ours or old is None or old.rejected:
        return ""
    return pod.rejected


def lost(change: NodeChanged) -> str:
    """Why the members on a node can no longer rely on it after this change; "" = they can."""
    old, node = change.old, change.node
    if old is None:
        return ""
    if node is None or node.uid != old.uid:
        return NODE_GONE
    return NODE_NOT_READY if old.ready and not node.ready else ""


def of_the_node(why: str) -> bool:
    """Whether a reason is about the node rather than about the member's requests."""
    return why in _OF_THE_NODE or why.startswith(_OUT_OF)
