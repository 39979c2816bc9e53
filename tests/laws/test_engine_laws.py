# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the engine under arbitrary interleavings of what can happen to a cluster.

The world is in `world.py`, what can happen to it in `actions.py`, what must never come of it in
`judge.py` and `waiting.py`, and the rules of docs/reference/semantics.md counted naively in
`naive.py` and `debts.py`. A failure lists the actions that led to it; `shrinking.py` leaves out
what does not matter, for `actions.play`. `--hypothesis-profile=deep` tries other cases each time,
for hours, until something breaks.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from enbloc.engine.effects import Bind, Evict
from enbloc.engine.events import Stream
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Phase, Pod
from tests.effort import slow
from tests.laws.actions import Actions, Gang, Step
from tests.laws.machines import DEEP, end, run, run_until_reached
from tests.laws.objects import Part
from tests.laws.reached import STATES
from tests.world.server import SHOWN

#: In how many runs each state was reached.
REACHED: Counter[str] = Counter()

MOST_NODES, MOST_GROUPS, MOST_PODS = 4, 4, 18
PAIR = (Part("", 2, 1),)


def in_part(policy: OnIncomplete) -> tuple[Step, ...]:
    """One member of each of two gangs is bound when the cluster is full, and the leader is new."""
    return (
        Step("node_appears", ("n-1", 1, 20)),
        Step("node_appears", ("n-2", 1, 20)),
        Step("killed", ()),
        Step("gang_arrives", ("a", Gang(PAIR, timeout=30))),
        Step("gang_arrives", ("b", Gang(PAIR, policy=policy))),
        Step("stranger_binds", ("a-1", "n-1")),
        Step("stranger_binds", ("b-1", "n-2")),
        Step("started", ()),
    )


def running(policy: OnIncomplete) -> tuple[Step, ...]:
    """A gang runs, and loses a node; its owner creates the lost members again."""
    return (
        Step("node_appears", ("n-1", 1, 20)),
        Step("node_appears", ("n-2", 1, 20)),
        Step("gang_arrives", ("a", Gang(PAIR, policy=policy, timeout=5))),
        Step("all_lands", ()),
        Step("pods_run", (2,)),
        Step("steps", (1,)),
        Step("node_is", ("n-2", "lost")),
        Step("pods_of_lost_nodes_go", ()),
        Step("owner_replaces", ("a",)),
        Step("time_passes", (6.0,)),
        Step("steps", (2,)),
    )


def bereft(policy: OnIncomplete) -> tuple[Step, ...]:
    """A gang runs and another waits for room, when a member of the first fails."""
    return (
        Step("node_appears", ("n-1", 1, 20)),
        Step("node_appears", ("n-2", 1, 20)),
        Step("gang_arrives", ("a", Gang(PAIR, policy=policy, timeout=30))),
        Step("all_lands", ()),
        Step("pods_run", (2,)),
        Step("steps", (1,)),
        Step("time_passes", (3.0,)),
        Step("pod_appears", ("one-1", 1, None, "enbloc", ())),
        Step("steps", (1,)),
        Step("pod_finishes", ("a-2", Phase.FAILED)),
    )


def refused(policy: OnIncomplete) -> tuple[Step, ...]:
    """A kubelet takes a member not; its owner is slow to create another."""
    return (
        Step("node_appears", ("n-1", 1, 20)),
        Step("node_appears", ("n-2", 1, 20)),
        Step("gang_arrives", ("a", Gang(PAIR, policy=policy))),
        Step("all_lands", ()),
        Step("kubelet_refuses", ("a-2",)),
        Step("steps", (1,)),
        Step("time_passes", (30.0,)),
        Step("owner_replaces", ("a",)),
    )


def reserving(policy: OnIncomplete) -> tuple[Step, ...]:
    """A driver is admitted with room for its executors, and another gang comes."""
    return (
        Step("node_appears", ("n-1", 6, 20)),
        Step("gang_arrives", ("a", Gang((Part("", 1, 1),), reserve=6, policy=policy))),
        Step("all_lands", ()),
        Step("time_passes", (3.0,)),
        Step("gang_arrives", ("b", Gang(PAIR))),
    )


