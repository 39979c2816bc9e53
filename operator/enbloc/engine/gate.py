# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gate: whether a group may be tried, and which changes make that worth another look."""

from enbloc.engine.asking import asked
from enbloc.engine.conditions import Saying
from enbloc.engine.members import solo_key
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, Happening
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import Reason


def gate(profile: Profile, group: Group | None, facts: GroupFacts) -> tuple[Saying | None, str]:
    """Why this group may not be tried, None if it may; and which plugin says so, "" = none.

    Where nothing but a change of the group's own can help, no plugin is named.
    """
    if facts.problem:
        return Saying(Reason.INVALID_SPEC, facts.problem), ""
    for plugin in profile.pre_enqueue:
        name = plugin.name if facts.quorum else ""
        try:
            status = asked(plugin.name, "PreEnqueue", plugin.pre_enqueue, group, facts)
        except PluginError as error:
            return Saying(Reason.SCHEDULER_ERROR, str(error)), name
        if not status.ok:
            return Saying(Reason.WAITING_FOR_MEMBERS, status.message), name
    # The quorum is the engine's own rule: no profile can switch it off (gangs.md §2.3).
    return None if facts.quorum else Saying(Reason.WAITING_FOR_MEMBERS, facts.missing()), ""


def own_release(group: GroupKey, happening: Happening) -> bool:
    """A member gave up what was reserved for it: that is no room which was not there before."""
    pod = happening.pod
    if pod is None or pod.node or happening.action is not Action.DELETE:
        return False
    return (pod.group or solo_key(pod)) == group


def group_action(old: Group | None, new: Group) -> Action:
    """What a change of a PodGroup is to those who wait; nothing if it is none to them."""
    if old is None:
        return Action.ADD
    action = Action(0)
    if old.min_member != new.min_member or old.roles != new.roles:
        action |= Action.UPDATE_MINIMUM
    if old.annotations != new.annotations:
        action |= Action.UPDATE_ANNOTATION
    return action


def fingerprint(facts: GroupFacts) -> object:
    """What would make another attempt worthwhile without any event from elsewhere."""
    resources = facts.group.min_resources if facts.group else ()
    floors = tuple((floor.role, floor.deficit) for floor in facts.floors)
    pending = tuple((pod.uid, pod.spec, pod.labels, pod.annotations) for pod in facts.pending)
    return pending, floors, facts.priority, resources
