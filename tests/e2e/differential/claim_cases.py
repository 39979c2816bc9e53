# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random storage, and pods with volumes on it; the same seed makes the same ones.

Every object of a case has a tag in its name, for each scheduler gets objects of its own.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.client.paths import PODS
from tests.e2e.differential.claim_objects import (
    ATTACHMENTS,
    CAPACITIES,
    CLAIMS,
    CLASSES,
    COUNTED,
    CSI_NODES,
    DISK,
    EXTENDED,
    HOSTNAME,
    MIGRATED,
    NAMESPACE,
    VOLUMES,
    ZONE,
    Made,
)
from tests.e2e.differential.vocabulary import Json

SIZES: Final = ("1Gi", "2Gi", "5Gi", "10Gi")
ZONES: Final = ("a", "b", "c")
#: What a volume is accessed by, as often as people say so.
MODES: Final = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")


#: What a volume and its claim must have in common.
RARE: Final = ("volumeMode", "volumeAttributesClassName")


@dataclass(frozen=True)
class Case:
    """A pod and what it needs to be there first.

    Attributes:
        objects: in the order in which they can be made.
        pod: to be placed; no schedulerName yet.
        phases: what the PV controller must have made of claims first.
        deleted: claims that are deleted then, and stay while a pod uses them.
    """

    objects: tuple[Made, ...]
    pod: Json
    phases: Mapping[str, str] = field(default_factory=dict[str, str])
    deleted: tuple[str, ...] = ()


Maker = Callable[[str, str, Sequence[str]], Case]


def nodes(seed: str) -> tuple[Json, ...]:
    """3 to 8 nodes in three zones; a few are too small."""
    rng = random.Random(f"nodes of claims {seed}")
    return tuple(_node(rng, f"c{seed}-{i}") for i in range(rng.randint(3, 8)))


def _node(rng: random.Random, name: str) -> Json:
    room = {"cpu": rng.choice(["4", "4", "100m"]), "memory": "8Gi", "pods": "110"}
    if rng.random() < 0.15:
        # What a device plugin has comes before what a driver has in slices.
        room[EXTENDED] = rng.choice(["0", "1", "2"])
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: rng.choice(ZONES)}},
        "spec": {},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod_with(rng: random.Random, name: str, **spec: list[Json]) -> Json:
    """A pod of one container, which uses all claims that the rest of the spec has."""
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
            _volume(rng, f"pv-{tag}-{i}", names, rng.choice(["local", "local", "at-once", ""]), i)
        )
    there = [f"there-{tag}-{i}" for i in range(rng.randint(0, 3))]
    for name in there:
        objects += _placed(rng, name, names)
    phases = dict.fromkeys(there, "Bound")
    volumes: list[Json] = []
    for i in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.1:
            volumes.append(_ephemeral(rng, f"v{i}"))
            continue
        name = f"data-{tag}-{i}"
        source: Json = {"claimName": name, **({"readOnly": True} if rng.random() < 0.1 else {})}
        volumes.append({"name": f"v{i}", "persistentVolumeClaim": source})
        made, phase = _wanted(rng, name, names)
        objects += made
        if phase:
            phases[name] = phase
    deleted: list[str] = []
    if there and rng.random() < 0.2:
        volumes.append({"name": "shared", "persistentVolumeClaim": {"claimName": there[0]}})
        if rng.random() < 0.2:
            deleted.append(there[0])
    if rng.random() < 0.15:
        volumes.append({"name": "inline", **_inline(rng)})
    pod = pod_with(rng, f"case-{tag}", volumes=volumes)
    return Case(tuple(objects), pod, phases, tuple(deleted))


