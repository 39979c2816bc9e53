# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets, as far as preemption reads them.

::

    BudgetTable, kept by the state ──► Budgets, of one search ──► Allowance, of one set of victims
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from enbloc.model.grouped import Grouped
from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator
from enbloc.model.selectors import Labels, Selector

#: How many values are compared in the time that one requirement takes; a budget is indexed by a
#: label only if its requirement names no more values.
_VALUES_A_LOOK: Final = 16
#: How many budgets and requirements are checked for one pod's labels; beyond that, the pod counts
#: as covered by a budget that allows nothing.
_MOST_LOOKS_A_POD: Final = 600
#: How many are checked in one search, counting pods that take more than a few each.
_MOST_LOOKS: Final = 100_000
_FEW_LOOKS: Final = 16
#: How many budgets may cover pods that go together.
_MOST_COVERING: Final = 8
#: How many budgets and requirements are checked in the time of one search step.
_LOOKS_A_STEP: Final = 10


class Budget(NamedTuple):
    """One PodDisruptionBudget.

    Attributes:
        key: "namespace/name".
        selector: selects its pods; without requirements, or None, it selects no pod here.
        allowed: `status.disruptionsAllowed`: how many of its pods may be evicted now.
        disrupted: names of pods whose eviction is already counted in that.
        problem: what could not be read; the budget then covers every pod of its namespace.
    """

    key: str
    namespace: str
    selector: Selector | None
    allowed: int = 0
    disrupted: frozenset[str] = frozenset()
    problem: str = ""

    def selects(self, namespace: str, labels: Labels) -> bool:
        """Whether it selects pods of a namespace with these labels."""
        return self.namespace == namespace and self.selects_labels(dict(labels))

    def selects_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether it selects pods of its own namespace with these labels."""
        if self.problem:
            return True
        selector = self.selector
        if selector is None or not selector.requirements or not labels:
            return False
        return selector.matches(labels)


class _Some:
    """Budgets that may select the same pods."""

    def __init__(self) -> None:
        self.budgets: dict[str, Budget] = {}
        #: The cost of checking them all: budgets and requirements, with their values.
        self.looks = 0


class BudgetTable:
    """Every PodDisruptionBudget, indexed by a label that its pods share.

    Args:
        budgets: the initial ones.
    """

    def __init__(self, budgets: Iterable[Budget] = ()) -> None:
        self._budgets: dict[str, Budget] = {}
        #: By namespace, and by a label that each of their pods has (None = there is no such label).
        #: Budgets that select no pod are in no entry, and no entry is empty.
        self._by_label: dict[tuple[str, tuple[str, str] | None], _Some] = {}
        #: By namespace, the budgets that select every pod with labels, for the Eviction API alone.
        self._of_all: Grouped[str, str, Budget] = Grouped()
        for budget in budgets:
            self.put(budget)

    def __bool__(self) -> bool:
        """Whether any budget selects pods."""
        return bool(self._by_label)

    def __iter__(self) -> Iterator[Budget]:
        """All of them."""
        return iter(self._budgets.values())

    def put(self, budget: Budget) -> None:
        """Add or update a budget."""
        self.drop(budget.key)
        self._budgets[budget.key] = budget
        if _is_of_all(budget):
            self._of_all.put(budget.namespace, budget.key, budget)
        for label in _labels_of(budget):
            some = self._by_label.setdefault((budget.namespace, label), _Some())
            some.budgets[budget.key] = budget
            some.looks += _looks_of(budget)

    def drop(self, key: str) -> None:
        """Remove a budget, if it is known."""
        budget = self._budgets.pop(key, None)
        if budget is None:
            return
        if _is_of_all(budget):
            self._of_all.drop(budget.namespace, key)
        for label in _labels_of(budget):
            some = self._by_label[budget.namespace, label]
            del some.budgets[key]
            some.looks -= _looks_of(budget)
            if not some.budgets:
                del self._by_label[budget.namespace, label]

    def near(self, namespace: str, labels: Labels) -> Sequence[tuple[int, Iterable[Budget]]]:
        """The budgets that may select pods of a namespace with these labels, in parts.

        Each part comes with the cost of checking it: its budgets and requirements.
        """
        parts = [self._by_label.get((namespace, label)) for label in (None, *labels)]
        return [(some.looks, some.budgets.values()) for some in parts if some is not None]

    def of_all(self, namespace: str) -> Sequence[Budget]:
        """The namespace's budgets that the Eviction API applies to all pods with labels."""
        return tuple(self._of_all.get(namespace, {}).values())


def _is_of_all(budget: Budget) -> bool:
    selector = budget.selector
    return selector is not None and not selector.requirements and not budget.problem


def _labels_of(budget: Budget) -> Sequence[tuple[str, str] | None]:
    """Labels of which each of its pods has one; None = its pods may have any labels."""
    if budget.problem:
        return (None,)
    requirements = budget.selector.requirements if budget.selector else ()
    if not requirements:
        return ()
    for each in requirements:
        if each.operator is Operator.IN and len(each.values) <= _VALUES_A_LOOK:
            return [(each.key, value) for value in dict.fromkeys(each.values)]
    return (None,)


