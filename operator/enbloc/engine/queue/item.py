# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Item: what the queue knows of one group, and for how long it pauses after a failure."""

import enum
import math
from dataclasses import dataclass, field
from typing import Any, Final

from enbloc.engine.queue.rotation import STRICT, Entry, Rotation, Subqueue
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey


class Place(enum.Enum):
    """Where an item is; each is in exactly one place, and those of the first four in no list."""

    IDLE = "nothing to decide"
    GATED = "may not be tried"
    DECIDING = "being decided"
    PLANNED = "its plan is open"
    ACTIVE = "active"
    BACKOFF = "backoff"
    WAITING = "waiting"

    @property
    def parked(self) -> bool:
        """It is not in a queue: no turn, time or event of others brings it to an attempt."""
        return self in _PARKED


_PARKED: Final = frozenset({Place.IDLE, Place.GATED, Place.DECIDING, Place.PLANNED})


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before a failed group may be tried again: initial × 2^(n − 1), at most maximum.

    A maximum of 0 switches it off.

    Source: kube-scheduler v1.36 pkg/scheduler/backend/queue/backoff_queue.go
    calculateBackoffDuration.
    """

    initial: float = 1.0
    maximum: float = 10.0

    def ends(self, now: float, failures: int) -> float:
        """When the pause is over that begins now.

        As upstream, a pause ends with the whole second in which it would: groups that fail
        together are tried together, in their order.
        """
        pause = self.after(failures)
        return math.floor(now + pause) + 1.0 if pause else now

    def after(self, failures: int) -> float:
        """The pause after so many failures in a row; 0 after none."""
        if failures <= 0:
            return 0.0
        # 2^31 seconds is past any maximum; the bound keeps the float finite.
        return min(self.maximum, self.initial * 2.0 ** min(failures - 1, 31))


@dataclass(slots=True)
class Item:
    """One group in the queue. Only the queue writes to it; others have it take note of something.

    Attributes:
        attempts: all of them, those that status remembers too.
        unschedulable, errors: failures in a row of each kind.
        counted: how many plans had been opened at the last attempt.
        last_attempt: when that was, engine clock; None = there was none in this process.
        ready_at: no attempt before, unless a hint says so; engine clock.
        held: it waits until then even if nothing else is to be done (semantics §4.6).
        called: it was called up, and so is placed now if it can be, whatever it waited for.
        sort_key: its place in the order; smaller goes first.
        subqueue: those with which it is tried strictly in order.
        listed: where it takes its turn, and its entry there; None = nowhere.
        deferred: it is to be searched for, once nobody waits for a first attempt.
        let_by: how many others it has let go first since it could first be placed.
        profile: the profile that decides about it.
        rejectors: the plugins that refused the last attempt.
        pending: those of them that wait for somebody outside; their events bypass the backoff.
        infeasible: no change of load can help, and so no event of a pod.
        gate: the plugin that keeps it out at PreEnqueue; "" = none does.
        first_unseen: the first event that it has not seen, while it is being decided; else None.
        hinted: attempts in a row that a hint brought about, since a pause was waited out.
        pods: how many pending pods it has, for the metrics.
        queued: when it was first to be tried since it last was placed, engine clock; None = it was
            not.
        tried: attempts before that.
        fingerprint: what the group looked like at the last attempt; a difference re-queues it.
        ticket: of its latest move; entries of the heaps with an older one are stale.
    """

    key: GroupKey
    solo: bool
    attempts: int = 0
    place: Place = Place.IDLE
    unschedulable: int = 0
    errors: int = 0
    counted: int = 0
    last_attempt: float | None = None
    ready_at: float = 0.0
    held: bool = False
    called: bool = False
    sort_key: tuple[Any, ...] = ()
    subqueue: Subqueue = STRICT
    listed: tuple[Rotation, Entry] | None = None
    deferred: bool = False
    let_by: int = 0
    profile: Profile | None = None
    rejectors: frozenset[str] = field(default_factory=frozenset)
    pending: frozenset[str] = field(default_factory=frozenset)
    infeasible: bool = False
    gate: str = ""
    first_unseen: int | None = None
    hinted: int = 0
    pods: int = 1
    queued: float | None = None
    tried: int = 0
    fingerprint: object = None
    ticket: int = 0

    def count(self, pods: int) -> None:
        """So many pods of it are pending."""
        self.pods = pods

    def put_under(self, profile: Profile) -> None:
        """This profile decides about it."""
        self.profile = profile

    def admit(self, profile: Profile, fingerprint: object, now: float) -> bool:
        """It may be tried as it is; whether that is the first time since it last was placed."""
        self.profile, self.fingerprint = profile, fingerprint
        if self.queued is not None:
            return False
        self.queued, self.tried = now, self.attempts
        return True

    def keep_out(self, profile: Profile) -> None:
        """It may not be tried; once it may, it is, whatever it looks like."""
        self.profile, self.fingerprint = profile, None

    def renew(self) -> None:
        """It is to be tried again once it is reviewed, whatever it looks like."""
        self.fingerprint = None

    def settle(self, fingerprint: object) -> None:
        """No attempt is worth it while it looks as it does."""
        self.fingerprint = fingerprint

    def attempted(self, now: float, opened: int) -> None:
        """It was decided about, after so many plans had been opened."""
        self.attempts += 1
        self.last_attempt, self.counted = now, opened
