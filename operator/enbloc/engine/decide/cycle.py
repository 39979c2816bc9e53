# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cycle: one group, one snapshot and one profile make one plan; pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from enbloc.engine.decide.assign import MOST_HOSTS_SEARCHED, place_floor, place_group
from enbloc.engine.decide.explain import MOST_KINDS, Kind, kinds_of, misfits, unplaced
from enbloc.engine.plan import GANG_PLUGIN, Assignment, Plan, PlanResult, Refutation
from enbloc.engine.state import GroupAmount, ReservedAmounts, beyond, reservable, to_be_admitted
from enbloc.engine.topology import (
    DueInDomain,
    ReservedDomains,
    Taken,
    Tries,
    most_offered,
    taken_in_domains,
)
from enbloc.engine.trial import Outcome, Trial, asked_status
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Code, Diagnosis
from enbloc.ledgers import ledgers_of
from enbloc.model.amounts import sums
from enbloc.model.nodes import Nodes
from enbloc.model.pins import host_of, hosts
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot

#: The most hosts that members may name if a plugin must be asked about each (semantics §9.8).
MOST_HOSTS_ALONE: Final = 341
_TOO_MANY_HOSTS: Final = (
    f"members name more than {MOST_HOSTS_ALONE} hosts in nodeSelector, and a plugin of the profile "
    "or an extender has to be asked about each; use smaller groups"
)


class AllowedCapacity:
    """What a group may take of the cluster where capacity is reserved; for one decision.

    Attributes:
        capacity: what each group has reserved.
        wanted: what this group may still take, or wants reserved.
    """

    def __init__(self, capacity: ReservedAmounts, wanted: GroupAmount) -> None:
        self.capacity = capacity
        self.wanted = wanted
        #: What precedes this group in single domains; None = not asked yet.
        self._taken: Taken | None = None

    def domains(self, nodes: Nodes) -> ReservedDomains:
        """Return what others have reserved in single domains, on these nodes.

        Successive calls may differ in what runs on the nodes only.
        """
        if self._taken is None:
            self._taken = taken_in_domains(self.capacity, self.wanted, nodes)
        return ReservedDomains(self._taken, nodes)

    def kept(
        self, facts: GroupFacts, assignments: Sequence[Assignment], before: Nodes
    ) -> tuple[Sequence[Assignment], str]:
        """Return what of a plan for the group fits beside what others have reserved anywhere.

        Args:
            facts: the group as it is.
            assignments: the plan's.
            before: the cluster as the group sees it, without the plan.

        Returns:
            The assignments that stay, and why the others cannot; "" when all do.
        """
        return self.capacity.kept(self.wanted, assignments, before, in_turn=facts.in_slices)


def schedule_group(
    plan_id: str,
    facts: GroupFacts,
    trial: Trial,
    allowed: AllowedCapacity | None,
    never: Callable[[Trial, int], Refutation],
    steps: int,
) -> Plan:
    """Place the deficit of a group, all or nothing, and whatever else of it fits.

    Args:
        plan_id: the id of the plan, if one is made.
        facts: the group as it is.
        trial: the cluster as it is, and the plugins to ask; do not use it afterwards, since its
            rankings are kept for the next decision.
        allowed: what others have reserved, and this group wants; None = nothing is reserved or
            wanted.
        never: called if the group was not placed: why no change of load could help.
        steps: how much a search beyond the ordered pass may cost.

    Returns:
        A plan with the verdict PLACED (with assignments), UNSCHEDULABLE (with the reason and the
        plugins that refused), INFEASIBLE (no change of load could help) or ERROR (a plugin failed).
    """
    devices = ledgers_of(trial.snapshot.nodes).devices
    devices.begin()
    last = trial
    try:
        plan = _refused_as_a_whole(plan_id, facts, trial, allowed)
        if plan is None:
            reserved, due = _in_domains(facts, trial, allowed)
            tries = Tries(reserved, trial, facts)
            while True:
                part = steps >> tries.number
                outcome, tried = place_floor(facts, tries.where, part, due=due).with_others()
                plan = _left_alone(_plan(plan_id, facts, outcome, trial, tried), tries)
                if tries.over:
                    break
            if plan.verdict is PlanResult.UNSCHEDULABLE:
                plan = _refuted(plan, facts, trial, never, steps)
            elif allowed is not None and allowed.capacity:
                plan = _kept(plan, facts, allowed, trial.nodes)
            if plan.verdict is PlanResult.PLACED:
                last = tried
    except PluginError as error:
        return Plan(plan_id, facts.key, PlanResult.ERROR, message=str(error))
    last.keep()
    if plan.verdict is PlanResult.UNSCHEDULABLE and devices.unfinished:
        return replace(plan, unfinished=True)
    return plan


