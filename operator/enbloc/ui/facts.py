# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Facts: the API server's objects so far, as a scheduler that starts now would list them."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from enbloc.engine import Settings
from enbloc.engine.events import (
    BudgetGone,
    BudgetSeen,
    Event,
    FactGone,
    FactSeen,
    GroupGone,
    GroupSeen,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    PriorityClassGone,
    PriorityClassSeen,
    Synced,
    TopologyGone,
    TopologySeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.framework.profile import Profile
from enbloc.simulation import PresentState

_Key = tuple[Hashable, ...]

#: Event type → the key of the object that it shows.
_SEEN: Final[Mapping[type, Callable[[Any], _Key]]] = {
    PodSeen: lambda event: ("pod", event.pod.uid),
    NodeSeen: lambda event: ("node", event.node.name),
    GroupSeen: lambda event: ("group", event.group.key),
    PriorityClassSeen: lambda event: ("class", event.name),
    NamespaceSeen: lambda event: ("namespace", event.name),
    WorkloadSeen: lambda event: ("workload", event.key),
    FactSeen: lambda event: ("fact", event.fact.kind, event.fact.key),
    BudgetSeen: lambda event: ("budget", event.budget.key),
    TopologySeen: lambda event: ("topology", event.topology.name),
    Synced: lambda event: ("synced", event.stream),
}
#: Event type → the key of the object that is gone.
_GONE: Final[Mapping[type, Callable[[Any], _Key]]] = {
    PodGone: lambda event: ("pod", event.uid),
    NodeGone: lambda event: ("node", event.name),
    GroupGone: lambda event: ("group", event.key),
    PriorityClassGone: lambda event: ("class", event.name),
    NamespaceGone: lambda event: ("namespace", event.name),
    WorkloadGone: lambda event: ("workload", event.key),
    FactGone: lambda event: ("fact", event.kind, event.key),
    BudgetGone: lambda event: ("budget", event.key),
    TopologyGone: lambda event: ("topology", event.name),
}


class Facts:
    """Keeps the latest event of each existing object.

    Attributes:
        changes: the number of events taken in.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._latest: dict[_Key, Event] = {}

    def take(self, event: Event) -> None:
        """Take in an event."""
        self.changes += 1
        seen, gone = _SEEN.get(type(event)), _GONE.get(type(event))
        if seen is not None:
            self._latest[seen(event)] = event
        elif gone is not None and not self._is_another(event):
            self._latest.pop(gone(event), None)

    def _is_another(self, event: Event) -> bool:
        """Whether an event is about the end of another group than the current one of that name.

        The end of the first of two groups with one name may arrive after the second group.
        """
        if not isinstance(event, GroupGone):
            return False
        known = self._latest.get(("group", event.key))
        return isinstance(known, GroupSeen) and known.group.uid != event.uid

    def present(
        self, profiles: Mapping[str, Profile], settings: Settings, now: float
    ) -> PresentState:
        """The current cluster.

        Args:
            profiles: by the schedulerName in pods.
            settings: the scheduler's settings.
            now: server time, seconds since the epoch.
        """
        return PresentState(profiles, settings, tuple(self._latest.values()), now)
