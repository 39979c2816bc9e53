# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Choices: which children of a tree a group has chosen, or could choose (semantics §2.8).

Each choice is a group of roles that are all needed, so the code that decides about one need not
know of trees.
"""

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice, product
from typing import Final, NamedTuple

from enbloc.framework.facts import Floor, GroupFacts, RoleChoice
from enbloc.model.pods import Pod
from enbloc.model.trees import Child, Tree, held

#: The most choices considered in one decision, beyond children that are tried one by one.
MOST_CHOICES: Final = 8

Floors = Mapping[str, Floor]


class _Standing(NamedTuple):
    """The state of a child.

    Attributes:
        rank: 0 = held whole, 1 = partially held and its members exist, 2 = its members exist, 3 =
            partially held and members are missing, 4 = members are missing.
        missing: how many members do not exist.
        roles: the roles with a floor that it needs.
    """

    rank: int
    missing: int
    roles: tuple[str, ...]

    @property
    def turn(self) -> tuple[int, int]:
        """The sort key: the lower, the sooner it is chosen."""
        return self.rank, self.missing

    @property
    def able(self) -> bool:
        """Whether its members exist."""
        return self.rank <= 2  # as its docstring says


def choose(
    tree: Tree, total: Floor, floors: Sequence[Floor]
) -> tuple[Floor, tuple[Floor, ...], RoleChoice]:
    """Choose children: those held whole first, then those partially held, then as listed.

    Args:
        tree: tells how many children are enough.
        total: the group's own floor, of all members.
        floors: of each role with a minimum.

    Returns:
        The group's own floor without pending members of roles that are not chosen, the floors of
        the chosen roles, and the alternatives.
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
) -> tuple[Floor, tuple[Floor, ...], RoleChoice]:
    chosen = tuple(floor for floor in floors if floor.role in roles)
    others = tuple(floor for floor in floors if floor.role not in roles)
    away = sum(floor.pending for floor in others if floor.deficit)
    least = max(minimum, sum(floor.minimum for floor in chosen))
    total = replace(total, minimum=least, pending=total.pending - away)
    return total, chosen, RoleChoice(tree, others, minimum)


def of_choice(facts: GroupFacts, roles: AbstractSet[str], *, everybody: bool = False) -> GroupFacts:
    """Return the group as if exactly these roles were needed.

    Args:
        facts: of a group with a tree.
        roles: those of the choice.
        everybody: members of children that are left out count for the group's own minimum. Such a
            placement is not allowed, but if it fails, none exists.
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
    """Return the group reduced to the needs of these roles, and their members."""
    floors, _ = _floors(facts)
    return facts.part(roles, (floor for floor in floors.values() if floor.role in roles))


def in_turn(facts: GroupFacts, tree: Tree) -> list[Child]:
    """Return the children whose members exist, in the order of choosing."""
    floors, _ = _floors(facts)
    standings = [(child, _standing(child, floors)) for child in tree.children]
    return [c for c, at in sorted(standings, key=lambda each: each[1].turn) if at.able]


def held_roles(facts: GroupFacts) -> frozenset[str]:
    """Return the roles whose minimum is held, chosen or not."""
    return frozenset(floor.role for floor in (*facts.roles, *facts.others) if not floor.deficit)


def spare(facts: GroupFacts, roles: AbstractSet[str]) -> Iterator[tuple[Child, frozenset[str]]]:
    """Yield children beyond these roles whose members exist, with the roles that complete each."""
    floors, tree = _floors(facts)
    for child, standing in _spare(tree, floors, roles):
        yield child, frozenset(standing.roles)


def choices(facts: GroupFacts, alike: Callable[[Pod], Hashable]) -> Iterator[frozenset[str]]:
    """Yield every minimal choice of roles, in order; of equivalent ones only the first.

    Children that are held whole are in all of them, as far as that is enough.

    Args:
        facts: of a group with a tree, and a quorum.
        alike: equal for pods that can replace each other.
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
    """Whether so many members of each role, with the held ones, complete a choice.

    Args:
        facts: of a group with a tree.
        more: members by role.
        bound: count bound members as held; else only those that succeeded.
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
    """Return the group with the floor of the children chosen once these are bound, by role.

    Its counts stay as they are: only messages and ranks use this floor.
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
    """Return the group with other counts: `floors` per role with a minimum, `total` of all."""
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
        # One more than are considered, which tells a caller that there are more.
        most = MOST_CHOICES + 1
        parts = ([*islice(_choices(others[place], floors, seen), most)] for place in places)
        for picked in product(*parts):
            yield sure.union(*picked)


def _sign(child: Child, seen: Mapping[str, Hashable]) -> Hashable:
    """Return a value that is equal for children that can replace each other."""
    if not isinstance(child, Tree):
        return seen.get(child)
    return child.needed, frozenset(Counter(_sign(each, seen) for each in child.children).items())


def _combinations(
    signs: Sequence[Hashable],
    count: int,
    first: int = 0,
    skipped: frozenset[Hashable] = frozenset(),
) -> Iterator[tuple[int, ...]]:
    """Yield `count` indices from `first` on; among equal signs, the earliest indices."""
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
    """Return the floor of each role with a minimum, as listed; and the tree."""
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
    """Yield children that are not in a choice, at each node that is, in the order of choosing."""
    standings = [(child, _standing(child, floors)) for child in tree.children]
    for child, standing in sorted(standings, key=lambda each: each[1].turn):
        if not held(child, lambda role: role in roles or role not in floors):
            if standing.able:
                yield child, standing
        elif isinstance(child, Tree):
            yield from _spare(child, floors, roles)
