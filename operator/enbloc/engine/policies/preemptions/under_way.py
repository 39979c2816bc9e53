# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""UnderWay: one preemption, from the choice of its victims until it is over.

::

    start ──► its victims are told; where others evict some of their group, after that
    look  ──► refused: all of that group stay, or the rest of a broken minimum is deleted
          └─► victims that hang, or cannot be evicted
    end   ──► victims not told stay, and those told while nothing was sent to delete them
"""

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.engine.events import EvictRefused
from enbloc.engine.eviction import Eviction, Victims
from enbloc.engine.policies.preemptions.leavers import Evicting, Leavers, stays, terminates
from enbloc.engine.state import ClusterState
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import NOTHING_LEAVES, Leaving, ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import Pod, PodUID
from enbloc.model.text import several
from enbloc.model.times import time_text

#: How long (seconds) a victim is waited for beyond its grace period, and how long a preemptor whose
#: victims are gone, or that lacks a quorum, keeps its reservations.
HANG_SECONDS: Final = 30.0
#: The most victims that a message names.
_MOST_NAMED: Final = 3

_REST: Final = "others of its gang gave way to a higher priority pod"


class Stage(enum.Enum):
    """How far a preemption has come."""

    LEAVING = "its victims hold their capacity yet"
    FREE = "nobody does: the nodes are reserved for a while"
    PLANNED = "a plan of the preemptor is open"
    UNBOUND = "it came to nothing: the nodes are reserved for a while once more"


@dataclass(slots=True, eq=False)
class UnderWay:
    """One preemption.

    Attributes:
        key: the preemptor.
        nodes: where its pending pods are to go.
        victims: what leaves for it, by group.
        highest: the upper limit of their priorities when they were chosen.
        by: the preemptor, for people.
        why: the message of the condition of its victims.
        held: what becomes free some time after they are gone.
        given_up: the members of plans that were given up for it.
        unclear: until when volumes and devices of pods that left for it before this process may not
            be free yet, engine clock.
        stage: how far it has come.
        until: when it is over, if the nodes are reserved for a while, engine clock; while victims
            hold their capacity, only if the preemptor lacks a quorum.
        renewed: a plan came to nothing, and the nodes were reserved once more.
        lacking: the preemptor lacks a quorum.
        latest: until when its victims are waited for, engine clock; infinity = not known yet.
    """

    key: GroupKey
    nodes: Mapping[PodUID, str]
    victims: Mapping[GroupKey, Leavers]
    highest: int
    by: str
    why: str
    held: Leaving = NOTHING_LEAVES
    given_up: frozenset[PodUID] = frozenset()
    unclear: float = -math.inf
    stage: Stage = Stage.LEAVING
    until: float = math.inf
    renewed: bool = False
    lacking: bool = False
    latest: float = math.inf
    _uids: frozenset[PodUID] = frozenset()

    def start(self, evictions: Victims) -> None:
        """Start the evictions."""
        self._uids = frozenset(pod.uid for pod in self.pods)
        for group, some in self.victims.items():
            if evictions.staying(group):
                some.evicting = Evicting.LATER
            else:
                self._evict(evictions, group, some.pods)

    def _evict(self, evictions: Victims, group: GroupKey, pods: Sequence[Pod]) -> None:
        some = self.victims[group]
        forced = some.evicting is Evicting.FORCED
        evictions.choose(
            Eviction(
                group,
                pods,
                Reason.PREEMPTION_BY_SCHEDULER,
                _REST if forced else self.why,
                self.key,
                patience=HANG_SECONDS,
                by=self.by,
                regardless=forced or some.regardless,
                whole=some.needed,
                rest=forced,
            )
        )

    # ── following it ─────────────────────────────────────────────────────────────────────────

    @property
    def counts_on(self) -> frozenset[PodUID]:
        """Return the pods that must leave for it; none once it is placed elsewhere."""
        return self._uids if self.stage is not Stage.PLANNED else frozenset()

    @property
    def pods(self) -> Sequence[Pod]:
        """All of its victims, including those that are gone."""
        return [pod for some in self.victims.values() for pod in some.pods]

    def leaving(self, state: ClusterState, now: float) -> bool:
        """Whether a victim still holds its capacity, or what it or a plan held is not free yet."""
        return (
            now < self.unclear
            or self.holds(state)
            or ledgers_of(state.nodes).lingers(self.held)
            or state.withdrawals.of(self.given_up)
        )

    @property
    def placed(self) -> bool:
        """Whether a plan of the preemptor is or was open."""
        return self.stage in (Stage.PLANNED, Stage.UNBOUND)

    @property
    def failed(self) -> bool:
        """Whether its preemptor had time to be placed where its victims left, and was not."""
        return self.placed or (self.stage is Stage.FREE and bool(self.victims) and not self.lacking)

    def free(self, until: float) -> None:
        """Record that no victim is waited for: it may be placed until a time, engine clock."""
        self.stage, self.until = Stage.FREE, until

    def planned(self) -> None:
        """Record that a plan of the preemptor reserves what it needs."""
        self.stage, self.until = Stage.PLANNED, math.inf

    def unbound(self, until: float) -> None:
        """Record that the plan came to nothing: it may be placed until a time, engine clock."""
        self.stage, self.until, self.renewed = Stage.UNBOUND, until, True

    def limit(self, now: float, *, quorum: bool) -> None:
        """Keep the nodes for a preemptor without a quorum for a while, as a member may come back.

        Not while a plan of it is open.
        """
        if self.stage is Stage.PLANNED:
            return
        self.lacking = not quorum
        if not quorum:
            self.until = min(self.until, now + HANG_SECONDS)
        elif self.stage is Stage.LEAVING:
            self.until = math.inf

    def holds(self, state: ClusterState) -> bool:
        """Whether a victim still holds its capacity."""
        return any(stays(pod, state) for pod in self.pods)

    def waits(self) -> str:
        """Return what its preemptor waits for, for people."""
        if not self.victims and not self.given_up:
            return "preemption: waiting for volumes and devices of pods that have left"
        if not self.victims:
            return "preemption: plans of lower priority were given up, of which nothing was bound"
        latest = self.latest
        until = f", until {time_text(math.ceil(latest))} at the latest" if latest < math.inf else ""
        return f"preemption: waiting for {named(self.pods)} to leave{until}"

    def serves(self, pending: Iterable[Pod]) -> bool:
        """Whether nodes were chosen for any of these pods; recreated pods are others."""
        return any(pod.uid in self.nodes for pod in pending)

    def refused(self, answer: EvictRefused) -> None:
        """Record a refused eviction; `look` decides what follows once its group is settled.

        Pods that are gone or have finished are refused for ever: the watch will show it.
        """
        if answer.final or answer.uid not in self._uids:
            return
        for some in self.victims.values():
            some.refused |= any(pod.uid == answer.uid for pod in some.pods)

    def look(
        self, turn: Turn, evictions: Victims, state: ClusterState, lost: set[str]
    ) -> Sequence[Pod]:
        """Continue evictions that were put off; return victims that are no longer waited for.

        Args:
            turn: names the victims that hang.
            evictions: those that are under way.
            state: the cluster.
            lost: nodes where it is unknown when their pods end.

        Returns:
            Victims that hang, cannot be evicted, or are on a node that others do not leave.
        """
        for group, some in self.victims.items():
            if some.evicting is Evicting.LATER and self.counts_on and not evictions.staying(group):
                some.evicting = Evicting.TOLD
                # Nobody may wait for the terminating ones any more: now this one does.
                if staying := some.staying(state):
                    self._evict(evictions, group, staying)
            if some.refused and not evictions.staying(group):
                some.refused = False
                self._settle(evictions, group, some, some.left(state))
        stuck = {pod.uid: pod for pod in turn.hanging if pod.uid in self._uids}
        kept = (some for some in self.victims.values() if some.evicting is Evicting.KEPT)
        stuck |= {pod.uid: pod for some in kept for pod in some.left(state)}
        # What keeps one pod on its node may keep all that are to leave it.
        nodes = {pod.node for pod in stuck.values() if terminates(pod.uid, state)}
        nodes |= lost.intersection(self.nodes.values())
        if nodes:
            on_them = (pod for pod in self.pods if pod.node in nodes)
            stuck |= {pod.uid: pod for pod in on_them if stays(pod, state)}
        return [*stuck.values()]

    def _settle(
        self, evictions: Victims, group: GroupKey, some: Leavers, left: Sequence[Pod]
    ) -> None:
        """Evict the rest of a gang below its minimum regardless; otherwise keep all of it.

        A part of a minimum is worth nothing.
        """
        if not left:
            return
        broken = not some.minimum.issubset(pod.uid for pod in left)
        if broken and some.evicting is not Evicting.FORCED:
            some.evicting = Evicting.FORCED
            self._evict(evictions, group, left)
        else:
            some.evicting = Evicting.KEPT

    def spent(self, evictions: Victims, state: ClusterState) -> bool:
        """Whether its plan came to nothing, and reserving the nodes again would not help.

        They were reserved again already, or a victim was kept when it was planned.
        """
        return self.renewed or any(
            evictions.of(group) is None and some.left(state) for group, some in self.victims.items()
        )

    def times(self, evictions: Victims) -> bool:
        """Determine until when its victims are waited for; return whether that is new."""
        later = any(some.evicting is Evicting.LATER for some in self.victims.values())
        if later or self.latest < math.inf:
            return False
        latest = evictions.latest(self._uids)
        if -math.inf < latest < math.inf:
            self.latest = latest
        return self.latest < math.inf

    def ends(self, turn: Turn, evictions: Victims, counted_on: Callable[[PodUID], bool]) -> None:
        """End it: keep victims that can still stay, unless another preemption needs them gone.

        It does not matter which one evicted them: this may be the last that needed them gone.
        A group of which nobody was told goes on at once; answers will tell of others.
        """
        for group in self.victims:
            eviction = evictions.of(group)
            if (
                eviction is not None
                and eviction.reason is Reason.PREEMPTION_BY_SCHEDULER
                and not eviction.rest
                and not any(map(counted_on, eviction.victims))
                and evictions.cancel(group)
            ):
                turn.change(group)


def rest_of_gang(group: GroupKey, pods: Sequence[Pod]) -> Eviction:
    """Return the eviction of the rest of a gang that was partially evicted, whatever a budget says.

    A part of a minimum is worth nothing.
    """
    return Eviction(
        group,
        pods,
        Reason.PREEMPTION_BY_SCHEDULER,
        _REST,
        None,
        patience=HANG_SECONDS,
        by="a higher priority pod",
        regardless=True,
        whole=True,
        rest=True,
    )


def in_vain(facts: GroupFacts) -> bool:
    """Whether nobody need leave for a group, whatever its members: it needs or may get nothing."""
    return not facts.deficit or bool(facts.problem) or facts.superseded


def named_preemptor(facts: GroupFacts) -> str:
    """Return a preemptor's name, for people."""
    return f"pod {facts.pending[0].key}" if facts.solo else f"PodGroup {facts.key}"


def why_of(profile: Profile) -> str:
    """Return the message of a victim's condition, as kube-scheduler's."""
    return f"{profile.name}: preempting to accommodate a higher priority pod"


def named(pods: Sequence[Pod]) -> str:
    """Return a few of some pods by name, and the number of others."""
    if len(pods) == 1:
        return f"pod {pods[0].key}"
    some = several([str(pod.key) for pod in pods], _MOST_NAMED)
    return f"{len(pods)} pods ({some})" if len(pods) > _MOST_NAMED else f"pods {some}"
