# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Many short episodes of preemption: owners of different priority share nodes that are too few.

Owners make evicted pods again at once, budgets are kept by the API server, victims leave late,
nodes are cordoned and schedulers restarted. `test_engine_laws.py` has preemption among everything
else that can happen; here each episode costs milliseconds, and more can be said of its end.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import pytest

from enbloc.engine import Settings
from enbloc.engine.effects import Effect, Evict, SetPodCondition
from enbloc.engine.events import BudgetGone, BudgetSeen
from enbloc.engine.preemption import PreemptionLimits
from enbloc.model.names import Reason
from enbloc.model.pods import Owner, Pod, PodUID
from tests.effort import times
from tests.world.builders import budget, spec
from tests.world.cluster import Cluster

#: Episodes of each batch.
EPISODES = 100
#: So long after the last disturbance everything has come to its end (seconds).
REST = 900.0
#: Within its grace period a victim leaves (seconds).
GRACE = 20.0
PRIORITIES = (0, 0, 5, 10)
NODES, MOST_OWNERS = 4, 6


@dataclass
class Job:
    """An owner, and what it wants.

    Attributes:
        minimum: of its members; 0 = its pods have no group.
        keeps: a budget keeps so many of its pods; 0 = it has none.
    """

    name: str
    count: int
    minimum: int
    cpu: int
    priority: int
    preempts: bool
    keeps: int
    made: int = 0


class Shared(Cluster):
    """A cluster whose owners, kubelets and budgets do their part by themselves.

    Nobody is tried for the sake of time alone, so that a missed wake-up shows.

    Attributes:
        jobs: by name.
        leaves: when a pod that terminates is gone, by name.
        told: the pods that were told to leave, and whose eviction was not refused.
        preempted: so many of them, since somebody looked last.
    """

    # No owner is protected for having given way often: the next episode begins soon.
    SETTINGS: ClassVar = Settings(
        validate=True, longest_wait=1e9, preemption=PreemptionLimits(most_evictions=10**6)
    )

    def __init__(self, **more: Any) -> None:
        self.random = random.Random(0)
        self.jobs: dict[str, Job] = {}
        self.leaves: dict[str, float] = {}
        self.told: set[PodUID] = set()
        self.preempted = 0
        self._allowed: dict[str, int] = {}
        super().__init__(**more)

    def _successor(self) -> Self:
        other = super()._successor()
        other.random, other.jobs, other.leaves = self.random, self.jobs, self.leaves
        other.told, other.preempted = self.told, self.preempted
        return other

    def of(self, job: Job) -> list[Pod]:
        return [pod for pod in self.pods.values() if dict(pod.labels)["app"] == job.name]

    # ── what goes on by itself ───────────────────────────────────────────────────────────────

    def rest(self, seconds: float) -> None:
        """Let so much time pass, and all that is due in it happen."""
        end = self.now + seconds
        for _ in range(20_000):
            self.step()
            self._owners_act()
            self._budgets_follow()
            due = [self.engine.wakeup(), *self.leaves.values()]
            at = min(time for time in (*due, end + 1) if time is not None)
            if at > end:
                self.now = end
                return
            self.now = max(self.now, at)
            for name in [each for each, time in self.leaves.items() if time <= self.now]:
                del self.leaves[name]
                if name in self.pods:
                    self.delete(name)
        raise AssertionError("it never comes to rest")

    def _owners_act(self) -> None:
        for job in self.jobs.values():
            for _ in range(job.count - sum(pod.live for pod in self.of(job))):
                job.made += 1
                self.pod(
                    f"{job.name}-{job.made}",
                    job.name if job.minimum else None,
                    owner=Owner("Job", job.name, job.name),
                    spec=spec(cpu=job.cpu),
                    priority=job.priority,
                    preempts=job.preempts,
                    labels=(("app", job.name),),
                    grace=GRACE,
                )
        for pod in list(self.pods.values()):
            if pod.bound and not pod.running:
                self.run_pods([pod.key.name])
                self.change(pod.key.name, started=self.now)

    def _budgets_follow(self) -> None:
        """The controller of budgets counts what is healthy."""
        wanted = {job.name: self._spare(job) for job in self.jobs.values() if job.keeps}
        for name in self._allowed.keys() - wanted.keys():
            del self._allowed[name]
            self.tell(BudgetGone(f"ns/{name}"))
        for name, allowed in wanted.items():
            if self._allowed.get(name) != allowed:
                self._allowed[name] = allowed
                self.tell(BudgetSeen(budget(name, allowed)))

    def _spare(self, job: Job) -> int:
        return max(0, sum(pod.bound and pod.live for pod in self.of(job)) - job.keeps)

    def _evict(self, effect: Evict) -> None:
        self._judge(effect)
        job = self.jobs.get(dict(self.pods[effect.pod.name].labels)["app"])
        kept = job is not None and job.keeps and not effect.regardless and not self._spare(job)
        self.evict_answer = lambda _: "a budget" if kept else "slow"
        super()._evict(effect)
        if not kept:
            self.told.add(effect.uid)
            self.preempted += 1
            self.leaves[effect.pod.name] = self.now + self.random.choice((0.0, 0.0, 1.0, GRACE))
            self.change(effect.pod.name, preempted=True)

    def step(self) -> list[Effect]:
        effects = super().step()
        for effect in effects:
            if isinstance(effect, SetPodCondition) and effect.nominated is not None:
                pod = self.pods.get(effect.pod.name)
                if pod is not None and pod.uid == effect.uid and not pod.node:
                    self.change(effect.pod.name, nominated=effect.nominated)
        return effects

    # ── what must hold ───────────────────────────────────────────────────────────────────────

    def _judge(self, evict: Evict) -> None:
        """Semantics §10.1, §10.3: a bound pod of a lower priority than one that waits, once."""
        assert evict.reason is Reason.PREEMPTION_BY_SCHEDULER
        pod = self.pods.get(evict.pod.name)
        assert pod is not None, f"{evict.pod} is gone, and preempted"
        assert pod.uid == evict.uid, f"another pod is now called {evict.pod}"
        assert pod.node, f"{evict.pod} holds nothing, and is preempted"
        assert pod.uid not in self.told, f"{evict.pod} is told to leave twice"
        assert any(
            other.priority > pod.priority and other.preempts and not other.node
            for other in self.pods.values()
        ), f"{evict.pod} of priority {pod.priority} gives way to nobody"

    def whole(self, job: Job) -> bool:
        """Its minimum is held; of pods without a group all are."""
        return sum(pod.bound for pod in self.of(job)) >= (job.minimum or job.count)

    def held(self) -> list[int]:
        """CPUs that are held, by priority, the highest first."""
        found = Counter[int]()
        for job in self.jobs.values():
            found[job.priority] += job.cpu * sum(pod.bound for pod in self.of(job))
        return [found[priority] for priority in sorted(set(PRIORITIES), reverse=True)]

    def parts(self) -> Iterator[str]:
        """Semantics §10.1: gangs of which a part is bound."""
        for job in self.jobs.values():
            bound = sum(pod.bound for pod in self.of(job))
            if job.minimum and 0 < bound < job.minimum:
                yield f"{job.name}: {bound} of {job.minimum}"

    def neglected(self) -> Iterator[str]:
        """Who waits although those of lower priority hold what would do."""
        for job in self.jobs.values():
            bound = sum(pod.bound for pod in self.of(job))
            wanted = job.minimum - bound if job.minimum else int(bound < job.count)
            if wanted > 0 and wanted <= sum(
                self._free(node.name, job) // job.cpu
                for node in self.hosts.values()
                if not node.unschedulable
            ):
                yield f"{job.name} of priority {job.priority} lacks {wanted}"

    def _free(self, node: str, job: Job) -> int:
        """CPUs of a node that nobody holds whom this owner cannot have evicted."""
        there = dict(self.hosts[node].allocatable)["cpu"] // 1000
        return there - sum(
            self.jobs[dict(pod.labels)["app"]].cpu
            for pod in self.pods.values()
            if pod.node == node and not (job.preempts and pod.priority < job.priority)
        )


