# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the first decision: at once, in order, and as long as nobody is lost without time."""

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.effects import Bind, Decided, Effect
from enbloc.model.binding_record import binding_record
from enbloc.model.groups import GroupMemory, RunMemory
from enbloc.model.runs import BARE
from tests.effort import examples
from tests.laws.actions import Actions
from tests.laws.fitting import cheapest, free_rooms, packs
from tests.laws.naive import floors, missing
from tests.laws.objects import Part

PARTS = st.lists(
    st.builds(Part, st.just(""), st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=2
).map(tuple)

#: On a member that a Binding of ours placed.
OURS = binding_record("p-1", "", 2, 1000.0)


def decided(effects: list[Effect]) -> list[str]:
    """The groups that were placed, in order."""
    return [e.group.name for e in effects if isinstance(e, Decided) and e.result == "scheduled"]


def fits(world: Actions) -> bool:
    """Whether the only group lacks nothing and has room, found by trying everything."""
    run = next(iter(world.truth.runs.values()), None)
    if run is None or run.group is None:
        return False
    chosen = cheapest(run.pending, missing(run.held, floors(run.group)) or {"": 1})
    return chosen is not None and packs(chosen, free_rooms(world.truth))


def nodes_come(world: Actions, sizes: Sequence[int], cordoned: Sequence[bool]) -> Iterator[None]:
    """One by one; those that are cordoned at first are opened when all are there."""
    for index, cpu in enumerate(sizes):
        world.add_node(f"n{index}", cpu)
        if cordoned[index]:
            world.cordon(f"n{index}", True)
        yield
    for index in range(len(sizes)):
        world.cordon(f"n{index}", False)
        yield


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    cordoned=st.lists(st.booleans(), min_size=3, max_size=3),
    parts=PARTS,
    spare=st.integers(0, 2),
    order=st.permutations(["nodes", "group", "members"]),
    steps=st.lists(st.integers(0, 4), min_size=8, max_size=8),
    extra=st.booleans(),
)
@examples(150)
def test_a_gang_that_fits_alone_is_placed_in_the_step_in_which_the_last_piece_is_there(
    sizes: list[int],
    cordoned: list[bool],
    parts: tuple[Part, ...],
    spare: int,
    order: list[str],
    steps: list[int],
    extra: bool,
) -> None:
    """Whatever came first, however often it was tried in vain before: without any time passing."""
    world = Actions(slots=32)
    world.add_owner("g", parts)

    def pieces() -> Iterator[None]:
        for piece in order:
            if piece == "nodes":
                yield from nodes_come(world, sizes, cordoned)
            elif piece == "group":
                world.add_group("g", max(1, sum(part.count for part in parts) - spare))
                yield
            else:
                world.reconcile("g")
                if extra:
                    world.add_pod("g-late", cpu=1, group="g")
                yield

    todo = iter(steps)
    for _ in pieces():
        if fits(world):
            assert decided(world.step()) == ["g"], "it fits and is not placed at once"
            return
        for _ in range(next(todo, 0)):
            assert not decided(world.step())


@given(
    ranks=st.lists(
        st.tuples(st.sampled_from([0, 5]), st.sampled_from([0.0, 1.0])), min_size=2, max_size=4
    ),
    order=st.permutations(range(4)),
    members=st.integers(1, 3),
    room=st.integers(1, 4),
)
@examples(100)
def test_alike_groups_are_decided_in_their_order(
    ranks: list[tuple[int, float]], order: list[int], members: int, room: int
) -> None:
    """Semantics §2.7: priority, then queue time, then name; whoever was seen first."""
    world = Actions(slots=32)
    world.add_node("n", members * room)
    chosen = [index for index in order if index < len(ranks)]
    for index in chosen:
        priority, created = ranks[index]
        world.now = 1000.0 + created
        world.add_group(f"g{index}", members)
        for _ in range(members):
            name = world.name(f"g{index}-")
            world.add_pod(name, cpu=1, group=f"g{index}", priority=priority)
    world.now = 1010.0
    seen: list[Effect] = []
    for _ in range(3 * len(ranks)):
        seen += world.step()
    named = [(-ranks[i][0], ranks[i][1], f"g{i}") for i in chosen]
    assert decided(seen) == [name for _, _, name in sorted(named)][:room]


@given(order=st.permutations(["young", "part", "old"]))
@examples(6)
def test_of_equals_who_is_held_in_part_goes_first(order: list[str]) -> None:
    """Semantics §2.7: an older gang waits for one that is bound in part."""
    world = Actions(slots=32)
    world.kill()
    world.add_node("n", 3)
    known = RunMemory("first", (BARE,), plan="p-1")
    for name in order:
        world.now = {"old": 1000.0, "part": 1001.0, "young": 1002.0}[name]
        runs = (known,) if name == "part" else ()
        world.add_group(name, 2, memory=GroupMemory("first" if runs else "", runs=runs))
        bound = name == "part"
        world.add_pod(
            f"{name}-0",
            cpu=1,
            group=name,
            node="n" if bound else "",
            binding_record=OURS if bound else "",
        )
        world.add_pod(f"{name}-1", cpu=1, group=name)
    world.start()
    seen: list[Effect] = []
    for _ in range(6):
        seen += world.step()
    assert decided(seen) == ["part"]
    assert {e.target.pod.name for e in seen if isinstance(e, Bind)} == {"part-1"}
