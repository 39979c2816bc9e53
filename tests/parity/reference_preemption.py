# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DefaultPreemption: who gives way to one pod in one world, node by node and pod by pod.

Source: kube-scheduler v1.36 pkg/scheduler/framework/preemption/preemption.go;
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go;
pkg/scheduler/util/utils.go.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from enbloc.model.budgets import Budget
from enbloc.model.pods import Pod
from tests.parity import reference
from tests.parity.hosts import Host, Hosts
from tests.parity.reference_matching import selects
from tests.parity.settings import Settings

#: Refusals that last whoever leaves.
_LASTING = (
    "node(s) were unschedulable",
    "node(s) didn't match the requested node name",
    "node(s) had untolerated taint(s)",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match scheduler-enforced node affinity",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't match Pod's required features",
)


@dataclass(frozen=True)
class Candidate:
    """One node, who would have to leave it, and how many of them beyond a budget."""

    row: int
    victims: tuple[Pod, ...]
    violations: int

    def cost(self) -> tuple[float, ...]:
        top = max(pod.priority for pod in self.victims)
        return (
            self.violations,
            top,
            sum(pod.priority + 2**31 for pod in self.victims),
            len(self.victims),
            -min(_start(pod) for pod in self.victims if pod.priority == top),
        )


def candidates(
    pod: Pod, world: Hosts, settings: Settings, budgets: Sequence[Budget]
) -> tuple[list[Candidate], str]:
    """Every node that could do, and the sentence that is said if there is none."""
    found: list[Candidate] = []
    why: Counter[str] = Counter()
    refusals = reference.refusals(pod, world, settings)
    for row, host in enumerate(world.hosts):
        if reference.conflict(pod) or _lasts(pod, host, refusals[row]):
            why["Preemption is not helpful for scheduling"] += 1
            continue
        lower = [each for each in host.pods if each.priority < pod.priority]
        if not lower:
            why["No preemption victims found for incoming pod"] += 1
            continue
        empty = world
        for each in lower:
            empty = empty.removed(each, row)
        left = reference.refusals(pod, empty, settings)[row]
        if left:
            why.update(left)
            continue
        found.append(_reprieve(pod, row, lower, empty, settings, budgets))
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in why.items()))
    return found, f"preemption: 0/{len(world.hosts)} nodes are available: {text}."


def _lasts(pod: Pod, host: Host, reasons: Sequence[str]) -> bool:
    if not reasons:
        return True  # it is feasible: nobody has to leave
    if reasons[0] in _LASTING:
        return True
    asked = dict(pod.spec.requests)
    short = [each.removeprefix("Insufficient ") for each in reasons if "Insufficient" in each]
    return any(asked[name] > host.allocatable.get(name, 0) for name in short)


def _reprieve(
    pod: Pod,
    row: int,
    lower: list[Pod],
    empty: Hosts,
    settings: Settings,
    budgets: Sequence[Budget],
) -> Candidate:
    lower.sort(key=lambda each: (-each.priority, _start(each), each.key))
    left = [budget.allowed for budget in budgets]
    beyond: list[Pod] = []
    for each in lower:
        over = False
        for place, budget in enumerate(budgets):
            if _covers(budget, each):
                left[place] -= 1
                over |= left[place] < 0
        if over:
            beyond.append(each)
    victims: list[Pod] = []
    world = empty
    for each in (*beyond, *(other for other in lower if other not in beyond)):
        back = world.placed(each, row)
        if reference.refusals(pod, back, settings)[row]:
            victims.append(each)
        else:
            world = back
    return Candidate(row, tuple(victims), sum(each in beyond for each in victims))


def _covers(budget: Budget, pod: Pod) -> bool:
    if budget.namespace != pod.key.namespace or pod.key.name in budget.disrupted:
        return False
    if not pod.labels or budget.selector is None or not budget.selector.requirements:
        return False
    return selects(budget.selector, dict(pod.labels))


def _start(pod: Pod) -> float:
    return math.inf if pod.started is None else pod.started
