# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeQuarantine: gangs avoid nodes for a while after these failed members.

A node, for one gang or for all, with the default arguments::

    free ──blamed──► barred, 60 s at first ──time──► released ──10 min a strike, no blame──► free
                                ▲                       │
                                └─blamed: twice as long─┘

A node that two gangs blame within ten minutes is barred for all (semantics §3.6). Blame while a bar
stands comes from the same placement and adds nothing, so every bar ends within half an hour: a gang
all of whose nodes are barred waits at most that long. An event on the node reports the begin and
the end of a bar for all. A bar for a single gang shows in the gang's own message only, because the
node's owner already has the kubelet's event on the pod. Pods without a group neither observe bars
nor cause them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent
from enbloc.framework.observations import (
    Expired,
    GroupGone,
    NodeChanged,
    NodeNote,
    Observation,
    PodChanged,
)
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.nodes import Nodes
from enbloc.plugins.node_avoidance.refusals import lost, of_the_node, refusal


@dataclass(frozen=True)
class NodeQuarantine:
    """Refuses nodes that recently failed members of gangs.

    Attributes:
        first_seconds: how long a node is barred at first; each further bar lasts twice as long.
        longest_seconds: the longest bar.
        witnesses: how many gangs must blame a node to bar it for all gangs,
        witness_seconds: within this time.
        forgive_seconds: each such time without blame after a bar halves the next bar.
    """

    name: ClassVar[str] = "NodeQuarantine"
    #: Only time ends a bar.
    events: ClassVar[tuple[ClusterEvent, ...]] = ()
    first_seconds: int = 60
    longest_seconds: int = 1800
    witnesses: int = 2
    witness_seconds: int = 600
    forgive_seconds: int = 600

    def new_memory(self) -> "Quarantine":
        """A memory in which no node is barred."""
        return Quarantine(self)


class _Blame(NamedTuple):
    at: float
    why: str


@dataclass(slots=True)
class _Bar:
    """The record of one node for one gang, or for all gangs.

    Attributes:
        until: when it ends, or ended.
        strikes: how often the node was barred without being forgiven, including this bar.
        ended: `expire` has reported its end.
    """

    until: float
    strikes: int
    why: str
    ended: bool = field(default=False)