OPENINGS: dict[str, Callable[[OnIncomplete], tuple[Step, ...]]] = {
    "bereft": bereft,
    "in part": in_part,
    "reserving": reserving,
    "refused": refused,
    "running": running,
}

FATES = ("ok", "ok", "ok", "ok", "unknown", "refused", "lost", "terminating")
NODE_CASES = (
    "is added",
    "is added",
    "changes its size",
    "cordoned",
    "uncordoned",
    "lost",
    "not ready",
    "ready",
    "labelled",
    "not labelled",
    "drained",
    "is collected",
)
POD_CASES = (
    "is deleted",
    "is deleted",
    "succeeds",
    "succeeds",
    "fails",
    "is refused",
    "is ungated",
    "is bound by a stranger",
    "terminating ones go",
    "terminating ones go",
)

shapes = st.one_of(
    st.builds(lambda n, cpu: (Part("", n, cpu),), st.integers(1, 5), st.integers(1, 3)),
    st.builds(
        lambda leaders, workers, cpu: (Part("leader", leaders, 1), Part("worker", workers, cpu)),
        st.integers(1, 2),
        st.integers(1, 3),
        st.integers(1, 2),
    ),
)
gangs = st.builds(
    Gang,
    parts=shapes,
    spare=st.integers(-1, 2),
    policy=st.sampled_from([OnIncomplete.REPAIR, *OnIncomplete]),
    timeout=st.sampled_from([0, 5]),
    priority=st.sampled_from([0, 0, 5]),
    owned=st.sampled_from([True, True, False]),
    late=st.booleans(),
    gated=st.sampled_from([False, False, True]),
    reserve=st.sampled_from([0, 0, 0, 1, 3]),
    keeps_names=st.booleans(),
    zone=st.sampled_from([False, False, True]),
)


def alive(machine: "Gangs") -> bool:
    return machine.world.leader is not None


