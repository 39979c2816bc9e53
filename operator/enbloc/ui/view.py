# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""View: what pages show of a cluster at one moment, made by the simulation; and who may see what.

A view never changes, so requests are answered from it while the next one is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from enbloc.engine.events import TopologySeen
from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import Pod
from enbloc.model.times import span_text
from enbloc.simulation import (
    Explanation,
    GivenUpError,
    GoOn,
    InCopy,
    Outlook,
    Present,
    Remedy,
    Start,
    Waiting,
    Whose,
    group_of,
    taken,
)
from enbloc.ui.node_map import NodeMap, node_map
from enbloc.ui.places import Finder
from enbloc.ui.timeline import Timeline, timeline


@dataclass(frozen=True, slots=True)
class Row:
    """One of those who wait, with its place.

    Attributes:
        place: counted from 1 over all namespaces; None = it was not tried.
    """

    place: int | None
    waiting: Waiting


@dataclass(frozen=True)
class View:
    """A cluster, and what becomes of who waits in it.

    Attributes:
        number: grows from each view to the next.
        present: the cluster.
        outlook: what becomes of who waits.
        rows: who waits, in the order in which they are decided.
        places: by group, its index in `rows`.
        members: by group, all its pods as they are, the oldest first.
        groups: all PodGroups.
        nodes: all nodes, and what is used of each.
        finder: says which nodes could hold whom.
        starts: when those start that do not now, as far as it was worked out.
    """

    number: int
    present: Present
    outlook: Outlook
    rows: Sequence[Row]
    places: Mapping[GroupKey, int]
    members: Mapping[GroupKey, Sequence[Pod]]
    groups: Mapping[GroupKey, Group]
    nodes: NodeMap
    finder: Finder
    starts: Mapping[GroupKey, Start] = field(default_factory=dict[GroupKey, Start])

    @cached_property
    def times(self) -> Timeline:
        """What runs until when, and what starts when."""
        waiting = (row.waiting for row in self.rows)
        return timeline(self.members, waiting, self.starts, self.present.now)

    def row(self, key: GroupKey) -> Row | None:
        """That of a group; None = it does not wait."""
        index = self.places.get(key)
        return None if index is None else self.rows[index]

    def namespaces(self) -> Sequence[str]:
        """Those in which somebody waits, in the order of the first of each."""
        return tuple(dict.fromkeys(row.waiting.key.namespace for row in self.rows))

    def explained(self, waiting: Waiting, go_on: GoOn = lambda: True) -> "Explained":
        """Why one of them waits, and with what it would start; it may take long.

        Args:
            waiting: one of `rows`.
            go_on: asked time and again: whether more is to be tried.
        """
        found = self.outlook.within(go_on).explain(waiting)
        ahead = [Ahead(each.key, each.name, taken([each])) for each in found.ahead]
        now, later = ([replace(e, change=None) for e in of] for of in (found.remedies, found.later))
        return Explained(replace(found, ahead=(), remedies=now, later=later), ahead)

    def with_starts(self, go_on: GoOn = lambda: True) -> "View":
        """The next view, which is the same and says when those start that do not now.

        Args:
            go_on: asked time and again: whether there is time left.

        Raises:
            GivenUpError: nothing can be told, or there was no time left.
        """
        found = self.outlook.within(go_on).starts()
        if not found:
            raise GivenUpError
        return replace(self, number=self.number + 1, starts=found)


def start_text(view: View, key: GroupKey, now: float) -> str:
    """In how long a group starts: "≤20m" = by limits, "~20m" = as is expected; "" = not known."""
    start = view.starts.get(key)
    if start is None:
        return ""
    return f"{'≤' if start.latest else '~'}{span_text(start.at - now)}"


