# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which life of a group its members belong to, what is known of it, and how it ended.

The scheduler tells lives apart, and writes them to status.lives; what status tells is about the
newest. The controller may see a life begin, and even end, before the scheduler says so; then what
the scheduler says is about the one before, and is not heard until it names another (semantics §1,
§7.2).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.controller.existence import Creators
from enbloc.controller.members import Member
from enbloc.model.groups import Group, Memory
from enbloc.model.incarnation import count_succeeded, short
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase, PodUID
from enbloc.model.times import seconds_of


@dataclass(frozen=True, slots=True)
class ConditionState:
    """A condition without its times: `status` is "True", "False" or "Unknown"."""

    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class History:
    """What must be known of a group's past, beside its status, to read its present.

    Attributes:
        incarnation: what the scheduler called the present life; "" = nothing yet.
        failed: failures counted in it, some of pods gone since.
        owners: UIDs of the owners whose pods were seen in it.
        over: identities of members whose life is over; None = nobody has looked yet.
    """

    incarnation: str = ""
    failed: int = 0
    owners: frozenset[str] = frozenset()
    over: frozenset[str] | None = None


#: Nothing was seen before.
FIRST_LOOK: Final = History()


@dataclass(frozen=True, slots=True)
class LifeView:
    """A group in its present life; the last one while no other has begun.

    Attributes:
        members: all that are listed, of earlier lives too.
        life: those of the present life.
        creators: what makes members of the group, by UID.
        owners: UIDs of all owners whose pods were seen in this life.
        succeeded: members that succeeded in it, by role.
        failed: members that failed in it.
        conditions: those that stand and are about it, by type.
        started: the floor has run together in it.
        over: identities of members of earlier lives.
        incarnation: what the scheduler calls it; "" = nothing yet.
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
        """Whether these members are the minimum of the group and of each role."""
        return self.group.reached(counts)

    @property
    def finished(self) -> ConditionState | None:
        """The verdict about this life that stands."""
        return self.conditions.get(Condition.FINISHED)

    def history(self, end: ConditionState | None) -> History:
        """What to remember of this look, once what follows from it was written."""
        over = self.over
        if end is not None:
            over = over | self.owners | set(_identities(self.members).values())
            over |= {self.incarnation} - {""}
        elif self.finished is not None:  # it goes on after all
            over = frozenset()
        return History(self.incarnation, self.failed, self.owners, over)


def look(
    group: Group,
    status: Mapping[str, Any],
    members: Collection[Member],
    creators: Creators,
    history: History,
) -> LifeView:
    """The group in its present life."""
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
    """How the present life ended, or None while it has not (semantics §7.2).

    The Jobs that own members decide; for members without a controller, that all of them finished.
    Other owners are never done: they create pods for as long as they exist. What stands above a
    Job, as a JobSet does, is not asked, since that takes a permission per kind: its Jobs' end is
    the end of this life, and one that it starts anew is another.
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
    """The condition by which a status says that the group ended; None if it does not."""
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
    """Whose life is over, for one who was not there: those created before condition Finished."""
    end = finished(status)
    if end is None:
        return frozenset()
    since = seconds_of(end.get("lastTransitionTime") or "") or 0.0
    its = _identities(members)
    old = {its[member.uid] for member in members if member.created <= since}
    new = set(its.values()) - old
    return frozenset(old | ({incarnation} - new - {""}))


def _identities(members: Collection[Member]) -> dict[PodUID, str]:
    """What says of which life each member is; without a controller, nothing but itself.

    A member that another one controls is of its life, as Spark's executors are of their driver's.
    """
    own = {member.uid: short(member.incarnation) or member.uid for member in members}
    return {
        member.uid: own.get(PodUID(member.owner), own[member.uid]) if member.owner else member.uid
        for member in members
    }


def _present(members: Collection[Member], incarnation: str) -> Collection[Member]:
    """The live members, and those created since the first one of this incarnation was.

    A pod without a controller carries no identity, so an earlier life is told by its time.
    """
    start = min((m.created for m in members if incarnation in (m.uid, m.incarnation)), default=0.0)
    return [m for m in members if m.live or m.created >= start] if incarnation else members
