# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of roles as PodGroups have them, with as few levels as possible (semantics §2.8)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from enbloc.controller.sources.source import RefusedGroup, topology_of
from enbloc.model.trees import Child, Tree, least_of
from enbloc.wire.codec_groups import MOST_LEVELS, MOST_PARTS

#: The most levels of sub-groups between the PodGroup and the roles.
MOST_INNER: Final = MOST_LEVELS - 2
_NOWHERE: Final[Mapping[str, Mapping[str, str]]] = {}


def tree_spec(
    tree: Tree,
    minimums: Mapping[str, int],
    minimum: int,
    near: Mapping[str, Mapping[str, str]] = _NOWHERE,
) -> dict[str, Any] | RefusedGroup:
    """The fields of a PodGroup's spec that say which of its members start together.

    A child that needs no member is always whole: if its node does not need all children, the child
    is left out and the node needs one less.

    Args:
        tree: its root has the name "".
        minimums: the minimum of each role.
        minimum: of all members together, at least 1.
        near: the `topology` of its roles and of nodes below the root, by name.

    Returns:
        minMember, and roles, subGroups and minGroupCount if there are any, as JSON.
    """
    found = _tree_spec(tree, minimums, minimum, near)
    if isinstance(found, RefusedGroup):  # drop preferred topologies rather than refuse
        required = {name: each for name, each in near.items() if "required" in each}
        found = _tree_spec(tree, minimums, minimum, required)
    return found


def unsaid(near: Collection[str], spec: Mapping[str, Any]) -> set[str]:
    """The names whose topology is missing in a spec."""
    parts = (*spec.get("roles", ()), *spec.get("subGroups", ()))
    return {*near} - {each["name"] for each in parts if "topology" in each}


def _tree_spec(
    tree: Tree, minimums: Mapping[str, int], minimum: int, near: Mapping[str, Mapping[str, str]]
) -> dict[str, Any] | RefusedGroup:
    plain = simplified(_needing(tree, minimums), near.keys())
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
            {
                "name": role,
                "minMember": minimums[role],
                **_parent(above[role]),
                **topology_of(near.get(role, {})),
            }
            for role in roles
        ]
    if inner:
        wanted["subGroups"] = [*_sub_groups(plain, "", near)]
    return wanted


def simplified(tree: Tree, kept: Collection[str] = ()) -> Tree:
    """The tree without redundant nodes: the same sets of members make it whole as before.

    Args:
        tree: with all its nodes.
        kept: the names of nodes that must stay, as they have a topology.
    """
    children: list[Child] = []
    needed = tree.needed
    for child in tree.children:
        part: Child = simplified(child, kept) if isinstance(child, Tree) else child
        if isinstance(part, Tree) and not part.children:  # it is always whole
            needed -= 1
            continue
        if isinstance(part, Tree) and len(part.children) == 1 and part.name not in kept:
            [part] = part.children
        children.append(part)
    if needed == len(children):
        for part in tuple(children):
            if (
                isinstance(part, Tree)
                and part.name not in kept
                and part.needed == len(part.children)
            ):
                at = children.index(part)
                children[at : at + 1] = part.children
        needed = len(children)
    if len(children) == 1 and isinstance(only := children[0], Tree) and only.name not in kept:
        return replace(only, name=tree.name)
    return Tree(tree.name, needed, tuple(children))


def _needing(tree: Tree, minimums: Mapping[str, int]) -> Tree:
    """The tree without children that need no member, below nodes that need not all children."""
    children = tuple(
        _needing(child, minimums) if isinstance(child, Tree) else child for child in tree.children
    )
    if tree.needed < len(children):
        kept = tuple(child for child in children if least_of(child, minimums))
        needed = max(0, tree.needed - (len(children) - len(kept)))
        # A node that is whole without any member would be no gang, so it needs one child.
        return Tree(tree.name, needed or min(1, len(kept)), kept)
    return replace(tree, needed=len(children), children=children)


def _levels(tree: Tree) -> int:
    """How many levels of sub-groups the tree has."""
    return max((1 + _levels(each) for each in tree.children if isinstance(each, Tree)), default=0)


def _parents(tree: Tree) -> Iterator[tuple[str, str]]:
    for node in tree.nodes():
        for child in node.children:
            if not isinstance(child, Tree):
                yield child, node.name


def _parent(name: str) -> dict[str, str]:
    return {"parent": name} if name else {}


def _sub_groups(
    tree: Tree, parent: str, near: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    for child in tree.children:
        if isinstance(child, Tree):
            some = child.needed < len(child.children)
            count = {"minGroupCount": child.needed} if some else {}
            placed = {**_parent(parent), **topology_of(near.get(child.name, {}))}
            yield {"name": child.name, **count, **placed}
            yield from _sub_groups(child, child.name, near)
