# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The laws of runs: no half gang, nobody is mixed up; judged by what the controllers know.

A run may start where its floor is placed with what it holds. Until it held its floor, a member
is placed by itself only where the scheduler cannot know better.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol, cast

from enbloc.engine import Engine
from enbloc.engine.effects import Bind, Decided, Effect, Evict, SetGroupStatus
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Pod, PodUID
from tests.laws.judge import Judge, assignments
from tests.laws.naive import pending
from tests.laws.objects import Objects
from tests.laws.preempting import preempts
from tests.laws.runs import Ledger, Run


class _Knowing(Protocol):
    """A world that knows its runs."""

    ledger: Ledger


class JudgeOfRuns(Judge):
    """One process of the scheduler: whether it starts runs whole, and harms none."""

    def __init__(self, server: Objects, engine: Engine) -> None:
        super().__init__(server, engine)
        self._ledger = cast("_Knowing", server).ledger
        self._held: set[Run] = set()  # as far as this process knows
        self.ran: set[Run] = set()  # their floor ran together, and a member is bound ever since

    # ── what it was shown ────────────────────────────────────────────────────────────────────

    def synced(self) -> None:
        super().synced()
        self._held = {run for run in self._ledger.runs if run.held}
        self.ran = {run for run in self._ledger.runs if run.ran}

    def before_step(self) -> None:
        super().before_step()
        bound, running = Counter[Run](), Counter[Run]()
        for run, pods in self._members().items():
            bound[run] = sum(pod.bound for pod in pods)
            running[run] = sum(pod.bound and pod.running for pod in pods)
        self.ran = {run for run in map(self._ledger.now, self.ran) if bound[run]}
        self._held = {run for run in map(self._ledger.now, self._held) if bound[run]}
        for run, count in bound.items():
            if count and count + len(run.succeeded) >= run.floor:
                self._held.add(run)
        for run, count in running.items():
            if count and count + self._succeeded(run) >= run.floor:
                self.ran.add(run)

    def _members(self) -> dict[Run, list[Pod]]:
        found: dict[Run, list[Pod]] = defaultdict(list)
        for pod in self.view.pods.values():
            run = self._ledger.of(pod.uid)
            if run is not None:
                found[run].append(pod)
        return found

    def _succeeded(self, run: Run) -> int:
        return sum(uid not in self.view.pods or self.view.pods[uid].finished
                   for uid in run.succeeded)  # fmt: skip

    # ── what it did ──────────────────────────────────────────────────────────────────────────

    def judge(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Decided(result="scheduled"):
                    self._planned([a.pod.uid for a in assignments(self.engine, effect.plan)])
                case Bind(target=target):
                    self.free -= 1
                    pod = self.view.pods.get(target.uid)
                    assert pod is not None, f"{target.pod} is bound although it is gone"
                    assert pending(pod), f"{target.pod} is bound although it cannot be"
                    self.sent[target.uid] = effect
                case Evict() if not preempts(effect):
                    self._evicted(effect)
                case SetGroupStatus():
                    self._counted(effect)
                case _:
                    pass

    def _planned(self, uids: Sequence[PodUID]) -> None:
        """A plan starts runs whole, each by itself unless none could be (semantics §2.1, §2.4)."""
        placed: Counter[Run] = Counter()
        for uid in uids:
            run = self._ledger.of(uid)
            if run is not None:
                placed[run] += 1
        short = {run: self._short(run, count) for run, count in placed.items()}
        if not any(short.values()):
            self._reached(placed)
            return
        if self._may_gather(placed):
            self._ledger.merge(placed)
            self.server.reached["runs without a quorum gather"] += 1
            return
        text = ", ".join(f"{run.name} lacks {lack} of {run.floor}" for run, lack in short.items())
        raise AssertionError(f"half a gang is started: {text}")

    def _bound(self, run: Run) -> int:
        """Bound in the view; those whose Binding this process sent are as good."""
        return sum(
            pod.bound or uid in self.sent
            for uid, pod in self.view.pods.items()
            if self._ledger.of(uid) is run and pod.live
        )

    def _short(self, run: Run, placed: int) -> int:
        if run.held or run in self._held:
            return 0
        return max(0, run.floor - self._bound(run) - len(run.succeeded) - placed)

    def _may_gather(self, placed: Counter[Run]) -> bool:
        if len(placed) < 2 or sum(placed.values()) < max(run.floor for run in placed):
            return False
        jobsets = Counter(run.jobset for run in placed if run.jobset)
        if any(count > 1 for count in jobsets.values()):
            return False
        members = self._members()
        return all(
            not self._bound(run)
            and not run.succeeded
            and sum(pending(pod) for pod in members[run]) < run.floor
            for run in placed
        )

    def _reached(self, placed: Counter[Run]) -> None:
        reached = self.server.reached
        for run, count in placed.items():
            others = {
                other
                for other, pods in self._members().items()
                if other is not run and other.group == run.group and any(p.live for p in pods)
            }
            if run.held or run in self._held:
                reached["a member is placed by itself"] += 1
            elif others:
                reached["a run starts while another is live"] += 1
            elif run.succeeded:
                reached["a run is relaunched after successes"] += 1
            elif self._bound(run):
                reached["a run that was cut is completed"] += 1
            else:
                reached["a run starts whole"] += count >= run.floor

    def _evicted(self, evict: Evict) -> None:
        """Semantics §4.3: who runs whole, or did and was not lost, is not evicted."""
        pod = self.view.pods.get(evict.uid)
        assert pod is not None, f"{evict.pod} is evicted although it is gone"
        run, group = self._ledger.of(evict.uid), self.view.run(evict.group.podgroup).group
        self.server.reached["a member is evicted"] += 1
        if run is None or group is None or group.on_incomplete is OnIncomplete.RESTART:
            return
        assert run not in self.ran, f"{evict.pod} of {run.name} is evicted, which runs"

    def _counted(self, status: SetGroupStatus) -> None:
        """Semantics §7.3: successes never go back in one run."""
        key = status.group.podgroup
        group, last = self.view.run(key).group, self.told.get(key)
        assert group is not None, f"status of {key}, which does not exist"
        memory = group.memory
        if memory.run_name == status.run_name:
            assert status.succeeded >= memory.succeeded, f"{key}: succeeded goes back"
        if last and (last.uid, last.run_name) == (status.uid, status.run_name):
            assert status.succeeded >= last.succeeded, f"{key}: succeeded goes back"
        self.server.reached["the status tells of two runs"] += len(status.runs) > 1
        self.told[key] = status
