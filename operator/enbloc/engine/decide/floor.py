# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Floor: the placement of a deficit, and what is placed beside it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from enbloc.engine.trial import Outcome, Trial, told_apart
from enbloc.framework.facts import GroupFacts
from enbloc.model.pods import Pod


class PlacedFloor(NamedTuple):
    """The result of placing the deficit.

    Attributes:
        facts: the group as if only what was placed were needed.
        outcome: the outcome.
        trial: the fork that holds the placement; the trial itself if there is none.
        others: members that may be placed beside it; None = none may.
        beside: places them in its own way; None = wherever they fit.
    """

    facts: GroupFacts
    outcome: Outcome
    trial: Trial
    others: Sequence[Pod] | None = None
    beside: "Callable[[PlacedFloor, Sequence[Pod]], Trial] | None" = None

    def with_rest(self) -> "PlacedFloor":
        """Return the same, with all other pending members allowed beside it."""
        return self._replace(others=self.outcome.left_of(self.facts.pending))

    def with_others(self) -> tuple[Outcome, Trial]:
        """Place what else fits and note why the rest does not; return the fork that holds all."""
        facts, outcome, trial, others, beside = self
        if others is None:
            return outcome, trial
        if beside is not None:
            trial = beside(self, others)
        else:
            place_others(others, trial, outcome)
            note_unplaced(others, trial, outcome)
        outcome.unplaced = outcome.left_of(facts.pending)
        return outcome, trial


def place_others(others: Sequence[Pod], trial: Trial, outcome: Outcome) -> None:
    """Place what else fits."""
    for pod in others:
        row = trial.place(pod)
        if row is None:
            continue
        if trial.stands(pod):
            outcome.surplus.append((pod, row))
        else:
            trial.remove(pod, row)


def note_unplaced(pods: Sequence[Pod], trial: Trial, outcome: Outcome) -> None:
    """Note why each of these members that found no node did not."""
    left = outcome.left_of(pods)
    keys = told_apart([trial.key(pod) for pod in left])
    unlike = dict(zip(reversed(keys), reversed(left), strict=True))
    for pod in unlike.values():
        outcome.note(trial.diagnosis(pod), pod)
