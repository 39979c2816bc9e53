# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if: compares the settled cluster with a change and without it.

A `WhatIfQuestion` is made of parts that `plus` joins: pods that are created, nodes that are removed
or added, groups that are scaled.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice

from enbloc.engine.events import Event, GroupSeen, NodeGone, PodSeen
from enbloc.engine.state import pinned_to
from enbloc.errors import UsageError
from enbloc.model.groups import GroupKey
from enbloc.model.near_words import near
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.simulation.clones import node_like, pod_again, pod_like
from enbloc.simulation.cluster import GoOn, PresentState, SimulatedCluster
from enbloc.simulation.waiting import Members, Waiting, group_of, lacking, of_node, queue

#: The pods that an object makes: the first wave at once, each next one once the last has nodes.
Waves = Sequence[Sequence[Pod]]


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """A hypothetical change, and the pods and groups that are asked about.

    Attributes:
        events: what happens at once, and is not asked about.
        waves: per object, the pods that it makes; they are asked about.
        whole: groups that are asked about: whether every member would have a node.
        gone: pods that the change itself removes.
        again: recreated pod → the pod that is gone.
    """

    events: tuple[Event, ...] = ()
    waves: tuple[Waves, ...] = ()
    whole: tuple[GroupKey, ...] = ()
    gone: frozenset[PodUID] = frozenset()
    again: Mapping[PodUID, PodUID] = field(default_factory=dict[PodUID, PodUID])

    def plus(self, other: "WhatIfQuestion") -> "WhatIfQuestion":
        """Both questions in one; the other happens after this one."""
        return WhatIfQuestion(
            (*self.events, *other.events),
            (*self.waves, *other.waves),
            (*self.whole, *other.whole),
            self.gone | other.gone | {self.again[uid] for uid in other.gone if uid in self.again},
            {**self.again, **other.again},
        )


@dataclass(frozen=True, slots=True)
class EvictedPod:
    """A pod that is evicted with the change, and not without it.

    Attributes:
        pod: its name.
        group: its group; for a pod without one, its implied group.
        by: the group that it is evicted for; None = unknown.
    """

    pod: PodKey
    group: GroupKey
    by: GroupKey | None


@dataclass(frozen=True, slots=True)
class Affected:
    """A group, or a pod without one, with another outcome than without the change.

    Attributes:
        key: of the group.
        pods: those of its pods with another outcome.
        message: why they have no nodes with the change.
    """

    key: GroupKey
    pods: Members
    message: str = ""

    @property
    def name(self) -> str:
        """For people: `namespace/name`, with "pod " before it for a pod without a group."""
        return f"pod {self.pods[0].key}" if self.key.name.startswith("/") else str(self.key)


@dataclass(frozen=True, slots=True)
class Sized:
    """A scaled group, with all its members.

    Attributes:
        key: of the group.
        members: the number of its live members.
        placed: how many of them have a node.
        row: for the members that have no node, or get one by the change; None = there are none.
        lacking: what keeps the group from having its minimum, although it has members, in the
            scheduler's words; "" = nothing.
    """

    key: GroupKey
    members: int
    placed: int
    row: Waiting | None
    lacking: str = ""

    @property
    def whole(self) -> bool:
        """Whether every member has a node, and they are enough of every role."""
        return self.placed == self.members and not self.lacking

    @property
    def message(self) -> str:
        """Why it is not whole; "" = unknown, or it is."""
        return (self.row.message if self.row is not None else "") or self.lacking


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """The answer to a question.

    Attributes:
        asked: the groups, and pods without one, that are created.
        unmade: pods that would not be made, because the pods before them have no nodes.
        sized: the scaled groups.
        evicted: the pods that are evicted.
        delayed: groups that start or keep their nodes only without the change.
        gained: groups that get nodes only with the change.
        nodes: all nodes with the change, by name.
    """

    asked: Sequence[Waiting]
    unmade: Sequence[Pod]
    sized: Sequence[Sized]
    evicted: Sequence[EvictedPod]
    delayed: Sequence[Affected]
    gained: Sequence[Affected]
    nodes: Mapping[str, Node]

    @property
    def starts(self) -> bool:
        """Whether all that is asked about starts; for nodes alone, whether nobody is worse off."""
        if self.asked or self.sized:
            return (
                all(row.starts for row in self.asked)
                and all(each.whole for each in self.sized)
                and not self.unmade
            )
        return not self.delayed and not self.evicted


