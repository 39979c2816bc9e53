# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The table of members: which pods name which group, in the little that its status counts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Phase, Pod, PodUID

#: The owner whose end is the group's end, where the group has one.
JOB_KIND = "Job"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a group.

    Attributes:
        live: it is neither finished nor terminating.
        bound: it is live and has a node.
        ready: its condition Ready is true.
        incarnation: identity of the life it belongs to; "" = a pod without a controller.
        job: UID of the Job that controls it; "" = another controller, or none.
        created: creationTimestamp, seconds of server time since the epoch.
    """

    uid: PodUID
    role: str = ""
    phase: Phase = Phase.PENDING
    live: bool = True
    bound: bool = False
    ready: bool = False
    incarnation: str = ""
    job: str = ""
    created: float = 0.0

    @classmethod
    def of(cls, pod: Pod, *, ready: bool) -> "Member":
        """The member that this pod is."""
        return cls(
            uid=pod.uid,
            role=pod.role,
            phase=pod.phase,
            live=pod.live,
            bound=pod.bound,
            ready=ready and pod.live,
            incarnation=pod.incarnation,
            job=pod.owner.uid if pod.owner is not None and pod.owner.kind == JOB_KIND else "",
            created=pod.created,
        )

    @property
    def finished(self) -> bool:
        """It succeeded or failed."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    @property
    def bare(self) -> bool:
        """It has no controller: nobody creates it again."""
        return not self.incarnation


class Members:
    """Members by group. A method that changes something returns the groups that it touches."""

    def __init__(self) -> None:
        self._group_of: dict[PodUID, GroupKey] = {}
        self._members: defaultdict[GroupKey, dict[PodUID, Member]] = defaultdict(dict)
        self._of_job: defaultdict[str, Counter[GroupKey]] = defaultdict(Counter)
        self._jobs: dict[str, bool] = {}

    @property
    def jobs(self) -> Mapping[str, bool]:
        """The Jobs that ended, by UID: True = complete, False = failed."""
        return self._jobs

    def of(self, group: GroupKey) -> Collection[Member]:
        """The members of a group, live or not."""
        return self._members[group].values() if group in self._members else ()

    def put(self, pod: Pod, *, ready: bool) -> set[GroupKey]:
        """A pod was added or changed, perhaps its group as well."""
        if pod.group is None:
            return self.remove(pod.uid)
        touched: set[GroupKey] = set()
        if self._group_of.get(pod.uid, pod.group) != pod.group:
            touched |= self.remove(pod.uid)
        member = Member.of(pod, ready=ready)
        before = self._members[pod.group].get(pod.uid)
        if before != member:
            self._group_of[pod.uid] = pod.group
            self._members[pod.group][pod.uid] = member
            touched.add(pod.group)
        self._count(before.job if before else "", pod.group, -1)
        self._count(member.job, pod.group, +1)
        return touched

    def remove(self, uid: PodUID) -> set[GroupKey]:
        """A pod was deleted."""
        group = self._group_of.pop(uid, None)
        if group is None:
            return set()
        members = self._members[group]
        self._count(members.pop(uid).job, group, -1)
        if not members:
            del self._members[group]
        return {group}

    def end_job(self, uid: str, *, complete: bool) -> set[GroupKey]:
        """A Job reached its terminal condition."""
        if self._jobs.get(uid) is complete:
            return set()
        self._jobs[uid] = complete
        return set(self._of_job.get(uid, ()))

    def remove_job(self, uid: str) -> None:
        """A Job was deleted; how it ended no longer matters once its pods are gone as well."""
        self._jobs.pop(uid, None)

    def _count(self, job: str, group: GroupKey, change: int) -> None:
        """So many more pods of this Job are in this group."""
        if not job:
            return
        groups = self._of_job[job]
        groups[group] += change
        if not groups[group]:
            del groups[group]
        if not groups:
            del self._of_job[job]
