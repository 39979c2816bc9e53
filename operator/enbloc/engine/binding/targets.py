# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Targets: members on their way to their nodes, as plugins of the binding cycle see them."""

from typing import Final

from enbloc.engine.binding.open_plan import OpenPlan
from enbloc.engine.plan import Assignment
from enbloc.errors import PluginError
from enbloc.framework.act import PreBind, PreBindPreFlight, Target
from enbloc.framework.decide import implements
from enbloc.model.names import PLAN_KEY, RANK_KEY, SIZE_KEY

#: Annotations larger than this in total, in bytes, make every later write of the pod fail.
ANNOTATIONS_LIMIT: Final = 262_144


def target_of(open_plan: OpenPlan, assignment: Assignment) -> Target:
    """Return the target of a member; the same object on each call."""
    known = open_plan.targets.get(assignment.pod.uid)
    if known is None:
        known = open_plan.targets[assignment.pod.uid] = _made(open_plan, assignment)
    return known


def _made(open_plan: OpenPlan, assignment: Assignment) -> Target:
    pod, minimum = assignment.pod, open_plan.facts.total.minimum
    wanted = {PLAN_KEY: open_plan.record} if open_plan.record else {}
    rank = open_plan.rank(pod.uid)
    if rank is not None:
        wanted |= {RANK_KEY: str(rank), SIZE_KEY: str(minimum)}
    room = ANNOTATIONS_LIMIT - pod.annotations_size
    fits = sum(len(key) + len(value) for key, value in wanted.items()) <= room
    annotations = tuple(wanted.items()) if fits else ()
    decided = assignment.decided
    return Target(open_plan.id, pod.key, pod.uid, assignment.node, annotations, decided)


def prepares(plugin: PreBind, target: Target) -> bool:
    """Whether a PreBind plugin has anything to do for a member."""
    if not implements(plugin, PreBindPreFlight):
        return True
    try:  # not `asked`: this runs for every pod, and takes no longer than timing it would
        return bool(plugin.prepares(target))
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise PluginError(plugin.name, "PreBindPreFlight", detail) from error
