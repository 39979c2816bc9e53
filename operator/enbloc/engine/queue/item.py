# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Item: what the queue knows of one group, and how long the group pauses after a failure."""

import enum
import math
from dataclasses import dataclass, field
from typing import Any, Final

from enbloc.engine.queue.rotation import STRICT, QueueEntry, Rotation, Subqueue
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey


class QueuePlace(enum.Enum):
    """The place of an item; exactly one. Items of the first four are in no list."""

    IDLE = "nothing to decide"
    GATED = "may not be tried"
    DECIDING = "being decided"
    PLANNED = "its plan is open"
    ACTIVE = "active"
    BACKOFF = "backoff"
    WAITING = "waiting"

    @property
    def parked(self) -> bool:
        """Whether it is in no queue: only the group's own changes lead to an attempt."""
        return self in _PARKED


_PARKED: Final = frozenset(
    {QueuePlace.IDLE, QueuePlace.GATED, QueuePlace.DECIDING, QueuePlace.PLANNED}
)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before a failed group may be tried again: initial × 2^(n − 1), at most `maximum`.

    A maximum of 0 switches it off.

    Source: kube-scheduler v1.36 pkg/scheduler/backend/queue/backoff_queue.go
    calculateBackoffDuration.
    """

    initial: float = 1.0
    maximum: float = 10.0

    def ends(self, now: float, failures: int) -> float:
        """Return when a pause that begins now ends.

        As upstream, it ends with its last whole second: groups that fail together are tried
        together, in their order.
        """
        pause = self.after(failures)
        return math.floor(now + pause) + 1.0 if pause else now

    def after(self, failures: int) -> float:
        """Return the pause after this many failures in a row; 0 after none."""
        if failures <= 0:
            return 0.0
        # 2^31 seconds is past any maximum; the bound keeps the float finite.
        return min(self.maximum, self.initial * 2.0 ** min(failures - 1, 31))


@dataclass(slots=True)
class Item:
    """One group in the queue. Only the queue writes to it; others call its methods.

    Attributes:
        attempts: all attempts, including those that the status records.
        unschedulable, errors: failures in a row of each kind.
        counted: how many plans had been opened at the last attempt.
        last_attempt: its time, engine clock; None = there was none.
        ready_at: no attempt before, unless a hint requests one; engine clock.
        held: it waits until then even if the queue is otherwise idle (semantics §4.6).
        called: it was called up: it is placed now if possible, whatever it waited for.
        sort_key: its position in the order; smaller goes first.
        subqueue: the groups with which it is tried strictly in order.
        listed: the list where it takes its turn, and its entry there; None = none.
        deferred: it is to be searched for once no group waits for a first attempt.
        let_by: how many others it has let go first since it could first be placed.
        profile: the profile that decides about it.
        rejectors: the plugins that refused the last attempt.
        pending: the rejectors that wait for an external party; their events bypass the backoff.
        infeasible: no change of load can help, so events of pods do not matter.
        gate: the plugin that keeps it out at PreEnqueue; "" = none.
        first_unseen: the first event after its attempt began, while it is being decided; else None.
        hinted: attempts in a row that a hint caused, since a pause was waited out.
        pods: the number of its pending pods, for the metrics.
        queued: when it was first to be tried since it was last placed or had no pending pods,
            engine clock; None = not yet.
        tried: attempts before that.
        fingerprint: the group's state at the last attempt; a difference re-queues it.
        ticket: the number of its latest move: of equals in the order, the smallest goes first.
    """

    key: GroupKey
    solo: bool
    attempts: int = 0
    place: QueuePlace = QueuePlace.IDLE
    unschedulable: int = 0
    errors: int = 0
    counted: int = 0
    last_attempt: float | None = None
    ready_at: float = 0.0
    held: bool = False
    called: bool = False
    sort_key: tuple[Any, ...] = ()
    subqueue: Subqueue = STRICT
    listed: tuple[Rotation, QueueEntry] | None = None
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
        """Set the number of its pending pods."""
        self.pods = pods

    def put_under(self, profile: Profile) -> None:
        """Set the profile that decides about it."""
        self.profile = profile

    def admit(self, profile: Profile, fingerprint: object, now: float) -> bool:
        """Admit it in its present state; return whether it is the first time since a placement."""
        self.profile, self.fingerprint = profile, fingerprint
        if self.queued is not None:
            return False
        self.queued, self.tried = now, self.attempts
        return True

    def keep_out(self, profile: Profile) -> None:
        """Keep it out; once it may be tried, it is, whatever its state."""
        self.profile, self.fingerprint = profile, None
        if not self.pods:  # those that come have not been waiting
            self.queued = None

    def renew(self) -> None:
        """Have it tried again once it is reviewed, whatever its state."""
        self.fingerprint = None

    def settle(self, fingerprint: object) -> None:
        """Record that no attempt is useful while its state is this."""
        self.fingerprint = fingerprint

    def attempted(self, now: float, opened: int) -> None:
        """Record an attempt, and how many plans had been opened before it."""
        self.attempts += 1
        self.last_attempt, self.counted = now, opened
