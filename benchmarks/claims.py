# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have volumes or devices, planned by the engine alone."""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace

from benchmarks.engine import Figure, cluster
from enbloc.devices.facts import (
    MOST_CONSUMERS,
    ClaimSpec,
    Consumer,
    Device,
    DeviceClass,
    DeviceReach,
    Request,
    ResourceClaim,
    ResourceSlice,
    SubRequest,
    Traits,
)
from enbloc.engine import Engine
from enbloc.engine.effects import Bind, PreBind
from enbloc.engine.events import (
    Bound,
    FactGone,
    FactSeen,
    GroupSeen,
    PodGone,
    PodSeen,
    PreBound,
    Unreserved,
)
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.pods import (
    NodeSelectorTerm,
    Pod,
    PodKey,
    PodResourceClaim,
    PodSpec,
    PodUID,
    PodVolume,
)
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)

GiB = 1024**3
DRIVER = "gpu.example.com"
FABRIC = "fabric.example.com"


def _gang(name: str, size: int, spec: PodSpec) -> Iterator[Pod]:
    for index in range(size):
        yield Pod(
            PodKey("b", f"{name}-{index}"),
            PodUID(f"{name}-{index}"),
            spec,
            "enbloc",
            group=GroupKey("b", name),
            created=float(index),
        )


def _planned(engine: Engine, gang: str, pods: Iterable[Pod], claims: Iterable[Fact]) -> float:
    """Seconds from the last event of a gang to its plan; it is gone again afterwards."""
    pods, claims = list(pods), list(claims)
    key = GroupKey("b", gang)
    engine.apply(GroupSeen(Group(key, gang, min_member=len(pods))))
    for claim in claims:
        engine.apply(FactSeen(claim))
    for pod in pods:
        engine.apply(PodSeen(pod))
    gc.collect()
    started = time.process_time()
    effects = engine.step(1000.0)
    seconds = time.process_time() - started
    prepared = [effect for effect in effects if isinstance(effect, PreBind)]
    assert len(prepared) == len(pods), f"only {len(prepared)} of {len(pods)} were planned"
    for pod in pods:
        engine.apply(PodGone(pod.key, pod.uid))
    for effect in prepared:  # until then what the plan decided is nobody else's
        engine.apply(Unreserved(effect.target.plan, effect.target.uid))
    for claim in claims:
        engine.apply(FactGone(claim.kind, claim.key))
    engine.step(1000.5)
    return seconds


def _volumes(name: str, size: int) -> tuple[list[Pod], list[Fact]]:
    """Members with a claim of their own each, as a StatefulSet makes them."""
    spec = PodSpec(requests=(("cpu", 100), ("pods", 1)), volumes=(PodVolume("data", "claim"),))
    pods = [replace(pod, claims=(f"data-{pod.key.name}",)) for pod in _gang(name, size, spec)]
    claims: list[Fact] = [
        PersistentVolumeClaim(
            "b",
            pod.claims[0],
            f"uid-{pod.claims[0]}",
            "1",
            storage_class="fast",
            request=10 * GiB,
            access_modes=("ReadWriteOnce",),
        )
        for pod in pods
    ]
    return pods, claims


def gang_with_volumes(nodes: int = 1000, size: int = 512) -> Iterator[Figure]:
    """A volume is to be made for each member, where any node will do, or what is left is told."""
    for case, capacities in (("volumes", False), ("measured-volumes", True)):
        engine = cluster(nodes)
        driver = "disk.example.com"
        engine.apply(FactSeen(CSIDriver(driver, storage_capacity=capacities)))
        engine.apply(FactSeen(StorageClass("fast", driver, waits=True)))
        for index in range(nodes):
            engine.apply(FactSeen(CSINode(f"n{index}", ((driver, 20),), (driver,))))
            if capacities:
                here = Requirement("kubernetes.io/hostname", Operator.IN, (f"n{index}",))
                left = CSIStorageCapacity(
                    "kube-system",
                    f"c{index}",
                    storage_class="fast",
                    capacity=100 * GiB,
                    topology=Selector((here,)),
                )
                engine.apply(FactSeen(left))
        times = [_planned(engine, f"g{n}", *_volumes(f"g{n}", size)) for n in range(5)]
        yield f"claims/gang-{size}-with-{case}", statistics.median(times) * 1e3


def _slice(index: int, devices: int) -> ResourceSlice:
    traits = Traits(names=(f"{DRIVER}/model", f"{DRIVER}/uuid"))
    return ResourceSlice(
        f"n{index}-{DRIVER}",
        DRIVER,
        f"n{index}",
        site=DeviceReach(f"n{index}"),
        devices=tuple(
            Device(f"gpu-{number}", ("a100", f"GPU-{index}-{number}"), traits)
            for number in range(devices)
        ),
    )


def _devices(name: str, size: int, shared: str = "") -> tuple[list[Pod], list[Fact]]:
    """Members with a claim each, made from one template for one device; and one that they share."""
    own = PodResourceClaim("gpu", "one-gpu")
    spec = PodSpec(
        requests=(("cpu", 100), ("pods", 1)),
        resource_claims=(own, PodResourceClaim("link")) if shared else (own,),
    )
    pods = [
        replace(pod, resource_claims=(f"{pod.key.name}-gpu", *((shared,) if shared else ())))
        for pod in _gang(name, size, spec)
    ]
    wanted = ClaimSpec((Request("gpu", SubRequest("gpu", DRIVER)),))
    claims: list[Fact] = [
        ResourceClaim("b", f"{pod.key.name}-gpu", f"uid-{pod.key.name}", wanted, owner=pod.uid)
        for pod in pods
    ]
    if shared:
        link = ClaimSpec((Request("link", SubRequest("link", FABRIC)),))
        claims.append(ResourceClaim("b", shared, f"uid-{shared}", link))
    return pods, claims


