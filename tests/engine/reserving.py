# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reservations of minResources by hand: who wants how much, and what became of it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from enbloc.config import default_profiles
from enbloc.engine.plan import Assignment
from enbloc.engine.policies.reservations import Reservations, ReservationTerms
from enbloc.engine.state.capacity import Capacity, Reservation
from enbloc.engine.state.order import Order
from enbloc.engine.state.reservations import Claims
from enbloc.engine.turn import Turn
from enbloc.framework.hints import Happening
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes


@dataclass(frozen=True)
class Claim:
    """A group that wants `wanted`, of which `held` is there; the smallest order goes first."""

    group: GroupKey
    owner: str
    order: tuple[float, ...]
    wanted: tuple[tuple[str, int], ...] = ()
    held: Mapping[str, int] = field(default_factory=dict[str, int])
    progress_at: float = 0.0
    timeout: float = 0.0
    run: str = "first"
    since: float = 0.0

    @property
    def due(self) -> Counter[str]:
        return Counter(dict(self.wanted)) - Counter(self.held)

    @property
    def reservation(self) -> Reservation:
        shares = "" if any(amount for _, amount in self.wanted) else self.owner
        return Reservation(self.group, shares, self.order, self.due)


class ReservationLedger:
    """The ledger of reservations, told of claims one by one.

    Args:
        longest: seconds for which anything is reserved in one run, in all.
    """

    def __init__(self, longest: float = math.inf) -> None:
        self.order = Order(lambda _: next(iter(default_profiles().values())))
        self.reservations = Reservations(Claims(), self.order, longest, {})
        self.turn = Turn()

    def __bool__(self) -> bool:
        return bool(self.reservations)

    @property
    def happenings(self) -> list[Happening]:
        return self.turn.happened

    @property
    def capacity(self) -> Capacity:
        return self.reservations.capacity()

    def review(self, claim: Claim, now: float) -> None:
        self.turn.now = now
        self.order._keys[claim.group] = claim.order
        terms = ReservationTerms(
            claim.owner,
            claim.order,
            claim.wanted,
            claim.due,
            claim.progress_at,
            claim.timeout,
            claim.run,
            claim.since,
        )
        self.reservations.review(claim.group, terms, self.turn)

    def drop(self, group: GroupKey) -> None:
        self.reservations.drop(group, self.turn)

    def expire(self, now: float) -> list[GroupKey]:
        self.turn.now = now
        return self.reservations.expire(self.turn)

    def deadline(self) -> float | None:
        return self.reservations.deadline()

    def holders(self, owner: str) -> list[GroupKey]:
        return self.reservations.holders(owner)

    def admits(self, claim: Claim, table: Nodes) -> str:
        return self.capacity.admits(claim.reservation, table)

    def kept(
        self, claim: Claim, assignments: Sequence[Assignment], table: Nodes
    ) -> tuple[Sequence[Assignment], str]:
        return self.capacity.kept(claim.reservation, assignments, table)

    def standing(self, table: Nodes) -> dict[GroupKey, Counter[str]]:
        return self.capacity.standing(table)

    def revoked(self, table: Nodes) -> list[GroupKey]:
        return [group for group, _ in self.revocations(table)]

    def revocations(self, table: Nodes) -> list[tuple[GroupKey, str]]:
        capacity = self.capacity
        return self.reservations.revoked(capacity, capacity.standing(table))

    def check(self, table: Nodes) -> None:
        self.capacity.check(table)
