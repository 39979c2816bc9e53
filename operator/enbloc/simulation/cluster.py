# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SimulatedCluster: what the scheduler would do from a moment on, if nobody else did anything.

::

    facts ──tell──► Engine ──step──► effects ──carried out at once──► facts ──tell──► …

It is the engine itself that decides, so what comes out is what the scheduler would do.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from enbloc.devices.facts import Consumer, ResourceClaim
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import (
    Ask,
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
)
from enbloc.engine.events import (
    Answer,
    Bound,
    Event,
    Evicted,
    EvictStopped,
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
    Unreserved,
)
from enbloc.framework.act import Target
from enbloc.framework.profile import Profile
from enbloc.ledgers import made_again
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.names import PLAN_KEY, RANK_KEY, EventReason
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from enbloc.storage.facts import ClaimRef, PersistentVolume, PersistentVolumeClaim

#: So many Bindings are under way at once; each is answered before the next step.
_SLOTS: Final = 4096
#: Seconds that pass at most: as long as a search takes that goes on after a pause, and a preemptor
#: whose victims have left. What waits for longer than that, waits.
SECONDS: Final = 30.0
#: No cluster takes so many steps within that time.
_MOST_STEPS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Present:
    """A cluster as it was a moment ago.

    Attributes:
        profiles: by the schedulerName that pods write.
        settings: how the scheduler behaves.
        events: every first list, and that each is complete.
        now: server time, seconds since the epoch.
    """

    profiles: Mapping[str, Profile]
    settings: Settings
    events: tuple[Event, ...]
    now: float

    def engine(self) -> Engine:
        """An engine that knows all this, and has decided nothing."""
        engine = Engine(self.profiles, self.settings)
        for event in self.events:
            engine.apply(event)
        return engine


@dataclass(slots=True)
class Told:
    """What the scheduler said, and did, of each group and pod.

    Attributes:
        decided: by group, its last decision; in the order in which each was first decided.
        statuses: by group, the last status.
        conditions: by pod, the last PodScheduled=False.
        bound: by pod, its node.
        preempted: victims, each with the UID of the pod or PodGroup that it gave way to.
    """

    decided: dict[GroupKey, Decided] = field(default_factory=dict[GroupKey, Decided])
    statuses: dict[GroupKey, SetGroupStatus] = field(default_factory=dict[GroupKey, SetGroupStatus])
    conditions: dict[PodUID, SetPodCondition] = field(default_factory=dict[PodUID, SetPodCondition])
    bound: dict[PodUID, str] = field(default_factory=dict[PodUID, str])
    preempted: dict[PodKey, str] = field(default_factory=dict[PodKey, str])

    def note(self, effect: Effect) -> None:
        """One more thing that it said."""
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
    """A cluster in which nobody but the scheduler does anything, and all that it asks for succeeds.

    Who is evicted leaves at once, and nobody makes it again. HTTP extenders are not asked: they
    let everything pass.

    Args:
        present: from when on.

    Attributes:
        now: server time.
        nodes, pods, groups, classes, facts: as they stand; classes are PriorityClasses.
        told: what the scheduler said and did.
    """

    def __init__(self, present: Present) -> None:
        self.now = present.now
        self.nodes: dict[str, Node] = {}
        self.pods: dict[PodUID, Pod] = {}
        self.groups: dict[GroupKey, Group] = {}
        self.classes: dict[str, int] = {}
        self.facts: dict[tuple[str, str], Fact] = {}
        self.told = Told()
        self._engine = Engine(present.profiles, present.settings)
        #: By plan, those whose Binding was not handed out yet.
        self._prepared: dict[str, dict[PodUID, None]] = {}
        self.tell(present.events)
        self._engine.apply(SlotsFree(_SLOTS))

    def tell(self, events: Iterable[Event]) -> None:
        """This happened."""
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
            case PriorityClassSeen(name, value):  # lists alone tell of them
                self.classes[name] = value
            case _:
                pass

    def settle(self, seconds: float = SECONDS) -> "SimulatedCluster":
        """Let the scheduler work until only time beyond these seconds would bring anything new."""
        end = self.now + seconds
        for _ in range(_MOST_STEPS):
            for effect in self._engine.step(self.now):
                self._carry_out(effect)
            wakeup = self._engine.wakeup()
            if wakeup is None or wakeup > end:
                break
            self.now = max(self.now, wakeup)
        return self

    # ── what becomes of what the scheduler asks for ──────────────────────────────────────────

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case PreBind(target=target):
                self._prepared.setdefault(target.plan, {})[target.uid] = None
                self.tell([*self._written(target), PreBound(target.plan, target.uid)])
            case Bind(target=target):
                self._bind(target)
            case CancelPlan(plan, members):
                self._cancel(plan, members)
            case Evict(uid=uid):
                self._evict(uid)
            case StopEvict(uids=uids):
                self.tell(EvictStopped(uid) for uid in sorted(uids))
            case Ask():
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
        under_way = self._prepared.get(plan, {})
        given_up = [uid for uid in under_way if not members or uid in members]
        for uid in given_up:
            del under_way[uid]
        self.tell(Unreserved(plan, uid) for uid in given_up)

    def _evict(self, uid: PodUID) -> None:
        self.tell([Evicted(uid)])
        pod = self.pods.get(uid)
        if pod is not None:
            gone = PodGone(pod.key, uid)
            self.tell([PodSeen(replace(pod, deleting=True)), gone, *self._freed(pod)])

    def ended(self, pods: Iterable[Pod]) -> Sequence[Event]:
        """Pods have succeeded, and the claims that they held are free."""
        return [
            event
            for pod in pods
            for event in (PodSeen(replace(pod, phase=Phase.SUCCEEDED)), *self._freed(pod))
        ]

    def deleted(self, pods: Iterable[Pod]) -> Sequence[Event]:
        """Pods are gone, and the claims that they held are free."""
        return [event for pod in pods for event in (PodGone(pod.key, pod.uid), *self._freed(pod))]

    def _freed(self, pod: Pod) -> Iterator[Event]:
        """The claims that a pod held, once it holds them no more."""
        if pod.spec.holds:
            anew = (made_again(fact, {pod.uid}) for fact in self.facts.values())
            yield from [FactSeen(fact) for fact in anew if fact is not None]

    def _written(self, target: Target) -> Iterable[Event]:
        """The claims of a pod as its PreBind leaves them."""
        volumes, devices = target.decided
        for one in devices.claims if devices is not None else ():
            claim = self.facts.get((ResourceClaim.kind, one.claim))
            if isinstance(claim, ResourceClaim):
                user = Consumer("pods", target.pod.name, target.uid)
                users = tuple(dict.fromkeys((*claim.reserved_for, user)))
                allocation = claim.allocation or one.allocation
                yield FactSeen(replace(claim, allocation=allocation, reserved_for=users))
        for each in volumes.claims if volumes is not None else ():
            wanted = self.facts.get((PersistentVolumeClaim.kind, each.claim))
            ref = each.volume
            volume = ref and self.facts.get((PersistentVolume.kind, ref.name))
            if isinstance(wanted, PersistentVolumeClaim) and isinstance(volume, PersistentVolume):
                owner = ClaimRef(wanted.key, wanted.uid)
                yield FactSeen(replace(volume, claim=owner, available=False))
                yield FactSeen(replace(wanted, volume=volume.name, bind_completed=True))


def _lets_pass(ask: Ask) -> Answer:
    if ask.candidates:
        return Answer(ask.question, candidates=ask.candidates)
    return Answer(ask.question, feasible=ask.nodes if ask.filter else None)
