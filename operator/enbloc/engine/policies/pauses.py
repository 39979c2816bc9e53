# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pauses: who released capacity for the same cause again is bound later each time (semantics §4.6).

They are a PodGroup's, not its members': those that come back after an eviction are others, and may
be another life of the group.
"""

from dataclasses import dataclass
from typing import Final

from enbloc.engine.queue import Backoff
from enbloc.engine.report import Explanation
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import PodSpec

#: No pause is longer, seconds.
LONGEST_SECONDS: Final = 3600.0

#: What a server, a webhook or a plugin said no to, or nobody can read. Anything else is a lack of
#: capacity or of members.
_REFUSED: Final = (Reason.SCHEDULER_ERROR, Reason.WAITING_ON_PERMIT, Reason.INVALID_SPEC)


@dataclass(frozen=True, slots=True)
class Pause:
    """No Binding of a group before a time.

    Attributes:
        until: engine clock.
        refused: it was released for what no capacity can help, and so is not tried before either.
            Else it is tried, and is bound before the time if a group ordered later would be placed.
        cause: what kept it from being completed at the last release.
        why: for people.
    """

    until: float
    refused: bool
    cause: Explanation
    why: Explanation


#: What the owner of a PodGroup wrote of it, as far as it matters for whether it can be placed.
_Spec = tuple[object, ...]


@dataclass(slots=True)
class _Releases:
    """A group released its capacity at its deadline, and has not run since.

    Attributes:
        refused: for what no capacity can help, at each of these times.
        times: how often in a row.
        until: its pause, engine clock; past = it is over.
        why: what kept it from being completed, for people.
        spec: of the PodGroup.
        members: the specs of its members.
    """

    refused: bool
    times: int
    until: float
    why: Explanation
    spec: _Spec | None
    members: frozenset[PodSpec]


class Pauses:
    """The groups that released capacity and have not run since, by their PodGroup."""

    def __init__(self) -> None:
        #: By namespace and name of the PodGroup; who runs whole, or is gone, is in it no more.
        self._of: dict[tuple[str, str], _Releases] = {}

    def __contains__(self, key: GroupKey) -> bool:
        return _name(key) in self._of

    def release(
        self, facts: GroupFacts, members: frozenset[PodSpec], why: Explanation, now: float
    ) -> None:
        """A group begins to release its capacity at its deadline.

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
        """The capacity of a group is being released: its pause, if it has one, counts from now.

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
        """The pause of a group as it is now; it ends early where the cause may have."""
        releases = self._of.get(_name(facts.key))
        if releases is None:
            return None
        if releases.spec != _spec(facts) or not releases.members.issuperset(_specs(facts)):
            del self._of[_name(facts.key)]
            return None
        if releases.until <= now or (facts.total.bound and not releases.refused):
            return None  # what is bound is completed if it can be
        reason = releases.why.reason if releases.refused else Reason.TIMED_OUT
        text = (
            f"evicted at the deadline {releases.times} times in a row, so the next attempt waits "
            f"until status.nextAttemptTime or a change of the spec; last: {releases.why.message}"
        )
        why = Explanation(reason, text)
        return Pause(releases.until, releases.refused, releases.why, why)

    def end(self, key: GroupKey) -> None:
        """A group runs, or is gone: what it releases from now on is another matter."""
        self._of.pop(_name(key), None)


def _name(key: GroupKey) -> tuple[str, str]:
    return key.namespace, key.name


def _spec(facts: GroupFacts) -> _Spec | None:
    group = facts.group
    if group is None:
        return None
    return (
        group.min_member,
        group.roles,
        group.min_resources,
        group.timeout,
        group.priority_class,
        group.on_incomplete,
        group.sub_groups,
        group.min_group_count,
    )


def _specs(facts: GroupFacts) -> frozenset[PodSpec]:
    return frozenset(pod.spec for pod in facts.pending)
