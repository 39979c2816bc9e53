# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SimulatedCluster: what the scheduler would do from now on if nobody else did anything.

::

    facts ──tell──► Engine ──step──► effects ──carried out at once──► facts ──tell──► …

The engine itself decides, so the result is what the scheduler would do.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from enbloc.engine import Engine, Settings
from enbloc.engine.effects import (
    AskExtender,
    Bind,
    CancelPlan,
    Decided,
    Effect,
    Emit,
    Evict,
    PreBind,
    SetGroupStatus,
    SetPodCondition,
    StopEvict,
    Unreserve,
)
from enbloc.engine.events import (
    Bound,
    Event,
    Evicted,
    EvictStopped,
    ExtenderAnswer,
    FactGone,
    FactSeen,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    PreBound,
    PriorityClassSeen,
    SlotsFree,
    Stream,
    Synced,
    Unreserved,
)
from enbloc.framework.act import Target
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.names import PLAN_KEY, RANK_KEY, EventReason
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from enbloc.simulation.claims import freed, taken_back, written

#: The most Bindings in flight; each is answered before the next step.
_SLOTS: Final = 4096
#: The longest simulated time (seconds): enough for a search that continues after a pause, and for a
#: preemptor whose victims have left. What waits for longer counts as waiting.
SECONDS: Final = 30.0
#: More steps than any cluster takes within that time.
_MOST_STEPS: Final = 100_000
#: Without interference a plan is hardly ever cancelled; more cancellations than this mean that the
#: simulation differs from what the engine expects.
_MOST_CANCELLED: Final = 100


#: Whether there is time left to continue.
GoOn = Callable[[], bool]


class GivenUpError(Exception):
    """There was no time left to continue, or the limit of tries was reached."""


@dataclass(frozen=True, slots=True)
class PresentState:
    """The current state of a cluster.

    Attributes:
        profiles: by the schedulerName in pods.
        settings: the scheduler's settings.
        events: the objects of every first list, and that each list is complete.
        now: server time, seconds since the epoch.
    """

    profiles: Mapping[str, Profile]
    settings: Settings
    events: tuple[Event, ...]
    now: float

    def engine(self) -> Engine:
        """An engine that knows this state, leads, and has decided nothing yet."""
        engine = Engine(self.profiles, self.settings)
        for event in (*self.events, Synced(Stream.LEASE)):
            engine.apply(event)
        return engine


@dataclass(slots=True)
class EffectRecord:
    """What the scheduler reported and did about each group and pod.

    Attributes:
        decided: group → its last decision, in the order of their first decisions.
        statuses: group → its last status.
        conditions: pod → its last PodScheduled=False.
        bound: pod → its node.
        preempted: victim → the UID of the pod or PodGroup that it was evicted for.
    """

    decided: dict[GroupKey, Decided] = field(default_factory=dict[GroupKey, Decided])
    statuses: dict[GroupKey, SetGroupStatus] = field(default_factory=dict[GroupKey, SetGroupStatus])
    conditions: dict[PodUID, SetPodCondition] = field(default_factory=dict[PodUID, SetPodCondition])
    bound: dict[PodUID, str] = field(default_factory=dict[PodUID, str])
    preempted: dict[PodKey, str] = field(default_factory=dict[PodKey, str])

    def note(self, effect: Effect) -> None:
        """Record one more effect."""
        match effect:
            case Decided(group=group):
                self.decided[group.podgroup] = effect
            case SetGroupStatus(group=group):
                self.statuses[group.podgroup] = effect
            case SetPodCondition(uid=uid):
                self.conditions[uid] = effect
            case Emit(reason=EventReason.PREEMPTED, pod=PodKey() as pod, related=related):
                self.preempted[pod] = related.uid if related is not None else ""
            case _:
                pass