def view_of(
    present: Present, number: int, go_on: GoOn = lambda: True, in_copy: InCopy | None = None
) -> View:
    """Let the scheduler decide on a copy of the cluster; it may take seconds.

    Args:
        present: the cluster.
        number: of the view.
        go_on: asked time and again: whether anybody wants it still.
        in_copy: how changes are tried, see `Outlook`.

    Raises:
        GivenUpError: nobody does.
    """
    outlook = Outlook(present, in_copy, wanted=go_on)
    rows = [
        Row(place if each.decided else None, each) for place, each in enumerate(outlook.rows, 1)
    ]
    topologies = [e.topology for e in present.events if isinstance(e, TopologySeen)]
    return View(
        number,
        present,
        outlook,
        rows,
        {row.waiting.key: index for index, row in enumerate(rows)},
        _members(outlook.pods, present),
        outlook.groups,
        node_map(outlook.nodes, outlook.pods, topologies),
        Finder(present),
    )


def _members(pods: Sequence[Pod], present: Present) -> Mapping[GroupKey, Sequence[Pod]]:
    """The pods of each group, and each pod of ours without one."""
    found: dict[GroupKey, list[Pod]] = {}
    for pod in pods:
        if pod.group is not None or pod.scheduler in present.profiles:
            found.setdefault(group_of(pod), []).append(pod)
    for each in found.values():
        each.sort(key=lambda pod: pod.seniority)
    return found


# ── who may see what ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Viewer:
    """What somebody may see.

    Attributes:
        everything: groups of all namespaces.
        namespaces: else the groups of these.
        nodes: nodes, and what is used of them.
        complete: it is known of every namespace whether they may; else they have to name one.
    """

    everything: bool = False
    namespaces: frozenset[str] = frozenset()
    nodes: bool = False
    complete: bool = True

    def sees(self, namespace: str) -> bool:
        """Whether they may see groups of this namespace."""
        return self.everything or namespace in self.namespaces


#: Who may see all there is.
ANYBODY = Viewer(everything=True, nodes=True)


@dataclass(frozen=True, slots=True)
class Ahead:
    """One who comes before another, and starts.

    Attributes:
        key: of the group.
        name: for people.
        requests: of its members that get a node, together, by resource.
    """

    key: GroupKey
    name: str
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation as it can be handed to another process.

    Attributes:
        explanation: without who is ahead.
        ahead: they.
    """

    explanation: Explanation
    ahead: Sequence[Ahead]


@dataclass(frozen=True, slots=True)
class Shown:
    """An explanation, as far as somebody may see it.

    Attributes:
        explanation: without what they may not see, and without who is ahead.
        ahead: those of them whom they may see.
        withheld: how many changes are left out, and how many who are ahead.
    """

    explanation: Explanation
    ahead: Sequence[Ahead] = ()
    withheld: tuple[int, int] = (0, 0)


def shown(explained: Explained, viewer: Viewer) -> Shown:
    """Leave out what names objects of other namespaces, and nodes, that somebody may not see.

    What an explanation says in a text cannot be told apart, so whole changes are left out: those
    in the hand of others, who see all groups; and of administrators, who see nodes.
    """
    explanation = explained.explanation
    if viewer.everything and viewer.nodes:
        return Shown(explanation, explained.ahead)
    ahead = [each for each in explained.ahead if viewer.sees(each.key.namespace)]
    now, later = (_seen(of, viewer) for of in (explanation.remedies, explanation.later))
    withheld = len(explanation.remedies) + len(explanation.later) - len(now) - len(later)
    hidden = len(explained.ahead) - len(ahead)
    waiting = own(explanation.waiting, viewer)
    seen = replace(explanation, waiting=waiting, remedies=now, later=later)
    return Shown(seen, ahead, (withheld, hidden))


def _seen(remedies: Sequence[Remedy], viewer: Viewer) -> Sequence[Remedy]:
    return [
        replace(each, victims=tuple(pod for pod in each.victims if viewer.sees(pod.namespace)))
        for each in remedies
        if (each.whose is Whose.YOURS and (viewer.nodes or not each.of_nodes))
        or (each.whose is Whose.OTHERS and viewer.everything)
        or (each.whose is Whose.ADMINISTRATOR and viewer.nodes)
    ]


def own(waiting: Waiting, viewer: Viewer) -> Waiting:
    """One who waits, without the pods that give way to it and that somebody may not see."""
    victims = tuple(pod for pod in waiting.victims if viewer.sees(pod.namespace))
    return waiting if victims == waiting.victims else replace(waiting, victims=victims)