# ── questions ────────────────────────────────────────────────────────────────────────────────


def without_nodes(cluster: SimulatedCluster, names: Collection[str]) -> WhatIfQuestion:
    """The question: these nodes are gone, and controllers recreate their pods.

    Args:
        cluster: the current state.
        names: of the nodes.

    Raises:
        UsageError: there is no such node.
    """
    for name in names:
        _node(cluster, name)
    events: list[Event] = []
    again: dict[PodUID, PodUID] = {}
    going = [pod for pod in cluster.pods.values() if pod.node in names]
    events += cluster.deleted(going)
    for pod in going:
        if pod.live and _made_again(pod):
            made = pod_again(pod, cluster.now, cluster.facts)
            again |= {each.pod.uid: pod.uid for each in made if isinstance(each, PodSeen)}
            events += made
    own = frozenset(pod.uid for pod in going if of_node(pod))  # they go with their node
    return WhatIfQuestion(events=(*map(NodeGone, names), *events), gone=own, again=again)


def _made_again(pod: Pod) -> bool:
    """Whether its controller would recreate it, for any node."""
    return pod.owner is not None and not of_node(pod) and not pinned_to(pod.spec)


def more_nodes(cluster: SimulatedCluster, number: int, like: str) -> WhatIfQuestion:
    """The question: `number` more nodes like this one.

    Raises:
        UsageError: there is no such node.
    """
    node = _node(cluster, like)
    free = (each for each in count() if f"{like}-more-{each}" not in cluster.nodes)
    more = (node_like(node, each, cluster.facts) for each in islice(free, number))
    return WhatIfQuestion(events=tuple(event for events in more for event in events))


def _node(cluster: SimulatedCluster, name: str) -> Node:
    if name not in cluster.nodes:
        raise UsageError(f"node {name} not found{near(name, cluster.nodes)}; name one that exists")
    return cluster.nodes[name]


def resized(cluster: SimulatedCluster, key: GroupKey, number: int) -> WhatIfQuestion:
    """The question: a group has `number` members, by clones of its newest or without its newest.

    Args:
        cluster: the current state.
        key: of the group; its minimum is lowered to the number if it is larger.
        number: of members.

    Raises:
        UsageError: there is no such group, or it has no member.
    """
    group = cluster.groups.get(key)
    live = sorted(
        (pod for pod in cluster.pods.values() if pod.live and group_of(pod) == key),
        key=lambda pod: pod.seniority,
    )
    if group is None:
        known = [each.name for each in cluster.groups if each.namespace == key.namespace]
        elsewhere = sorted(each.namespace for each in cluster.groups if each.name == key.name)
        hint = f"; there is one in namespace {', '.join(elsewhere[:3])}" if elsewhere else ""
        raise UsageError(f"PodGroup {key} not found{hint or near(key.name, known)}")
    if not live:
        raise UsageError(f"PodGroup {key} has no members that could be more; ask with -f")
    events: list[Event] = []
    if group.min_member > number:
        lower = replace(group, min_member=max(1, number), generation=group.generation + 1)
        events.append(GroupSeen(lower))
    gone = live[number:]
    events += cluster.deleted(gone)
    names = {pod.key.name for pod in cluster.pods.values()}
    free = (each for each in count() if f"{live[-1].key.name}-more-{each}" not in names)
    for each in islice(free, max(0, number - len(live))):
        events += pod_like(live[-1], each, cluster.now, cluster.facts)
    left = frozenset(pod.uid for pod in gone)
    return WhatIfQuestion(events=tuple(events), whole=(key,), gone=left)


