# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of roles as PodGroups of ours have them, with as few levels as will do (semantics §2.8)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from enbloc.controller.sources.source import RefusedGroup
from enbloc.model.trees import Child, Tree, least_of
from enbloc.wire.codec_groups import MOST_LEVELS, MOST_PARTS

#: Levels of sub-groups between the PodGroup and the roles.
MOST_INNER: Final = MOST_LEVELS - 2


def tree_spec(
    tree: Tree, minimums: Mapping[str, int], minimum: int
) -> dict[str, Any] | RefusedGroup:
    """What of a PodGroup's spec says which of its members start together.

    A child that needs no member is always whole: where a node can do without some of its children
    it is left out, and the node needs one less.

    Args:
        tree: its root has the name "".
        minimums: of its roles.
        minimum: of all members together, at least 1.

    Returns:
        minMember, and roles, subGroups and minGroupCount where there are any, as JSON.
    """
    plain = simplified(_needing(tree, minimums))
    roles = [*plain.roles()]
    inner = [node for node in plain.nodes() if node.name]
    if len(roles) > MOST_PARTS or len(inner) > MOST_PARTS:
        return RefusedGroup(
            f"{len(roles)} sub-groups with pods and {len(inner)} above them are needed to say "
            f"which start together; {MOST_PARTS} of each are supported"
        )
    if (levels := _levels(plain)) > MOST_INNER:
        return RefusedGroup(
            f"{levels} levels of sub-groups above those with pods; {MOST_INNER} are supported"
        )
    if not plain.chooses:
        minimum = max(minimum, sum(minimums[role] for role in roles))
    wanted: dict[str, Any] = {"minMember": minimum}
    if plain.needed < len(plain.children):
        wanted["minGroupCount"] = plain.needed
    if roles:
        above = dict(_parents(plain))
        wanted["roles"] = [
            {"name": role, "minMember": minimums[role], **_parent(above[role])} for role in roles
        ]
    if inner:
        wanted["subGroups"] = [*_sub_groups(plain, "")]
    return wanted


def simplified(tree: Tree) -> Tree:
    """The same without nodes that say nothing: what holds a tree is whole holds it as before."""
    children: list[Child] = []
    needed = tree.needed
    for child in tree.children:
        part: Child = simplified(child) if isinstance(child, Tree) else child
        if isinstance(part, Tree) and len(part.children) == 1:
            [part] = part.children
        children.append(part)
    if needed == len(children):
        for part in tuple(children):
            if isinstance(part, Tree) and part.needed == len(part.children):
                at = children.index(part)
                children[at : at + 1] = part.children
        needed = len(children)
    if len(children) == 1 and isinstance(children[0], Tree):
        return replace(children[0], name=tree.name)
    return Tree(tree.name, needed, tuple(children))


def _needing(tree: Tree, minimums: Mapping[str, int]) -> Tree:
    """The same without children that need no member, where a node needs not all of its own."""
    children = tuple(
        _needing(child, minimums) if isinstance(child, Tree) else child for child in tree.children
    )
    if tree.needed < len(children):
        kept = tuple(child for child in children if least_of(child, minimums))
        needed = max(0, tree.needed - (len(children) - len(kept)))
        # What is whole without any member would be no gang: one child is needed all the same.
        return Tree(tree.name, needed or min(1, len(kept)), kept)
    return replace(tree, needed=len(children), children=children)


def _levels(tree: Tree) -> int:
    """How many levels of sub-groups are in it."""
    return max((1 + _levels(each) for each in tree.children if isinstance(each, Tree)), default=0)


def _parents(tree: Tree) -> Iterator[tuple[str, str]]:
    for node in tree.nodes():
        for child in node.children:
            if not isinstance(child, Tree):
                yield child, node.name


def _parent(name: str) -> dict[str, str]:
    return {"parent": name} if name else {}


def _sub_groups(tree: Tree, parent: str) -> Iterator[dict[str, Any]]:
    for child in tree.children:
        if isinstance(child, Tree):
            some = child.needed < len(child.children)
            count = {"minGroupCount": child.needed} if some else {}
            yield {"name": child.name, **count, **_parent(parent)}
            yield from _sub_groups(child, child.name)
