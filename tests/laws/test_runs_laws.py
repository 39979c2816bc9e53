# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of runs, under arbitrary interleavings of what controllers do with one PodGroup.

The controllers are in `controllers.py`, what is true of their runs in `runs.py`, and what must
never come of it in `judge_of_runs.py`. A failure lists the actions that led to it; `shrinking.py`
leaves out what does not matter.
"""

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from enbloc.engine.effects import Bind
from enbloc.engine.events import Stream
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Phase
from tests.effort import slow
from tests.laws.controllers import KINDS, Controllers
from tests.laws.machines import DEEP, end, run, run_until_reached
from tests.world.server import SHOWN

#: In how many worlds each state was reached.
REACHED: Counter[str] = Counter()
MOST_PODS = 24

#: Every state that matters.
STATES = (
    "a dead process' Bind lands",
    "a list instead of what happened",
    "a member is evicted",
    "a member is placed by itself",
    "a rollout",
    "a run is relaunched after successes",
    "a run starts while another is live",
    "a run starts whole",
    "a run that was cut is completed",
    "again, the old is gone",
    "again, the old is live",
    "again, the old is terminating",
    "one Job of two is made again",
    "restart while requests are under way",
    "resumed",
    "runs without a quorum gather",
    "suspended",
    "takeover while requests are under way",
    "the status tells of two runs",
)

workloads = st.tuples(
    st.sampled_from(list(KINDS)),
    st.integers(2, 4),
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from([OnIncomplete.REPAIR] * 3 + list(OnIncomplete)),
    st.sampled_from([0, 5]),
)
FATES = ("ok",) * 5 + ("unknown", "refused", "lost")
POD_CASES = ("is deleted", "succeeds", "succeeds", "fails", "terminating ones go", "collected")
NODE_CASES = ("is added", "is added", "changes its size", "cordoned", "uncordoned", "lost")
OWNER_CASES = (
    ("again", "live"),
    ("again", "live"),
    ("again", "terminating"),
    ("again", "gone"),
    ("the old go", ""),
    ("suspended", ""),
    ("resumed", ""),
    ("rolls out", ""),
    ("one again", ""),
    ("new PodGroup", ""),
)


def alive(machine: "Runs") -> bool:
    return machine.world.leader is not None


class Runs(RuleBasedStateMachine):
    """One or two PodGroups, whose controllers never rest."""

    world: Controllers

    @initialize(
        sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
        slots=st.integers(1, 4),
        first=st.lists(workloads, min_size=1, max_size=2),
        eager=st.booleans(),
        runs=st.booleans(),
    )
    def it_begins(
        self,
        sizes: list[int],
        slots: int,
        first: list[tuple[str, int, int, OnIncomplete, int]],
        eager: bool,
        runs: bool,
    ) -> None:
        self.world = Controllers(slots=slots, eager=eager)
        for cpu in sizes:
            self.world.do("node_appears", self.world.name("n"), cpu, 20)
        for kind, *more in first:
            self.world.do("workload_arrives", self.world.name(kind), kind, *more)
        if runs:
            self.world.do("runs_well")

    def _one_of(self, data: st.DataObject, names: list[str]) -> str:
        return data.draw(st.sampled_from(sorted(names))) if names else ""

    # ── controllers ──────────────────────────────────────────────────────────────────────────

    @rule(data=st.data(), most=st.sampled_from([1, 2, 10, 10]), last=st.booleans())
    def a_controller_makes_pods(self, data: st.DataObject, most: int, last: bool) -> None:
        if len(self.world.pods) < MOST_PODS:
            name = self._one_of(data, list(self.world.workloads))
            self.world.do("makes", name, most, last)

    @rule(data=st.data(), what=st.sampled_from(OWNER_CASES))
    def an_owner_acts(self, data: st.DataObject, what: tuple[str, str]) -> None:
        world = self.world
        name = self._one_of(data, list(world.workloads))
        match what[0]:
            case "again":
                if len(world.pods) < MOST_PODS:
                    world.do("runs_again", name, what[1])
            case "the old go":
                world.do("old_runs_go", name)
            case "suspended" | "resumed":
                world.do("is_suspended", name, what[0] == "suspended")
            case "rolls out":
                world.do("rolls_out", name)
            case "one again":
                world.do("one_is_made_again", name, data.draw(st.integers(0, 1)))
            case _:
                world.do("podgroup_is_new", name)

    # ── pods and nodes ───────────────────────────────────────────────────────────────────────

    @rule(lands=st.sampled_from([False, True]), runs=st.sampled_from([1, 100]))
    def all_is_well_for_a_while(self, lands: bool, runs: int) -> None:
        if lands:
            self.world.do("all_lands")
        self.world.do("pods_run", runs)

    @precondition(lambda self: self.world.pods)
    @rule(data=st.data(), what=st.sampled_from(POD_CASES))
    def something_happens_to_a_pod(self, data: st.DataObject, what: str) -> None:
        world = self.world
        match what:
            case "is deleted":
                found = [name for name, pod in world.pods.items() if not pod.deleting]
                world.do("pod_is_deleted", self._one_of(data, found))
            case "succeeds" | "fails":
                found = [n for n, pod in world.pods.items() if pod.bound]
                phase = Phase.SUCCEEDED if what == "succeeds" else Phase.FAILED
                world.do("pod_finishes", self._one_of(data, found), phase)
            case "collected":
                world.do("pods_are_collected", self._one_of(data, list(world.workloads)))
            case _:
                world.do("terminating_pods_go")

    @rule(data=st.data(), what=st.sampled_from(NODE_CASES), cpu=st.integers(1, 6))
    def something_happens_to_a_node(self, data: st.DataObject, what: str, cpu: int) -> None:
        world = self.world
        node = self._one_of(data, list(world.hosts))
        if what == "is added":
            if len(world.hosts) < 4:
                world.do("node_appears", world.name("n"), cpu, 20)
        elif what == "changes its size":
            if node:
                world.do("node_appears", node, cpu, 20)
        else:
            world.do("node_is", node, what)
            if what == "lost":
                world.do("pods_of_lost_nodes_go")

    # ── the scheduler ────────────────────────────────────────────────────────────────────────

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
            effect = flying[data.draw(st.integers(0, len(flying) - 1))]
            if isinstance(effect.effect, Bind):
                uid = effect.effect.target.uid
            else:
                uid, fate = effect.effect.uid, "ok" if wanted != "lost" else wanted
            self.world.do("request_lands", effect.life, uid, fate)

    @precondition(lambda self: self.world.leader and self.world.leader.answers)
    @rule(limit=st.integers(1, 3))
    def answers_arrive(self, limit: int) -> None:
        self.world.do("answers_arrive", limit)

    @precondition(alive)
    @rule(
        stream=st.sampled_from(SHOWN),
        how=st.sampled_from(["lags"] * 2 + ["shows one", "catches up"] + ["is listed"]),
    )
    def a_stream_lags_or_catches_up(self, stream: Stream, how: str) -> None:
        self.world.do("stream", stream, how)

    @rule(go=st.booleans())
    def writes_stall_or_go_out(self, go: bool) -> None:
        self.world.do("writes_go_out" if go else "writes_stall")

    @precondition(alive)
    @rule(how=st.sampled_from(["restart", "restart", "takeover", "death"]))
    def it_ends(self, how: str) -> None:
        self.world.do("taken_over" if how == "takeover" else "killed")
        if how == "restart":
            self.world.do("started")

    @precondition(lambda self: self.world.former)
    @rule(how=st.sampled_from(["steps", "sees and steps", "ends"]))
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

    @rule(seconds=st.sampled_from([0.5, 3.0, 11.0, 90.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.do("time_passes", seconds)

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def teardown(self) -> None:
        if hasattr(self, "world"):
            end(self.world, REACHED)


#: Worlds of each batch, and what happens to each of them.
WORLDS, STEPS = 25, 40


@pytest.mark.parametrize("batch", range(4))
def test_runs_are_never_mixed_up(batch: int) -> None:
    """Every run of this test is the same, so that what is red stays red."""
    run(Runs, WORLDS, STEPS, begin=batch)


@slow("it makes worlds until all states were reached that matter")
def test_runs_are_never_mixed_up_in_all_states_that_matter() -> None:
    run_until_reached(Runs, 2 * WORLDS, STEPS, STATES, REACHED)
    assert not set(STATES) - set(REACHED)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not DEEP, reason="goes on for hours, with other cases each time")
def test_runs_are_never_mixed_up_for_ever() -> None:
    run(Runs, 100_000, 80)