def _left_alone(plan: Plan, tries: Tries) -> Plan:
    """Return what of a plan fits beside what others have reserved in single domains."""
    stay = tries.kept(plan.assignments)
    if tries.overdrawn:
        return _given_up(plan, tries.refusal)
    return plan if stay is plan.assignments else replace(plan, assignments=tuple(stay))


def _given_up(plan: Plan, why: str) -> Plan:
    """Return a plan that is refused for the sake of what others have reserved."""
    return replace(
        plan,
        verdict=PlanResult.UNSCHEDULABLE,
        assignments=(),
        message=why,
        rejectors=plan.rejectors | {GANG_PLUGIN},
    )


def _in_domains(
    facts: GroupFacts, trial: Trial, allowed: AllowedCapacity | None
) -> tuple[ReservedDomains | None, DueInDomain | None]:
    """Return what others have reserved in single domains, and what the group needs free in one.

    None = nothing.
    """
    if allowed is None:
        return None, None
    wants = facts.locality is not None and allowed.wanted.due and to_be_admitted(facts)
    if not (wants or allowed.capacity):
        return None, None
    reserved = allowed.domains(trial.nodes)
    due = DueInDomain(allowed.wanted, reserved, trial.nodes) if wants else None
    return reserved or None, due


class Placer(NamedTuple):
    """Tries to place a group for which others are to be evicted.

    Attributes:
        allowed: what others have reserved, and this group wants; None = nothing is reserved or
            wanted.
        steps: how much a search may cost.
        exactly: also ask the exact solver.
    """

    allowed: AllowedCapacity | None
    steps: int
    exactly: bool = False

    def __call__(self, facts: GroupFacts, trial: Trial, part: int = 1) -> tuple[Outcome, Trial]:
        """Try to place a group's deficit if what it wants reserved is free.

        Args:
            facts: the group as it is.
            trial: the cluster without those who are evicted; unchanged.
            part: divides the steps by this number.
        """
        allowed, steps = self.allowed, self.steps // part
        if self.lacks(facts, trial.nodes):
            return Outcome(failed=True), trial
        reserved, due = _in_domains(facts, trial, allowed)
        tries = Tries(reserved, trial, facts)
        while True:
            part = steps >> tries.number
            outcome, tried = place_group(facts, tries.where, part, exactly=self.exactly, due=due)
            if allowed is None or not allowed.capacity or outcome.failed or not outcome.placed:
                break
            stay = tries.kept(_assignments(outcome, tried))
            if stay:
                stay, _ = allowed.kept(facts, stay, trial.nodes)
            if stay:
                break
            outcome.failed = True
            if tries.over:
                break
        return outcome, trial if outcome.failed else tried

    def lacks(self, facts: GroupFacts, nodes: Nodes) -> bool:
        """Return whether what a group wants free before it starts is not.

        Args:
            facts: the group as it is.
            nodes: the cluster as the group sees it.
        """
        allowed = self.allowed
        if allowed is None or not to_be_admitted(facts):
            return False
        return bool(allowed.capacity.admits(allowed.wanted, nodes))

    def sparing(self, pod: Pod, trial: Trial) -> Callable[[str, Sequence[Pod]], bool] | None:
        """Return a test whether a pod on a node spares what is reserved once other pods have left.

        None = nothing is reserved.
        """
        allowed = self.allowed
        if allowed is None or not allowed.capacity:
            return None
        domains = allowed.domains(trial.nodes)
        anywhere = allowed.capacity.spares(allowed.wanted, trial.nodes)

        def spared(node: str, leaving: Sequence[Pod]) -> bool:
            return domains.spares(pod, node, leaving) and anywhere((pod,), leaving)

        return spared


