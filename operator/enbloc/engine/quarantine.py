# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quarantine: which nodes a gang keeps off for a while, because they let members down.

A node, for one group or for all::

    free ──blamed──► barred, 60 s at first ──time──► released ──10 min a strike, no blame──► free
                                ▲                       │
                                └─blamed: twice as long─┘

A node that two groups blame within ten minutes is barred for all (gangs.md §3.6). Blame while a
bar stands is of the same placement and adds nothing, so a bar that has begun ends in half an hour
at the latest, whatever happens: a gang all of whose nodes are barred waits that long at most.
A bar for all is told by an event on the node, each way; one for a single group by the group's own
message, because the node's owner already has the kubelet's event on the pod. Pods without a group
know no quarantine, and blame nobody into it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine.consulting import Verdict
from enbloc.engine.effects import Emit, EventType
from enbloc.engine.parts import Opinion
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import SCHEDULER_REPORTER, EventReason
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: By this name it appears among the plugins that refused; who was is woken when a bar ends.
QUARANTINE: Final = "Quarantine"

#: Reasons of ours, beside the kubelet's.
NODE_GONE: Final = "NodeGone"
NODE_NOT_READY: Final = "NodeNotReady"

FIRST_BAR: Final = 60.0
LONGEST_BAR: Final = 1800.0
#: Two groups whose blame lies no further apart blame a node for all.
TOGETHER: Final = 600.0
#: So much time without blame, after a bar has ended, takes one strike off.
FORGIVEN: Final = 600.0
#: One more would not lengthen a bar: 60 s doubled five times is more than half an hour.
_MOST_STRIKES: Final = 6

#: Reasons that speak of the node, whatever pod comes. All others (SysctlForbidden, AppArmor,
#: TopologyAffinityError, …) depend on what the pod wants: they bar the node for its group alone,
#: or two gangs that no kubelet would take could bar the whole cluster for everybody.
#: Source: admissionRejectionReasons of Kubernetes 1.36's kubelet, and the filters it runs again.
_OF_THE_NODE: Final = frozenset({
    "Evicted", "InvalidNodeInfo", "NodeAffinity", "NodeName", "NodePorts", "NodeShutdown",
    "TaintToleration", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType",
    "UnknownReason", "VolumeAttachmentLimitExceeded", NODE_GONE, NODE_NOT_READY,
})  # fmt: skip
_OUT_OF: Final = "OutOf"

_WITNESSES: Final = 2


def blames(old: Pod | None, pod: Pod) -> str:
    """The kubelet's reason, when this change of a bound pod shows that it refused it; "" = no.

    A pod that is first seen refused is old news (a list holds failed pods for days).
    """
    if old is None or old.rejected or not pod.node:
        return ""
    return pod.rejected


def lost(old: Node | None, node: Node | None) -> str:
    """Why the members on a node can count on it no longer, when it changes so; "" = they can."""
    if old is None:
        return ""
    if node is None or node.uid != old.uid:
        return NODE_GONE
    return NODE_NOT_READY if old.ready and not node.ready else ""


def of_the_node(why: str) -> bool:
    """Whether a reason speaks of the node rather than of what the member wants."""
    return why in _OF_THE_NODE or why.startswith(_OUT_OF)


class Lifted(NamedTuple):
    """A bar that ended; `group` None = it was for all."""

    node: str
    group: GroupKey | None


class _Blame(NamedTuple):
    at: float
    why: str


