# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preempted by: what is reported of members that gave way to a higher priority, by group."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from enbloc.engine.core import Core
from enbloc.engine.effects import EventType, Related
from enbloc.engine.policies.preemptions.under_way import UnderWay, named
from enbloc.engine.preemption import Unit, VictimCandidates
from enbloc.engine.state import Run
from enbloc.engine.turn import Departure, Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import CHECKPOINT_KEY, VOLCANO_CHECKPOINT_KEY, EventReason
from enbloc.model.pods import Pod

#: The most pods and groups that are warned in one search.
_MOST_WARNED: Final = 16

_CHECKPOINT: Final = (
    f"annotation {CHECKPOINT_KEY} (or {VOLCANO_CHECKPOINT_KEY}) is ignored: it is no time that has "
    "passed; write one as 2026-01-31T12:00:00Z"
)


class PreemptedBy(dict[GroupKey, str]):
    """By group: who preempted members of it since it was last placed; "" = nobody.

    Args:
        core: whose reporter writes the events.
    """

    def __init__(self, core: Core) -> None:
        super().__init__()
        self._groups, self._reporter = core.groups, core.reporter

    def leaves(self, turn: Turn, departure: Departure) -> bool:
        """Write an event on a victim that certainly leaves, and with the first one on its group.

        Returns:
            Whether it is the first of the pods of a group that leave together.
        """
        pod, group = departure.pod, departure.group
        note = f"Preempted by {departure.by} on node {pod.node}"
        by = self._related(departure.beneficiary)
        self._reporter.preempted(turn, pod, note, by)
        run = self._groups.get(group)
        if run is None or run.solo:
            return True
        count = len(departure.together)
        are = "is" if count == 1 else "are"
        note = f"preempted by {departure.by}: {count} of its members {are} evicted"
        if self.get(group) == note or (departure.rest and self.get(group)):
            return False
        self._tell(turn, group, note, by)
        return True

    def given_up(self, turn: Turn, unit: Unit, to: UnderWay) -> None:
        """Write an event on a group whose plan was given up; nothing is evicted."""
        run = self._groups.get(unit.group)
        note, by = f"plan was given up for {to.by}: nothing of it was bound", self._related(to.key)
        if run is None or run.solo:
            self._reporter.preempted(turn, unit.pods[0], note, by)
        else:
            self._tell(turn, unit.group, note, by)

    def preempting(self, turn: Turn, facts: GroupFacts, victims: Sequence[Pod]) -> None:
        """Write an event on a PodGroup for which others are evicted."""
        note = f"preempting {named(victims)} of lower priority"
        first = next((Related(pod.uid, pod=pod.key) for pod in victims), None)
        kind, reason = EventType.NORMAL, EventReason.PREEMPTING
        self._reporter.group_event(turn, facts, kind, reason, note, first)

    def disbelieves(self, turn: Turn, candidates: VictimCandidates) -> None:
        """Warn of last checkpoints that are not in the past, a few at a time."""
        for each in islice(candidates.disbelieved.values(), _MOST_WARNED):
            if isinstance(each, Run):
                self._reporter.warn_group(turn, self._groups.facts(each), _CHECKPOINT)
            else:
                self._reporter.warn_pod(turn, each, _CHECKPOINT)

    def _related(self, preemptor: GroupKey | None) -> Related | None:
        """Return the preemptor, for events on its victims; None if it is gone or unknown."""
        run = None if preemptor is None else self._groups.get(preemptor)
        if run is None or run.group is None:
            return None
        if not run.solo:
            return Related(run.group.uid, group=run.key.podgroup)
        return next((Related(pod.uid, pod=pod.key) for pod in run.pods.values()), None)

    def _tell(self, turn: Turn, group: GroupKey, note: str, by: Related | None) -> None:
        self[group] = note
        facts, kind = self._groups.facts(self._groups[group]), EventType.NORMAL
        self._reporter.group_event(turn, facts, kind, EventReason.PREEMPTED, note, by)
        turn.change(group)
