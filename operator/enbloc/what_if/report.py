# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The report of an answer: first one sentence, then the details."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from enbloc.controller.submission import Created
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import PodKey
from enbloc.model.quantity import render
from enbloc.model.text import clipped, several
from enbloc.simulation import Affected, EvictedPod, Sized, Waiting, WhatIfAnswer, group_of

#: The most items that a sentence names, and the most lines of a list, unless wide.
_MOST_NAMED: Final = 5
_MOST_LINES: Final = 20
#: The longest part of a message that a table shows (characters).
_WIDTH: Final = 160


@dataclass(frozen=True, slots=True)
class Subject:
    """An object, or several that share a group, as one subject of the answer.

    Attributes:
        name: for people.
        rows: its groups, and pods without one.
        pods: the number of its pods, with those that would not be made.
    """

    name: str
    rows: Sequence[Waiting]
    pods: int

    @property
    def placed(self) -> Mapping[PodKey, str]:
        """Its pods that get a node → that node."""
        return {pod: node for row in self.rows for pod, node in row.placed.items()}

    @property
    def starts(self) -> bool:
        """Whether all its groups and pods start."""
        made = sum(len(row.pending) for row in self.rows)
        return made == self.pods and all(row.starts for row in self.rows)

    @property
    def message(self) -> str:
        """Why not all of its pods get nodes; "" = unknown or all do."""
        return next((row.message for row in self.rows if row.message), "")


@dataclass(frozen=True)
class Report:
    """An answer with its question.

    Attributes:
        change: the change of nodes, as the beginning of a sentence; "" = none.
        answer: of the simulation.
        created: the pods that are asked about.
        notes: on the manifests.
        names_nodes: whether nodes are named, not only counted.
        hidden: the number of other affected pods and groups that the viewer may not see.
    """

    change: str
    answer: WhatIfAnswer
    created: Sequence[Created]
    notes: Sequence[str]
    names_nodes: bool = True
    hidden: int = 0

    def seen(self, sees: Callable[[str], bool], *, nodes: bool) -> "Report":
        """The same report without what a viewer may not see.

        Args:
            sees: whether they may see groups of a namespace.
            nodes: whether they may see nodes.
        """
        of = self.answer
        evicted = [each for each in of.evicted if sees(each.pod.namespace)]
        delayed, gained = (
            [each for each in several if sees(each.key.namespace)]
            for several in (of.delayed, of.gained)
        )
        hidden = len(of.evicted) + len(of.delayed) + len(of.gained)
        hidden -= len(evicted) + len(delayed) + len(gained)
        answer = replace(of, evicted=evicted, delayed=delayed, gained=gained)
        return replace(self, answer=answer, names_nodes=nodes, hidden=hidden)

    @property
    def nodes(self) -> Mapping[str, Node] | None:
        """The nodes, if they may be named; None = they are only counted."""
        return self.answer.nodes if self.names_nodes else None

    @cached_property
    def subjects(self) -> Sequence[Subject]:
        """The subjects of the answer, in the order of the manifests."""
        of_pod = {each.pod.uid: each for each in self.created}
        together = _Together()
        for each in self.created:
            together.join(each.of, group_of(each.pod))
        found: dict[str, list[Created]] = {}
        for each in of_pod.values():
            found.setdefault(together.root(each.of), []).append(each)
        rows = {row.key: row for row in self.answer.asked}
        subjects: list[Subject] = []
        for pods in found.values():
            keys = dict.fromkeys(group_of(each.pod) for each in pods)
            own = [rows[key] for key in keys if key in rows]
            subjects.append(Subject(_name(pods, list(keys)), own, len(pods)))
        return subjects