def gang_with_devices(nodes: int = 1000, size: int = 512, devices: int = 8) -> Iterator[Figure]:
    """A device for each member, of as many as nodes have; and one of a network for all of them."""
    engine = cluster(nodes)
    engine.apply(FactSeen(DeviceClass(DRIVER, (f'device.driver == "{DRIVER}"',))))
    gc.collect()
    tracemalloc.start()
    for index in range(nodes):
        engine.apply(FactSeen(_slice(index, devices)))
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    times = [_planned(engine, f"g{n}", *_devices(f"g{n}", size)) for n in range(5)]
    yield f"claims/gang-{size}-with-devices", statistics.median(times) * 1e3
    engine.apply(FactSeen(DeviceClass(FABRIC, (f'device.driver == "{FABRIC}"',))))
    traits = Traits(names=(f"{FABRIC}/model",))
    links = (Device("link", ("fast",), traits),)
    engine.apply(
        FactSeen(ResourceSlice("f", FABRIC, "f", site=DeviceReach(everywhere=True), devices=links))
    )
    times = [
        _planned(engine, f"s{n}", *_devices(f"s{n}", MOST_CONSUMERS, "link")) for n in range(5)
    ]
    yield f"claims/gang-{MOST_CONSUMERS}-with-a-shared-device", statistics.median(times) * 1e3
    yield "claims/memory-of-a-device", kept / (nodes * devices)


def gang_in_a_fabric(nodes: int = 5000, fabric: int = 20, size: int = 18) -> Iterator[Figure]:
    """Members that share the device of a fabric; of all fabrics, the last has room for all."""
    engine = cluster(nodes)
    engine.apply(FactSeen(DeviceClass(FABRIC, (f'device.driver == "{FABRIC}"',))))
    traits = Traits(names=(f"{FABRIC}/model",))
    whole = PodSpec(requests=(("pods", 110),))
    for first in range(0, nodes, fabric):
        names = tuple(f"n{index}" for index in range(first, first + fabric))
        here = NodeSelectorTerm((Requirement("kubernetes.io/hostname", Operator.IN, names),))
        links = (Device("link", ("fast",), traits),)
        pool = f"f{first}"
        link = ResourceSlice(pool, FABRIC, pool, site=DeviceReach(terms=(here,)), devices=links)
        engine.apply(FactSeen(link))
        for name in names[: fabric - size + 1] if first + fabric < nodes else ():
            key = PodKey("b", f"on-{name}")
            engine.apply(PodSeen(Pod(key, PodUID(key.name), whole, "other", node=name)))
    spec = replace(whole, resource_claims=(PodResourceClaim("link"),))
    claim = ResourceClaim(
        "b", "link", "uid-link", ClaimSpec((Request("link", SubRequest("link", FABRIC)),))
    )
    times: list[float] = []
    for number in range(5):
        pods = [replace(it, resource_claims=("link",)) for it in _gang(f"g{number}", size, spec)]
        times.append(_planned(engine, f"g{number}", pods, [claim]))
    yield f"claims/gang-{size}-in-one-of-{nodes // fabric}-fabrics", statistics.median(times) * 1e3


def lone_with_claims(nodes: int = 5000, pods: int = 60) -> Iterator[Figure]:
    """Pods without a group that come one after the other: the step that plans each."""
    engine = cluster(nodes)
    engine.apply(FactSeen(DeviceClass(DRIVER, (f'device.driver == "{DRIVER}"',))))
    driver = "disk.example.com"
    engine.apply(FactSeen(CSIDriver(driver)))
    engine.apply(FactSeen(StorageClass("fast", driver, waits=True)))
    for index in range(nodes):
        engine.apply(FactSeen(_slice(index, 8)))
        engine.apply(FactSeen(CSINode(f"n{index}", ((driver, 20),), (driver,))))
    for name, made in (("a-device", _devices), ("a-volume", _volumes)):
        gc.collect()
        times = [_placed(engine, f"{name}-{n}", *made(f"{name}-{n}", 1)) for n in range(pods)]
        yield f"claims/lone-pod-with-{name}", statistics.median(times[10:]) * 1e3


def _placed(engine: Engine, name: str, pods: list[Pod], claims: list[Fact]) -> float:
    """Seconds of the step that plans a lone pod, which is bound afterwards and stays."""
    [pod], [claim] = pods, claims
    pod = replace(pod, group=None)
    engine.apply(FactSeen(claim))
    engine.apply(PodSeen(pod))
    started = time.process_time()
    effects = list(engine.step(1000.0))
    seconds = time.process_time() - started
    while effects:
        effect = effects.pop(0)
        if isinstance(effect, PreBind):
            engine.apply(FactSeen(_written(claim, effect, name)))
            engine.apply(PreBound(effect.target.plan, pod.uid))
        elif isinstance(effect, Bind):
            engine.apply(Bound(effect.target.plan, pod.uid))
            engine.apply(PodSeen(replace(pod, node=effect.target.node)))
            return seconds
        effects += engine.step(1000.0)
    raise AssertionError(f"{name} was not bound")


def _written(claim: Fact, effect: PreBind, name: str) -> Fact:
    """The claim as the pod's PreBind leaves it."""
    if isinstance(claim, PersistentVolumeClaim):
        return replace(claim, volume=f"pv-{name}", bind_completed=True)
    assert isinstance(claim, ResourceClaim)
    assert effect.target.decided.devices is not None
    [given] = effect.target.decided.devices.claims
    user = Consumer("pods", effect.target.pod.name, effect.target.uid)
    return replace(claim, allocation=given.allocation, reserved_for=(user,))
