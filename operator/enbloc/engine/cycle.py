# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cycle: one group, one snapshot and one profile make one plan; pure."""

from dataclasses import replace

from enbloc.engine.asking import asked_status
from enbloc.engine.assign import Outcome, Tentative, ordered_pass
from enbloc.engine.explain import short_of, unplaced
from enbloc.engine.plan import Assignment, Plan, Verdict
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Code, Diagnosis
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot

#: The engine's own refusals (minResources, quorum) wake on what this plugin names.
GANG_PLUGIN = "GangScheduling"


def schedule_group(
    plan_id: str,
    facts: GroupFacts,
    held: tuple[Pod, ...],
    tentative: Tentative,
) -> Plan:
    """Place the deficit of a group, all of it or nothing, and what else of it fits.

    Args:
        plan_id: the identity of the plan, if there will be one.
        facts: the group as it is.
        held: the bound members; what they ask for counts towards minResources.
        tentative: the cluster as it is, and the plugins that are asked.

    Returns:
        A plan whose verdict is PLACED (with assignments), UNSCHEDULABLE (with the reason and who
        refused) or ERROR (a plugin failed).
    """
    snapshot, profile = tentative.snapshot, tentative.profile
    try:
        short = _short(facts, held, snapshot)
        if short:
            return Plan(
                plan_id,
                facts.key,
                Verdict.UNSCHEDULABLE,
                message=short,
                rejectors=frozenset({GANG_PLUGIN}),
            )
        outcome = ordered_pass(facts, tentative)
        plan = _plan(plan_id, facts, outcome, snapshot)
        if plan.verdict is Verdict.UNSCHEDULABLE:
            plan = _post_filtered(plan, facts, snapshot, profile)
    except PluginError as error:
        plan = Plan(plan_id, facts.key, Verdict.ERROR, message=str(error))
    return plan


def _short(facts: GroupFacts, held: tuple[Pod, ...], snapshot: Snapshot) -> str:
    """Whether the cluster's free room cannot hold the group's minResources; "" if it can."""
    group = facts.group
    if group is None or not group.min_resources or not facts.deficit:
        return ""
    claimed: dict[str, int] = {}
    for pod in held:
        for resource, amount in pod.spec.requests:
            claimed[resource] = claimed.get(resource, 0) + amount
    for resource, amount in group.min_resources:
        needed = amount - claimed.get(resource, 0)
        free = int(snapshot.nodes.free(resource).clip(min=0).sum())
        if needed > free:
            return short_of(resource, needed, free)
    return ""


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
    wanted = max(facts.total.deficit, sum(floor.deficit for floor in facts.roles))
    diagnoses = outcome.diagnoses or [Diagnosis(nodes=len(snapshot.nodes))]
    placed = bool(outcome.needed or outcome.surplus) and not outcome.failed
    if not placed:
        return Plan(
            plan_id,
            facts.key,
            Verdict.UNSCHEDULABLE,
            diagnosis=diagnoses[0],
            message=unplaced(facts, wanted, len(outcome.needed), diagnoses),
            rejectors=frozenset[str]().union(*(each.plugins for each in diagnoses)),
            pending=frozenset[str]().union(*(each.pending for each in diagnoses)),
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
    )
