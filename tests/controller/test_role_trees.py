# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of roles that other projects have, as PodGroups of ours have them; semantics §2.8."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from enbloc.api.podgroup import PodGroupSpec
from enbloc.controller.sources.role_trees import simplified, tree_spec
from enbloc.controller.sources.source import RefusedGroup
from enbloc.model.trees import Child, Tree
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject
from tests.effort import examples


@st.composite
def trees(draw: st.DrawFn, name: str = "", depth: int = 4) -> Tree:
    children: list[Child] = []
    for index in range(draw(st.integers(1, 3))):
        below = f"{name}-{index}" if name else f"n{index}"
        children.append(draw(trees(below, depth - 1)) if depth and draw(st.booleans()) else below)
    return Tree(name, draw(st.integers(1, len(children))), tuple(children))


def subsets(names: tuple[str, ...]) -> Iterator[frozenset[str]]:
    few = names[:8]  # of more, every set of the first, with all others or without
    sets = chain.from_iterable(combinations(few, size) for size in range(len(few) + 1))
    for chosen in sets:
        yield frozenset(chosen)
        yield frozenset(chosen).union(names[8:])


@given(trees())
@examples(200)
def test_a_simpler_tree_is_whole_with_the_same_roles(tree: Tree) -> None:
    plain = simplified(tree)
    assert sorted(plain.roles()) == sorted(tree.roles())
    for whole in subsets(tuple(tree.roles())):
        assert plain.holds(whole.__contains__) == tree.holds(whole.__contains__)
    assert simplified(plain) == plain


@given(trees(), st.data())
@examples(200)
def test_the_spec_of_a_tree_is_one_that_a_podgroup_can_have_and_needs_the_same(
    tree: Tree, data: st.DataObject
) -> None:
    minimums = {role: data.draw(st.integers(0, 2)) for role in tree.roles()}
    spec = tree_spec(tree, minimums, 1)
    if isinstance(spec, RefusedGroup):
        assert "are supported" in spec.problem
        return
    PodGroupSpec.model_validate(spec)
    group = codec.group(msgspec.convert({"metadata": {"name": "g"}, "spec": spec}, PodGroupObject))
    assert not group.problem
    free = frozenset(role for role, least in minimums.items() if not least)
    for whole in subsets(tuple(tree.roles())):
        there = Counter({role: minimums[role] for role in whole | free})
        reached = group.reached(there) if there.total() else False
        if reached:
            assert tree.holds((whole | free).__contains__)
        elif tree.holds((whole | free).__contains__):
            assert free, "of a node that is whole without a member, one child is needed"
