# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topology: which nodes are close to each other, and how close members of a group must be.

::

    Topology "default"        zone ⊃ block ⊃ rack        which node labels tell them
    PodGroup.spec.topology    required: block            all members in one block
                              preferred: rack            and in one rack, where that can be

A domain is the path of label values from the outermost level on: rack r1 in two blocks is two
racks. For a label that no Topology names, the value alone is the domain.

Topologies of other projects are read as ours. Their names are prefixed with the API group, as in
`kueue.x-k8s.io/default`, and only requests that name one so use it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from enbloc.model.text import several

#: The most levels of a Topology, as in the schema.
MOST_LEVELS: Final = 8
#: How many Topologies a message names.
MOST_NAMED: Final = 8
#: After an API group: whichever Topology of that project has the levels in question.
WHICHEVER: Final = "*"
#: The API groups of the projects whose Topologies are read.
KUEUE_GROUP: Final = "kueue.x-k8s.io"
KAI_GROUP: Final = "kai.scheduler"
KOORDINATOR_GROUP: Final = "scheduling.koordinator.sh"
VOLCANO_GROUP: Final = "topology.volcano.sh"
#: After that group: the Topology of all HyperNodes.
HYPER_NODES: Final = "hypernodes"
#: The prefix of labels for the HyperNodes of a node: no label of the API server has a colon.
HYPER_NODE_LABEL: Final = "hypernode:"
_TIER: Final = re.compile(r"tier-([0-9]{1,10})")


class Level(NamedTuple):
    """One level of a Topology.

    Attributes:
        name: the name that PodGroups use.
        label: the node label whose values are its domains.
        alias: another name for it; "" = none.
    """

    name: str
    label: str
    alias: str = ""

    @property
    def tier(self) -> int | None:
        """The tier of HyperNodes, whose label exists only within the scheduler; None = no tier."""
        of_node, _, number = self.label.rpartition("-")
        return int(number) if of_node.startswith(HYPER_NODE_LABEL) else None

    @property
    def known_as(self) -> str:
        """Its names, for messages."""
        return f"{self.name} ({self.alias})" if self.alias not in ("", self.name) else self.name


def foreign_name(group: str, name: str = WHICHEVER) -> str:
    """The name of another project's Topology here."""
    return f"{group}/{name}"


def unread_name(project: str) -> str:
    """The name of a Topology that says why none of a project's can be read; "" = none of ours."""
    return foreign_name(project) if project else WHICHEVER


def is_foreign(name: str) -> bool:
    """Whether this is the name of another project's Topology."""
    return "/" in name


@dataclass(frozen=True, slots=True)
class Topology:
    """A Topology object.

    Attributes:
        name: its name; another project's is prefixed with the API group: `kueue.x-k8s.io/default`.
        levels: the outermost first.
        problem: why it cannot be used; "" = it can.
    """

    name: str
    levels: tuple[Level, ...] = ()
    problem: str = ""

    @property
    def foreign(self) -> bool:
        """Whether it is another project's."""
        return is_foreign(self.name)


@dataclass(frozen=True, slots=True)
class KeepApart:
    """Which other groups a group keeps away from.

    Attributes:
        level: a level's name, or a node label.
        labels: the labels of the PodGroups in its namespace that count, `(key, value)` in key
            order.
        most: how many of these groups, itself included, may have members in one domain.
        required: it must keep away; else it only prefers to.
    """

    level: str
    labels: tuple[tuple[str, str], ...]
    most: int = 1
    required: bool = True


