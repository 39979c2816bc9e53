# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plan: where the members of one group go, or why they cannot be placed."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from enbloc.framework.hints import Happening
from enbloc.framework.status import NO_DIAGNOSIS, Diagnosis
from enbloc.ledgers import NOTHING_DECIDED, Decisions
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodKey

#: The engine's own refusals (minResources) are woken by the events of this plugin.
GANG_PLUGIN: Final = "GangScheduling"


class PlanResult(enum.Enum):
    """The result of one decision."""

    PLACED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    INFEASIBLE = "infeasible"
    ERROR = "error"


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """One member and its node.

    Attributes:
        needed: it is part of the deficit; the others are surplus, bound after the floor is.
        decided: its volumes and devices there.
    """

    pod: Pod
    node: str
    needed: bool
    decided: Decisions = NOTHING_DECIDED


@dataclass(frozen=True, slots=True)
class Misfit:
    """Identical members that fit no node of the cluster as it is, even alone.

    Attributes:
        members: all of them, oldest first.
        text: the reason in kube-scheduler's words, and for which of their claims.
    """

    members: tuple[PodKey, ...]
    text: str


class Release(Happening, frozen=True, gc=False):
    """Capacity that a plan had reserved was released unused.

    Attributes:
        number: of the plan, counted from 0 as they are opened.
    """

    number: int = 0


class Refutation(NamedTuple):
    """Whether no change of load could help a group that was not placed.

    Attributes:
        why: why none could; "" = one may.
        steps: the upper limit of the cost of that answer.
        put_off: unknown, since the answer would have cost a search.
    """

    why: str
    steps: int = 0
    put_off: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The outcome of one decision about one group.

    Attributes:
        id: unique among all plans of all processes; part of each member's binding_record.
        assignments: needed members first; empty unless the verdict is PLACED.
        diagnosis: of the first member that found no node.
        message: the diagnosis in one sentence; "" if everything fitted, surplus members too.
        rejectors: plugins whose events may help; empty = only time can (an error).
        pending: the rejectors that wait for an external party; their events bypass the backoff.
        search: the result of the search beyond the ordered pass; "" = there was none.
        steps: the cost of that search.
        misfits: members that fit no node, by kind; only if the group has several kinds.
        unfinished: it ended because it had cost enough; the next one continues from there.
        refuting: the upper limit, in steps, of the cost of whether no change of load could help.
        put_off: that is unknown, since it would have cost a search.
        settled: a PostFilter plugin had the last word, and no pods are to be evicted.
        domain_full: held members determine the domain, of the group or of a slice, and it has no
            room for what is lacking there, none of which was refused as a whole.
    """

    id: str
    group: GroupKey
    verdict: PlanResult
    assignments: tuple[Assignment, ...] = ()
    diagnosis: Diagnosis = NO_DIAGNOSIS
    message: str = ""
    rejectors: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    search: str = ""
    steps: int = 0
    misfits: tuple[Misfit, ...] = field(default=(), compare=False)
    unfinished: bool = field(default=False, compare=False)
    refuting: int = field(default=0, compare=False)
    put_off: bool = field(default=False, compare=False)
    settled: bool = field(default=False, compare=False)
    domain_full: bool = field(default=False, compare=False)

    @property
    def nodes(self) -> Sequence[tuple[Pod, str]]:
        """Each member with its node."""
        return [(assignment.pod, assignment.node) for assignment in self.assignments]