class Episodes:
    """What may happen to such a cluster; `cluster` is the scheduler that leads now."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # the same cases each time
        self.cluster = Shared()
        self.cluster.random = self.random
        self.cluster.nodes(" ".join(f"n{index}" for index in range(NODES)), cpu=4)
        self._names = 0
        self._disturbed = False
        self._before = self.cluster.held()

    def episode(self) -> None:
        """A few things happen, maybe while others are under way; then all comes to its end."""
        for _ in range(self.random.randint(1, 3)):
            self._one_thing()
            self._rest(self.random.choice((0.0, 0.5, 3.0, 15.0, 45.0)))
        self._calm()

    def _one_thing(self) -> None:
        cluster, chance = self.cluster, self.random.random()
        if not cluster.jobs or (len(cluster.jobs) < MOST_OWNERS and chance < 0.55):
            self._arrives()
        elif chance < 0.8:
            self._goes(self.random.choice([*cluster.jobs]))
        elif chance < 0.9:
            node = cluster.hosts[self.random.choice([*cluster.hosts])]
            cluster.put_node(replace(node, unschedulable=not node.unschedulable))
            self._disturbed = True
        else:
            self.cluster = cluster.restarted()
            self.cluster._budgets_follow()

    def _arrives(self) -> None:
        self._names += 1
        pick = self.random.choice
        count = self.random.randint(1, 4)
        minimum = pick((0, count, count, max(1, count - 1)))
        keeps = pick((0, 0, 0, count - 1, count))
        job = Job(
            f"j{self._names}",
            count,
            minimum,
            pick((1, 1, 2, 3)),
            pick(PRIORITIES),
            pick((True, True, True, False)),
            keeps,
        )
        if minimum:
            self.cluster.group(job.name, minimum, timeout=60)
        self.cluster.jobs[job.name] = job

    def _goes(self, name: str) -> None:
        cluster, job = self.cluster, self.cluster.jobs[name]
        for pod in cluster.of(job):
            cluster.delete(pod.key.name)
        del cluster.jobs[name]
        if job.minimum:
            cluster.drop_group(name)
        self._disturbed = True

    def _rest(self, seconds: float) -> None:
        self.cluster.rest(seconds)

    def _calm(self) -> None:
        """Nothing is disturbed any more: whoever can be helped is, and nobody is hurt in vain."""
        cluster = self.cluster
        self._rest(REST)
        assert not [*cluster.parts()], [*cluster.parts()]
        assert not [*cluster.neglected()], [*cluster.neglected()]
        before, self._before = self._before, cluster.held()
        if cluster.preempted and not self._disturbed:
            assert self._before > before, f"{cluster.preempted} pods gave way for nothing"
        told = cluster.preempted
        self._rest(REST)
        assert cluster.preempted == told, "preemption never ends"
        cluster.preempted, self._disturbed = 0, False


@pytest.mark.parametrize("seed", range(2))
def test_each_preemption_lets_somebody_more_important_run(seed: int) -> None:
    """Semantics §10.1, §10.2, §10.3."""
    episodes = Episodes(seed)
    for _ in range(times(EPISODES)):
        episodes.episode()
