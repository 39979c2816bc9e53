# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Promises: the room that admitted groups may still claim, kept from those ordered later.

A promise is what is left of a group's minResources once its owner's held members are counted::

    admitted ──► OPEN ──what is left reaches nothing──► gone (filled)
                 │  ▲
      no progress│  │progress      finished, evicted or deleted: gone from either
                 ▼  │
               EXPIRED

What is left is kept whole, whatever room there is; what *stands* of it is cut to the room that is
free, in the order of the holders. So a group ordered earlier takes room without asking, and the
last promises by order are revoked, so far as room is lacking and no further; what returns goes to
them before it goes to anyone ordered later. Nothing here remembers a clock that the API server does
not: a new process that reviews every admitted group has the same promises.

Source: gangs.md §5.1.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from enbloc.engine.explain import short_of
from enbloc.engine.plan import Assignment
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.quantity import render

#: A place in the order of groups: smaller goes first, and no two groups have the same one.
Order = tuple[Any, ...]

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """What one group is owed, as far as it is known at a review or a decision.

    Attributes:
        owner: UID of its controller, for groups share promises by it; the group's own name where it
            has none.
        order: its place in the order of gangs.md §2.7.
        wanted: its minResources, `(resource, amount)`.
        held: what the held members of *all* groups of the owner request: bound ones, ones with a
            reservation, and those that succeeded.
        progress_at: server time at which the owner got further as far as the API server tells: its
            latest PodScheduled=True; the present while the group is being admitted.
        timeout: seconds without progress after which the promise is over.
    """

    group: GroupKey
    owner: str
    order: Order
    wanted: tuple[tuple[str, int], ...] = ()
    held: Mapping[str, int] = field(default_factory=dict)
    progress_at: float = 0.0
    timeout: float = 0.0

    @property
    def due(self) -> Counter[str]:
        """What it may still claim, per resource; only what is above zero."""
        return Counter(dict(self.wanted)) - Counter(self.held)


@dataclass(slots=True)
class _Promise:
    """What is left of one group's claim.

    Attributes:
        least: the smallest that `due` ever was, per resource: below it is progress.
        open: not expired.
        whole: all of it stood when somebody asked last.
    """

    claim: Claim
    due: Counter[str]
    least: Counter[str]
    progress_at: float
    open: bool
    whole: bool = True

    @property
    def deadline(self) -> float:
        return self.progress_at + self.claim.timeout

    def update(self, claim: Claim, due: Counter[str], now: float) -> None:
        if claim.wanted != self.claim.wanted:  # to want less is no progress
            self.least = due
        elif any(due[resource] < amount for resource, amount in self.least.items()):
            self.progress_at, self.open = now, True
        self.claim, self.due, self.least = claim, due, self.least & due


