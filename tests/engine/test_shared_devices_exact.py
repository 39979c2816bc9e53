# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that share claims, whose devices several nodes reach, against an exact search."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import pytest

from enbloc.engine.effects import PreBind
from enbloc.engine.events import FactSeen
from enbloc.model.pins import HOSTNAME
from enbloc.model.pods import PodResourceClaim
from tests.devices.objects import DRIVER, claim, device, device_class, exactly, slice_of
from tests.effort import times
from tests.world.builders import spec
from tests.world.cluster import Cluster

#: Gangs of each batch.
GANGS = 60


@dataclass(frozen=True)
class Fabric:
    """A device, and the nodes that reach it."""

    name: str
    kind: str
    reach: frozenset[int]


@dataclass(frozen=True)
class Case:
    """Nodes, devices that several of them reach, and a gang.

    Attributes:
        slots: for how many members each node has room.
        wanted: by shared claim, the kind of its device; "any" = each.
        members: the claims of each member.
    """

    slots: Sequence[int]
    fabrics: Sequence[Fabric]
    wanted: Sequence[str]
    members: Sequence[Sequence[int]]

    @classmethod
    def drawn(cls, chance: random.Random) -> "Case":
        size, count = chance.randint(1, 4), chance.randint(2, 6)
        nodes = range(size * count)
        groups = [range(at * size, (at + 1) * size) for at in range(count)]
        fabrics = [Fabric(f"own{at}", "a", frozenset(each)) for at, each in enumerate(groups)]
        if chance.random() < 0.5:
            pairs = zip(groups[::2], groups[1::2], strict=False)
            fabrics += [
                Fabric(f"pair{at}", chance.choice("ab"), frozenset([*one, *other]))
                for at, (one, other) in enumerate(pairs)
            ]
        for at in range(chance.choice((0, 0, 1, 2))):
            some = chance.sample(nodes, chance.randint(1, len(nodes)))
            fabrics.append(Fabric(f"some{at}", chance.choice("ab"), frozenset(some)))
        wanted = [chance.choice(("a", "b", "any")) for _ in range(chance.choice((1, 1, 1, 2)))]
        slots = [chance.choice((0, 1, 1, 2)) for _ in nodes]
        size = min(len(nodes), chance.randint(2, 8))
        users = [[at for at in range(len(wanted)) if chance.random() < 0.9] for _ in range(size)]
        named = sorted({at for of in users for at in of})
        users = [[named.index(at) for at in of] for of in users]
        chance.shuffle(fabrics)
        return cls(slots, fabrics[:10], [wanted[at] for at in named], users)

    def places(self) -> Iterator[Sequence[frozenset[int]]]:
        """Yield the nodes that each member may go to, by which device each claim has."""
        for chosen in permutations(self.fabrics, len(self.wanted)):
            if all(kind in ("any", it.kind) for kind, it in zip(self.wanted, chosen, strict=True)):
                yield [
                    frozenset(range(len(self.slots))).intersection(*(chosen[at].reach for at in of))
                    for of in self.members
                ]

    def fits(self) -> bool:
        return any(map(self._matched, self.places()))

    def _matched(self, places: Sequence[frozenset[int]]) -> bool:
        """Whether all members find slots on these nodes."""
        seats: dict[tuple[int, int], int] = {}

        def seated(member: int, tried: set[tuple[int, int]]) -> bool:
            for node in places[member]:
                for seat in ((node, slot) for slot in range(self.slots[node])):
                    if seat not in tried:
                        tried.add(seat)
                        if seat not in seats or seated(seats[seat], tried):
                            seats[seat] = member
                            return True
            return False

        return all(seated(member, set()) for member in range(len(places)))

    def run(self) -> dict[str, int]:
        """Where each member is to go; empty = nowhere."""
        cluster = Cluster()
        for at, slots in enumerate(self.slots):
            cluster.node(f"n{at}", cpu=slots, labels=((HOSTNAME, f"n{at}"),))
        for kind in ("any", "a", "b"):
            of_kind = [f'device.attributes["{DRIVER}"].kind == "{kind}"'] if kind != "any" else []
            cluster.tell(FactSeen(device_class(kind, *of_kind)))
        for each in self.fabrics:
            hosts = {"key": HOSTNAME, "operator": "In", "values": [f"n{at}" for at in each.reach]}
            selector = {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}
            made = device("fabric", attributes={"kind": each.kind})
            cluster.tell(FactSeen(slice_of(None, made, pool=each.name, nodeSelector=selector)))
        for at, kind in enumerate(self.wanted):
            cluster.tell(FactSeen(replace(claim(f"c{at}", exactly("f", 1, kind)), namespace="ns")))
        cluster.group("g", len(self.members))
        for at, of in enumerate(self.members):
            named = tuple(PodResourceClaim(f"r{each}") for each in of)
            names = tuple(f"c{each}" for each in of)
            wanted = replace(spec(cpu=1), resource_claims=named)
            cluster.pod(f"g-{at}", "g", spec=wanted, resource_claims=names)
        cluster.settle()
        targets = [each.target for each in cluster.effects if isinstance(each, PreBind)]
        return {each.pod.name: int(each.node.removeprefix("n")) for each in targets}

    def judge(self, found: dict[str, int]) -> str:
        """What is wrong with where those go who have claims; "" = nothing."""
        users = [at for at, of in enumerate(self.members) if of]
        if not users:
            return ""
        if not found:  # several claims may have to be decided together, which is not searched
            return "fits, and is not placed" if len(self.wanted) == 1 and self.fits() else ""
        if not self.fits():
            return "placed, and does not fit"
        if {int(name.removeprefix("g-")) for name in found} != set(users):
            return f"placed in part: {found}"
        at = {int(name.removeprefix("g-")): node for name, node in found.items()}
        if not any(all(at[m] in each[m] for m in users) for each in self.places()):
            return f"placed where they reach no device in common: {found}"
        return ""


@pytest.mark.parametrize("seed", range(3))
def test_who_fits_around_shared_devices_is_placed_and_nobody_else(seed: int) -> None:
    """Semantics §2.10."""
    chance = random.Random(seed)
    wrong: list[str] = []
    for number in range(times(GANGS)):
        case = Case.drawn(chance)
        problem = case.judge(case.run())
        if problem:
            wrong.append(f"{number}: {problem}: {case}")
    assert not wrong, "\n".join([f"{len(wrong)} wrong", *wrong[:3]])
