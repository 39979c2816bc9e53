# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of preemption: for a higher priority, of whole gangs, and nobody twice (semantics §10)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from enbloc.engine.effects import Evict
from enbloc.engine.state import solo_key
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import Pod
from tests.laws.naive import Run, count, missing, pending

#: The priorities of what stands, the highest first.
Standing = tuple[int, ...]

if TYPE_CHECKING:
    from tests.laws.judge import Judge

#: A victim is waited for no longer than this (seconds): its grace period, and half a minute.
PATIENCE = 60.0


def preempts(evict: Evict) -> bool:
    """It is for a higher priority, not to repair a gang."""
    return evict.reason is Reason.PREEMPTION_BY_SCHEDULER


def judge_preemption(judge: "Judge", evicts: Sequence[Evict]) -> None:
    """The victims of one turn, all of one group."""
    victims = [_victim(judge, evict) for evict in evicts]
    if not victims:
        return
    judge.server.reached["somebody is preempted"] += 1
    group = evicts[0].group
    assert all((pod.group or solo_key(pod)) == group.podgroup for pod in victims)
    run = judge.view.runs.get(group)
    priority = min(pod.priority for pod in (run.live if run and run.live else victims))
    waiting = [pod for pod in judge.view.pods.values() if pending(pod) and pod.priority > priority]
    assert waiting, f"{group} of priority {priority} gives way to nobody (semantics §10.1)"
    if run is not None and run.group is not None and not run.doubtful:
        _whole(run, victims, group)


def _victim(judge: "Judge", evict: Evict) -> Pod:
    pod = judge.view.pods.get(evict.uid)
    assert pod is not None, f"{evict.pod} is preempted although it is gone"
    assert pod.node, f"{evict.pod} is preempted although it holds no room"
    assert not pod.finished, f"{evict.pod} is preempted although it has finished"
    until = judge.evicting.get(evict.uid, judge.server.now)
    assert until <= judge.server.now, f"{evict.pod} is evicted again, unanswered"
    judge.evicting[evict.uid] = judge.server.now + PATIENCE
    return pod


def _whole(run: Run, victims: Sequence[Pod], group: GroupKey) -> None:
    """Semantics §10.1: what is left of a gang is its minimum or nothing, if it was whole."""
    gone = {pod.uid for pod in victims}
    left = [pod for pod in run.bound if pod.uid not in gone]
    was_whole = not missing(run.held, run.floor)
    broken = missing(run.held - count(victims), run.floor)
    assert not (was_whole and broken and left), f"{group} is preempted in part: {len(left)} stay"


def standing(judge: "Judge") -> Standing:
    """The priority of each group whose minimum is held, and of each bound pod without one."""
    runs = [run for run in judge.view.runs.values() if run.group is not None and run.live]
    held = [
        min(pod.priority for pod in run.live)
        for run in runs
        if run.bound and not missing(run.held, run.floor)
    ]
    alone = [pod.priority for pod in judge.view.pods.values() if pod.group is None and pod.bound]
    return tuple(sorted(held + alone, reverse=True))


def raises_what_stands(judge: "Judge", before: Standing, preemptions: int) -> None:
    """Where nothing else happens, preemptions come to an end, and have raised what stands.

    Compared by the highest priority first: so no two groups can evict each other in turns
    (semantics §10.3).
    """
    after = standing(judge)
    assert not preemptions or after > before, f"{preemptions} were evicted: {before} → {after}"