class Slice(NamedTuple):
    """Members with consecutive ranks that must be in one domain.

    Attributes:
        size: the number of members; the last slice may be shorter.
        level: a level's name, or a node label.
    """

    size: int
    level: str


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The topology constraints of a PodGroup.

    Attributes:
        topology: the name of a Topology; "" = the only one of ours that exists, or node labels
            alone.
        required: a level's name, or a node label; all members lie in one of its domains. "" = none.
        preferred: the same, if possible.
        slices: how its members are divided, the outer slices first; each is divided again.
        apart: from which other groups.
    """

    topology: str = ""
    required: str = ""
    preferred: str = ""
    slices: tuple[Slice, ...] = ()
    apart: tuple[KeepApart, ...] = ()

    @property
    def requires(self) -> bool:
        """Whether it is about more than preferences."""
        return bool(self.required or self.slices or any(each.required for each in self.apart))


@dataclass(frozen=True, slots=True)
class TopologyPart:
    """The topology constraints of a role or a sub-group for its own members.

    Attributes:
        field: the field that states them, for messages: `spec.roles[worker]`.
        roles: whose members they are.
        request: names no Topology, as the group's applies; it holds within the group's request.
        parts: further constraints of some of these roles.
    """

    field: str
    roles: frozenset[str]
    request: TopologyRequest
    parts: tuple["TopologyPart", ...] = ()


@dataclass(frozen=True, slots=True)
class TopologyLevels:
    """A resolved request: all levels of its Topology, or the node labels that it names.

    Attributes:
        levels: the outermost first; one at least.
        required: the place of the required level; None = members may be anywhere.
        preferred: the place of the level of which members use as few domains as possible, no
            further out than the required one; None = no level, and then none is required either.
        slices: `(size, level)`, the place of the level in whose domains each slice lies, the outer
            ones first.
    """

    levels: tuple[Level, ...]
    required: int | None
    preferred: int | None
    slices: tuple[tuple[int, int], ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The node labels, the outermost first."""
        return tuple(level.label for level in self.levels)

    @property
    def outwards(self) -> range:
        """The places of the levels in which one domain is looked for, in turn.

        From the preferred level to the required one; -1 = the whole cluster, if none is required.
        """
        innermost = -1 if self.preferred is None else self.preferred
        outermost = -1 if self.required is None else self.required
        return range(innermost, outermost - 1, -1)

    @property
    def required_labels(self) -> tuple[str, ...]:
        """Those of the required level and of the levels around it; empty = none is required."""
        return self.labels[: self.required + 1] if self.required is not None else ()


def resolved(
    request: TopologyRequest, topologies: Mapping[str, Topology], field: str = "spec"
) -> tuple[TopologyLevels | None, str]:
    """The levels of a request, and what is wrong with it; "" = nothing is.

    Args:
        request: of a PodGroup, or of a part of one.
        topologies: all Topologies, by name.
        field: what says it, for the message.
    """
    asked = {"required": request.required, "preferred": request.preferred}
    asked |= {
        f"slices[{number}].required": each.level for number, each in enumerate(request.slices)
    }
    asked = {which: value for which, value in asked.items() if value}
    known, problem = _named(request, topologies, asked.values())
    if problem:
        return None, f"{field}.topology.name: {problem}"
    if not asked:
        return None, ""
    if known is None:  # labels alone: preferred within required, and slices within both
        levels = tuple(Level(label, label) for label in dict.fromkeys(asked.values()))
    else:
        levels = known.levels
    places: dict[str, int] = {}
    for which, value in asked.items():
        place = place_of(value, levels)
        if place is None:
            return None, f"{field}.topology.{which}: {_no_level(value, known)}"
        places[which] = place
    required, preferred = places.get("required"), places.get("preferred", len(levels) - 1)
    if required is not None and preferred < required and is_foreign(request.topology):
        preferred = len(levels) - 1  # there it has no effect
    if required is not None and preferred < required:
        return None, (
            f"{field}.topology.preferred: {request.preferred} is not within {request.required}, "
            "which is required; prefer a level within it, or leave this out"
        )
    slices: list[tuple[int, int]] = []
    outer = TopologyLevels(levels, required, preferred)
    for number, each in enumerate(request.slices):
        place = places[f"slices[{number}].required"]
        problem = _slice_problem(each, place, outer, slices)
        if problem:
            return None, f"{field}.topology.slices[{number}].{problem}"
        slices.append((each.size, place))
    return replace(outer, slices=tuple(slices)), ""


def _slice_problem(
    cut: Slice, place: int, around: TopologyLevels, outer: Sequence[tuple[int, int]]
) -> str:
    """What is wrong with a slice, given those around it; "" = nothing is."""
    if cut.size < 1:
        return f"size: {cut.size} is below 1; give the number of members of a slice"
    size, level = outer[-1] if outer else (0, around.required)
    if size == cut.size:
        return f"size: {size} is that of the slices around it; use a smaller divisor of it"
    if size and size % cut.size:
        return f"size: {cut.size} does not divide the {size} of the slices around it; use a divisor"
    if level is not None and place < level:
        names = [each.name for each in around.levels]
        return (
            f"required: {names[place]} is not within {names[level]}, in one of which it must lie; "
            "use a level within it"
        )
    return ""


