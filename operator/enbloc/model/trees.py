# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of groups, in which a part of the sub-groups may suffice (semantics §2.8).

If every child is needed, the roles alone express it, and there is no tree.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tree:
    """An inner node of a tree: it is whole if `needed` of its children are.

    Attributes:
        name: the sub-group's name; "" = the PodGroup.
        needed: how many of its children must be whole.
        children: each a sub-group or a role's name, in the order listed, roles first.
    """

    name: str
    needed: int
    children: tuple["Tree | str", ...]

    def holds(self, whole: Callable[[str], bool]) -> bool:
        """Whether it is whole, if these roles are."""
        return sum(held(child, whole) for child in self.children) >= self.needed

    def roles(self) -> Iterator[str]:
        """The names of all roles in it."""
        for child in self.children:
            yield from roles_of(child)

    def nodes(self) -> Iterator["Tree"]:
        """The node itself, and every sub-group in it."""
        yield self
        for child in self.children:
            if isinstance(child, Tree):
                yield from child.nodes()

    @property
    def chooses(self) -> bool:
        """Whether some of its children, or of a sub-group's, are not needed."""
        return any(node.needed < len(node.children) for node in self.nodes())

    def least(self, minimums: Mapping[str, int]) -> int:
        """How many members the smallest choice needs, given the roles' minimums."""
        return sum(sorted(least_of(child, minimums) for child in self.children)[: self.needed])

    def counts(self) -> dict[str, int]:
        """How many children each node needs, by its name."""
        return {node.name: node.needed for node in self.nodes()}

    def lowered(self, most: Callable[["Tree"], int]) -> "Tree":
        """The tree with `needed` of each node lowered to at most `most(node)`."""
        children = tuple(
            child.lowered(most) if isinstance(child, Tree) else child for child in self.children
        )
        return replace(self, needed=min(self.needed, most(self)), children=children)


Child = Tree | str


def held(child: Child, whole: Callable[[str], bool]) -> bool:
    """Whether a child is whole, if these roles are."""
    return child.holds(whole) if isinstance(child, Tree) else whole(child)


def roles_of(child: Child) -> Iterator[str]:
    """The names of the roles of a child."""
    if isinstance(child, Tree):
        yield from child.roles()
    else:
        yield child


def least_of(child: Child, minimums: Mapping[str, int]) -> int:
    """How many members the smallest choice of a child needs."""
    return child.least(minimums) if isinstance(child, Tree) else minimums.get(child, 0)


def counts_known(tree: Tree, before: Mapping[str, int], known: Container[str]) -> Mapping[str, int]:
    """How many children each node needs, at most as many as before.

    Args:
        tree: the current tree.
        before: how many each needed before; a node that is not in it needed all it had, and a
            sub-group that had none is new.
        known: the roles that existed before.
    """

    def had(node: Tree) -> int:
        count = sum(all(role in known for role in roles_of(child)) for child in node.children)
        return count or (node.needed if node.name else 0)

    return tree.lowered(lambda node: before.get(node.name, had(node))).counts()


def counts_whole(tree: Tree, whole: Container[str]) -> Mapping[str, int]:
    """How many children each node needs: the whole tree, at most as many as are whole."""
    count = sum(held(child, whole.__contains__) for child in tree.children)
    return {**tree.counts(), tree.name: min(tree.needed, count)}
