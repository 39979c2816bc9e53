# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of trees of groups, judged by trying every set of roles (semantics §2.8)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

from hypothesis import event, given
from hypothesis import strategies as st

from enbloc.engine.effects import Decided
from enbloc.model.groups import SubGroup
from enbloc.model.pods import Owner, Pod
from tests.effort import examples
from tests.laws.fitting import packs
from tests.world.builders import spec
from tests.world.cluster import Cluster

OWNER = Owner("Job", "job", "job-1")

#: Of more choices than this, the engine looks at some only.
LOOKED_AT = 8


@dataclass(frozen=True)
class Leaf:
    """A role: so many members are needed and so many exist, each of so many CPUs."""

    name: str
    parent: str
    needed: int
    exist: int
    cpu: int


@dataclass(frozen=True)
class Inner:
    """A sub-group; 0 = all of its children are needed."""

    name: str
    count: int
    parent: str = ""


@dataclass(frozen=True)
class Forest:
    """What a PodGroup says."""

    count: int
    leaves: Sequence[Leaf]
    inner: Sequence[Inner] = field(default=())

    def below(self, parent: str) -> list[Leaf | Inner]:
        every: list[Leaf | Inner] = [*self.leaves, *self.inner]
        return [each for each in every if each.parent == parent]

    def whole(self, child: Leaf | Inner, roles: frozenset[str]) -> bool:
        """Whether a child is whole when these roles are."""
        if isinstance(child, Leaf):
            return child.name in roles
        return self.enough(child.name, child.count, roles)

    def enough(self, name: str, count: int, roles: frozenset[str]) -> bool:
        children = self.below(name)
        return sum(self.whole(each, roles) for each in children) >= (count or len(children))

    def started(self, roles: frozenset[str]) -> bool:
        """Whether the PodGroup is whole when these roles are."""
        return self.enough("", self.count, roles)

    def under(self, child: Leaf | Inner) -> set[str]:
        """The roles of a child."""
        if isinstance(child, Leaf):
            return {child.name}
        return set().union(*(self.under(each) for each in self.below(child.name)))


def subsets(names: Sequence[str]) -> Iterator[frozenset[str]]:
    sizes = range(len(names) + 1)
    return map(frozenset, chain.from_iterable(combinations(names, size) for size in sizes))


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    inner: list[Inner] = []
    parents = [""]
    if draw(st.booleans()):
        inner.append(Inner("x", 0))
        parents.append("x")
        if draw(st.booleans()):
            inner.append(Inner("y", 0, "x"))
            parents.append("y")
    leaves = [
        Leaf(
            name,
            parents[index] if index < len(parents) else draw(st.sampled_from(parents)),
            needed := draw(st.integers(1, 2)),
            draw(st.integers(0, needed + 1)),
            draw(st.integers(1, 3)),
        )
        for index, name in enumerate("abcde"[: draw(st.integers(len(parents), 5))])
    ]
    made = Forest(0, leaves, inner)
    counted = [
        Inner(e.name, draw(st.integers(0, len(made.below(e.name)))), e.parent) for e in inner
    ]
    count = draw(st.integers(1, len(made.below(""))))
    return Forest(count, leaves, counted)


