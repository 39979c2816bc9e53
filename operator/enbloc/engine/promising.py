# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Promising: what a step does about the room that admitted groups may still claim."""

from collections import Counter
from collections.abc import Sequence

from enbloc.engine.effects import EventType
from enbloc.engine.intake import Intake
from enbloc.engine.members import Members
from enbloc.engine.promises import Claim
from enbloc.engine.shadows import order_of
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.pods import Phase


class Promising:
    """Keeps the ledger of promises in step with the groups.

    Args:
        intake: what is known, and who is to be told.
        default_timeout: seconds without progress after which a promise ends.
    """

    def __init__(self, intake: Intake, default_timeout: float) -> None:
        self._intake = intake
        self._promises = intake.promises
        self._default_timeout = default_timeout
        self._expired: dict[GroupKey, str] = {}

    def deadline(self) -> float | None:
        """When the next promise expires."""
        return self._promises.deadline()

    def note(self, now: float) -> None:
        """Take in that promises ended: by time, or because an earlier group took the room."""
        for key in self._promises.expire(now):
            self._expired[key] = "the room promised to it was given up: nobody claimed more of it"
            self._tell(key, self._expired[key])
        if self._promises:
            for key in self._promises.revoked(self._intake.state.nodes):
                self._tell(key, "room that was promised to it went to a group ordered earlier")
        self._drain()

    def _tell(self, key: GroupKey, note: str) -> None:
        members = self._intake.groups.get(key)
        if members is not None:
            facts = self._intake.groups.facts(members)
            reason = EventReason.PROMISE_EXPIRED
            self._intake.reporter.group_event(facts, EventType.WARNING, reason, note)
            self._intake.dirty[key] = None

    def expired(self, key: GroupKey) -> str:
        """That a group's promise was given up, for its condition; "" = it was not."""
        return self._expired.get(key, "")

    # ── one group ────────────────────────────────────────────────────────────────────────────

    def claim(self, members: Members, facts: GroupFacts, now: float) -> Claim | None:
        """What a group asks of the ledger at a decision; None while nobody promises anything."""
        group = members.group
        if not self._promises and (group is None or not group.min_resources):
            return None
        return self._claim(members, facts, now)

    def _claim(self, members: Members, facts: GroupFacts, progress_at: float) -> Claim:
        group = members.group
        own = group.timeout if group else 0
        return Claim(
            group=members.key,
            owner=self._owner(members),
            order=order_of(facts),
            wanted=group.min_resources if group else (),
            held=self.held(members),
            progress_at=progress_at,
            timeout=float(own or self._default_timeout),
        )

    def look(self, members: Members, facts: GroupFacts, now: float) -> None:
        """Something of a group changed: review its promise, or those that it helps to fill."""
        group = members.group
        if members.solo:
            return
        if group is None:
            self.drop(members.key)
            return
        if group.min_resources:
            self._review(members, facts, now)
        if self._promises and group.owner:
            for key in self._promises.holders(group.owner):
                holder = self._intake.groups.get(key)
                if key != members.key and holder is not None:
                    self._review(holder, self._intake.groups.facts(holder), now)
        self._drain()

    def _drain(self) -> None:
        self._intake.happenings += self._promises.happenings
        self._promises.happenings.clear()

    def _review(self, members: Members, facts: GroupFacts, now: float) -> None:
        key = members.key
        admitted = facts.total.held > 0 or self._intake.plans.of(key) is not None
        over = not facts.members and not members.group.owner if members.group else True
        if not admitted or over:
            self.drop(key)
            return
        times = [
            pod.scheduled_at or pod.created
            for each in self._family(members)
            for pod in each.pods.values()
            if pod.bound or pod.phase is Phase.SUCCEEDED
        ]
        before = self._promises.deadline_of(key)
        claim = self._claim(members, facts, now if self._opened(key) else max(times, default=now))
        self._promises.review(claim, now)
        if self._promises.deadline_of(key) != before:
            self._expired.pop(key, None)

    def _opened(self, key: GroupKey) -> bool:
        return self._intake.plans.of(key) is not None

    def drop(self, key: GroupKey) -> None:
        """A group has nothing to claim any more."""
        self._promises.drop(key)
        self._expired.pop(key, None)
        self._drain()

    # ── whose ────────────────────────────────────────────────────────────────────────────────

    def _owner(self, members: Members) -> str:
        group = members.group
        return (group.owner if group else "") or str(members.key)

    def _family(self, members: Members) -> Sequence[Members]:
        """The groups that fill each other's promises."""
        owner = members.group.owner if members.group else ""
        return self._intake.groups.of_owner(owner) if owner else (members,)

    def held(self, members: Members) -> Counter[str]:
        """What the held members of all groups of the owner request."""
        assumed = self._intake.state.assumed
        held: Counter[str] = Counter()
        for each in self._family(members):
            there = (p for p in each.pods.values() if p.bound or p.uid in assumed)
            for pod in (*there, *each.successes()):
                held.update(dict(pod.spec.requests))
        return held
