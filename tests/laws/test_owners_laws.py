# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The laws while owners are scaled, suspended, remade and reshaped, to zero and back.

Two or three gangs want the same few nodes. Most requests land, so that gangs run before something
happens to their owners; what else can go wrong is in `test_engine_laws.py`.
"""

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Phase
from tests.effort import slow
from tests.laws.actions import Actions, Gang
from tests.laws.machines import DEEP, end, run, run_until_reached
from tests.laws.objects import Part

REACHED: Counter[str] = Counter()
#: What the episodes must show, or the laws prove nothing here.
SHOWN_HERE = (
    "a gang starts",
    "a gang in part is whole again",
    "a role that came is placed",
    "an owner comes back",
    "an owner goes idle",
    "it comes back to less room",
    "restart while an owner is idle",
)
NAMES = ("a", "b", "c")
MOST_PODS = 24

plain = st.builds(lambda n: (Part("", n, 1),), st.integers(2, 4))
in_roles = st.builds(
    lambda n, m: (Part("head", n, 1), Part("worker", m, 1)), st.integers(1, 2), st.integers(1, 3)
)
gangs = st.builds(
    Gang,
    parts=plain | in_roles,
    policy=st.sampled_from([OnIncomplete.REPAIR, *OnIncomplete]),
    timeout=st.sampled_from([5, 60]),
    keeps_names=st.booleans(),
    reserve=st.sampled_from([0, 0, 0, 1]),
)


class Owners(RuleBasedStateMachine):
    """Owners change, and their gangs start whole or wait."""

    world: Actions

    @initialize(
        first=st.lists(gangs, min_size=2, max_size=3),
        nodes=st.integers(3, 6),
        eager=st.booleans(),
    )
    def it_begins(self, first: list[Gang], nodes: int, eager: bool) -> None:
        self.world = Actions(slots=4, eager=eager)
        for _ in range(nodes):
            self.world.do("node_appears", self.world.name("n"), 1, 20)
        for name, gang in zip(NAMES, first, strict=False):
            self.world.do("gang_arrives", name, gang)
        self.all_goes_on()

    def all_goes_on(self) -> None:
        """What was asked for lands, pods run, and who terminates is gone."""
        world = self.world
        if world.leader is None:
            world.do("started")
        for _ in range(2):
            world.do("all_lands")
            world.do("pods_run", 100)
            world.do("terminating_pods_go")
            world.do("steps", 3)

    def _one(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.world.owners)))

    @rule()
    def it_goes_on(self) -> None:
        self.all_goes_on()

    @rule(runs=st.booleans())
    def a_little_happens(self, runs: bool) -> None:
        self.world.do("steps", 1)
        self.world.do("pods_run", 2 if runs else 0)

    @precondition(lambda self: self.world.owners)
    @rule(data=st.data(), minimum=st.integers(0, 5), at_once=st.booleans())
    def an_owner_goes_idle(self, data: st.DataObject, minimum: int, at_once: bool) -> None:
        """The PodGroup says another minimum meanwhile; some of its pods may terminate for long."""
        self.world.do("owner_goes_idle", self._one(data), minimum)
        if at_once:
            self.all_goes_on()

    @precondition(lambda self: any(owner.idle for owner in self.world.owners.values()))
    @rule(
        data=st.data(),
        more=st.integers(-2, 2),
        nodes=st.integers(0, 2),
        restart=st.sampled_from([False, False, True]),
    )
    def an_owner_comes_back(
        self, data: st.DataObject, more: int, nodes: int, restart: bool
    ) -> None:
        """There may be fewer nodes, and another process."""
        world = self.world
        idle = sorted(name for name, owner in world.owners.items() if owner.idle)
        name = data.draw(st.sampled_from(idle))
        for node in sorted(world.hosts)[:nodes]:
            world.do("node_is", node, "cordoned")
            world.reached["it comes back to less room"] += 1
        if restart:
            world.do("killed")
            world.do("started")
            world.reached["restart while an owner is idle"] += 1
        world.do("owner_comes_back", name, more)

    @precondition(lambda self: len(self.world.pods) < MOST_PODS and self.world.owners)
    @rule(data=st.data(), what=st.sampled_from(["replaces", "replaces", "restarts"]))
    def an_owner_makes_pods(self, data: st.DataObject, what: str) -> None:
        self.world.do(f"owner_{what}", self._one(data))

    @precondition(lambda self: len(self.world.pods) < MOST_PODS and self.world.owners)
    @rule(data=st.data(), count=st.integers(0, 3))
    def an_owner_is_reshaped(self, data: st.DataObject, count: int) -> None:
        self.world.do("owner_is_reshaped", self._one(data), count)

    @precondition(lambda self: self.world.groups)
    @rule(data=st.data(), minimum=st.integers(1, 5))
    def a_minimum_changes(self, data: st.DataObject, minimum: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.groups)))
        if minimum >= sum(role.min_member for role in self.world.groups[name].roles):
            self.world.do("minimum_is", name, minimum)

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data(), what=st.sampled_from(["deleted", "deleted", "fails", "succeeds"]))
    def something_happens_to_a_pod(self, data: st.DataObject, what: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.pods)))
        if what == "deleted":
            self.world.do("pod_is_deleted", name)
        else:
            phase = Phase.FAILED if what == "fails" else Phase.SUCCEEDED
            self.world.do("pod_finishes", name, phase)

    @rule(data=st.data(), what=st.sampled_from(["cordoned", "uncordoned", "uncordoned", "lost"]))
    def something_happens_to_a_node(self, data: st.DataObject, what: str) -> None:
        world = self.world
        if what == "lost" or not world.hosts:
            world.do("node_appears", world.name("n"), 1, 20)
        if len(world.hosts) > 1:
            node = data.draw(st.sampled_from(sorted(world.hosts)))
            world.do("node_is", node, what)
            world.do("pods_of_lost_nodes_go")

    @rule(how=st.sampled_from(["killed", "taken_over"]))
    def another_process_decides(self, how: str) -> None:
        self.world.do(how)
        self.world.do("started")

    @rule(seconds=st.sampled_from([1.0, 6.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.do("time_passes", seconds)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            for name in sorted(self.world.owners):
                self.world.do("owner_comes_back", name, 0)
            end(self.world, REACHED)


#: Worlds of each batch, and what happens to each of them.
WORLDS, STEPS = 20, 30


@pytest.mark.parametrize("batch", range(4))
def test_gangs_start_whole_whatever_their_owners_do(batch: int) -> None:
    """Semantics §2.4, §2.5."""
    run(Owners, WORLDS, STEPS, begin=batch)


@slow("it makes worlds until all states were reached that matter")
def test_gangs_start_whole_in_all_states_that_matter() -> None:
    run_until_reached(Owners, 5 * WORLDS, STEPS, SHOWN_HERE, REACHED)
    assert not set(SHOWN_HERE) - set(REACHED)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not DEEP, reason="goes on for hours, with other cases each time")
def test_gangs_start_whole_for_ever() -> None:
    run(Owners, 100_000, 60)
