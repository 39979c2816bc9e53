# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What to do: everything the engine can ask of its shell."""

import enum
from typing import NamedTuple

import msgspec

from enbloc.framework.act import Target
from enbloc.framework.extenders import NodeVictims
from enbloc.model.groups import GroupKey, LifeMemory
from enbloc.model.names import Condition, EventReason, Reason
from enbloc.model.pods import Pod, PodKey, PodUID


class Attempt(NamedTuple):
    """Which attempt has placed a pod, for the metrics; times are of the engine's clock.

    Attributes:
        number: counted from 1 since the group was queued.
        queued: when the group was first to be tried.
        decided: when it was decided.
    """

    number: int
    queued: float
    decided: float


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Send this Binding until it is settled; answer Bound or BindRefused, then SlotsFree."""

    profile: str
    target: Target
    attempt: Attempt | None = None


class PreBind(msgspec.Struct, frozen=True):
    """Run the PreBind plugins for this member; answer PreBound or PreBindFailed.

    Not before what earlier plans of the group did is taken back: it may want the same.
    """

    profile: str
    group: GroupKey
    target: Target


class CancelPlan(msgspec.Struct, frozen=True):
    """Stop the PreBinds of a plan, and have what they did for members taken back (Unreserve).

    Answer Unreserved for each whose Binding was not handed out.

    Attributes:
        members: of these; empty = of all of them.
    """

    plan: str
    members: frozenset[PodUID] = frozenset()


class Unreserve(msgspec.Struct, frozen=True):
    """Have what an earlier attempt has left of this member taken back, as after a CancelPlan.

    Attributes:
        target: its node is the one that was selected for its volumes; "" = none was.
    """

    profile: str
    target: Target


class ConditionValue(msgspec.Struct, frozen=True, gc=False):
    """One condition, as it should stand; the shell adds the times and the generation."""

    type: Condition
    status: bool | None
    reason: Reason
    message: str


class RoleSucceeded(msgspec.Struct, frozen=True, gc=False):
    """How many members of a role succeeded in this incarnation."""

    name: str
    succeeded: int


class TopologyStatus(msgspec.Struct, frozen=True, gc=False):
    """Where the bound members of a group lie.

    Attributes:
        level: the innermost level at which all of them lie in one domain; "" = at none.
        path: that domain, as label values joined by "/".
        spread: `(level, count)`, in how many domains of each level they lie, the outermost first.
    """

    level: str
    path: str
    spread: tuple[tuple[str, int], ...]


class SetGroupStatus(msgspec.Struct, frozen=True, gc=False):
    """Write the scheduler's part of a PodGroup's status; a later one replaces an unsent one.

    Times are seconds of server time since the epoch, as is the engine's clock; None = absent.

    Attributes:
        generation: which generation of the spec this answers.
        lives: what to remember of each life of which members are live, and of the newest, which is
            the last; the other fields tell of that one.
        priority: of the group; None = it has no members.
        replaced: field managers of other schedulers, or of older releases, whose part of the
            status this takes the place of.
        shown_by: which version of the PodGroup shows them; 0 = there are none. Another version
            has another write of theirs.
        topology: where its bound members lie; None = it asks for no topology, or none is bound.
    """

    group: GroupKey
    uid: str
    generation: int
    incarnation: str
    started: float | None
    succeeded: int
    roles: tuple[RoleSucceeded, ...]
    attempts: int
    last_attempt: float | None
    next_attempt: float | None
    conditions: tuple[ConditionValue, ...]
    lives: tuple[LifeMemory, ...] = ()
    priority: int | None = None
    replaced: tuple[str, ...] = ()
    shown_by: int = 0
    topology: TopologyStatus | None = None


class SetPodCondition(msgspec.Struct, frozen=True):
    """Write PodScheduled=False on a member.

    Attributes:
        nominated: the node that it is to go to once others have left it; "" = none any more, None
            = what its status says of that stays.
    """

    pod: PodKey
    uid: PodUID
    reason: Reason
    message: str
    nominated: str | None = None


class SetGangRunning(msgspec.Struct, frozen=True):
    """Write the condition `enbloc.dev/GangRunning` on a member that has it as a readiness gate."""

    pod: PodKey
    uid: PodUID
    running: bool
    message: str


class Evict(msgspec.Struct, frozen=True):
    """Evict a member of ours to release its capacity (semantics §4.5).

    The answer is Evicted, EvictRefused or EvictStopped. A later one of the pod replaces it, and
    only that is answered.

    Attributes:
        group: whose capacity it is.
        reason: of the pod condition DisruptionTarget.
        message: of it, for people.
        bare: even if it has no controller that would replace it.
        regardless: even if a PodDisruptionBudget would keep it.
        whole: not if another that is evicted with it is refused before any of them is deleted.
        rest: others of its gang have left, so even if the condition is refused.
    """

    pod: PodKey
    uid: PodUID
    group: GroupKey
    reason: Reason
    message: str
    bare: bool = False
    regardless: bool = False
    whole: bool = False
    rest: bool = False


class StopEvict(msgspec.Struct, frozen=True):
    """Let members stay that are being evicted together, unless one of them may leave already.

    Each answers EvictStopped, or none does and what was asked for goes on.
    """

    group: GroupKey
    uids: frozenset[PodUID]


class EventType(enum.StrEnum):
    """The two types that Kubernetes knows."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Related(msgspec.Struct, frozen=True, gc=False):
    """A pod or a PodGroup that an event is not about, and has to do with; one of them is set."""

    uid: str
    pod: PodKey | None = None
    group: GroupKey | None = None


