# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Creators: the Jobs, sets and workloads that create a group's members, limit or end them."""

from dataclasses import dataclass
from typing import Final

from enbloc.model.groups import GroupKey
from enbloc.model.runs import short
from enbloc.model.text import whole_number
from enbloc.wire.auto_groups import JOB_SET

JOB: Final = "Job"
STATEFUL_SET: Final = "StatefulSet"
REPLICA_SET: Final = "ReplicaSet"

#: By kind, the owner's kinds ("" = no owner) that create pods only through creators known here.
_UNDERSTOOD: Final = {
    JOB: frozenset({"", "CronJob"}),
    REPLICA_SET: frozenset({"", "Deployment"}),
    STATEFUL_SET: frozenset({""}),
}

#: The most digits of the index of a pod.
_MOST_DIGITS: Final = 10


def count_indexes(text: object) -> int:
    """How many indexes a text lists, such as "1,3-5"; what is no text or index counts as none."""
    if not isinstance(text, str):
        return 0
    total = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = whole_number(first, _MOST_DIGITS)
        high = whole_number(last, _MOST_DIGITS) if dash else low
        if low is not None and high is not None:
            total += max(0, high - low + 1)
    return total


@dataclass(frozen=True, slots=True)
class Creator:
    """A Job, a StatefulSet, a ReplicaSet, or a workload of another kind that has ended.

    Attributes:
        group: the group that its pod template names, or that is made for it; None = none.
        wave: the group of its part of a workload, if that part may have its own; None = it cannot.
        role: the role that the template names; "" = none.
        by_field: the template names the group by `spec.schedulingGroup`.
        above_kind: the kind of its own controller; "" = it has none.
        above_name: the name of its own controller.
        restart: the owner of its pods that its template names, as `Pod.restart`; "" = none.
        created: creationTimestamp, seconds of server time since the epoch; 0 = unknown.
        pods: how many pods it runs at a time: spec.parallelism or spec.replicas.
        completions: Job: how many of its pods must succeed; None = not set.
        succeeded: Job: how many pods succeeded.
        failed: Job: how many of its indexes failed for good (backoffLimitPerIndex).
        ended: Job or workload: True = complete, False = failed; None = it has not ended.
        indexed: Job: spec.completionMode is Indexed.
        suspended: Job: it has no pods until it is resumed.
        ordered: StatefulSet: each pod waits until the one before is Ready.
        backoff_limit: Job: how many pods may fail, counting deleted ones; None = deletions by a
            scheduler do not count.
        index_limit: Job: the same for each index (backoffLimitPerIndex); None = not set, too.
        generation: metadata.generation.
    """

    kind: str
    name: str
    uid: str
    group: GroupKey | None = None
    wave: GroupKey | None = None
    role: str = ""
    by_field: bool = False
    above_kind: str = ""
    above_name: str = ""
    restart: str = ""
    created: float = 0.0
    pods: int = 1
    completions: int | None = None
    succeeded: int = 0
    failed: int = 0
    ended: bool | None = None
    indexed: bool = False
    suspended: bool = False
    ordered: bool = False
    backoff_limit: int | None = None
    index_limit: int | None = None
    generation: int = 0

    @property
    def owner(self) -> str:
        """The owner of its pods, as a run has it."""
        return short(self.restart or self.uid)

    @property
    def apart(self) -> bool:
        """Whether its pods are in the group of their part, not in that of the whole workload."""
        return self.wave is not None and self.group == self.wave

    @property
    def understood(self) -> bool:
        """Whether no unknown owner above it might create further members."""
        return self.above_kind in _UNDERSTOOD.get(self.kind, ())

    @property
    def of_job_set(self) -> bool:
        """Whether it is one of the Jobs of a JobSet."""
        return self.kind == JOB and self.above_kind == JOB_SET

    @property
    def idle(self) -> bool:
        """Whether it is an old ReplicaSet of a Deployment, or one not yet scaled up."""
        return self.kind == REPLICA_SET and not self.pods

    @property
    def title(self) -> str:
        """Its name for users: "Job train", "Deployment web", "Job a of JobSet train"."""
        if self.kind == REPLICA_SET and self.above_kind == "Deployment":
            return f"{self.above_kind} {self.above_name}"
        above = f" of {self.above_kind} {self.above_name}" if self.above_kind else ""
        return f"{self.kind} {self.name}{above}"

    @property
    def span(self) -> int:
        """The most pods that its spec allows at a time."""
        return self.pods if self.completions is None else min(self.pods, self.completions)

    @property
    def left(self) -> int | None:
        """Job: how many of its completions can still succeed; None = any number."""
        if self.completions is None:
            return None
        return max(0, self.completions - self.succeeded - self.failed)

    def room(self, live: int, ready: int) -> int:
        """How many live pods it can have now, given how many are live and how many are Ready.

        A suspended Job counts as if it were resumed.
        """
        if self.ended is not None:
            return 0
        if self.ordered:
            return min(self.pods, max(live, ready + 1))
        if self.kind != JOB:
            return self.pods
        if self.left is not None:
            return min(self.pods, self.left)
        # A work queue: once one pod has succeeded, the Job creates no other.
        return min(self.pods, live) if self.succeeded else self.pods

    def bound_by(self, room: int, lacking: int) -> str:
        """The field that limits it to fewer than `room` + `lacking` pods, and the fix."""
        wanted = room + lacking
        if self.ended is not None:
            return f"it {'is complete' if self.ended else 'failed'}; run it again"
        if self.ordered and self.pods > room:
            return (
                "spec.podManagementPolicy is OrderedReady, so each pod waits for the one before, "
                "which waits for the gang; recreate it with Parallel"
            )
        if self.kind != JOB:
            return f"spec.replicas is {self.pods}; raise it to {wanted}"
        if self.completions is None:
            if self.pods <= room:
                return f"spec.parallelism is {self.pods}; raise it to {wanted}"
            return "one of its pods succeeded, after which it creates no more; set spec.completions"
        total = wanted + self.succeeded + self.failed
        if self.completions >= total:
            return f"spec.parallelism is {self.pods}; raise it to {wanted}"
        verb = "is" if self.succeeded == 1 else "are"
        done = f"{self.succeeded} {verb} done" if self.succeeded else ""
        failed = f"{self.failed} failed for good" if self.failed else ""
        ended = " and ".join(filter(None, (done, failed)))
        limits = f"spec.completions is {self.completions}{ended and f', of which {ended}'}"
        if self.pods < wanted:
            limits = f"spec.parallelism is {self.pods} and {limits}"
        return f"{limits}; {self._for_more(wanted, total)}"

    def _for_more(self, wanted: int, completions: int) -> str:
        """How a Job gets `wanted` pods at a time, for which it needs so many completions."""
        if self.of_job_set:  # which made its spec
            return f"create {self.above_kind} {self.above_name} again"
        if self.indexed:  # completions may change if it stays equal to parallelism
            return f"set spec.parallelism and spec.completions to {completions} in one update"
        if self.pods < wanted:
            return (
                f"completions is immutable, so recreate it with parallelism {wanted} "
                f"and completions {completions}"
            )
        return f"completions is immutable, so recreate it with {completions}"
