# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a group's missing members can ever exist, and which Jobs a repair could make fail."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from enbloc.controller.creators import Creator
from enbloc.controller.members import Member
from enbloc.controller.sources.source import LARGEST
from enbloc.model.groups import Group, OnIncomplete
from enbloc.wire.auto_groups import JOB_SET

Creators = Mapping[str, Creator]
"""What makes the members of one group, by UID."""

_MOST_NAMED = 3
_FORGIVE = "let spec.podFailurePolicy ignore pods with condition DisruptionTarget"


def of_role(counts: Counter[str], role: str) -> int:
    """How many members count for this role's minimum; role "" = the group's, where all count."""
    return counts[role] if role else counts.total()


def cannot_exist(
    group: Group, members: Collection[Member], succeeded: Counter[str], creators: Creators
) -> str:
    """Why the missing members can never exist, with the fix; "" = they can.

    Told only if all creators of members are known: a pod without a controller, or a controller of
    another kind, may add others at any time. The Jobs of a JobSet are known once its PodGroup's
    minimum, which counts all of their pods, leaves none to be created. Source: semantics §5.2.
    """
    live = [member for member in members if member.live]
    controllers = {member.controller for member in members}
    present = [c for c in creators.values() if c.ended is None or c.uid in controllers]
    known = all(c.understood or _of_job_set(group, c) for c in present)
    known = known and all(m.controller in creators for m in live)
    makers = [c for c in present if not c.idle or c.uid in controllers]
    if not known or not makers:
        return ""
    has, ready = Counter(m.controller for m in live), Counter(m.controller for m in live if m.ready)
    room = {c.uid: c.room(has[c.uid], ready[c.uid]) for c in makers}
    exist = Counter(m.role for m in live) + succeeded
    never: dict[str, str] = {}
    for role, minimum in group.floors():
        part = [c for c in makers if role in ("", c.role)]
        done = max(of_role(succeeded, role), sum(c.succeeded for c in part))
        most = done + sum(room[c.uid] for c in part)
        alone = all(c.understood for c in part)
        if not alone and sum(c.span for c in part) < minimum:  # a Job is yet to be created
            continue
        if part and of_role(exist, role) < minimum and most < minimum:
            limits = [c for c in part if c.understood or room[c.uid] + c.succeeded < c.span]
            why = _why(limits, room, minimum - most)
            count = f"{of_role(exist, role)} of {minimum} members exist"
            where = f"role {role}: " if role else ""
            field = f"the minMember of role {role}" if role else "spec.minMember"
            lower = f", or lower {field} to {most}" if most and alone else ""
            never[role] = f"{where}{count}, at most {most} can: {why}{lower}"
    tree = group.tree
    enough = "" not in never and tree is not None and tree.holds(lambda role: role not in never)
    return "" if enough else next(iter(never.values()), "")


def _of_job_set(group: Group, creator: Creator) -> bool:
    """Whether it is a Job that the PodGroup made for a JobSet counts, and goes on or is complete.

    One that failed may be started again by the JobSet.
    """
    made = group.derived and group.owner.startswith(f"{JOB_SET}/")
    return made and creator.of_job_set and creator.ended is not False


def _why(creators: Iterable[Creator], room: Mapping[str, int], lacking: int) -> str:
    """What limits these creators; those that can have no pod at all come last."""
    order = sorted(creators, key=lambda c: (room[c.uid] == 0, c.title))
    texts = dict.fromkeys(f"{c.title}: {c.bound_by(room[c.uid], lacking)}" for c in order)
    return ", or ".join(list(texts)[:_MOST_NAMED])


def at_once(
    group: Group, members: Collection[Member], creators: Creators, seen: Collection[str]
) -> int | None:
    """How many members their creators can run at the same time from now on; None = unknown.

    A creator that is suspended or scaled to zero may have pods again before this is next read, so
    its current count is ignored: only the remaining completions of a Job limit it.

    Args:
        group: the PodGroup.
        members: those of the current run.
        creators: the creators of the group's members, by UID.
        seen: UIDs of the controllers that have had pods in this run: one of two Jobs that are
            resumed has none yet.
    """
    live = {member.controller for member in members if member.live}
    makers = [c for c in creators.values() if c.ended is None and (not seen or c.uid in seen)]
    if not makers or not all(c.understood for c in makers) or not live <= creators.keys():
        return None
    return min(LARGEST, sum(_runs(c, group.min_member) for c in makers))


def _runs(creator: Creator, whole: int) -> int:
    """How many pods a creator can run at the same time from now on; `whole` = no limit is known."""
    paused = creator.suspended or not creator.pods
    bounds = [] if paused else [creator.pods]
    if creator.left is not None:
        bounds.append(creator.left)
    return min(bounds, default=whole)


def suspended(creators: Creators) -> str:
    """A sentence that names the Jobs without pods because they are suspended; "" = none."""
    names = sorted(c.title for c in creators.values() if c.suspended and c.ended is None)
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names[:_MOST_NAMED])}{more} {verb} suspended"


def fragile(group: Group, creators: Creators) -> Iterator[tuple[Creator, str]]:
    """Jobs that one repair of this gang could make fail, each with its warning.

    Each pod that a repair deletes counts against a Job's backoffLimit and backoffLimitPerIndex,
    unless its podFailurePolicy ignores DisruptionTarget. With `Keep` nothing is deleted. Source:
    semantics §4.5.
    """
    if group.least < 2 or group.on_incomplete is OnIncomplete.KEEP:
        return
    for creator in creators.values():
        limit, size = creator.backoff_limit, min(creator.span, group.least)
        if creator.ended is not None:
            continue
        if limit is not None and limit < size:
            note = (
                f"{creator.title}: spec.backoffLimit is {limit}, but a repair of this gang may "
                f"delete {size} of its pods, and each counts against it; raise it to {size}, or "
                f"{_FORGIVE}"
            )
            yield creator, note
        elif size and creator.index_limit == 0:
            note = (
                f"{creator.title}: spec.backoffLimitPerIndex is 0, but a repair of this gang may "
                f"delete {size} of its pods, and the index of each fails for good; recreate it "
                f"with 1 or more, or {_FORGIVE}"
            )
            yield creator, note
