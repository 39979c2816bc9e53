# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies, and PodGroups' topology requests, read and checked."""

from collections.abc import Sequence
from typing import Any

import msgspec

from enbloc.model.dns_names import LABEL
from enbloc.model.qualified_names import object_name_problem, qualified_name_problem
from enbloc.model.text import quoted
from enbloc.model.topology import (
    MOST_LEVELS,
    WHICHEVER,
    KeepApart,
    Level,
    Slice,
    Topology,
    TopologyPart,
    TopologyRequest,
)
from enbloc.wire.objects import Identity, PodGroupSpecObject
from enbloc.wire.problems import Problems
from enbloc.wire.topology_objects import (
    ApartObject,
    PartTopologyObject,
    SliceObject,
)


class LevelObject(msgspec.Struct, gc=False, rename="camel"):
    """`spec.levels[]` of a Topology."""

    name: str = ""
    node_label: str = ""


class TopologySpecObject(msgspec.Struct, gc=False):
    """`spec` of a Topology."""

    levels: tuple[LevelObject, ...] = ()


class TopologyObject(msgspec.Struct, gc=False):
    """A Topology as the API server sends it; its spec may be anything."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: Any = None


def topology(obj: TopologyObject) -> Topology:
    """A Topology; a malformed one has no levels, and a problem that says what is wrong."""
    problems = Problems()
    levels = _levels(_listed(obj.spec, problems), problems) if obj.spec is not None else ()
    if not levels and not problems:
        problems.append(
            f"spec.levels: it lists no level; list 1 to {MOST_LEVELS}, the outermost first"
        )
    return Topology(obj.metadata.name, () if problems else levels, problems.text())


def topology_request(spec: PodGroupSpecObject, problems: Problems) -> TopologyRequest | None:
    """The topology request of a PodGroup; None = none, or an invalid one.

    Args:
        spec: the PodGroup's spec; naming a Topology suffices if roles or sub-groups name levels of
            it.
        problems: learns what is wrong.
    """
    given = spec.topology
    if given is None:
        return None
    wrong = Problems()
    name = given.name or ""
    if problem := topology_name_problem(name):
        wrong.append(f"spec.topology.name: {problem}")
    found = TopologyRequest(
        name,
        _level("spec.topology.required", given.required, wrong),
        _level("spec.topology.preferred", given.preferred, wrong),
        tuple(_slice(number, each, wrong) for number, each in enumerate(given.slices or ())),
        tuple(_apart(number, each, wrong) for number, each in enumerate(given.apart or ())),
    )
    says = found.required or found.preferred or found.slices or found.apart
    if not (wrong or says or (name and any(_asked_of_parts(spec)))):
        wrong.append(
            "spec.topology: it names no level; set required or preferred to a level or a node "
            "label, or remove topology"
        )
    for text in wrong:
        problems.append(text)
    return None if wrong else found


def _level(field: str, value: str | None, problems: Problems) -> str:
    """A level, or a node label, that a field names; "" = none."""
    if value and (problem := qualified_name_problem(value)):
        problems.append(f"{field}: a level or node label {problem}")
    return value or ""


def _slice(number: int, given: SliceObject, problems: Problems) -> Slice:
    field = f"spec.topology.slices[{number}]"
    if not given.required:
        problems.append(f"{field}.required: it names no level; name one, or a node label")
    # Which sizes are valid depends on the levels, too.
    return Slice(given.size or 0, _level(f"{field}.required", given.required, problems))


def _apart(number: int, given: ApartObject, problems: Problems) -> KeepApart:
    field = f"spec.topology.apart[{number}]"
    labels = given.from_.match_labels if given.from_ is not None else None
    most = 1 if given.max is None else given.max
    if not given.level:
        problems.append(f"{field}.level: it names no level; name one, or a node label")
    if not labels:
        problems.append(f"{field}.from.matchLabels: it selects nothing; give a label of PodGroups")
    if most < 1:
        problems.append(f"{field}.max: {most} is below 1; leave it out for 1")
    if given.mode not in (None, "Required", "Preferred"):
        problems.append(f'{field}.mode: "{given.mode}" is unknown; use Required or Preferred')
    return KeepApart(
        _level(f"{field}.level", given.level, problems),
        tuple(sorted((labels or {}).items())),
        most,
        given.mode != "Preferred",
    )


def _asked_of_parts(spec: PodGroupSpecObject) -> list[PartTopologyObject | None]:
    asked = [role.topology for role in spec.roles or ()]
    return asked + [group.topology for group in spec.sub_groups or ()]


def topology_parts(spec: PodGroupSpecObject, problems: Problems) -> tuple[TopologyPart, ...]:
    """The topology requests of single roles and sub-groups of a PodGroup.

    Args:
        spec: of the PodGroup.
        problems: learns what is wrong.
    """
    asked = _asked_of_parts(spec)
    counts = [spec.min_group_count, *(group.min_group_count for group in spec.sub_groups or ())]
    if spec.topology is not None and spec.topology.slices:
        if any(asked):
            problems.append(
                "spec.topology.slices: roles or sub-groups have a topology of their own; leave one "
                "of them out"
            )
        if any(counts):
            problems.append(
                "spec.topology.slices: with minGroupCount some children are enough, and these are "
                "not cut; leave one of them out"
            )
    if not any(asked):
        return ()
    return _parts("", spec, problems, frozenset())


def _parts(
    parent: str, spec: PodGroupSpecObject, problems: Problems, above: frozenset[str]
) -> tuple[TopologyPart, ...]:
    """The parts of the children of a sub-group, "" = of the PodGroup."""
    found: list[TopologyPart] = []
    for role in spec.roles or ():
        if (role.parent or "") == parent and role.topology is not None:
            field = f"spec.roles[{role.name}]"
            request = _part(field, role.topology, problems)
            found.append(TopologyPart(field, frozenset({role.name}), request))
    for group in spec.sub_groups or ():
        if (group.parent or "") != parent or group.name in above:
            continue
        field = f"spec.subGroups[{group.name}]"
        within = _parts(group.name, spec, problems, above | {group.name})
        if within or group.topology is not None:
            request = _part(field, group.topology, problems)
            names = _roles_under(group.name, spec, above | {group.name})
            found.append(TopologyPart(field, names, request, within))
    return tuple(found)


def _roles_under(parent: str, spec: PodGroupSpecObject, above: frozenset[str]) -> frozenset[str]:
    """The roles of a sub-group, and of those within it."""
    own = frozenset(role.name for role in spec.roles or () if role.parent == parent)
    return own.union(
        *(
            _roles_under(group.name, spec, above | {group.name})
            for group in spec.sub_groups or ()
            if group.parent == parent and group.name not in above
        )
    )


def _part(field: str, given: PartTopologyObject | None, problems: Problems) -> TopologyRequest:
    if given is None:
        return TopologyRequest()
    required = _level(f"{field}.topology.required", given.required, problems)
    preferred = _level(f"{field}.topology.preferred", given.preferred, problems)
    return TopologyRequest("", required, preferred)


def topology_name_problem(name: str) -> str:
    """Why no Topology can have this name; "" = one can, or the name is empty."""
    project, slash, own = name.rpartition("/")
    problem = object_name_problem(own) if name and not (slash and own == WHICHEVER) else ""
    if slash:
        problem = problem or object_name_problem(project)
    return f"{problem}; write the name of a Topology" if problem else ""


def _listed(spec: Any, problems: Problems) -> tuple[LevelObject, ...]:
    """The levels as given; none if they are malformed."""
    try:
        return msgspec.convert(spec, TopologySpecObject).levels
    except msgspec.ValidationError as error:
        problems.append(f"spec.levels: {error}; write a list of objects with name and nodeLabel")
        return ()


def _levels(given: Sequence[LevelObject], problems: Problems) -> tuple[Level, ...]:
    """The levels, checked; none if there are too many."""
    if len(given) > MOST_LEVELS:
        problems.append(f"spec.levels: it lists {len(given)} levels; list at most {MOST_LEVELS}")
        return ()
    levels: list[Level] = []
    for position, each in enumerate(given):
        path = f"spec.levels[{position}]"
        if not LABEL.fullmatch(each.name):
            problems.append(
                f"{path}.name: {quoted(each.name)} is not a name of at most 63 small letters, "
                'digits and "-"; rename the level'
            )
        if problem := qualified_name_problem(each.node_label):
            problems.append(f"{path}.nodeLabel: a node label {problem}")
        if any(each.name == level.name for level in levels):
            problems.append(
                f"{path}.name: {quoted(each.name)} is a duplicate; give each level its own"
            )
        if any(each.node_label == level.label for level in levels):
            problems.append(
                f"{path}.nodeLabel: {quoted(each.node_label)} is a duplicate; give each level its "
                "own"
            )
        levels.append(Level(each.name, each.node_label))
    return tuple(levels)