class Quarantine:
    """The memory of which gangs blamed which nodes, and of the bars.

    Bounds: a bar's record is obsolete when all its strikes are forgiven or its gang is gone, and
    blames of a node are when they are too old to count together with another. Obsolete records are
    dropped whenever the number of records has doubled.
    """

    def __init__(self, arguments: NodeQuarantine) -> None:
        self._arguments = arguments
        self._most_strikes = _most_strikes(arguments)
        self._bars: dict[GroupKey | None, dict[str, _Bar]] = {}
        self._witnesses: dict[str, dict[GroupKey, _Blame]] = {}
        self._next: float | None = None
        self._sweep_at = 64

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def observe(self, observation: Observation, now: float) -> list[NodeNote]:
        """Blame the node of a member that its kubelet refused, or a lost node for all its gangs."""
        match observation:
            case PodChanged(pod=pod):
                why = refusal(observation)
                return self.blame(pod.group, pod.node, why, now) if why and pod.group else []
            case NodeChanged(name=name, gangs=gangs):
                why = lost(observation)
                blames = gangs if why else ()
                return [note for gang in blames for note in self.blame(gang, name, why, now)]
            case GroupGone(group):
                self._forget(group)
                return []

    def blame(self, gang: GroupKey, node: str, why: str, now: float) -> list[NodeNote]:
        """Record that a node failed a member of a gang.

        Args:
            gang: the member's gang.
            node: the node's name.
            why: the reason from `refusal` or `lost`.
            now: server time, seconds.

        Returns:
            A note if the node is barred for all from now on.
        """
        self._sweep(now)
        self._bar(node, gang, why, now)
        if not of_the_node(why):
            return []
        needed, within = self._arguments.witnesses, self._arguments.witness_seconds
        witnesses = self._witnesses.setdefault(node, {})
        witnesses.pop(gang, None)
        witnesses[gang] = _Blame(now, why)
        while len(witnesses) > needed:
            del witnesses[next(iter(witnesses))]
        if len(witnesses) < needed or any(now - each.at > within for each in witnesses.values()):
            return []
        if not self._bar(node, None, why, now):
            return []
        said = " and ".join(f"{key} ({each.why})" for key, each in witnesses.items())
        seconds = self._bars[None][node].until - now
        note = (
            f"Quarantined for gangs for {seconds:.0f}s: "
            f"within {within}s it rejected or lost members of {said}"
        )
        return [NodeNote(node, EventReason.NODE_QUARANTINED, note, warning=True)]

    def _bar(self, node: str, gang: GroupKey | None, why: str, now: float) -> bool:
        """Bar a node; returns whether it was not barred yet."""
        bars = self._bars.setdefault(gang, {})
        bar = bars.get(node)
        if bar is not None and now < bar.until:
            return False
        fresh = bar is None or bar.ended
        strikes = min(self._most_strikes, 1 + (self._strikes(bar, now) if bar else 0))
        first, longest = self._arguments.first_seconds, self._arguments.longest_seconds
        until = now + min(first * 2 ** (strikes - 1), longest)
        bars[node] = _Bar(until, strikes, why)
        self._next = until if self._next is None else min(self._next, until)
        return fresh

    def _strikes(self, bar: _Bar, now: float) -> int:
        """The strikes that are not forgiven yet."""
        forgiven = max(0.0, now - bar.until) // self._arguments.forgive_seconds
        return max(0, bar.strikes - int(forgiven))

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def barred(self, gang: GroupKey, now: float) -> Mapping[str, str]:
        """The nodes that are barred for this gang now, each with the reason."""
        return {
            node: bar.why
            for key in (None, gang)
            for node, bar in self._bars.get(key, {}).items()
            if now < bar.until
        }

    def refused(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, str]:
        """The barred nodes, each with the text for the gang's message."""
        del nodes
        barred = self.barred(facts.key.podgroup, now) if self._next is not None else {}
        return {node: f"node(s) in quarantine ({why})" for node, why in barred.items()}

    def deadline(self) -> float | None:
        """When the next bar ends; None = none stands."""
        return self._next

    def expire(self, now: float) -> Expired:
        """End the bars whose time is over."""
        gangs: dict[GroupKey | None, None] = {}
        notes: list[NodeNote] = []
        for gang, bars in self._bars.items():
            for node, bar in bars.items():
                if bar.ended or now < bar.until:
                    continue
                bar.ended = True
                gangs[gang] = None
                if gang is None:
                    note = "Quarantine ended: gangs may be placed here again"
                    notes.append(NodeNote(node, EventReason.NODE_RELEASED, note))
        self._find_next()
        return Expired(tuple(gangs), tuple(notes))

    # ── what is forgotten ────────────────────────────────────────────────────────────────────

    def _forget(self, gang: GroupKey) -> None:
        """Drop the bars of a gang that is gone; its blame still counts beside another gang's."""
        if self._bars.pop(gang, None) is not None:
            self._find_next()

    def _find_next(self) -> None:
        standing = (bar.until for bars in self._bars.values() for bar in bars.values()
                    if not bar.ended)  # fmt: skip
        self._next = min(standing, default=None)

    def _sweep(self, now: float) -> None:
        """Drop obsolete records each time that the number of records has doubled."""
        if self.records < self._sweep_at:
            return
        for gang, bars in list(self._bars.items()):
            kept = {n: bar for n, bar in bars.items() if not bar.ended or self._strikes(bar, now)}
            if kept:
                self._bars[gang] = kept
            else:
                del self._bars[gang]
        within = self._arguments.witness_seconds
        for node, witnesses in list(self._witnesses.items()):
            if all(now - blame.at > within for blame in witnesses.values()):
                del self._witnesses[node]
        self._sweep_at = 64 + 2 * self.records

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self._witnesses) + sum(map(len, self._bars.values()))


def _most_strikes(arguments: NodeQuarantine) -> int:
    """The most strikes that count: 60 s doubled five times is more than half an hour."""
    doublings = -(-arguments.longest_seconds // arguments.first_seconds) - 1
    return 1 + doublings.bit_length()
