# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which life of a group its members belong to, what is known of that life, and how it ended.

The scheduler tells lives apart and writes them to status.lives; the rest of the status is about the
newest life. The controller may see a life begin, and even end, before the scheduler reports it.
Until the scheduler names the new life, its status is about the previous one and is ignored
(semantics §1, §7.2).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.controller.existence import Creators
from enbloc.controller.members import Member
from enbloc.model.groups import Group, Memory
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase, PodUID
from enbloc.model.runs import count_succeeded, short
from enbloc.model.times import seconds_of


@dataclass(frozen=True, slots=True)
class ConditionState:
    """A condition without its times: `status` is "True", "False" or "Unknown"."""

    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class History:
    """What must be remembered of a group, besides its status, to judge its current life.

    Attributes:
        incarnation: the scheduler's name of the current life; "" = none yet.
        failed: failed pods counted in this life, including pods that are gone.
        owners: UIDs of the owners whose pods were seen in this life.
        over: identities of members whose life is over; None = not determined yet.
    """

    incarnation: str = ""
    failed: int = 0
    owners: frozenset[str] = frozenset()
    over: frozenset[str] | None = None


#: The history of a group that is looked at for the first time.
FIRST_LOOK: Final = History()


@dataclass(frozen=True, slots=True)
class LifeView:
    """A group in its current life: the last one, until another begins.

    Attributes:
        members: all listed members, those of earlier lives too.
        life: the members of the current life.
        creators: the creators of the group's members, by UID.
        owners: UIDs of all owners whose pods were seen in this life.
        succeeded: how many members succeeded in this life, by role.
        failed: how many members failed in this life.
        conditions: the current conditions that are about this life, by type.
        started: the group's minimum has run together in this life.
        over: identities of members of earlier lives.
        incarnation: the scheduler's name of this life; "" = none yet.
    """

    group: Group
    members: Collection[Member]
    life: Collection[Member]
    creators: Creators
    owners: frozenset[str]
    succeeded: Counter[str]
    failed: int
    conditions: Mapping[str, ConditionState]
    started: bool
    over: frozenset[str]
    incarnation: str

    def reaches_floor(self, counts: Counter[str]) -> bool:
        """Whether these counts reach the minimum of the group and of each role."""
        return self.group.reached(counts)

    @property
    def finished(self) -> ConditionState | None:
        """The condition Finished of this life; None = it has not ended."""
        return self.conditions.get(Condition.FINISHED)

    def history(self, end: ConditionState | None) -> History:
        """What to remember for the next look, once the new status is written."""
        over = self.over
        if end is not None:
            over = over | self.owners | set(_identities(self.members).values())
            over |= {self.incarnation} - {""}
        elif self.finished is not None:  # the life continues after all
            over = frozenset()
        return History(self.incarnation, self.failed, self.owners, over)


def look(
    group: Group,
    status: Mapping[str, Any],
    members: Collection[Member],
    creators: Creators,
    history: History,
) -> LifeView:
    """The group in its current life."""
    memory, conditions = group.memory, _standing(status)
    over = _over(status, members, memory.incarnation) if history.over is None else history.over
    its = _identities(members)
    earlier = over | {name for life in memory.lives[:-1] for name in life.identities}
    earlier -= set(memory.lives[-1].identities if memory.lives else ())
    life: Collection[Member] = [member for member in members if its[member.uid] not in earlier]
    named = memory.incarnation not in {"", *over}
    heard = named or not memory.incarnation
    begins = named and history.incarnation not in ("", memory.incarnation)
    if Condition.FINISHED in conditions:
        begins, heard = bool(life) or named, named
        if begins:
            del conditions[Condition.FINISHED]
        else:
            life, heard = members, True
    if not heard:
        memory, conditions = Memory(), {}
    life = _present(life, memory.incarnation)
    owners = frozenset(member.owner for member in life if member.owner)
    failed = sum(member.phase is Phase.FAILED for member in life)
    return LifeView(
        group=group,
        members=members,
        life=life,
        creators=creators,
        owners=owners if begins else owners | (history.owners & creators.keys()),
        succeeded=count_succeeded(
            Counter(member.role for member in life if member.phase is Phase.SUCCEEDED), memory
        ),
        failed=failed if begins else max(failed, history.failed),
        conditions=conditions,
        started=memory.started is not None,
        over=over,
        incarnation=memory.incarnation or ("" if begins else history.incarnation),
    )


def how_it_ended(view: LifeView) -> ConditionState | None:
    """How the current life ended; None while it has not (semantics §7.2).

    The Jobs that own members decide; members without a controller must all have finished. Other
    owners never end: they create pods for as long as they exist. A Job's own owner, such as a
    JobSet, is not read, as each kind would need a permission: the end of its Jobs is the end of
    this life, and a Job that it starts again begins another life.
    """
    if any(member.live for member in view.life):
        return None
    if view.finished is not None:
        return view.finished
    ends = [view.creators[uid].ended if uid in view.creators else None for uid in view.owners]
    bare = [member for member in view.life if member.bare]
    if not (ends or bare) or None in ends or not all(member.finished for member in bare):
        return None
    good = all(ends) and (not bare or view.reaches_floor(view.succeeded))
    words = f"{view.succeeded.total()} members succeeded, {view.failed} failed"
    return ConditionState("True", Reason.SUCCEEDED if good else Reason.FAILED, words)


def finished(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The condition Finished of a status, if it is True; else None."""
    found = (c for c in status.get("conditions") or () if c["type"] == Condition.FINISHED)
    return next((condition for condition in found if condition["status"] == "True"), None)


def _standing(status: Mapping[str, Any]) -> dict[str, ConditionState]:
    return {
        item["type"]: ConditionState(item["status"], item["reason"], item.get("message") or "")
        for item in status.get("conditions") or ()
        if item["type"] != Condition.FINISHED or item["status"] == "True"
    }


def _over(
    status: Mapping[str, Any], members: Collection[Member], incarnation: str
) -> frozenset[str]:
    """Whose life is over, by the status alone: members created before condition Finished."""
    end = finished(status)
    if end is None:
        return frozenset()
    since = seconds_of(end.get("lastTransitionTime") or "") or 0.0
    its = _identities(members)
    old = {its[member.uid] for member in members if member.created <= since}
    new = set(its.values()) - old
    return frozenset(old | ({incarnation} - new - {""}))


def _identities(members: Collection[Member]) -> dict[PodUID, str]:
    """The identity that ties each member to a life; without a controller, its own UID.

    A member whose controller is another member has that member's identity, as Spark's executors
    have their driver's.
    """
    own = {member.uid: short(member.incarnation) or member.uid for member in members}
    return {
        member.uid: own.get(PodUID(member.owner), own[member.uid]) if member.owner else member.uid
        for member in members
    }


def _present(members: Collection[Member], incarnation: str) -> Collection[Member]:
    """The live members, and those created no earlier than the first one of this incarnation.

    A pod without a controller carries no identity, so its creation time tells an earlier life.
    """
    start = min((m.created for m in members if incarnation in (m.uid, m.incarnation)), default=0.0)
    return [m for m in members if m.live or m.created >= start] if incarnation else members
