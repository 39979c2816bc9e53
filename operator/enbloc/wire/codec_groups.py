# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Roles and sub-groups of a PodGroup, read and checked (semantics §2.8)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from enbloc.model.adoptions import adopted
from enbloc.model.groups import Role, SubGroup, tree_of
from enbloc.model.trees import Tree, least_of
from enbloc.wire.objects import PodGroupSpecObject
from enbloc.wire.problems import Problems

#: Levels of a tree: the PodGroup, two of sub-groups, roles.
MOST_LEVELS: Final = 4

#: The most roles, and the most sub-groups, of a tree, as in the schema.
MOST_PARTS: Final = 16


class Parts(NamedTuple):
    """What a PodGroup needs of its members; the fields are those of `Group`."""

    min_member: int
    roles: tuple[Role, ...]
    sub_groups: tuple[SubGroup, ...]
    min_group_count: int


def parts(spec: PodGroupSpecObject, minimum: int, problems: Problems) -> Parts:
    """The roles and sub-groups of a PodGroup.

    Args:
        spec: of the PodGroup.
        minimum: its minMember.
        problems: collects what is wrong.
    """
    roles, groups = _roles(spec, problems), _sub_groups(spec, problems)
    count = _count("spec.minGroupCount", spec.min_group_count, problems)
    kept, inner, needed = checked(roles, groups, count, problems)
    total = sum(role.min_member for role in kept)
    if total <= minimum or tree_of(kept, inner, needed).chooses:
        return Parts(minimum, kept, inner, needed)
    if not (count or any(group.min_group_count for group in groups)):
        problems.append(
            f"spec.roles: their minimums sum to {total}; raise spec.minMember from {minimum}"
        )
        return Parts(minimum, kept, inner, needed)
    # Where groups are counted, the sum is what they come to.
    return Parts(total, kept, inner, needed)


def adoptions(found: Mapping[str, Any]) -> dict[str, str]:
    """The PodGroups whose pods a PodGroup (JSON) adopts, with their roles; none if malformed."""
    spec = found.get("spec")
    if not isinstance(spec, dict) or not spec.get("roles"):
        return {}
    try:
        read = msgspec.convert(spec, PodGroupSpecObject)
    except msgspec.ValidationError:
        return {}
    return adopted(_roles(read, Problems()))


def _roles(spec: PodGroupSpecObject, problems: Problems) -> tuple[Role, ...]:
    roles: dict[str, Role] = {}
    for position, given in enumerate(spec.roles or ()):
        path = f"spec.roles[{position}]"
        if not given.name or given.name in roles:
            problems.append(
                f'{path}.name: "{given.name}" is empty or a duplicate; give each its own'
            )
        elif (given.min_member or 0) < 0:
            problems.append(f"{path}.minMember: {given.min_member} is negative; use 0 or more")
        else:
            least, parent = given.min_member or 0, given.parent or ""
            roles[given.name] = Role(given.name, least, parent, given.pod_group_name or "")
    return tuple(roles.values())


def _sub_groups(spec: PodGroupSpecObject, problems: Problems) -> tuple[SubGroup, ...]:
    groups: dict[str, SubGroup] = {}
    for position, given in enumerate(spec.sub_groups or ()):
        path = f"spec.subGroups[{position}]"
        if not given.name or given.name in groups:
            problems.append(
                f'{path}.name: "{given.name}" is empty or a duplicate; give each its own'
            )
            continue
        count = _count(f"{path}.minGroupCount", given.min_group_count, problems)
        groups[given.name] = SubGroup(given.name, count, given.parent or "")
    return tuple(groups.values())


def _count(path: str, given: int | None, problems: Problems) -> int:
    if given is not None and given < 1:
        problems.append(f"{path}: {given} is below 1; leave it out for all")
        return 0
    return given or 0


def checked(
    roles: tuple[Role, ...],
    sub_groups: tuple[SubGroup, ...],
    min_group_count: int,
    problems: Problems,
) -> tuple[tuple[Role, ...], tuple[SubGroup, ...], int]:
    """Check a tree.

    Args:
        roles: with different names.
        sub_groups: with different names.
        min_group_count: of the PodGroup itself; 0 = all of its children are needed.
        problems: collects what is wrong with the tree.

    Returns:
        The tree, or only roles without parents, if something is wrong.
    """
    flat = tuple(replace(role, parent="") for role in roles), (), 0
    if not (sub_groups or min_group_count or any(role.parent for role in roles)):
        return flat
    wrong = Problems()
    _check_size(roles, sub_groups, wrong)
    if not wrong:
        _check_parents(roles, sub_groups, wrong)
    if not wrong:
        tree = tree_of(roles, sub_groups, min_group_count)
        _check_counts(tree, {role.name: role.min_member for role in roles}, wrong)
    for text in wrong:
        problems.append(text)
    return flat if wrong else (roles, sub_groups, min_group_count)


def _check_size(roles: Sequence[Role], groups: Sequence[SubGroup], problems: Problems) -> None:
    for field, count in (("spec.roles", len(roles)), ("spec.subGroups", len(groups))):
        if count > MOST_PARTS:
            problems.append(f"{field}: {count} items; a tree has at most {MOST_PARTS} of them")


def _check_parents(roles: Sequence[Role], groups: Sequence[SubGroup], problems: Problems) -> None:
    parents = {group.name: group.parent for group in groups}
    for group in groups:
        path = [group.name]
        while path[-1] in parents and len(path) <= len(parents):
            path.append(parents[path[-1]])
        field = f"spec.subGroups[{group.name}].parent"
        if path[-1] in parents:
            problems.append(f"{field}: {group.parent} leads back to itself; a tree has no cycle")
        elif path[-1]:
            problems.append(
                f"{field}: {path[-1]} is not in spec.subGroups; list it, or name another"
            )
        elif len(path) > MOST_LEVELS - 1:
            problems.append(
                f"{field}: role, sub-groups and PodGroup are {len(path) + 1} levels; "
                f"a tree has at most {MOST_LEVELS}"
            )
    for role in roles:
        if role.parent and role.parent not in parents:
            problems.append(
                f"spec.roles[{role.name}].parent: {role.parent} is not in spec.subGroups; "
                "list it, or name another"
            )


def _check_counts(tree: Tree, minimums: Mapping[str, int], problems: Problems) -> None:
    for node in tree.nodes():
        where = f"spec.subGroups[{node.name}]" if node.name else "spec"
        count = len(node.children)
        if not count:
            problems.append(f"{where}: it has no children; give a role or sub-group this parent")
        elif node.needed > count:
            problems.append(
                f"{where}.minGroupCount: {node.needed} is more than its {count} children; "
                f"lower it to {count}"
            )
        elif node.needed < count:
            for child in node.children:
                if not least_of(child, minimums):
                    name = child.name if isinstance(child, Tree) else child
                    problems.append(
                        f"{where}.minGroupCount: {name} needs no member, and so would always "
                        "count; give it a minMember of 1 or more"
                    )