class _Together:
    """A union-find: objects with members of one group are one subject."""

    def __init__(self) -> None:
        self._above: dict[object, object] = {}

    def root(self, of: object) -> Any:
        """The representative of the set of this object or group."""
        while (above := self._above.get(of, of)) != of:
            self._above[of] = self._above.get(above, above)
            of = above
        return of

    def join(self, of: str, group: GroupKey) -> None:
        """Note that this object has a member of this group."""
        mine, other = self.root(of), self.root(group)
        if mine != other:
            self._above[other] = mine


def _name(pods: Sequence[Created], keys: Sequence[GroupKey]) -> str:
    """The name of a subject: of its one object, else of its group."""
    objects = dict.fromkeys(each.of for each in pods)
    if len(objects) == 1:
        return next(iter(objects))
    groups = [key for key in keys if not key.name.startswith("/")]
    return f"PodGroup {groups[0]}" if len(groups) == 1 else f"{len(objects)} objects"


# ── text ─────────────────────────────────────────────────────────────────────────────────────


def text(report: Report, *, wide: bool, more: str = "") -> Iterator[str]:
    """The lines for people.

    Args:
        report: the answer.
        wide: whether to print every list in full, rather than its beginning.
        more: follows the number of items left out, and says where to find them.
    """
    found, most = report.answer, sys.maxsize if wide else _MOST_NAMED
    lines = sys.maxsize if wide else _MOST_LINES
    width = sys.maxsize if wide else _WIDTH
    said = [*_of_subjects(report, most, lines, more)]
    said += [_of_group(each, report.nodes, most) for each in found.sized]
    if not said:
        said = [_of_nodes(report, most)]
    first, *others = said
    yield _capital(f"{report.change}, {first}") if report.change else _begun(first)
    yield from others
    if found.evicted:
        yield f"Evicted for it: {_evicted(found.evicted, most)}."
    if found.delayed and (report.subjects or found.sized):
        yield "Without a node then, and with one otherwise:"
    for each in found.delayed[:lines]:
        yield f"  {_affected(each)}: {clipped(each.message or 'evicted', width)}"
    yield from _more(len(found.delayed), lines, more)
    if found.gained and (found.delayed or found.evicted or report.subjects or found.sized):
        yield f"Starting then, and waiting otherwise: {_listed(found.gained, most)}."
    if report.hidden:
        yield f"{report.hidden} more would fare otherwise, of namespaces that you may not see."


def _of_subjects(report: Report, most: int, lines: int, more: str) -> Iterator[str]:
    """A sentence per subject, after a summary if there are several."""
    subjects, nodes = report.subjects, report.nodes
    if len(subjects) == 1:
        yield _sentence(subjects[0], nodes, most)
    if len(subjects) < 2:
        return
    not_so = [each for each in subjects if not each.starts]
    named = several([each.name for each in not_so], most)
    if not not_so:
        yield f"all {len(subjects)} would start now."
    elif len(not_so) == len(subjects):
        yield f"none of the {len(subjects)} would start now."
    else:
        would = len(subjects) - len(not_so)
        yield f"{would} of {len(subjects)} would start now; {named} would not."
    for each in [*not_so, *(each for each in subjects if each.starts)][:lines]:
        yield f"  {_sentence(each, nodes, most)}"
    yield from _more(len(subjects), lines, more)


def _more(number: int, lines: int, more: str) -> Iterator[str]:
    """The line that says how many have no line."""
    if number > lines:
        yield f"  and {number - lines} more{more}"


def _sentence(subject: Subject, nodes: Mapping[str, Node] | None, most: int) -> str:
    placed = subject.placed
    where = _where(list(placed.values()), nodes, most)
    if subject.starts and len(placed) == subject.pods:
        return f"{subject.name} would start now: {_pods(subject.pods)} on {where}."
    message = subject.message or "its first pods have no nodes yet"
    why = f"{message.strip().removesuffix('.')}."
    if subject.starts:
        counted = f"{len(placed)} of {_pods(subject.pods)} on {where}"
        return f"{subject.name} would start now: {counted}. The others wait: {why}"
    counted = f" ({len(placed)} of {_pods(subject.pods)} would have nodes)" if placed else ""
    return f"{subject.name} would not start now{counted}: {why}"


