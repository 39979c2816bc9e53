# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs: which pods are one run of a workload, as the controllers that made them know.

Nothing of the scheduler's own grouping is used: a run is what somebody started once, and wants to
have running whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from enbloc.engine.events import Event, PodGone, PodSeen
from enbloc.model.pods import Phase, Pod, PodUID


@dataclass(slots=True, eq=False)
class Run:
    """One run of a workload.

    Attributes:
        floor: so many of its members start together, or none.
        jobset: the JobSet of which it is an attempt; "" = it is none.
        pods: its members, as the API server has them.
        succeeded: all that ever did.
        held: its floor was held, and since then a member was always bound.
        begun: it had members.
        doubtful: one succeeded when another success was deleted already: whoever did not see it
            takes the two for one.
        ran: status says that its floor ran, and since then a member was always bound.
    """

    name: str
    group: str
    floor: int
    jobset: str = ""
    pods: dict[PodUID, Pod] = field(default_factory=dict[PodUID, Pod])
    succeeded: set[PodUID] = field(default_factory=set[PodUID])
    held: bool = False
    begun: bool = False
    doubtful: bool = False
    ran: bool = False

    @property
    def live(self) -> list[Pod]:
        """The members that have neither ended nor terminate."""
        return [pod for pod in self.pods.values() if pod.live]


class Ledger:
    """What is true of every run; two that may gather, and did, are one from then on."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._of: dict[PodUID, Run] = {}
        self._became: dict[Run, Run] = {}

    def begin(self, name: str, group: str, floor: int, jobset: str = "") -> Run:
        """A workload runs once more."""
        run = Run(name, group, floor, jobset)
        self.runs.append(run)
        return run

    def belongs(self, uid: PodUID, run: Run) -> None:
        """A pod that is about to be created is of this run."""
        self._of[uid] = self.now(run)

    def of(self, uid: PodUID) -> Run | None:
        """The run of a pod; None = it is of none."""
        run = self._of.get(uid)
        return None if run is None else self.now(run)

    def now(self, run: Run) -> Run:
        """What became of a run that gathered with another."""
        while run in self._became:
            run = self._became[run]
        return run

    def merge(self, runs: Iterable[Run]) -> Run:
        """Members of these were placed together, as they may be."""
        first, *others = sorted(runs, key=self.runs.index)
        for run in others:
            self._became[run] = first
            first.pods |= run.pods
            first.succeeded |= run.succeeded
            self.runs.remove(run)
        return first

    def note(self, event: Event) -> None:
        """The API server has something else."""
        if not isinstance(event, PodSeen | PodGone):
            return
        uid = event.pod.uid if isinstance(event, PodSeen) else event.uid
        run = self.of(uid)
        if run is None:
            return
        if isinstance(event, PodSeen):
            run.pods[uid] = event.pod
            run.begun = True
            if event.pod.phase is Phase.SUCCEEDED and uid not in run.succeeded:
                run.doubtful |= any(other not in run.pods for other in run.succeeded)
                run.succeeded.add(uid)
        else:
            run.pods.pop(uid, None)
        bound = sum(pod.bound for pod in run.pods.values())
        run.ran = bound > 0 and run.ran
        run.held = bound > 0 and (run.held or bound + len(run.succeeded) >= run.floor)