class Promises:
    """Every promise, by the group that holds it.

    Attributes:
        happenings: promises that ended or grew smaller other than by being filled, so that those
            who were refused because of them can be tried again; the engine drains it.
    """

    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self._promises: dict[GroupKey, _Promise] = {}

    def __bool__(self) -> bool:
        """Anybody holds a promise; if not, nothing here needs to be asked."""
        return bool(self._promises)

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def review(self, claim: Claim, now: float) -> None:
        """Look again at what is left to an admitted group; the first review makes the promise.

        It must not be called for a group that was not admitted.
        """
        due = claim.due
        known = self._promises.get(claim.group)
        if known is not None and known.open and _terms(known.claim) != _terms(claim):
            self._give_back(claim.group)
        if not due:
            self._promises.pop(claim.group, None)
        elif known is None:
            fresh = now < claim.progress_at + claim.timeout
            self._promises[claim.group] = _Promise(claim, due, due, claim.progress_at, fresh)
        else:
            known.update(claim, due, now)

    def drop(self, group: GroupKey) -> None:
        """A group has nothing to claim any more: finished, gone, evicted, or never admitted."""
        promise = self._promises.pop(group, None)
        if promise is not None and promise.open:
            self._give_back(group)

    def expire(self, now: float) -> list[GroupKey]:
        """End the promises that saw no progress for too long; whose they were, in order."""
        over = [promise for promise in self._open() if promise.deadline <= now]
        for promise in over:
            promise.open = False
            self._give_back(promise.claim.group)
        return [promise.claim.group for promise in over]

    def deadline(self) -> float | None:
        """When the next promise expires unless there is progress, server seconds; None = never."""
        return min((promise.deadline for promise in self._open()), default=None)

    def deadline_of(self, group: GroupKey) -> float | None:
        """When this group's promise expires; None = it holds none, or it has expired."""
        promise = self._promises.get(group)
        return promise.deadline if promise is not None and promise.open else None

    def _give_back(self, group: GroupKey) -> None:
        self.happenings.append(
            Happening(Resource.POD_GROUP, Action.UPDATE_MINIMUM, group=group),
        )

    # ── what others may take ─────────────────────────────────────────────────────────────────

    def admits(self, claim: Claim, nodes: Nodes) -> str:
        """Whether the room that a group wants before any member starts is there, and is its own.

        Args:
            claim: of a group that is not admitted yet.
            nodes: the cluster as the group sees it.

        Returns:
            "", or a sentence that names what is lacking, and who was promised it.
        """
        due = claim.due
        if not due:
            return ""
        room = self._room(claim, nodes, tuple(sorted(due)))
        for resource, left in room.items():
            if due[resource] > left:
                free = max(0, free_room(nodes, (resource,))[resource])
                return short_of(resource, due[resource], free) + self._whose(claim, resource)
        return ""

    def kept(
        self, claim: Claim, assignments: Sequence[Assignment], nodes: Nodes
    ) -> tuple[Sequence[Assignment], str]:
        """What of a plan leaves alone the room that others were promised.

        Args:
            claim: of the group that is planned.
            assignments: the plan's; needed members stay all or none, of the others those that fit.
            nodes: the cluster as the group sees it, without the plan.

        Returns:
            The assignments that stay, and why the others cannot; "" when all do.
        """
        before = self._before(claim.owner, claim.order)
        if not before:
            return assignments, ""
        room = self._room(claim, nodes, tuple(sorted(before)))
        needed: Counter[str] = Counter()
        for assignment in assignments:
            if assignment.needed:
                needed.update(dict(assignment.pod.spec.requests))
        for resource, left in room.items():
            if needed[resource] > max(0, left):
                return (), self._refusal(claim, resource, needed[resource], nodes)
            room[resource] -= needed[resource]
        stay: list[Assignment] = []
        refusal = ""
        for assignment in assignments:
            asked = {} if assignment.needed else dict(assignment.pod.spec.requests)
            lacking = next((r for r, left in room.items() if 0 < asked.get(r, 0) > left), "")
            if lacking:
                refusal = refusal or self._refusal(claim, lacking, asked[lacking], nodes)
                continue
            stay.append(assignment)
            for resource in room:
                room[resource] -= asked.get(resource, 0)
        return stay, refusal

    def _room(self, claim: Claim, nodes: Nodes, resources: tuple[str, ...]) -> dict[str, int]:
        """How much of each resource a group may take.

        That is what is free and not promised to others ordered before it; and in any case what is
        left of its owner's own earlier promises, in the place that these have in the order.
        """
        free = free_room(nodes, resources)
        before = self._before(claim.owner, claim.order)
        room = {resource: amount - before[resource] for resource, amount in free.items()}
        for promise in self._open():
            if promise.claim.owner == claim.owner and promise.claim.order < claim.order:
                before = self._before(claim.owner, promise.claim.order)
                for resource, amount in free.items():
                    own = min(promise.due[resource], amount - before[resource])
                    room[resource] = max(room[resource], own)
        return room

    def _before(self, owner: str, order: Order) -> Counter[str]:
        """What others ordered before are due; groups of one owner share the largest of theirs."""
        owed: dict[str, Counter[str]] = {}
        for promise in self._open():
            other = promise.claim.owner
            if other != owner and promise.claim.order < order:
                owed[other] = owed.get(other, Counter()) | promise.due
        total: Counter[str] = Counter()
        for due in owed.values():
            total.update(due)
        return total

    def _open(self) -> list[_Promise]:
        """Those that have not expired, the earliest by order first."""
        found = [promise for promise in self._promises.values() if promise.open]
        return sorted(found, key=lambda promise: promise.claim.order)

    # ── what stands ──────────────────────────────────────────────────────────────────────────

    def open_claims(self) -> tuple[Claim, ...]:
        """Of those who hold a promise that has not expired, the earliest by order first."""
        return tuple(promise.claim for promise in self._open())

    def holders(self, owner: str) -> list[GroupKey]:
        """The groups of an owner that hold promises: what a member of its asks concerns them."""
        return [key for key, promise in self._promises.items() if promise.claim.owner == owner]

    def standing(self, nodes: Nodes) -> dict[GroupKey, Counter[str]]:
        """What stands of each open promise, the earliest by order first.

        Together it never exceeds what is free: earlier ones are served first, and what groups of
        one owner were promised is counted once.
        """
        promises = self._open()
        resources = sorted({resource for promise in promises for resource in promise.due})
        free = free_room(nodes, tuple(resources)) if resources else {}
        room = {resource: max(0, amount) for resource, amount in free.items()}
        served: dict[str, Counter[str]] = {}
        found: dict[GroupKey, Counter[str]] = {}
        for promise in promises:
            have = served.setdefault(promise.claim.owner, Counter())
            for resource, amount in (promise.due - have).items():
                more = min(amount, room[resource])
                room[resource] -= more
                have[resource] += more
            found[promise.claim.group] = promise.due & have
        return found

    def revoked(self, nodes: Nodes) -> list[GroupKey]:
        """Whose promises do not stand whole any more, the last by order first.

        Each is named once, until it has stood whole again.
        """
        standing = self.standing(nodes)
        found: list[GroupKey] = []
        for promise in reversed(self._open()):
            whole = standing[promise.claim.group] == promise.due
            if promise.whole and not whole:
                found.append(promise.claim.group)
            promise.whole = whole
        return found

    def check(self, nodes: Nodes) -> None:
        """Assert the law: what is requested and what stands promised is within what is offered.

        Raises:
            AssertionError: an invariant is broken.
        """
        standing = self.standing(nodes)
        by_owner: dict[str, Counter[str]] = {}
        for key, amounts in standing.items():
            promise = self._promises[key]
            assert promise.due == promise.claim.due, f"{key}: what is left was not counted anew"
            assert promise.due, f"{key}: a filled promise was kept"
            owner = promise.claim.owner
            by_owner[owner] = by_owner.get(owner, Counter()) | amounts
        for resource in {resource for amounts in standing.values() for resource in amounts}:
            promised = sum(amounts[resource] for amounts in by_owner.values())
            requested = int(nodes.requested(resource).sum())
            offered = int(nodes.allocatable(resource).sum())
            assert requested + promised <= offered, (
                f"{resource}: {requested} requested and {promised} promised of {offered}"
            )

    # ── words ────────────────────────────────────────────────────────────────────────────────

    def _refusal(self, claim: Claim, resource: str, asked: int, nodes: Nodes) -> str:
        free = max(0, free_room(nodes, (resource,))[resource])
        return (
            f"{render(resource, asked)} {resource} asked for, {render(resource, free)} free in the "
            f"cluster{self._whose(claim, resource)}"
        )

    def _whose(self, claim: Claim, resource: str) -> str:
        """Who was promised a resource before this group; "" = nobody."""
        amount = self._before(claim.owner, claim.order)[resource]
        if not amount:
            return ""
        names = [
            str(promise.claim.group)
            for promise in self._open()
            if promise.claim.owner != claim.owner
            and promise.claim.order < claim.order
            and promise.due[resource]
        ]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f", {render(resource, amount)} promised to {', '.join(names[:_MOST_NAMES])}{more}"


def free_room(nodes: Nodes, resources: tuple[str, ...]) -> dict[str, int]:
    """How much of each resource can be promised; below zero where more is requested than offered.

    It is what is free in the whole cluster, and no more than what is free on nodes that take pods:
    ready ones that are not cordoned.
    """
    frees = nodes.frees(resources)
    usable = frees[:, nodes.ready & ~nodes.unschedulable].clip(min=0).sum(axis=1)
    least = np.minimum(frees.sum(axis=1), usable)
    return {resource: int(amount) for resource, amount in zip(resources, least, strict=True)}


def _terms(claim: Claim) -> tuple[object, ...]:
    """What a promise is about, apart from how far it is filled."""
    return (claim.owner, claim.order, claim.wanted)
