# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the scheduler's part of the status of PodGroups and pods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from enbloc.client.client import Client, PatchType
from enbloc.client.coalescing_writer import (
    CROWD_LATEST_SECONDS,
    CROWD_SETTLED_SECONDS,
    CoalescingWriter,
)
from enbloc.client.group_status import INTERVAL, PASSING, SETTLED, apply_group_status
from enbloc.client.items import Identified
from enbloc.client.paths import PODS
from enbloc.engine.effects import SetGangRunning, SetGroupStatus, SetPodCondition
from enbloc.live.group_status import NOTHING, GroupObject, SchedulerStatus, wanted
from enbloc.model.groups import GroupKey
from enbloc.model.names import GANG_RUNNING, Condition, Reason
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.model.times import seconds_of
from enbloc.model.versions import version_of
from enbloc.telemetry import ActiveProblems
from enbloc.wire.codec import status_writers
from enbloc.wire.conditions import pod_condition

#: How often a status is written again that somebody else changes: two may insist on theirs.
MOST_REPEATED: Final = 10
#: Reasons of condition Scheduled that pass by themselves.
_PASSING: Final = (Reason.PENDING, Reason.BINDING)


@dataclass(frozen=True, slots=True)
class Standing:
    """The status of one PodGroup as last seen, its version, and which schedulers wrote it.

    Attributes:
        created: its creationTimestamp, seconds since the epoch; 0 = it has none.
        watched: the version that the watch showed last; a reply to a write may be newer.
    """

    uid: str
    version: int
    shown: SchedulerStatus
    created: float = 0.0
    writers: tuple[str, ...] = ()
    watched: int = 0


class _Written(NamedTuple):
    """A status that was written.

    Attributes:
        effect: what was to be written.
        left: our part of the status after that, as the server may have altered it.
        repeated: how often it was written again.
    """

    effect: SetGroupStatus
    left: SchedulerStatus
    repeated: int


