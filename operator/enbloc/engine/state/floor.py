# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""RunFloor: which minimum counts for one run of a group (semantics §1, §2.4, §2.5).

::

    fresh ──the floor runs together──► started ──nobody is bound──► fresh, if nothing succeeded
                                          ▲                              │ else
                                          └───the floor runs again─── relaunched

Fresh, it is the PodGroup's, whole. Started, it never rises, and new roles are no part of it until
they are held. Relaunched, earlier successes are deducted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from enbloc.model.groups import Group, RunMemory
from enbloc.model.pods import Pod
from enbloc.model.trees import Tree, counts_known, counts_whole

_NONE: Final = Counter[str]()


class RunFloor:
    """The floor of one run.

    Attributes:
        started: when it last began to run together, server seconds; None = not yet, or no member
            has been bound since.
        captured: the minimums at the start, by role ("" = the group's own): lowered since with the
            PodGroup, raised by new roles that were placed. Empty = it has not started, and nothing
            that counts for it succeeded before.
        counts: the same for the tree: how many children of each node were enough, by sub-group
            ("" = of the group); empty = it never started, or every role is needed.
        before: by role, how many had succeeded when no member was bound any more: a relaunched gang
            starts anew without them.
    """

    def __init__(self) -> None:
        self.started: float | None = None
        self.captured: Mapping[str, int] = {}
        self.counts: Mapping[str, int] = {}
        self.before = _NONE

    @property
    def relaunched(self) -> bool:
        """Whether it started, something of it succeeded, and then no member was bound any more."""
        return bool(self.before)

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def start(self, group: Group | None, since: float, there: Counter[str]) -> None:
        """Record that it runs together since then (server seconds); `there` is as of `of`."""
        if group is not None:
            self.captured = {
                role: self.of(group, role, least, there) for role, least in group.floors()
            }
        self.started = since
        self.lower(group)

    def stop(self, succeeded: Counter[str]) -> None:
        """Record that no member is bound any more, and the successes of each role in this run.

        If there are none, the floor is the PodGroup's, whole, whatever it was before.
        """
        self.captured = self._captured_in_all()
        self.started, self.before = None, succeeded
        if not self.relaunched:
            self.captured, self.counts = {}, {}

    def lower(self, group: Group | None) -> None:
        """Lower a started floor with the PodGroup: the lowest value since the start counts.

        A new role is no part of it; in a tree, it is one more to choose from.
        """
        if group is None or self.started is None:
            return
        tree, known = group.tree, self.captured or dict(group.floors())
        choice = tree is not None or bool(self.counts)
        self.captured = {
            role: min(least, known.get(role, least))
            for role, least in group.floors()
            if role == "" or (least and (choice or role in known))
        }
        if tree is not None:
            self.counts = counts_known(tree, self.counts, known)

    def welcome(self, group: Group, came: Mapping[str, int], held: int) -> None:
        """Add new roles that are held: from now on it needs them too.

        Args:
            group: the PodGroup.
            came: by role, how many of its members are needed, and held.
            held: how many members are held, theirs included: the floor never rises beyond that.
        """
        total = min(group.min_member, held, self.captured[""] + sum(came.values()))
        total = max(total, self.captured[""])
        self.captured = {**self.captured, **came, "": total}

    # ── derived values ───────────────────────────────────────────────────────────────────────

    def of(self, group: Group, role: str, minimum: int, there: Counter[str]) -> int:
        """Return what counts of a minimum of the PodGroup.

        Args:
            group: the PodGroup.
            role: "" = the group's own minimum.
            minimum: what the PodGroup asks for.
            there: if relaunched, by role, its members that are live, or succeeded since.
        """
        if self.started is not None:
            return min(minimum, self.captured.get(role, minimum))
        if not self.relaunched:
            return minimum
        if group.memory.expected and not role:
            return min(minimum, group.memory.expected)
        minimum = min(minimum, self.captured.get(role, minimum))
        # An owner may run all of them anew, those that succeeded as well.
        if role:
            return max(0, minimum - self.before[role], min(minimum, there[role]))
        return max(1, minimum - self.before.total(), min(minimum, there.total()))

    def grows(self, group: Group, there: Counter[str]) -> bool:
        """Whether it would need more members than are `there` (as of `of`), if more came."""
        if self.started is not None or not self.relaunched or group.memory.expected:
            return False
        return any(
            (there[role] if role else there.total()) < min(least, self.captured.get(role, least))
            for role, least in group.floors()
        )

    def coming(self, group: Group | None) -> AbstractSet[str]:
        """Return the roles with a minimum that came since the start, and are not placed yet."""
        if self.started is None or group is None or self.counts or group.tree is not None:
            return frozenset()
        return {role for role, least in group.minimums() if least} - self.captured.keys()

    def tree(self, group: Group) -> Tree | None:
        """Return the tree as it counts: in a started group no node needs more than at the start."""
        tree = group.tree
        if not self.counts:
            return tree
        if tree is None:
            names = tuple(role for role, least in group.minimums() if least)
            tree = Tree("", len(names), names)
        lowered = tree.lowered(lambda node: self.counts.get(node.name, node.needed))
        return lowered if lowered.chooses else None

    # ── after a restart ──────────────────────────────────────────────────────────────────────

    def remembered(self, group: Group | None) -> tuple[tuple[str, int], ...]:
        """Return the captured floor for status, `(role, minimum)`, with earlier successes."""
        most = dict(group.floors()) if group is not None else {}
        captured = self._captured_in_all().items()
        return tuple(sorted((role, min(least, most.get(role, least))) for role, least in captured))

    def recall(self, memory: RunMemory, *, believed: bool) -> None:
        """Restore what status records; the start only if it can be believed."""
        # Some statuses have a minimum of 0 for a new role that was not placed yet.
        self.captured = {role: least for role, least in memory.minimums if least or not role}
        self.counts = dict(memory.group_counts)
        self.started = memory.started if believed else None

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
        """Guess it for a tree: each node needs as many children as are whole, or as now."""
        whole = {role for role, least in group.minimums() if counts[role] >= least}
        complete = known is None or counts.total() >= known
        floor = min(group.min_member, 1 if known is None else known)
        self.captured = {**dict(group.floors()), "": floor}
        self.counts = counts_whole(tree, whole) if complete else tree.counts()

    def _captured_in_all(self) -> dict[str, int]:
        """Return the captured floor, plus what had succeeded before it started."""
        before = self.before if self.started is not None else _NONE
        return {
            role: least + (before[role] if role else before.total())
            for role, least in self.captured.items()
        }
