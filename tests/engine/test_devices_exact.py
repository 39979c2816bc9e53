# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs with devices against an exact search: whoever fits is placed, and nobody else."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import pytest

from enbloc.devices.facts import AllocatedDevice, ResourceSlice
from enbloc.engine.effects import PreBind
from enbloc.engine.events import FactSeen
from enbloc.model.ledger import Fact
from enbloc.model.pins import HOSTNAME
from enbloc.model.pods import PodResourceClaim
from tests.devices.objects import (
    DRIVER,
    claim,
    consumes,
    counter_set,
    device,
    device_class,
    exactly,
    slice_of,
)
from tests.effort import times
from tests.world.builders import spec
from tests.world.cluster import Cluster

#: Gangs of each batch.
GANGS = 60
#: The exact search gives up after so many steps, and the gang is left out.
MOST_STEPS = 200_000


#: Where each member is to go, and what its claims are to get.
Placed = dict[str, tuple[str, dict[str, tuple[AllocatedDevice, ...]]]]


@dataclass(frozen=True)
class Gpu:
    """A device.

    Attributes:
        reach: the nodes that can use it.
        takes: of the counter of its pool.
        room: of which several claims may have a part; 0 = one claim has all of it.
    """

    pool: str
    name: str
    kind: str
    reach: frozenset[str]
    takes: int = 0
    room: int = 0


@dataclass(frozen=True)
class Want:
    """A claim: so many devices of a kind ("" = any), and so much of each that has a room."""

    name: str
    kind: str
    count: int
    amount: int = 0


