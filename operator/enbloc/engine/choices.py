# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Choices: which children of a tree a group has, or could have instead (semantics §2.8).

Each choice is a group of roles of which every one is needed, so whoever decides about one need not
know of trees.
"""

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice, product
from typing import Final, NamedTuple

from enbloc.framework.facts import Choice, Floor, GroupFacts
from enbloc.model.pods import Pod
from enbloc.model.trees import Child, Tree, held

#: So many choices are looked at in one decision, beyond children that are tried one by one.
MOST_CHOICES: Final = 8

Floors = Mapping[str, Floor]


class _Standing(NamedTuple):
    """How far a child is.

    Attributes:
        rank: 0 = held whole, 1 = in part and its members exist, 2 = its members exist, 3 = held in
            part and members are missing, 4 = members are missing.
        missing: how many members do not exist.
        roles: which of its roles with a floor that takes.
    """

    rank: int
    missing: int
    roles: tuple[str, ...]

    @property
    def turn(self) -> tuple[int, int]:
        """The lower, the sooner it is chosen."""
        return self.rank, self.missing

    @property
    def able(self) -> bool:
        """Its members exist."""
        return self.rank <= 2  # as its docstring says


def choose(
    tree: Tree, total: Floor, floors: Sequence[Floor]
) -> tuple[Floor, tuple[Floor, ...], Choice]:
    """Choose children: those held whole first, then those held in part, then as they are listed.

    Args:
        tree: which children are enough.
        total: the group's own floor, of all members.
        floors: of each role with a minimum.

    Returns:
        The group's own floor without pending members of roles that are not chosen, the floors of
        the chosen roles, and what else would do.
    """
    of = {floor.role: floor for floor in floors}
    roles = set(_standing(tree, of).roles)
    chosen = _as_chosen(tree, total.minimum, total, floors, roles)
    for _, more in _spare(tree, of, roles):
        if chosen[0].quorum:
            break
        roles.update(more.roles)
        chosen = _as_chosen(tree, total.minimum, total, floors, roles)
    return chosen


def _as_chosen(
    tree: Tree, minimum: int, total: Floor, floors: Sequence[Floor], roles: AbstractSet[str]
) -> tuple[Floor, tuple[Floor, ...], Choice]:
    chosen = tuple(floor for floor in floors if floor.role in roles)
    others = tuple(floor for floor in floors if floor.role not in roles)
    away = sum(floor.pending for floor in others if floor.deficit)
    least = max(minimum, sum(floor.minimum for floor in chosen))
    total = replace(total, minimum=least, pending=total.pending - away)
    return total, chosen, Choice(tree, others, minimum)


def of_choice(facts: GroupFacts, roles: AbstractSet[str], *, everybody: bool = False) -> GroupFacts:
    """The group as if exactly these roles were needed.

    Args:
        facts: of a group with a tree.
        roles: those of the choice.
        everybody: members of children that are left out count for the group's own minimum. They
            may not be placed so, but what cannot be placed even so cannot be placed at all.
    """
    floors, _ = _floors(facts)
    chosen = tuple(floor for floor in floors.values() if floor.role in roles)
    out = {f.role for f in floors.values() if f.deficit and f.role not in roles and not everybody}
    pending = tuple(pod for pod in facts.pending if pod.role not in out)
    assert facts.choice is not None
    least = max(facts.choice.minimum, sum(floor.minimum for floor in chosen))
    total = replace(facts.total, minimum=least, pending=len(pending))
    return replace(facts, pending=pending, total=total, roles=chosen, choice=None)


def of_part(facts: GroupFacts, roles: Container[str]) -> GroupFacts:
    """Nothing but what these roles need, and their members."""
    floors, _ = _floors(facts)
    return facts.part(roles, (floor for floor in floors.values() if floor.role in roles))


def in_turn(facts: GroupFacts, tree: Tree) -> list[Child]:
    """The children whose members exist, in the order in which they are chosen."""
    floors, _ = _floors(facts)
    standings = [(child, _standing(child, floors)) for child in tree.children]
    return [c for c, at in sorted(standings, key=lambda each: each[1].turn) if at.able]


def held_roles(facts: GroupFacts) -> frozenset[str]:
    """The roles whose minimum is held, whether or not they are chosen."""
    return frozenset(floor.role for floor in (*facts.roles, *facts.others) if not floor.deficit)


def spare(facts: GroupFacts, roles: AbstractSet[str]) -> Iterator[tuple[Child, frozenset[str]]]:
    """Children beyond these roles whose members exist, each with the roles that make it whole."""
    floors, tree = _floors(facts)
    for child, standing in _spare(tree, floors, roles):
        yield child, frozenset(standing.roles)


def choices(facts: GroupFacts, alike: Callable[[Pod], Hashable]) -> Iterator[frozenset[str]]:
    """Every choice of roles that no other one is a part of, in order; of alike ones the first.

    Children that are held whole are in all of them, as far as that is enough.

    Args:
        facts: of a group with a tree, and a quorum.
        alike: equal for pods that can take each other's place.
    """
    floors, tree = _floors(facts)
    members: dict[str, Counter[Hashable]] = {role: Counter() for role in floors}
    for pod in facts.pending:
        if pod.role in members:
            members[pod.role][alike(pod)] += 1
    seen = {
        role: (floor.deficit, frozenset(members[role].items())) for role, floor in floors.items()
    }
    yield from _choices(tree, floors, seen)


def meets(facts: GroupFacts, more: Counter[str], *, bound: bool) -> bool:
    """Whether so many members of each role, with those that are held, are a whole choice.

    Args:
        facts: of a group with a tree.
        more: members by role.
        bound: those that are bound are held; else only those that succeeded are.
    """
    floors, tree = _floors(facts)
    assert facts.choice is not None

    def count(floor: Floor) -> int:
        return floor.held if bound else floor.succeeded

    def whole(role: str) -> bool:
        floor = floors.get(role)
        return floor is None or count(floor) + more[role] >= floor.minimum

    return count(facts.total) + more.total() >= facts.choice.minimum and tree.holds(whole)


def with_planned(facts: GroupFacts, planned: Counter[str]) -> GroupFacts:
    """The group with the floor of the children that it has once these are bound, by role.

    Its counts stay as they are: whoever is told of the floor, or numbered by it, is told this one.
    """
    floors, _ = _floors(facts)
    bound = [
        replace(floor, bound=floor.bound + planned[role], pending=floor.pending - planned[role])
        for role, floor in floors.items()
    ]
    count = planned.total()
    total = replace(
        facts.total, bound=facts.total.bound + count, pending=len(facts.pending) - count
    )
    minimum = chosen_again(facts, bound, total).total.minimum
    return replace(facts, total=replace(facts.total, minimum=minimum))


def chosen_again(facts: GroupFacts, floors: Sequence[Floor], total: Floor) -> GroupFacts:
    """The group with other counts: `floors` of each role with a minimum, `total` of all members."""
    assert facts.choice is not None
    total = replace(total, minimum=facts.choice.minimum)
    total, roles, choice = choose(facts.choice.tree, total, floors)
    return replace(facts, total=total, roles=roles, choice=choice)


def _choices(
    child: Child, floors: Floors, seen: Mapping[str, Hashable]
) -> Iterator[frozenset[str]]:
    if not isinstance(child, Tree):
        yield frozenset({child} & floors.keys())
        return
    standings = [(each, _standing(each, floors)) for each in child.children]
    whole = [each for each, at in standings if at.rank == 0][: child.needed]
    others = [each for each, at in standings if at.rank > 0 and at.able]
    sure = frozenset(role for each in whole for role in _standing(each, floors).roles)
    signs = [_sign(each, seen) for each in others]
    for places in _combinations(signs, child.needed - len(whole)):
        # One more than are looked at, so that whoever counts them knows that there are more.
        most = MOST_CHOICES + 1
        parts = ([*islice(_choices(others[place], floors, seen), most)] for place in places)
        for picked in product(*parts):
            yield sure.union(*picked)


def _sign(child: Child, seen: Mapping[str, Hashable]) -> Hashable:
    """Equal for children that can take each other's place."""
    if not isinstance(child, Tree):
        return seen.get(child)
    return child.needed, frozenset(Counter(_sign(each, seen) for each in child.children).items())


