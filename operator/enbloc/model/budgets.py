# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets, as far as preemption reads them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator
from enbloc.model.selectors import Labels, Selector


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

    def selects(self, namespace: str, labels: Labels) -> bool:
        """Whether pods of a namespace with these labels are its own."""
        if self.namespace != namespace:
            return False
        if self.problem:
            return True
        selector = self.selector
        if selector is None or not selector.requirements or not labels:
            return False
        return selector.matches(dict(labels))


class Budgets:
    """Some budgets, asked about many pods: alike ones are looked up once.

    Args:
        budgets: every PodDisruptionBudget.
    """

    def __init__(self, budgets: Iterable[Budget]) -> None:
        #: By namespace, and by a label that all of their pods have; of no such label, by None.
        self._by_label: dict[tuple[str, tuple[str, str] | None], list[Budget]] = {}
        self._known: dict[tuple[str, Labels], Sequence[Budget]] = {}
        self._disrupted = False
        #: By namespace, those that select every pod with labels, for the Eviction API alone.
        self._of_all: dict[str, list[Budget]] = {}
        for budget in budgets:
            empty = budget.selector is not None and not budget.selector.requirements
            if empty and not budget.problem:
                self._of_all.setdefault(budget.namespace, []).append(budget)
            self._disrupted |= bool(budget.disrupted)
            for label in _labels_of(budget):
                self._by_label.setdefault((budget.namespace, label), []).append(budget)

    def __bool__(self) -> bool:
        """There are some."""
        return bool(self._by_label)

    def covering(self, pod: Pod) -> Sequence[Budget]:
        """Those of which evicting this pod would use a disruption."""
        if not self._by_label:
            return ()
        namespace, labels = kind = pod.key.namespace, pod.labels
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = [
                budget
                for label in (None, *labels)
                for budget in self._by_label.get((namespace, label), ())
                if budget.selects(namespace, labels)
            ]
        if not self._disrupted:
            return known
        return [budget for budget in known if pod.key.name not in budget.disrupted]

    def refused(self, pods: Sequence[Pod]) -> bool:
        """Whether the Eviction API refuses some of these where `covering` may not show it.

        It does where several budgets cover a pod, whatever they allow; and it takes a selector
        without requirements for one of all pods with labels, as kube-scheduler does not.

        Source: kubernetes v1.36 pkg/registry/core/pod/storage/eviction.go.
        """
        for pod in pods:
            more = self._of_all.get(pod.key.namespace, ()) if pod.labels else ()
            if len(self.covering(pod)) + len(more) > 1:
                return True
            if any(budget.allowed < len(pods) for budget in more):
                return True
        return False


def _labels_of(budget: Budget) -> Sequence[tuple[str, str] | None]:
    """Labels of which each of its pods has one; None = it may have any."""
    requirements = budget.selector.requirements if budget.selector and not budget.problem else ()
    for each in requirements:
        if each.operator is Operator.IN:
            return [(each.key, value) for value in dict.fromkeys(each.values)]
    return (None,)


class Allowance:
    """What budgets allow, less what was taken so far.

    Source of the rule: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
    default_preemption.go filterPodsWithPDBViolation.
    """

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        #: By the key of a budget, how many of its pods; there may be more than it allows.
        self._taken: Counter[str] = Counter()

    def violates(self, pods: Sequence[Pod]) -> bool:
        """Take a disruption of each budget for each pod; whether any budget had none left."""
        beyond = False
        for pod in pods:
            for budget in self._budgets.covering(pod):
                self._taken[budget.key] += 1
                beyond |= self._taken[budget.key] > budget.allowed
        return beyond