class SimulatedCluster:
    """A cluster in which only the scheduler acts, and everything that it asks for succeeds.

    An evicted pod leaves at once, and nobody recreates it. HTTP extenders are not called: they
    count as passing everything.

    Args:
        present: the state to start from.
        go_on: whether there is time left.

    Attributes:
        now: server time.
        go_on: whether there is time left.
        nodes, pods, groups, classes, facts: the current state; classes are PriorityClasses.
        told: what the scheduler reported and did.
    """

    def __init__(self, present: PresentState, go_on: GoOn = lambda: True) -> None:
        self.now = present.now
        self.go_on = go_on
        self.nodes: dict[str, Node] = {}
        self.pods: dict[PodUID, Pod] = {}
        self.groups: dict[GroupKey, Group] = {}
        self.classes: dict[str, PriorityClassSeen] = {}
        self.facts: dict[tuple[str, str], Fact] = {}
        self.told = EffectRecord()
        self._engine = Engine(present.profiles, present.settings)
        #: Plan → its members whose Binding is not handed out yet.
        self._prepared: dict[str, dict[PodUID, Target]] = {}
        #: The number of plans cancelled in the current `settle`.
        self._cancelled = 0
        self.tell((*present.events, Synced(Stream.LEASE)))
        self._engine.apply(SlotsFree(_SLOTS))

    def tell(self, events: Iterable[Event]) -> None:
        """Let these events happen."""
        for event in events:
            self._note(event)
            self._engine.apply(event)

    def _note(self, event: Event) -> None:
        match event:
            case PodSeen(pod):
                self.pods[pod.uid] = pod
            case PodGone(uid=uid):
                self.pods.pop(uid, None)
            case NodeSeen(node):
                self.nodes[node.name] = node
            case NodeGone(name):
                self.nodes.pop(name, None)
            case GroupSeen(group):
                self.groups[group.key] = group
            case GroupGone(key=key):
                self.groups.pop(key, None)
            case FactSeen(fact):
                self.facts[fact.kind, fact.key] = fact
            case FactGone(kind, key):
                self.facts.pop((kind, key), None)
            case PriorityClassSeen(name):  # only lists hold them
                self.classes[name] = event
            case _:
                pass

    def settle(
        self, seconds: float = SECONDS, done: Callable[[], bool] = lambda: False
    ) -> "SimulatedCluster":
        """Let the scheduler work until it has nothing more to do within these seconds.

        Args:
            seconds: simulated, from now on.
            done: called after each step but the last; true ends the simulation early.

        Raises:
            GivenUpError: there was no time left.
        """
        end = self.now + seconds
        self._cancelled = 0
        for _ in range(_MOST_STEPS):
            if self._cancelled > _MOST_CANCELLED:
                break
            if not self.go_on():
                raise GivenUpError
            for effect in self._engine.step(self.now):
                self._carry_out(effect)
            wakeup = self._engine.wakeup()
            if wakeup is None or wakeup > end or done():
                break
            self.now = max(self.now, wakeup)
        return self

    # ── carrying out what the scheduler asks for ─────────────────────────────────────────────

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case PreBind(target=target):
                self._prepared.setdefault(target.plan, {})[target.uid] = target
                done = written(target, self.pods.get(target.uid), self.facts)
                self.tell([*done, PreBound(target.plan, target.uid)])
            case Bind(target=target):
                self._bind(target)
            case CancelPlan(plan, members):
                self._cancel(plan, members)
            case Unreserve(target=target):
                self._take_back(target)
            case Evict(uid=uid):
                self._evict(uid)
            case StopEvict(uids=uids):
                self.tell(EvictStopped(uid) for uid in sorted(uids))
            case AskExtender():
                self.tell([_lets_pass(effect)])
            case _:
                self.told.note(effect)

    def _bind(self, target: Target) -> None:
        self._prepared.get(target.plan, {}).pop(target.uid, None)
        self.tell([Bound(target.plan, target.uid), SlotsFree(1)])
        pod = self.pods.get(target.uid)
        if pod is None:
            return
        given = dict(target.annotations)
        rank = int(given[RANK_KEY]) if RANK_KEY in given else pod.rank
        self.told.bound[pod.uid] = target.node
        record = given.get(PLAN_KEY, "")
        bound = replace(
            pod, node=target.node, binding_record=record, rank=rank, scheduled_at=self.now
        )
        self.tell([PodSeen(bound)])

    def _cancel(self, plan: str, members: Collection[PodUID]) -> None:
        self._cancelled += 1
        under_way = self._prepared.get(plan, {})
        given_up = [uid for uid in under_way if not members or uid in members]
        for uid in given_up:
            self._take_back(under_way.pop(uid))
        self.tell(Unreserved(plan, uid) for uid in given_up)

    def _take_back(self, target: Target) -> None:
        self.tell(list(taken_back(target, self.pods.get(target.uid), self.facts)))

    def _evict(self, uid: PodUID) -> None:
        self.tell([Evicted(uid)])
        pod = self.pods.get(uid)
        if pod is not None:
            self.tell([PodSeen(replace(pod, deleting=True)), *self.deleted([pod])])

    def ended(self, pods: Collection[Pod]) -> Sequence[Event]:
        """The events if pods succeed (terminating ones vanish), and what they held becomes free."""
        left = (
            PodGone(pod.key, pod.uid)
            if pod.deleting
            else PodSeen(replace(pod, phase=Phase.SUCCEEDED))
            for pod in pods
        )
        return [*left, *freed(pods, self.pods.values(), self.facts)]

    def deleted(self, pods: Collection[Pod]) -> Sequence[Event]:
        """The events if pods are deleted, and what they held becomes free."""
        left = (PodGone(pod.key, pod.uid) for pod in pods)
        return [*left, *freed(pods, self.pods.values(), self.facts)]


def _lets_pass(ask: AskExtender) -> ExtenderAnswer:
    if ask.candidates:
        return ExtenderAnswer(ask.question, candidates=ask.candidates)
    return ExtenderAnswer(ask.question, feasible=ask.nodes if ask.filter else None)
