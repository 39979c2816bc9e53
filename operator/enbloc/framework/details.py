# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Details: what a plugin can say of a pod that found no node, beyond reasons by count."""

from typing import Protocol, runtime_checkable

from enbloc.framework.decide import Plugin
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod


@runtime_checkable
class Details(Plugin, Protocol):
    """A filter plugin that can say more than a reason by which nodes are counted."""

    def detail(self, pod: Pod, nodes: Nodes) -> str:
        """Which claim of a pod that it refused everywhere is at fault, and what that claim lacks.

        One sentence or more, each with its full stop; "" = there is nothing to add. It is shown
        after the reasons, cut to 512 characters. Asked of few pods of a group that was not placed.

        Args:
            pod: that found no node.
            nodes: with the members that were placed before it.
        """
        ...
