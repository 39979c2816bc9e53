# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Search: which units are evicted for a group that fits nowhere, and all that was considered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, Protocol

import numpy as np

from enbloc.engine.preemption.gang import RESERVED, preempt_for_gang
from enbloc.engine.preemption.lone import NodeCandidates, candidates_for_pod, preempt_for_pod
from enbloc.engine.preemption.units import Preemption, Unit
from enbloc.engine.trial import Outcome, Trial, asked_unchecked, shape_of
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.budgets import Budget, Budgets
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

#: The most members placed and pods moved in one search for a gang's victims after the first answer.
SEARCH_LIMIT: Final = 2000
#: As the name of a node, it stands for all of them.
EVERYWHERE: Final = ""


class Units(Protocol):
    """All units of lower priority than a preemptor."""

    def on(self, row: int) -> Sequence[Unit]:
        """Return the units with pods on one row of the node table."""
        ...

    def everywhere(self) -> Sequence[Unit]:
        """Return all units."""
        ...


class PlacesOnceGone(Protocol):
    """Tells where a group may be placed once others have left."""

    def __call__(self, facts: GroupFacts, trial: Trial, part: int = 1, /) -> tuple[Outcome, Trial]:
        """Place the group, as `Placing`."""
        ...

    def lacks(self, facts: GroupFacts, nodes: Nodes, /) -> bool:
        """Return whether what the group wants free before it starts is not."""
        ...

    def sparing(self, pod: Pod, trial: Trial, /) -> Callable[[str, Sequence[Pod]], bool] | None:
        """Return a test whether a pod on a node spares what is reserved once other pods have left.

        None = nothing is reserved.
        """
        ...


class Searched(NamedTuple):
    """A search for victims.

    Attributes:
        units: those of lower priority, by the nodes that were considered.
        budgets: every PodDisruptionBudget.
        found: the result.
    """

    units: Mapping[str, Sequence[Unit]]
    budgets: Sequence[Budget]
    found: Preemption

    @property
    def size(self) -> int:
        """The number of units that were considered; those of several nodes count on each."""
        return sum(len(units) for units in self.units.values())


class LookedAt:
    """The units that a search considers, recorded so that a replay sees the same.

    Args:
        units: asked once for each node; None = there are only the known ones.
        nodes: the rows of the node table.
        known: by node.
    """

    def __init__(
        self, units: Units | None, nodes: Nodes, known: Mapping[str, Sequence[Unit]]
    ) -> None:
        self._units, self._names = units, nodes.names
        self.known = dict(known)

    def on(self, row: int) -> Sequence[Unit]:
        """Return the units with pods on one row of the node table."""
        name = self._names[row]
        if name not in self.known:
            self.known[name] = self._units.on(row) if self._units is not None else ()
        return self.known[name]

    def everywhere(self) -> Sequence[Unit]:
        """Return all units."""
        if EVERYWHERE not in self.known:
            self.known[EVERYWHERE] = self._units.everywhere() if self._units is not None else ()
        return self.known[EVERYWHERE]


def preempting(profile: Profile) -> decide.Preempts | None:
    """Return the preemption plugin of a profile; None = it has none."""
    plugins = (each for each in profile.post_filter if decide.implements(each, decide.Preempts))
    return next(plugins, None)


def search(
    facts: GroupFacts,
    plugin: decide.Preempts,
    trial: Trial,
    units: LookedAt,
    budgets: Iterable[Budget],
    place: PlacesOnceGone,
    choose: Callable[[Pod, NodeCandidates], Preemption] = preempt_for_pod,
) -> Preemption:
    """Find the victims for a group that fits nowhere.

    Args:
        facts: the group.
        plugin: tells how far to look.
        trial: the cluster as the group may see it.
        units: all units of lower priority.
        budgets: every PodDisruptionBudget.
        place: tries to place it.
        choose: takes one of the candidate nodes of a pod without a group; extenders may take part.

    Raises:
        PluginError: a plugin failed.
    """
    covering = Budgets(budgets)
    if facts.solo:
        pod = facts.pending[0]
        nodes = candidates_for_pod(pod, trial, units.on, covering, partial(_enough, plugin))
        found = choose(pod, _sparing(nodes, place.sparing(pod, trial)))
    elif everybody := units.everywhere():
        found = preempt_for_gang(facts, trial, everybody, covering, place, SEARCH_LIMIT)
    else:
        return Preemption()  # it is evident that no pod has a lower priority
    return replace(found, steps=found.steps + covering.steps)


def _enough(plugin: decide.Preempts, rows: int) -> int:
    """Return how many candidates suffice, after a check of the answer."""
    count = asked_unchecked(plugin.name, "PostFilter", plugin.candidate_nodes, rows)
    if not isinstance(count, int | np.integer):
        text = f"expected a number of nodes, got {shape_of(count)}"
        raise PluginError(plugin.name, "PostFilter", text)
    return int(count)


def _sparing(
    found: NodeCandidates, spared: Callable[[str, Sequence[Pod]], bool] | None
) -> NodeCandidates:
    """Return the nodes on which a pod spares what others have reserved."""
    if spared is None or not found.nodes:
        return found
    nodes = [
        each
        for each in found.nodes
        if spared(each.node, [pod for unit in each.victims for pod in unit.pods])
    ]
    message = found.message if nodes else f"preemption: {RESERVED}"
    return replace(found, nodes=nodes, message=message)
