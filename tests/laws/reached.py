# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which of the states that matter were reached: a law that nothing could break proves nothing."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from enbloc.engine.effects import Bind, Decided, Effect, Emit, Evict
from enbloc.engine.state.reservations import HELD
from enbloc.model.groups import OnIncomplete
from enbloc.model.names import EventReason
from tests.laws.naive import floors, missing
from tests.laws.preempting import preempts

if TYPE_CHECKING:
    from tests.laws.judge import Judge

#: Every state that the machine must reach, in a run of the default length.
STATES = (
    "a Bind of which nobody knew lands",
    "a budget forbids an eviction",
    "a dead process' Bind lands",
    "a foreign pod is expected",
    "a former leader's Bind lands",
    "a gang in part is planned",
    "a gang in part is whole again",
    "a gang is bound in part",
    "a gang runs again",
    "a gang starts",
    "a list instead of what happened",
    "a plan is withdrawn before it begins",
    "a reservation expires",
    "a reservation keeps somebody out",
    "a started gang is evicted, as it wished",
    "an eviction at the deadline",
    "an eviction for another's sake",
    "infeasible",
    "refused: MemberChanged",
    "refused: NamespaceTerminating",
    "refused: SchedulerError",
    "restart while requests are under way",
    "room is held for a lost member",
    "somebody is preempted",
    "surplus is sent",
    "takeover while requests are under way",
)


def notice(judge: "Judge", effects: Sequence[Effect], reached: Counter[str]) -> None:
    """Count what this step shows, before it is judged."""
    for effect in effects:
        match effect:
            case Decided():
                _decided(judge, effect, reached)
            case Bind():
                made = judge.made.get(effect.target.plan)
                if made is not None:
                    run = judge.view.run(made.group)
                    whole = run.group is not None and not missing(run.held, floors(run.group))
                    reached["surplus is sent"] += whole
            case Emit(reason=EventReason.RESERVATION_EXPIRED):
                reached["a reservation expires"] += 1
            case Emit(reason=EventReason.GANG_REPAIRED):
                reached["a gang in part is whole again"] += 1
            case Evict() if not preempts(effect):
                _evicted(judge, effect, reached)
            case _:
                pass
    _seen(judge, reached)


def _decided(judge: "Judge", effect: Decided, reached: Counter[str]) -> None:
    run = judge.view.runs.get(effect.group)
    if effect.result == "scheduled":
        in_part = run is not None and run.group is not None and bool(run.bound)
        if in_part and run and run.group and missing(run.held, floors(run.group)):
            reached["a gang in part is planned"] += 1
    else:
        reached[effect.result] += 1
        reached["a reservation keeps somebody out"] += "reserved for" in effect.message


def _evicted(judge: "Judge", effect: Evict, reached: Counter[str]) -> None:
    run = judge.view.run(effect.group)
    group = run.group
    if group is None:
        return
    if run.started and group.on_incomplete is OnIncomplete.RESTART:
        reached["a started gang is evicted, as it wished"] += 1
    own = "can be completed" not in effect.message
    reached["an eviction at the deadline" if own else "an eviction for another's sake"] += 1


def _seen(judge: "Judge", reached: Counter[str]) -> None:
    for run in judge.view.runs.values():
        if run.group is not None and run.bound:
            reached["a gang is bound in part"] += bool(missing(run.held, floors(run.group)))
        reached["a gang starts"] += run.started
        reached["a gang runs again"] += run.ended > 0
    for reservation in judge.engine._state.reservations.open_to_some():
        held = reservation.purpose == HELD
        reached["room is held for a lost member" if held else "a foreign pod is expected"] += 1
    for plan, made in judge.made.items():
        reached["a plan is withdrawn before it begins"] += (
            not made.begun and plan not in judge.engine._plans._open
        )