def _of_group(each: Sized, nodes: Mapping[str, Node] | None, most: int) -> str:
    if each.whole:
        new = list(each.row.placed.values()) if each.row is not None else []
        where = f", {len(new)} of them new, on {_where(new, nodes, most)}" if new else ""
        return f"{each.key} would run with {_members(each.members)}{where}."
    why = each.message.strip().removesuffix(".")
    return (
        f"{each.key} would not run with {_members(each.members)}: {each.placed} of them would have "
        f"nodes{': ' if why else ''}{why}."
    )


def _of_nodes(report: Report, most: int) -> str:
    """The sentence if only nodes change: who gains nodes, and who loses them."""
    found = report.answer
    if found.delayed or found.evicted:
        losers = [*(each.name for each in found.delayed), *_groups(found.evicted)]
        return f"{several(list(dict.fromkeys(losers)), most)} would lose nodes."
    if found.gained:
        nobody = "nobody that you may see" if report.hidden else "nobody"
        return f"{_listed(found.gained, most)} would start, and {nobody} would lose nodes."
    nobody = "nobody that you may see" if report.hidden else "nobody"
    return f"{nobody} would lose nodes, and nobody who waits would start."


def _where(placed: Sequence[str], nodes: Mapping[str, Node] | None, most: int) -> str:
    """The nodes with the number of pods on each; if they are many, their shapes."""
    counts = Counter(placed)
    if nodes is None:
        return "1 node" if len(counts) == 1 else f"{len(counts)} nodes"
    if len(counts) <= most:
        one_each = len(counts) == len(placed)
        said = (node if one_each else f"{node} ({count})" for node, count in sorted(counts.items()))
        return ", ".join(said)
    shapes: dict[object, list[str]] = {}
    for name in sorted(counts):
        node = nodes.get(name)
        shapes.setdefault(node.allocatable if node is not None else None, []).append(name)
    largest = sorted(shapes.values(), key=len, reverse=True)
    shown = [f"{len(each)} like {each[0]}{_offer(nodes.get(each[0]))}" for each in largest]
    return f"{len(counts)} nodes: {several(shown, most)}"


def _offer(node: Node | None) -> str:
    """The CPUs and devices of a node."""
    if node is None:
        return ""
    offered = dict(node.allocatable)
    devices = sorted(name for name in offered if "/" in name and not name.startswith("hugepages"))
    said = [f"{render('cpu', offered.get('cpu', 0))} CPUs"]
    said += [f"{render(name, offered[name])} {name}" for name in devices]
    return f" ({', '.join(said)})"


def _evicted(evicted: Sequence[EvictedPod], most: int) -> str:
    pods: dict[GroupKey, list[EvictedPod]] = {}
    for each in evicted:
        pods.setdefault(each.group, []).append(each)
    said = [
        f"pod {of[0].pod}" if key.name.startswith("/") else f"{_pods(len(of))} of {key}"
        for key, of in pods.items()
    ]
    return several(said, most)


def _groups(evicted: Sequence[EvictedPod]) -> Iterator[str]:
    for each in evicted:
        yield f"pod {each.pod}" if each.group.name.startswith("/") else str(each.group)


def _listed(affected: Sequence[Affected], most: int) -> str:
    return several([_affected(each) for each in affected], most)


def _affected(each: Affected) -> str:
    if each.key.name.startswith("/"):
        return each.name
    return f"{each.name} ({_pods(len(each.pods))})"


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def _members(number: int) -> str:
    return "1 member" if number == 1 else f"{number} members"


def _begun(sentence: str) -> str:
    """The sentence with a capital first letter, unless it begins with a name."""
    ours = sentence.split(" ", 1)[0] in ("all", "none", "nobody")
    return _capital(sentence) if ours else sentence


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"
