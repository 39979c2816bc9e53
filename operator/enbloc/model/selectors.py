# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Label selectors, and the constraints of pods that use them."""

from collections.abc import Mapping
from dataclasses import dataclass

from enbloc.model.requirements import Requirement

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector: all requirements must hold; without any, it matches everything.

    If an object has no selector at all, the field is None, which matches nothing.
    """

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(each.matches(labels.get(each.key)) for each in self.requirements)

    @property
    def keys(self) -> frozenset[str]:
        """The label keys that its requirements use."""
        return frozenset(each.key for each in self.requirements)


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One of `topologySpreadConstraints`.

    Attributes:
        hard: DoNotSchedule; else ScheduleAnyway.
        min_domains: with fewer domains, the global minimum counts as 0.
        match_label_keys: the pod's own values of these keys are added to the selector.
        honour_affinity: only nodes that the pod's selector and affinity allow are counted.
        honour_taints: only nodes whose taints the pod tolerates are counted.
    """

    topology_key: str
    max_skew: int = 1
    hard: bool = True
    selector: Selector | None = None
    min_domains: int = 1
    match_label_keys: tuple[str, ...] = ()
    honour_affinity: bool = True
    honour_taints: bool = False


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """One term of pod affinity or anti-affinity.

    Attributes:
        namespaces: the namespaces of the pods that it selects, in addition to those that
            `namespace_selector` selects. With neither, the namespace of the pod that has the term.
    """

    topology_key: str
    selector: Selector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None


@dataclass(frozen=True, slots=True)
class PodAffinity:
    """`podAffinity` or `podAntiAffinity`.

    Attributes:
        required: each of these terms must hold.
        preferred: `(weight, term)`, weight 1 to 100.
    """

    required: tuple[PodAffinityTerm, ...] = ()
    preferred: tuple[tuple[int, PodAffinityTerm], ...] = ()

    def __bool__(self) -> bool:
        """Whether it has any term."""
        return bool(self.required or self.preferred)

    @property
    def terms(self) -> tuple[PodAffinityTerm, ...]:
        """Every term, the required ones first."""
        return (*self.required, *(term for _, term in self.preferred))


NO_AFFINITY = PodAffinity()
