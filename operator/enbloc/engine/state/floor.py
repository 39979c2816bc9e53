# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""RunFloor: which minimum counts for one run of a group (semantics §1, §2.4, §2.5).

::

    fresh ──the floor runs together──► started ──nobody is bound──► fresh, if nothing succeeded
                                          ▲                              │ else
                                the floor runs again                     ▼
                                          │      ◄──a plan is open── relaunched
                                        fixed ────nobody is bound──►

Fresh, it is the PodGroup's, whole. Started, it never rises, and new roles are no part of it until
they are held. Relaunched, earlier successes are deducted; fixed, it is like that of a started gang.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from enbloc.model.groups import Group, Relaunch, RunMemory
from enbloc.model.pods import Pod
from enbloc.model.trees import Tree, counts_known, counts_whole

_NONE: Final = Counter[str]()


class Present(NamedTuple):
    """The members of a relaunched run that has not started again.

    Attributes:
        roles: by role, those that are live, or succeeded since the relaunch.
        succeeded: how many of them succeeded.
        expected: how many its owners can run at once from now on; None = unknown.
    """

    roles: Counter[str]
    succeeded: int
    expected: int | None


#: Of any other run, its floor does not depend on them.
NOBODY: Final = Present(_NONE, 0, None)


class RunFloor:
    """The floor of one run.

    Attributes:
        started: when it last began to run together, server seconds; None = not yet, or no member
            has been bound since.
        captured: the minimums of a started or fixed floor, by role ("" = the group's own): lowered
            since with the PodGroup, raised by new roles that were placed. Empty = neither.
        counts: the same for the tree: how many children of each node were enough, by sub-group
            ("" = of the group); empty = it never started, or every role is needed.
        needs: if relaunched, the captured minimums of its first start, lowered and raised alike;
            empty = it never started.
        before: by role, how many had succeeded when no member was bound any more: a relaunched gang
            starts anew without them.
        latest: server time at which the last of these was bound, as far as known; None = unknown.
    """

    def __init__(self) -> None:
        self.started: float | None = None
        self.captured: Mapping[str, int] = {}
        self.counts: Mapping[str, int] = {}
        self.needs: Mapping[str, int] = {}
        self.before = _NONE
        self.latest: float | None = None

    @property
    def relaunched(self) -> bool:
        """Whether something of it had succeeded when no member was bound any more."""
        return bool(self.before)

    @property
    def fixed(self) -> bool:
        """Whether it rises no more: it started, or was relaunched and planned."""
        return self.started is not None or bool(self.captured)

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def start(self, group: Group | None, since: float, there: Present) -> None:
        """Record that it runs together since then (server seconds); `there` is as for `of`."""
        self.fix(group, there)
        if group is not None:
            self.captured = {**self.captured, "": self.of("", group.min_member, there)}
        self.started = since
        self.lower(group)

    def fix(self, group: Group | None, there: Present) -> None:
        """Fix it at what it is now, unless it is fixed already; `there` is as for `of`."""
        if group is not None and not self.fixed:
            self.captured = {role: self.of(role, least, there) for role, least in group.floors()}

    def stop(self, succeeded: Counter[str], latest: float | None) -> None:
        """Record that no member is bound any more.

        If nothing succeeded, the floor is the PodGroup's, whole, whatever it was before.

        Args:
            succeeded: the successes of each role in this run.
            latest: server time at which the last of them was bound that succeeded since the last
                relaunch; None = unknown.
        """
        if not self.relaunched:
            self.needs = self.captured
        self.started, self.captured, self.before = None, {}, succeeded
        self.latest = self.latest if latest is None else latest
        if not self.relaunched:
            self.needs, self.counts = {}, {}

    def lower(self, group: Group | None) -> None:
        """Lower a fixed floor with the PodGroup: the lowest value since then counts.

        A new role is no part of it; in a tree, it is one more to choose from.
        """
        if group is None or not self.fixed:
            return
        tree, floors = group.structure, dict(group.floors())
        known = self.captured or floors
        choice = bool(self.counts) or (tree is not None and tree.chooses)
        self.captured = {
            role: min(least, known.get(role, least))
            for role, least in floors.items()
            if role == "" or (least and (choice or role in known))
        }
        self.needs = {
            role: min(floors[role], least) for role, least in self.needs.items() if role in floors
        }
        if tree is not None and choice:
            self.counts = counts_known(tree, self.counts, known)

    def welcome(self, group: Group, came: Mapping[str, int], held: int) -> None:
        """Add new roles that are held: from now on it needs them too.

        Args:
            group: the PodGroup.
            came: by role, how many of its members are needed, and held.
            held: how many members are held, theirs included: the floor never rises beyond that.
        """
        most = min(group.min_member, held)
        self.captured = _with_roles(self.captured, came, most)
        if self.needs:
            self.needs = _with_roles(self.needs, came, group.min_member)

    # ── derived values ───────────────────────────────────────────────────────────────────────

    def of(self, role: str, minimum: int, there: Present) -> int:
        """Return what counts of a minimum of the PodGroup.

        Args:
            role: "" = the group's own minimum.
            minimum: what the PodGroup asks for.
            there: its members, if it is relaunched and has not started again.
        """
        if self.fixed:
            minimum = min(minimum, self.captured.get(role, minimum))
        if self.started is not None or not self.relaunched:
            return minimum
        if there.expected and not role:
            return min(minimum, there.expected + there.succeeded)
        if self.fixed:
            return minimum
        minimum = min(minimum, self.needs.get(role, minimum))
        # An owner may run all of them anew, those that succeeded as well.
        if role:
            return max(0, minimum - self.before[role], min(minimum, there.roles[role]))
        return max(1, minimum - self.before.total(), min(minimum, there.roles.total()))

    def grows(self, group: Group, there: Present) -> bool:
        """Whether it would need more members than are `there` (as for `of`), if more came."""
        if self.fixed or not self.relaunched or there.expected:
            return False
        return any(
            (there.roles[role] if role else there.roles.total())
            < min(least, self.needs.get(role, least))
            for role, least in group.floors()
        )

    def coming(self, group: Group | None) -> AbstractSet[str]:
        """Return the roles with a minimum that came since it is fixed, and are not placed yet."""
        if not self.fixed or group is None or self.counts or group.tree is not None:
            return frozenset()
        return {role for role, least in group.minimums() if least} - self.captured.keys()

    def tree(self, group: Group) -> Tree | None:
        """Return the tree as it counts: in a started group no node needs more than at the start."""
        if not self.counts:
            return group.tree
        tree = group.structure
        if tree is None:
            names = tuple(role for role, least in group.minimums() if least)
            tree = Tree("", len(names), names)
        return tree.lowered(lambda node: self.counts.get(node.name, node.needed))

    # ── after a restart ──────────────────────────────────────────────────────────────────────

    def recall(self, memory: RunMemory, *, believed: bool) -> None:
        """Restore what status records; the start only if it can be believed."""
        again = memory.relaunch is not None
        # Otherwise 0 may stand for a new role that was not placed yet.
        least = [each for each in memory.minimums if each[1] or not each[0] or again]
        self.captured = _recorded(least)
        self.counts = dict(memory.group_counts)
        self.started = memory.started if believed else None
        if memory.relaunch is not None:
            self.needs = _recorded(memory.relaunch.minimums)
            roles = Counter(dict(memory.relaunch.roles))
            self.before = roles + Counter({"": memory.relaunch.succeeded - roles.total()})
            self.latest = memory.relaunch.latest

    def relaunch(self, roles: Sequence[str]) -> Relaunch | None:
        """Return what status records of the relaunch; of these roles the successes are told."""
        if not self.relaunched:
            return None
        return Relaunch(
            self.before.total(),
            tuple(sorted(self.needs.items())),
            tuple((role, self.before[role]) for role in roles),
            self.latest,
        )

    def guess(
        self, group: Group, bound: Sequence[Pod], done: Counter[str], known: int | None
    ) -> None:
        """Guess the floor of a started group whose needs at the start are not recorded.

        Args:
            group: the PodGroup.
            bound: its bound members.
            done: how many of each role succeeded.
            known: the floor in the binding record of the member that was bound last; None = none.
                If that is held, or was raised since, the roles are complete as they are.
        """
        counts = Counter(pod.role for pod in bound) + done
        if (tree := group.tree) is not None:
            self._guess_tree(group, tree, counts, known)
            return
        floor = group.min_member if known is None else min(group.min_member, known)
        complete = counts.total() >= floor or floor < group.min_member
        least = {role: min(n, counts[role]) if complete else n for role, n in group.minimums()}
        self.captured = {**{role: n for role, n in least.items() if n}, "": floor}

    def _guess_tree(
        self, group: Group, tree: Tree, counts: Counter[str], known: int | None
    ) -> None:
        """Guess it for a tree: it needs as many children as are whole, or as now."""
        whole = {role for role, least in group.minimums() if counts[role] >= least}
        complete = known is None or counts.total() >= known
        floor = min(group.min_member, 1 if known is None else known)
        self.captured = {**dict(group.floors()), "": floor}
        self.counts = counts_whole(tree, whole) if complete else tree.counts()


def _recorded(minimums: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return a captured floor that status records; anybody may have edited it."""
    floor = dict(minimums)
    return floor if "" in floor else {}


def _with_roles(floor: Mapping[str, int], came: Mapping[str, int], most: int) -> dict[str, int]:
    """Return a floor that needs these roles too, and at most so many members in all."""
    total = max(floor[""], min(most, floor[""] + sum(came.values())))
    return {**floor, **came, "": total}
