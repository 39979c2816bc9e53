# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Units: pods that are evicted together or not at all, and the result of a preemption."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from enbloc.engine.preemption.together import of_kueue
from enbloc.engine.trial import Trial
from enbloc.ledgers import Decisions
from enbloc.model.budgets import Allowance, Budgets
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodKey, PodUID

#: Below every priority.
LOWEST: Final = -(2**31)


@dataclass(frozen=True, eq=False)
class Unit:
    """Pods that are evicted together or not at all: one pod, or what a gang cannot run without.

    Attributes:
        group: of these pods; for a pod without a group its solo group.
        pods: where they are counted (`Pod.node`), in the order in which they are evicted.
        priority: of the group, for each of them.
        work: what is lost or waited for with it, in seconds of the whole cluster.
        gang: it is a gang's minimum.
        of: it is a pod beyond this minimum, and goes if that goes.
        protected: until when it may not be evicted, engine clock.
        leaving: all of its pods were told to leave before, and need not be told again.
        soon: they are also gone within a minute.
        planned: its pods are not bound yet: nothing is evicted, their plan is given up.
    """

    group: GroupKey
    pods: tuple[Pod, ...]
    priority: int
    work: float = 0.0
    gang: bool = False
    of: "Unit | None" = None
    protected: float = -math.inf
    leaving: bool = False
    soon: bool = False
    planned: bool = False

    @property
    def named(self) -> str:
        """For people: the PodGroup that cannot run without its pods, else the first of the pods."""
        if self.gang and not of_kueue(self.group):  # that is no PodGroup
            return f"PodGroup {self.group}"
        return f"pod {self.pods[0].key}"

    @cached_property
    def started(self) -> float:
        """When its first pod started, server seconds; infinity = none has, as far as is known.

        Source: kube-scheduler v1.36 pkg/scheduler/util/utils.go GetPodStartTime.
        """
        times = [pod.started for pod in self.pods if pod.started is not None]
        return min(times, default=math.inf)

    @cached_property
    def importance(self) -> tuple[int, float, PodKey]:
        """The sort key, most important first: a higher priority, then an earlier start.

        Source: kube-scheduler v1.36 pkg/scheduler/util/utils.go MoreImportantPod; names decide
        between equals, so that the same cluster gives the same victims.
        """
        return (-self.priority, self.started, min(pod.key for pod in self.pods))

    @cached_property
    def _by_node(self) -> Mapping[str, Sequence[Pod]]:
        found: dict[str, list[Pod]] = {}
        for pod in self.pods:
            found.setdefault(pod.node, []).append(pod)
        return found

    def on(self, node: str) -> Sequence[Pod]:
        """Return its pods that are counted on a node."""
        return self._by_node.get(node, ())

    def returning(self, pod: Pod) -> Pod:
        """Return one of its pods as it comes back to a fork that it had left.

        What a planned pod had there is not written to its claims, so the fork decides it anew.
        """
        return replace(pod, node="") if self.planned else pod


def importance(unit: Unit) -> tuple[int, float, PodKey]:
    """Return `Unit.importance`, as a sort key."""
    return unit.importance


Seats = Sequence[tuple[Pod, int]]


def seats_of(unit: Unit, nodes: Nodes) -> Seats:
    """Return the pods of a unit, each with the row of its node, unless the node is gone."""
    rows = ((pod, nodes.row(pod.node)) for pod in unit.pods)
    return [(pod, row) for pod, row in rows if row is not None]


def beyond(units: Iterable[Unit], budgets: Budgets) -> list[Unit]:
    """Return the units that exceed a budget if all go, the most important first.

    A pod that leaves anyway, or is not bound yet, uses nothing of a budget.
    """
    if not budgets:
        return []
    covered = (
        unit for unit in units if not (unit.leaving or unit.planned) and budgets.used(unit.pods)
    )
    allowance = Allowance(budgets)
    return [unit for unit in sorted(covered, key=importance) if allowance.violates(unit.pods)]


#: The cost of victims; the lowest is chosen.
Cost = tuple[int, int, float, int, int, float]


def cost(units: Iterable[Unit], budgets: Budgets) -> Cost:
    """Return the cost of evicting some units for a gang: the first difference decides.

    Units beyond a budget; the highest priority; lost work; how many units; how many of these are
    gangs; and the older, the more expensive. Units that leave soon anyway cost nothing.
    """
    more = [unit for unit in units if not unit.soon]
    return (
        len(beyond(more, budgets)),
        max([unit.priority for unit in more], default=LOWEST),
        math.fsum([unit.work for unit in more]),
        len(more),
        sum([unit.gang for unit in more]),
        -min([unit.started for unit in more], default=math.inf),
    )


def decided_without(
    units: Iterable[Unit], nodes: Iterable[tuple[Pod, str]], trial: Trial
) -> Mapping[PodUID, Decisions]:
    """Return what pods with volumes or devices get where they go once some units have left.

    Args:
        units: that leave.
        nodes: where each pod is to go.
        trial: the cluster as they may see it; unchanged.
    """
    tried = trial.fork()
    for unit in units:
        tried.remove_all(seats_of(unit, trial.nodes))
    rows = [(pod, row) for pod, node in nodes if (row := trial.nodes.row(node)) is not None]
    tried.add_all(rows)
    ledgers = tried.ledgers
    return {pod.uid: ledgers.decided(pod) for pod, _ in rows if pod.spec.holds}


@dataclass(frozen=True, slots=True)
class Preemption:
    """The result of looking for victims.

    Attributes:
        nodes: where each pending pod could go, once the victims are gone; empty = nowhere.
        victims: the units to evict, the most important first.
        beyond: those of them that exceed a PodDisruptionBudget.
        message: why there are none, in kube-scheduler's words; "" = there are some, or it is
            evident.
        steps: the number of calls of filters, or of members placed.
    """

    nodes: tuple[tuple[Pod, str], ...] = ()
    victims: tuple[Unit, ...] = ()
    beyond: frozenset[Unit] = frozenset()
    message: str = ""
    steps: int = 0
