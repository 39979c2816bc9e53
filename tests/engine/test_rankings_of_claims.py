# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rankings of pods with volumes or devices are kept, and say what one made anew would say.

Pods come one after the other, alike and with claims of their own, while everything that their
claims could get changes at random.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import Consumer, ResourceClaim
from enbloc.engine.effects import PreBind
from enbloc.engine.events import FactGone, FactSeen, PreBindFailed, PreBound
from enbloc.engine.trial.ranking import Ranking
from enbloc.framework.profile import Profile
from enbloc.model.ledger import Fact
from enbloc.model.pods import ContainerResource, Pod, PodResourceClaim, PodVolume
from enbloc.model.snapshot import Snapshot
from enbloc.storage.facts import (
    CSIDriver,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.devices.objects import (
    ask,
    claim,
    device,
    device_class,
    exactly,
    first_of,
    slice_of,
)
from tests.effort import times
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import FAST, HOST, LOCAL, ZONE, csi_node, csi_volume, pv, pvc, segment

RUNS = 16
EVENTS = 120
NODES = tuple(f"n{index}" for index in range(8))
MEASURED = StorageClass("measured", "measured.example.com", waits=True)
ANY = 'device.attributes["gpu.example.com"].model == "a"'
#: What the claim of a pod asks for.
REQUESTS: tuple[Any, ...] = (
    exactly("gpus", 1),
    exactly("gpus", 2),
    exactly("gpus", 1, "gpu", ANY),
    first_of("gpus", ask("a", 1, "gpu", ANY), ask("b", 1)),
)
CLASSES = ("fast", "measured", "local")


class World:
    """A cluster in which each ranking that is taken again is compared with one made anew."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.cluster = Cluster(log=1)
        for name in NODES:
            zone = f"z{NODES.index(name) % 2}"
            self.cluster.node(name, cpu=8, labels=((HOST, name), (ZONE, zone)))
        self.facts: dict[tuple[str, str], Fact] = {}
        self.pods: dict[str, Pod] = {}
        self.handled: set[tuple[str, str]] = set()
        self.made = 0
        self.taken: Counter[bool] = Counter()
        for fact in (FAST, LOCAL, MEASURED, device_class(), device_class("net")):
            self.see(fact)
        self.see(CSIDriver(MEASURED.provisioner, storage_capacity=True))
        for name in NODES:
            self.see(csi_node(name, csi_example_com=3))
            self.publish(name)
        self._compare()

    def _compare(self) -> None:
        rankings = self.cluster.engine._core.state.rankings
        take = rankings.take

        def compared(
            key: Any, pod: Pod, profile: Profile, snapshot: Snapshot, epoch: object
        ) -> Ranking | None:
            found = take(key, pod, profile, snapshot, epoch)
            if key.holds is not None:
                self.taken[found is not None] += 1
            if found is not None:
                fresh = Ranking(pod, profile, snapshot)
                assert found.refused == fresh.refused
                assert (found.mask == fresh.mask).all()
                assert (found.totals == fresh.totals).all()
                assert found.diagnosis(snapshot.nodes) == fresh.diagnosis(snapshot.nodes)
            return found

        rankings.take = compared  # type: ignore[method-assign]

    def see(self, fact: Fact) -> None:
        if isinstance(fact, PersistentVolumeClaim | ResourceClaim):
            fact = replace(fact, namespace="ns")
        self.facts[fact.kind, fact.key] = fact
        self.cluster.tell(FactSeen(fact))

    def drop(self, fact: Fact) -> None:
        if self.facts.pop((fact.kind, fact.key), None) is not None:
            self.cluster.tell(FactGone(fact.kind, fact.key))

    def any_of(self, kind: str) -> Any:
        found = [fact for (of, _), fact in self.facts.items() if of == kind]
        return self.rng.choice(found) if found else None

    def publish(self, node: str) -> None:
        models = self.rng.choices("ab", k=self.rng.choice((0, 1, 2, 4)))
        devices = (device(f"d{at}", attributes={"model": model}) for at, model in enumerate(models))
        self.see(slice_of(node, *devices, generation=self.rng.randint(1, 9)))

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    def pod_with_device(self, request: Any = None) -> None:
        name, request = self._name(), request or self.rng.choice(REQUESTS)
        self.see(claim(f"{name}-gpus", request, uid=f"uid-{name}"))
        wanted = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
        self.pods[name] = self.cluster.pod(name, spec=wanted, resource_claims=(f"{name}-gpus",))

    def pod_with_volume(self, storage_class: str = "") -> None:
        name, storage_class = self._name(), storage_class or self.rng.choice(CLASSES)
        size = self.rng.randint(1, 2) if storage_class == "measured" else 1
        self.see(pvc(name, size, storage_class, uid=f"uid-{name}"))
        wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
        self.pods[name] = self.cluster.pod(name, spec=wanted, claims=(name,))

    def pod_without(self) -> None:
        name = self._name()
        self.pods[name] = self.cluster.pod(name, spec=spec(cpu=1))

    def _name(self) -> str:
        self.made += 1
        return f"p{self.made}"

    def pod_gone(self) -> None:
        if self.pods:
            name = self.rng.choice(sorted(self.pods))
            del self.pods[name]
            self.cluster.delete(name)
            for fact in [*self.facts.values()]:
                if fact.key in (f"ns/{name}", f"ns/{name}-gpus"):
                    self.drop(fact)

    def prepared(self, *, fails: bool = False) -> None:
        """A PreBind ends: what it wrote is shown, or it failed."""
        for effect in self.cluster.effects:
            if not isinstance(effect, PreBind):
                continue
            plan, uid = effect.target.plan, effect.target.uid
            if (plan, uid) in self.handled:
                continue
            self.handled.add((plan, uid))
            if fails and self.rng.random() < 0.1:
                self.cluster.tell(PreBindFailed(plan, uid, "no", "DynamicResources"))
                return
            self._written(effect)
            self.cluster.tell(PreBound(plan, uid))
            return

    def _written(self, effect: PreBind) -> None:
        decided, pod = effect.target.decided, effect.target.pod
        user = Consumer("pods", pod.name, effect.target.uid)
        for given in decided.devices.claims if decided.devices else ():
            known = self.facts.get((ResourceClaim.kind, given.claim))
            if isinstance(known, ResourceClaim):
                self.see(replace(known, allocation=given.allocation, reserved_for=(user,)))
        for asked in decided.volumes.claims if decided.volumes else ():
            known_claim = self.facts.get((PersistentVolumeClaim.kind, asked.claim))
            if not isinstance(known_claim, PersistentVolumeClaim):
                continue
            name = asked.volume.name if asked.volume else f"pv-{known_claim.name}"
            if not asked.volume:
                self.see(csi_volume(name, driver="csi.example.com"))
            self.see(replace(known_claim, volume=name, bind_completed=True))

    def slice_changes(self) -> None:
        self.publish(self.rng.choice(NODES))

    def slice_goes(self) -> None:
        found = self.any_of("ResourceSlice")
        if found is not None:
            self.drop(found)

    def network(self) -> None:
        """Devices that all nodes see come or go."""
        links = (
            device(f"l{at}", attributes={"model": "a"}) for at in range(self.rng.randint(0, 2))
        )
        made = slice_of(None, *links, pool="net", name="net", allNodes=True, generation=self.made)
        (self.see if self.rng.random() < 0.5 else self.drop)(made)

    def others_claim(self) -> None:
        """Another scheduler gives a device to a claim, or takes it back."""
        name = f"other-{self.rng.randint(0, 3)}"
        status = None
        if self.rng.random() < 0.7:
            result = {
                "request": "gpus",
                "driver": "gpu.example.com",
                "pool": self.rng.choice((*NODES, "net")),
                "device": self.rng.choice(("d0", "d1", "l0")),
            }
            status = {"allocation": {"devices": {"results": [result]}}}
        self.see(claim(name, REQUESTS[0], status=status))

    def class_changes(self) -> None:
        self.see(device_class("gpu", *self.rng.choice(((), (ANY,)))))

    def limit_changes(self) -> None:
        self.see(csi_node(self.rng.choice(NODES), csi_example_com=self.rng.randint(0, 4)))

    def attachment(self) -> None:
        name = f"at-{self.rng.randint(0, 5)}"
        known = self.facts.get((VolumeAttachment.kind, name))
        if known is not None:
            self.drop(known)
            return
        volume = self.any_of("PersistentVolume")
        if volume is not None:
            node = self.rng.choice(NODES)
            self.see(VolumeAttachment(name, "csi.example.com", node, volume.name))

    def volume(self) -> None:
        made = pv(f"v{self.rng.randint(0, 5)}", 2, self.rng.choice(NODES))
        (self.see if self.rng.random() < 0.7 else self.drop)(made)

    def capacity(self) -> None:
        zone = self.rng.choice(("z0", "z1"))
        version = str(self.made)
        self.see(
            segment(f"c-{zone}", self.rng.randint(0, 8), zone, "measured", resource_version=version)
        )

    def claim_bound_elsewhere(self) -> None:
        """A claim gets a volume that nobody here decided."""
        known = self.any_of("PersistentVolumeClaim")
        if known is not None and not known.volume:
            self.see(csi_volume(f"x-{known.name}"))
            self.see(replace(known, volume=f"x-{known.name}", bind_completed=True))


OFTEN: tuple[Callable[[World], None], ...] = (
    World.pod_with_device,
    World.pod_with_volume,
    lambda world: world.prepared(fails=True),
    lambda world: world.prepared(fails=True),
)
SELDOM: tuple[Callable[[World], None], ...] = (
    World.pod_without,
    World.pod_gone,
    World.slice_changes,
    World.slice_changes,
    World.slice_goes,
    World.slice_goes,
    World.network,
    World.others_claim,
    World.class_changes,
    World.limit_changes,
    World.attachment,
    World.volume,
    World.capacity,
    World.claim_bound_elsewhere,
)


@pytest.mark.parametrize("batch", range(4))
def test_a_kept_ranking_says_what_one_made_anew_says(batch: int) -> None:
    taken: Counter[bool] = Counter()
    for run in range(max(1, times(RUNS) // 4)):
        world = World(1000 * batch + run)
        for _ in range(EVENTS):
            often = world.rng.random() < 0.7
            world.rng.choice(OFTEN if often else SELDOM)(world)
            world.cluster.settle()
        taken += world.taken
    assert taken[True] > taken[False] / 4, "few were kept at all"


def test_of_a_stream_of_pods_with_claims_all_nodes_are_asked_once() -> None:
    world = World(1)
    for name in NODES:
        world.see(slice_of(name, *(device(f"d{at}") for at in range(4)), generation=10))
    rankings, before = world.cluster.engine._core.state.rankings, 0
    for number in range(8):
        if number == 1:
            before = rankings.made
        world.pod_with_device(REQUESTS[0])
        world.pod_with_volume("fast")
        for _ in range(4):
            world.cluster.settle()
            world.prepared()
    assert len(world.cluster.where()) == 16
    assert rankings.made == before


def test_a_kept_ranking_hears_of_a_slice_that_was_published_anew() -> None:
    world = World(1)
    for name in NODES:
        world.see(slice_of(name, device("d0"), generation=10))
    world.pod_with_device(REQUESTS[0])
    world.cluster.settle()
    for name in NODES[:-1]:
        world.see(slice_of(name, generation=11))
    world.pod_with_device(REQUESTS[0])
    world.cluster.settle()
    assert world.taken[True] == 1


EVERY: Any = {"name": "gpus", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}


def test_who_wants_all_devices_hears_of_a_pool_that_is_not_whole() -> None:
    """It is seen from all nodes, has nothing for the claim, and keeps it from all of them."""
    world = World(1)
    world.see(device_class("gpu", ANY))
    for name in NODES:
        world.see(slice_of(name, device("d0", attributes={"model": "a"}), generation=10))
    for generation, slices in ((1, 1), (2, 2), (3, 1)):
        link = device("l0", attributes={"model": "net"})
        of: dict[str, Any] = {"pool": "net", "name": "net", "allNodes": True}
        world.see(slice_of(None, link, generation=generation, count=slices, **of))
        world.pod_with_device(EVERY)
        world.cluster.settle()
    assert world.taken[True] >= 2
    assert sum(isinstance(effect, PreBind) for effect in world.cluster.effects) == 3


RESOURCE = "example.com/gpu"


def _with_extended(world: World) -> None:
    """A pod with a claim, and a resource of its own that devices may serve."""
    name = world._name()
    world.see(claim(f"{name}-gpus", REQUESTS[0], uid=f"uid-{name}"))
    plain = spec(cpu=1)
    wanted = replace(
        plain,
        requests=tuple(sorted((*plain.requests, (RESOURCE, 1)))),
        extended=(ContainerResource(0, "main", RESOURCE, 0, 1),),
        resource_claims=(PodResourceClaim("gpus"),),
    )
    world.pods[name] = world.cluster.pod(name, spec=wanted, resource_claims=(f"{name}-gpus",))
    world.cluster.settle()


def test_a_kept_ranking_hears_that_devices_serve_a_resource_or_do_no_more() -> None:
    world = World(1)
    for name in NODES:
        world.see(slice_of(name, *(device(f"d{at}") for at in range(4)), generation=10))
    serving = device_class("serving", extendedResourceName=RESOURCE)

    def planned() -> int:
        return sum(isinstance(effect, PreBind) for effect in world.cluster.effects)

    _with_extended(world)
    assert planned() == 0
    world.see(serving)
    world.cluster.settle(seconds=60)
    assert planned() == 1
    world.drop(serving)
    _with_extended(world)
    assert planned() == 1
