# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals: which filter was the first to refuse each node, and what follows from that."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from enbloc.engine.trial.parts import FilterPart
from enbloc.engine.trial.plugin_calls import asked, checked, checked_mask
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.reads import Reads
from enbloc.framework.status import Code, Diagnosis, Status
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod


class Outside(NamedTuple):
    """Nodes that PreFilter leaves out.

    Attributes:
        mask: bool[N]: these.
        plugins: in whose sets of names they are missing, in one or all.
    """

    mask: Mask
    plugins: tuple[str, ...]


def diagnosis(
    pod: Pod, filters: Sequence[FilterPart], outside: Outside | None, nodes: Nodes, among: Mask
) -> Diagnosis:
    """Return why no row is feasible: each counts under the first plugin that refused it.

    Args:
        pod: the refused pod.
        filters: in their order.
        outside: nodes left out before any of them was asked.
        nodes: the table that their masks are up to date with.
        among: bool[N], count these only.
    """
    reasons: Counter[str] = Counter()
    plugins: set[str] = set()
    if outside is not None and (out := among & outside.mask).any():
        plugins.update(outside.plugins)
        reasons[f"node(s) didn't satisfy plugin(s) [{' '.join(outside.plugins)}]"] += int(out.sum())
    helped = 0
    for part, refused in _firsts(filters, _inside(among, outside)):
        plugins.add(part.name)
        evaluator = part.evaluator
        helped += int((refused & ~_lasting(part, pod, nodes, refused)).sum())
        if decide.implements(evaluator, decide.Explain):
            why = asked(part.name, "Filter", evaluator.explain, pod, nodes, refused)
            reasons += checked(part.name, "Filter", _counted, why)
        else:
            reasons[evaluator.reason] += int(refused.sum())
    return Diagnosis(
        nodes=len(nodes),
        reasons=tuple(sorted(reasons.items())),
        plugins=frozenset(plugins),
        resolvable=helped,
    )


def _counted(why: Any) -> Counter[str]:
    """Return how many nodes a filter counted for each reason; TypeError if that is no count."""
    counts: Counter[str] = Counter()
    for reason, count in dict[Any, Any](Counter(why)).items():
        if not isinstance(reason, str) or not isinstance(count, int | np.integer):
            raise TypeError(f"explain counts by text, in integers, not {{{reason!r}: {count!r}}}")
        counts[reason] = int(count)
    return counts


def by_status(plugin: str, status: Status, nodes: int) -> Diagnosis:
    """Return why PreFilter of a plugin refuses a class, on so many nodes.

    Raises:
        PluginError: its answer is no refusal.
    """
    if not status.rejected:
        raise PluginError(plugin, "PreFilter", status.message or f"answered {status.code.name}")
    name = frozenset({plugin})
    pending = name if status.code is Code.PENDING else frozenset[str]()
    return Diagnosis(nodes=nodes, plugins=name, pending=pending, message=status.message)


def by_sets(plugins: Sequence[str], nodes: int) -> Diagnosis:
    """Return why the sets of nodes that plugins leave to a class have none in common."""
    message = (
        f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
        if len(plugins) > 1
        else f"node(s) didn't satisfy plugin {plugins[0]}"
    )
    return Diagnosis(nodes=nodes, plugins=frozenset(plugins), message=message)


def resolvable(
    pod: Pod, filters: Sequence[FilterPart], outside: Outside | None, nodes: Nodes
) -> Mask:
    """Return bool[N]: refused rows whose first refusal could end if pods left."""
    found = np.zeros(len(nodes), np.bool_)
    for part, refused in _firsts(filters, _inside(~found, outside)):
        found |= refused & ~_lasting(part, pod, nodes, refused)
    return found


def _lasting(part: FilterPart, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
    """Return bool[N]: those of the refused rows that stay refused whichever pods leave."""
    evaluator = part.evaluator
    if not decide.implements(evaluator, decide.Unresolvable):
        return refused if evaluator.reads is Reads.SPEC else np.zeros_like(refused)
    mask = asked(part.name, "Filter", evaluator.unresolvable, pod, nodes, refused)
    return checked_mask(part.name, mask, len(nodes))


def _inside(among: Mask, outside: Outside | None) -> Mask:
    return among.copy() if outside is None else among & ~outside.mask


def _firsts(filters: Sequence[FilterPart], left: Mask) -> Iterator[tuple[FilterPart, Mask]]:
    """Yield each filter with the rows that it is the first to refuse, if there are any."""
    for part in filters:
        refused = left & ~part.mask
        if refused.any():
            left &= ~refused
            yield part, refused