class Emit(msgspec.Struct, frozen=True, gc=False):
    """Write an event about a pod, a PodGroup or a node; exactly one of these is set.

    One that repeats an earlier one is only counted, and its note is not written: what has to do
    with somebody else is no repetition.

    Attributes:
        reason: in CamelCase; an EventReason, or what a plugin has written on a node.
        reporter: who says so: the profile's name on pods, our own name on the others.
        uid: of the object it is about; for a node, as kubelets do, its name.
        related: whom it has to do with, as the preemptor of a victim; None = nobody else.
    """

    type: EventType
    reason: EventReason | str
    action: str
    note: str
    reporter: str
    uid: str
    pod: PodKey | None = None
    group: GroupKey | None = None
    node: str = ""
    related: Related | None = None


class Ask(msgspec.Struct, frozen=True):
    """Ask an extender about one class of pods, or who gives way to a pod; answer Answer.

    Attributes:
        question: a name of its own.
        extender: its place in `profile.extenders`.
        pod: stands for its class.
        nodes: feasible by our own filters, and by the extenders asked before.
        filter: ask which of the nodes it leaves.
        prioritize: ask what scores it gives the nodes that are left.
        candidates: ask which of these it leaves, and who would have to go there; then no nodes.
        victims: the pods that these name.
    """

    question: str
    profile: str
    extender: int
    pod: Pod
    nodes: tuple[str, ...] = ()
    filter: bool = False
    prioritize: bool = False
    candidates: tuple[NodeVictims, ...] = ()
    victims: tuple[Pod, ...] = ()


class Decided(msgspec.Struct, frozen=True):
    """One decision, for the log and the metrics; nothing depends on it.

    Attributes:
        result: "scheduled", "unschedulable", "infeasible" or "error".
        placed: members that got a node in this plan.
        pods: members that it was about.
        solo: it is no PodGroup, but a pod without one.
        search: how it was found, or that no placement exists, or that the budget was spent.
        steps: of the search beyond the ordered pass; 0 = none was needed.
    """

    group: GroupKey
    profile: str
    attempts: int
    result: str
    placed: int
    message: str
    plan: str = ""
    search: str = ""
    steps: int = 0
    pods: int = 1
    solo: bool = False


Effect = (
    Bind
    | PreBind
    | CancelPlan
    | Unreserve
    | SetGroupStatus
    | SetPodCondition
    | SetGangRunning
    | Evict
    | StopEvict
    | Emit
    | Ask
    | Decided
)
