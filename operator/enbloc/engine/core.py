# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Core: what all stages of a turn share, one object of each kind."""

from collections.abc import Mapping, Sequence

from enbloc.engine.binding import Plans
from enbloc.engine.eviction import Victims
from enbloc.engine.extender_queries import ExtenderQueries
from enbloc.engine.observations import Observations
from enbloc.engine.queue import SchedulingQueue
from enbloc.engine.report import Reporter
from enbloc.engine.settings import Settings
from enbloc.engine.state import ClusterState, Groups, Order, Trials
from enbloc.engine.tally import Tally
from enbloc.engine.topology import opinions_apart
from enbloc.engine.trial import Opinion
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.nodes import Nodes


class Core:
    """What is known of the cluster, and the ledgers of what the engine does to it.

    Args:
        profiles: by the schedulerName that pods set.
        settings: how the engine behaves.

    Attributes:
        state: the tables, where each pod is, and the reservations.
        groups: the members of every group.
        order: which group precedes which.
        queue: which group is tried next.
        trials: the cluster as a group may see it.
        plans: what is being bound.
        victims: which pods are being evicted.
        extender_queries: what HTTP extenders were asked.
        observations: what plugins learned about nodes and kubelets.
        reporter: writes statuses, conditions and events, each once.
        tally: the counters for the metrics.
    """

    def __init__(self, profiles: Mapping[str, Profile], settings: Settings) -> None:
        self.profiles = dict(profiles)
        self.settings = settings
        self.state = ClusterState(self.profiles, settings.log, settings.other_schedulers)
        self.groups = Groups(
            self.profiles, self.state.reservations.plans, raises=settings.priority_class_raises
        )
        self.order = Order(self.groups.profile)
        self.tally = Tally()
        self.queue = SchedulingQueue(settings.backoff, settings.longest_wait, self.tally)
        self.observations = Observations(self.profiles.values())
        self.trials = Trials(self.state, self.order, self._opinions)
        timeout = settings.schedule_timeout
        self.plans = Plans(self.state, self.order, self.trials, timeout, self.tally)
        self.victims = Victims()
        self.extender_queries = ExtenderQueries()
        self.reporter = Reporter(self.profiles)

    def _opinions(
        self, profile: Profile, facts: GroupFacts, nodes: Nodes, now: float
    ) -> Sequence[Opinion]:
        """Return what a group's trial considers beyond its profile's own filters and scores."""
        learned = self.observations.opinions(profile, facts, nodes, now)
        return (*learned, *opinions_apart(facts, self.groups, self.state, nodes))
