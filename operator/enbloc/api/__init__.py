# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of enbloc as pydantic models, for user input and for output; imported by shells.

It holds one module per kind, which a test compares with its file in `crds/`, and the meanings of
the words in their status. No I/O and no behaviour: what a field does is decided elsewhere. The core
reads objects by its own codec. The models are imported when they are used, so that the words alone
need no pydantic.
"""

from typing import TYPE_CHECKING

from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.api.podgroup import (
        Condition,
        GroupTopology,
        GroupTopologyStatus,
        ObjectMeta,
        PodGroup,
        PodGroupSpec,
        PodGroupStatus,
        Role,
        RoleStatus,
    )
    from enbloc.api.topology import Topology, TopologyLevel, TopologySpec

__all__ = [
    "Condition",
    "GroupTopology",
    "GroupTopologyStatus",
    "ObjectMeta",
    "PodGroup",
    "PodGroupSpec",
    "PodGroupStatus",
    "Role",
    "RoleStatus",
    "Topology",
    "TopologyLevel",
    "TopologySpec",
]

if not TYPE_CHECKING:  # type checkers know the names above, and no others
    _TOPOLOGY = ("Topology", "TopologyLevel", "TopologySpec")
    _OTHERS = [name for name in __all__ if name not in _TOPOLOGY]
    __getattr__, __dir__ = lazily(__name__, {"podgroup": _OTHERS, "topology": _TOPOLOGY})
