# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Withdrawals: what abandoned plans still hold, because requests of theirs may be under way.

::

    PreBind ──► the plan is given up ──► begin: held, but for its own group ──► Unreserved ──► end
"""

from collections.abc import Collection

from enbloc.devices.owners import Withdrawn
from enbloc.engine.state.checkpoint import PlanWithdrawn
from enbloc.engine.state.log import Log
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.ledgers import Decisions, own_ledgers
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import PodUID


class Withdrawals:
    """Members of plans that were abandoned in the middle of their PreBind.

    Args:
        nodes: their ledgers count what is held.
        log: of the changes of the tables.
    """

    def __init__(self, nodes: Nodes, log: Log) -> None:
        self._nodes, self._log = nodes, log
        #: By plan and pod, those begun and not ended.
        self._members: dict[tuple[str, PodUID], Withdrawn] = {}

    def begin(self, group: GroupKey, plan: str, uid: PodUID, decided: Decisions) -> None:
        """Abandon a plan: what could be given to two pods stays in use for now."""
        if decided.devices is not None:
            member = self._members[plan, uid] = Withdrawn(group, plan, uid)
            self._note(PlanWithdrawn(member, decided))

    def end(self, plan: str, uid: PodUID) -> list[Happening]:
        """Record that PreBind of the member is undone; return what may help waiting groups."""
        member = self._members.pop((plan, uid), None)
        if member is None:
            return []
        self._note(PlanWithdrawn(member))
        return [Happening(Resource.RESOURCE_CLAIM, Action.UPDATE_OTHER)]

    def of(self, uids: Collection[PodUID]) -> bool:
        """Whether any of these pods is a member that was begun and has not ended."""
        return bool(uids) and any(uid in uids for _, uid in self._members)

    def _note(self, change: PlanWithdrawn) -> None:
        own_ledgers(self._nodes).withdrawn(change.member, change.decided)
        self._log.note(change)
