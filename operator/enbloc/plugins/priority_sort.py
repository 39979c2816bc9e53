# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PrioritySort: higher priority first, then partially bound groups, then the older group."""

from dataclasses import dataclass
from typing import Any, ClassVar

from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import Group


@dataclass(frozen=True)
class PrioritySort:
    """The order of semantics §2.7; without groups it is kube-scheduler's."""

    name: ClassVar[str] = "PrioritySort"
    level_places: ClassVar[int] = 1

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        """(−priority, not held in part by us, queue time, key): the smallest goes first."""
        in_part = facts.held_in_part and facts.bound_by_us
        return (-facts.priority, not in_part, facts.queue_time, group.key)
