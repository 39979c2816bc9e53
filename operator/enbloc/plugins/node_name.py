# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeName: a pod that names its node goes nowhere else."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod


@dataclass(frozen=True)
class NodeName:
    """Keep a pod with `spec.nodeName` off every other node.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/nodename/node_name.go Filter.
    """

    name: ClassVar[str] = "NodeName"
    same_on_any_host: ClassVar[bool] = True
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) didn't match the requested node name"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_TAINT),
    )

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True on the node that the pod names; everywhere if it names none."""
        if not pod.spec.node_name:
            return np.ones(len(nodes), np.bool_)
        return nodes.named((pod.spec.node_name,))
