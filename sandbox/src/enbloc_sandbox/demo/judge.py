# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the demo's outcome was right: pure, over what the API server was seen to say."""

from collections.abc import Iterable, Sequence
from typing import Final

from enbloc.model import names
from enbloc_sandbox.demo.observed import GroupSeen, PodSeen, Seen, held
from enbloc_sandbox.demo.scenario import GANGS, Scenario

#: How long a gang may be seen with some of its pods placed, while their Binds are under way: at
#: all, and more for each pod (seconds).
BURST_SECONDS: Final = (10.0, 0.05)


def judge_alone(pods: Iterable[PodSeen], scenario: Scenario) -> list[str]:
    """What is wrong with act one's end: both jobs must be stuck, each with a part of its pods.

    Args:
        pods: the pods as the API server lists them.
        scenario: what was submitted.
    """
    found = list(pods)
    problems = _failures(found)
    counts = held(found)
    for gang, count in counts.items():
        if not 0 < count < scenario.size:
            problems.append(
                f"placed one by one, job {gang} has {count} of {scenario.size} pods on nodes; "
                "it should be half-placed"
            )
    if sum(counts.values()) != scenario.slots:
        problems.append(
            f"placed one by one, {sum(counts.values())} pods are on nodes; there is capacity for "
            f"{scenario.slots}"
        )
    return problems


def judge_gangs(log: Sequence[Seen], scenario: Scenario) -> list[str]:
    """What is wrong with act two: never a gang half-placed, one waits, both finish.

    Args:
        log: all states seen in act two, in order.
        scenario: what was submitted.
    """
    problems = _failures([seen for seen in log if isinstance(seen, PodSeen)])
    bursts = {gang: _burst(log, gang, scenario.size, problems) for gang in GANGS}
    last = {seen.name: seen for seen in log if isinstance(seen, PodSeen)}
    for gang in GANGS:
        done = sum(pod.gang == gang and pod.phase == "Succeeded" for pod in last.values())
        if done != scenario.size:
            problems.append(f"gang {gang}: {done} of {scenario.size} pods succeeded")
        said = [seen.shown for seen in log if isinstance(seen, GroupSeen) and seen.name == gang]
        if names.Reason.SUCCEEDED not in said[-1:]:
            problems.append(f"gang {gang}: its PodGroup says {said[-1] if said else 'nothing'}")
    starts = sorted((began, gang) for gang, began in bursts.items() if began is not None)
    if len(starts) == len(GANGS):
        began, second = starts[-1]
        reasons = {
            seen.reason
            for seen in log
            if isinstance(seen, GroupSeen) and seen.name == second and seen.at <= began
        }
        if names.Reason.UNSCHEDULABLE not in reasons:
            shown = ", ".join(sorted(filter(None, reasons))) or "no reason"
            problems.append(
                f"gang {second}: before it started its PodGroup said {shown}, "
                f"not {names.Reason.UNSCHEDULABLE}"
            )
    return problems


def _failures(pods: Iterable[PodSeen]) -> list[str]:
    return sorted({f"pod {pod.name} failed: {pod.reason}" for pod in pods if pod.phase == "Failed"})


def _burst(log: Sequence[Seen], gang: str, size: int, problems: list[str]) -> float | None:
    """When the gang's first pod was seen on a node; None if none was.

    Held pods may go from none to all once, within the time of a burst; anything else is a problem.
    """
    longest = BURST_SECONDS[0] + BURST_SECONDS[1] * size
    pods: dict[str, PodSeen] = {}
    began: float | None = None
    whole = False
    for seen in log:
        if not isinstance(seen, PodSeen) or seen.gang != gang:
            continue
        pods[seen.name] = seen
        count = sum(pod.held for pod in pods.values())
        if count and began is None:
            began = seen.at
        if count >= size:
            whole = True
        elif whole or (began is not None and seen.at - began > longest):
            problems.append(
                f"gang {gang}: {count} of {size} pods were on nodes {seen.at:.1f} s after the start"
            )
            return began
    if began is not None and not whole:
        problems.append(f"gang {gang}: it was only partially placed")
    return began
