# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of other projects' objects; each tree becomes one PodGroup of enbloc (semantics §2.8).

The leaves of a tree are PodGroups, its inner nodes composites. An inner node that lacks children is
left out, as if it did not exist yet, and so is an object whose parent cannot be found.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from enbloc.controller.sources.source import (
    Derived,
    ObjectKey,
    Part,
    RefusedGroup,
    TreeNode,
    label,
    topology_of,
)
from enbloc.model.grouped import Index
from enbloc.wire.codec_groups import MOST_LEVELS, MOST_PARTS

#: The most objects of one tree that are looked at: one more than a tree may have.
_MOST_SEEN: Final = 2 * MOST_PARTS + 2
#: The most parents that are followed; beyond that, the tree is reported as too deep.
_MOST_STEPS: Final = 64


class Forest:
    """All objects that are in a tree, or would be if it were complete."""

    def __init__(self) -> None:
        self._nodes: dict[ObjectKey, TreeNode] = {}
        self._children: Index[ObjectKey, ObjectKey] = Index()

    def __contains__(self, key: ObjectKey) -> bool:
        """Whether it holds this object."""
        return key in self._nodes

    def put(self, key: ObjectKey, node: TreeNode) -> None:
        """Add or replace an object."""
        self.remove(key)
        self._nodes[key] = node
        if node.parent:
            self._children.add(_above(key, node), key)

    def remove(self, key: ObjectKey) -> None:
        """Remove an object that was deleted, or is in no tree any more."""
        node = self._nodes.pop(key, None)
        if node is not None and node.parent:
            self._children.drop(_above(key, node), key)

    def around(self, key: ObjectKey) -> list[ObjectKey]:
        """The objects of its tree, at most _MOST_SEEN; empty if there is no tree."""
        path = self._path(key)
        return list(islice(self._below(path[-1]), _MOST_SEEN)) if path else []

    def found(self, key: ObjectKey) -> Derived | Part | RefusedGroup:
        """What an object in a tree calls for, or is a part of."""
        node, path = self._nodes[key], self._path(key)
        if problem := self._misplaced(key, path):
            return RefusedGroup(problem, name=_name_of(key, node))
        root = path[-1]
        name, made = _name_of(root, self._nodes[root]), self._assembled(root)
        problem = next(filter(None, map(made.problems.get, path)), "")
        if key == root:
            if problem:
                return RefusedGroup(problem, name=name, keeps=True)
            return Derived(made.spec(self._nodes[root]), name, ignored=node.ignored)
        if node.composite and key in made.problems:
            return RefusedGroup(made.problems[key], name=name)
        if problem:
            above = next(each for each in path if each in made.problems)
            problem = f"{above.source} {above.name} cannot start: {problem}"
        return Part(
            group=name,
            node=label(key.name),
            composite=node.composite,
            root=self._nodes[root].uid,
            problem=problem,
            ignored=node.ignored,
        )

    def _path(self, key: ObjectKey) -> list[ObjectKey]:
        """The object and its existing ancestors, at most as many as are followed."""
        path: list[ObjectKey] = []
        while key in self._nodes and key not in path and len(path) < _MOST_STEPS:
            path.append(key)
            node = self._nodes[key]
            if node.parent:
                key = _above(key, node)
        return path

    def _misplaced(self, key: ObjectKey, path: Sequence[ObjectKey]) -> str:
        """Why an object is in no tree, with the fix; "" = it is in one."""
        last = self._nodes[path[-1]]
        parent = self._nodes[key].parent
        field = "spec.parentCompositePodGroupName"
        if not last.parent:
            if len(path) <= MOST_LEVELS - self._nodes[key].composite:
                return ""
            return (
                f"{field}: {parent} is at level {len(path) - 1} of its tree; a tree has at most "
                f"{MOST_LEVELS} levels, of which the last are PodGroups"
            )
        above = _above(path[-1], last)
        if above in path:
            return f"{field}: {parent} leads back to itself; a tree has no cycle"
        if above in self._nodes:
            return f"{field}: more than {_MOST_STEPS} are above {parent}; a tree has {MOST_LEVELS}"
        of = "" if path[-1] == key else f"{path[-1].source} {path[-1].name} names it: "
        return f"{field}: {of}{above.source} {above.name} not found; create it"

    def _below(self, key: ObjectKey) -> Iterator[ObjectKey]:
        """The object and all below it, level by level; in a cycle, endlessly."""
        level = [key]
        while level:
            yield from level
            level = [
                child
                for each in level
                for child in islice(self._children.get(each, ()), _MOST_SEEN)
            ][:_MOST_SEEN]

    def _assembled(self, root: ObjectKey) -> "_Assembled":
        made = _Assembled()
        try:
            self._gather(root, "", 1, made)
        except _TooMany:
            made.problems = {
                root: f"more than {MOST_PARTS} PodGroups, or {MOST_PARTS} composites, are below "
                "it; use fewer, larger ones"
            }
        return made

    def _gather(self, key: ObjectKey, parent: str, level: int, made: "_Assembled") -> bool:
        """Add what is below a composite; whether it has the children that it needs.

        Raises:
            _TooMany: there are more than a PodGroup of enbloc can have.
        """
        children = self._children.get(key, {})
        if len(children) > 2 * MOST_PARTS:
            raise _TooMany
        before = len(made.roles), len(made.groups)
        count, incomplete = 0, 0
        for child in sorted(children, key=lambda each: (self._nodes[each].created, each)):
            node, name = self._nodes[child], label(child.name)
            made.count()
            if not node.composite:
                made.roles.append(_role(child.name, name, node, parent))
                count += 1
            elif level + 1 < MOST_LEVELS:
                at = len(made.groups)
                if self._gather(child, name, level + 1, made):
                    made.groups.insert(at, _sub_group(name, node, parent))
                    count += 1
                else:
                    incomplete += 1
        if len(made.roles) > MOST_PARTS or len(made.groups) > MOST_PARTS:
            raise _TooMany
        needed = self._nodes[key].minimum
        if count >= needed:
            return True
        del made.roles[before[0] :], made.groups[before[1] :]
        more = f", and {incomplete} that are incomplete" if incomplete else ""
        made.problems[key] = (
            f"spec.schedulingPolicy.gang.minGroupCount: {needed} children are needed, and "
            f"{count} exist{more}; create PodGroups whose spec.parentCompositePodGroupName is "
            f"{key.name}, or lower it"
        )
        return False


