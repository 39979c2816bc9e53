# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Turn: the only carrier of what changed, whom it may help, and what is to be done.

Events are applied to the turn that comes next; `Engine.step` takes it through six stages. What a
stage finds that an earlier one should look at is left to the turn after it::

    apply(event) ──┐                                ┌──► effects
    apply(event) ──┴──► turn ──► six stages of step ┴──► left over: the next turn
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from enbloc.engine.effects import Effect
from enbloc.engine.events import EvictRefused
from enbloc.engine.plan import Plan
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, Happening
from enbloc.framework.observations import Observation
from enbloc.model.binding import Cause
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


@dataclass(frozen=True, slots=True)
class Loss:
    """A bound member of a group is gone, other than by success.

    Attributes:
        pod: as it was counted.
        node: where it was counted.
    """

    group: GroupKey
    pod: Pod
    node: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A Binding that the API server refused."""

    uid: PodUID
    cause: Cause
    message: str


@dataclass(frozen=True, slots=True)
class Departure:
    """It is certain that a member leaves because it was told to.

    Attributes:
        group: whose member it is.
        by: who is preferred to it, for people; "" = nobody, it is evicted for a repair.
        beneficiary: the group that waits for its capacity; None = the queue.
        together: the members of the group that are evicted with it, itself among them.
        whole: the group cannot run without them.
        rest: others of these left before.
    """

    group: GroupKey
    pod: Pod
    by: str
    beneficiary: GroupKey | None
    together: Sequence[Pod]
    whole: bool
    rest: bool


class End(enum.Enum):
    """How a plan ended."""

    CLOSED = "every member is settled"
    LOOK = "the cluster changed before anything was sent"
    REJECTED = "Permit rejected it or timed out"
    FAILED = "a plugin failed"


@dataclass(frozen=True, slots=True)
class Ending:
    """A plan that is open no more.

    Attributes:
        refusals: what the API server said no to, in order.
        rejectors: whose events may help the group; empty = only time can.
        pending: those of them that wait for somebody outside; their events bypass the backoff.
        message: why, unless everything went well.
    """

    plan: Plan
    end: End
    refusals: tuple[Refusal, ...] = ()
    rejectors: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    message: str = ""


@dataclass(slots=True)
class Turn:
    """What one step works on; between steps, what the next one will.

    Departures, hanging, released, observed and refused are added to by events and by the first
    stage alone, so nothing of these is left over.

    Attributes:
        now: the engine's clock, seconds; NaN until the step begins.
        changed: groups to be reviewed, in the order of the changes.
        happened: what may help those who wait.
        endings: plans that ended.
        losses: members that were lost, by group.
        departures: members of which the eviction was accepted.
        hanging: members that were told to leave, and are waited for no more.
        released: groups of which a victim is gone, or is waited for no more.
        refused: groups of which an eviction was refused, and when it may be asked again; infinity
            = never.
        observed: changes of which plugins that learn are told.
        refused_evictions: what was answered to evictions.
        reviewed: what is true of the groups that were reviewed in this turn.
        effects: what is to be done, in causal order.
        behind: there is more to look at than one turn has time for, and so nobody is decided yet.
    """

    now: float = math.nan
    changed: dict[GroupKey, None] = field(default_factory=dict[GroupKey, None])
    happened: list[Happening] = field(default_factory=list[Happening])
    endings: list[Ending] = field(default_factory=list[Ending])
    losses: dict[GroupKey, list[Loss]] = field(default_factory=dict[GroupKey, list[Loss]])
    departures: list[Departure] = field(default_factory=list[Departure])
    hanging: list[Pod] = field(default_factory=list[Pod])
    released: list[GroupKey] = field(default_factory=list[GroupKey])
    refused: list[tuple[GroupKey, float]] = field(default_factory=list[tuple[GroupKey, float]])
    observed: list[Observation] = field(default_factory=list[Observation])
    refused_evictions: list[EvictRefused] = field(default_factory=list[EvictRefused])
    reviewed: dict[GroupKey, GroupFacts] = field(default_factory=dict[GroupKey, GroupFacts])
    effects: list[Effect] = field(default_factory=list[Effect])
    behind: bool = False

    def change(self, group: GroupKey) -> None:
        """This group is to be reviewed."""
        self.changed[group] = None

    def lost_nodes(self) -> set[str]:
        """Nodes that went, or are not ready any more: nobody knows when what is there ends."""
        return {
            happening.node.name
            for happening in self.happened
            if happening.node is not None
            and (not happening.node.ready or happening.action is Action.DELETE)
        }

    @property
    def news(self) -> bool:
        """Something is here that a step should look at now."""
        return bool(
            self.changed
            or self.happened
            or self.endings
            or self.released
            or self.observed
            or self.refused_evictions
            or self.effects
        )

    @property
    def unseen(self) -> bool:
        """Something is left to the stages before the decision."""
        return bool(self.changed or self.happened or self.endings)

    def left_over(self) -> "Turn":
        """What the stages of this turn did not look at any more, for the next one."""
        return Turn(
            changed=self.changed,
            happened=self.happened,
            endings=self.endings,
            losses=self.losses,
        )
