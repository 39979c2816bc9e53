# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HyperNode: nodes, or other HyperNodes, that Volcano says are near each other."""

from collections.abc import Callable
from dataclasses import dataclass, field

from enbloc.model.selectors import Selector


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression.

    Attributes:
        text: as it is written.
        search: looks for it in a text; None = it is not there.
    """

    text: str
    search: Callable[[str], object] = field(compare=False)


@dataclass(frozen=True, slots=True)
class HyperNode:
    """A HyperNode object.

    Attributes:
        tier: the lower, the nearer are its nodes to each other.
        tier_name: what the tier is called; "" = by its number.
        nodes: names of nodes that are in it.
        patterns: of which one is found in the name of a node that is in it.
        selectors: of which one selects a node that is in it.
        children: names of HyperNodes that are in it.
        problem: what could not be read, with the fix; "" = nothing. That member counts as absent.
    """

    name: str
    tier: int = 0
    tier_name: str = ""
    nodes: frozenset[str] = frozenset()
    patterns: tuple[Pattern, ...] = ()
    selectors: tuple[Selector, ...] = ()
    children: frozenset[str] = frozenset()
    problem: str = ""
