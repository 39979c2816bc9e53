# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""View: a cluster at one moment with the simulation's results for pages; and who may see what.

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
    PresentState,
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
    """A waiting group or pod, with its place in the queue.

    Attributes:
        place: counted from 1 over all namespaces; None = it was not tried.
    """

    place: int | None
    waiting: Waiting


@dataclass(frozen=True)
class View:
    """A cluster, and the outlook for what waits in it.

    Attributes:
        number: each next view has a larger one.
        present: the cluster.
        outlook: what the scheduler would do.
        rows: the waiting groups and pods, in the order in which they are decided.
        places: group → its index in `rows`.
        members: group → all its pods, the oldest first.
        groups: all PodGroups.
        nodes: all nodes with their use.
        finder: finds the nodes that could hold members.
        starts: group → its estimated start, for groups that do not start now.
    """

    number: int
    present: PresentState
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
        """The timeline of running and starting groups."""
        waiting = (row.waiting for row in self.rows)
        return timeline(self.members, waiting, self.starts, self.present.now)

    def row(self, key: GroupKey) -> Row | None:
        """The row of a group; None = it does not wait."""
        index = self.places.get(key)
        return None if index is None else self.rows[index]

    def namespaces(self) -> Sequence[str]:
        """The namespaces with waiting groups or pods, in the order of the first of each."""
        return tuple(dict.fromkeys(row.waiting.key.namespace for row in self.rows))

    def explained(self, waiting: Waiting, go_on: GoOn = lambda: True) -> "Explained":
        """Explain why a group waits, and which changes would start it; may take long.

        Args:
            waiting: of one of `rows`.
            go_on: called repeatedly: whether to try more changes.
        """
        found = self.outlook.within(go_on).explain(waiting)
        ahead = [Ahead(each.key, each.name, taken([each])) for each in found.ahead]
        now, later = ([replace(e, change=None) for e in of] for of in (found.remedies, found.later))
        return Explained(replace(found, ahead=(), remedies=now, later=later), ahead)

    def with_starts(self, go_on: GoOn = lambda: True) -> "View":
        """The same view, under the next number, with estimates of starts.

        Args:
            go_on: called repeatedly: whether there is time left.

        Raises:
            GivenUpError: there are no estimates, or there was no time left.
        """
        found = self.outlook.within(go_on).starts()
        if not found:
            raise GivenUpError
        return replace(self, number=self.number + 1, starts=found)


def start_text(view: View, key: GroupKey, now: float) -> str:
    """The time until a group starts: "≤20m" = by limits, "~20m" = as expected; "" = unknown."""
    start = view.starts.get(key)
    if start is None:
        return ""
    return f"{'≤' if start.latest else '~'}{span_text(start.at - now, up=True)}"


def view_of(
    present: PresentState, number: int, go_on: GoOn = lambda: True, in_copy: InCopy | None = None
) -> View:
    """Make a view by letting the scheduler decide on a copy of the cluster; may take seconds.

    Args:
        present: the cluster.
        number: of the view.
        go_on: called repeatedly: whether there is time left; then the outlook is not complete.
        in_copy: how changes are tried, see `Outlook`.
    """
    outlook = Outlook(present, in_copy, go_on)
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


def _members(pods: Sequence[Pod], present: PresentState) -> Mapping[GroupKey, Sequence[Pod]]:
    """Group → its pods; pods without a group count if enbloc schedules them."""
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
    """What a user may see.

    Attributes:
        everything: whether the groups of all namespaces.
        namespaces: else the groups of these.
        nodes: whether nodes and their use.
        complete: whether every namespace was reviewed; else the user has to name one.
    """

    everything: bool = False
    namespaces: frozenset[str] = frozenset()
    nodes: bool = False
    complete: bool = True

    def sees(self, namespace: str) -> bool:
        """Whether the user may see groups of this namespace."""
        return self.everything or namespace in self.namespaces


#: A viewer who may see everything.
ANYBODY = Viewer(everything=True, nodes=True)


@dataclass(frozen=True, slots=True)
class Ahead:
    """A group or pod that comes before the explained one, and starts.

    Attributes:
        key: of the group.
        name: for people.
        requests: the sum over its members that get a node, by resource.
    """

    key: GroupKey
    name: str
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation in a form that can be sent to another process.

    Attributes:
        explanation: with an empty `ahead`.
        ahead: what comes before the group, in short form.
    """

    explanation: Explanation
    ahead: Sequence[Ahead]


@dataclass(frozen=True, slots=True)
class VisibleExplanation:
    """An explanation without what the viewer may not see.

    Attributes:
        explanation: without the hidden changes, and with an empty `ahead`.
        ahead: what comes before the group, without hidden groups.
        withheld: the number of hidden changes, and of hidden entries of `ahead`.
    """

    explanation: Explanation
    ahead: Sequence[Ahead] = ()
    withheld: tuple[int, int] = (0, 0)


def shown(explained: Explained, viewer: Viewer) -> VisibleExplanation:
    """Leave out what names nodes, or objects of other namespaces, that the viewer may not see.

    The texts of changes cannot be edited, so whole changes are left out: those of others, unless
    the viewer sees all groups; those of administrators, and those that reveal labels or taints,
    unless the viewer sees nodes.
    """
    explanation = explained.explanation
    if viewer.everything and viewer.nodes:
        return VisibleExplanation(explanation, explained.ahead)
    ahead = [each for each in explained.ahead if viewer.sees(each.key.namespace)]
    now, later = (_seen(of, viewer) for of in (explanation.remedies, explanation.later))
    withheld = len(explanation.remedies) + len(explanation.later) - len(now) - len(later)
    hidden = len(explained.ahead) - len(ahead)
    waiting = own(explanation.waiting, viewer)
    seen = replace(explanation, waiting=waiting, remedies=now, later=later)
    return VisibleExplanation(seen, ahead, (withheld, hidden))


def _seen(remedies: Sequence[Remedy], viewer: Viewer) -> Sequence[Remedy]:
    return [
        replace(each, victims=tuple(pod for pod in each.victims if viewer.sees(pod.namespace)))
        for each in remedies
        if (each.whose is Whose.YOURS and (viewer.nodes or not each.of_nodes))
        or (each.whose is Whose.OTHERS and viewer.everything)
        or (each.whose is Whose.ADMINISTRATOR and viewer.nodes)
    ]


def own(waiting: Waiting, viewer: Viewer) -> Waiting:
    """The waiting group, without the victims that the viewer may not see."""
    victims = tuple(pod for pod in waiting.victims if viewer.sees(pod.namespace))
    return waiting if victims == waiting.victims else replace(waiting, victims=victims)
