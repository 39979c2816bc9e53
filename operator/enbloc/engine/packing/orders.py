# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Orders: other orders in which to try members after the first one failed."""

from collections.abc import Iterator

from enbloc.engine.trial import ClassKey, Trial
from enbloc.framework.facts import GroupFacts
from enbloc.model.amounts import sums
from enbloc.model.pods import Pod


def other_orders(facts: GroupFacts, trial: Trial) -> Iterator[list[Pod]]:
    """Yield the orders that matter: the largest first, then those with the fewest feasible nodes.

    Members of a class are ordered by age, and so are equals.
    """
    nodes = trial.nodes
    names = sorted({name for pod in facts.pending for name, _ in pod.spec.requests})
    frees = sums(nodes.frees(tuple(names)).clip(min=0))
    free = {name: max(1, amount) for name, amount in zip(names, frees, strict=True)}
    size: dict[ClassKey, float] = {}
    choice: dict[ClassKey, int] = {}
    keys = {pod.uid: trial.key(pod) for pod in facts.pending}
    for pod in facts.pending:
        key = keys[pod.uid]
        if key not in size:
            size[key] = max(amount / free[name] for name, amount in pod.spec.requests)
            choice[key] = int(trial.filtered(pod).mask.sum())
    yield sorted(facts.pending, key=lambda pod: -size[keys[pod.uid]])
    yield sorted(facts.pending, key=lambda pod: (choice[keys[pod.uid]], -size[keys[pod.uid]]))
