# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explanation: why a group waits, who comes before it, and with what it would start."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.quantity import render
from enbloc.model.reasons import CAUSES, Cause
from enbloc.model.text import several
from enbloc.simulation.changes import Asked, Whose
from enbloc.simulation.cluster import GivenUpError, SimulatedCluster
from enbloc.simulation.remedies import Bounded, Remedy, Try, remedies
from enbloc.simulation.waiting import Waiting

#: So many changes are tried for one explanation.
MOST_TRIES: Final = 120
_MOST_NAMED: Final = 3
#: How many nodes have the first reason. None is counted where a plugin refuses a pod whatever the
#: node, as one whose claim is missing.
_COUNTED: Final = re.compile(r"nodes are available: (\d*)")
#: Of what a group takes, these are told first.
_FIRST: Final = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a group waits.

    Attributes:
        waiting: the group, and what the scheduler says of it.
        cause: what keeps it waiting: nothing, but its turn; it has its minimum, and these members
            are surplus; members; capacity that others hold; the cluster, whose nodes would not do
            if they were empty; or what its message says.
        ahead: who comes before it and starts now, in order, with what those take.
        remedies: of each kind of change the least with which it would start.
        later: where the cluster would not do if it were empty: of each kind the least with which it
            would; those that are enough now are in `remedies`.
        complete: all changes were tried.
    """

    waiting: Waiting
    cause: Cause
    ahead: Sequence[Waiting] = ()
    remedies: Sequence[Remedy] = ()
    later: Sequence[Remedy] = ()
    complete: bool = True

    @property
    def nothing_helps(self) -> bool:
        """It waits for what a change could help with, and none that was tried is enough."""
        found = self.remedies or self.later
        return not found and self.cause in (Cause.SURPLUS, Cause.CAPACITY, Cause.CLUSTER)

    @property
    def sentence(self) -> str:
        """All in one sentence, or two."""
        name, message = self.waiting.name, _told(self.waiting.message)
        match self.cause:
            case Cause.NOTHING:
                left = len(self.waiting.pending) - len(self.waiting.placed)
                verb = "does" if left == 1 else "do"
                rest = f" {left} of its members {verb} not fit yet: {message}." if left else ""
                return (
                    f"{name} starts as soon as the scheduler takes it{_after(self.waiting)}.{rest}"
                )
            case Cause.SURPLUS:
                left = len(self.waiting.pending)
                beyond = "1 member" if left == 1 else f"{left} members"
                verb = "does" if left == 1 else "do"
                return (
                    f"{name} has its minimum; {beyond} beyond it {verb} not fit: {message}."
                    f"{self._with()}"
                )
            case Cause.MEMBERS:
                return f"{name} waits for its members: {message}."
            case Cause.CAPACITY:
                return f"{name} waits for capacity that others hold: {message}.{self._with()}"
            case Cause.CLUSTER:
                return f"{name} would not fit if the cluster were empty: {message}.{self._with()}"
            case Cause.OTHER:
                return f"{name} waits: {message}.{self._with()}"

    def _with(self) -> str:
        """The first remedy of those in whose hand the cause is."""
        first = (Whose.OTHERS, Whose.YOURS) if self.cause is Cause.CAPACITY else (Whose.YOURS,)
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
    """Why a group waits, and with what it would start.

    Args:
        settled: the cluster, after the scheduler did what it could.
        rows: all who wait, in the order in which they are decided.
        waiting: the one of them that is meant.
        attempt: tries a change; raises GivenUpError where there is no time left.
        attempt_alone: the same where all others have ended.
    """
    if waiting.starts:
        return Explanation(waiting, Cause.NOTHING)
    before = rows[: rows.index(waiting)] if waiting.decided else ()
    ahead = [each for each in before if each.starts]
    asked = Asked(waiting, settled, before)
    found, complete = remedies(asked, Bounded(attempt, MOST_TRIES))
    cause = _cause(waiting, attempt_alone)
    later: Sequence[Remedy] = ()
    if cause is Cause.CLUSTER:
        later, all_later = remedies(asked, Bounded(attempt_alone, MOST_TRIES))
        now = {each.text for each in found}
        later = [each for each in later if each.text not in now]
        complete &= all_later
    return Explanation(waiting, cause, ahead, found, later, complete)


def _cause(waiting: Waiting, attempt_alone: Try) -> Cause:
    if waiting.surplus:
        return Cause.SURPLUS
    first, *others = CAUSES[waiting.reason]
    if not others or (first is Cause.MEMBERS and waiting.members < waiting.minimum):
        return first
    counted = _COUNTED.search(waiting.message)
    if counted is not None and not counted[1]:
        return Cause.OTHER
    try:
        return Cause.CAPACITY if attempt_alone(()).starts else Cause.CLUSTER
    except GivenUpError:
        return Cause.OTHER


def _told(message: str) -> str:
    return message.strip().removesuffix(".") or "waiting for its turn"


def _after(waiting: Waiting) -> str:
    """Who gives way to it."""
    named = several([str(pod) for pod in waiting.victims], _MOST_NAMED)
    return f", for which it evicts {named}" if named else ""


def taken(rows: Sequence[Waiting]) -> Mapping[str, int]:
    """What the members that are placed request together, by resource."""
    total = Counter[str]()
    for row in rows:
        for pod in row.pending:
            if pod.key in row.placed:
                total.update(dict(pod.spec.requests))
    return total


def amounts(total: Mapping[str, int]) -> str:
    """CPUs, memory, then what else there is, but pods."""
    names = [*_FIRST, *sorted(total.keys() - {*_FIRST, "pods"})]
    shown = (
        f"{render(name, total[name])} {_NAMED.get(name, name)}" for name in names if total.get(name)
    )
    return ", ".join(shown)


_NAMED: Final = {"cpu": "CPUs", "memory": "of memory"}