def _combinations(
    signs: Sequence[Hashable],
    count: int,
    first: int = 0,
    skipped: frozenset[Hashable] = frozenset(),
) -> Iterator[tuple[int, ...]]:
    """`count` places from `first` on; of places with equal signs those that come first."""
    if not count:
        yield ()
        return
    if sum(sign not in skipped for sign in signs[first:]) < count:
        return
    if signs[first] not in skipped:
        for others in _combinations(signs, count - 1, first + 1, skipped):
            yield (first, *others)
    yield from _combinations(signs, count, first + 1, skipped | {signs[first]})


def _floors(facts: GroupFacts) -> tuple[Floors, Tree]:
    """Of each role with a minimum, as they are listed; and the tree."""
    assert facts.choice is not None, f"{facts.key} has no tree"
    tree = facts.choice.tree
    of = {floor.role: floor for floor in (*facts.roles, *facts.choice.others)}
    return {role: of[role] for role in tree.roles() if role in of}, tree


def _standing(child: Child, floors: Floors) -> _Standing:
    if not isinstance(child, Tree):
        floor = floors.get(child)
        if floor is None:
            return _Standing(0, 0, ())
        rank = (2 if floor.quorum else 4) - (floor.held > 0)
        missing = max(0, floor.deficit - floor.pending)
        return _Standing(rank if floor.deficit else 0, missing, (child,))
    best = sorted((_standing(each, floors) for each in child.children), key=lambda at: at.turn)
    picked = best[: child.needed]
    roles = tuple(role for at in picked for role in at.roles)
    worst = max((at.rank for at in picked), default=0)
    begun = any(floors[role].held for role in roles)
    rank = (2 if worst <= 2 else 4) - begun  # as _Standing says
    return _Standing(rank if worst else 0, sum(at.missing for at in picked), roles)


def _spare(
    tree: Tree, floors: Floors, roles: AbstractSet[str]
) -> Iterator[tuple[Child, _Standing]]:
    """Children that are no part of a choice, at each node that is, in the order of choosing."""
    standings = [(child, _standing(child, floors)) for child in tree.children]
    for child, standing in sorted(standings, key=lambda each: each[1].turn):
        if not held(child, lambda role: role in roles or role not in floors):
            if standing.able:
                yield child, standing
        elif isinstance(child, Tree):
            yield from _spare(child, floors, roles)