@dataclass
class Case:
    """Nodes, devices and a gang."""

    nodes: list[str]
    gpus: list[Gpu]
    counters: dict[str, int]
    claims: dict[str, Want]
    members: list[list[str]] = field(default_factory=list[list[str]])
    pins: list[str] = field(default_factory=list[str])

    # ── drawing ──────────────────────────────────────────────────────────────────────────────

    @classmethod
    def drawn(cls, chance: random.Random) -> "Case":
        nodes = [f"n{at}" for at in range(chance.randint(1, 3))]
        gpus: list[Gpu] = []
        counters: dict[str, int] = {}
        few = min(2, len(nodes))
        reaches = {node: frozenset([node]) for node in nodes}
        if chance.random() < 0.5:
            reaches["net"] = frozenset(nodes)
        if chance.random() < 0.3:
            reaches["part"] = frozenset(chance.sample(nodes, chance.randint(1, len(nodes))))
        if chance.random() < 0.3:
            reaches["each"] = frozenset()  # each of its devices has a reach of its own
        for pool, reach in reaches.items():
            counted = chance.random() < 0.3
            if counted:
                counters[pool] = chance.randint(1, 6)
            for at in range(chance.randint(0, 4)):
                gpus.append(
                    Gpu(
                        pool,
                        f"d{at}",
                        chance.choice("ab"),
                        reach or frozenset(chance.sample(nodes, chance.randint(1, few))),
                        takes=chance.randint(1, 3) if counted else 0,
                        room=chance.randint(2, 5) if chance.random() < 0.25 else 0,
                    )
                )
        case = cls(nodes, gpus[:12], counters, {})
        plain, pinned = chance.random() < 0.2, chance.random() < 0.3
        shared = [case._claim(f"s{at}", chance) for at in range(chance.choice((0, 0, 1, 1, 2)))]
        for member in range(chance.randint(1, 8)):
            own = [
                case._claim(f"c{member}-{at}", chance) for at in range(chance.choice((0, 1, 1, 2)))
            ]
            names = own + [each for each in shared if chance.random() < 0.5]
            chance.shuffle(names)
            case.members.append(names)
            case.pins.append(chance.choice(nodes) if pinned and chance.random() < 0.5 else "")
        if plain:  # of claims of one spec nobody may think that it matters who has which device
            case.claims = {name: Want(name, "", 1) for name in case.claims}
        return case

    def _claim(self, name: str, chance: random.Random) -> str:
        kind, count = chance.choice(("", "a", "b")), chance.choice((1, 1, 1, 2))
        amount = chance.randint(1, 3) if chance.random() < 0.3 else 0
        self.claims[name] = Want(name, kind, count, amount)
        return name

    # ── the exact search ─────────────────────────────────────────────────────────────────────

    def feasible(self) -> bool | None:
        """Whether the gang fits; None = that was not found out."""
        used = {name for names in self.members for name in names}
        wants = sorted((self.claims[each] for each in used), key=lambda w: len(self._options(w)))
        self._steps = MOST_STEPS
        self._dead: set[object] = set()
        nodes = [frozenset([pin] if pin else self.nodes) for pin in self.pins]
        found = self._search(wants, (), nodes)
        return None if self._steps <= 0 else found

    def _options(self, want: Want) -> list[tuple[int, ...]]:
        fit = [
            at
            for at, gpu in enumerate(self.gpus)
            if want.kind in ("", gpu.kind)
            and (not want.amount or (gpu.room and want.amount <= gpu.room))
        ]
        return list(combinations(fit, want.count))

    def _search(
        self, wants: list[Want], taken: tuple[tuple[int, int], ...], left: list[frozenset[str]]
    ) -> bool:
        """Whether these claims can be served as well.

        Args:
            wants: the claims to come.
            taken: `(device, how much of its room)` so far; all of it where it has none.
            left: the nodes that each member may go to.
        """
        if not wants:
            return True
        state = len(wants), tuple(sorted(taken)), tuple(left)
        self._steps -= 1
        if state in self._dead or self._steps <= 0:
            return False
        want, later = wants[0], wants[1:]
        for option in self._options(want):
            reach = frozenset.intersection(*(self.gpus[at].reach for at in option))
            nodes = [
                nodes & reach if want.name in names else nodes
                for nodes, names in zip(left, self.members, strict=True)
            ]
            gets = (*taken, *((at, self._part(want, self.gpus[at])) for at in option))
            if all(nodes) and self.holds(gets) and self._search(later, gets, nodes):
                return True
        self._dead.add(state)
        return False

    @staticmethod
    def _part(want: Want, gpu: Gpu) -> int:
        return (want.amount or gpu.room) if gpu.room else 0

    def holds(self, taken: tuple[tuple[int, int], ...]) -> bool:
        """Whether no device, room or counter is given away more than once."""
        whole = [at for at, _ in taken if not self.gpus[at].room]
        if len(set(whole)) < len(whole):
            return False
        for at, gpu in enumerate(self.gpus):
            if gpu.room and sum(part for of, part in taken if of == at) > gpu.room:
                return False
        return all(
            sum(self.gpus[at].takes for at in {at for at, _ in taken} if self.gpus[at].pool == pool)
            <= total
            for pool, total in self.counters.items()
        )

    # ── the engine ───────────────────────────────────────────────────────────────────────────

    def run(self) -> Placed:
        """Where each member is to go, and what its claims are to get; empty = nowhere."""
        cluster = Cluster()
        for node in self.nodes:
            cluster.node(node, cpu=64, labels=((HOSTNAME, node),))
        facts: list[Fact] = [*map(self._slice, dict.fromkeys(gpu.pool for gpu in self.gpus))]
        for fact in (*facts, *_CLASSES):
            cluster.tell(FactSeen(fact))
        for want in self.claims.values():
            capacity = {"capacity": {"requests": {"m": str(want.amount)}}} if want.amount else {}
            asked = exactly("gpus", want.count, want.kind or "any", **capacity)
            cluster.tell(FactSeen(replace(claim(want.name, asked), namespace="ns")))
        cluster.group("g", len(self.members))
        for at, names in enumerate(self.members):
            named = tuple(PodResourceClaim(f"r{each}") for each in range(len(names)))
            pinned = ((HOSTNAME, self.pins[at]),) if self.pins[at] else ()
            wanted = replace(spec(cpu=1), resource_claims=named, node_selector=pinned)
            cluster.pod(f"g-{at}", "g", spec=wanted, resource_claims=tuple(names))
        cluster.settle()
        if not any(self.members):
            return {}
        found: Placed = {}
        for effect in cluster.effects:
            if isinstance(effect, PreBind):
                decided = effect.target.decided.devices
                got = {
                    each.claim.partition("/")[2]: each.allocation.results
                    for each in (decided.claims if decided is not None else ())
                    if each.allocation is not None
                }
                found[effect.target.pod.name] = effect.target.node, got
        return found

    def _slice(self, pool: str) -> ResourceSlice:
        made: list[Any] = []
        for gpu in (each for each in self.gpus if each.pool == pool):
            more: dict[str, Any] = {}
            if gpu.takes:
                more["consumesCounters"] = [consumes("set", units=gpu.takes)]
            if gpu.room:
                more |= {"allowMultipleAllocations": True, "capacity": {"m": str(gpu.room)}}
            if pool == "each":
                more |= _where(gpu.reach)
            made.append(device(gpu.name, attributes={"kind": gpu.kind}, **more))
        of: dict[str, Any] = {"nodeName": pool}
        if pool == "net":
            of = {"allNodes": True}
        elif pool == "part":
            of = _where(next(gpu.reach for gpu in self.gpus if gpu.pool == pool))
        elif pool == "each":
            of = {"perDeviceNodeSelection": True}
        if pool in self.counters:
            of["sharedCounters"] = [counter_set("set", units=self.counters[pool])]
        return slice_of(None, *made, pool=pool, **of)

    def judge(self, found: Placed) -> Iterator[str]:
        """What is wrong with what the members get."""
        number = {(gpu.pool, gpu.name): at for at, gpu in enumerate(self.gpus)}
        got = {
            name: [number[each.pool, each.device] for each in results]
            for _, of_pod in found.values()
            for name, results in of_pod.items()
        }
        for name, devices in got.items():
            want = self.claims[name]
            kinds = {self.gpus[at].kind for at in devices}
            if len(devices) != want.count or (want.kind and kinds != {want.kind}):
                yield f"{name} got {devices}"
        taken = [
            (at, self._part(self.claims[name], self.gpus[at]))
            for name, devices in got.items()
            for at in devices
        ]
        if not self.holds(tuple(taken)):
            yield f"something was given away twice: {got}"
        for pod, (node, _) in found.items():
            names = self.members[int(pod.partition("-")[2])]
            used = {at for name in names for at in got.get(name, ())}
            far = [at for at in used if node not in self.gpus[at].reach]
            if far:
                yield f"{pod} is on {node}, and has {far}"


def _where(reach: frozenset[str]) -> dict[str, Any]:
    """How a slice or device says that these nodes reach it."""
    if len(reach) == 1:
        return {"nodeName": min(reach)}
    hosts = {"key": HOSTNAME, "operator": "In", "values": sorted(reach)}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}}


_CLASSES = (
    device_class("any"),
    *(device_class(kind, f'device.attributes["{DRIVER}"].kind == "{kind}"') for kind in "ab"),
)


@pytest.mark.parametrize("seed", range(2))
def test_who_fits_is_placed_and_nobody_else(seed: int) -> None:
    """Semantics §3.8."""
    chance = random.Random(seed)
    wrong: list[str] = []
    for number in range(times(GANGS)):
        case = Case.drawn(chance)
        fits = case.feasible()
        if fits is None:
            continue
        found = case.run()
        wrong += [f"{number}: {each}: {case}" for each in case.judge(found)]
        needed = sum(1 for names in case.members if names)
        if needed and (len(found) == needed) != fits:
            wrong.append(f"{number}: {'refused' if fits else 'placed'}: {case}")
    assert not wrong, "\n".join([f"{len(wrong)} wrong", *wrong[:3]])
