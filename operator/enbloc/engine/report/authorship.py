# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Authorship: which groups this scheduler writes about, if several run in one cluster."""

from collections.abc import Collection

from enbloc.engine.state import Run
from enbloc.model.field_managers import MOST_WRITERS, field_manager, is_another, serves


class Authorship:
    """Decides for each group whether this scheduler writes its status (semantics §6.4).

    Each scheduler reaches the same answer on its own, from the members and from the field managers
    of the status, so that a group has one author.

    Args:
        names: the schedulerNames of this scheduler's profiles.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._manager = field_manager(self._names)
        self._others: set[str] = set()

    def ours(self, run: Run) -> bool:
        """Whether this scheduler writes the status of a group.

        The author is the scheduler named by the oldest live member, or by the oldest of all if none
        is live. Without a member of a known scheduler, it is the one that has written the status,
        else the first to come.
        """
        writers = run.group.writers if run.group is not None else ()
        others = [writer for writer in writers if is_another(writer, self._names)]
        if others and len(self._others) < MOST_WRITERS:
            self._others.update(others)
        if not self._others:
            return True
        for pods in (run.live, run.pods):
            known = [pod for pod in pods.values() if self._is_known(pod.scheduler)]
            if known:
                return min(known, key=lambda pod: pod.seniority).scheduler in self._names
        return not others or (self._manager in writers and self._manager < min(others))

    def _is_known(self, scheduler: str) -> bool:
        """Whether it is an enbloc scheduler, here or elsewhere."""
        return scheduler in self._names or any(serves(each, scheduler) for each in self._others)

    def replaced(self, run: Run) -> tuple[str, ...]:
        """Return the other field managers whose part of the status this scheduler replaces."""
        writers = run.group.writers if run.group is not None else ()
        return tuple(writer for writer in writers if writer != self._manager)
