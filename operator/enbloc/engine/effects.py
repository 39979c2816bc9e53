# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Effects: everything the engine can ask of its shell."""

import enum
from typing import NamedTuple

import msgspec

from enbloc.framework.act import Target
from enbloc.framework.extenders import NodeVictims
from enbloc.model.groups import GroupKey, RunMemory
from enbloc.model.names import Condition, EventReason, Reason
from enbloc.model.pods import Pod, PodKey, PodUID


class Attempt(NamedTuple):
    """The attempt that placed a pod, for the metrics; times are of the engine's clock.

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

    Only after what earlier plans of the group did is taken back: it may need the same.
    """

    profile: str
    group: GroupKey
    target: Target


class CancelPlan(msgspec.Struct, frozen=True):
    """Stop the PreBinds of a plan, and undo what they did for members (Unreserve).

    Answer Unreserved for each whose Binding was not handed out.

    Attributes:
        members: only these; empty = all of them.
    """

    plan: str
    members: frozenset[PodUID] = frozenset()


class Unreserve(msgspec.Struct, frozen=True):
    """Undo what an earlier attempt left for this member, as after a CancelPlan.

    Attributes:
        target: its node is the one that was selected for its volumes; "" = none.
    """

    profile: str
    target: Target


class ConditionValue(msgspec.Struct, frozen=True, gc=False):
    """The desired value of one condition; the shell adds the times and the generation."""

    type: Condition
    status: bool | None
    reason: Reason
    message: str


class RoleSucceeded(msgspec.Struct, frozen=True, gc=False):
    """How many members of a role succeeded in this run."""

    name: str
    succeeded: int


class TopologyStatus(msgspec.Struct, frozen=True, gc=False):
    """Where the bound members of a group are.

    Attributes:
        level: the innermost level at which all of them are in one domain; "" = none.
        path: that domain, as label values joined by "/".
        spread: `(level, count)`: in how many domains of each level they are, outermost first.
    """

    level: str
    path: str
    spread: tuple[tuple[str, int], ...]


class SetGroupStatus(msgspec.Struct, frozen=True, gc=False):
    """Write the scheduler's part of a PodGroup's status; a later one replaces an unsent one.

    Times are seconds of server time since the epoch, as is the engine's clock; None = absent.

    Attributes:
        generation: the generation of the spec that this answers.
        runs: what to record of each run with live members, and of the newest, which is the last;
            the other fields describe that one.
        priority: of the group; None = it has no members.
        replaced: field managers of other schedulers, or of older releases, whose part of the status
            this replaces.
        shown_by: the version of the PodGroup that shows them; 0 = there are none. After another
            write of theirs it differs, so that an otherwise equal status is written again.
        topology: where its bound members are; None = it requests no topology, or none is bound.
    """

    group: GroupKey
    uid: str
    generation: int
    run_name: str
    started: float | None
    succeeded: int
    roles: tuple[RoleSucceeded, ...]
    attempts: int
    last_attempt: float | None
    next_attempt: float | None
    conditions: tuple[ConditionValue, ...]
    runs: tuple[RunMemory, ...] = ()
    priority: int | None = None
    replaced: tuple[str, ...] = ()
    shown_by: int = 0
    topology: TopologyStatus | None = None


class SetPodCondition(msgspec.Struct, frozen=True):
    """Write PodScheduled=False on a member.

    Attributes:
        nominated: the node that it is to go to once others have left it; "" = remove the
            nomination, None = keep it.
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
    """Evict a member to release its capacity (semantics §4.5).

    The answer is Evicted, EvictRefused or EvictStopped. A later one for the same pod replaces it,
    and only that is answered.

    Attributes:
        group: of the member.
        reason: of the pod condition DisruptionTarget.
        message: of the condition, for people.
        bare: even if it has no controller that would replace it.
        regardless: even if a PodDisruptionBudget would keep it.
        whole: not if another one evicted with it is refused before any of them is deleted.
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
    """Stop the eviction of members that are evicted together, unless one may be leaving already.

    Either each answers EvictStopped, or none does and the evictions go on.
    """

    group: GroupKey
    uids: frozenset[PodUID]


class EventType(enum.StrEnum):
    """The two event types of Kubernetes."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Related(msgspec.Struct, frozen=True, gc=False):
    """A pod or PodGroup related to an event but not its subject; one of them is set."""

    uid: str
    pod: PodKey | None = None
    group: GroupKey | None = None


class Emit(msgspec.Struct, frozen=True, gc=False):
    """Write an event about a pod, a PodGroup or a node; exactly one of these is set.

    An event that repeats an earlier one is only counted, without its note; one with another related
    object is no repetition.

    Attributes:
        reason: in CamelCase; an EventReason, or what a plugin writes on a node.
        reporter: the profile's name on pods, enbloc's own name on others.
        uid: of its subject; for a node, as kubelets do, its name.
        related: such as the preemptor of a victim; None = none.
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


class AskExtender(msgspec.Struct, frozen=True):
    """Ask an extender about one class of pods, or for victims for a pod; answer ExtenderAnswer.

    Attributes:
        question: its own id.
        extender: its index in `profile.extenders`.
        pod: stands for its class.
        nodes: feasible by the profile's own filters, and by the extenders asked before.
        filter: ask which of the nodes it leaves.
        prioritize: ask for scores of the nodes that are left.
        candidates: ask which of these it leaves, and the victims there; then there are no nodes.
        victims: the pods that the candidates name.
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
        solo: it is no PodGroup, but a pod without a group.
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
    | AskExtender
    | Decided
)
