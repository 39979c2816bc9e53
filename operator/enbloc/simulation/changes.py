# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Changes that might make a group start, each in degrees, and who can make them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from typing import Final

from enbloc.engine.events import Event, GroupSeen, NodeSeen, PodSeen
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import Reason
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.quantity import render
from enbloc.model.resources import PODS
from enbloc.model.taints import Taint, Toleration, TolerationOperator, repels
from enbloc.model.text import several
from enbloc.simulation.clones import equipment, node_like, pod_like
from enbloc.simulation.cluster import SimulatedCluster
from enbloc.simulation.waiting import Waiting, group_of, of_node

#: The most changes of one kind that are tried, the most promising first.
MOST_ALTERNATIVES: Final = 12
#: The most node labels, and the most classes of pods, that are looked at.
_MOST_LOOKED_AT: Final = 8
#: The most members that are made up, and the most nodes added beyond one per member.
_MOST_MEMBERS: Final = 1024
_MOST_RESERVED: Final = 64
#: The most nodes added for groups that come before.
_MOST_BEFORE: Final = 256
_MOST_NAMED: Final = 3
#: The least number of degrees in which a request is lowered, if its unit allows that.
_DEGREES: Final = 8
#: The units by which requests are lowered, the largest first.
_UNITS: Final = {
    "cpu": (1000, 500, 100, 10, 1),
    "memory": (2**34, 2**33, 2**32, 2**31, 2**30, 2**29, 2**27, 2**24, 2**20, 1),
}
#: The prefix of Kubernetes' own PriorityClasses.
_SYSTEM: Final = "system-"
#: Controllers that recreate a pod that has ended.
_KEEPING: Final = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController"})
#: Taints that Kubernetes and cluster-autoscaler set for a node's state or role: no pod should
#: tolerate them to start earlier.
_OF_KUBERNETES: Final = re.compile(
    r"([a-z0-9.-]+\.)?kubernetes\.io/.*"
    r"|ToBeDeletedByClusterAutoscaler|DeletionCandidateOfClusterAutoscaler"
)
_INSUFFICIENT: Final = re.compile(r"Insufficient ([A-Za-z0-9._/-]*[A-Za-z0-9])")


class Whose(StrEnum):
    """Who can make a change."""

    YOURS = "yours"
    ADMINISTRATOR = "administrator"
    OTHERS = "others"

    @property
    def heading(self) -> str:
        """The heading of a list of such changes."""
        return _HEADINGS[self]


