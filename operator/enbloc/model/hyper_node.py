# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HyperNode: Volcano's object that groups nodes, or other HyperNodes, that are close."""

from collections.abc import Callable
from dataclasses import dataclass, field

from enbloc.model.selectors import Selector


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression.

    Attributes:
        text: the expression as written.
        search: finds it in a text; None = no match.
    """

    text: str
    search: Callable[[str], object] = field(compare=False)


@dataclass(frozen=True, slots=True)
class HyperNode:
    """A HyperNode object.

    Attributes:
        tier: the lower, the closer its nodes are to each other.
        tier_name: the tier's name; "" = it goes by its number.
        nodes: the names of nodes in it.
        patterns: nodes whose name matches one of these are in it.
        selectors: nodes that one of these selects are in it.
        children: the names of HyperNodes in it.
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
