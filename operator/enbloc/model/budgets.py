# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets, as far as preemption reads them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from enbloc.model.pods import Pod
from enbloc.model.selectors import Selector


class Budget(NamedTuple):
    """One PodDisruptionBudget.

    Attributes:
        key: "namespace/name".
        selector: of its pods; one without requirements, or None, selects no pod here.
        allowed: `status.disruptionsAllowed`: so many of its pods may be evicted now.
        disrupted: names of pods whose eviction is already counted in that.
        problem: what could not be read of it; then it covers every pod of its namespace.
    """

    key: str
    namespace: str
    selector: Selector | None
    allowed: int = 0
    disrupted: frozenset[str] = frozenset()
    problem: str = ""

    def covers(self, pod: Pod) -> bool:
        """Whether evicting this pod would use a disruption of this budget."""
        if self.namespace != pod.key.namespace or pod.key.name in self.disrupted:
            return False
        if self.problem:
            return True
        selector = self.selector
        if selector is None or not selector.requirements or not pod.labels:
            return False
        return selector.matches(dict(pod.labels))


class Allowance:
    """What budgets allow, less what was taken so far.

    Source of the rule: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
    default_preemption.go filterPodsWithPDBViolation.
    """

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._budgets = tuple(budgets)
        #: May be negative: so many pods were beyond the budget.
        self._left = [budget.allowed for budget in self._budgets]

    def violates(self, pods: Sequence[Pod]) -> bool:
        """Take a disruption of each budget for each pod; whether any budget had none left."""
        beyond = False
        for pod in pods:
            for place, budget in enumerate(self._budgets):
                if budget.covers(pod):
                    self._left[place] -= 1
                    beyond |= self._left[place] < 0
        return beyond