def created(
    cluster: SimulatedCluster,
    first: Sequence[Event],
    waves: Sequence[Waves],
    replaced: Collection[Pod] = (),
) -> WhatIfQuestion:
    """The question: these pods are created.

    Args:
        cluster: the current state.
        first: what the scheduler sees before them, such as their PodGroups.
        waves: of each object.
        replaced: pods that are deleted before.
    """
    leaving = cluster.deleted(replaced)
    gone = frozenset(pod.uid for pod in replaced)
    return WhatIfQuestion(events=(*leaving, *first), waves=tuple(waves), gone=gone)


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def answer(
    present: PresentState,
    question: WhatIfQuestion,
    settled: SimulatedCluster | None = None,
    go_on: GoOn = lambda: True,
) -> WhatIfAnswer:
    """Answer a question.

    Args:
        present: the current cluster.
        question: the hypothetical change.
        settled: the settled cluster without the change; None = simulate it here.
        go_on: whether there is time left.

    Raises:
        GivenUpError: there was no time left.
    """
    before = settled or SimulatedCluster(present, go_on).settle()
    after = SimulatedCluster(present, go_on)
    made, unmade = _happen(after, question)
    asked = {pod.uid: pod for pod in made}
    evicted = _evicted(before, after, question)
    held, holds = _placed(before), _placed(after)
    kept = {question.again.get(uid, uid) for uid in holds}
    gone = {each.pod for each in evicted}
    lost = [
        pod
        for uid, pod in held.items()
        if uid not in kept and uid not in question.gone and pod.key not in gone
    ]
    gained = [
        pod
        for uid, pod in holds.items()
        if question.again.get(uid, uid) not in held
        and uid not in asked
        and group_of(pod) not in question.whole
    ]
    return WhatIfAnswer(
        asked=queue(after, _by_group(asked.values())),
        unmade=unmade,
        sized=[_sized(after, key, held) for key in question.whole],
        evicted=evicted,
        delayed=_delayed(after, lost, question),
        gained=[Affected(key, pods) for key, pods in _by_group(gained).items()],
        nodes=after.nodes,
    )


def _happen(cluster: SimulatedCluster, question: WhatIfQuestion) -> tuple[list[Pod], list[Pod]]:
    """Let the question happen; returns the pods that were made, and those that were not."""
    cluster.tell(question.events)
    made: list[Pod] = []
    left = [list(waves) for waves in question.waves]
    ready = [waves for waves in left if waves]
    while ready:
        told = [waves.pop(0) for waves in ready]
        for pods in told:
            cluster.tell(PodSeen(pod) for pod in pods)
            made += pods
        cluster.settle()
        ready = [
            waves
            for waves, pods in zip(ready, told, strict=True)
            if waves and all(pod.uid in cluster.told.bound for pod in pods)
        ]
    cluster.settle()
    return made, [pod for waves in left for pods in waves for pod in pods]


def _placed(cluster: SimulatedCluster) -> dict[PodUID, Pod]:
    """The live pods that have a node."""
    return {uid: pod for uid, pod in cluster.pods.items() if pod.bound}


def _by_group(pods: Iterable[Pod]) -> dict[GroupKey, Members]:
    found: dict[GroupKey, list[Pod]] = {}
    for pod in pods:
        found.setdefault(group_of(pod), []).append(pod)
    return {key: tuple(sorted(each, key=lambda pod: pod.seniority)) for key, each in found.items()}


def _evicted(
    before: SimulatedCluster, after: SimulatedCluster, question: WhatIfQuestion
) -> Sequence[EvictedPod]:
    """The pods that are evicted with the change, and keep their node without it."""
    winners = {group.uid: key for key, group in after.groups.items()}
    winners |= {str(pod.uid): group_of(pod) for pod in after.pods.values()}
    there = {pod.key: pod for uid, pod in _placed(before).items() if uid not in question.gone}
    return [
        EvictedPod(key, group_of(there[key]), winners.get(winner))
        for key, winner in after.told.preempted.items()
        if key in there
    ]


def _delayed(
    after: SimulatedCluster, lost: Sequence[Pod], question: WhatIfQuestion
) -> Sequence[Affected]:
    """The groups of the pods that lost their node, with the scheduler's message."""
    made = {old: new for new, old in question.again.items()}
    waiting: dict[GroupKey, Members] = {}
    groups = _by_group(lost)
    for key, pods in groups.items():
        now = [after.pods.get(made.get(pod.uid, pod.uid)) for pod in pods]
        if live := tuple(pod for pod in now if pod is not None and pod.live):
            waiting[key] = live
    messages = {row.key: row.message for row in queue(after, waiting)}
    nobody = "no controller would make it again"
    return [Affected(key, pods, messages.get(key, nobody)) for key, pods in groups.items()]


def _sized(after: SimulatedCluster, key: GroupKey, held: Mapping[PodUID, Pod]) -> Sized:
    members = [pod for pod in after.pods.values() if pod.live and group_of(pod) == key]
    waiting = _by_group(pod for pod in members if pod.uid not in held or not pod.node)
    row = queue(after, waiting)[0] if waiting else None
    placed = sum(pod.bound for pod in members)
    return Sized(key, len(members), placed, row, lacking(after, key) if members else "")
