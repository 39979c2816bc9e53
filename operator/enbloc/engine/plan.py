# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plan: where the members of one group go, or why they go nowhere."""

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

#: The engine's own refusals (minResources) wake on what this plugin names.
GANG_PLUGIN: Final = "GangScheduling"


class PlanResult(enum.Enum):
    """What one decision came to."""

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
    """Alike members that fit no node of the cluster as it is, even alone.

    Attributes:
        members: all of them, the oldest first.
        text: why not, as kube-scheduler says it, and for which of their claims.
    """

    members: tuple[PodKey, ...]
    text: str


class Release(Happening, frozen=True, gc=False):
    """Capacity that a plan had reserved was given back unused.

    Attributes:
        number: of the plan, counted from 0 as they are opened.
    """

    number: int = 0


class Refutation(NamedTuple):
    """Whether no change of load could help a group that was not placed.

    Attributes:
        why: why none could; "" = it may.
        steps: what it may have cost to find out.
        put_off: nobody has found out, since that would have cost a search.
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
        message: the diagnosis in one sentence; "" when everything fitted, surplus members too.
        rejectors: plugins whose events may help; empty = only time can (an error).
        pending: those of them that wait for somebody outside; their events bypass the backoff.
        search: what came of the search beyond the ordered pass; "" = there was none.
        steps: what that search cost.
        misfits: members that fit no node, by kind; only where the group has several kinds.
        unfinished: it ended because it had cost enough; the next one goes on from there.
        refuting: what it may have cost to find out that no change of load could help, in steps.
        put_off: nobody has found that out, since it would have cost a search.
        settled: a PostFilter plugin had the last word, and nobody is to give way.
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

    @property
    def nodes(self) -> Sequence[tuple[Pod, str]]:
        """Which member goes to which node."""
        return [(assignment.pod, assignment.node) for assignment in self.assignments]
