# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cycle: one group, one snapshot and one profile make one plan; pure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from enbloc.engine.asking import asked_status
from enbloc.engine.assign import Outcome, Tentative, place_group
from enbloc.engine.explain import beyond, unplaced
from enbloc.engine.plan import Assignment, Plan, Verdict
from enbloc.engine.promises import Claim, Promises
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Code, Diagnosis
from enbloc.model.nodes import Nodes
from enbloc.model.snapshot import Snapshot

#: The engine's own refusals (minResources, promises) wake on what this plugin names.
GANG_PLUGIN: Final = "GangScheduling"


class Room(NamedTuple):
    """What a group may take of the room that nobody was promised.

    Attributes:
        promises: who was promised what.
        claim: what this group is owed, or asks to be.
    """

    promises: Promises
    claim: Claim


def schedule_group(
    plan_id: str,
    facts: GroupFacts,
    tentative: Tentative,
    room: Room | None,
    never: Callable[[Tentative, int], str],
    steps: int,
) -> Plan:
    """Place the deficit of a group, all of it or nothing, and what else of it fits.

    Args:
        plan_id: the identity of the plan, if there will be one.
        facts: the group as it is.
        tentative: the cluster as it is, and the plugins that are asked.
        room: what others were promised, and this group wants; None = nobody wants anything.
        never: asked when the group was not placed: why no change of load could help; "" = it may.
        steps: how much a search beyond the ordered pass may cost.

    Returns:
        A plan whose verdict is PLACED (with assignments), UNSCHEDULABLE (with the reason and who
        refused), INFEASIBLE (no change of load could help) or ERROR (a plugin failed).
    """
    try:
        short = _short(plan_id, facts, tentative, room) if room else None
        if short is not None:
            return short
        before = tentative.nodes.fork() if room and room.promises else None
        outcome = place_group(facts, tentative, steps)
        plan = _plan(plan_id, facts, outcome, tentative.snapshot)
        if plan.verdict is Verdict.UNSCHEDULABLE:
            why = never(tentative, steps)
            if why:
                text = f"{why}. {plan.message}"
                return replace(plan, verdict=Verdict.INFEASIBLE, message=text)
            return _post_filtered(plan, facts, tentative.snapshot, tentative.profile)
        if room is not None and before is not None:
            plan = _kept(plan, room, before)
    except PluginError as error:
        plan = Plan(plan_id, facts.key, Verdict.ERROR, message=str(error))
    return plan


def to_be_admitted(facts: GroupFacts) -> bool:
    """Whether the room that the group wants before any member starts must be there.

    What a started gang has lost is placed again, whatever else it may claim: it was admitted.
    """
    return facts.deficit and not (facts.started and facts.held_in_part)


def _short(plan_id: str, facts: GroupFacts, tentative: Tentative, room: Room) -> Plan | None:
    """A refusal if the room that the group wants before any member starts is not its own."""
    if not to_be_admitted(facts):
        return None
    nodes = tentative.nodes
    for resource, amount in room.claim.wanted:
        offered = int(nodes.allocatable(resource).sum())
        if amount > offered:
            text = beyond(resource, amount, offered)
            return _no(plan_id, facts, Verdict.INFEASIBLE, text)
    text = room.promises.admits(room.claim, nodes)
    return _no(plan_id, facts, Verdict.UNSCHEDULABLE, text) if text else None


def _no(plan_id: str, facts: GroupFacts, verdict: Verdict, message: str) -> Plan:
    return Plan(plan_id, facts.key, verdict, message=message, rejectors=frozenset({GANG_PLUGIN}))


def _kept(plan: Plan, room: Room, before: Nodes) -> Plan:
    """What of a plan leaves alone the room that others were promised."""
    stay, why = room.promises.kept(room.claim, plan.assignments, before)
    if not stay:
        return replace(
            plan,
            verdict=Verdict.UNSCHEDULABLE,
            assignments=(),
            message=why,
            rejectors=frozenset({GANG_PLUGIN}),
        )
    return replace(plan, assignments=tuple(stay), message=plan.message or why)


def _post_filtered(plan: Plan, facts: GroupFacts, snapshot: Snapshot, profile: Profile) -> Plan:
    """Ask the PostFilter plugins in order; the first that can help ends it."""
    said: list[str] = []
    for plugin in profile.post_filter:
        status = asked_status(
            plugin.name, "PostFilter", plugin.post_filter, facts, snapshot, plan.diagnosis
        )
        if status.message:
            said.append(status.message)
        if status.code is not Code.UNSCHEDULABLE:
            break
    return replace(plan, message=" ".join((plan.message, *said))) if said else plan


def _plan(plan_id: str, facts: GroupFacts, outcome: Outcome, snapshot: Snapshot) -> Plan:
    diagnoses = outcome.diagnoses or [Diagnosis(nodes=len(snapshot.nodes))]
    placed = bool(outcome.needed or outcome.surplus) and not outcome.failed
    if not placed:
        return Plan(
            plan_id,
            facts.key,
            Verdict.UNSCHEDULABLE,
            diagnosis=diagnoses[0],
            message=unplaced(facts, facts.lacking, len(outcome.needed), diagnoses),
            rejectors=frozenset[str]().union(*(each.plugins for each in diagnoses)),
            pending=frozenset[str]().union(*(each.pending for each in diagnoses)),
            search=outcome.search,
            steps=outcome.steps,
        )
    names = snapshot.nodes.names
    assignments = tuple(
        Assignment(pod, names[row], needed=needed)
        for needed, members in ((True, outcome.needed), (False, outcome.surplus))
        for pod, row in members
    )
    return Plan(
        plan_id,
        facts.key,
        Verdict.PLACED,
        assignments,
        diagnosis=diagnoses[0],
        message=unplaced(facts, 0, 0, diagnoses) if outcome.unplaced else "",
        search=outcome.search,
        steps=outcome.steps,
    )
