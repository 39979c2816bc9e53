# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What nodes tell of a topology: the levels that their labels make, the capacity of each domain.

Both are pure: facts of nodes go in, what `enbloc topology` prints comes out.
"""

from enbloc.topology.levels import HOST, Found, chosen, guessed
from enbloc.topology.overview import DomainCapacity, Overview, overview

__all__ = [
    "HOST",
    "DomainCapacity",
    "Found",
    "Overview",
    "chosen",
    "guessed",
    "overview",
]
