# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Turn: the only carrier of what changed, which groups it may help, and what to do about it.

Events are applied to the next turn; `Engine.step` takes it through six stages. What a stage finds
for an earlier stage is left to the turn after it::

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
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a bound member of a group, other than by success.

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
    cause: RefusalCause
    message: str


@dataclass(frozen=True, slots=True)
class Departure:
    """An evicted member that is certain to leave.

    Attributes:
        group: of the member.
        by: the preferred group or pod, for people to read; "" = none, it is evicted for a repair.
        beneficiary: the group that waits for its capacity; None = the queue.
        together: the members of the group that are evicted together, including this one.
        whole: the group cannot run without them.
        rest: others of them left before.
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
    """A plan that is no longer open.

    Attributes:
        refusals: what the API server rejected, in order.
        rejectors: whose events may help the group; empty = only time can.
        pending: the rejectors that wait for an external party; their events bypass the backoff.
        message: the reason, unless everything succeeded.
    """

    plan: Plan
    end: End
    refusals: tuple[Refusal, ...] = ()
    rejectors: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    message: str = ""


@dataclass(slots=True)
class Turn:
    """What one step works on; between steps, what the next step will work on.

    Only events and the first stage add to departures, leaving, hanging, released, observed and
    refused, so nothing of these is left over.

    Attributes:
        now: the engine's clock, seconds; NaN until the step begins.
        changed: groups to review, in the order of the changes.
        happened: what may help waiting groups.
        endings: plans that ended.
        losses: lost members, by group.
        departures: members whose eviction was accepted.
        leaving: groups with a victim that has become certain to leave.
        hanging: evicted members that are no longer waited for.
        released: groups with a victim that is gone or no longer waited for.
        refused: groups with a refused eviction, and when it may be requested again; infinity =
            never.
        observed: changes to pass to plugins that learn.
        refused_evictions: the answers to refused evictions.
        reviewed: the facts of the groups that were reviewed in this turn.
        effects: what to do, in causal order.
        fallen: the priority of a group with bound members has fallen.
        behind: more is pending than one turn has time for, so nothing is decided yet.
    """

    now: float = math.nan
    changed: dict[GroupKey, None] = field(default_factory=dict[GroupKey, None])
    happened: list[Happening] = field(default_factory=list[Happening])
    endings: list[Ending] = field(default_factory=list[Ending])
    losses: dict[GroupKey, list[Loss]] = field(default_factory=dict[GroupKey, list[Loss]])
    departures: list[Departure] = field(default_factory=list[Departure])
    leaving: list[GroupKey] = field(default_factory=list[GroupKey])
    hanging: list[Pod] = field(default_factory=list[Pod])
    released: list[GroupKey] = field(default_factory=list[GroupKey])
    refused: list[tuple[GroupKey, float]] = field(default_factory=list[tuple[GroupKey, float]])
    observed: list[Observation] = field(default_factory=list[Observation])
    refused_evictions: list[EvictRefused] = field(default_factory=list[EvictRefused])
    reviewed: dict[GroupKey, GroupFacts] = field(default_factory=dict[GroupKey, GroupFacts])
    effects: list[Effect] = field(default_factory=list[Effect])
    fallen: bool = False
    behind: bool = False

    def change(self, group: GroupKey) -> None:
        """Mark this group for review."""
        self.changed[group] = None

    def lost_nodes(self) -> set[str]:
        """Return the nodes that are gone or NotReady: when their pods end is unknown."""
        return {
            happening.node.name
            for happening in self.happened
            if happening.node is not None
            and (not happening.node.ready or happening.action is Action.DELETE)
        }

    @property
    def news(self) -> bool:
        """Whether there is something that a step should process now."""
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
        """Whether something is left for the stages before the decision."""
        return bool(self.changed or self.happened or self.endings)

    def left_over(self) -> "Turn":
        """Return what the stages of this turn did not process, as the next turn."""
        return Turn(
            changed=self.changed,
            happened=self.happened,
            endings=self.endings,
            losses=self.losses,
        )
