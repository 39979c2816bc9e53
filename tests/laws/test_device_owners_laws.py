# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""No device has two owners: plans are withdrawn and made again while their requests are under way.

The shell's part, PreBind and Unreserve, is played here by tasks whose requests land late, and in
any order between claims; the watch shows what landed later still. Another scheduler takes devices,
also such as are taken.
"""

import random
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace

import pytest

from enbloc.devices.decisions import DeviceClaimDecision
from enbloc.devices.facts import AllocatedDevice, Allocation, Consumer, ResourceClaim
from enbloc.engine.effects import CancelPlan, Effect, PreBind
from enbloc.engine.events import FactGone, FactSeen, PreBindFailed, PreBound, Unreserved
from enbloc.framework.act import Target
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodResourceClaim, PodUID
from tests.devices.objects import DRIVER, claim, device, device_class, exactly, slice_of
from tests.effort import times
from tests.world.builders import spec
from tests.world.cluster import Cluster

#: Episodes of each batch, and how many share a cluster.
EPISODES = 120
_OF_ONE = 20
_NODES = ("n1", "n2")
#: Each node has a pool of its own, and one is reached from all.
_POOLS = (*_NODES, "net")
_DEVICES = tuple((pool, f"d{at}") for pool in _POOLS for at in range(2))

#: A task says what it waits for: its request to land (None), or something to be so.
Waits = Generator[Callable[[], bool] | None, None, None]


@dataclass
class Task:
    """A PreBind or an Unreserve.

    Attributes:
        flying: a request is under way, and lands whatever becomes of the task.
        cancelled: it ends once nothing of it is under way.
    """

    steps: Waits
    waits: Callable[[], bool] | None = None
    flying: bool = False
    cancelled: bool = False
    ended: bool = False

    def advance(self) -> None:
        """Go on to what is waited for next."""
        if self.cancelled and not self.flying:
            self.ended = True
            return
        try:
            self.waits = next(self.steps)
            self.flying = self.waits is None
        except StopIteration:
            self.ended = True
        if self.cancelled and not self.flying:
            self.ended = True

    @property
    def ready(self) -> bool:
        return not self.ended and (self.cancelled or self.waits is None or self.waits())


def _devices(of: ResourceClaim) -> list[tuple[str, str]]:
    results = of.allocation.results if of.allocation is not None else ()
    return [(each.pool, each.device) for each in results]


@dataclass
class World:
    """Two gangs on six devices, the API as it is and as the engine has seen it."""

    random: random.Random
    cluster: Cluster = field(default_factory=lambda: Cluster(log=0, validate=False, search_steps=0))
    api: dict[str, ResourceClaim] = field(default_factory=dict[str, ResourceClaim])
    shown: dict[str, ResourceClaim] = field(default_factory=dict[str, ResourceClaim])
    news: deque[tuple[str, ResourceClaim | None]] = field(
        default_factory=deque[tuple[str, ResourceClaim | None]]
    )
    preparing: dict[PodUID, tuple[PreBind, Task]] = field(
        default_factory=dict[PodUID, tuple[PreBind, Task]]
    )
    undoing: dict[GroupKey, list[Task]] = field(default_factory=dict[GroupKey, list[Task]])
    tasks: list[Task] = field(default_factory=list[Task])
    versions: int = 0
    seen: int = 0

    def __post_init__(self) -> None:
        """Show nodes, devices and gangs."""
        for node in _NODES:
            self.cluster.node(node, cpu=64)
        for pool in _POOLS:
            made = [device(name) for of, name in _DEVICES if of == pool]
            one = slice_of(pool, *made)
            if pool == "net":
                one = slice_of(None, *made, pool=pool, allNodes=True)
            self.cluster.tell(FactSeen(one))
        self.cluster.tell(FactSeen(device_class()))
        for name in "gh":
            self._gang(name)
        self.step()

    def _gang(self, name: str) -> None:
        size = self.random.choice((2, 3, 4))
        self.cluster.group(name, size)
        shared = self.random.random() < 0.3
        if shared:
            self._put(f"{name}-shared", self._claim(f"{name}-shared"))
        for at in range(size):
            self._member(name, at, shared=shared)

    def _claim(self, name: str) -> ResourceClaim:
        self.versions += 1
        made = claim(name, exactly(), uid=f"{name}-{self.versions}")
        return replace(made, namespace="ns")

    def _member(self, group: str, at: int, *, shared: bool) -> None:
        name = f"{group}-{at}"
        own = f"{name}-gpu"
        self._put(own, self._claim(own))
        names = (own, f"{group}-shared") if shared else (own,)
        wanted = tuple(PodResourceClaim(each) for each in names)
        pod_spec = replace(spec(cpu=1), resource_claims=wanted)
        self.cluster.pod(name, group, spec=pod_spec, resource_claims=names)

    # ── the API and its watch ────────────────────────────────────────────────────────────────

    def _put(self, name: str, now: ResourceClaim | None) -> None:
        if now is None:
            self.api.pop(name, None)
        else:
            self.api[name] = now
        self.news.append((name, now))
        self._judge_api()

    def deliver(self, count: int) -> None:
        for _ in range(min(count, len(self.news))):
            name, now = self.news.popleft()
            self.seen += 1
            if now is None:
                self.shown.pop(name, None)
                self.cluster.tell(FactGone("ResourceClaim", f"ns/{name}"))
            else:
                self.shown[name] = now
                self.cluster.tell(FactSeen(now))

    def _caught_up(self) -> Callable[[], bool]:
        """Whether the watch has shown all that has landed until now."""
        wanted = self.seen + len(self.news)
        return lambda: self.seen >= wanted

    # ── the shell ────────────────────────────────────────────────────────────────────────────

    def step(self) -> None:
        """Let the engine decide, and begin what it asks for."""
        for effect in self.cluster.step():
            self._start(effect)

    def _start(self, effect: Effect) -> None:
        if isinstance(effect, PreBind):
            self._undo(effect.target.uid)
            before = list(self.undoing.get(effect.group, ()))
            task = self._begin(self._prepare(effect.target, before))
            self.preparing[effect.target.uid] = effect, task
        elif isinstance(effect, CancelPlan):
            for uid, (begun, _) in list(self.preparing.items()):
                if begun.target.plan == effect.plan and uid in (effect.members or {uid}):
                    self._undo(uid)

    def _begin(self, steps: Waits) -> Task:
        task = Task(steps)
        self.tasks.append(task)
        task.advance()
        return task

    def _undo(self, uid: PodUID) -> None:
        begun = self.preparing.pop(uid, None)
        if begun is None:
            return
        effect, task = begun
        task.cancelled = True
        if not task.flying:
            task.ended = True
        undone = self._begin(self._take_back(effect.target, task))
        self.undoing.setdefault(effect.group, []).append(undone)

    def _prepare(self, target: Target, before: list[Task]) -> Waits:
        yield lambda: all(task.ended for task in before)
        decided = target.decided.devices
        for each in decided.claims if decided is not None else ():
            yield None
            problem = self._land(each, target)
            if problem:
                self.cluster.tell(PreBindFailed(target.plan, target.uid, problem))
                return
        yield self._caught_up()
        self.cluster.tell(PreBound(target.plan, target.uid))

    def _land(self, decision: DeviceClaimDecision, target: Target) -> str:
        name = decision.claim.partition("/")[2]
        now = self.api.get(name)
        if now is None or now.uid != decision.uid or decision.problem:
            return "it is another one"
        if now.allocation is None and decision.allocation is None:
            return "it was deallocated"
        if now.allocation is not None and decision.allocation is not None:
            theirs, ours = now.allocation.results, decision.allocation.results
            if {each.device for each in theirs} != {each.device for each in ours}:
                return "it was allocated elsewhere"
        consumer = Consumer("pods", target.pod.name, target.uid)
        reserved = tuple(dict.fromkeys((*now.reserved_for, consumer)))
        allocation = now.allocation or decision.allocation
        self._put(name, replace(now, allocation=allocation, reserved_for=reserved))
        return ""

    def _take_back(self, target: Target, prepared: Task) -> Waits:
        yield lambda: prepared.ended
        decided = target.decided.devices
        for each in decided.claims if decided is not None else ():
            yield None
            self._release(each.claim.partition("/")[2], target.uid, each.uid)
        yield self._caught_up()
        self.cluster.tell(Unreserved(target.plan, target.uid))

    def _release(self, name: str, uid: str, of: str | None = None) -> None:
        """Take back a reservation; the last takes the devices."""
        now = self.api.get(name)
        if now is None or of not in (None, now.uid) or not now.reserved(uid):
            return
        left = tuple(each for each in now.reserved_for if each.uid != uid)
        allocation = now.allocation if left else None
        self._put(name, replace(now, allocation=allocation, reserved_for=left))

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    def happens(self) -> None:
        """One thing, at random."""
        chance = self.random.random()
        if chance < 0.35:
            self.lands()
        elif chance < 0.6:
            self.deliver(self.random.randint(1, 3))
        elif chance < 0.7:
            name = self.random.choice("gh")
            members = sum(each.startswith(name) for each in self.cluster.pods)
            self.cluster.group(name, self.random.randint(1, max(1, members)))
        elif chance < 0.78:
            self._remade()
        elif chance < 0.9:
            self._stranger()
        elif chance < 0.94:
            self._ends()
        elif chance < 0.96:
            self._takes_back()
        else:
            self.cluster.now += self.random.choice((0.5, 2.0, 11.0))
        self.step()

    def lands(self) -> None:
        ready = [task for task in self.tasks if task.ready]
        if ready:
            self.random.choice(ready).advance()
            self.tasks = [task for task in self.tasks if not task.ended]

    def _remade(self) -> None:
        """A member that is not bound is deleted, and made anew with a claim of its own."""
        waiting = [name for name, pod in self.cluster.pods.items() if not pod.node]
        if waiting:
            name = self.random.choice(waiting)
            group, _, at = name.partition("-")
            shared = len(self.cluster.pods[name].resource_claims) > 1
            for each in self.cluster.pods[name].resource_claims[1:]:
                if each:
                    self._release(each, self.cluster.pods[name].uid)
            self.cluster.delete(name)
            self._put(f"{name}-gpu", None)
            self._member(group, int(at), shared=shared)

    def _stranger(self) -> None:
        """Another scheduler takes a device, mostly one that it sees free, or gives it back."""
        name = f"stranger-{self.random.randint(0, 1)}"
        if name in self.api:
            self._put(name, None)
            return
        taken = {each for of in self.api.values() for each in _devices(of)}
        blind = self.random.random() < 0.3
        free = [each for each in _DEVICES if blind or each not in taken]
        if free:
            pool, chosen = self.random.choice(free)
            got = Allocation((AllocatedDevice("gpus", DRIVER, pool, chosen),))
            self._put(name, replace(self._claim(name), allocation=got))

    def _takes_back(self) -> None:
        """Somebody takes the devices of a claim whose pods are not bound."""
        bound = {
            each for pod in self.cluster.pods.values() if pod.node for each in pod.resource_claims
        }
        names = [name for name, of in self.api.items() if of.allocation and name not in bound]
        if names:
            name = self.random.choice(names)
            self._put(name, replace(self.api[name], allocation=None, reserved_for=()))

    def _ends(self) -> None:
        """All members of a gang have ended; its next ones come."""
        name = self.random.choice("gh")
        if not self.cluster.where(f"{name}-"):
            return
        for each in [pod for pod in self.cluster.pods if pod.startswith(name)]:
            self.cluster.delete(each)
            self._put(f"{each}-gpu", None)
        if f"{name}-shared" in self.api:
            self._put(f"{name}-shared", None)
        self._gang(name)

    def rests(self) -> None:
        """The other scheduler is gone, all lands and is seen, and nothing more happens."""
        for name in [each for each in self.api if each.startswith("stranger")]:
            self._put(name, None)
        for _ in range(400):
            for _ in range(200):
                if not any(task.ready for task in self.tasks) and not self.news:
                    break
                self.lands()
                self.deliver(len(self.news))
            self.step()
            quiet = not (self.news or self.tasks)
            wakeup = self.cluster.engine.wakeup()
            if quiet and (wakeup is None or wakeup > self.cluster.now + 30):
                break
            if quiet and wakeup is not None:
                self.cluster.now = max(self.cluster.now, wakeup)

    # ── what must hold ───────────────────────────────────────────────────────────────────────

    def _judge_api(self) -> None:
        """No device is in two claims that only this scheduler writes."""
        ours = [each for name, of in self.api.items() if name[0] in "gh" for each in _devices(of)]
        assert len(set(ours)) == len(ours), f"two of ours have one device: {sorted(ours)}"

    def judge_binds(self, begun: int) -> None:
        """As far as was shown, who is bound has its devices, and nobody else has them."""
        for bind in self.cluster.sent[begun:]:
            pod = self.cluster.pods[bind.target.pod.name]
            for name in pod.resource_claims:
                assert name is not None
                has = _devices(self.shown[name])
                assert has, f"{pod.key} was bound without {name}"
                others = [
                    other
                    for other, of in self.shown.items()
                    if other != name and set(_devices(of)) & set(has)
                ]
                assert not others, f"{pod.key} was bound with {has}, which {others} have too"

    def judge_rest(self) -> None:
        """Nothing is kept for ever: of both gangs, each of which fits alone, one is bound."""
        ledger = ledgers_of(self.cluster.engine._core.state.nodes).devices
        assert not ledger.any_withdrawn
        held = {
            (pool, name)
            for pool in _POOLS
            for at, name in enumerate(("d0", "d1"))
            if ledger.use((DRIVER, pool)).taken >> at & 1
        }
        has = {each for of in self.api.values() for each in _devices(of)}
        lost = [
            name
            for pod in self.cluster.pods.values()
            for name in pod.resource_claims
            if pod.node and name and not _devices(self.api[name])
        ]  # taken back as the pod was bound: nobody else gets the device before the pod has ended
        assert has <= held
        assert len(held - has) <= len(lost)
        assert self.cluster.where(), "neither is bound"


def episode(world: World) -> None:
    """Things happen at random, and then everything comes to rest."""
    for _ in range(world.random.randint(5, 40)):
        begun = len(world.cluster.sent)
        world.happens()
        world.judge_binds(begun)
    world.rests()
    world.judge_rest()


@pytest.mark.parametrize("seed", range(2))
def test_no_device_has_two_owners(seed: int) -> None:
    """Semantics §2.10."""
    chance = random.Random(seed)
    for _ in range(times(EPISODES) // _OF_ONE):
        world = World(chance)
        for _ in range(_OF_ONE):
            episode(world)