def _wanted(rng: random.Random, name: str, names: Sequence[str]) -> tuple[list[Made], str]:
    """A claim, or none, and the phase in which it will be; "" where that is to be seen."""
    kind = rng.random()
    if kind < 0.05:
        return [], ""
    if kind < 0.4:
        return _bound(rng, name, names), "Bound"
    if kind < 0.43:
        claim = _claim(rng, name, "local")
        claim.body["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        claim.body["spec"]["volumeName"] = f"gone-{name}"
        return [claim], "Lost"
    return [_claim(rng, name, rng.choice([*CLASSES, *CLASSES, "", "missing"]))], ""


def _inline(rng: random.Random) -> Json:
    """A volume without a claim; some of them no two pods on a node may have."""
    read_only = rng.random() < 0.5
    disk = rng.choice(["d1", "d2"])
    kinds: list[Json] = [
        {"gcePersistentDisk": {"pdName": disk, "readOnly": read_only}},
        {"awsElasticBlockStore": {"volumeID": disk}},
        {
            "iscsi": {
                "targetPortal": "p",
                "iqn": f"iqn.2026-01.com.example:{disk}",
                "lun": 0,
                "readOnly": read_only,
            }
        },
        {"rbd": {"monitors": rng.sample(["m1", "m2", "m3"], 2), "image": disk}},
        {"csi": {"driver": DISK}},
    ]
    return rng.choice(kinds)


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
            for driver in (DISK, COUNTED, MIGRATED)
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
    rng: random.Random, name: str, names: Sequence[str], storage_class: str, index: int = 0
) -> Made:
    source: Json = {"hostPath": {"path": "/data"}}
    kind = rng.random()
    if kind < 0.5:
        source = {"csi": {"driver": rng.choice([DISK, COUNTED]), "volumeHandle": name}}
    elif kind < 0.6:
        source = {"gcePersistentDisk": {"pdName": name}}
    labels = {ZONE: rng.choice([*ZONES, "a__b"])} if rng.random() < 0.15 else {}
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
        # No two have one size: which of them is taken then is chance.
        "capacity": {"storage": f"{int(rng.choice(SIZES)[:-2]) * 1024 + index}Mi"},
        "accessModes": _modes(rng),
        "storageClassName": storage_class,
        "persistentVolumeReclaimPolicy": "Retain",
        **_rare(rng),
        **source,
        **where,
    }
    if "csi" not in spec:
        spec.pop("volumeAttributesClassName", None)
    return Made(VOLUMES, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def _modes(rng: random.Random) -> list[str]:
    """ReadWriteOncePod goes with no other mode."""
    mode = rng.choice(MODES)
    return [mode] if mode == "ReadWriteOncePod" else sorted({mode, "ReadWriteOnce"})


def _rare(rng: random.Random) -> Json:
    """What few volumes and claims have."""
    found: Json = {"volumeMode": "Block"} if rng.random() < 0.05 else {}
    if rng.random() < 0.05:
        found["volumeAttributesClassName"] = "gold"
    return found


def _spec_of_claim(rng: random.Random, storage_class: str) -> Json:
    labels = {"selector": {"matchLabels": {ZONE: rng.choice(ZONES)}}}
    return {
        "accessModes": [rng.choice(MODES)],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": rng.choice(SIZES)}},
        **_rare(rng),
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
    reference = {"name": name, "namespace": NAMESPACE}
    volume = _volume(rng, f"of-{name}", names, "local")
    volume.body["spec"] |= {"capacity": {"storage": "10Gi"}, "accessModes": [mode]}
    volume.body["spec"]["claimRef"] = reference
    claim = _claim(rng, name, "local")
    claim.body["spec"] |= {"accessModes": [mode], "volumeName": f"of-{name}"}
    for one in ("selector", *RARE):
        claim.body["spec"].pop(one, None)
        volume.body["spec"].pop(one, None)
    return [volume, claim]


def _placed(rng: random.Random, name: str, names: Sequence[str]) -> list[Made]:
    """A pod on a node, with a volume that the pod to be placed may want too."""
    volumes: list[Json] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    if rng.random() < 0.3:
        volumes.append({"name": "inline", **_inline(rng)})
    pod = pod_with(rng, name, volumes=volumes)
    node = pod["spec"]["nodeName"] = rng.choice(names)
    volume, claim = _bound(rng, name, names)
    made = [volume, claim, Made(PODS, pod)]
    if "csi" in volume.body["spec"] and rng.random() < 0.3:
        # Where it was before, or where its pod is.
        attached = {
            "attacher": volume.body["spec"]["csi"]["driver"],
            "nodeName": rng.choice([node, *names]),
            "source": {"persistentVolumeName": volume.name},
        }
        made.append(Made(ATTACHMENTS, {"metadata": {"name": f"at-{name}"}, "spec": attached}))
    return made
