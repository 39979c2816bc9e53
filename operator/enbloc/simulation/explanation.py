# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explanation: why a group waits, in one sentence; who comes before it; with what it would start."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from enbloc.engine.events import Event
from enbloc.model.names import Reason
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.simulation.changes import Asked, Whose
from enbloc.simulation.cluster import SimulatedCluster
from enbloc.simulation.remedies import Remedy, Try, bounded, remedies, until_enough
from enbloc.simulation.waiting import Waiting, group_of

#: So many changes are tried for one explanation.
MOST_TRIES: Final = 120
_MOST_NAMED: Final = 3
#: Of what a group takes, these are told first.
_FIRST: Final = ("cpu", "memory")


class Kind(StrEnum):
    """What keeps a group waiting."""

    NOTHING = "nothing"
    MEMBERS = "members"
    CAPACITY = "capacity"
    CLUSTER = "cluster"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a group waits.

    Attributes:
        waiting: the group, and what the scheduler says of it.
        kind: what keeps it waiting: nothing, but its turn; members; capacity that others hold; the
            cluster, whose nodes would not do if they were empty; or what its message says.
        ahead: who comes before it and starts now, in order, with what those take.
        remedies: of each kind of change the least with which it would start.
        complete: all changes were tried.
    """

    waiting: Waiting
    kind: Kind
    ahead: Sequence[Waiting] = ()
    remedies: Sequence[Remedy] = ()
    complete: bool = True

    @property
    def sentence(self) -> str:
        """All in one sentence, or two."""
        name, message = self.waiting.name, _told(self.waiting.message)
        match self.kind:
            case Kind.NOTHING:
                return f"{name} starts as soon as the scheduler takes it{_after(self.waiting)}."
            case Kind.MEMBERS:
                return f"{name} waits for its members: {message}."
            case Kind.CAPACITY:
                return f"{name} waits for capacity that others hold: {message}.{self._with()}"
            case Kind.CLUSTER:
                return f"{name} fits on no nodes of this cluster, even if empty: {message}.{self._with()}"
            case Kind.OTHER:
                return f"{name} waits: {message}.{self._with()}"

    def _with(self) -> str:
        """The first remedy of those in whose hand the cause is."""
        first = (Whose.OTHERS, Whose.YOURS) if self.kind is Kind.CAPACITY else (Whose.YOURS,)
        order = [*first, *Whose]
        best = min(self.remedies, key=lambda each: order.index(each.whose), default=None)
        return f" It would start with {best.text}." if best is not None else ""


def explain(
    settled: SimulatedCluster, rows: Sequence[Waiting], waiting: Waiting, attempt: Try
) -> Explanation:
    """Why a group waits, and with what it would start.

    Args:
        settled: the cluster, after the scheduler did what it could.
        rows: all who wait, in the order in which they are decided.
        waiting: the one of them that is meant.
        attempt: tries a change.
    """
    if waiting.starts:
        return Explanation(waiting, Kind.NOTHING)
    before = rows[: rows.index(waiting)] if waiting.decided else ()
    ahead = [each for each in before if each.starts]
    limited = bounded(attempt, MOST_TRIES)
    found, complete = until_enough(remedies(Asked(waiting, settled), limited))
    kind = _kind(settled, waiting, attempt)
    return Explanation(waiting, kind, ahead, found, complete)


def _kind(settled: SimulatedCluster, waiting: Waiting, attempt: Try) -> Kind:
    if waiting.reason is Reason.WAITING_FOR_MEMBERS:
        return Kind.MEMBERS
    if waiting.reason not in (Reason.UNSCHEDULABLE, Reason.INFEASIBLE, Reason.BELOW_MINIMUM):
        return Kind.OTHER
    return Kind.CAPACITY if attempt(_others_gone(settled, waiting)).starts else Kind.CLUSTER


def _others_gone(settled: SimulatedCluster, waiting: Waiting) -> Sequence[Event]:
    """Everybody else has ended, but pods that belong to their node."""
    others = (
        pod
        for pod in settled.pods.values()
        if group_of(pod) != waiting.key and not pod.mirror and not _of_its_node(pod)
    )
    return [event for pod in others for event in settled.leaves(pod)]


def _of_its_node(pod: Pod) -> bool:
    return pod.owner is not None and pod.owner.kind == "DaemonSet"


def _told(message: str) -> str:
    return message.strip().removesuffix(".") or "waiting for its turn"


def _after(waiting: Waiting) -> str:
    """Who gives way to it."""
    if not waiting.victims:
        return ""
    named = ", ".join(map(str, waiting.victims[:_MOST_NAMED]))
    more = len(waiting.victims) - _MOST_NAMED
    return f", for which it evicts {named}" + (f" and {more} more" if more > 0 else "")


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
    shown = (f"{render(name, total[name])} {_NAMED.get(name, name)}" for name in names if total.get(name))
    return ", ".join(shown)


_NAMED: Final = {"cpu": "CPUs", "memory": "of memory"}