def _assignments(outcome: Outcome, tried: Trial) -> tuple[Assignment, ...]:
    """Return which pod was placed on which node, with the decisions about its claims."""
    names, ledgers = tried.snapshot.nodes.names, tried.ledgers
    return tuple(
        Assignment(pod, names[row], needed, ledgers.decided(pod))
        for needed, members in ((True, outcome.needed), (False, outcome.surplus))
        for pod, row in members
    )


def _refused_as_a_whole(
    plan_id: str, facts: GroupFacts, trial: Trial, allowed: AllowedCapacity | None
) -> Plan | None:
    """Return a refusal of the group before any of its members is considered, if there is one."""
    refused = _group_pre_filtered(plan_id, facts, trial)
    if refused is None and allowed:
        refused = _short(plan_id, facts, trial, allowed)
    if refused is None and hosts(facts.pending) > MOST_HOSTS_ALONE:
        first = next(pod for pod in facts.pending if host_of(pod.spec))
        if not trial.shares_hosts(first):
            return _no(plan_id, facts, PlanResult.INFEASIBLE, _TOO_MANY_HOSTS)
    return refused


def _refuted(
    plan: Plan,
    facts: GroupFacts,
    trial: Trial,
    never: Callable[[Trial, int], Refutation],
    steps: int,
) -> Plan:
    """Return the plan of an unplaced group: INFEASIBLE, or as PostFilter plugins leave it."""
    if hosts(facts.pending) <= MOST_HOSTS_SEARCHED:
        why, cost, put_off = never(trial, steps)
        plan = replace(plan, refuting=cost, put_off=put_off)
        if why:
            text = plan.message if plan.message.startswith(why) else f"{why}. {plan.message}"
            return replace(plan, verdict=PlanResult.INFEASIBLE, message=text)
    return _post_filtered(plan, facts, trial.snapshot, trial.profile)


def _group_pre_filtered(plan_id: str, facts: GroupFacts, trial: Trial) -> Plan | None:
    """Return the refusal of a group PreFilter plugin, if there is one."""
    for plugin in trial.profile.group_pre_filter if len(facts.pending) > 1 else ():
        ask = plugin.pre_filter_group
        status = asked_status(plugin.name, "PreFilter", ask, facts, trial.snapshot)
        if status.ok or status.code is Code.SKIP:
            continue
        for_good = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        name = frozenset({plugin.name})
        why = status.message or plugin.name  # as for a pod, nobody is evicted for such a refusal
        return Plan(
            plan_id,
            facts.key,
            PlanResult.INFEASIBLE if for_good else PlanResult.UNSCHEDULABLE,
            diagnosis=Diagnosis(nodes=len(trial.nodes), message=why),
            message=status.message,
            rejectors=name,
            pending=name if status.code is Code.PENDING else frozenset(),
        )
    return None


def _short(plan_id: str, facts: GroupFacts, trial: Trial, allowed: AllowedCapacity) -> Plan | None:
    """Return a refusal if the group lacks capacity that it wants before any member starts."""
    if not to_be_admitted(facts):
        return None
    nodes = trial.nodes
    resources = facts.group.min_resources if facts.group else ()
    for resource, amount in reservable(resources, trial.profile, nodes).items():
        (offered,) = sums(nodes.allocatables((resource,)))
        if amount > offered:
            text = beyond(resource, amount, offered)
            return _no(plan_id, facts, PlanResult.INFEASIBLE, text)
        most = most_offered(facts.locality, resource, nodes) if facts.locality else None
        if most is not None and amount > most[1]:
            path, offered = most
            text = beyond(resource, amount, offered, f"{path}, the largest domain, has")
            return _no(plan_id, facts, PlanResult.INFEASIBLE, text)
    text = allowed.capacity.admits(allowed.wanted, nodes)
    return _no(plan_id, facts, PlanResult.UNSCHEDULABLE, text) if text else None