@dataclass(slots=True)
class _Bar:
    """One node's record with one group, or with all."""

    until: float
    strikes: int
    why: str
    lifted: bool = False

    def strikes_at(self, now: float) -> int:
        """What is not forgiven yet."""
        return max(0, self.strikes - int(max(0.0, now - self.until) // FORGIVEN))


class Quarantine:
    """Who blamed which node, and which bars stand.

    Bounds: a bar's record weighs nothing an hour after its end, or when its group is gone, and the
    last blame of two groups per node nothing after ten minutes; such records are dropped whenever
    there are twice as many as before.
    """

    def __init__(self) -> None:
        self._bars: dict[GroupKey | None, dict[str, _Bar]] = {}
        self._witnesses: dict[str, dict[GroupKey, _Blame]] = {}
        self._next: float | None = None
        self._sweep_at = 64

    def blame(self, group: GroupKey, node: str, why: str, now: float) -> list[Emit]:
        """A node let a member of a gang down.

        Args:
            group: whose member.
            node: its name.
            why: what `blames` or `lost` gave.
            now: server time, seconds.

        Returns:
            An event where the node is barred for all from now on.
        """
        self._sweep(now)
        self._bar(node, group, why, now)
        if not of_the_node(why):
            return []
        witnesses = self._witnesses.setdefault(node, {})
        witnesses.pop(group, None)
        witnesses[group] = _Blame(now, why)
        while len(witnesses) > _WITNESSES:
            del witnesses[next(iter(witnesses))]
        if any(now - blame.at > TOGETHER for blame in witnesses.values()):
            return []
        if len(witnesses) < _WITNESSES or not self._bar(node, None, why, now):
            return []
        said = " and ".join(f"{key} ({blame.why})" for key, blame in witnesses.items())
        seconds = self._bars[None][node].until - now
        note = (
            f"No gang is placed here for the next {seconds:.0f}s: "
            f"within ten minutes it let down members of {said}"
        )
        return [_event(node, EventType.WARNING, EventReason.NODE_QUARANTINED, note)]

    def _bar(self, node: str, group: GroupKey | None, why: str, now: float) -> bool:
        """Bar a node; True = it was not barred."""
        bars = self._bars.setdefault(group, {})
        bar = bars.get(node)
        if bar is not None and now < bar.until:
            return False
        fresh = bar is None or bar.lifted
        strikes = min(_MOST_STRIKES, 1 + (bar.strikes_at(now) if bar else 0))
        until = now + min(FIRST_BAR * 2 ** (strikes - 1), LONGEST_BAR)
        bars[node] = _Bar(until, strikes, why)
        self._next = until if self._next is None else min(self._next, until)
        return fresh

    def barred(self, group: GroupKey, now: float) -> Mapping[str, str]:
        """The nodes that this group keeps off now, each with the reason."""
        return {
            node: bar.why
            for key in (None, group)
            for node, bar in self._bars.get(key, {}).items()
            if now < bar.until
        }

    def opinions(self, facts: GroupFacts, nodes: Nodes, now: float) -> list[Opinion]:
        """A filter that leaves out what is barred for this group; nothing where nothing is.

        It is for this very table, and does not change.
        """
        if facts.solo or self._next is None:
            return []
        reasons = {
            row: f"node(s) in quarantine ({why})"
            for name, why in self.barred(facts.key, now).items()
            if (row := nodes.row(name)) is not None
        }
        if not reasons:
            return []
        feasible = np.ones(len(nodes), np.bool_)
        feasible[list(reasons)] = False
        verdict = Verdict(feasible, np.zeros(len(nodes), np.int64), reasons)
        return [Opinion(QUARANTINE, verdict, 1)]

    def deadline(self) -> float | None:
        """When `expire` should be called next; None = no bar stands."""
        return self._next

    def expire(self, now: float) -> tuple[list[Lifted], list[Emit]]:
        """End the bars whose time is over; who was refused by Quarantine may be woken then."""
        if self._next is None or now < self._next:
            return [], []
        ended: list[Lifted] = []
        events: list[Emit] = []
        for group, bars in self._bars.items():
            for node, bar in bars.items():
                if bar.lifted or now < bar.until:
                    continue
                bar.lifted = True
                ended.append(Lifted(node, group))
                if group is None:
                    note = "Gangs may be placed here again"
                    events.append(_event(node, EventType.NORMAL, EventReason.NODE_RELEASED, note))
        self._find_next()
        return ended, events

    def forget_group(self, key: GroupKey) -> None:
        """A group is gone: so are its bars; its blame still counts beside another group's."""
        if self._bars.pop(key, None) is not None:
            self._find_next()

    def _find_next(self) -> None:
        standing = (bar.until for bars in self._bars.values() for bar in bars.values()
                    if not bar.lifted)  # fmt: skip
        self._next = min(standing, default=None)

    def _sweep(self, now: float) -> None:
        """Forget what has no more weight, each time that the records have doubled."""
        if self.records < self._sweep_at:
            return
        for group, bars in list(self._bars.items()):
            kept = {n: bar for n, bar in bars.items() if not bar.lifted or bar.strikes_at(now)}
            if kept:
                self._bars[group] = kept
            else:
                del self._bars[group]
        for node, witnesses in list(self._witnesses.items()):
            if all(now - blame.at > TOGETHER for blame in witnesses.values()):
                del self._witnesses[node]
        self._sweep_at = 64 + 2 * self.records

    @property
    def records(self) -> int:
        """How much it remembers."""
        return len(self._witnesses) + sum(map(len, self._bars.values()))


def _event(node: str, kind: EventType, reason: EventReason, note: str) -> Emit:
    return Emit(
        type=kind,
        reason=reason,
        action="Binding",
        note=note,
        reporter=SCHEDULER_REPORTER,
        uid=node,
        node=node,
    )