class GroupStatuses:
    """Writes the scheduler's part of PodGroup statuses, and only what differs from the current one.

    What is written is written again once the watch shows that somebody else has changed it.

    Args:
        client: may write only while this process is the leader.
        now: server time, seconds since the epoch.
        problems: told what keeps statuses from being written.
        manager: the field manager to write as.
    """

    def __init__(
        self, client: Client, now: Callable[[], float], problems: ActiveProblems, manager: str
    ) -> None:
        self._client = client
        self._now = now
        self._manager = manager
        #: Each PodGroup as last seen; and those that have reason Infeasible, by us.
        self._standing: dict[GroupKey, Standing] = {}
        self._infeasible: set[GroupKey] = set()
        #: What was written last of each PodGroup; nothing while a write is under way.
        self._written: dict[GroupKey, _Written] = {}
        self.writer: Final = CoalescingWriter[GroupKey, SetGroupStatus](
            "PodGroup status",
            self._write,
            problems,
            queue="podgroup_status",
            interval=INTERVAL,
            settles=settles,
            patience=self._patience,
        )

    def seen(self, group: GroupObject) -> None:
        """Take in a PodGroup from the watch; a state older than a reply to our write is ignored.

        One older than what the watch has shown is believed, as the reflector does: the server was
        restored from a backup.
        """
        metadata = group.metadata
        key = GroupKey(metadata.namespace or "", metadata.name)
        version = version_of(metadata.resource_version)
        known = self._standing.get(key)
        same = known is not None and known.uid == metadata.uid
        if known is not None and same and known.watched <= version <= known.version:
            self._standing[key] = replace(known, watched=version)
            return
        self._take(key, group, version)
        self._mend(key)

    def _take(self, key: GroupKey, group: GroupObject, watched: int) -> None:
        metadata = group.metadata
        shown = group.status or NOTHING
        writers = status_writers(metadata)
        self._standing[key] = Standing(
            metadata.uid,
            version_of(metadata.resource_version),
            shown,
            seconds_of(metadata.creation_timestamp or "") or 0.0,
            writers,
            watched,
        )
        theirs = bool(writers) and self._manager not in writers
        if shown.reason(Condition.SCHEDULED) == Reason.INFEASIBLE and not theirs:
            self._infeasible.add(key)
        else:
            self._infeasible.discard(key)

    def _mend(self, key: GroupKey) -> None:
        """Write our part again if somebody else has changed it since."""
        written = self._written.get(key)
        if written is None or written.repeated >= MOST_REPEATED or self.writer.waits(key):
            return
        standing = self._known(written.effect)
        if standing is not None and standing.shown.own() != written.left:
            self.writer.put(key, written.effect)

    def gone(self, key: GroupKey) -> None:
        """Forget a PodGroup that was deleted."""
        self._standing.pop(key, None)
        self._infeasible.discard(key)
        self._written.pop(key, None)

    def infeasible(self) -> int:
        """How many PodGroups have reason Infeasible, written by us."""
        return len(self._infeasible)

    def _patience(self, effect: SetGroupStatus) -> float:
        """The longest wait in a crowd (seconds); 0 for a start, which guards against evictions.

        Without it, the next leader could evict members of a gang that has started.
        """
        standing = self._known(effect)
        if effect.started is not None and not (standing and standing.shown.started_time):
            return 0.0
        return CROWD_LATEST_SECONDS if _passes(effect) else CROWD_SETTLED_SECONDS

    async def _write(self, key: GroupKey, effect: SetGroupStatus) -> None:
        before = self._written.pop(key, None)
        other = self._standing.get(key)
        if other is not None and other.uid != effect.uid:
            return  # it was deleted; its namesake gets a status of its own
        standing = self._known(effect)
        shown = standing.shown if standing else NOTHING
        created = standing.created if standing else 0.0
        status = wanted(effect, shown, self._now(), created)
        writers = standing.writers if standing else ()
        if any(writer not in (self._manager, *effect.replaced) for writer in writers):
            return  # another scheduler has written since; the engine decides again by that
        replaced = [writer for writer in effect.replaced if writer in writers]
        left = shown.own()
        if status != left or replaced:
            left = await self._apply(effect, status, self._manager)
        for writer in replaced:  # removes the fields that it alone owns; ours stay
            left = await self._apply(effect, None, writer)
        if self._known(effect) is not None:
            again = before.repeated + 1 if before is not None and before.effect is effect else 0
            self._written[key] = _Written(effect, left, again)
            self._mend(key)

    def _known(self, effect: SetGroupStatus) -> Standing | None:
        """What is known of the group, unless that is a namesake."""
        standing = self._standing.get(effect.group)
        return standing if standing and standing.uid == effect.uid else None

    async def _apply(
        self, effect: SetGroupStatus, status: SchedulerStatus | None, manager: str
    ) -> SchedulerStatus:
        """Apply a part of the status; our part after that.

        The reply is newer than what was known, and than what the watch shows meanwhile unless that
        has a later version.
        """
        key = effect.group
        before = self._standing.get(key)
        written: GroupObject = await apply_group_status(
            self._client, effect.group, effect.uid, status, manager, shape=GroupObject
        )
        known = self._standing.get(key)
        version = version_of(written.metadata.resource_version)
        same = known if known is not None and known.uid == effect.uid else None
        if known is before or (same is not None and same.version < version):
            self._take(key, written, 0 if same is None else same.watched)
        return (written.status or NOTHING).own()


def settles(effect: SetGroupStatus) -> float:
    """How long a status must be stable before it is written (seconds)."""
    return PASSING if _passes(effect) else SETTLED


def _passes(effect: SetGroupStatus) -> bool:
    """Whether the status is about to change by itself."""
    return effect.conditions[0].reason in _PASSING


PodCondition = SetPodCondition | SetGangRunning


class PodConditionKey(NamedTuple):
    """One condition of one pod; `str` gives the pod."""

    pod: PodKey
    uid: PodUID
    kind: type[PodCondition]

    def __str__(self) -> str:
        return str(self.pod)

    @property
    def namespace(self) -> str:
        """The party whose turn it is when this is written."""
        return self.pod.namespace


@dataclass(frozen=True, slots=True)
class Unbound:
    """A pod without a node, as last seen.

    Attributes:
        version: its resourceVersion; each write requires it, so that none hits a bound pod.
        false: condition PodScheduled is False with a reason of ours.
        created: its creationTimestamp, seconds since the epoch.
    """

    version: int
    false: bool
    created: float


@dataclass(frozen=True, slots=True)
class Gated:
    """A pod with the readiness gate GangRunning, as last seen.

    Attributes:
        running: the status of that condition; None = the pod lacks the condition.
        created: its creationTimestamp, seconds since the epoch.
    """

    running: bool | None
    created: float


