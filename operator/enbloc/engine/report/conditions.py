# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions: what the scheduler says about a group, in the words of the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from enbloc.engine.effects import ConditionValue
from enbloc.framework.facts import GroupFacts
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Pod, PodKey


@dataclass(frozen=True, slots=True)
class ReasonAndMessage:
    """Why a group is not scheduled now: a reason of the API, and a sentence.

    Attributes:
        misfits: members that fit no node, each with the cause.
        detail: what a pod without a group lacks, beyond kube-scheduler's words; "" = nothing.
        domain_full: held members determine the domain, of the group or of a slice, and it has no
            room for what is lacking there.
    """

    reason: Reason
    message: str
    misfits: Mapping[PodKey, str] = field(default_factory=dict[PodKey, str])
    detail: str = ""
    domain_full: bool = False

    def of(self, pod: Pod) -> str:
        """Return why this member in particular fits no node; "" = it is not one of these."""
        return self.misfits.get(pod.key, "")


class Progress(NamedTuple):
    """What the engine is doing with a group, each in half a sentence; "" = nothing.

    Attributes:
        binding: the progress of its plan.
        expired: why its reservation was released.
        preempted: who preempted members since it was last placed.
    """

    binding: str = ""
    expired: str = ""
    preempted: str = ""


#: Reasons for which members are being evicted, and lost ones are not replaced.
_LEAVING: Final = (Reason.TIMED_OUT, Reason.PREEMPTED)

#: Reasons that `Preempted` replaces in a preempted group; their own message follows.
_WAITS: Final = (
    Reason.PENDING,
    Reason.WAITING_FOR_MEMBERS,
    Reason.UNSCHEDULABLE,
    Reason.BELOW_MINIMUM,
    Reason.TOPOLOGY_DOMAIN_FULL,
    Reason.PREEMPTED,
)

#: Nothing is decided yet.
PENDING = ReasonAndMessage(Reason.PENDING, "waiting for its turn")


def conditions(
    facts: GroupFacts,
    why: ReasonAndMessage,
    progress: Progress,
    *,
    ever: bool,
    satisfied: bool | None = None,
    notes: Sequence[str] = (),
) -> tuple[ConditionValue, ...]:
    """Return the scheduler's conditions of a group.

    Args:
        facts: the group as it is.
        why: why its deficit is not placed, if it has one.
        progress: what the engine is doing.
        ever: it was scheduled before in this run.
        satisfied: whether the floor runs together now; None = it never did.
        notes: what else its user should know.
    """
    scheduled, *others = _scheduled(facts, why, progress, ever=ever)
    said = [_noted(scheduled, notes), *others]
    if satisfied is not None:
        said.append(_noted(_satisfied(facts, satisfied=satisfied), notes))
    if progress.preempted:
        kind, reason = Condition.DISRUPTION_TARGET, Reason.PREEMPTION_BY_SCHEDULER
        said.append(ConditionValue(kind, True, reason, progress.preempted))
    return tuple(said)


def _noted(condition: ConditionValue, notes: Sequence[str]) -> ConditionValue:
    if not notes:
        return condition
    return msgspec.structs.replace(
        condition, message="; ".join((condition.message.removesuffix("."), *notes))
    )


def _satisfied(facts: GroupFacts, *, satisfied: bool) -> ConditionValue:
    floor = facts.total
    text = f"{facts.running} of {floor.minimum} members run"
    if floor.succeeded:
        text += f", {floor.succeeded} succeeded"
    reason = Reason.SATISFIED if satisfied else Reason.BELOW_MINIMUM
    return ConditionValue(Condition.SATISFIED, satisfied, reason, text)


def _scheduled(
    facts: GroupFacts, why: ReasonAndMessage, progress: Progress, *, ever: bool
) -> tuple[ConditionValue, ...]:
    floor = facts.total
    if not facts.deficit and facts.group is not None and not facts.problem:
        placed = _placed(floor.held, floor.minimum, floor.succeeded)
        reason, text = Reason.SCHEDULED, placed
        if progress.expired:
            reason, text = Reason.RESERVATION_EXPIRED, f"{placed}; {progress.expired}"
        scheduled = ConditionValue(Condition.SCHEDULED, True, reason, text)
        return (scheduled, _initially(placed))
    status: bool | None = False
    if progress.binding:
        why = ReasonAndMessage(Reason.BINDING, progress.binding)
    elif why.reason is Reason.PENDING:
        status = None
    elif facts.started and floor.held and not facts.problem and why.reason not in _LEAVING:
        lost = f"{floor.held} of {floor.minimum} members are left"
        reason = Reason.TOPOLOGY_DOMAIN_FULL if why.domain_full else Reason.BELOW_MINIMUM
        why = ReasonAndMessage(reason, f"{lost}: {why.message}")
    if progress.preempted and not progress.binding and why.reason in _WAITS:
        status = False
        why = ReasonAndMessage(Reason.PREEMPTED, f"{progress.preempted}; {why.message}")
    scheduled = ConditionValue(Condition.SCHEDULED, status, why.reason, why.message)
    if not ever:
        return (scheduled,)
    return (scheduled, _initially("the minimum was scheduled before in this run"))


def _placed(held: int, minimum: int, succeeded: int) -> str:
    done = f", {succeeded} of them succeeded" if succeeded else ""
    return f"{min(held, minimum)} of {minimum} required members are scheduled{done}"


def _initially(message: str) -> ConditionValue:
    return ConditionValue(Condition.INITIALLY_SCHEDULED, True, Reason.SCHEDULED, message)
