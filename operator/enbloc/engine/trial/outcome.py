# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Outcome: what placing one group came to."""

from collections.abc import Iterable
from enum import StrEnum

from enbloc.framework.status import Diagnosis
from enbloc.model.pods import Pod


class Search(StrEnum):
    """How a placement beyond the ordered pass was found, or what is known instead.

    NONE also stands for a search that could not have helped: it is switched off, or the members
    are alike and what refuses them is no matter of where the others go.
    """

    NONE = ""
    ORDER = "another order"
    DOMAIN = "domain by domain"
    CLASSES = "search over classes"
    SOLVER = "exact solver"
    INFEASIBLE = "proven infeasible"
    REFUSED = "refused by plugins"
    SPENT = "budget spent"


class Outcome:
    """What placing one group came to.

    Attributes:
        needed: members of the deficit with their rows, in the order they were placed.
        surplus: members beyond it that fitted as well.
        unplaced: members that did not fit and were not needed.
        diagnoses: why members found no node, each different answer once with the first member
            that it is about; empty = all fitted. Where no placement was found they are those of
            the ordered pass.
        failed: the floor could not be met.
        search: what found the placement beyond the ordered pass, or why nothing did.
        steps: what that cost.
        lacks: what of something that nodes share is missing, with the amounts; "" = nothing is.
        also_rejected_by: plugins whose events may help beside those that the diagnoses name.
    """

    def __init__(self) -> None:
        self.needed: list[tuple[Pod, int]] = []
        self.surplus: list[tuple[Pod, int]] = []
        self.unplaced: list[Pod] = []
        self.diagnoses: dict[Diagnosis, Pod] = {}
        self.failed = False
        self.search = Search.NONE
        self.steps = 0
        self.lacks = ""
        self.also_rejected_by: frozenset[str] = frozenset()

    @property
    def placed(self) -> list[tuple[Pod, int]]:
        """Members that are placed with their rows, those that are needed first."""
        return [*self.needed, *self.surplus]

    def left_of(self, pods: Iterable[Pod]) -> list[Pod]:
        """Those of these members that are not placed."""
        placed = {pod.uid for pod, _ in self.placed}
        return [pod for pod in pods if pod.uid not in placed]

    def note(self, diagnosis: Diagnosis, pod: Pod) -> None:
        """A member found no node."""
        self.diagnoses.setdefault(diagnosis, pod)
