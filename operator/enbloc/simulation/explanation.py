# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explanations: why a group waits, what comes before it, and which changes would start it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.quantity import render
from enbloc.model.reasons import CAUSES, WaitCause
from enbloc.model.text import several
from enbloc.simulation.changes import GroupToStart, Whose
from enbloc.simulation.cluster import GivenUpError, SimulatedCluster
from enbloc.simulation.remedies import Remedy, Try, bounded, remedies
from enbloc.simulation.waiting import Waiting

#: The most changes that are tried for one explanation.
MOST_TRIES: Final = 120
#: What is said of an explanation that is not complete.
INCOMPLETE: Final = "Not every change was tried, so one that is not listed may help."
_MOST_NAMED: Final = 3
#: The number of nodes with the first reason. A message without one comes from a plugin that refuses
#: the pod on every node, for example because its claim is missing.
_COUNTED: Final = re.compile(r"nodes are available: (\d*)")
#: The resources that are named first in what a group takes.
_FIRST: Final = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a group waits.

    Attributes:
        waiting: the group, and what the scheduler reports about it.
        cause: why it waits: only for its turn; it has its minimum, and the waiting members are
            surplus; it lacks members; others hold the capacity; it would not fit even in the empty
            cluster; or another reason, which its message names.
        ahead: the groups and pods that come before it and start now, in order.
        remedies: of each kind of change, the least with which it would start.
        later: if it would not fit in the empty cluster: of each kind of change, the least with
            which it would; changes that are enough now are in `remedies`.
        complete: whether all changes were tried; not if there are too many, or the time ran out.
    """

    waiting: Waiting
    cause: WaitCause
    ahead: Sequence[Waiting] = ()
    remedies: Sequence[Remedy] = ()
    later: Sequence[Remedy] = ()
    complete: bool = True

    @property
    def nothing_helps(self) -> bool:
        """Whether a change could help with its cause, but none that was tried is enough."""
        found = self.remedies or self.later
        return not found and self.cause in (
            WaitCause.SURPLUS,
            WaitCause.CAPACITY,
            WaitCause.CLUSTER,
        )

    @property
    def sentence(self) -> str:
        """The answer in one or two sentences."""
        name, message = self.waiting.name, _told(self.waiting.message)
        match self.cause:
            case WaitCause.NOTHING:
                left = len(self.waiting.pending) - len(self.waiting.placed)
                verb = "does" if left == 1 else "do"
                rest = f" {left} of its members {verb} not fit yet: {message}." if left else ""
                return (
                    f"{name} starts as soon as the scheduler takes it{_after(self.waiting)}.{rest}"
                )
            case WaitCause.SURPLUS:
                left = len(self.waiting.pending)
                beyond = "1 member" if left == 1 else f"{left} members"
                verb = "does" if left == 1 else "do"
                return (
                    f"{name} has its minimum; {beyond} beyond it {verb} not fit: {message}."
                    f"{self._with()}"
                )
            case WaitCause.MEMBERS:
                return f"{name} waits for its members: {message}."
            case WaitCause.CAPACITY:
                return f"{name} waits for capacity that others hold: {message}.{self._with()}"
            case WaitCause.CLUSTER:
                return f"{name} would not fit if the cluster were empty: {message}.{self._with()}"
            case WaitCause.OTHER:
                return f"{name} waits: {message}.{self._with()}"

    def _with(self) -> str:
        """A sentence with the first remedy, of those who can remove the cause."""
        first = (Whose.OTHERS, Whose.YOURS) if self.cause is WaitCause.CAPACITY else (Whose.YOURS,)
        order = [*first, *Whose]
        best = min(self.later or self.remedies, key=lambda r: order.index(r.whose), default=None)
        if best is None:
            return ""
        if best in self.later:
            return f" It would fit, once others have ended, with {best.text}."
        return f" It would start with {best.text}."


def explain(
    settled: SimulatedCluster,
    rows: Sequence[Waiting],
    waiting: Waiting,
    attempt: Try,
    attempt_alone: Try,
) -> Explanation:
    """Explain why a group waits, and which changes would start it.

    Args:
        settled: the settled cluster.
        rows: all waiting groups and pods, in the order in which they are decided.
        waiting: the one of them to explain.
        attempt: tries a change; raises GivenUpError if there is no time left.
        attempt_alone: the same in a cluster in which all others have ended.
    """
    if waiting.starts:
        return Explanation(waiting, WaitCause.NOTHING)
    before = rows[: rows.index(waiting)] if waiting.decided else ()
    ahead = [each for each in before if each.starts]
    asked = GroupToStart(waiting, settled, before)
    found, complete = remedies(asked, bounded(attempt, MOST_TRIES))
    cause = _cause(waiting, attempt_alone)
    later: Sequence[Remedy] = ()
    if cause is WaitCause.CLUSTER:
        later, all_later = remedies(asked, bounded(attempt_alone, MOST_TRIES))
        now = {each.text for each in found}
        later = [each for each in later if each.text not in now]
        complete &= all_later
    return Explanation(waiting, cause, ahead, found, later, complete)


def _cause(waiting: Waiting, attempt_alone: Try) -> WaitCause:
    if waiting.surplus:
        return WaitCause.SURPLUS
    first, *others = CAUSES[waiting.reason]
    if not others or (first is WaitCause.MEMBERS and not waiting.gathered):
        return first
    counted = _COUNTED.search(waiting.message)
    if counted is not None and not counted[1]:
        return WaitCause.OTHER
    try:
        return WaitCause.CAPACITY if attempt_alone(()).starts else WaitCause.CLUSTER
    except GivenUpError:
        return WaitCause.OTHER


def _told(message: str) -> str:
    return message.strip().removesuffix(".") or "waiting for its turn"


def _after(waiting: Waiting) -> str:
    """The clause that names the pods evicted for it."""
    named = several([str(pod) for pod in waiting.victims], _MOST_NAMED)
    return f", for which it evicts {named}" if named else ""


def taken(rows: Sequence[Waiting]) -> Mapping[str, int]:
    """What the placed members request together, by resource."""
    total = Counter[str]()
    for row in rows:
        for pod in row.pending:
            if pod.key in row.placed:
                total.update(dict(pod.spec.requests))
    return total


def amounts(total: Mapping[str, int]) -> str:
    """Amounts as text: CPUs, memory, then other resources, without pods."""
    names = [*_FIRST, *sorted(total.keys() - {*_FIRST, "pods"})]
    shown = (
        f"{render(name, total[name])} {_NAMED.get(name, name)}" for name in names if total.get(name)
    )
    return ", ".join(shown)


_NAMED: Final = {"cpu": "CPUs", "memory": "of memory"}
