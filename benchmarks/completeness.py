# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How often a gang for which a placement exists is placed, and one without is proven to have none.

64 members of 6 classes on 200 nodes, 4 resources, hostname anti-affinity of some classes against
themselves or another. The nodes are filled so that the members, where they were planted, all but
exhaust what is free on them. Such a gang is made infeasible by moving room between nodes, which
no sum shows, until the sums that fit each node (tried by themselves, not with what is measured)
are too little.

    python -m benchmarks.completeness
"""

import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from enbloc.config import default_profiles
from enbloc.engine import Settings
from enbloc.engine.decide.assign import place_group
from enbloc.engine.packing import highs
from enbloc.engine.packing.bounds import shortage
from enbloc.engine.packing.model import packing_now
from enbloc.engine.trial import Outcome, Search, Trial
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.ledgers import Ledgers
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.model.snapshot import Snapshot

Figure = tuple[str, float]
Amounts = npt.NDArray[np.int64]

GiB = 1024**3
MEMBERS, KINDS, NODES = 64, 6, 200
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "ephemeral-storage")
UNITS = np.array([500, GiB, 1, GiB])
HOST = "kubernetes.io/hostname"
PROFILE = default_profiles()[SCHEDULER_NAME]

#: A second's worth of steps; the default is a tenth of it.
STEPS = 10 * Settings().search_steps
SECOND = 1.0


@dataclass(frozen=True)
class Tightness:
    """How hard it is.

    Attributes:
        nodes: on how many the members were planted.
        slack: what is free beyond them on each of these nodes, at most, as a share.
        decoys: the share of the other nodes that have room for some member.
    """

    nodes: int
    slack: float
    decoys: float


EVERY = tuple(
    Tightness(nodes, slack, decoys)
    for nodes in (20, 32, 56)
    for slack in (0.0, 0.02, 0.1)
    for decoys in (0.0, 0.1)
)


@dataclass(frozen=True)
class Instance:
    """One gang and one cluster, in units.

    Attributes:
        requests: int64[K, R].
        counts: members of each kind.
        apart: bool[K, K]: kinds of which no two may share a node.
        room: int64[N, R].
    """

    requests: Amounts
    counts: tuple[int, ...]
    apart: npt.NDArray[np.bool_]
    room: Amounts


def planted(dice: random.Random, tight: Tightness) -> Instance:
    """An instance that has a placement."""
    while True:
        requests = np.array(
            [
                (dice.randint(2, 64), dice.randint(4, 96), dice.choice((0, 0, 1, 2, 4)), size)
                for size in (dice.randint(1, 60) for _ in range(KINDS))
            ]
        )
        counts = tuple(MEMBERS // KINDS + (kind < MEMBERS % KINDS) for kind in range(KINDS))
        apart = np.diag([dice.random() < 0.4 for _ in range(KINDS)])
        for one, two in (dice.sample(range(KINDS), 2) for _ in range(2)):
            apart[one, two] = apart[two, one] = True
        where = _plant(dice, counts, apart, tight.nodes)
        if where is not None:
            room = _room(dice, requests, where, tight)
            return Instance(requests, counts, apart, room)


def _plant(
    dice: random.Random, counts: tuple[int, ...], apart: npt.NDArray[np.bool_], nodes: int
) -> list[list[int]] | None:
    """The kinds on each node; None = these kinds keep too far apart."""
    where: list[list[int]] = [[] for _ in range(nodes)]
    members = [kind for kind, count in enumerate(counts) for _ in range(count)]
    dice.shuffle(members)
    for kind in members:
        free = [
            here
            for here in where
            if len(here) < 6 and not any(apart[kind, other] for other in here)
        ]
        if not free:
            return None
        dice.choice(free).append(kind)
    return where


def _room(
    dice: random.Random, requests: Amounts, where: list[list[int]], tight: Tightness
) -> Amounts:
    """What is free on each node, in no order."""
    rows = []
    for here in where:
        needed = requests[here].sum(axis=0) if here else np.zeros(len(RESOURCES), np.int64)
        share = np.array([dice.random() * tight.slack for _ in RESOURCES])
        rows.append(needed + (needed * share).astype(np.int64))
    while len(rows) < NODES:
        room = requests[dice.randrange(KINDS)] + [dice.randint(0, 6) for _ in RESOURCES]
        if dice.random() >= tight.decoys:  # one resource is exhausted
            short = dice.choice((0, 1, 3))
            room[short] = dice.randint(0, int(requests[:, short].min()) - 1)
        rows.append(room)
    dice.shuffle(rows)
    return np.array(rows)


def spoiled(dice: random.Random, instance: Instance) -> Instance | None:
    """The same with room moved between nodes, so that there is no placement; None = it resists."""
    demand = np.array(instance.counts) @ instance.requests
    room = instance.room.copy()
    usable = np.array([_usable(instance, line) for line in room])
    fitting = np.flatnonzero(usable.any(axis=1)).tolist()
    for _ in range(300):
        giver, taker = dice.sample(fitting, 2)
        resource, much = dice.choice((0, 1, 3)), dice.randint(1, 3)
        if room[giver, resource] <= much:
            continue
        room[[giver, taker], resource] += (-much, much)
        for row in (giver, taker):
            usable[row] = _usable(instance, room[row])
        if (usable.sum(axis=0) < demand).any():
            return replace(instance, room=room)
    return None


def _usable(instance: Instance, room: Amounts) -> list[int]:
    """The most that members could take of each resource on one node, each taken by itself."""
    kinds = np.flatnonzero((room >= instance.requests).all(axis=1)).tolist()
    found: list[int] = []
    for resource, limit in enumerate(room.tolist()):
        sums = {0}
        for kind in kinds:
            each = int(instance.requests[kind, resource])
            most = 1 if instance.apart[kind, kind] else instance.counts[kind]
            if each:
                counted = range(min(most, limit // each) + 1)
                sums = {s + n * each for s in sums for n in counted if s + n * each <= limit}
        found.append(max(sums))
    return found


# ── as a gang and a cluster ──────────────────────────────────────────────────────────────────


def world(dice: random.Random, instance: Instance) -> tuple[GroupFacts, Snapshot]:
    """The members, in no order, and nodes on which others have taken the rest."""
    specs = [_spec(kind, instance) for kind in range(KINDS)]
    kinds = [kind for kind, count in enumerate(instance.counts) for _ in range(count)]
    dice.shuffle(kinds)
    key = GroupKey("b", "g")
    members = tuple(
        Pod(
            PodKey("b", f"m{age}"),
            PodUID(f"m{age}"),
            specs[kind],
            group=key,
            created=float(age),
            labels=(("kind", str(kind)),),
        )
        for age, kind in enumerate(kinds)
    )
    total = Floor("", MEMBERS, MEMBERS, 0, 0)
    facts = GroupFacts(key, Group(key, min_member=MEMBERS), False, members, total)
    return facts, _cluster(instance.room)


def _spec(kind: int, instance: Instance) -> PodSpec:
    amounts = dict(zip(RESOURCES, (instance.requests[kind] * UNITS).tolist(), strict=True))
    terms = tuple(
        PodAffinityTerm(HOST, Selector((Requirement("kind", Operator.IN, (str(other),)),)))
        for other in np.flatnonzero(instance.apart[kind])
    )
    return PodSpec(
        requests=tuple(sorted((n, much) for n, much in {**amounts, "pods": 1}.items() if much)),
        nonzero_cpu=amounts["cpu"],
        nonzero_memory=amounts["memory"],
        pod_anti_affinity=PodAffinity(required=terms),
    )


def _cluster(room: Amounts) -> Snapshot:
    table, placed = Nodes(ResourceSpace(), Ledgers()), PlacedPods()
    offers = room.max(axis=0) + 8
    for index, free in enumerate(room):
        name = f"n{index}"
        has = dict(zip(RESOURCES, (offers * UNITS).tolist(), strict=True)) | {"pods": 110}
        table.put(Node(name, name, ((HOST, name),), allocatable=tuple(sorted(has.items()))))
        taken = dict(zip(RESOURCES, ((offers - free) * UNITS).tolist(), strict=True)) | {"pods": 1}
        other = Pod(PodKey("b", f"o{index}"), PodUID(f"o{index}"), PodSpec(tuple(taken.items())))
        table.place(index, other.spec)
        placed.put(replace(other, node=name), index)
    return Snapshot(table.snapshot(), placed.snapshot(), {"b": ()})


# ── measuring ────────────────────────────────────────────────────────────────────────────────

_WAYS = (
    ("ordered-pass", 0, False),
    ("default-steps-without-solver", Settings().search_steps, False),
    ("default-steps", Settings().search_steps, True),
    ("without-solver", STEPS, False),
    ("with-solver", STEPS, True),
)


class Tally:
    """What came of some instances; one counts as won only within a second."""

    def __init__(self) -> None:
        self.won = 0
        self.seconds: list[float] = []

    def note(self, *, won: bool, seconds: float) -> None:
        """One more."""
        self.won += won and seconds <= SECOND
        self.seconds.append(seconds)

    def add(self, other: "Tally") -> None:
        """Those of another one, too."""
        self.won += other.won
        self.seconds += other.seconds

    @property
    def percent(self) -> float:
        """Of all that were tried."""
        return 100 * self.won / max(1, len(self.seconds))

    def __str__(self) -> str:
        median, longest = statistics.median(self.seconds) * 1e3, max(self.seconds) * 1e3
        return (
            f"{self.won:4} of {len(self.seconds):4} = {self.percent:5.1f} %   "
            f"median {median:4.0f} ms, longest {longest:5.0f} ms"
        )


Tallies = dict[str, Tally]


def measured(tight: Tightness, instances: int, placed: Tallies, proved: Tallies) -> None:
    """Try instances of one tightness in every way."""
    dice = random.Random(str(tight))
    for _ in range(instances):
        for name, outcome, seconds in _tried(*world(dice, planted(dice, tight))):
            assert outcome.search is not Search.INFEASIBLE, "a placement exists"
            placed[name].note(won=not outcome.failed, seconds=seconds)
        hopeless = _hopeless(dice, tight)
        for name, outcome, seconds in _tried(*hopeless) if hopeless else ():
            assert outcome.failed, "no placement exists"
            proved[name].note(won=outcome.search is Search.INFEASIBLE, seconds=seconds)


def _hopeless(
    dice: random.Random, tight: Tightness, tries: int = 8
) -> tuple[GroupFacts, Snapshot] | None:
    """A gang without a placement that adding up does not refute; None = none came up."""
    for _ in range(tries):
        instance = spoiled(dice, planted(dice, tight))
        if instance is not None:
            facts, snapshot = world(dice, instance)
            packing = packing_now(facts, Trial(PROFILE, snapshot), STEPS)
            if packing is not None and shortage(packing) is None:
                return facts, snapshot
    return None


def _tried(facts: GroupFacts, snapshot: Snapshot) -> Iterator[tuple[str, Outcome, float]]:
    for name, steps, exactly in _WAYS:
        trial = Trial(PROFILE, snapshot)
        started = time.perf_counter()
        outcome, _ = place_group(facts, trial, steps, exactly=exactly)
        yield name, outcome, time.perf_counter() - started


def _tallies() -> Tallies:
    return {name: Tally() for name, *_ in _WAYS}


def completeness(instances: int = 6, *, aloud: bool = False) -> Iterator[Figure]:
    """Both rates for every way of looking, over so many instances of each tightness."""
    all_placed, all_proved = _tallies(), _tallies()
    for tight in EVERY:
        placed, proved = _tallies(), _tallies()
        measured(tight, instances, placed, proved)
        if aloud:
            print(tight)
            _show("placed", placed)
            _show("proved", proved)
        for name in placed:
            all_placed[name].add(placed[name])
            all_proved[name].add(proved[name])
    if aloud:
        print("all")
        _show("placed", all_placed)
        _show("proved", all_proved)
    for what, tallies in (("placed", all_placed), ("proved", all_proved)):
        for name, tally in tallies.items():
            yield f"completeness/{what}-{name}", tally.percent


def _show(what: str, tallies: Tallies) -> None:
    for name, tally in tallies.items():
        if tally.seconds:
            print(f"  {what} {name:30} {tally}", flush=True)


if __name__ == "__main__":
    print(f"exact solver: {'installed' if highs.available() else 'not installed'}")
    for _ in completeness(aloud=True):
        pass
