# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random storage and devices, and pods with claims on them; the same seed makes the same ones.

Every object of a case has a tag in its name, for each scheduler gets objects of its own.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.kube.paths import PODS
from tests.e2e.differential.claim_objects import (
    CAPACITIES,
    CLAIMS,
    CLASSES,
    COUNTED,
    CSI_NODES,
    DISK,
    GPU_CLASSES,
    GPU_DRIVER,
    HOSTNAME,
    NAMESPACE,
    RESOURCE_CLAIMS,
    SLICES,
    TEMPLATES,
    VOLUMES,
    ZONE,
    Made,
)
from tests.e2e.differential.vocabulary import Json

SIZES: Final = ("1Gi", "2Gi", "5Gi", "10Gi")
ZONES: Final = ("a", "b", "c")
#: What a volume is accessed by, as often as people say so.
MODES: Final = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")
SELECTORS: Final = (
    f'device.attributes["{GPU_DRIVER}"].index > 1',
    f'device.attributes["{GPU_DRIVER}"].index in [0, 3]',
    f'device.attributes["{GPU_DRIVER}"].model.startsWith("a")',
    f'device.attributes["{GPU_DRIVER}"].driverVersion.isGreaterThan(semver("1.5.0"))',
    f'cel.bind(d, device.attributes["{GPU_DRIVER}"], has(d.healthy) && d.healthy)',
    f'device.capacity["{GPU_DRIVER}"].memory.isGreaterThan(quantity("20Gi"))',
    f'device.attributes["{GPU_DRIVER}"].model.matches("^(a|t)[0-9]+$")',
    'device.attributes["nobody.example.com"].?nothing.orValue(1) == 1',
)


@dataclass(frozen=True)
class Case:
    """A pod and what it needs to be there first.

    Attributes:
        objects: in the order in which they can be made.
        pod: to be placed; no schedulerName yet.
        bound: claims that the PV controller must have bound first.
    """

    objects: tuple[Made, ...]
    pod: Json
    bound: tuple[str, ...] = ()


Maker = Callable[[str, str, Sequence[str]], Case]


def nodes(seed: str) -> tuple[Json, ...]:
    """3 to 8 nodes in three zones; a few are too small."""
    rng = random.Random(f"nodes of claims {seed}")
    return tuple(_node(rng, f"c{seed}-{i}") for i in range(rng.randint(3, 8)))


def _node(rng: random.Random, name: str) -> Json:
    room = {"cpu": rng.choice(["4", "4", "100m"]), "memory": "8Gi", "pods": "110"}
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: rng.choice(ZONES)}},
        "spec": {},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(rng: random.Random, name: str, **spec: list[Json]) -> Json:
    cpu = rng.choice(["100m", "500m", "1"])
    resources: Json = {"requests": {"cpu": cpu}}
    if "resourceClaims" in spec:
        resources["claims"] = [{"name": one["name"]} for one in spec["resourceClaims"]]
    container = {"name": "main", "image": "example.com/none", "resources": resources}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [container], **spec},
    }


# ── volumes ──────────────────────────────────────────────────────────────────────────────────


def storage(seed: str, tag: str, names: Sequence[str]) -> Case:
    """A pod with volumes, on a cluster with drivers, capacities and other pods' volumes."""
    rng = random.Random(f"storage {seed}")
    objects = [*_csi(rng, tag, names)]
    for i in range(rng.randint(0, 5)):
        objects.append(
            _volume(rng, f"pv-{tag}-{i}", names, rng.choice(["local", "local", "at-once"]))
        )
    bound: list[str] = []
    for i in range(rng.randint(0, 3)):
        objects += _placed(rng, f"there-{tag}-{i}", names)
        bound.append(f"there-{tag}-{i}")
    volumes: list[Json] = []
    for i in range(rng.choice([1, 1, 1, 2, 3])):
        name = f"data-{tag}-{i}"
        kind = rng.random()
        if kind < 0.1:
            volumes.append(_ephemeral(rng, f"v{i}"))
            continue
        source: Json = {"claimName": name, **({"readOnly": True} if rng.random() < 0.1 else {})}
        volumes.append({"name": f"v{i}", "persistentVolumeClaim": source})
        if kind < 0.14:
            continue
        if kind < 0.45:
            objects += _bound(rng, name, names)
            bound.append(name)
        else:
            objects.append(_claim(rng, name, rng.choice(list(CLASSES))))
    if bound and rng.random() < 0.2:
        shared = {"claimName": bound[0]}
        volumes.append({"name": "shared", "persistentVolumeClaim": shared})
    if rng.random() < 0.1:
        disk = {"pdName": rng.choice(["d1", "d2"]), "readOnly": rng.random() < 0.5}
        volumes.append({"name": "inline", "gcePersistentDisk": disk})
    return Case(tuple(objects), _pod(rng, f"case-{tag}", volumes=volumes), tuple(bound))


