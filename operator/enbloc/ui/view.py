# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""View: what pages show of a cluster at one moment, made by the simulation; and who may see what.

A view never changes, so requests are answered from it while the next one is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from enbloc.engine.events import Event, PodSeen, TopologySeen
from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import Pod
from enbloc.model.times import span_text
from enbloc.simulation import (
    Explanation,
    GivenUpError,
    GoOn,
    Present,
    Remedy,
    Result,
    SimulatedCluster,
    Start,
    Try,
    Waiting,
    Whose,
    alone,
    estimates,
    explain,
    group_of,
    members_waiting,
    outcome,
    queue,
)
from enbloc.ui.node_map import NodeMap, node_map
from enbloc.ui.places import Finder


@dataclass(frozen=True, slots=True)
class Row:
    """One of those who wait, with its place.

    Attributes:
        place: counted from 1 over all namespaces; None = it was not tried.
    """

    place: int | None
    waiting: Waiting


@dataclass(frozen=True, slots=True)
class View:
    """A cluster, and what becomes of who waits in it.

    Attributes:
        number: grows from each view to the next.
        present: the cluster.
        settled: after the scheduler did what it could.
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
    settled: SimulatedCluster
    rows: Sequence[Row]
    places: Mapping[GroupKey, int]
    members: Mapping[GroupKey, Sequence[Pod]]
    groups: Mapping[GroupKey, Group]
    nodes: NodeMap
    finder: Finder
    starts: Mapping[GroupKey, Start] = field(default_factory=dict[GroupKey, Start])

    def row(self, key: GroupKey) -> Row | None:
        """That of a group; None = it does not wait."""
        index = self.places.get(key)
        return None if index is None else self.rows[index]

    def namespaces(self) -> Sequence[str]:
        """Those in which somebody waits, in the order of the first of each."""
        return tuple(dict.fromkeys(row.waiting.key.namespace for row in self.rows))

    def explained(self, waiting: Waiting, go_on: GoOn = lambda: True) -> Explanation:
        """Why one of them waits, and with what it would start; it may take long.

        Args:
            waiting: one of `rows`.
            go_on: asked time and again: whether more is to be tried.
        """
        rows = [row.waiting for row in self.rows]
        now, empty = self.present, alone(self.present, waiting)
        return explain(
            self.settled,
            rows,
            waiting,
            _trying(now, waiting.key, go_on),
            _trying(empty, waiting.key, go_on),
        )

    def with_starts(self, go_on: GoOn) -> "View | None":
        """The next view, which is the same and says when those start that do not now.

        Args:
            go_on: asked time and again: whether there is time left.

        Returns:
            None if nothing can be told, or it was given up.
        """
        waiting = [row.waiting.key for row in self.rows if not row.waiting.starts]
        pods = (event.pod for event in self.present.events if isinstance(event, PodSeen))
        if not waiting or all(pod.limit is None and pod.expected is None for pod in pods):
            return None
        try:
            found = estimates(SimulatedCluster(self.present, go_on).settle(), waiting)
        except GivenUpError:
            return None
        return replace(self, number=self.number + 1, starts=found) if found else None


def _trying(present: Present, key: GroupKey, go_on: GoOn) -> Try:
    """Tries changes, each on a cluster in which the scheduler has done what it could."""

    def attempt(events: Sequence[Event]) -> Result:
        # Without a change it is what keeps the group waiting that is asked for.
        cluster = SimulatedCluster(present, go_on) if events else SimulatedCluster(present)
        cluster.settle()
        cluster.tell(events)
        return outcome(cluster.settle(), key)

    return attempt


def start_text(view: View, key: GroupKey, now: float) -> str:
    """In how long a group starts: "≤20m" = by limits, "~20m" = as is expected; "" = not known."""
    start = view.starts.get(key)
    if start is None:
        return ""
    return f"{'≤' if start.latest else '~'}{span_text(start.at - now)}"


def view_of(present: Present, number: int, go_on: GoOn = lambda: True) -> View:
    """Let the scheduler decide on a copy of the cluster; it may take seconds.

    Args:
        present: the cluster.
        number: of the view.
        go_on: asked time and again: whether anybody wants it still.

    Raises:
        GivenUpError: nobody does.
    """
    cluster = SimulatedCluster(present, go_on)
    pods, groups = list(cluster.pods.values()), dict(cluster.groups)
    nodes = list(cluster.nodes.values())
    waiting = members_waiting(pods, present.profiles.keys())
    settled = cluster.settle()
    rows = [
        Row(place if each.decided else None, each)
        for place, each in enumerate(queue(settled, waiting), start=1)
    ]
    topologies = [e.topology for e in present.events if isinstance(e, TopologySeen)]
    return View(
        number,
        present,
        settled,
        rows,
        {row.waiting.key: index for index, row in enumerate(rows)},
        _members(pods, present),
        groups,
        node_map(nodes, pods, topologies),
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
class Shown:
    """An explanation, as far as somebody may see it.

    Attributes:
        explanation: without what they may not see.
        withheld: how many changes are left out, and how many who are ahead.
    """

    explanation: Explanation
    withheld: tuple[int, int] = (0, 0)


def shown(explanation: Explanation, viewer: Viewer) -> Shown:
    """Leave out what names objects of other namespaces, and nodes, that somebody may not see.

    What an explanation says in a text cannot be told apart, so whole changes are left out: those
    in the hand of others, who see all groups; and of administrators, who see nodes.
    """
    if viewer.everything and viewer.nodes:
        return Shown(explanation)
    ahead = [each for each in explanation.ahead if viewer.sees(each.key.namespace)]
    now, later = (_seen(of, viewer) for of in (explanation.remedies, explanation.later))
    withheld = len(explanation.remedies) + len(explanation.later) - len(now) - len(later)
    hidden = len(explanation.ahead) - len(ahead)
    waiting = own(explanation.waiting, viewer)
    seen = replace(explanation, waiting=waiting, ahead=ahead, remedies=now, later=later)
    return Shown(seen, (withheld, hidden))


def _seen(remedies: Sequence[Remedy], viewer: Viewer) -> Sequence[Remedy]:
    return [
        replace(each, victims=tuple(pod for pod in each.victims if viewer.sees(pod.namespace)))
        for each in remedies
        if (each.whose is Whose.YOURS and (viewer.nodes or not each.change.of_nodes))
        or (each.whose is Whose.OTHERS and viewer.everything)
        or (each.whose is Whose.ADMINISTRATOR and viewer.nodes)
    ]


def own(waiting: Waiting, viewer: Viewer) -> Waiting:
    """One who waits, without the pods that give way to it and that somebody may not see."""
    victims = tuple(pod for pod in waiting.victims if viewer.sees(pod.namespace))
    return waiting if victims == waiting.victims else replace(waiting, victims=victims)
