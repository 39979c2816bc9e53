# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Controllers: what Jobs, JobSets, CronJobs and others do with the pods of one PodGroup.

Each makes its pods within a few seconds, so that who waits for ten knows all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from enbloc.engine.effects import Effect
from enbloc.engine.events import Event, Stream
from enbloc.engine.state import MOST_RUNS
from enbloc.model.groups import GroupKey, OnIncomplete
from enbloc.model.pods import Owner, Phase, Pod, PodUID
from tests.laws.actions import Actions, Step
from tests.laws.judge import Judge
from tests.laws.judge_of_runs import JudgeOfRuns
from tests.laws.runs import Ledger, Run
from tests.laws.waiting import nobody_is_lost, nothing_is_kept
from tests.world.builders import spec
from tests.world.server import SHOWN

#: How many members of each part there are, of a workload of so many; the floor counts the first.
KINDS: Final[Mapping[str, Callable[[int], tuple[int, ...]]]] = {
    "job": lambda n: (n,),
    "cron": lambda n: (n,),
    "deployment": lambda n: (n,),
    "bare": lambda n: (n,),
    "jobset": lambda n: (1, n - 1),
    "pair": lambda n: (1, n - 1),
    "spark": lambda n: (1, n - 1),
    "mpi": lambda n: (n, 1),
    "launcher": lambda n: (1, n),
}
#: Those of which a launcher is a member that the floor does not count.
WITH_LAUNCHER: Final = {"mpi": 1, "launcher": 0}
#: The next run has owners of its own, so that it may overlap with the one before.
OVERLAPS: Final = ("job", "cron", "jobset", "spark")
MOST_AT_A_TIME: Final = 5
#: Who is silent for less than this makes more pods of its run, perhaps (seconds).
SOON: Final = 3.0


@dataclass(slots=True)
class Workload:
    """What a controller wants to have.

    Attributes:
        kind: of KINDS.
        parts: how many members of each part there are.
        uids: of the controller of each part.
        run: the present one.
        past: those of which the controller is still there, and replaces pods.
        attempt: how often it began anew.
        driver: UID of the pod that controls the executors.
    """

    name: str
    kind: str
    parts: tuple[int, ...]
    run: Run
    uids: list[str]
    attempt: int = 0
    driver: PodUID = field(default=PodUID(""))
    suspended: bool = False
    past: list["Workload"] = field(default_factory=list["Workload"])