def _csi(rng: random.Random, tag: str, names: Sequence[str]) -> list[Made]:
    """What the drivers say of nodes, and of what is left."""
    made: list[Made] = []
    for name in names:
        drivers = [
            {
                "name": driver,
                "nodeID": name,
                "topologyKeys": [ZONE],
                **({"allocatable": {"count": rng.randint(0, 3)}} if rng.random() < 0.7 else {}),
            }
            for driver in (DISK, COUNTED)
            if rng.random() < 0.85
        ]
        body = {"metadata": {"name": name}, "spec": {"drivers": drivers}}
        made.append(Made(CSI_NODES, body))
    for i, zone in enumerate(ZONES):
        if rng.random() < 0.7:
            left = rng.choice(SIZES)
            largest = {"maximumVolumeSize": rng.choice(SIZES)} if rng.random() < 0.3 else {}
            metadata = {"name": f"left-{tag}-{i}", "namespace": NAMESPACE}
            topology = {"matchLabels": {ZONE: zone}}
            made.append(
                Made(
                    CAPACITIES,
                    {
                        "metadata": metadata,
                        "storageClassName": "counted",
                        "nodeTopology": topology,
                        "capacity": left,
                        **largest,
                    },
                )
            )
    return made


def _volume(
    rng: random.Random, name: str, names: Sequence[str], storage_class: str, **more: Json
) -> Made:
    source: Json = {"hostPath": {"path": "/data"}}
    if rng.random() < 0.5:
        source = {"csi": {"driver": rng.choice([DISK, COUNTED]), "volumeHandle": name}}
    labels = {ZONE: rng.choice(ZONES)} if rng.random() < 0.15 else {}
    where: Json = {}
    if rng.random() < 0.75:
        key, values = (
            (HOSTNAME, rng.sample(names, rng.randint(1, 2)))
            if rng.random() < 0.6
            else (ZONE, rng.sample(ZONES, rng.randint(1, 2)))
        )
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
        where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    spec = {
        "capacity": {"storage": rng.choice(SIZES)},
        "accessModes": _modes(rng),
        "storageClassName": storage_class,
        "persistentVolumeReclaimPolicy": "Retain",
        **source,
        **where,
        **more,
    }
    return Made(VOLUMES, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def _modes(rng: random.Random) -> list[str]:
    """ReadWriteOncePod goes with no other mode."""
    mode = rng.choice(MODES)
    return [mode] if mode == "ReadWriteOncePod" else sorted({mode, "ReadWriteOnce"})


def _spec_of_claim(rng: random.Random, storage_class: str) -> Json:
    labels = {"selector": {"matchLabels": {ZONE: rng.choice(ZONES)}}}
    return {
        "accessModes": [rng.choice(MODES)],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": rng.choice(SIZES)}},
        **(labels if storage_class in ("local", "at-once") and rng.random() < 0.1 else {}),
    }


def _claim(rng: random.Random, name: str, storage_class: str) -> Made:
    metadata = {"name": name, "namespace": NAMESPACE}
    return Made(CLAIMS, {"metadata": metadata, "spec": _spec_of_claim(rng, storage_class)})


def _ephemeral(rng: random.Random, name: str) -> Json:
    template = {"spec": _spec_of_claim(rng, rng.choice(["local", "made", "zonal", "counted"]))}
    return {"name": name, "ephemeral": {"volumeClaimTemplate": template}}


def _bound(rng: random.Random, name: str, names: Sequence[str]) -> list[Made]:
    """A claim and its volume, which know of each other."""
    mode = rng.choice(MODES)
    reference = {"claimRef": {"name": name, "namespace": NAMESPACE}}
    volume = _volume(rng, f"of-{name}", names, "local", **reference)
    volume.body["spec"] |= {"capacity": {"storage": "10Gi"}, "accessModes": [mode]}
    claim = _claim(rng, name, "local")
    claim.body["spec"] |= {"accessModes": [mode], "volumeName": f"of-{name}"}
    claim.body["spec"].pop("selector", None)
    return [volume, claim]


def _placed(rng: random.Random, name: str, names: Sequence[str]) -> list[Made]:
    """A pod on a node, with a volume that the pod to be placed may want too."""
    source = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
    pod = _pod(rng, name, volumes=[source])
    pod["spec"]["nodeName"] = rng.choice(names)
    return [*_bound(rng, name, names), Made(PODS, pod)]


# ── devices ──────────────────────────────────────────────────────────────────────────────────


def devices(seed: str, tag: str, names: Sequence[str]) -> Case:
    """A pod with resource claims, on nodes with devices of which some are in use."""
    rng = random.Random(f"devices {seed}")
    objects: list[Made] = []
    free: dict[str, list[str]] = {}
    for name in names:
        if rng.random() < 0.85:
            made = _slices(rng, f"slice-{tag}-{name}", name, {"nodeName": name})
            objects += made
            free[name] = [one["name"] for one in made[0].body["spec"]["devices"]]
    if rng.random() < 0.25:
        where: Json = {"allNodes": True}
        if rng.random() < 0.5:
            term = {"key": ZONE, "operator": "In", "values": [rng.choice(ZONES)]}
            where = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
        objects += _slices(rng, f"slice-{tag}-net", "net", where)
    for i in range(rng.randint(0, 3)):
        pools = [pool for pool, left in free.items() if left]
        if pools:
            pool = rng.choice(pools)
            device = free[pool].pop(rng.randrange(len(free[pool])))
            objects.append(_used(f"used-{tag}-{i}", pool, device))
    wanted: list[Json] = []
    for i in range(rng.choice([1, 1, 2])):
        spec = _asked(rng)
        metadata = {"name": f"claim-{tag}-{i}", "namespace": NAMESPACE}
        if rng.random() < 0.25:
            objects.append(Made(TEMPLATES, {"metadata": metadata, "spec": {"spec": spec}}))
            wanted.append({"name": f"r{i}", "resourceClaimTemplateName": metadata["name"]})
        else:
            objects.append(Made(RESOURCE_CLAIMS, {"metadata": metadata, "spec": spec}))
            wanted.append({"name": f"r{i}", "resourceClaimName": metadata["name"]})
    pod = _pod(rng, f"case-{tag}", resourceClaims=wanted)
    return Case(tuple(objects), pod)


def _slices(rng: random.Random, name: str, pool: str, where: Json) -> list[Made]:
    """A pool of devices; some of them share counters, which stand in a slice of their own."""
    partitioned = rng.random() < 0.2
    count = 2 if partitioned else rng.choice([1] * 30 + [2])
    spec = {
        "driver": GPU_DRIVER,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": count},
        **where,
    }
    listed = [_device(rng, i, partitioned=partitioned) for i in range(rng.randint(1, 4))]
    made = [Made(SLICES, {"metadata": {"name": name}, "spec": {**spec, "devices": listed}})]
    if partitioned:
        counters = [{"name": "card", "counters": {"memory": {"value": "80Gi"}}}]
        body = {"metadata": {"name": f"{name}-all"}, "spec": {**spec, "sharedCounters": counters}}
        made.append(Made(SLICES, body))
    return made


def _device(rng: random.Random, index: int, *, partitioned: bool) -> Json:
    attributes: Json = {
        "model": {"string": rng.choice(["a100", "a100", "t4"])},
        "index": {"int": index},
        "numa": {"int": rng.randint(0, 1)},
        "driverVersion": {"version": rng.choice(["1.2.0", "1.5.1", "2.0.0"])},
    }
    if rng.random() < 0.4:
        attributes["healthy"] = {"bool": rng.random() < 0.7}
    memory = rng.choice(["16Gi", "40Gi", "80Gi"])
    made: Json = {
        "name": f"gpu-{index}",
        "attributes": attributes,
        "capacity": {"memory": {"value": memory}},
    }
    if rng.random() < 0.1:
        effect = rng.choice(["NoSchedule", "NoExecute"])
        made["taints"] = [{"key": "example.com/sick", "value": "yes", "effect": effect}]
    if partitioned:
        consumed = {"memory": {"value": memory}}
        made["consumesCounters"] = [{"counterSet": "card", "counters": consumed}]
    return made


def _used(name: str, pool: str, device: str) -> Made:
    """A claim that has a device already."""
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    result = {"request": "r", "driver": GPU_DRIVER, "pool": pool, "device": device}
    term = {"key": "metadata.name", "operator": "In", "values": [pool]}
    selector = {"nodeSelectorTerms": [{"matchFields": [term]}]}
    return Made(
        RESOURCE_CLAIMS,
        {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
            "status": {"allocation": {"devices": {"results": [result]}, "nodeSelector": selector}},
        },
    )


def _asked(rng: random.Random) -> Json:
    """The spec of a claim."""
    requests: list[Json] = []
    for i in range(rng.choice([1, 1, 1, 2])):
        if rng.random() < 0.2:
            subrequests = [{"name": f"s{j}", **_request(rng)} for j in range(2)]
            requests.append({"name": f"q{i}", "firstAvailable": subrequests})
        else:
            requests.append({"name": f"q{i}", "exactly": _request(rng)})
    spec: Json = {"requests": requests}
    if rng.random() < 0.25:
        spec["constraints"] = [{"matchAttribute": f"{GPU_DRIVER}/numa"}]
    return {"devices": spec}


def _request(rng: random.Random) -> Json:
    names = [*GPU_CLASSES, "any", "any", "a100", "large"]
    name = rng.choice([one for one in names if one != "broken" or rng.random() < 0.1])
    one: Json = {"deviceClassName": name}
    if rng.random() < 0.15:
        one["allocationMode"] = "All"
    else:
        one |= {"allocationMode": "ExactCount", "count": rng.choice([1, 1, 1, 2, 3])}
    if rng.random() < 0.4:
        one["selectors"] = [{"cel": {"expression": rng.choice(SELECTORS)}}]
    if rng.random() < 0.15:
        one["tolerations"] = [{"key": "example.com/sick", "operator": "Exists"}]
    return one
