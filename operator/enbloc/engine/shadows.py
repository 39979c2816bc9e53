# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shadows: room that counts for some decisions and not for others.

* A pending pod of another scheduler that will sit on a certain node, because it is nominated there
  or pinned to it as a DaemonSet's are (gangs.md §6.1). Groups of higher priority need not see
  a nominated one.
* The room of a lost member of a gang that is bound in part, held for its replacement until the
  repair's deadline (gangs.md §4.1). The gang itself and groups ordered earlier need not see it.

A shadow is a seat of ClusterState; a decision for which it does not count takes it off again.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator

#: A nomination that came to nothing is forgotten after so many seconds (gangs.md §6.1).
NOMINATION_SECONDS: Final = 300.0

#: A group's place in the order: the smaller is served first (gangs.md §2.7).
Order = tuple[int, float, GroupKey]

_HELD: Final = "held/"


def order_of(facts: GroupFacts) -> Order:
    """The place of a group among those held in part, or not, alike."""
    return -facts.priority, facts.queue_time, facts.key


@dataclass(frozen=True, slots=True)
class Shadow:
    """One seat that does not count for everyone.

    Attributes:
        pod: what is counted on the node.
        until: when it is over, engine clock; infinity = never by time, NaN = not dated yet.
        group: whose lost member's room it is; None for a pod of another scheduler.
        order: that group's place in the order.
    """

    pod: Pod
    node: str
    until: float
    group: GroupKey | None = None
    order: Order | None = None

    def counts_for(self, facts: GroupFacts) -> bool:
        """Whether the decision about this group must leave the room alone."""
        if self.order is None:
            return self.until == math.inf or self.pod.priority >= facts.priority
        return self.group != facts.key and self.order < order_of(facts)


class Shadows:
    """All shadows, by the UID of what is counted."""

    def __init__(self) -> None:
        self._all: dict[PodUID, Shadow] = {}
        self._lapsed: dict[PodUID, str] = {}
        self._held = 0

    def __iter__(self) -> Iterator[Shadow]:
        return iter(self._all.values())

    @property
    def any_held(self) -> bool:
        """Some gang's lost room is held."""
        return self._held > 0

    def put(self, shadow: Shadow) -> None:
        """Add or replace a shadow."""
        self.pop(shadow.pod.uid)
        self._all[shadow.pod.uid] = shadow
        self._held += shadow.group is not None

    def pop(self, uid: PodUID) -> Shadow | None:
        """Take a shadow out; its seat is the caller's affair."""
        shadow = self._all.pop(uid, None)
        if shadow is not None:
            self._held -= shadow.group is not None
        return shadow

    def expected(self, pod: Pod, node: str, before: Shadow | None) -> Shadow | None:
        """A pod of another scheduler is expected on a node; None if that has lasted too long."""
        pinned = pinned_to(pod.spec) == node
        if not pinned and self._lapsed.get(pod.uid) == node:
            return None
        until = math.inf if pinned else math.nan
        if before is not None and before.node == node and not pinned:
            until = before.until
        shadow = Shadow(pod, node, until)
        self.put(shadow)
        return shadow

    def lapse(self, shadow: Shadow) -> None:
        """A shadow is over; the same nomination casts none again."""
        self.pop(shadow.pod.uid)
        if shadow.group is None:
            self._lapsed[shadow.pod.uid] = shadow.node

    def forget(self, uid: PodUID) -> None:
        """A pod is gone."""
        self.pop(uid)
        self._lapsed.pop(uid, None)

    def of(self, group: GroupKey) -> list[Shadow]:
        """What is held for the lost members of a group."""
        if not self._held:
            return []
        return [shadow for shadow in self._all.values() if shadow.group == group]

    def extend(self, group: GroupKey, until: float) -> None:
        """Hold a group's room until then."""
        for shadow in self.of(group):
            self._all[shadow.pod.uid] = replace(shadow, until=until)

    def held_on(self, node: str) -> Sequence[Shadow]:
        """What is held on a node, the latest in order first."""
        held = [each for each in self._all.values() if each.node == node and each.order is not None]
        return sorted(held, key=lambda each: (each.order, each.pod.uid), reverse=True)

    def not_for(self, facts: GroupFacts) -> list[Shadow]:
        """Those that a decision about this group need not respect."""
        return [shadow for shadow in self._all.values() if not shadow.counts_for(facts)]

    def due(self, now: float) -> list[Shadow]:
        """Those that are over now; nominations get their date when they are first met here."""
        for shadow in list(self._all.values()):
            if math.isnan(shadow.until):
                self._all[shadow.pod.uid] = replace(shadow, until=now + NOMINATION_SECONDS)
        return [shadow for shadow in self._all.values() if shadow.until <= now]

    def deadline(self) -> float | None:
        """When the next one is over; 0 while one has no date yet."""
        times = (0.0 if math.isnan(s.until) else s.until for s in self._all.values())
        return min((time for time in times if time < math.inf), default=None)


def expected_on(pod: Pod) -> str:
    """The node on which a pending pod will sit: pinned by its name, or nominated; "" = unknown."""
    if pod.node or not pod.live or pod.gates:
        return ""
    return pinned_to(pod.spec) or pod.nominated


def pinned_to(spec: PodSpec) -> str:
    """The only node that required node affinity by `metadata.name` leaves, as DaemonSets do."""
    names: set[str] = set()
    for term in spec.node_affinity or ():
        exact = [f for f in term.fields if f.key == "metadata.name" and f.operator is Operator.IN]
        if not exact:
            return ""
        names.update(exact[0].values)
    return names.pop() if len(names) == 1 else ""


def stand_in(lost: Pod) -> Pod:
    """What holds the room of a lost member: it asks for the same, and is seen by no selector."""
    spec = lost.spec
    room = PodSpec(
        requests=spec.requests,
        nonzero_cpu=spec.nonzero_cpu,
        nonzero_memory=spec.nonzero_memory,
        host_ports=spec.host_ports,
    )
    key = PodKey("", _HELD + lost.key.name)
    uid = PodUID(_HELD + lost.uid)
    return Pod(key=key, uid=uid, spec=room, node=lost.node, role=lost.role)
