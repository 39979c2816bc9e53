# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Search: devices for some claims together, found in the order in which kube-scheduler tries them.

Depth first: claims as given, their requests, alternatives of a request in their order, devices by
pool and position, combinations and not permutations. A device that failed stands for all that are
equivalent for every claim. The number of steps is bounded; a costly step counts as several.

Source: kube-scheduler v1.36 staging/src/k8s.io/dynamic-resource-allocation/structured/internal
allocator allocateOne, allocateDevice. Unlike there, distinctAttribute compares all devices that it
concerns, and counters are those of the driver's own pool.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from enbloc.devices.capacity import has_room
from enbloc.devices.demand import Demand, DeviceWant, too_many
from enbloc.devices.effort import UNSEEN
from enbloc.devices.facts import MOST_RESULTS, Amounts
from enbloc.devices.pools import Bits, Pool, Reach, positions
from enbloc.devices.use import Use

#: The most steps of one search; beyond them it has no answer.
MOST_STEPS: Final = 10_000
#: How many looks (at a value, or at what devices have in common) cost one step; and how many looks
#: a further pool costs, or one device of a request for all.
_LOOKS_OF_STEP: Final = 8
_LOOKS_OF_PLACE: Final = 4
_LOOKS_OF_ONE: Final = 2

CANNOT: Final = "cannot allocate all claims"
INVALID: Final = "invalid resource pools were encountered"


class PoolOnNode(NamedTuple):
    """A pool as one node sees it, and what of it is in use."""

    pool: Pool
    reach: Reach
    use: Use

    @property
    def broken(self) -> str:
        """Why none of its devices can be used; "" = they can."""
        return self.pool.broken(self.reach)


class Task(NamedTuple):
    """A claim that needs devices, and the pools that may provide them.

    Attributes:
        places: the pools, in the order in which they are tried.
    """

    demand: Demand
    places: tuple[PoolOnNode, ...]


class Pick(NamedTuple):
    """A device that was found for a claim.

    Attributes:
        consumed: what a share consumes of its capacity; None = the claim has the whole device.
    """

    want: DeviceWant
    pool: Pool
    position: int
    consumed: Amounts | None = None


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        picks: the devices of each task; None = not found.
        reason: why nothing was found.
        of: the task whose claim the reason is about.
        open: the steps ran out, so there may be devices.
        cut: they ran out early for lack of effort; with all steps the answer may differ.
        steps: how many were taken.
    """

    picks: tuple[tuple[Pick, ...], ...] | None
    reason: str = ""
    of: int = 0
    open: bool = False
    cut: bool = False
    steps: int = 0


def told(reason: str, claim: str) -> str:
    """A reason about a claim, completed with the claim's name."""
    return f"claim {claim}{reason}" if reason.startswith((",", ":")) else reason


def ordered(places: Sequence[PoolOnNode]) -> tuple[PoolOnNode, ...]:
    """Sort places as they are tried: by driver and pool, those that make pods wait last."""
    return tuple(sorted(places, key=lambda each: (_waits(each), each.pool.key)))


def _waits(place: PoolOnNode) -> bool:
    pool = place.pool
    return bool(pool.waiting & place.reach.listed) and pool.complete and not place.broken


def search(tasks: Sequence[Task], most: int = MOST_STEPS) -> SearchResult:
    """Find devices for all claims, or the reason why there are none."""
    if not tasks:
        return SearchResult(())
    found = _Search(tasks)
    return found.run(most)._replace(steps=most - found.left)


@dataclass(slots=True)
class _Field:
    """The state of one pool during a search.

    Attributes:
        busy: devices that are taken, before or by the search.
        sharing: devices that have shares.
        shares: what all shares of a device consume of its capacity.
        counted: how much is used of each counter.
        lines: sets of devices; no device of a set is equivalent to one outside of it.
        alike: by position, the devices that are equivalent for every claim.
    """

    pool: Pool
    busy: Bits
    sharing: Bits
    shares: dict[int, dict[str, int]]
    counted: list[int]
    demands: list[Demand] = field(default_factory=list[Demand])
    lines: list[Bits] = field(default_factory=list[Bits])
    alike: dict[int, Bits] = field(default_factory=dict[int, Bits])

    @classmethod
    def of(cls, place: PoolOnNode) -> "_Field":
        use = place.use
        sharing = sum(1 << position for position in use.shares)
        shares = {position: dict(each.consumed) for position, each in use.shares.items()}
        counted = list(use.counted or (0,) * len(place.pool.counters))
        return cls(place.pool, use.taken, sharing, shares, counted)

    def same(self, position: int) -> Bits:
        """The `alike` devices that will fail if this one did."""
        if self.sharing >> position & 1:
            return 0
        found = self.alike[position] & ~self.sharing
        for line in (self.busy, *self.lines):
            found &= line if line >> position & 1 else ~line
        return found


