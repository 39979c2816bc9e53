# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HyperNodes of Volcano, read and checked.

Source of the fields and their meaning: Volcano v1.13,
staging/src/volcano.sh/apis/pkg/apis/topology/v1alpha1/hypernode_types.go and
pkg/scheduler/api/hyper_node_info.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec

from enbloc.model.hyper_node import HyperNode, Pattern
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.selectors import Selector
from enbloc.model.text import quoted
from enbloc.wire.codec_selectors import bounded_selector
from enbloc.wire.objects import Identity, LabelSelectorObject
from enbloc.wire.problems import Problems

#: How many members may be selected other than by name.
_MOST_SELECTING: Final = 64
#: The longest regular expression that is accepted, in characters.
_LONGEST_PATTERN: Final = 1024
#: The most instructions of all regular expressions of one, with repetitions at their maximum:
#: matching 5000 names then takes 2 s at worst.
_MOST_INSTRUCTIONS: Final = 8192


class _ExactMatch(msgspec.Struct, gc=False):
    name: str = ""


class _RegexMatch(msgspec.Struct, gc=False):
    pattern: str = ""


class _MemberSelector(msgspec.Struct, gc=False, rename="camel"):
    exact_match: _ExactMatch | None = None
    regex_match: _RegexMatch | None = None
    label_match: LabelSelectorObject | None = None


class _Member(msgspec.Struct, gc=False):
    type: str = ""
    selector: _MemberSelector = msgspec.field(default_factory=_MemberSelector)


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    tier: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    tier_name: str = ""
    members: tuple[_Member, ...] = ()


class HyperNodeObject(msgspec.Struct, gc=False):
    """A HyperNode as the API server sends it; its spec may be anything."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: Any = None


@dataclass(slots=True)
class _Members:
    """The members of a HyperNode, by how they are selected.

    Attributes:
        instructions: of all patterns.
    """

    nodes: set[str] = field(default_factory=set)
    patterns: list[Pattern] = field(default_factory=list)
    selectors: list[Selector] = field(default_factory=list)
    children: set[str] = field(default_factory=set)
    instructions: int = 0


def hyper_node(obj: HyperNodeObject) -> HyperNode:
    """A HyperNode; malformed parts count as absent."""
    problems, name = Problems(), obj.metadata.name
    try:
        spec = msgspec.convert(obj.spec, _Spec)
    except msgspec.ValidationError as error:
        return HyperNode(name, problem=f"spec: {error}")
    members = _members(spec.members, problems)
    tier_name = spec.tier_name
    if tier_name and (problem := qualified_name_problem(tier_name)):
        problems.append(f"spec.tierName: {problem}")
        tier_name = ""
    return HyperNode(
        name,
        spec.tier,
        tier_name,
        frozenset(members.nodes),
        tuple(members.patterns),
        tuple(members.selectors),
        frozenset(members.children),
        problems.text(),
    )


def _members(given: Sequence[_Member], problems: Problems) -> _Members:
    found = _Members()
    selecting = 0
    for index, member in enumerate(given):
        selecting += member.selector.exact_match is None
        if member.selector.exact_match is not None or selecting <= _MOST_SELECTING:
            _read(member, f"spec.members[{index}]", found, problems)
    if selecting > _MOST_SELECTING:
        problems.append(
            f"spec.members: {selecting} of them are regexMatch or labelMatch; {_MOST_SELECTING} "
            "are read"
        )
    return found


def _read(member: _Member, path: str, found: _Members, problems: Problems) -> None:
    """Read one member; as in Volcano, HyperNodes are selected only by name."""
    given, of_nodes = member.selector, member.type == "Node"
    if given.exact_match is not None and (of_nodes or member.type == "HyperNode"):
        (found.nodes if of_nodes else found.children).add(given.exact_match.name)
    elif given.regex_match is not None and of_nodes:
        _read_pattern(given.regex_match.pattern, path, found, problems)
    elif given.label_match is not None and of_nodes:
        selector = bounded_selector(given.label_match, f"{path}.selector.labelMatch", problems)
        if selector is not None and selector.requirements:  # an empty one selects nothing there
            found.selectors.append(selector)
    else:
        problems.append(
            f"{path}: it selects nothing; give exactMatch, or for type Node regexMatch or "
            "labelMatch"
        )


def _read_pattern(text: str, path: str, found: _Members, problems: Problems) -> None:
    """Read a regular expression, as in Go (RE2)."""
    path = f"{path}.selector.regexMatch.pattern"
    if not 0 < len(text) <= _LONGEST_PATTERN:
        problems.append(f"{path}: it has {len(text)} characters; 1 to {_LONGEST_PATTERN} are read")
        return
    # Imported here: most clusters have no HyperNode, and RE2 takes a while.
    from enbloc.cel import instructions, searching  # noqa: PLC0415

    needed = instructions(text)
    if found.instructions + needed > _MOST_INSTRUCTIONS:
        problems.append(f"{path}: {quoted(text)} takes too long to match; repeat less")
        return
    try:
        found.patterns.append(Pattern(text, searching(text)))
    except ValueError:
        problems.append(f"{path}: {quoted(text)} is no regular expression of RE2; correct it")
    else:
        found.instructions += needed
