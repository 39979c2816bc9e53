# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Advice: settings of a PodGroup that do not count, or not yet."""

from collections.abc import Mapping

from enbloc.engine.events import PriorityClassSeen
from enbloc.framework.facts import GroupFacts


def advise(facts: GroupFacts, classes: Mapping[str, PriorityClassSeen]) -> list[str]:
    """Return what the user of a group should know besides why it waits, each in half a sentence.

    Args:
        facts: the group as it is.
        classes: PriorityClasses by name.
    """
    said = (_raised(facts), _coming(facts), _ignored(facts, classes))
    return [note for note in said if note]


def _raised(facts: GroupFacts) -> str:
    """Return the advice on a minimum raised since the group started (semantics §2.5)."""
    if facts.group is None or not facts.started:
        return ""
    asked = dict(facts.group.floors())
    asked[""] -= sum(floor.minimum for floor in facts.coming)
    later = [
        f"minMember {asked[floor.role]}" + (f" of role {floor.role}" if floor.role else "")
        for floor in facts.floors
        if asked.get(floor.role, 0)
        > (facts.choice.minimum if facts.choice and not floor.role else floor.minimum)
    ]
    needed = {node.name: node.needed for node in facts.choice.tree.nodes()} if facts.choice else {}
    later += [
        f"minGroupCount {node.needed}" + (f" of sub-group {node.name}" if node.name else "")
        for node in (facts.group.structure.nodes() if facts.group.structure else ())
        if node.needed > needed.get(node.name, node.needed)
    ]
    if not later:
        return ""
    verb = "apply" if len(later) > 1 else "applies"
    return f"{' and '.join(later)} {verb} from the next run of the gang on"


def _coming(facts: GroupFacts) -> str:
    """Return the advice on roles that came since the group started, and wait (semantics §2.5)."""
    return ", ".join(
        f"{floor.pending + floor.held} of {floor.minimum} members of role {floor.role} exist, "
        "which are scheduled together"
        for floor in facts.coming
    )


def _ignored(facts: GroupFacts, classes: Mapping[str, PriorityClassSeen]) -> str:
    """Return the advice on a priorityClassName that may not raise priority (semantics §2.6)."""
    name = facts.group.priority_class if facts.group is not None else ""
    named = classes.get(name)
    if named is None or not facts.members or named.value <= facts.priority:
        return ""
    return (
        f"priorityClassName {name} ({named.value}) is ignored: the members' own priority is "
        f"{facts.priority}, and it may only lower that; name the class in the pods, or set "
        "priorityClassRaises: true in the configuration"
    )