class Law(Cluster):
    """A cluster, and the tree of its one group."""

    tree: Forest

    def begin(self, tree: Forest, cpus: Sequence[int]) -> None:
        """Nodes of so many CPUs, the group and its members."""
        self.tree = tree
        for index, cpu in enumerate(cpus):
            self.node(f"n{index}", cpu=cpu)
        # As the codec reads it: where every child is needed, the roles alone are left.
        choosing = any(
            0 < count < len(tree.below(name))
            for name, count in (("", tree.count), *((e.name, e.count) for e in tree.inner))
        )
        total = sum(leaf.needed for leaf in tree.leaves)
        self.group(
            "g",
            1 if choosing else total,
            roles=[(e.name, e.needed, e.parent if choosing else "") for e in tree.leaves],
            sub_groups=tuple(SubGroup(*_row(e)) for e in tree.inner) if choosing else (),
            min_group_count=tree.count if choosing else 0,
        )
        for leaf in tree.leaves:
            for index in range(leaf.exist):
                self.member(leaf, index)

    def next_process(self) -> "Law":
        """The same seen by a new scheduler, at rest."""
        other = self.restarted()
        other.tree = self.tree
        other.settle()
        return other

    def member(self, leaf: Leaf, index: int) -> None:
        self.pod(f"g-{leaf.name}{index}", "g", role=leaf.name, owner=OWNER, spec=spec(cpu=leaf.cpu))

    def bound(self) -> Counter[str]:
        return Counter(pod.role for pod in self.pods.values() if pod.node)

    def held(self) -> frozenset[str]:
        """The roles that are whole."""
        bound = self.bound()
        return frozenset(e.name for e in self.tree.leaves if bound[e.name] >= e.needed)

    def rooms(self, *, empty: bool = False) -> list[tuple[int, ...]]:
        used: Counter[str] = Counter()
        for pod in self.pods.values():
            used[pod.node] += 0 if empty else _cpu(pod)
        return [(dict(node.allocatable)["cpu"] - used[name],) for name, node in self.hosts.items()]

    def fits(self, roles: frozenset[str], *, empty: bool = False) -> bool:
        """Whether what these roles lack exists and fits, all together."""
        bound, wanted = self.bound(), list[Pod]()
        for leaf in self.tree.leaves:
            if leaf.name in roles:
                lacking = max(0, leaf.needed - (0 if empty else bound[leaf.name]))
                mine = [p for p in self.pods.values() if p.role == leaf.name]
                there = mine if empty else [p for p in mine if not p.node]
                if len(there) < lacking:
                    return False
                wanted += there[:lacking]
        return _packs(wanted, self.rooms(empty=empty))

    def choices(self) -> list[frozenset[str]]:
        """Every set of roles that is enough, and of which no part is."""
        enough = [s for s in subsets([e.name for e in self.tree.leaves]) if self.tree.started(s)]
        return [each for each in enough if not any(other < each for other in enough)]

    def judge(self, *, lost: bool = False) -> None:
        """What holds when the engine is at rest; `lost`: members were lost, by whatever else."""
        tree, bound, held = self.tree, self.bound(), self.held()
        if not lost:
            for leaf in tree.leaves:
                assert not 0 < bound[leaf.name] < leaf.needed, f"a part of role {leaf.name}"
            for each in tree.inner:
                some = held & tree.under(each)
                assert not some or tree.whole(each, held), f"a part of sub-group {each.name}"
            assert not bound or tree.started(held), "too few children"
        choices = self.choices()
        if not tree.started(held):
            if len(choices) <= LOOKED_AT:
                fitting = [sorted(each) for each in choices if self.fits(each)]
                assert not fitting, f"{fitting} would fit"
            return
        event("the floor is held")
        for name, inside in (("", True), *((e.name, tree.whole(e, held)) for e in tree.inner)):
            for child in tree.below(name) if inside else ():
                if not tree.whole(child, held) and isinstance(child, Leaf):
                    assert not self.fits(frozenset({child.name})), f"{child.name} would fit"

    def judge_proofs(self) -> None:
        """What was said to be impossible on empty nodes is."""
        for effect in self.effects:
            if isinstance(effect, Decided) and effect.result == "infeasible":
                event("infeasible")
                assert not any(self.fits(each, empty=True) for each in self.choices())


def _row(inner: Inner) -> tuple[str, int, str]:
    return inner.name, inner.count, inner.parent


def _cpu(pod: Pod) -> int:
    return dict(pod.spec.requests)["cpu"]


def _packs(pods: Sequence[Pod], rooms: Sequence[tuple[int, ...]]) -> bool:
    return packs(pods, [(*room, 99) for room in rooms])


@given(tree=forests(), cpus=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
@examples(150)
def test_children_start_whole_enough_of_them_and_whatever_fits(
    tree: Forest, cpus: Sequence[int], data: st.DataObject
) -> None:
    """Members that come later, and capacity that does, are used as soon as they are enough."""
    world = Law(longest_wait=1e9)
    world.begin(tree, cpus)
    world.settle()
    world.judge()
    world.judge_proofs()
    for turn in range(3):
        if data.draw(st.booleans(), label="a node comes"):
            world.node(f"m{turn}", cpu=data.draw(st.integers(1, 4)))
        else:
            leaf = data.draw(st.sampled_from(tree.leaves))
            world.member(leaf, 10 + turn)
        world.settle()
        world.judge()
    before = world.where("g-")
    assert world.next_process().where("g-") == before, "another process sees nothing more to do"


@given(tree=forests(), cpus=st.lists(st.integers(2, 4), min_size=2, max_size=4), data=st.data())
@examples(150)
def test_what_is_lost_is_replaced_or_another_child_takes_its_place(
    tree: Forest, cpus: Sequence[int], data: st.DataObject
) -> None:
    """A member is lost, and perhaps comes again; what would do and fits is placed."""
    world = Law(longest_wait=1e9)
    world.begin(tree, cpus)
    world.settle()
    if data.draw(st.booleans(), label="it runs"):
        world.run_pods(sorted(world.where("g-")))
        world.settle()
    for turn in range(3):
        placed = sorted(world.where("g-"))
        if not placed:
            return
        event("a member is lost")
        gone = world.pods[data.draw(st.sampled_from(placed))]
        world.delete(gone.key.name)
        world.settle()
        world.judge(lost=True)
        if data.draw(st.booleans(), label="it comes again"):
            leaf = next(each for each in tree.leaves if each.name == gone.role)
            world.member(leaf, 20 + turn)
            world.settle()
            world.judge(lost=True)
        if data.draw(st.booleans(), label="another process"):
            world = world.next_process()
            world.judge(lost=True)