class _TooMany(Exception):  # noqa: N818  # ends a walk
    """A tree has more nodes than a PodGroup of enbloc can have."""


@dataclass
class _Assembled:
    """The PodGroup assembled for a root.

    Attributes:
        roles: its roles, as JSON.
        groups: its sub-groups, as JSON.
        problems: which composites lack children, and how many.
        seen: how many objects were looked at.
    """

    roles: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    groups: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    problems: dict[ObjectKey, str] = field(default_factory=dict[ObjectKey, str])
    seen: int = 0

    def count(self) -> None:
        """Count another object.

        Raises:
            _TooMany: there are more objects than a tree may have.
        """
        self.seen += 1
        if self.seen >= _MOST_SEEN:
            raise _TooMany

    def spec(self, root: TreeNode) -> Mapping[str, Any]:
        """The spec of enbloc's PodGroup, as JSON."""
        return {
            "minMember": 1,
            **root.spec,
            "minGroupCount": root.minimum,
            "roles": self.roles,
            **({"subGroups": self.groups} if self.groups else {}),
        }


def _above(key: ObjectKey, node: TreeNode) -> ObjectKey:
    return ObjectKey(node.above, key.namespace, node.parent)


def _name_of(key: ObjectKey, node: TreeNode) -> str:
    """The name of enbloc's PodGroup for a composite; of any other object, its own name."""
    return node.group or key.name


def _role(of: str, name: str, node: TreeNode, parent: str) -> dict[str, Any]:
    return {"name": name, "minMember": node.minimum, "podGroupName": of, **_place(node, parent)}


def _sub_group(name: str, node: TreeNode, parent: str) -> dict[str, Any]:
    return {"name": name, "minGroupCount": node.minimum, **_place(node, parent)}


def _place(node: TreeNode, parent: str) -> dict[str, Any]:
    """The fields `parent` and `topology` of a role or sub-group, as JSON."""
    return {
        **({"parent": parent} if parent else {}),
        **topology_of(node.near),
    }
