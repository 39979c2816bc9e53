# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DefaultPreemption: which pods give way to one that fits nowhere."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class DefaultPreemption:
    """A name that configurations may enable, with its arguments; it has no say yet.

    Attributes:
        min_candidate_nodes_percentage: of the nodes, at least so many are tried, in percent.
        min_candidate_nodes_absolute: and at least so many.
    """

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    name: ClassVar[str] = "DefaultPreemption"