class Controllers(Actions):
    """A world in which controllers do what they do, and runs are known."""

    JUDGE: ClassVar[type[Judge]] = JudgeOfRuns

    def __init__(self, *, slots: int = 2, eager: bool = False) -> None:
        self.ledger = Ledger()
        self.workloads: dict[str, Workload] = {}
        self._part: dict[PodUID, tuple[str, int]] = {}  # the controller and the part of each pod
        self._since = 0.0  # seconds since controllers finished
        super().__init__(slots=slots, eager=eager)

    def changed(self, event: Event) -> None:
        self.ledger.note(event)
        super().changed(event)

    def step(self) -> list[Effect]:
        effects = super().step()
        judge = self.process.judge
        if isinstance(judge, JudgeOfRuns) and self.process.knows_all:
            for run in judge.ran:
                run.ran = any(pod.bound for pod in run.pods.values())
        return effects

    # ── what controllers make ────────────────────────────────────────────────────────────────

    def _lacking(self, each: Workload, part: int) -> int:
        """How many members a controller is yet to make of a part."""
        uid, run = each.uids[part], self.ledger.now(each.run)
        mine = [pod for pod in run.pods.values() if self._part[pod.uid] == (uid, part)]
        done = sum(self._part[one] == (uid, part) for one in run.succeeded)
        alive = sum(pod.live for pod in mine)
        if each.suspended:
            return 0
        if each.kind == "mpi" and part == 1 and not self._workers_run(each):
            return 0
        if each.kind == "spark":
            if part == 0 and each.driver in self._part:
                return 0  # it runs once
            if part == 1 and each.driver in self._part and not self._drives(each):
                return 0
        return each.parts[part] - done - alive

    def _drives(self, each: Workload) -> bool:
        driver = self.ledger.now(each.run).pods.get(each.driver)
        return driver is not None and driver.live

    def _workers_run(self, each: Workload) -> bool:
        run = self.ledger.now(each.run)
        workers = [p for p in run.pods.values() if self._part[p.uid] == (each.uids[0], 0)]
        return sum(pod.bound for pod in workers) >= each.parts[0]

    def _make(self, each: Workload, part: int) -> None:
        uid = each.uids[part]
        owner: Owner | None = Owner("Job", f"{each.name}-{part}", uid)
        more: dict[str, object] = {}
        pod_uid = PodUID(self.name(f"{each.name}."))
        match each.kind:
            case "jobset":
                more["restart"] = f"{each.run.jobset}/{each.attempt}"
            case "bare":
                owner = None
            case "deployment":
                owner = Owner("ReplicaSet", f"{each.name}-h{each.attempt}", uid, "apps/v1")
                more["labels"] = (("pod-template-hash", f"h{each.attempt}"),)
            case "spark" if part == 0:
                owner, pod_uid = Owner("SparkApplication", each.name, uid), each.driver
            case "spark":
                owner = Owner("Pod", f"{each.name}-driver", each.driver)
            case "mpi" if part == 0:
                owner = Owner("MPIJob", each.name, uid)
            case _:
                pass
        self.ledger.belongs(pod_uid, each.run)
        self._part[pod_uid] = (uid, part)
        self.pod(str(pod_uid), each.run.group, uid=pod_uid, spec=spec(cpu=1), owner=owner, **more)

    def _complete(self, each: Workload, most: int = 1000, *, last: bool = False) -> bool:
        """A controller makes at most so many of its members; whether it made any."""
        run = self.ledger.now(each.run)
        if each.kind == "bare" and run.begun and not run.live:
            self.now += 1.0
            each.run = self.ledger.begin(self.name(f"{each.name}#"), each.name, run.floor)
        parts = range(len(each.parts))
        made = 0
        for part in reversed(parts) if last and each.kind != "launcher" else parts:
            while made < most and self._lacking(each, part) > 0:
                self._make(each, part)
                made += 1
        return made > 0

    def _all(self) -> list[Workload]:
        return [one for each in self.workloads.values() for one in (*each.past, each)]

    def _all_complete(self) -> bool:
        made = [self._complete(each) for each in self._all()]
        return any(made)

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    def workload_arrives(
        self, name: str, kind: str, size: int, spare: int, policy: OnIncomplete, timeout: int
    ) -> None:
        """A PodGroup and a controller; its pods come later."""
        if name in self.groups:
            return
        parts = KINDS[kind](size)
        floor = max(2, size - spare if kind not in WITH_LAUNCHER else size)
        self._podgroup(name, kind, floor, on_incomplete=policy, timeout=timeout)
        self.workloads[name] = self._begin(name, kind, parts, floor)

    def _podgroup(self, name: str, kind: str, floor: int, **of: object) -> None:
        owner = {"mpi": self.name("MPIJob/"), "cron": "CronJob/cron"}.get(kind, "")
        self.add_group(name, floor, owner=owner, **of)

    def _begin(self, name: str, kind: str, parts: tuple[int, ...], floor: int) -> Workload:
        called = self.name(f"{name}#")
        run = self.ledger.begin(called, name, floor, f"set-{name}" if kind == "jobset" else "")
        uids = [self.name(f"{name}-{part}-uid") for part in range(len(parts))]
        return Workload(name, kind, parts, run, uids, driver=PodUID(self.name(f"{name}-driver")))

    def runs_well(self) -> None:
        """Controllers make all, and all of it is bound and Running."""
        self._all_complete()
        self.everything_lands()
        self.pods_run(1000)
        self.everything_lands()

    def makes(self, name: str, most: int, last: bool) -> None:
        """A controller makes some of what it lacks; `last`: of its last part first."""
        if name in self.workloads:
            for each in (*self.workloads[name].past, self.workloads[name]):
                self._complete(each, most, last=last)

    def runs_again(self, name: str, old: str) -> None:
        """The next run begins; the pods of the one before are live, terminate, or are gone."""
        each = self.workloads.get(name)
        if each is None or each.kind == "deployment":
            return  # the next one of that name is the same
        if len(each.past) + 1 >= MOST_AT_A_TIME:
            return  # their controllers make what is lost again, and the next one would have to wait
        self.now += 1.0  # whoever starts it is no quicker
        if old == "live" and each.kind not in OVERLAPS:
            old = "terminating"
        if old == "live" and len(self._runs(name)) >= MOST_AT_A_TIME:
            return
        if old != "live":
            for pod in self.members(name):
                self._ends(pod)
            if old == "gone":
                self.ends_of(name)
        following = self._begin(name, each.kind, each.parts, each.run.floor)
        following.attempt = each.attempt + 1
        if each.kind == "cron":
            following.past = [*each.past, replace(each, past=[])]
        self.workloads[name] = following
        if each.kind == "mpi":
            self.podgroup_is_new(name)
        self.reached[f"again, the old is {old}"] += 1

    def _runs(self, name: str) -> list[Run]:
        return [run for run in self.ledger.runs if run.group == name and run.live]

    def _ends(self, pod: Pod) -> None:
        if not pod.deleting and self._may_go(pod):
            self.end(pod.key.name)

    def ends_of(self, name: str) -> None:
        """All terminating pods of a group are gone."""
        for pod in [p for p in self.members(name) if p.deleting]:
            self.delete(pod.key.name)

    def old_runs_go(self, name: str) -> None:
        """The garbage collector has come to the pods of earlier runs."""
        each = self.workloads.get(name)
        if each is None:
            return
        each.past = []
        for pod in self.members(name):
            if self.ledger.of(pod.uid) is not self.ledger.now(each.run) or (
                self._part[pod.uid][0] not in each.uids
            ):
                self._ends(pod)

    def podgroup_is_new(self, name: str) -> None:
        """The PodGroup is deleted and applied again, or is another owner's."""
        group = self.groups.get(name)
        if group is None or name not in self.workloads:
            return
        each = self.workloads[name]
        for run in self._runs(name):
            run.ran = False  # another process will not know
        self.drop_group(name)
        self._podgroup(
            name,
            each.kind,
            group.min_member,
            on_incomplete=group.on_incomplete,
            timeout=group.timeout,
        )

    def is_suspended(self, name: str, suspended: bool) -> None:
        """A controller deletes its pods, until it is resumed."""
        each = self.workloads.get(name)
        if each is None or each.kind in ("bare", "spark", "cron") or each.suspended == suspended:
            return
        each.suspended = suspended
        self.reached["suspended" if suspended else "resumed"] += 1
        if suspended:
            for pod in self.members(name):
                if pod.phase is not Phase.SUCCEEDED:
                    self._ends(pod)

    def rolls_out(self, name: str) -> None:
        """A Deployment has another ReplicaSet; pods of the old one go one by one, or at once."""
        each = self.workloads.get(name)
        if each is not None and each.kind == "deployment":
            each.attempt += 1
            each.uids = [self.name(f"{name}-0-uid")]
            self.reached["a rollout"] += 1

    def one_is_made_again(self, name: str, part: int) -> None:
        """One Job of two is deleted and applied again."""
        each = self.workloads.get(name)
        if each is None or each.kind != "pair":
            return
        uid = each.uids[part]
        run = self.ledger.now(each.run)
        mine = [pod for pod in run.pods.values() if self._part[pod.uid] == (uid, part)]
        others = [pod for pod in run.live if pod not in mine]
        if not mine or all(pod.phase is Phase.SUCCEEDED for pod in mine) or not others:
            return
        for pod in mine:
            self._ends(pod)
        each.uids[part] = self.name(f"{name}-{part}-uid")
        self.reached["one Job of two is made again"] += 1

    def time_passes(self, seconds: float) -> None:
        """Controllers make what is lacking within seconds; then all of it is shown at once."""
        self._since += seconds
        if self._since > SOON:
            self._all_complete()
            if self.leader is not None and Stream.PODS in self.leader.lagging and self._partly:
                self.leader.catch_up(Stream.PODS)
            self._partly = False
            self._since = 0.0
        self.now += seconds

    _partly = False

    def stream(self, stream: Stream, how: str) -> None:
        self._partly |= stream is Stream.PODS and how == "shows one"
        super().stream(stream, how)

    def pod_is_deleted(self, name: str) -> None:
        """Not a launcher that the scheduler has yet to see as a part of the whole."""
        pod = self.pods.get(name)
        if pod is None or not self._may_go(pod):
            return
        group = pod.group.name if pod.group else ""
        if pod.node or self.workloads[group].kind != "launcher":
            super().pod_is_deleted(name)

    def _may_go(self, pod: Pod) -> bool:
        """Successes are deleted long after all that is to be written of them was."""
        process = self.leader
        told = process is not None and process.knows_all and process.wakeup > self.now
        return told or pod.phase is not Phase.SUCCEEDED

    def pods_of_lost_nodes_go(self) -> None:
        for pod in [p for p in self.pods.values() if p.node and p.node not in self.hosts]:
            if self._may_go(pod):
                self.delete(pod.key.name)

    def pods_are_collected(self, name: str) -> None:
        """Finished pods are deleted."""
        for pod in [p for p in self.members(name) if p.finished and self._may_go(p)]:
            self.delete(pod.key.name)

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def start(self, order: Sequence[Stream] = SHOWN, *, listed: int = len(SHOWN)) -> None:
        """Another process, which cannot know when the members ended that it finds finished.

        A pod without a controller that waits alone then may be of the next run, to it (semantics
        §2.4).
        """
        for run in self.ledger.runs:
            bare = [pod for pod in run.live if pod.owner is None]
            run.doubtful |= bool(bare and run.succeeded and not any(pod.node for pod in run.live))
        super().start(order, listed=listed)

    def nobody_is_lost(self) -> None:
        if self.leader is not None and not self.leader.unlisted:
            nobody_is_lost(self.leader.judge)

    def ends(self) -> None:
        """Old pods go and nodes have room for all: each run that can be whole is, and stays."""
        self._heals()
        for name in list(self.workloads):
            self.is_suspended(name, False)
            if self.workloads[name].kind != "cron":
                self.old_runs_go(name)
        self._hours_pass()
        for run in self.ledger.runs:
            waiting = [pod for pod in run.live if not pod.node]
            enough = len(run.live) + len(run.succeeded) >= run.floor
            assert run.doubtful or not (waiting and enough and self._wanted(run)), (
                f"{[str(p.key) for p in waiting]} of {run.name} wait for ever"
            )
        self._little_is_kept()

    def _wanted(self, run: Run) -> bool:
        """Whether a controller wants it whole."""
        return any(self.ledger.now(each.run) is run for each in self._all())

    def _heals(self) -> None:
        self.former_ends()
        self.denied.clear()
        if self.leader is None:
            self.start()
        for name, host in list(self.hosts.items()):
            if not host.ready or host.unschedulable:
                self.drop_node(name)
        self.pods_of_lost_nodes_go()
        self._all_complete()
        self.add_node("large", 64, 100)

    def _hours_pass(self, seconds: float = 7200.0) -> None:
        end = self.now + seconds
        for _ in range(500):
            self.everything_lands()
            busy = self._all_complete()
            for pod in [p for p in self.pods.values() if p.deleting]:
                self.delete(pod.key.name)
                busy = True
            for pod in [p for p in self.pods.values() if p.bound and p.phase is Phase.PENDING]:
                self.change(pod.key.name, phase=Phase.RUNNING)
                busy = True
            self.everything_lands()
            if not busy:
                if self.process.wakeup > end:
                    return
                self.now = max(self.now, self.process.wakeup)
        raise AssertionError("it never comes to rest")

    def _little_is_kept(self) -> None:
        """What ended is forgotten: of each group while it is there, and then all of it."""
        engine, judge = self.process.engine, self.process.judge
        groups = engine._groups
        for name in self.groups:
            runs = groups.runs(GroupKey("ns", name))
            assert len(runs) <= len(self._runs(name)) + MOST_RUNS, f"{name} has {len(runs)} runs"
            told = judge.told.get(GroupKey("ns", name))
            if told is not None:
                assert len(told.runs) <= MOST_RUNS, f"{told.runs} are told"
        judge.free = self.slots
        judge.sent.clear()
        nothing_is_kept(judge, self.slots)
        self.workloads.clear()
        for pod in list(self.pods.values()):
            self.delete(pod.key.name)
        for name in list(self.groups):
            self.drop_group(name)
        self._hours_pass()
        kept = {
            "runs by key": groups._by_key,
            "runs": groups._runs,
            "pods": groups._key_of,
            "waiting": groups._waiting,
            "plans": engine._plans._open,
            "queue": engine._queue._items,
        }
        for what, container in kept.items():
            assert not container, f"{what}: {container} are kept for ever"


def play(script: Sequence[Step], *, slots: int = 2, eager: bool = False) -> Controllers:
    """A world to which all of this happened."""
    world = Controllers(slots=slots, eager=eager)
    for step in script:
        world.do(step.action, *step.arguments)
    return world
