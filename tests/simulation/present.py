# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a command would read of a `Cluster`."""

from collections.abc import Mapping

from enbloc.engine.events import Event, PriorityClassSeen, Stream, Synced
from enbloc.simulation import Outlook, PresentState
from tests.world.cluster import Cluster
from tests.world.server import SHOWN


def present(
    cluster: Cluster, classes: Mapping[str, int] | None = None, *further: Event
) -> PresentState:
    """All that it shows, PriorityClasses of these values, and what else is to be seen."""
    shown = [event for stream in SHOWN for event in cluster.listed(stream)]
    shown += [PriorityClassSeen(name, value) for name, value in (classes or {}).items()]
    lists = [Synced(stream) for stream in Stream]
    events = (*further, *shown, *lists)
    return PresentState(cluster.profiles, cluster.settings, events, cluster.now)


def outlook(cluster: Cluster, classes: Mapping[str, int] | None = None) -> Outlook:
    """What its scheduler would do."""
    return Outlook(present(cluster, classes))


def outlook_with(cluster: Cluster, *further: Event) -> Outlook:
    """The same with more that is to be seen."""
    return Outlook(present(cluster, None, *further))


def run(cluster: Cluster, name: str) -> None:
    """Bind the members of a gang that fit, and have them run."""
    cluster.settle()
    cluster.run_pods(cluster.where(f"{name}-"))
    cluster.settle()
