# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Authorship: of which groups this scheduler writes, where several of ours run in one cluster."""

from collections.abc import Collection

from enbloc.engine.state import Members
from enbloc.model.field_managers import MOST_WRITERS, field_manager, is_another, serves


class Authorship:
    """Decides for each group whether we write of it (semantics §6.4).

    Each scheduler comes to the same answer by itself, from the members and from the field managers
    of the status, so that a group has one author.

    Args:
        names: the schedulerNames that our profiles serve.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._manager = field_manager(self._names)
        self._others: set[str] = set()

    def ours(self, members: Members) -> bool:
        """Whether we write of this group.

        The scheduler that the oldest live member names does, while none is live the oldest of all;
        without a member of any that is known, the one that has written of it, and then whoever
        comes first.
        """
        writers = members.group.writers if members.group is not None else ()
        others = [writer for writer in writers if is_another(writer, self._names)]
        if others and len(self._others) < MOST_WRITERS:
            self._others.update(others)
        if not self._others:
            return True
        for pods in (members.live, members.pods):
            known = [pod for pod in pods.values() if self._is_known(pod.scheduler)]
            if known:
                return min(known, key=lambda pod: pod.seniority).scheduler in self._names
        return not others or (self._manager in writers and self._manager < min(others))

    def _is_known(self, scheduler: str) -> bool:
        """Whether it is one of ours, here or elsewhere."""
        return scheduler in self._names or any(serves(each, scheduler) for each in self._others)

    def replaced(self, members: Members) -> tuple[str, ...]:
        """The other field managers whose part of the status ours takes the place of."""
        writers = members.group.writers if members.group is not None else ()
        return tuple(writer for writer in writers if writer != self._manager)
