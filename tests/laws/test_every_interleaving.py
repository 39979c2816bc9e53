# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of two gangs on two nodes, up to a depth: the same laws, nothing left out.

From each world that can be reached, every action is tried; and from each, the end is tried: what
is under way lands, all timers run out, and nothing that fits is left waiting. Worlds in which the
API server, the requests under way and the scheduler are alike are looked at once. Here `make laws`
looks at fewer steps, and `--hypothesis-profile=deep` at more.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from enbloc.engine import Engine
from enbloc.engine.effects import Bind
from enbloc.engine.events import Stream
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Phase
from tests.effort import deep, slow
from tests.laws.actions import Actions, Gang, Step, play
from tests.laws.objects import Part
from tests.laws.process import PROFILES

DEEPER = 3 if deep() else 0

THREE = Gang((Part("", 3, 1),))
PAIR = Gang((Part("", 2, 1),), timeout=30)
ROLES = Gang((Part("leader", 1, 1), Part("worker", 1, 1)), spare=-1)

#: How often each of these happens at most; everything else happens whenever it can.
RARE = {"refused": 2, "unknown": 1, "restart": 1, "lag": 1, "loss": 1, "time": 1}


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that can happen now, and whether it is one of the rare ones."""

    steps: tuple[Step, ...]
    rare: str = ""


@dataclass(slots=True)
class Search:
    """How much was looked at."""

    depth: int
    seen: dict[object, int] = field(default_factory=dict)
    ended: set[object] = field(default_factory=set)
    transitions: int = 0


def choices(world: Actions, left: dict[str, int]) -> Iterator[Choice]:
    found = list(_of_the_scheduler(world)) if world.leader is not None else []
    found += _of_requests(world)
    running = [p for p in world.pods.values() if p.bound and p.group]
    if running:
        oldest = min(running, key=lambda pod: pod.key).key.name
        gang = oldest.split("-")[0]
        fails = Step("pod_finishes", (oldest, Phase.FAILED))
        found.append(Choice((fails, Step("owner_replaces", (gang,))), "loss"))
    found.append(Choice((Step("time_passes", (61.0,)),), "time"))
    return (choice for choice in found if not choice.rare or left[choice.rare])


def _of_the_scheduler(world: Actions) -> Iterator[Choice]:
    process = world.process
    if process.wakeup <= world.now:
        yield Choice((Step("steps", (1,)),))
    if process.answers:
        yield Choice((Step("answers_arrive", (1,)),))
    if Stream.PODS not in process.lagging:
        yield Choice((Step("stream", (Stream.PODS, "lags")),), "lag")
    elif process.undelivered[Stream.PODS]:
        yield Choice((Step("stream", (Stream.PODS, "shows one")),))
        yield Choice((Step("stream", (Stream.PODS, "is listed")),))
    yield Choice((Step("killed", ()), Step("started", ())), "restart")


def _of_requests(world: Actions) -> Iterator[Choice]:
    for flight in world.flying:
        effect = flight.effect
        uid = effect.target.uid if isinstance(effect, Bind) else effect.uid
        ours = world.sender(flight) is not None
        for fate in ("ok", "refused", "unknown") if ours else ("ok", "lost"):
            rare = fate if fate in RARE else ""
            yield Choice((Step("request_lands", (flight.life, uid, fate)),), rare)


def digest(world: Actions, left: dict[str, int]) -> object:
    """What makes two worlds alike: all that decides what can come of them."""
    pods = sorted(
        (p.uid, p.node, p.phase, p.deleting, p.unschedulable) for p in world.pods.values()
    )
    flying = sorted((world.sender(f) is not None, repr(f.effect)) for f in world.flying)
    groups = tuple(sorted((g.key, g.memory) for g in world.groups.values()))
    outside = (tuple(pods), tuple(flying), groups, world.now, tuple(left.items()))
    process = world.leader
    if process is None:
        return outside
    waiting = tuple(repr(event) for event in process.undelivered[Stream.PODS])
    news = (tuple(map(repr, process.answers)), waiting, tuple(process.lagging))
    return (*outside, *news, *_inside(process.engine))


def _inside(engine: Engine) -> tuple[object, ...]:
    plans = tuple(
        (plan.plan.group, tuple((a.pod.uid, a.node, plan.stage(a.pod.uid)) for a in plan._order))
        for plan in engine._plans._open.values()
    )
    queue = tuple(
        (item.key, item.place, item.attempts, item.errors, item.unschedulable, item.ready_at)
        for item in engine._queue._items.values()
    )
    news = (tuple(engine._next.changed), engine._next.news, engine._plans.slots)
    repairs = tuple((key, repr(repair)) for key, repair in engine._repair._open.items())
    return plans, queue, news, repairs, tuple(engine._repair._pairs)


def explore(world: Actions, left: dict[str, int], depth: int, search: Search) -> None:
    """Look at this world and at all that can come of it; it is used up."""
    key = digest(world, left)
    if search.seen.get(key, -1) >= depth:
        return
    search.seen[key] = depth
    todo = list(choices(world, left)) if depth else []
    if key not in search.ended:
        search.ended.add(key)
        last = fork(world) if todo else world
        last.do("ends")
        if len(search.ended) % 8 == 0:
            last.do("replay_gives_the_same_effects")
    for choice in todo:
        after = world if choice is todo[-1] else fork(world)
        for step in choice.steps:
            after.do(step.action, *step.arguments)
        search.transitions += 1
        rest = {**left, choice.rare: left[choice.rare] - 1} if choice.rare else left
        explore(after, rest, depth - 1, search)


def fork(world: Actions) -> Actions:
    """A world of its own; that its engine is a true copy a replay of some of them shows."""
    frozen: list[object] = [*world.script, *world.truth.pods.values(), *world.flying, PROFILES]
    if world.leader is not None:
        process = world.leader
        seen = process.judge.view.pods.values()
        frozen += [*process.effects, *process.answers, *process.engine.told, *seen]
    copied = copy.deepcopy(world, {id(fact): fact for fact in frozen})
    if copied.leader is not None:
        nodes = copied.leader.engine._state.nodes  # whose view of its own cells is no view any more
        assert nodes._cells is not None
        nodes._view = nodes._cells[:, : len(nodes)]
    return copied


def arrive(first: Gang, second: Gang) -> tuple[Step, ...]:
    return (
        Step("node_appears", ("n1", 2, 20)),
        Step("node_appears", ("n2", 2, 20)),
        Step("gang_arrives", ("a", first)),
        Step("gang_arrives", ("b", second)),
        Step("steps", (1,)),
    )


def cut_short(first: Gang, second: Gang) -> tuple[Step, ...]:
    """One member of each gang is bound when the cluster is full, and the scheduler is new."""
    return (
        Step("node_appears", ("n1", 1, 20)),
        Step("node_appears", ("n2", 1, 20)),
        Step("killed", ()),
        Step("gang_arrives", ("a", first)),
        Step("gang_arrives", ("b", second)),
        Step("stranger_binds", ("a-1", "n1")),
        Step("stranger_binds", ("b-1", "n2")),
        Step("started", ()),
    )


CASES = {
    "room for one of two": (arrive(THREE, THREE), 2),
    "room for both, one slot": (arrive(PAIR, ROLES), 1),
    "each bound in part, and no room": (
        cut_short(PAIR, Gang(PAIR.parts, policy=OnIncomplete.RESTART)),
        2,
    ),
    "each bound in part, and one is kept": (
        cut_short(Gang(PAIR.parts, policy=OnIncomplete.KEEP), PAIR),
        2,
    ),
}
whole = slow("the number of interleavings is exponential in the number of steps")


@pytest.mark.timeout(0 if DEEPER else 900)
@pytest.mark.parametrize(
    ("case", "depth", "least"),
    [
        ("room for one of two", 2, 20),
        pytest.param("room for one of two", 4, 300, marks=whole),
        ("room for both, one slot", 3, 50),
        pytest.param("room for both, one slot", 5, 250, marks=whole),
        ("each bound in part, and no room", 2, 20),
        pytest.param("each bound in part, and no room", 4, 200, marks=whole),
        ("each bound in part, and one is kept", 2, 20),
        pytest.param("each bound in part, and one is kept", 4, 200, marks=whole),
    ],
)
def test_every_interleaving_obeys_the_laws(case: str, depth: int, least: int) -> None:
    script, slots = CASES[case]
    search = Search(depth + DEEPER)
    explore(play(script, slots=slots), dict(RARE), search.depth, search)
    print(f"{len(search.ended)} worlds, {search.transitions} transitions")
    assert len(search.ended) >= least, "it looked at less than it should"
