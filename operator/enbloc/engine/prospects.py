# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Prospects: which groups that found no room would find none now either, by adding up alone.

When one of eight members of a gang ends, every waiting gang of eight could use its room, and none
would find enough. To try them all would be futile, and those tried in vain would stand back
behind others (a pause follows every failure), though they came first. So an attempt that failed
leaves here what it needs of each resource on which nodes, and what it wants to be promised; an
event is let through only when adding up says that there might be enough.

Nothing is lost by that: a placement needs certain nodes; of the events at these nodes the last
finds the room of all of them there, and so is let through.
"""

from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from enbloc.engine.cycle import to_be_admitted
from enbloc.engine.intake import Intake
from enbloc.engine.plan import Plan, Verdict
from enbloc.engine.promises import Claim
from enbloc.engine.promising import Promising
from enbloc.engine.search_counts import shortage
from enbloc.engine.search_model import Packing
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes


@dataclass(slots=True, weakref_slot=True, eq=False)
class Want:
    """What groups of one shape need, each of them, on nodes that are otherwise empty.

    Attributes:
        packing: the shape; whose members they are does not matter here.
        looked_at: the version of the table when it was added up last.
        short: what came out then.
    """

    packing: Packing
    looked_at: object = None
    short: bool = False


class Prospects:
    """What each group lacked when it was tried last.

    Args:
        intake: the present.
        promising: says what groups may claim.
    """

    def __init__(self, intake: Intake, promising: Promising) -> None:
        self._state, self._groups, self._promises = intake.state, intake.groups, intake.promises
        self._promising = promising
        self._of: dict[GroupKey, tuple[object, Want]] = {}
        self._claims: dict[GroupKey, Claim] = {}
        self._open: tuple[object, Nodes | None] = None, None
        self._wants: WeakValueDictionary[bytes, Want] = WeakValueDictionary()

    def want(self, packing: Packing) -> Want:
        """What groups of this shape need; the same object for all of them."""
        shape = packing.shape
        found = self._wants.get(shape)
        if found is None:
            found = self._wants[shape] = Want(packing)
        return found

    def note(self, group: GroupKey, epoch: object, want: Want) -> None:
        """A group was tried, and no placement was found.

        Args:
            group: its key.
            epoch: differs whenever what plugins see has changed other than by pods.
            want: what it needs.
        """
        self._of[group] = epoch, want

    def tried(self, facts: GroupFacts, profile: Profile, claim: Claim | None, plan: Plan) -> None:
        """An attempt is over.

        Args:
            facts: the group as it was tried.
            profile: whom it asked. A PostFilter plugin may make room, and so must be asked again.
            claim: what the group claimed; None = nobody claims anything.
            plan: what came out.
        """
        if profile.post_filter:
            self.forget(facts.key)
        elif claim and plan.verdict is Verdict.UNSCHEDULABLE and to_be_admitted(facts):
            self._claims[facts.key] = claim

    def forget(self, group: GroupKey) -> None:
        """The group is another than it was, or is gone."""
        self._of.pop(group, None)
        self._claims.pop(group, None)

    def none(self, group: GroupKey) -> bool:
        """Whether adding up shows that there is no room for the group now."""
        claim = self._claims.get(group)
        if claim is not None:
            # Other groups of its owner may have got members since.
            claim = replace(claim, held=self._promising.held(self._groups[group]))
            if self._promises.admits(claim, self._open_nodes()):
                return True
        epoch, want = self._of.get(group, (None, None))
        if want is None or epoch != self._state.epoch:
            return False
        if want.looked_at != self._version:
            want.looked_at = self._version
            want.short = shortage(want.packing.within(self._open_nodes())) is not None
        return want.short

    @property
    def _version(self) -> object:
        return self._state.epoch, self._state.nodes.placed_version

    def _open_nodes(self) -> Nodes:
        """The nodes without what counts for some groups only."""
        shadows = [*self._state.shadows]
        if not shadows:
            return self._state.nodes
        known, nodes = self._open
        if nodes is None or known != self._version:
            nodes = self._state.nodes.fork()
            for shadow in shadows:
                row = nodes.row(shadow.node)
                if row is not None:
                    nodes.place(row, shadow.pod.spec, -1)
            self._open = self._version, nodes
        return nodes
