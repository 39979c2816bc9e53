# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Changes: what might make a group start, each by degrees, and in whose hand it is."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Final

from enbloc.engine.events import Event, GroupSeen, NodeSeen, PodSeen
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import Reason
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.quantity import render
from enbloc.model.resources import PODS
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator, tolerated
from enbloc.simulation.clones import node_like
from enbloc.simulation.cluster import SimulatedCluster
from enbloc.simulation.waiting import Waiting, group_of

#: So many shapes of nodes, taints, labels, cordoned nodes and classes of pods are looked at.
_MOST_TRIED: Final = 8
#: So many members are made up at most.
_MOST_MEMBERS: Final = 1024
#: In how many degrees a request is lowered, at least where its unit allows it.
_DEGREES: Final = 8
#: By which units requests are lowered, the largest first.
_UNITS: Final = {
    "cpu": (1000, 500, 100, 10, 1),
    "memory": (2**34, 2**33, 2**32, 2**31, 2**30, 2**29, 2**27, 2**24, 2**20, 1),
}
_HOSTNAME: Final = "kubernetes.io/hostname"
#: Taints by which Kubernetes says how a node is; no pod should tolerate them to start earlier.
_OF_KUBERNETES: Final = "node.kubernetes.io/"
_INSUFFICIENT: Final = re.compile(r"Insufficient ([A-Za-z0-9._/-]*[A-Za-z0-9])")


class Whose(StrEnum):
    """In whose hand a change is."""

    YOURS = "yours"
    ADMINISTRATOR = "administrator"
    OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change, in degrees: what helps in one degree helps in each that is larger.

    Attributes:
        whose: in whose hand it is.
        most: the largest degree; the smallest is 1.
        words: what it is in a degree, as what follows "it would start with".
        events: what the scheduler would see of it.
    """

    whose: Whose
    most: int
    words: Callable[[int], str]
    events: Callable[[int], Sequence[Event]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is to start.

    Attributes:
        waiting: the group or pod.
        cluster: after the scheduler did what it could.
    """

    waiting: Waiting
    cluster: SimulatedCluster

    @property
    def group(self) -> Group | None:
        """Its PodGroup."""
        return self.cluster.groups.get(self.waiting.key)

    @property
    def insufficient(self) -> Sequence[str]:
        """The resources of which nodes have too little left for it, each once."""
        return tuple(dict.fromkeys(_INSUFFICIENT.findall(self.waiting.message)))

    @property
    def specs(self) -> Sequence[PodSpec]:
        """The classes of its pending members, a few of them."""
        return list(islice(dict.fromkeys(pod.spec for pod in self.waiting.pending), _MOST_TRIED))

    def pods_with(self, spec: Callable[[PodSpec], PodSpec]) -> Sequence[Event]:
        """Its pending members, of other specs."""
        return [PodSeen(replace(pod, spec=spec(pod.spec))) for pod in self.waiting.pending]


#: Changes of which one is enough: the least of them counts.
Alternatives = Iterable[Change]


def changes(asked: Asked) -> Iterator[Alternatives]:
    """All kinds of changes that may help, the most likely first."""
    if asked.waiting.reason is Reason.WAITING_FOR_MEMBERS:
        yield more_members(asked)
        return
    for resource in asked.insufficient:
        yield smaller_requests(asked, resource)
    for pair in sorted({pair for spec in asked.specs for pair in spec.node_selector}):
        yield other_node_labels(asked, *pair)
    for kind in (
        no_node_affinity,
        more_tolerations,
        lower_minimum,
        wider_topology,
        higher_priority,
        others_ending,
        open_nodes,
        more_nodes,
    ):
        yield islice(kind(asked), _MOST_TRIED)


# ── in the hand of whoever made the pods ─────────────────────────────────────────────────────


