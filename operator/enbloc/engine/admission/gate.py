# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gate: whether a group may be tried, and which changes of it justify another attempt."""

from enbloc.engine.report import ReasonAndMessage
from enbloc.engine.state import MOST_RUNS
from enbloc.engine.trial import asked_status
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group
from enbloc.model.names import Reason


def gate(
    profile: Profile, group: Group | None, facts: GroupFacts
) -> tuple[ReasonAndMessage | None, str]:
    """Return why this group may not be tried (None = it may), and the plugin that refuses it.

    "" = no plugin: only a change of the group itself can help.
    """
    if facts.problem:
        return ReasonAndMessage(Reason.INVALID_SPEC, facts.problem), ""
    if facts.superseded:
        text = "a newer attempt of its JobSet exists; missing members of this one are not scheduled"
        return ReasonAndMessage(Reason.WAITING_FOR_MEMBERS, text), ""
    if facts.crowded:
        text = f"{MOST_RUNS} runs of this PodGroup are live; waiting for one to end"
        return ReasonAndMessage(Reason.WAITING_FOR_MEMBERS, text), ""
    quorum = facts.quorum and not facts.idle_roles
    for plugin in profile.pre_enqueue:
        name = plugin.name if quorum else ""
        try:
            status = asked_status(plugin.name, "PreEnqueue", plugin.pre_enqueue, group, facts)
        except PluginError as error:
            return ReasonAndMessage(Reason.SCHEDULER_ERROR, str(error)), name
        if not status.ok:
            return ReasonAndMessage(Reason.WAITING_FOR_MEMBERS, status.message), name
    # The quorum is the engine's own rule: no profile can switch it off (semantics §2.3).
    return None if quorum else ReasonAndMessage(Reason.WAITING_FOR_MEMBERS, facts.missing()), ""


def group_action(before: Group | None, group: Group) -> Action:
    """Return what a change of a PodGroup means to waiting groups; 0 = it wakes none."""
    if before is None:
        return Action.ADD
    action = Action(0)
    if _needed(before) != _needed(group):
        action |= Action.UPDATE_MINIMUM
    if before.annotations != group.annotations:
        action |= Action.UPDATE_ANNOTATION
    return action


def _needed(group: Group) -> object:
    minimums = group.min_member, group.roles, group.sub_groups, group.min_group_count
    return *minimums, group.min_resources, group.topology, group.topology_parts


def fingerprint(facts: GroupFacts) -> object:
    """Return a value whose change justifies another attempt without any event from elsewhere."""
    resources = facts.group.min_resources if facts.group else ()
    floors = [(floor.role, floor.deficit) for floor in facts.floors]
    if facts.choice is not None:
        floors += [(floor.role, floor.deficit) for floor in facts.choice.others]
    floors += [(floor.role, floor.deficit) for floor in facts.coming]
    pending = [(pod.uid, pod.spec, pod.role, pod.labels, pod.annotations) for pod in facts.pending]
    # Bound members that it no longer needs may have been in the way of those that it needs.
    return pending, floors, facts.total.bound, facts.priority, resources, facts.locality
