# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pauses: a group that releases capacity for the same cause again is bound later (semantics §4.6).

The pause grows each time. It belongs to the PodGroup, not to its members: those that come back
after an eviction are new pods, and may be another run of the group. Nor does it belong to the name:
a PodGroup may be created again while pods of the former one terminate.
"""

from dataclasses import dataclass
from typing import Final

from enbloc.engine.queue import Backoff
from enbloc.engine.report import ReasonAndMessage
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import PodSpec

#: The longest pause, seconds.
LONGEST_SECONDS: Final = 3600.0

#: Refusals by a server, a webhook or a plugin, and invalid specs. Any other reason is a lack of
#: capacity or of members.
_REFUSED: Final = (Reason.SCHEDULER_ERROR, Reason.WAITING_ON_PERMIT, Reason.INVALID_SPEC)


@dataclass(frozen=True, slots=True)
class Pause:
    """No Binding of a group before a time.

    Attributes:
        until: engine clock.
        refused: no capacity can help against the cause, so the group is not tried before either.
            Otherwise it is tried, and bound earlier if a group later in the order would be placed.
        cause: what kept it from being completed at the last release.
        why: for people.
    """

    until: float
    refused: bool
    cause: ReasonAndMessage
    why: ReasonAndMessage


#: The UID of a PodGroup, and the parts of its spec that matter for whether it can be placed.
_Spec = tuple[object, ...]


@dataclass(slots=True)
class _Releases:
    """The releases of a group at its deadline since it last ran.

    Attributes:
        refused: no capacity could help against the cause of each.
        times: their number in a row.
        until: the end of the pause, engine clock; past = it is over.
        why: what kept it from being completed, for people.
        spec: of the PodGroup; another one of the same name has another.
        members: the specs of its members.
    """

    refused: bool
    times: int
    until: float
    why: ReasonAndMessage
    spec: _Spec | None
    members: frozenset[PodSpec]


class Pauses:
    """The PodGroups that released capacity and have not run since."""

    def __init__(self) -> None:
        #: By namespace and name of the PodGroup; groups that run whole or are gone are removed.
        self._of: dict[tuple[str, str], _Releases] = {}

    def __contains__(self, key: GroupKey) -> bool:
        return _name(key) in self._of

    def release(
        self, facts: GroupFacts, members: frozenset[PodSpec], why: ReasonAndMessage, now: float
    ) -> None:
        """Record that a group begins to release its capacity at its deadline.

        Args:
            facts: the group as it is.
            members: the specs of its live members.
            why: what kept it from being completed.
            now: engine clock.
        """
        refused, spec = why.reason in _REFUSED, _spec(facts)
        last = self._of.get(_name(facts.key))
        again = last is not None and last.refused is refused and last.spec == spec
        again = again and last is not None and members <= last.members
        times = last.times + 1 if last is not None and again else 1
        known = last.members if last is not None and again else members
        self._of[_name(facts.key)] = _Releases(refused, times, now, why, spec, known)

    def begin(self, key: GroupKey, timeout: float, now: float) -> None:
        """Begin the pause of a group whose capacity is being released, if it has one.

        Args:
            key: the group.
            timeout: its scheduleTimeoutSeconds.
            now: engine clock.
        """
        releases = self._of.get(_name(key))
        if releases is not None:
            pause = Backoff(2.0 * timeout, LONGEST_SECONDS)  # none after the first release
            releases.until = now + pause.after(releases.times - 1)

    def of(self, facts: GroupFacts, now: float) -> Pause | None:
        """Return the pause of a group now; it ends early if its cause may be gone."""
        releases = self._of.get(_name(facts.key))
        if releases is None:
            return None
        if releases.spec != _spec(facts) or not releases.members.issuperset(_specs(facts)):
            del self._of[_name(facts.key)]
            return None
        if releases.until <= now or (facts.total.bound and not releases.refused):
            return None  # a bound part is completed if possible
        reason = releases.why.reason if releases.refused else Reason.TIMED_OUT
        text = (
            f"evicted at the deadline {releases.times} times in a row, so the next attempt waits "
            f"until status.nextAttemptTime or a change of the spec; last: {releases.why.message}"
        )
        why = ReasonAndMessage(reason, text)
        return Pause(releases.until, releases.refused, releases.why, why)

    def end(self, key: GroupKey) -> None:
        """Forget the releases of a group that runs or is gone."""
        self._of.pop(_name(key), None)


def _name(key: GroupKey) -> tuple[str, str]:
    return key.namespace, key.name


def _spec(facts: GroupFacts) -> _Spec | None:
    group = facts.group
    if group is None:
        return None
    return (
        group.uid,
        group.min_member,
        group.roles,
        group.min_resources,
        group.timeout,
        group.priority_class,
        group.on_incomplete,
        group.sub_groups,
        group.min_group_count,
        group.topology,
        group.topology_parts,
    )


def _specs(facts: GroupFacts) -> frozenset[PodSpec]:
    return frozenset(pod.spec for pod in facts.pending)