def _no(plan_id: str, facts: GroupFacts, verdict: PlanResult, message: str) -> Plan:
    return Plan(plan_id, facts.key, verdict, message=message, rejectors=frozenset({GANG_PLUGIN}))


def _kept(plan: Plan, facts: GroupFacts, allowed: AllowedCapacity, before: Nodes) -> Plan:
    """Return what of a plan fits beside the capacity that others have reserved."""
    stay, why = allowed.kept(facts, plan.assignments, before)
    if not stay:
        return _given_up(plan, why)
    return replace(plan, assignments=tuple(stay), message=plan.message or why)


def _post_filtered(plan: Plan, facts: GroupFacts, snapshot: Snapshot, profile: Profile) -> Plan:
    """Ask the PostFilter plugins in order, until one can help.

    Preemption is the engine's own and comes after them.
    """
    said: list[str] = []
    settled = False
    for plugin in profile.post_filter:
        if settled or not decide.implements(plugin, decide.PostFilter):
            continue
        status = asked_status(
            plugin.name, "PostFilter", plugin.post_filter, facts, snapshot, plan.diagnosis
        )
        if status.message:
            said.append(status.message)
        settled = status.code is not Code.UNSCHEDULABLE
    return replace(plan, message=" ".join(filter(None, (plan.message, *said))), settled=settled)


def _rejectors(
    facts: GroupFacts,
    outcome: Outcome,
    diagnoses: Iterable[Diagnosis],
    kinds: Sequence[Kind],
    trial: Trial,
) -> frozenset[str]:
    """Return the plugins whose events may help a group.

    A member that found a node might leave it to another one if it found more nodes; of members that
    were not tried, it is not known what they lack.
    """
    found = outcome.also_rejected_by.union(*(each.plugins for each in diagnoses))
    if len(facts.pending) > 1 and any(pod.spec.holds for pod in facts.pending):
        found |= trial.profile.reads_claims
    for kind in kinds[:MOST_KINDS] if len(kinds) > 1 else ():
        found |= trial.ranking(kind[0]).diagnosis(trial.nodes).plugins
    return found


def _plan(plan_id: str, facts: GroupFacts, outcome: Outcome, trial: Trial, tried: Trial) -> Plan:
    nodes = trial.snapshot.nodes
    first = next(iter(outcome.diagnoses), Diagnosis(nodes=len(nodes)))
    diagnoses = outcome.diagnoses or dict.fromkeys([first], facts.pending[0])
    placed = bool(outcome.placed) and not outcome.failed
    if not placed:
        kinds = kinds_of(facts, trial)
        never = misfits(kinds, outcome, trial)
        text = unplaced(facts, facts.lacking, len(outcome.needed), diagnoses, kinds, never)
        return Plan(
            plan_id,
            facts.key,
            PlanResult.UNSCHEDULABLE,
            diagnosis=first,
            message=" ".join(filter(None, (f"{outcome.lacks}." if outcome.lacks else "", text))),
            rejectors=_rejectors(facts, outcome, diagnoses, kinds, trial),
            pending=frozenset[str]().union(*(each.pending for each in diagnoses)),
            search=outcome.search,
            steps=outcome.steps,
            misfits=never.found,
            domain_full=outcome.domain_full and not any(each.message for each in diagnoses),
        )
    ledgers = tried.ledgers  # looks at all changes
    empty = [pod for pod, _ in outcome.placed if not ledgers.stands(pod)]
    if empty:  # a filter has passed it although nothing satisfies its claims there
        text = f"nothing was found for the claims of {empty[0].key} on the node that was chosen"
        return Plan(plan_id, facts.key, PlanResult.ERROR, message=text)
    left = unplaced(facts, 0, 0, diagnoses, kinds_of(facts, trial)) if outcome.unplaced else ""
    return Plan(
        plan_id,
        facts.key,
        PlanResult.PLACED,
        _assignments(outcome, tried),
        diagnosis=first,
        message=left,
        rejectors=outcome.also_rejected_by.union(*(each.plugins for each in outcome.diagnoses)),
        search=outcome.search,
        steps=outcome.steps,
    )
