# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings: the arguments of the plugins, as the reference and our profile both take them."""

from dataclasses import dataclass

from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.selectors import SpreadConstraint


@dataclass(frozen=True)
class Settings:
    """Field by field what a KubeSchedulerConfiguration may say; the defaults are its defaults."""

    added_required: tuple[NodeSelectorTerm, ...] | None = None
    added_preferred: tuple[tuple[int, NodeSelectorTerm], ...] = ()
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    strategy: str = "LeastAllocated"
    fit_resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
    shape: tuple[tuple[int, int], ...] = ()
    balanced_resources: tuple[str, ...] = ("cpu", "memory")
    hard_pod_affinity_weight: int = 1
    ignore_preferred: bool = False
    spread_defaults: str = "System"
    spread_constraints: tuple[SpreadConstraint, ...] = ()