def resolved_apart(
    request: TopologyRequest, topologies: Mapping[str, Topology]
) -> tuple[tuple[tuple[KeepApart, tuple[str, ...]], ...], str]:
    """The groups to keep away from, each with the node labels of its domains, outermost first.

    Returns:
        These, and what is wrong; "" = nothing is.
    """
    found: list[tuple[KeepApart, tuple[str, ...]]] = []
    for number, rule in enumerate(request.apart):
        field = f"spec.topology.apart[{number}].level"
        known, problem = _named(request, topologies, (rule.level,))
        if problem:
            return (), f"{field}: {problem}"
        levels = (Level(rule.level, rule.level),) if known is None else known.levels
        place = place_of(rule.level, levels)
        if place is None:
            return (), f"{field}: {_no_level(rule.level, known)}"
        found.append((rule, tuple(level.label for level in levels[: place + 1])))
    return tuple(found), ""


def place_of(value: str, levels: Sequence[Level]) -> int | None:
    """The place of the level with this name, else this alias, else this label; None = of none.

    For HyperNodes, a tier above the highest that exists means the highest.
    """
    names, aliases = [each.name for each in levels], [each.alias for each in levels]
    ways = names, aliases, [each.label for each in levels]
    found = next((way.index(value) for way in ways if value and value in way), None)
    if found is None and levels and levels[0].tier is not None:
        asked = _TIER.fullmatch(value)
        return 0 if asked is not None and int(asked[1]) > levels[0].tier else None
    return found


def _no_level(value: str, known: Topology | None) -> str:
    assert known is not None, "a label is a level of its own"
    names = ", ".join(level.known_as for level in known.levels)
    return f'Topology {known.name} has no level "{value}"; use one of {names}'


def _named(
    request: TopologyRequest, topologies: Mapping[str, Topology], values: Iterable[str]
) -> tuple[Topology | None, str]:
    """The Topology of a request (None = it names node labels), and what is wrong."""
    wanted, name = tuple(values), request.topology
    project, _, which = name.rpartition("/")
    if not name and all("/" in value for value in wanted):
        return None, ""
    if not name or (project and which == WHICHEVER):
        unread = topologies.get(unread_name(project))
        if unread is not None and request.requires:
            return None, unread.problem
        if project:
            return _with_levels(project, topologies, wanted), ""
        own = sorted(each for each in topologies if not is_foreign(each) and each != WHICHEVER)
        if len(own) > 1:
            return None, f"there are several Topologies; name one of {several(own, MOST_NAMED)}"
        if not own:
            return None, ""
        [name] = own
    found = topologies.get(name)
    if found is None:
        return None, _unknown(name, topologies)
    if found.problem:
        return None, f"Topology {name} cannot be used: {found.problem}"
    return found, ""


def _unknown(name: str, topologies: Mapping[str, Topology]) -> str:
    """What is wrong with the name of a Topology that is not known."""
    project = name.rpartition("/")[0]
    unread = topologies.get(unread_name(project))
    if unread is not None:
        return f'Topology "{name}" is unknown: {unread.problem}'
    if name == foreign_name(VOLCANO_GROUP, HYPER_NODES):
        return "there are no HyperNodes; create some, or remove what names their tiers"
    others = sorted(each for each in topologies if each.rpartition("/")[0] == project)
    known = f"one of {several(others, MOST_NAMED)}" if others else "another"
    return f'Topology "{name}" not found; create it or name {known}'


def _with_levels(
    project: str, topologies: Mapping[str, Topology], wanted: Sequence[str]
) -> Topology | None:
    """The only Topology of a project that has these levels; None = there is none, or are several.

    In that case only node labels are valid: which one is meant depends on fields not read here.
    """
    found = [
        each
        for name, each in topologies.items()
        if name.startswith(f"{project}/")
        and all(place_of(value, each.levels) is not None for value in wanted)
    ]
    return found[0] if wanted and len(found) == 1 else None
