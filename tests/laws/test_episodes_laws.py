# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Many short episodes: owners scale to zero, are suspended, remade and reshaped beside a rival.

`test_owners_laws.py` lets everything go wrong at the same time; here everything goes well but what
owners do, and so each episode costs milliseconds.
"""

import random
from dataclasses import dataclass, replace

import pytest

from enbloc.model.pods import Owner, Pod
from tests.effort import times
from tests.rules.world import World

NAMES = ("a", "b")
#: Episodes of each batch.
EPISODES = 400


@dataclass
class Gang:
    """An owner, and what it wants.

    Attributes:
        counts: members by role; "" = without one.
        life: how often it was remade.
        made: how many pods it has made.
    """

    name: str
    counts: dict[str, int]
    derived: bool
    life: int = 0
    made: int = 0

    @property
    def owner(self) -> Owner:
        return Owner("Job", self.name, f"{self.name}-{self.life}")

    @property
    def whole(self) -> int:
        return sum(self.counts.values())


class Episodes:
    """A world of two gangs on few nodes, in which owners act at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # the same cases each time
        self.world = World(slots=64)
        self.world.nodes(" ".join(f"n{index}" for index in range(6)), cpu=4)
        self.gangs = [self._gang(name) for name in NAMES]
        for gang in self.gangs:
            self.world.group(gang.name, 1, timeout=60, derived=gang.derived)
            self._says(gang)
            self._makes(gang)
        self._rests("at the start")

    def _gang(self, name: str) -> Gang:
        roles = ("head", "worker")[: self.random.randint(1, 2)]
        counts = {role: self.random.randint(1, 3) for role in roles}
        if self.random.random() < 0.5:
            counts = {"": self.random.randint(1, 5)}
        return Gang(name, counts, self.random.random() < 0.5)

    # ── what owners do ───────────────────────────────────────────────────────────────────────

    def _says(self, gang: Gang) -> None:
        """The PodGroup says what the owner wants."""
        roles = tuple((role, count) for role, count in gang.counts.items() if role)
        self.world.alter(gang.name, min_member=max(1, gang.whole), roles=roles)

    def _makes(self, gang: Gang) -> None:
        for role, count in gang.counts.items():
            live = sum(pod.live and pod.role == role for pod in self._of(gang))
            for _ in range(count - live):
                gang.made += 1
                name = f"{gang.name}-{gang.made}"
                self.world.member(name, gang.name, role=role, owner=gang.owner)

    def _of(self, gang: Gang) -> list[Pod]:
        return [
            pod
            for pod in self.world.pods.values()
            if pod.group is not None and pod.group.name == gang.name and pod.owner == gang.owner
        ]

    def _goes(self, gang: Gang) -> None:
        for pod in list(self.world.pods.values()):
            if pod.group is not None and pod.group.name == gang.name:
                self.world.delete(pod.key.name)

    def _lowers(self, gang: Gang) -> None:
        """Somebody patches the minimum while nothing exists."""
        self.world.alter(gang.name, min_member=self.random.randint(1, 6), roles=())

    def _reshapes(self, gang: Gang) -> None:
        if "" in gang.counts:
            gang.counts = {"": self.random.randint(1, 5)}
        elif self.random.random() < 0.5:
            gang.counts["late"] = self.random.randint(1, 2)
        else:
            gang.counts = {role: self.random.randint(1, 3) for role in ("head", "worker")}

    def episode(self) -> None:
        """An owner goes to zero and comes back, to other nodes and with another shape."""
        gang, chance = self.random.choice(self.gangs), self.random.random
        self._goes(gang)
        self._rests("at zero")
        if chance() < 0.5:
            self._lowers(gang)
            self._rests("patched at zero")
        if chance() < 0.5:
            self._reshapes(gang)
        if chance() < 0.3:
            gang.life += 1
        for node in list(self.world.hosts.values()):
            self.world.put_node(replace(node, unschedulable=chance() < 0.4))
        if chance() < 0.15:
            self.world = self.world.restarted()
        if chance() < 0.1:
            self._rests("before it comes back")
        self._says(gang)
        self._makes(gang)
        self._rests("back")

    # ── what must hold ───────────────────────────────────────────────────────────────────────

    def _rests(self, when: str) -> None:
        """Whoever held nothing holds nothing, or all that its PodGroup asks for."""
        before = {gang.name: len(self.world.where(f"{gang.name}-")) for gang in self.gangs}
        self.world.settle(seconds=self.random.choice((0, 1, 11)))
        self.world.run_pods(
            name for name in self.world.where() if not self.world.pods[name].running
        )
        self.world.settle()
        for gang in self.gangs:
            group = self.world.groups[gang.name]
            bound = [self.world.pods[name] for name in self.world.where(f"{gang.name}-")]
            if before[gang.name] or not bound:
                continue
            assert len(bound) >= group.min_member, f"{when}: {len(bound)} of {group.min_member}"
            for role in group.roles:
                count = sum(pod.role == role.name for pod in bound)
                assert count >= role.min_member, f"{when}: {count} of {role}"


@pytest.mark.parametrize("seed", range(2))
def test_no_gang_comes_back_in_part(seed: int) -> None:
    """Semantics §2.4, §2.5."""
    episodes = Episodes(seed)
    for _ in range(times(EPISODES)):
        episodes.episode()
