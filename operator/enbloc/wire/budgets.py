# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets to model facts; one that cannot be read in full allows nothing."""

import msgspec

from enbloc.model.budgets import Budget
from enbloc.wire.codec_selectors import bounded_selector
from enbloc.wire.objects import Identity, Int32, LabelSelectorObject
from enbloc.wire.problems import Problems


class BudgetSpec(msgspec.Struct, gc=False, rename="camel"):
    """`spec`."""

    selector: LabelSelectorObject | None = None


class BudgetStatus(msgspec.Struct, gc=False, rename="camel"):
    """`status`."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, str] | None = None


class BudgetObject(msgspec.Struct, gc=False):
    """A PodDisruptionBudget as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None


def budget(obj: BudgetObject) -> Budget:
    """What preemption reads of a PodDisruptionBudget."""
    metadata, problems = obj.metadata, Problems()
    status = obj.status or BudgetStatus()
    given = obj.spec.selector if obj.spec is not None else None
    selector = bounded_selector(given, "spec.selector", problems)
    problem = problems.text()
    namespace = metadata.namespace or ""
    return Budget(
        key=f"{namespace}/{metadata.name}",
        namespace=namespace,
        selector=selector,
        allowed=0 if problem else max(0, status.disruptions_allowed),
        disrupted=frozenset(status.disrupted_pods or ()),
        problem=problem,
    )
