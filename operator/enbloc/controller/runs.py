# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which run of a group its members belong to, what is known of that run, and how it ended.

The scheduler tells runs apart and writes them to status.runs; the rest of the status is about the
newest run. The controller may see a run begin, and even end, before the scheduler reports it.
Until the scheduler names the new run, its status is about the previous one and is ignored
(semantics §1, §7.2).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.controller.creators import Creator
from enbloc.controller.existence import Creators
from enbloc.controller.members import Member
from enbloc.model.groups import Group, GroupMemory
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
class RunHistory:
    """What must be remembered of a group, besides its status, to judge its current run.

    Attributes:
        run_name: the scheduler's name of the current run; "" = none yet.
        failed: failed pods counted in this run, including pods that are gone.
        controllers: UIDs of the controllers whose pods were seen in this run, or are named in it.
        over: owners whose run is over, of listed members and of runs that the scheduler may
            still name; None = not determined yet.
    """

    run_name: str = ""
    failed: int = 0
    controllers: frozenset[str] = frozenset()
    over: frozenset[str] | None = None


#: The history of a group that is looked at for the first time.
FIRST_LOOK: Final = RunHistory()


@dataclass(frozen=True, slots=True)
class RunView:
    """A group in its current run: the last one, until another begins.

    Attributes:
        members: all listed members, those of earlier runs too.
        current: the members of the current run.
        creators: the creators of the group's members, by UID.
        controllers: UIDs of all controllers whose pods were seen in this run, and of those that are
            known by the owners that the scheduler names.
        succeeded: how many members succeeded in this run, by role.
        failed: how many members failed in this run.
        conditions: the current conditions that are about this run, by type.
        started: the group's minimum has run together in this run.
        over: owners of members of earlier runs.
        run_name: the scheduler's name of this run; "" = none yet.
    """

    group: Group
    members: Collection[Member]
    current: Collection[Member]
    creators: Creators
    controllers: frozenset[str]
    succeeded: Counter[str]
    failed: int
    conditions: Mapping[str, ConditionState]
    started: bool
    over: frozenset[str]
    run_name: str

    def reaches_floor(self, counts: Counter[str]) -> bool:
        """Whether these counts reach the minimum of the group and of each role."""
        return self.group.reached(counts)

    @property
    def finished(self) -> ConditionState | None:
        """The condition Finished of this run; None = it has not ended."""
        return self.conditions.get(Condition.FINISHED)

    def history(self, end: ConditionState | None) -> RunHistory:
        """What to remember for the next look, once the new status is written."""
        over = self.over
        if end is not None:
            if self.finished is None and self.group.memory.run_name == self.run_name:
                over = frozenset()  # the scheduler will not name a run before this one again
            over = over | self.controllers | set(_owners(self.members).values())
            over |= {self.creators[uid].owner for uid in self.controllers & self.creators.keys()}
            over |= {self.run_name} - {""}
        elif self.finished is not None:  # the run goes on after all
            over = frozenset()
        return RunHistory(self.run_name, self.failed, self.controllers, over)


def look(
    group: Group,
    status: Mapping[str, Any],
    members: Collection[Member],
    creators: Creators,
    history: RunHistory,
) -> RunView:
    """The group in its current run."""
    memory, conditions = group.memory, _standing(status)
    over = _over(status, members, memory) if history.over is None else history.over
    owners = _owners(members)
    before = {name for run in memory.runs[:-1] for name in run.owners} - set(_named(memory))
    earlier = (over - set(_named(memory))) | before
    named = memory.run_name not in {"", *over}
    # The newest run in status may be over, too, until a member of another owner comes.
    current = _outside(earlier if named else earlier | over, members, owners)
    heard = named or not memory.run_name
    begins = named and history.run_name not in ("", memory.run_name)
    if Condition.FINISHED in conditions:
        begins, heard = bool(current) or named, named
        if begins:
            del conditions[Condition.FINISHED]
        else:
            heard = True
            current = _outside(earlier, members, owners) if memory.runs else members
    if not heard:
        memory, conditions = GroupMemory(), {}
    current = _present(current, memory, owners)
    controllers = frozenset(member.controller for member in current if member.controller)
    others = ({member.controller for member in members} - controllers) | before
    controllers |= _named_controllers(memory, creators)
    failed = sum(member.phase is Phase.FAILED for member in current)
    return RunView(
        group=group,
        members=members,
        current=current,
        creators=creators,
        controllers=controllers
        if begins
        else controllers | ((history.controllers & creators.keys()) - others),
        succeeded=count_succeeded(
            Counter(member.role for member in current if member.phase is Phase.SUCCEEDED), memory
        ),
        failed=failed if begins else max(failed, history.failed),
        conditions=conditions,
        started=memory.started is not None,
        over=over,
        run_name=memory.run_name or ("" if begins else history.run_name),
    )