def _looks_of(budget: Budget) -> int:
    """The cost of checking whether it selects a pod: itself, and its requirements."""
    requirements = budget.selector.requirements if budget.selector else ()
    return 1 + sum([1 + len(each.values) // _VALUES_A_LOOK for each in requirements])


#: A budget's key, how many disruptions it allows, and how many of the given pods it covers.
Used = tuple[str, int, int]


class Budgets:
    """Budgets for one search over many pods; alike pods are looked up once.

    The answers do not depend on earlier searches, so that a search can be repeated.

    Args:
        budgets: every PodDisruptionBudget.
    """

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self._table = budgets if isinstance(budgets, BudgetTable) else BudgetTable(budgets)
        self._known: dict[tuple[str, Labels], Sequence[Budget]] = {}
        #: By `id` of the sequence of pods, which is kept so that the id stays its own.
        self._of: dict[int, tuple[Sequence[Pod], Sequence[Used]]] = {}
        #: Cost so far: budgets and requirements checked, and pods under each budget; and the part
        #: of it that was for pods that take more than a few checks each.
        self._looks = self._dear = 0

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._table)

    @property
    def steps(self) -> int:
        """The cost of the lookups so far, in search steps."""
        return self._looks // _LOOKS_A_STEP

    def covering(self, pod: Pod) -> Sequence[Budget]:
        """The budgets of which evicting this pod would use a disruption.

        A budget that allows nothing stands for those that are too many to check.
        """
        if not self._table:
            return ()
        namespace, labels = kind = pod.key.namespace, pod.labels
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self._looked_up(namespace, labels)
        return [budget for budget in known if pod.key.name not in budget.disrupted]

    def _looked_up(self, namespace: str, labels: Labels) -> Sequence[Budget]:
        near = self._table.near(namespace, labels)
        looks = sum([looks for looks, _ in near])
        if looks > _MOST_LOOKS_A_POD or (looks > _FEW_LOOKS and self._dear + looks > _MOST_LOOKS):
            return (_allowing_nothing(namespace),)
        self._dear += looks if looks > _FEW_LOOKS else 0
        self._looks += looks + len(labels) // _VALUES_A_LOOK
        of_pod = dict(labels)
        found = [budget for _, some in near for budget in some if budget.selects_labels(of_pod)]
        return found if len(found) <= _MOST_COVERING else (_allowing_nothing(namespace),)

    def used(self, pods: Sequence[Pod]) -> Sequence[Used]:
        """The budgets that cover some of these pods.

        Args:
            pods: pods that go together; the same sequence is looked up once.
        """
        known = self._of.get(id(pods))
        if known is None:
            known = self._of[id(pods)] = pods, self._counted(pods)
        return known[1]

    def _counted(self, pods: Sequence[Pod]) -> Sequence[Used]:
        if not self._table:
            return ()
        allowed, counts = dict[str, int](), Counter[str]()
        for pod in pods:
            covering = self.covering(pod)
            self._looks += len(covering)
            for budget in covering:
                allowed[budget.key] = budget.allowed
                counts[budget.key] += 1
            if len(allowed) > _MOST_COVERING:
                return ((_allowing_nothing(pod.key.namespace).key, 0, 1),)
        return [(key, each, counts[key]) for key, each in allowed.items()]

    def refused(self, pods: Sequence[Pod]) -> bool:
        """Whether the Eviction API refuses some pods for a reason that `covering` may not show.

        It refuses if several budgets cover a pod, whatever they allow; and for it, unlike for
        kube-scheduler, a selector without requirements selects all pods with labels.

        Source: kubernetes v1.36 pkg/registry/core/pod/storage/eviction.go.
        """
        for pod in pods:
            more = self._table.of_all(pod.key.namespace) if pod.labels else ()
            if len(self.covering(pod)) + len(more) > 1:
                return True
            if any(budget.allowed < len(pods) for budget in more):
                return True
        return False


def _allowing_nothing(namespace: str) -> Budget:
    """A stand-in for budgets of a namespace that are too many to check."""
    return Budget(f"{namespace}/", namespace, None, problem="too much to look at")


class Allowance:
    """What budgets allow, less the disruptions taken so far.

    Source of the rule: kube-scheduler v1.36 pkg/scheduler/framework/plugins/defaultpreemption/
    default_preemption.go filterPodsWithPDBViolation.
    """

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        #: How many pods were taken, by budget key; may exceed what the budget allows.
        self._taken: dict[str, int] = {}

    def violates(self, pods: Sequence[Pod]) -> bool:
        """Take a disruption of each budget per pod; returns whether any budget had none left."""
        beyond, taken = False, self._taken
        for key, allowed, count in self._budgets.used(pods):
            now = taken[key] = taken.get(key, 0) + count
            if now > allowed:
                beyond = True
        return beyond
