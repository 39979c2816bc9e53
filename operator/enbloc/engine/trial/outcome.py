# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Outcome: the result of placing one group."""

from collections.abc import Iterable
from enum import StrEnum

from enbloc.framework.status import Diagnosis
from enbloc.model.pods import Pod


class Search(StrEnum):
    """How a placement beyond the ordered pass was found, or what is known instead.

    NONE also stands for a search that could not help: it is switched off, or the members are
    identical and what refuses them does not depend on where the others go.
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
    """The result of placing one group.

    Attributes:
        needed: members of the deficit with their rows, in the order of placement.
        surplus: members beyond it that fitted as well.
        unplaced: members that did not fit and were not needed.
        diagnoses: why members found no node, each distinct answer once with its first member;
            empty = all fitted. If no placement was found they are those of the ordered pass.
        failed: the floor could not be met.
        search: what found the placement beyond the ordered pass, or why nothing did.
        steps: the cost of that.
        lacks: what is missing of something that nodes share, with the amounts; "" = nothing.
        also_rejected_by: plugins whose events may help, besides those in the diagnoses.
        domain_full: held members determine the domain, of the group or of a slice, and it has no
            room for what is lacking there.
    """

    def __init__(self, *, failed: bool = False) -> None:
        self.needed: list[tuple[Pod, int]] = []
        self.surplus: list[tuple[Pod, int]] = []
        self.unplaced: list[Pod] = []
        self.diagnoses: dict[Diagnosis, Pod] = {}
        self.failed = failed
        self.search = Search.NONE
        self.steps = 0
        self.lacks = ""
        self.also_rejected_by: frozenset[str] = frozenset()
        self.domain_full = False

    @property
    def placed(self) -> list[tuple[Pod, int]]:
        """Placed members with their rows, needed ones first."""
        return [*self.needed, *self.surplus]

    def left_of(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return those of these members that are not placed."""
        placed = {pod.uid for pod, _ in self.placed}
        return [pod for pod in pods if pod.uid not in placed]

    def note(self, diagnosis: Diagnosis, pod: Pod) -> None:
        """Record why a member found no node."""
        self.diagnoses.setdefault(diagnosis, pod)

    def learn(self, other: "Outcome") -> None:
        """Record also what other members of the group lack, and what it took to find that out."""
        for diagnosis, pod in other.diagnoses.items():
            self.note(diagnosis, pod)
        self.also_rejected_by |= other.also_rejected_by
        self.lacks = self.lacks or other.lacks
        self.search_too(other)
        self.steps += other.steps

    def search_too(self, other: "Outcome") -> None:
        """Record what another search came to: it is proven that nothing fits only if all say so."""
        if self.search in (Search.NONE, Search.INFEASIBLE):
            self.search = other.search or self.search