class _At(NamedTuple):
    """A node of the search tree: the device of a want to find next."""

    task: int = 0
    request: int = 0
    alternative: int = -1
    done: int = 0
    place: int = 0
    start: int = 0


class _Taken(NamedTuple):
    """What must be undone when a device is released."""

    counted: bool
    entered: Sequence[int]
    fresh_share: bool
    fresh_busy: bool


class _Search:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._fields: dict[Pool, _Field] = {}
        self._picks: list[list[Pick]] = [[] for _ in tasks]
        self._mine: list[dict[Pool, Bits]] = [{} for _ in tasks]
        self._entered: list[list[list[object]]] = [
            [[] for _ in task.demand.spec.constraints] for task in tasks
        ]
        self._all: dict[tuple[int, int], list[tuple[PoolOnNode, int]]] = {}
        #: The first error, with its task: it ends kube-scheduler's search, and is why this one
        #: fails.
        self._error: tuple[int, str] | None = None
        self.left = 0
        self._looks = 0
        for task in tasks:
            self._survey(task)

    def _survey(self, task: Task) -> None:
        for place in task.places:
            known = self._fields.get(place.pool)
            if known is None:
                known = self._fields[place.pool] = _Field.of(place)
            if task.demand not in known.demands:
                known.demands.append(task.demand)
            if place.reach.devices not in known.lines:
                known.lines.append(place.reach.devices)

    def _spend(self, looks: int) -> None:
        """Count a step's looks as further steps."""
        self._looks += looks
        if self._looks >= _LOOKS_OF_STEP:
            self.left -= self._looks // _LOOKS_OF_STEP
            self._looks %= _LOOKS_OF_STEP

    def run(self, most: int) -> SearchResult:
        """Search the tree until all claims have their devices."""
        self.left = most
        for at, task in enumerate(self._tasks):
            reason = task.demand.problem or self._count_all(at, task)
            if self.left <= 0:
                break
            if reason:
                of, first = self._error or (at, reason)
                return SearchResult(None, first, of)
        stack = [self._branches(_At())]
        while self.left > 0:
            if not stack:
                return self._failed()
            self.left -= 1
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
            elif following.task == len(self._tasks):
                return SearchResult(tuple(map(tuple, self._picks)))
            else:
                stack.append(self._branches(following))
        return SearchResult(
            None, f"{CANNOT} within {most} steps of the search for devices", open=True
        )

    def _failed(self) -> SearchResult:
        for at, task in enumerate(self._tasks):
            if any(
                place.pool.complete and task.demand.lens(place.pool).unseen for place in task.places
            ):
                return SearchResult(None, f": {UNSEEN}", at)
        if self._error is not None:
            return SearchResult(None, self._error[1], self._error[0])
        places = [place for task in self._tasks for place in task.places]
        if any(place.pool.complete and place.broken for place in places):
            return SearchResult(None, INVALID)
        return SearchResult(None, CANNOT)

    def _look(self, task: int, want: DeviceWant, pool: Pool, among: Bits) -> None:
        """Record the selector error for the first of these devices."""
        if self._error is None and among:
            fault = self._tasks[task].demand.lens(pool).fault(want.number, among)
            self._error = (task, fault) if fault else None

    # ── requests for all devices ─────────────────────────────────────────────────────────────

    def _count_all(self, at: int, task: Task) -> str:
        """Find the devices of requests for all; returns why that is impossible, or ""."""
        if not task.demand.all:
            return ""
        for want in task.demand.wants:
            if not want.all:
                continue
            if self.left <= 0:
                return ""
            found: list[tuple[PoolOnNode, int]] = []
            asks = f", request {want.ask.name}: asks for all devices, but resource pool"
            for place in task.places:
                if not place.pool.complete:
                    return f"{asks} {'/'.join(place.pool.key)} is currently being updated"
                if place.broken:
                    return f"{asks} {'/'.join(place.pool.key)} is currently invalid"
                self._look(at, want, place.pool, place.reach.listed)
                wanted = task.demand.lens(place.pool).matched[want.number] & place.reach.devices
                self._spend(_LOOKS_OF_PLACE + _LOOKS_OF_ONE * wanted.bit_count())
                found += [
                    (place, each)
                    for each in positions(wanted)
                    if self._fits_capacity(task.demand, want, place.pool, each)
                ]
            self._all[at, want.number] = found
        fewest = sum(
            min(self._number(at, want) for want in wants) for wants in task.demand.requests
        )
        return too_many(fewest) if fewest > MOST_RESULTS else ""

    def _number(self, task: int, want: DeviceWant) -> int:
        return len(self._all[task, want.number]) if want.all else want.ask.count

    # ── the tree ─────────────────────────────────────────────────────────────────────────────

    def _branches(self, at: _At) -> Iterator[_At]:
        """The next nodes of the tree; each is undone before the next one is yielded."""
        demand = self._tasks[at.task].demand
        if at.request == len(demand.requests):
            yield _At(at.task + 1)
            return
        if at.alternative < 0:
            for alternative in range(len(demand.requests[at.request])):
                yield at._replace(alternative=alternative)
            return
        want = demand.requests[at.request][at.alternative]
        number = self._number(at.task, want)
        if want.all and not number:
            return
        if at.done >= number:
            yield _At(at.task, at.request + 1)
            return
        later = sum(demand.least[at.request + 1 :])
        if len(self._picks[at.task]) + number - at.done + later > MOST_RESULTS:
            return
        yield from self._all_next(at, want) if want.all else self._one_next(at, want, number)

    def _all_next(self, at: _At, want: DeviceWant) -> Iterator[_At]:
        place, position = self._all[at.task, want.number][at.done]
        taken = self._take(at.task, want, place.pool, position)
        if taken is None:
            return
        yield at._replace(done=at.done + 1)
        self._give_back(at.task, place.pool, position, taken)

    def _one_next(self, at: _At, want: DeviceWant, number: int) -> Iterator[_At]:
        places, demand = self._tasks[at.task].places, self._tasks[at.task].demand
        self._spend(_LOOKS_OF_PLACE * (len(places) - 1))
        ahead = [self._candidates(at, want, demand, index) for index in range(len(places))]
        enough = want.ask.admin or sum(map(int.bit_count, ahead)) >= number - at.done
        for index in range(at.place, len(places)):
            pool, candidates = places[index].pool, ahead[index] if enough else 0
            mute = self._mute(at, want, demand, index)
            while candidates and self.left > 0:
                self.left -= 1
                low = candidates & -candidates
                position = low.bit_length() - 1
                candidates ^= low
                self._look(at.task, want, pool, mute & (low - 1))
                taken = self._take(at.task, want, pool, position)
                if taken is not None:
                    yield at._replace(done=at.done + 1, place=index, start=position + 1)
                    self._give_back(at.task, pool, position, taken)
                candidates &= ~self._same(pool, position) if candidates else 0
            self._look(at.task, want, pool, mute)

    def _same(self, pool: Pool, position: int) -> Bits:
        """The devices that will fail if this one did."""
        state, alone = self._fields[pool], 1 << position
        if position not in state.alike:
            alike = -1
            for demand in state.demands:
                lens = demand.lens(pool)
                self._spend(2 + len(lens.kinds) // 8)
                alike &= lens.same(position)
                if alike == alone:
                    break
            state.alike[position] = alike
        return state.same(position)

    def _mute(self, at: _At, want: DeviceWant, demand: Demand, index: int) -> Bits:
        """The devices of a place still to be tried, for which selectors have no answer.

        kube-scheduler evaluates selectors for devices that are not in use, before all else.
        """
        place = self._tasks[at.task].places[index]
        pool = place.pool
        if not pool.complete or place.broken:
            return 0
        found = demand.lens(pool).mute(want.number) & place.reach.listed
        if found:
            mine = self._mine[at.task].get(pool, 0)
            found &= ~(mine if want.ask.admin else self._fields[pool].busy)
        return found & (-1 << at.start) if index == at.place else found

    def _candidates(self, at: _At, want: DeviceWant, demand: Demand, index: int) -> Bits:
        """The devices of a place still to be tried, as far as cheap checks can tell."""
        place = self._tasks[at.task].places[index]
        pool = place.pool
        if index < at.place or not pool.complete or place.broken:
            return 0
        found = demand.lens(pool).usable[want.number] & place.reach.devices
        mine = self._mine[at.task].get(pool, 0)
        found &= ~(mine if want.ask.admin else self._fields[pool].busy)
        found = self._constrained(at.task, want, pool, found)
        return found & (-1 << at.start) if index == at.place else found

    def _constrained(self, task: int, want: DeviceWant, pool: Pool, found: Bits) -> Bits:
        """Those of some devices that do not immediately violate a constraint."""
        demand = self._tasks[task].demand
        for index, constraint in enumerate(demand.spec.constraints):
            entered = self._entered[task][index]
            if not entered or not constraint.concerns(want.request, want.alternative):
                continue
            values = demand.lens(pool).values[index]
            self._spend(len(entered) if constraint.distinct else 1)
            if constraint.distinct:
                for value in entered:
                    found &= ~values.having(value)
            else:
                found &= values.having(entered[0])
        return found

    # ── one device ───────────────────────────────────────────────────────────────────────────

    def _take(self, task: int, want: DeviceWant, pool: Pool, position: int) -> _Taken | None:
        """Give a device to a claim; None = it cannot have it."""
        demand, state, bit = self._tasks[task].demand, self._fields[pool], 1 << position
        shared = bool(pool.shared & bit)
        mine = self._mine[task].get(pool, 0)
        held = (mine if not shared else 0) if want.ask.admin else state.busy
        usable = demand.lens(pool).usable[want.number]
        if held & bit or not usable & bit:
            return None
        if not self._fits_capacity(demand, want, pool, position):
            return None
        consumes = pool.consumes[position] if pool.consumes else ()
        counted = bool(consumes) and not (shared and state.sharing & bit)
        if counted and not self._count(state, position):
            return None
        entered = self._enter(task, want, pool, position)
        if entered is None:
            if counted:
                self._uncount(state, position)
            return None
        consumed = self._consumed(demand, want, pool, position) if shared else None
        fresh_share = shared and not state.sharing & bit
        fresh_busy = not shared and not state.busy & bit
        if consumed is not None:
            state.sharing |= bit
            amounts = state.shares.setdefault(position, {})
            for name, amount in consumed:
                amounts[name] = amounts.get(name, 0) + amount
        else:
            state.busy |= bit
            self._mine[task][pool] = mine | bit
        self._picks[task].append(Pick(want, pool, position, consumed))
        return _Taken(counted, entered, fresh_share, fresh_busy)

    def _give_back(self, task: int, pool: Pool, position: int, taken: _Taken) -> None:
        state, bit = self._fields[pool], 1 << position
        pick = self._picks[task].pop()
        if pick.consumed is not None:
            amounts = state.shares[position]
            for name, amount in pick.consumed:
                amounts[name] -= amount
            if taken.fresh_share:
                state.sharing &= ~bit
                del state.shares[position]
        else:
            self._mine[task][pool] &= ~bit
            if taken.fresh_busy:
                state.busy &= ~bit
        for index in taken.entered:
            self._entered[task][index].pop()
        if taken.counted:
            self._uncount(state, position)

    def _fits_capacity(self, demand: Demand, want: DeviceWant, pool: Pool, position: int) -> bool:
        consumed = self._consumed(demand, want, pool, position)
        used = self._fields[pool].shares.get(position)
        if consumed is None:
            return False
        return used is None or has_room(consumed, used, pool.devices[position].traits.capacity)

    def _consumed(
        self, demand: Demand, want: DeviceWant, pool: Pool, position: int
    ) -> Amounts | None:
        return demand.lens(pool).consumed(position, want.number)

    def _count(self, state: _Field, position: int) -> bool:
        """Consume a device's counters; False = some counter of the pool does not suffice."""
        for index, amount in state.pool.consumes[position]:
            state.counted[index] += amount
        if all(map(int.__le__, state.counted, state.pool.counters)):
            return True
        self._uncount(state, position)
        return False

    def _uncount(self, state: _Field, position: int) -> None:
        for index, amount in state.pool.consumes[position]:
            state.counted[index] -= amount

    def _enter(
        self, task: int, want: DeviceWant, pool: Pool, position: int
    ) -> Sequence[int] | None:
        """Add a device to the claim's constraints; returns the numbers of those concerned.

        None = it violates one.
        """
        demand, entered = self._tasks[task].demand, list[int]()
        self._spend(len(demand.spec.constraints))
        for index, constraint in enumerate(demand.spec.constraints):
            if not constraint.concerns(want.request, want.alternative):
                continue
            value = demand.lens(pool).values[index].get(position)
            before = self._entered[task][index]
            clash = value in before if constraint.distinct else bool(before) and before[0] != value
            if value is None or clash:
                for each in entered:
                    self._entered[task][each].pop()
                if want.all and self._error is None:
                    device = "/".join((*pool.key, pool.devices[position].name))
                    cannot = f", request {want.ask.name}: cannot add device {device}"
                    because = "because a claim constraint would not be satisfied"
                    self._error = (task, f"{cannot} {because}")
                return None
            before.append(value)
            entered.append(index)
        return entered