class PodConditions:
    """Writes conditions of members, for each pod and condition only the newest.

    PodScheduled=False is written as kube-scheduler does, and never on a bound pod; GangRunning on
    pods that have it as a readiness gate.

    Args:
        client: may write only while this process is the leader.
        now: server time, seconds since the epoch.
        problems: told what keeps conditions from being written.
    """

    def __init__(self, client: Client, now: Callable[[], float], problems: ActiveProblems) -> None:
        self._client = client
        self._now = now
        #: Pods that may get PodScheduled=False; and those that have our readiness gate.
        self._unbound: dict[PodUID, Unbound] = {}
        self._gated: dict[PodUID, Gated] = {}
        #: Nominations not yet written; a newer condition without one does not drop it.
        self._nominations: dict[PodUID, str] = {}
        self.writer: Final = CoalescingWriter[PodConditionKey, PodCondition](
            "pod condition", self._write, problems, queue="pod_condition"
        )

    def put(self, effect: PodCondition) -> None:
        """Write this condition; it replaces a waiting one of the same kind and pod."""
        if isinstance(effect, SetPodCondition) and effect.nominated is not None:
            self._nominations[effect.uid] = effect.nominated
        self.writer.put(PodConditionKey(effect.pod, effect.uid, type(effect)), effect)

    def seen(self, pod: Pod) -> None:
        """Take in a pod from the watch."""
        if pod.node or pod.finished:
            self._unbound.pop(pod.uid, None)
        else:
            self._unbound[pod.uid] = Unbound(pod.resource_version, pod.unschedulable, pod.created)
        if pod.gang_gate and not pod.finished:
            self._gated[pod.uid] = Gated(pod.gang_running, pod.created)
        elif self._gated:
            self._gated.pop(pod.uid, None)

    def gone(self, uid: PodUID) -> None:
        """Forget a pod that was deleted."""
        self._unbound.pop(uid, None)
        self._gated.pop(uid, None)
        self._nominations.pop(uid, None)

    async def _write(self, key: PodConditionKey, effect: PodCondition) -> None:
        """Write what still applies to the pod as last seen."""
        del key
        if isinstance(effect, SetPodCondition):
            await self._unscheduled(effect)
        else:
            await self._gang_running(effect)

    async def _unscheduled(self, effect: SetPodCondition) -> None:
        pod = self._unbound.get(effect.uid)
        if pod is None:
            self._nominations.pop(effect.uid, None)
            return
        now = max(self._now(), pod.created)
        condition = pod_condition(
            "PodScheduled", "False", effect.reason, effect.message, now, same=pod.false
        )
        status: dict[str, Any] = {"conditions": [condition]}
        nominated = self._nominations.get(effect.uid)
        if nominated is not None:
            status["nominatedNodeName"] = nominated or None
        reply = await self._patch(effect, status, {"resourceVersion": str(pod.version)})
        if self._nominations.get(effect.uid) == nominated:
            self._nominations.pop(effect.uid, None)
        known = self._unbound.get(effect.uid)
        version = reply.metadata.version
        if known is not None and known.version <= version:
            self._unbound[effect.uid] = replace(known, version=version, false=True)

    async def _gang_running(self, effect: SetGangRunning) -> None:
        pod = self._gated.get(effect.uid)
        if pod is None:
            return
        reason = Reason.SATISFIED if effect.running else Reason.BELOW_MINIMUM
        condition = pod_condition(
            GANG_RUNNING,
            str(effect.running),
            reason,
            effect.message,
            max(self._now(), pod.created),
            same=pod.running is effect.running,
        )
        # Nobody else writes this condition, so no resourceVersion is required.
        await self._patch(effect, {"conditions": [condition]}, {})
        if effect.uid in self._gated:
            self._gated[effect.uid] = replace(pod, running=effect.running)

    async def _patch(
        self, effect: PodCondition, status: Mapping[str, Any], preconditions: Mapping[str, str]
    ) -> Identified:
        reply: Identified = await self._client.patch(
            PODS,
            effect.pod.name,
            {
                "metadata": {"uid": effect.uid, **preconditions},
                "status": status,
            },
            effect.pod.namespace,
            kind=PatchType.STRATEGIC,
            subresource="status",
            shape=Identified,
        )
        return reply
