# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The spread constraints of a pod, and the pods and nodes that each counts."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Final, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.model.node_selection import selected
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pins import HOSTNAME
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.taints import repels
from enbloc.model.workloads import Workloads

ZONE: Final = "topology.kubernetes.io/zone"

#: The constraints of pods without their own, unless the profile sets others.
SYSTEM_DEFAULTS: Final = (
    SpreadConstraint(HOSTNAME, max_skew=3, hard=False),
    SpreadConstraint(ZONE, max_skew=5, hard=False),
)

Rows = npt.NDArray[np.int32]


def own_constraints(pod: Pod, *, hard: bool) -> tuple[SpreadConstraint, ...]:
    """The pod's own constraints of one action, `match_label_keys` merged into their selectors.

    Keys that the pod lacks are ignored; a constraint without a selector keeps none, and matches
    nothing.
    """
    return tuple(_merged(each, pod) for each in pod.spec.spread if each.hard is hard)


def default_constraints(
    defaults: Sequence[SpreadConstraint], pod: Pod, workloads: Workloads, *, hard: bool
) -> tuple[SpreadConstraint, ...]:
    """The profile's constraints of one action, with the selector of the pod's Services and owner.

    Empty if nothing selects the pod.
    """
    chosen = [each for each in defaults if each.hard is hard]
    selector = workloads.selector_of(pod) if chosen else None
    if selector is None or not selector.requirements:
        return ()
    return tuple(replace(each, selector=selector, match_label_keys=()) for each in chosen)


def _merged(constraint: SpreadConstraint, pod: Pod) -> SpreadConstraint:
    if constraint.selector is None or not constraint.match_label_keys:
        return constraint
    labels = dict(pod.labels)
    added = (
        Requirement(key, Operator.IN, (labels[key],))
        for key in constraint.match_label_keys
        if key in labels
    )
    selector = Selector((*constraint.selector.requirements, *added))
    return replace(constraint, selector=selector, match_label_keys=())


def keys_present(constraints: Sequence[SpreadConstraint], nodes: Nodes) -> Mask:
    """bool[N]: nodes that carry the topology key of every constraint."""
    mask = np.ones(len(nodes), np.bool_)
    for constraint in constraints:
        mask &= nodes.has_label(constraint.topology_key)
    return mask


def counted(constraint: SpreadConstraint, pod: Pod, nodes: Nodes) -> Mask:
    """bool[N]: nodes that the constraint's node inclusion policies let count."""
    mask = np.ones(len(nodes), np.bool_)
    if constraint.honour_affinity:
        mask &= selected(pod.spec, nodes)
    if constraint.honour_taints:
        mask &= ~nodes.taints_where(partial(repels, pod.spec.tolerations))
    return mask


def rows_of(constraint: SpreadConstraint, namespace: str, placed: PlacedPods) -> Rows:
    """int32[…]: the row of each placed pod that the constraint counts, once per pod."""
    chosen = placed.matches(constraint.selector) & placed.in_namespaces((namespace,))
    return placed.row[chosen & ~placed.terminating]


def counts(constraint: SpreadConstraint, namespace: str, pod: Pod) -> bool:
    """Whether the constraint counts a pod, wherever it is."""
    if pod.deleting or pod.key.namespace != namespace or constraint.selector is None:
        return False
    return constraint.selector.matches(dict(pod.labels))


class Table:
    """One constraint's pods, by domain.

    Attributes:
        constraint: the constraint.
        codes: intp[N], the domain of each node, below `size`.
        counted: bool[N], nodes whose pods count.
        counts: int64[size], by domain.
    """

    def __init__(
        self,
        constraint: SpreadConstraint,
        codes: npt.NDArray[np.intp],
        counted: Mask,
        size: int,
        pod: Pod,
        snapshot: Snapshot,
    ) -> None:
        self.constraint, self.codes, self.counted = constraint, codes, counted
        rows = rows_of(constraint, pod.key.namespace, snapshot.placed)
        self.counts: npt.NDArray[np.int64] = np.bincount(codes[rows[counted[rows]]], minlength=size)


T = TypeVar("T", bound=Table)


class Counting(Generic[T]):
    """Updates the counts of its tables as pods come and go."""

    def __init__(self, namespace: str, tables: Sequence[T]) -> None:
        self._namespace = namespace
        self._tables = tables

    def placed(self, pod: Pod, row: int) -> bool:
        """Count a pod that came."""
        return self._count(pod, row, 1)

    def removed(self, pod: Pod, row: int) -> bool:
        """Stop counting a pod that left."""
        return self._count(pod, row, -1)

    def ignores(self, pod: Pod) -> bool:
        """Whether no constraint counts it."""
        return not any(counts(each.constraint, self._namespace, pod) for each in self._tables)

    def fork(self) -> Self:
        """A copy that counts independently."""
        tables = [copy(table) for table in self._tables]
        for table in tables:
            table.counts = table.counts.copy()
        made: Self = copy(self)
        made._tables = tables
        return made

    def _count(self, pod: Pod, row: int, sign: int) -> bool:
        changed = False
        for table in self._tables:
            if table.counted[row] and counts(table.constraint, self._namespace, pod):
                table.counts[table.codes[row]] += sign
                changed = True
        return changed