class Gangs(RuleBasedStateMachine):
    """Gangs come, run and go on few nodes, while requests and news go astray.

    Few rules with many cases each: rules are chosen alike, and a gang is only bound if requests
    land as often as everything else happens together.
    """

    world: Actions

    @initialize(
        opening=st.sampled_from(["new"] * 5 + list(OPENINGS)),
        sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
        slots=st.integers(1, 4),
        first=st.lists(gangs, min_size=1, max_size=2),
        eager=st.booleans(),
        policy=st.sampled_from(OnIncomplete),
    )
    def it_begins(
        self,
        opening: str,
        sizes: list[int],
        slots: int,
        first: list[Gang],
        eager: bool,
        policy: OnIncomplete,
    ) -> None:
        self.world = Actions(slots=slots, eager=eager)
        if opening != "new":
            for step in OPENINGS[opening](policy):
                self.world.do(step.action, *step.arguments)
            return
        for cpu in sizes:
            self.world.do("node_appears", self.world.name("n"), cpu, 20)
        for gang in first:
            self.world.do("gang_arrives", self.world.name("g"), gang)

    def _one_of(self, data: st.DataObject, found: Iterable[str]) -> str:
        """One of these names; "" = there is none."""
        names = sorted(found)
        return data.draw(st.sampled_from(names)) if names else ""

    def _pod(self, data: st.DataObject, wanted: Callable[[Pod], bool]) -> str:
        return self._one_of(data, (n for n, pod in self.world.pods.items() if wanted(pod)))

    # ── the scheduler, and what becomes of what it asks for ──────────────────────────────────

    @precondition(alive)
    @rule(times=st.integers(1, 4))
    def it_steps(self, times: int) -> None:
        self.world.do("steps", times)

    @precondition(lambda self: self.world.flying)
    @rule(data=st.data(), fates=st.lists(st.sampled_from(FATES), min_size=1, max_size=6))
    def requests_land(self, data: st.DataObject, fates: list[str]) -> None:
        for wanted in fates:
            fate, flying = wanted, self.world.flying
            if not flying:
                return
            flight = flying[data.draw(st.integers(0, len(flying) - 1))]
            if isinstance(flight.effect, Evict):
                fate = data.draw(st.sampled_from(["ok", "refused", "lost"]))
            target = flight.effect.target if isinstance(flight.effect, Bind) else flight.effect
            self.world.do("request_lands", flight.life, target.uid, fate)

    @precondition(lambda self: self.world.leader and self.world.leader.answers)
    @rule(limit=st.integers(1, 3))
    def answers_arrive(self, limit: int) -> None:
        self.world.do("answers_arrive", limit)

    @rule(lands=st.sampled_from([False, False, True]), runs=st.sampled_from([0, 1, 100]))
    def all_is_well_for_a_while(self, lands: bool, runs: int) -> None:
        if lands:
            self.world.do("all_lands")
        self.world.do("pods_run", runs)

    @precondition(alive)
    @rule(
        stream=st.sampled_from(SHOWN),
        how=st.sampled_from(["lags"] * 3 + ["shows one", "catches up"] + ["is listed"] * 2),
    )
    def a_stream_lags_or_catches_up(self, stream: Stream, how: str) -> None:
        self.world.do("stream", stream, how)

    @rule(go=st.booleans())
    def writes_stall_or_go_out(self, go: bool) -> None:
        self.world.do("writes_go_out" if go else "writes_stall")

    @precondition(alive)
    @rule(
        how=st.sampled_from(["restart", "restart", "takeover", "takeover", "death"]),
        listed=st.sampled_from([3, 3, 2, 0]),
    )
    def it_ends(self, how: str, listed: int) -> None:
        """What it sent may land while the next one decides; after a takeover it may go on."""
        self.world.do("taken_over" if how == "takeover" else "killed")
        if how == "restart":
            self.world.do("started", SHOWN, listed)

    @precondition(lambda self: self.world.former)
    @rule(how=st.sampled_from(["steps", "steps", "sees and steps", "ends"]))
    def the_former_leader_acts(self, how: str) -> None:
        self.world.do("former_acts", how)

    @precondition(lambda self: self.world.leader is None)
    @rule(order=st.permutations(SHOWN), listed=st.sampled_from([3, 3, 2, 1, 0]))
    def it_starts_again(self, order: list[Stream], listed: int) -> None:
        self.world.do("started", order, listed)

    @precondition(lambda self: self.world.leader and self.world.leader.unlisted)
    @rule()
    def the_next_stream_is_listed(self) -> None:
        self.world.do("next_is_listed")

    @rule(seconds=st.sampled_from([0.5, 3.0, 30.0, 90.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.do("time_passes", seconds)

    # ── nodes ────────────────────────────────────────────────────────────────────────────────

    @rule(data=st.data(), what=st.sampled_from(NODE_CASES), cpu=st.integers(1, 6))
    def something_happens_to_a_node(self, data: st.DataObject, what: str, cpu: int) -> None:
        world = self.world
        node = self._one_of(data, world.hosts)
        if what == "is added":
            if len(world.hosts) < MOST_NODES:
                pods, zone = data.draw(st.sampled_from([2, 20])), data.draw(st.booleans())
                world.do("node_appears", world.name("n"), cpu, pods, zone)
        elif what == "changes its size":
            if node:
                world.do("node_appears", node, cpu, 20)
        elif what == "is collected":
            world.do("pods_of_lost_nodes_go")
        else:
            world.do("node_is", node, what)

    # ── gangs ────────────────────────────────────────────────────────────────────────────────

    @precondition(lambda self: len(self.world.groups) < MOST_GROUPS)
    @precondition(lambda self: len(self.world.pods) < MOST_PODS)
    @rule(gang=gangs)
    def a_gang_arrives(self, gang: Gang) -> None:
        self.world.do("gang_arrives", self.world.name("g"), gang)

    @rule(
        data=st.data(),
        what=st.sampled_from(["replaces", "replaces", "replaces", "restarts"]),
    )
    def an_owner_acts(self, data: st.DataObject, what: str) -> None:
        if len(self.world.pods) < MOST_PODS:
            self.world.do(f"owner_{what}", self._one_of(data, self.world.owners))

    @rule(
        data=st.data(),
        what=st.sampled_from(["goes idle", "goes idle", "is reshaped"]),
        minimum=st.integers(0, 6),
    )
    def an_owner_changes(self, data: st.DataObject, what: str, minimum: int) -> None:
        """One that is idle comes back, with more members or fewer."""
        world, name = self.world, self._one_of(data, self.world.owners)
        if name and world.owners[name].idle:
            world.do("owner_comes_back", name, minimum - 3)
        elif what == "is reshaped":
            world.do("owner_is_reshaped", name, minimum % 3)
        else:
            world.do("owner_goes_idle", name, minimum)

    @precondition(lambda self: self.world.groups)
    @rule(
        data=st.data(),
        what=st.sampled_from(
            ["minimum", "minimum", "policy", "goes", "comes again", "denied", "mended"]
        ),
        minimum=st.integers(1, 6),
        policy=st.sampled_from(OnIncomplete),
    )
    def a_podgroup_changes(
        self, data: st.DataObject, what: str, minimum: int, policy: OnIncomplete
    ) -> None:
        world, name = self.world, self._one_of(data, self.world.groups)
        if what == "minimum":
            world.do("minimum_is", name, minimum)
        elif what == "policy":
            world.do("policy_is", name, policy)
        elif what == "denied":
            world.do("webhook_denies", name)
        elif what == "mended":
            world.do("webhook_is_mended", name)
        else:
            world.do("podgroup_goes", name)
            if what == "comes again":
                world.do("podgroup_comes", name, minimum)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    @rule(data=st.data(), what=st.sampled_from(["one", "bare", "gated", "foreign"]))
    def a_pod_appears(self, data: st.DataObject, what: str) -> None:
        world = self.world
        if len(world.pods) >= MOST_PODS:
            return
        cpu = data.draw(st.integers(1, 3))
        if what == "foreign":
            how = data.draw(st.sampled_from(["node", "nominated", "pinned"]))
            if world.hosts:
                node = self._one_of(data, world.hosts)
                world.do("foreign_pod_appears", world.name("foreign"), cpu, node, how)
            return
        group = None if what == "one" else self._one_of(data, world.groups) or None
        gates = ("hold",) if what == "gated" else ()
        scheduler = data.draw(st.sampled_from(["enbloc", "enbloc", "enbloc", "other"]))
        world.do("pod_appears", world.name(what), cpu, group, scheduler, gates)

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data(), what=st.sampled_from(POD_CASES))
    def something_happens_to_a_pod(self, data: st.DataObject, what: str) -> None:
        world = self.world
        match what:
            case "is deleted":
                world.do("pod_is_deleted", self._pod(data, lambda pod: not pod.deleting))
            case "succeeds" | "fails":
                name = self._pod(data, lambda pod: bool(pod.node) and not pod.finished)
                phase = Phase.SUCCEEDED if what == "succeeds" else Phase.FAILED
                world.do("pod_finishes", name, phase)
            case "is refused":
                name = self._pod(data, lambda pod: pod.bound and pod.phase is Phase.PENDING)
                world.do("kubelet_refuses", name)
            case "is ungated":
                world.do("pod_is_ungated", self._pod(data, lambda pod: bool(pod.gates)))
            case "is bound by a stranger":
                name = self._pod(data, lambda p: not p.node and p.live and not p.gates)
                if world.hosts:
                    world.do("stranger_binds", name, self._one_of(data, world.hosts))
            case _:
                world.do("terminating_pods_go")

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def teardown(self) -> None:
        if hasattr(self, "world"):
            end(self.world, REACHED)


#: Worlds of each batch, and what happens to each of them.
WORLDS, STEPS = 50, 50


@pytest.mark.parametrize("batch", range(4))
def test_the_laws_hold(batch: int) -> None:
    """Every run is the same, so that what is red stays red."""
    run(Gangs, WORLDS, STEPS, begin=batch)


@slow("it makes worlds until all states were reached that matter")
def test_the_laws_hold_in_all_states_that_matter() -> None:
    run_until_reached(Gangs, 2 * WORLDS, STEPS, STATES, REACHED)
    assert not set(STATES) - set(REACHED)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not DEEP, reason="goes on for hours, with other cases each time")
def test_the_laws_hold_for_ever() -> None:
    run(Gangs, 100_000, 120)
