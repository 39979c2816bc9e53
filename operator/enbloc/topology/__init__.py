# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What nodes and HyperNodes tell of a topology: levels, domains, the capacity of each.

All of it is pure: facts go in, and what `enbloc topology` prints, or the engine is told, comes out.
"""

from enbloc.topology.hyper_nodes import HyperNodes
from enbloc.topology.levels import HOST, Found, chosen, guessed
from enbloc.topology.overview import DomainCapacity, Overview, overview

__all__ = [
    "HOST",
    "DomainCapacity",
    "Found",
    "HyperNodes",
    "Overview",
    "chosen",
    "guessed",
    "overview",
]
