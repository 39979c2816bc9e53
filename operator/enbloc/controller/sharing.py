# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether unrelated controllers create members of one PodGroup."""

import math
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from enbloc.controller.creators import Creator
from enbloc.controller.members import Member
from enbloc.model.groups import Group
from enbloc.model.names import AUTO_GROUP_KEY

_MOST_NAMED: Final = 3


class Sharing(NamedTuple):
    """The unrelated creators of one PodGroup's members, and the warning for its user.

    Attributes:
        sources: the creators, each as "KIND/NAME" of its own controller, or as its UID.
        note: one sentence with the fix.
    """

    sources: frozenset[str]
    note: str


def sharing(
    group: Group,
    members: Collection[Member],
    creators: Mapping[str, Creator],
    gathered: float = math.inf,
) -> Sharing | None:
    """Who shares a PodGroup, or did until its minimum was bound; None = nobody, or intentionally.

    Sharing is intentional if a controller owns the PodGroup (but only its own runs share a
    CronJob's, and nobody a Job's), or if each creator makes a role of its own. Source: semantics
    §7.4.

    Args:
        group: the PodGroup.
        members: its pods.
        creators: what creates them, by UID.
        gathered: when its minimum was first bound, seconds since the epoch; later members are not
            part of that gang.
    """
    if group.owner.partition("/")[0] not in ("", "CronJob", "Job"):
        return None
    live = {member.controller for member in members if member.live and member.created <= gathered}
    sources: dict[str, Creator] = {}
    for uid in sorted(live & creators.keys()):
        creator = creators[uid]
        if creator.ended is None:
            above = f"{creator.above_kind}/{creator.above_name}" if creator.above_kind else uid
            sources.setdefault(above, creator)
    roles = {creator.role for creator in sources.values()}
    apart = len(roles) == len(sources) and roles <= {role.name for role in group.roles}
    if len(sources) < 2 or apart:
        return None
    titles = sorted(_source(creator) for creator in sources.values())
    named = titles if len(titles) <= _MOST_NAMED else titles[:_MOST_NAMED]
    more = len(titles) - len(named)
    listed = [*named, f"{more} more"] if more else named
    return Sharing(
        frozenset(sources),
        f"{', '.join(listed[:-1])} and {listed[-1]} create members of this PodGroup: one that "
        "has the minimum alone is a gang of its own, and the others count as one gang; give each a "
        "PodGroup of its own (for Jobs: remove the key that names this one from the pod templates, "
        f'and add the label {AUTO_GROUP_KEY}: "true" there) or, if they are one gang, list a role '
        "for each in spec.roles",
    )


def _source(creator: Creator) -> str:
    """The name for users of a creator, or of its own controller if it has one."""
    if creator.above_kind:
        return f"{creator.above_kind} {creator.above_name}"
    return creator.title