def smaller_requests(asked: Asked, resource: str) -> Iterator[Change]:
    """Members that request less of one resource."""
    amounts = {dict(pod.spec.requests).get(resource, 0) for pod in asked.waiting.pending}
    most = max(amounts)
    unit = _unit(resource, most)
    units = -(-most // unit)

    def words(degree: int) -> str:
        less = _amount(resource, (units - degree) * unit)
        if len(amounts) == 1:
            return f"{less} instead of {render(resource, most)} for each member"
        return f"at most {less} for each member"

    def events(degree: int) -> Sequence[Event]:
        return asked.pods_with(partial(_requesting, resource, (units - degree) * unit))

    if units > 1:
        yield Change(Whose.YOURS, units - 1, words, events)


def _unit(resource: str, amount: int) -> int:
    units = _UNITS.get(resource, (1,))
    return next((unit for unit in units if unit * _DEGREES <= amount), units[-1])


def _amount(resource: str, amount: int) -> str:
    name = {"cpu": "CPUs", "memory": "of memory"}.get(resource, resource)
    return f"{render(resource, amount)} {name}"


def _requesting(resource: str, most: int, spec: PodSpec) -> PodSpec:
    """A pod class that requests no more than this of one resource."""
    requests = tuple((name, min(n, most) if name == resource else n) for name, n in spec.requests)
    return replace(
        spec,
        requests=requests,
        nonzero_cpu=min(spec.nonzero_cpu, most) if resource == "cpu" else spec.nonzero_cpu,
        nonzero_memory=(
            min(spec.nonzero_memory, most) if resource == "memory" else spec.nonzero_memory
        ),
        fit_scored=None,
    )


def other_node_labels(asked: Asked, key: str, value: str) -> Iterator[Change]:
    """Members that want nodes with another value of a label, or with any."""
    offered = Counter(dict(node.labels).get(key) for node in asked.cluster.nodes.values())
    for other, _ in offered.most_common(_MOST_TRIED):
        if other not in (None, value):
            text = f"nodeSelector {key}={other} instead of {key}={value}"
            yield _respecced(asked, text, partial(_selecting, (key, value), ((key, other),)))
    text = f"no nodeSelector {key}={value}"
    yield _respecced(asked, text, partial(_selecting, (key, value), ()))


def no_node_affinity(asked: Asked) -> Iterator[Change]:
    """Members that require no node affinity."""
    if any(spec.node_affinity is not None for spec in asked.specs):
        text = "no required node affinity"
        yield _respecced(asked, text, lambda spec: replace(spec, node_affinity=None))


def _selecting(
    pair: tuple[str, str], instead: tuple[tuple[str, str], ...], spec: PodSpec
) -> PodSpec:
    if pair not in spec.node_selector:
        return spec
    kept = tuple(each for each in spec.node_selector if each != pair)
    return replace(spec, node_selector=tuple(sorted((*kept, *instead))))


def more_tolerations(asked: Asked) -> Iterator[Change]:
    """Members that tolerate one more taint."""
    taints = Counter(
        taint
        for node in asked.cluster.nodes.values()
        for taint in node.taints
        if taint.effect is not Effect.PREFER_NO_SCHEDULE
        and not taint.key.startswith(_OF_KUBERNETES)
    )
    for taint, _ in taints.most_common():
        if all(tolerated(spec.tolerations, taint) for spec in asked.specs):
            continue
        yield _respecced(asked, f"a toleration of {_taint(taint)}", partial(_tolerating, taint))


def _tolerating(taint: Taint, spec: PodSpec) -> PodSpec:
    one = Toleration(taint.key, TolerationOperator.EQUAL, taint.value, taint.effect)
    return replace(spec, tolerations=(*spec.tolerations, one))


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _respecced(asked: Asked, text: str, spec: Callable[[PodSpec], PodSpec]) -> Change:
    return Change(Whose.YOURS, 1, lambda _: text, lambda _: asked.pods_with(spec))


def lower_minimum(asked: Asked) -> Iterator[Change]:
    """A group that needs fewer members."""
    group = asked.group
    if group is None or group.roles or group.min_member < 2:
        return
    minimum = group.min_member

    def events(degree: int) -> Sequence[Event]:
        return [_regrouped(group, min_member=minimum - degree)]

    def words(degree: int) -> str:
        return f"minMember {minimum - degree} instead of {minimum}"

    yield Change(Whose.YOURS, minimum - 1, words, events)


def wider_topology(asked: Asked) -> Iterator[Change]:
    """A group that need not lie in one domain."""
    group = asked.group
    if group is None or group.topology is None or not group.topology.required:
        return
    level = group.topology.required
    seen = _regrouped(group, topology=replace(group.topology, required=""))
    yield Change(Whose.YOURS, 1, lambda _: f"no required topology ({level})", lambda _: [seen])


def _regrouped(group: Group, **of: object) -> Event:
    generation = group.generation + 1
    return GroupSeen(replace(group, generation=generation, **of))  # type: ignore[arg-type]


def higher_priority(asked: Asked) -> Iterator[Change]:
    """Members of a PriorityClass above theirs: they come earlier, and others give way to them."""
    pending = asked.waiting.pending
    now = min(pod.priority for pod in pending)
    above = sorted(
        (value, name)
        for name, value in asked.cluster.classes.items()
        if value > now and not name.startswith("system-")
    )
    if not above or not all(pod.preempts for pod in pending):
        return

    def events(degree: int) -> Sequence[Event]:
        value, name = above[degree - 1]
        return [PodSeen(replace(pod, priority=value, priority_class=name)) for pod in pending]

    def words(degree: int) -> str:
        return f"priorityClassName {above[degree - 1][1]}"

    yield Change(Whose.YOURS, len(above), words, events)


def more_members(asked: Asked) -> Iterator[Change]:
    """Members that do not exist yet, each like one that does."""
    waiting, group = asked.waiting, asked.group
    missing = waiting.minimum - waiting.members
    if group is None or group.roles or not 0 < missing <= _MOST_MEMBERS:
        return
    like = waiting.pending[-1]

    def events(degree: int) -> Sequence[Event]:
        return [PodSeen(_another(like, number)) for number in range(degree)]

    def words(degree: int) -> str:
        more = "1 more member" if degree == 1 else f"{degree} more members"
        return f"{more} ({waiting.members} of {waiting.minimum} exist)"

    yield Change(Whose.YOURS, missing, words, events)


def _another(pod: Pod, number: int) -> Pod:
    key = PodKey(pod.key.namespace, f"{pod.key.name}-more-{number}")
    return replace(pod, key=key, uid=PodUID(f"{pod.uid}-more-{number}"))


# ── in the hand of others ────────────────────────────────────────────────────────────────────


def others_ending(asked: Asked) -> Iterator[Change]:
    """A group that runs, or a pod without one, has ended: in degrees, the smallest first.

    What counts is what it has of the first resource that is insufficient, on nodes that members may
    use; that a larger one helps where a smaller does is likely, and no more.
    """
    resource = next(iter(asked.insufficient), PODS)
    eligible = {
        node.name
        for node in asked.cluster.nodes.values()
        if any(_may_use(spec, node) for spec in asked.specs)
    }
    running: dict[GroupKey, list[Pod]] = {}
    for pod in asked.cluster.pods.values():
        if pod.bound and group_of(pod) != asked.waiting.key and not pod.mirror:
            running.setdefault(group_of(pod), []).append(pod)
    sizes = {
        key: sum(dict(pod.spec.requests).get(resource, 0) for pod in pods if pod.node in eligible)
        for key, pods in running.items()
    }
    units = sorted((key for key in running if sizes[key]), key=lambda key: (sizes[key], key))

    def words(degree: int) -> str:
        key = units[degree - 1]
        return f"the end of {f'pod {running[key][0].key}' if key.name.startswith('/') else key}"

    def events(degree: int) -> Sequence[Event]:
        return asked.cluster.ended(running[units[degree - 1]])

    if units:
        yield Change(Whose.OTHERS, len(units), words, events)


def _may_use(spec: PodSpec, node: Node) -> bool:
    """Whether a node has the labels that a pod selects, and no taint that keeps it off."""
    return (
        not node.unschedulable
        and set(spec.node_selector) <= set(node.labels)
        and all(
            taint.effect is Effect.PREFER_NO_SCHEDULE or tolerated(spec.tolerations, taint)
            for taint in node.taints
        )
    )


def more_nodes(asked: Asked) -> Iterator[Change]:
    """More nodes like some that are there, of each shape; those that most nodes have first."""
    shapes: dict[object, list[Node]] = {}
    for node in asked.cluster.nodes.values():
        if node.ready and not node.unschedulable:
            shapes.setdefault((node.allocatable, node.taints, _labels(node)), []).append(node)
    for nodes in sorted(shapes.values(), key=len, reverse=True):
        like = nodes[0]

        def events(degree: int, like: Node = like) -> Sequence[Event]:
            facts = asked.cluster.facts
            more = (node_like(like, number, facts) for number in range(degree))
            return [event for events in more for event in events]

        def words(degree: int, like: Node = like) -> str:
            return f"{degree} more {'node' if degree == 1 else 'nodes'} like {like.name}"

        most = len(asked.waiting.pending)
        yield Change(Whose.ADMINISTRATOR, most, words, events)


def _labels(node: Node) -> tuple[tuple[str, str], ...]:
    """Labels but those that are the node's own."""
    return tuple(pair for pair in node.labels if pair[1] != node.name)


def open_nodes(asked: Asked) -> Iterator[Change]:
    """Nodes that are cordoned take pods again."""
    closed = sorted(
        (node for node in asked.cluster.nodes.values() if node.unschedulable and node.ready),
        key=lambda node: node.name,
    )

    def opened(nodes: Sequence[Node]) -> Sequence[Event]:
        return [NodeSeen(_uncordoned(node)) for node in nodes]

    for node in closed[:_MOST_TRIED]:
        yield Change(
            Whose.ADMINISTRATOR,
            1,
            partial(_uncordon, [node]),
            partial(lambda nodes, _: opened(nodes), [node]),
        )
    if len(closed) > 1:
        yield Change(
            Whose.ADMINISTRATOR,
            len(closed),
            lambda degree: _uncordon(closed[:degree], degree),
            lambda degree: opened(closed[:degree]),
        )


def _uncordon(nodes: Sequence[Node], _: int) -> str:
    names = ", ".join(node.name for node in nodes[:3])
    more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
    return f"{names}{more} uncordoned"


def _uncordoned(node: Node) -> Node:
    taints = tuple(
        taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable"
    )
    return replace(node, unschedulable=False, taints=taints)