def how_it_ended(view: RunView) -> ConditionState | None:
    """How the current run ended; None while it has not (semantics §7.2).

    The controllers of members decide: Jobs, and the workloads in `sources/ends.py`. A controller of
    another kind goes on for as long as it exists, unless the workload that controls the PodGroup
    has ended. A member that controls others, as Spark's driver does, ends with its own controller.
    Members without a controller must all have finished. The end of a JobSet counts where it left no
    Job whose end is known; otherwise the end of its Jobs is the end of this run, and a Job that it
    starts again begins another run.
    """
    if any(member.live for member in view.current):
        return None
    if view.finished is not None:
        return view.finished
    above = view.creators.get(view.group.owner_uid)
    over = None if above is None else above.ended
    pods = {member.uid for member in view.members} - view.creators.keys()
    ends = _ends(view.controllers - pods, view.creators, over)
    if over is not None and not ends:  # all that it created is gone
        ends.append(over)
    bare = [member for member in view.current if member.bare]
    if not (ends or bare) or None in ends or not all(member.finished for member in bare):
        return None
    good = all(ends) and (not bare or view.reaches_floor(view.succeeded))
    words = f"{view.succeeded.total()} members succeeded, {view.failed} failed"
    return ConditionState("True", Reason.SUCCEEDED if good else Reason.FAILED, words)


def _ends(
    controllers: Iterable[str], creators: Creators, unknown: bool | None
) -> list[bool | None]:
    """How the controllers of a run ended; None = goes on.

    Of those of one kind and name, only one exists at a time: the last one created decides.
    """
    ends: list[bool | None] = []
    known: defaultdict[tuple[str, str], list[Creator]] = defaultdict(list)
    for uid in controllers:
        creator = creators.get(uid)
        if creator is None:
            ends.append(unknown)
        else:
            known[creator.kind, creator.name].append(creator)
    for each in known.values():
        goes_on = any(creator.ended is None for creator in each)
        last = max(each, key=lambda creator: (creator.created, creator.ended is True))
        ends.append(None if goes_on else last.ended)
    return ends


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
    status: Mapping[str, Any], members: Collection[Member], memory: GroupMemory
) -> frozenset[str]:
    """Whose run is over, by the status alone: members created before condition Finished."""
    end = finished(status)
    if end is None:
        return frozenset()
    since = seconds_of(end.get("lastTransitionTime") or "") or 0.0
    owners = _owners(members)
    old = {owners[member.uid] for member in members if member.created <= since}
    new = set(owners.values()) - old
    if any((run.queue_time or 0.0) > since for run in memory.runs[-1:]):
        new.add(memory.run_name)  # all of its members may be gone
    return frozenset(old | ({memory.run_name} - new - {""}))


def _named(memory: GroupMemory) -> Collection[str]:
    """The owners of the newest run, as the scheduler names them."""
    return memory.runs[-1].owners if memory.runs else ()


def _named_controllers(memory: GroupMemory, creators: Creators) -> frozenset[str]:
    """The controllers of its members; all their pods may be gone before anybody looks."""
    named = {memory.run_name, *_named(memory)}
    return frozenset(
        uid
        for uid, creator in creators.items()
        if creator.owner in named and (creator.pods or creator.ended is not None)
    )


def _outside(
    names: Container[str], members: Collection[Member], owners: Mapping[PodUID, str]
) -> Collection[Member]:
    """The members of other owners than these."""
    return [member for member in members if owners[member.uid] not in names]


def _owners(members: Collection[Member]) -> dict[PodUID, str]:
    """The owner that ties each member to a run; without a controller, its own UID.

    A member whose controller is another member has that member's owner, as Spark's executors
    have their driver's.
    """
    own = {member.uid: short(member.owner_key) or member.uid for member in members}
    return {
        member.uid: own.get(PodUID(member.controller), own[member.uid])
        if member.controller
        else member.uid
        for member in members
    }


def _present(
    members: Collection[Member], memory: GroupMemory, owners: Mapping[PodUID, str]
) -> Collection[Member]:
    """The live members, and those created no earlier than the first one of this run.

    A pod without a controller has no owner, so its creation time tells an earlier run. If all
    members of this run are gone, its place in the queue does.
    """
    if not memory.run_name:
        return members
    named = {memory.run_name, *_named(memory)}
    own = [m for m in members if m.uid == memory.run_name or owners[m.uid] in named]
    queued = memory.runs[-1].queue_time if memory.runs else None
    start = min((m.created for m in own), default=queued or 0.0)
    return [m for m in members if m.live or m.created >= start]
