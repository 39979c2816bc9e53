# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reservations of minResources by hand: who wants how much, and what became of it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from enbloc.config import default_profiles
from enbloc.engine.plan import Assignment
from enbloc.engine.policies.reservations import MinResourcesReservations, ReservationTerms
from enbloc.engine.state.capacity import GroupAmount, ReservedAmounts
from enbloc.engine.state.order import Order
from enbloc.engine.state.reservations import ReservationLedger
from enbloc.engine.turn import Turn
from enbloc.framework.hints import Happening
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes


@dataclass(frozen=True)
class Reservation:
    """A group that wants `wanted`, of which `held` is there; the smallest order goes first."""

    group: GroupKey
    owner: str
    order: tuple[float, ...]
    wanted: tuple[tuple[str, int], ...] = ()
    held: Mapping[str, int] = field(default_factory=dict[str, int])
    progress_at: float = 0.0
    timeout: float = 0.0
    run_name: str = "first"
    since: float = 0.0

    @property
    def due(self) -> Counter[str]:
        return Counter(dict(self.wanted)) - Counter(self.held)

    @property
    def amount(self) -> GroupAmount:
        shares = "" if any(amount for _, amount in self.wanted) else self.owner
        return GroupAmount(self.group, shares, self.order, self.due)


class MinResourcesLedger:
    """The reservations of minResources, told of groups one by one.

    Args:
        longest: seconds for which anything is reserved in one run, in all.
    """

    def __init__(self, longest: float = math.inf) -> None:
        self.order = Order(lambda _: next(iter(default_profiles().values())))
        self.reservations = MinResourcesReservations(
            ReservationLedger(), self.order, longest, {}, lambda _: True
        )
        self.turn = Turn()

    def __bool__(self) -> bool:
        return bool(self.reservations)

    @property
    def happenings(self) -> list[Happening]:
        return self.turn.happened

    @property
    def capacity(self) -> ReservedAmounts:
        return self.reservations.capacity()

    def review(self, reservation: Reservation, now: float) -> None:
        self.turn.now = now
        self.order._keys[reservation.group] = reservation.order
        terms = ReservationTerms(
            reservation.owner,
            reservation.order,
            reservation.wanted,
            reservation.due,
            reservation.progress_at,
            reservation.timeout,
            reservation.run_name,
            reservation.since,
        )
        self.reservations.review(reservation.group, terms, self.turn)

    def drop(self, group: GroupKey) -> None:
        self.reservations.drop(group, self.turn)

    def expire(self, now: float) -> list[GroupKey]:
        self.turn.now = now
        return self.reservations.expire(self.turn)

    def deadline(self) -> float:
        return self.reservations.deadline()

    def holders(self, owner: str) -> list[GroupKey]:
        return self.reservations.holders(owner)

    def admits(self, reservation: Reservation, table: Nodes) -> str:
        return self.capacity.admits(reservation.amount, table)

    def kept(
        self, reservation: Reservation, assignments: Sequence[Assignment], table: Nodes
    ) -> tuple[Sequence[Assignment], str]:
        return self.capacity.kept(reservation.amount, assignments, table, in_turn=False)

    def standing(self, table: Nodes) -> dict[GroupKey, Counter[str]]:
        return self.capacity.standing(table)

    def revoked(self, table: Nodes) -> list[GroupKey]:
        return [group for group, _ in self.revocations(table)]

    def revocations(self, table: Nodes) -> list[tuple[GroupKey, str]]:
        capacity = self.capacity
        return self.reservations.revoked(capacity, capacity.standing(table))

    def check(self, table: Nodes) -> None:
        self.capacity.check(table)
