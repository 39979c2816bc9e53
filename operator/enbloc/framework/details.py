# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Details: what a plugin can say about a pod that found no node, beyond counted reasons."""

from typing import Protocol, runtime_checkable

from enbloc.framework.decide import Plugin
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod


@runtime_checkable
class Details(Plugin, Protocol):
    """A filter plugin that can say more than the reason under which nodes are counted."""

    def detail(self, pod: Pod, nodes: Nodes) -> str:
        """Which claim kept a pod off every node, and what that claim lacks.

        One sentence or more, each with its full stop; "" = nothing to add. It is shown after the
        reasons, cut to 512 characters. Called for a few pods of a group that was not placed.

        Args:
            pod: the pod that found no node.
            nodes: the nodes, with the members that were placed before it.
        """
        ...