_HEADINGS: Final = {
    Whose.YOURS: "Whoever makes the pods can change that",
    Whose.ADMINISTRATOR: "Whoever runs the cluster can change that",
    Whose.OTHERS: "That is up to others",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change, in degrees.

    Attributes:
        whose: who can make it.
        most: the largest degree; the smallest is 1.
        words: degree → its description, as it follows "it would start with".
        events: degree → what the scheduler would see of it.
        of_nodes: whether its words reveal labels or taints of nodes.
        steady: if one degree helps, each larger one does.
    """

    whose: Whose
    most: int
    words: Callable[[int], str]
    events: Callable[[int], Sequence[Event]]
    of_nodes: bool = False
    steady: bool = True


@dataclass(frozen=True)
class GroupToStart:
    """The group that should start, and its cluster.

    Attributes:
        waiting: the group or pod.
        cluster: the settled cluster.
        before: the groups and pods that are decided before it.
    """

    waiting: Waiting
    cluster: SimulatedCluster
    before: Sequence[Waiting] = ()

    @property
    def group(self) -> Group | None:
        """Its PodGroup."""
        return self.cluster.groups.get(self.waiting.key)

    @property
    def insufficient(self) -> Sequence[str]:
        """The resources that are insufficient for it, by its message; each once."""
        return tuple(dict.fromkeys(_INSUFFICIENT.findall(self.waiting.message)))

    def free(self, node: Node) -> Mapping[str, int]:
        """What is free on a node, by resource."""
        left = Counter(dict(node.allocatable))
        left.subtract(self.requested.get(node.name, {}))
        return left

    def holds_when_empty(self, node: Node) -> bool:
        """Whether a member may use a node and would fit there if it were empty."""
        opened = _uncordoned(node)
        room = dict(node.allocatable)
        return any(_may_use(s, opened) and self.within(s, room) for s in self.specs)

    def within(self, spec: PodSpec, room: Mapping[str, int]) -> bool:
        """Whether `room` covers a pod's requests, of the resources that some node offers."""
        return all(
            room.get(name, 0) >= amount for name, amount in spec.requests if name in self.offered
        )

    @cached_property
    def offered(self) -> frozenset[str]:
        """The resources that nodes offer; others are served by devices, or not at all."""
        nodes = self.cluster.nodes.values()
        return frozenset(name for node in nodes for name, _ in node.allocatable)

    @cached_property
    def requested(self) -> Mapping[str, Mapping[str, int]]:
        """Node name → what its pods request, by resource."""
        found: dict[str, dict[str, int]] = {}
        for pod in self.cluster.pods.values():
            if pod.node and not pod.finished:
                on_node = found.setdefault(pod.node, {})
                for name, amount in pod.spec.requests:
                    on_node[name] = on_node.get(name, 0) + amount
        return found

    @property
    def specs(self) -> Sequence[PodSpec]:
        """The distinct specs of its pending members, at most a few."""
        every = dict.fromkeys(pod.spec for pod in self.waiting.pending)
        return list(islice(every, _MOST_LOOKED_AT))

    def pods_with(self, spec: Callable[[PodSpec], PodSpec]) -> Sequence[Event]:
        """Its pending members with changed specs, as events."""
        return [PodSeen(replace(pod, spec=spec(pod.spec))) for pod in self.waiting.pending]


#: Changes one of which is enough: the least one counts.
Alternatives = Iterable[Change]


def changes(asked: GroupToStart) -> Iterator[Alternatives]:
    """All kinds of changes that may help, the most likely first."""
    if asked.waiting.reason is Reason.WAITING_FOR_MEMBERS:
        yield more_members(asked)
        return
    for resource in asked.insufficient:
        yield smaller_requests(asked, resource)
    for pair in _rarest(asked):
        yield other_node_labels(asked, *pair)
    for kind in (
        no_node_affinity,
        more_tolerations,
        lower_minimum,
        wider_topology,
        no_reservation,
        higher_priority,
        others_ending,
        open_nodes,
        more_nodes,
    ):
        yield kind(asked)


def _rarest(asked: GroupToStart) -> Sequence[tuple[str, str]]:
    """The labels that members select, those on the fewest nodes first; at most some of them."""
    wanted = {pair for spec in asked.specs for pair in spec.node_selector}
    having = Counter(
        pair for node in asked.cluster.nodes.values() for pair in node.labels if pair in wanted
    )
    return sorted(wanted, key=lambda pair: (having[pair], pair))[:_MOST_LOOKED_AT]


# ── changes that the pods' creator can make ──────────────────────────────────────────────────


def smaller_requests(asked: GroupToStart, resource: str) -> Iterator[Change]:
    """Change: members request less of one resource."""
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
    cpus = "CPU" if amount == 1000 else "CPUs"
    name = {"cpu": cpus, "memory": "of memory"}.get(resource, resource)
    return f"{render(resource, amount)} {name}"


def _requesting(resource: str, most: int, spec: PodSpec) -> PodSpec:
    """The spec with a request of at most `most` of one resource."""
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


def other_node_labels(asked: GroupToStart, key: str, value: str) -> Iterator[Change]:
    """Change: members select nodes with another value of a label, or with any."""
    offered = Counter(dict(node.labels).get(key) for node in asked.cluster.nodes.values())
    for other, _ in offered.most_common(_MOST_LOOKED_AT):
        if other not in (None, value):
            text = f"nodeSelector {key}={other} instead of {key}={value}"
            spec = partial(_selecting, (key, value), ((key, other),))
            yield _respecced(asked, text, spec, of_nodes=True)
    text = f"no nodeSelector {key}={value}"
    yield _respecced(asked, text, partial(_selecting, (key, value), ()))


def no_node_affinity(asked: GroupToStart) -> Iterator[Change]:
    """Change: members require no node affinity."""
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


def more_tolerations(asked: GroupToStart) -> Iterator[Change]:
    """Change: members tolerate one more taint; first the taints of nodes with room for a member."""
    roomy: Counter[Taint] = Counter()
    for node in asked.cluster.nodes.values():
        free = asked.free(node)
        for taint in node.taints:
            if _OF_KUBERNETES.fullmatch(taint.key):
                continue
            if any(repels(spec.tolerations, taint) for spec in asked.specs):
                roomy[taint] += any(asked.within(spec, free) for spec in asked.specs)
    for taint, _ in roomy.most_common():
        text, spec = f"a toleration of {_taint(taint)}", partial(_tolerating, taint)
        yield _respecced(asked, text, spec, of_nodes=True)


def _tolerating(taint: Taint, spec: PodSpec) -> PodSpec:
    one = Toleration(taint.key, TolerationOperator.EQUAL, taint.value, taint.effect)
    return replace(spec, tolerations=(*spec.tolerations, one))


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _respecced(
    asked: GroupToStart, text: str, spec: Callable[[PodSpec], PodSpec], *, of_nodes: bool = False
) -> Change:
    return Change(
        Whose.YOURS, 1, lambda _: text, lambda _: asked.pods_with(spec), of_nodes=of_nodes
    )


def lower_minimum(asked: GroupToStart) -> Iterator[Change]:
    """Change: the group needs fewer members."""
    group = asked.group
    if group is None or group.roles or group.min_member < 2:
        return
    minimum = group.min_member

    def events(degree: int) -> Sequence[Event]:
        return [_regrouped(group, min_member=minimum - degree)]

    def words(degree: int) -> str:
        return f"minMember {minimum - degree} instead of {minimum}"

    yield Change(Whose.YOURS, minimum - 1, words, events)


def wider_topology(asked: GroupToStart) -> Iterator[Change]:
    """Change: the group need not lie in one domain."""
    group = asked.group
    if group is None or group.topology is None or not group.topology.required:
        return
    level = group.topology.required
    seen = _regrouped(group, topology=replace(group.topology, required=""))
    yield Change(Whose.YOURS, 1, lambda _: f"no required topology ({level})", lambda _: [seen])


def _regrouped(group: Group, **of: object) -> Event:
    generation = group.generation + 1
    return GroupSeen(replace(group, generation=generation, **of))  # type: ignore[arg-type]


def no_reservation(asked: GroupToStart) -> Iterator[Change]:
    """Change: the group reserves nothing beyond its members' requests."""
    group = asked.group
    if group is not None and group.min_resources:
        seen = _regrouped(group, min_resources=())
        yield Change(Whose.YOURS, 1, lambda _: "no minResources", lambda _: [seen])


def higher_priority(asked: GroupToStart) -> Iterator[Change]:
    """Change: members have a higher PriorityClass, so they come earlier and may preempt others.

    Classes that preempt and those that do not are alternatives; a degree is a place among both.
    """
    pending = asked.waiting.pending
    now = min(pod.priority for pod in pending)
    above = sorted(
        (each.value, each.name, each.preempts)
        for each in asked.cluster.classes.values()
        if each.value > now and not each.name.startswith(_SYSTEM)
    )

    def chosen(preempts: bool, degree: int) -> tuple[int, str, bool] | None:
        """The highest such class among the first `degree`."""
        return next((each for each in reversed(above[:degree]) if each[2] is preempts), None)

    def events(preempts: bool, degree: int) -> Sequence[Event]:
        found = chosen(preempts, degree)
        if found is None:
            return []
        value, name, _ = found
        return [
            PodSeen(replace(pod, priority=value, priority_class=name, preempts=preempts))
            for pod in pending
        ]

    def words(preempts: bool, degree: int) -> str:
        found = chosen(preempts, degree)
        return f"priorityClassName {found[1]}" if found is not None else ""

    for preempts in (True, False):
        if chosen(preempts, len(above)) is not None:
            words_of, events_of = partial(words, preempts), partial(events, preempts)
            yield Change(Whose.YOURS, len(above), words_of, events_of)


def more_members(asked: GroupToStart) -> Iterator[Change]:
    """Change: the missing members exist, each like an existing one."""
    waiting, group = asked.waiting, asked.group
    missing = waiting.minimum - waiting.members
    if group is None or group.roles or not 0 < missing <= _MOST_MEMBERS:
        return
    like, facts = waiting.pending[-1], asked.cluster.facts

    def events(degree: int) -> Sequence[Event]:
        more = (pod_like(like, each, asked.cluster.now, facts) for each in range(degree))
        return [event for events in more for event in events]

    def words(degree: int) -> str:
        more = "1 more member" if degree == 1 else f"{degree} more members"
        return f"{more} ({waiting.members} of {waiting.minimum} exist)"

    yield Change(Whose.YOURS, missing, words, events)


# ── changes that others can make ─────────────────────────────────────────────────────────────


def others_ending(asked: GroupToStart) -> Iterator[Change]:
    """Change: terminating pods are gone, or a running group has ended, the smallest first.

    A group's size is what it has of the first insufficient resource, on nodes that hold a member
    when empty. Pods that are recreated at once are left out: those of a DaemonSet, of a ReplicaSet
    or StatefulSet without a group, and of the system.
    """
    leaving = [
        pod for pod in asked.cluster.pods.values() if pod.node and pod.deleting and not pod.finished
    ]
    if leaving:
        count = "1 pod that is" if len(leaving) == 1 else f"{len(leaving)} pods that are"
        yield Change(
            Whose.OTHERS,
            1,
            lambda _: f"the end of {count} terminating already",
            lambda _: asked.cluster.ended(leaving),
        )
    running, units = _units(asked)

    def words(of: Sequence[GroupKey], degree: int) -> str:
        key = of[degree - 1]
        return f"the end of {f'pod {running[key][0].key}' if key.name.startswith('/') else key}"

    def events(of: Sequence[GroupKey], degree: int) -> Sequence[Event]:
        return asked.cluster.ended(running[of[degree - 1]])

    few = MOST_ALTERNATIVES // 2
    for key in units[:few]:
        yield Change(Whose.OTHERS, 1, partial(words, [key]), partial(events, [key]))
    if rest := units[few:]:  # as degrees: if a smaller group helps, a larger one is only likely to
        yield Change(Whose.OTHERS, len(rest), partial(words, rest), partial(events, rest))


def _units(asked: GroupToStart) -> tuple[Mapping[GroupKey, Sequence[Pod]], Sequence[GroupKey]]:
    """The running pods by group; and the groups whose end could free capacity, smallest first."""
    resource = next(iter(asked.insufficient), PODS)
    holding = {
        node.name
        for node in asked.cluster.nodes.values()
        if not node.unschedulable and asked.holds_when_empty(node)
    }
    running: dict[GroupKey, list[Pod]] = {}
    sizes: Counter[GroupKey] = Counter()
    for pod in asked.cluster.pods.values():
        if not pod.bound or _made_again(pod):
            continue
        key = group_of(pod)
        if key != asked.waiting.key:
            running.setdefault(key, []).append(pod)
            if pod.node in holding:
                sizes[key] += dict(pod.spec.requests).get(resource, 0)
    units = [key for key in running if sizes[key]]
    return running, sorted(units, key=lambda key: (sizes[key], key))


def _made_again(pod: Pod) -> bool:
    """Whether a controller recreates the pod, so that its end frees no capacity for long."""
    if of_node(pod) or pod.priority_class.startswith(_SYSTEM):
        return True
    kept = pod.owner is not None and pod.owner.kind in _KEEPING
    return pod.group is None and kept


def _may_use(spec: PodSpec, node: Node) -> bool:
    """Whether a node has the labels that a pod selects, and no taint that it does not tolerate."""
    return (
        not node.unschedulable
        and set(node.labels).issuperset(spec.node_selector)
        and not any(repels(spec.tolerations, taint) for taint in node.taints)
    )


def more_nodes(asked: GroupToStart) -> Iterator[Change]:
    """Change: more nodes like existing ones that can hold a member; the commonest shape first.

    There may be more nodes than members: if the group reserves more than its members request, and
    if others that wait before it get the nodes first. In that case a few nodes may be enough where
    more are not: those that let one of the others start.
    """
    facts = asked.cluster.facts
    equipped = equipment(facts)
    shapes: dict[object, list[Node]] = {}
    for node in asked.cluster.nodes.values():
        if node.ready and asked.holds_when_empty(node):
            shape = node.allocatable, node.taints, _labels(node), equipped.get(node.name)
            shapes.setdefault(shape, []).append(node)
    reserved = asked.group is not None and bool(asked.group.min_resources)
    others = sum(len(each.pending) - len(each.placed) for each in asked.before)
    first = min(others, _MOST_BEFORE)
    most = len(asked.waiting.pending) + first + (_MOST_RESERVED if reserved else 0)

    def words(like: Node, degree: int) -> str:
        return f"{degree} more {'node' if degree == 1 else 'nodes'} like {like.name}"

    def events(like: Node, degree: int) -> Sequence[Event]:
        more = (node_like(like, number, facts) for number in range(degree))
        return [event for events in more for event in events]

    for nodes in sorted(shapes.values(), key=len, reverse=True):
        like = nodes[0]
        words_of, events_of = partial(words, like), partial(events, like)
        yield Change(Whose.ADMINISTRATOR, most, words_of, events_of, steady=not first)


def _labels(node: Node) -> tuple[tuple[str, str], ...]:
    """The labels of a node without those of that node alone."""
    return tuple(pair for pair in node.labels if pair[1] != node.name)


def open_nodes(asked: GroupToStart) -> Iterator[Change]:
    """Change: cordoned nodes take pods again, those with the most free capacity first."""
    closed = [node for node in asked.cluster.nodes.values() if node.unschedulable and node.ready]
    resource = next(iter(asked.insufficient), PODS)
    closed.sort(key=lambda node: (-asked.free(node).get(resource, 0), node.name))

    def words(nodes: Sequence[Node], degree: int) -> str:
        return f"{several([node.name for node in nodes[:degree]], _MOST_NAMED)} uncordoned"

    def events(nodes: Sequence[Node], degree: int) -> Sequence[Event]:
        return [NodeSeen(_uncordoned(node)) for node in nodes[:degree]]

    if closed:
        whose = Whose.ADMINISTRATOR
        yield Change(whose, len(closed), partial(words, closed), partial(events, closed))
    for node in closed[1:]:
        yield Change(Whose.ADMINISTRATOR, 1, partial(words, [node]), partial(events, [node]))


def _uncordoned(node: Node) -> Node:
    taints = tuple(
        taint for taint in node.taints if taint.key != "node.kubernetes.io/unschedulable"
    )
    return replace(node, unschedulable=False, taints=taints)
