# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random devices, and pods with claims for them; the same seed makes the same ones.

Every claim has a tag in its name, for each scheduler gets claims of its own.
"""

import random
import uuid
from collections.abc import Sequence
from typing import Final

from tests.e2e.differential.claim_cases import ZONES, Case, pod_with
from tests.e2e.differential.claim_objects import (
    EXTENDED,
    GPU_CLASSES,
    GPU_DRIVER,
    IMPLICIT,
    NAMESPACE,
    NIC_DRIVER,
    RESOURCE_CLAIMS,
    SLICES,
    TEMPLATES,
    ZONE,
    Made,
)
from tests.e2e.differential.vocabulary import Json

SELECTORS: Final = (
    f'device.attributes["{GPU_DRIVER}"].index > 1',
    f'device.attributes["{GPU_DRIVER}"].index in [0, 3]',
    f'device.attributes["{GPU_DRIVER}"].model.startsWith("a")',
    f'device.attributes["{GPU_DRIVER}"].driverVersion.isGreaterThan(semver("1.5.0"))',
    f'cel.bind(d, device.attributes["{GPU_DRIVER}"], has(d.healthy) && d.healthy)',
    f'device.capacity["{GPU_DRIVER}"].memory.isGreaterThan(quantity("20Gi"))',
    f'device.attributes["{GPU_DRIVER}"].model.matches("^(a|t)[0-9]+$")',
    'device.attributes["nobody.example.com"].?nothing.orValue(1) == 1',
    "device.allowMultipleAllocations == true",
)
MEMORY: Final = ("16Gi", "40Gi", "80Gi")
#: How what is asked of a shared device becomes what is taken of it.
POLICIES: Final[tuple[Json, ...]] = (
    {},
    {"default": "4Gi"},
    {"default": "8Gi", "validValues": ["2Gi", "8Gi", "16Gi"]},
    {"default": "4Gi", "validRange": {"min": "2Gi", "max": "16Gi", "step": "2Gi"}},
    {"default": "1Gi", "validRange": {"min": "1Gi"}},
)
#: What a request may ask of a shared device.
SHARES: Final = ("1Gi", "3Gi", "8Gi", "10Gi", "16Gi", "50Gi")
LONG_AGO: Final = "2026-01-01T00:00:00Z"
SICK: Final = "example.com/sick"
TOLERATIONS: Final[tuple[Json, ...]] = (
    {"key": SICK, "operator": "Exists"},
    {"operator": "Exists"},
    {"key": SICK, "operator": "Equal", "value": "yes"},
    {"key": SICK, "operator": "Equal", "value": "no"},
    {"key": SICK, "operator": "Exists", "effect": "NoSchedule"},
    {"key": "example.com/other", "operator": "Exists"},
)
#: What a driver must say of a device before its pod is bound.
ATTACHED: Final = "example.com/attached"
FAILED: Final = "example.com/failed"


def devices(seed: str, tag: str, names: Sequence[str]) -> Case:
    """A pod that wants devices, on nodes with devices of which some are in use."""
    rng = random.Random(f"devices {seed}")
    slices: list[Made] = []
    for name in names:
        if rng.random() < 0.85:
            slices += _pool(rng, f"slice-{tag}-{name}", name, {"nodeName": name}, names)
    for driver in (GPU_DRIVER, NIC_DRIVER):
        if rng.random() < 0.25:
            reach: list[Json] = [{"allNodes": True}, {"nodeSelector": _in_zone(rng)}]
            where = rng.choice(reach)
            slices += _pool(rng, f"slice-{tag}-{driver}", "net", where, names, driver)
    used = [_used(rng, f"used-{tag}-{i}", slices) for i in range(rng.randint(0, 3))]
    objects = [*slices, *(one for one in used if one)]
    if rng.random() < 0.12:
        return Case(tuple(objects), _extended_pod(rng, tag))
    wanted: list[Json] = []
    for i in range(rng.choice([1, 1, 2])):
        name = f"claim-{tag}-{i}"
        spec = _asked(rng)
        metadata = {"name": name, "namespace": NAMESPACE}
        kind = rng.random()
        if kind < 0.25:
            objects.append(Made(TEMPLATES, {"metadata": metadata, "spec": {"spec": spec}}))
            wanted.append({"name": f"r{i}", "resourceClaimTemplateName": name})
            continue
        has_devices = _used(rng, name, slices) if kind < 0.3 else None
        if has_devices and any(_gives_again(one, has_devices) for one in objects):
            has_devices = None
        made = has_devices or Made(RESOURCE_CLAIMS, {"metadata": metadata, "spec": spec})
        objects.append(made)
        wanted.append({"name": f"r{i}", "resourceClaimName": name})
    pod = pod_with(rng, f"case-{tag}", resourceClaims=wanted)
    if rng.random() < 0.05:
        _extend(rng, pod["spec"]["containers"][0])
    return Case(tuple(objects), pod)


# ── slices ───────────────────────────────────────────────────────────────────────────────────


def _in_zone(rng: random.Random) -> Json:
    term = {"key": ZONE, "operator": "In", "values": [rng.choice(ZONES)]}
    return {"nodeSelectorTerms": [{"matchExpressions": [term]}]}


def _pool(
    rng: random.Random,
    name: str,
    pool: str,
    where: Json,
    names: Sequence[str],
    driver: str = GPU_DRIVER,
) -> list[Made]:
    """A pool of devices: in one slice or two, complete or not, some of them parts of a card.

    What the parts of a card share stands in a slice of its own.
    """
    partitioned = driver == GPU_DRIVER and rng.random() < 0.2
    halves = 2 if rng.random() < 0.1 else 1
    missing = rng.random() < 0.03
    generation = rng.choice([1, 1, 2])
    spec: Json = {
        "driver": driver,
        "pool": {
            "name": pool,
            "generation": generation,
            "resourceSliceCount": halves + partitioned + missing,
        },
        **where,
    }
    made: list[Made] = []
    for half in range(halves):
        listed = [
            _device(rng, 4 * half + i, driver, partitioned=partitioned)
            for i in range(rng.randint(1, 4))
        ]
        at = dict(spec)
        if rng.random() < 0.05:
            # Each device says itself which nodes reach it.
            at = {"driver": driver, "pool": spec["pool"], "perDeviceNodeSelection": True}
            for one in listed:
                reach: list[Json] = [
                    {"nodeName": rng.choice(names)},
                    {"nodeSelector": _in_zone(rng)},
                    {"allNodes": True},
                ]
                one.update(rng.choice(reach))
        metadata = {"name": f"{name}-{half}"}
        made.append(Made(SLICES, {"metadata": metadata, "spec": {**at, "devices": listed}}))
    if partitioned:
        counters = {"memory": {"value": "80Gi"}, "slots": {"value": "3"}}
        cards = [{"name": card, "counters": counters} for card in ("card-0", "card-1")]
        body = {"metadata": {"name": f"{name}-all"}, "spec": {**spec, "sharedCounters": cards}}
        made.append(Made(SLICES, body))
    if generation == 2 and rng.random() < 0.3:
        before = {"name": pool, "generation": 1, "resourceSliceCount": 1}
        old = [_device(rng, 0, driver, partitioned=False)]
        at = {**spec, "pool": before, "devices": old}
        body = {"metadata": {"name": f"{name}-old"}, "spec": at}
        made.append(Made(SLICES, body))
    return made


def _device(rng: random.Random, index: int, driver: str, *, partitioned: bool) -> Json:
    attributes: Json = {
        "model": {"string": rng.choice(["a100", "a100", "t4"])},
        "index": {"int": index},
        "numa": {"int": rng.randint(0, 1)},
        "driverVersion": {"version": rng.choice(["1.2.0", "1.5.1", "2.0.0"])},
    }
    if rng.random() < 0.4:
        attributes["healthy"] = {"bool": rng.random() < 0.7}
    memory = rng.choice(MEMORY)
    capacity: Json = {"memory": {"value": memory}}
    made: Json = {"name": f"dev-{index}", "attributes": attributes, "capacity": capacity}
    if rng.random() < (0.15 if driver == GPU_DRIVER else 0.7):
        made["allowMultipleAllocations"] = True
        if policy := rng.choice(POLICIES):
            capacity["memory"]["requestPolicy"] = policy
        if rng.random() < 0.3:
            capacity["lanes"] = {"value": "4", "requestPolicy": {"default": "1"}}
    if rng.random() < 0.1:
        effect = rng.choice(["NoSchedule", "NoExecute", "None"])
        made["taints"] = [{"key": SICK, "value": rng.choice(["yes", "no"]), "effect": effect}]
    if rng.random() < (0.05 if driver == GPU_DRIVER else 0.3):
        made["bindingConditions"] = [ATTACHED]
        made["bindingFailureConditions"] = [FAILED]
        made["bindsToNode"] = rng.random() < 0.5
    if partitioned:
        consumed: Json = {"memory": {"value": memory}}
        if rng.random() < 0.5:
            consumed["slots"] = {"value": rng.choice(["1", "2"])}
        cards = rng.choice([["card-0"], ["card-0"], ["card-1"], ["card-0", "card-1"]])
        made["consumesCounters"] = [{"counterSet": card, "counters": consumed} for card in cards]
    return made


def _used(rng: random.Random, name: str, slices: Sequence[Made]) -> Made | None:
    """A claim that has a device already, or a share of one; None where there are no devices.

    Two claims may have got the same device, as when an administrator has looked at it.
    """
    if not slices:
        return None
    spec = rng.choice(slices).body["spec"]
    listed = spec.get("devices")
    if not listed:
        return None
    device = rng.choice(listed)
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    result = {
        "request": "r",
        "driver": spec["driver"],
        "pool": spec["pool"]["name"],
        "device": device["name"],
    }
    if device.get("allowMultipleAllocations"):
        result["shareID"] = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        amounts = {each: "1" if each == "lanes" else "4Gi" for each in device["capacity"]}
        result["consumedCapacity"] = amounts
    # Without a time kube-scheduler adds one when it reserves the claim, and is refused.
    allocation: Json = {"devices": {"results": [result]}, "allocationTimestamp": LONG_AGO}
    if "nodeName" in spec:
        term = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [term]}]}
    return Made(
        RESOURCE_CLAIMS,
        {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
            "status": {"allocation": allocation},
        },
    )


def _gives_again(one: Made, other: Made) -> bool:
    """Whether two claims have one device, each all of it."""
    given = [_given(made) for made in (one, other)]
    return given[0] is not None and given[0] == given[1]


def _given(made: Made) -> tuple[str, ...] | None:
    status: Json = made.body.get("status", {})
    for result in status.get("allocation", {}).get("devices", {}).get("results", ()):
        if "shareID" not in result:
            return result["driver"], result["pool"], result["device"]
    return None


# ── requests ─────────────────────────────────────────────────────────────────────────────────


def _asked(rng: random.Random) -> Json:
    """The spec of a claim."""
    requests: list[Json] = []
    for i in range(rng.choice([1, 1, 1, 2])):
        if rng.random() < 0.2:
            subrequests = [{"name": f"s{j}", **_request(rng)} for j in range(rng.choice([2, 2, 3]))]
            requests.append({"name": f"q{i}", "firstAvailable": subrequests})
        else:
            exactly = _request(rng)
            if rng.random() < 0.08:
                exactly["adminAccess"] = True
            requests.append({"name": f"q{i}", "exactly": exactly})
    spec: Json = {"requests": requests}
    if rng.random() < 0.25:
        constraint: Json = {"matchAttribute": f"{GPU_DRIVER}/numa"}
        # Of several devices for one request kube-scheduler compares only the last ones.
        if rng.random() < 0.3 and all(one.get("exactly", {}).get("count") == 1 for one in requests):
            constraint = {"distinctAttribute": f"{GPU_DRIVER}/{rng.choice(['index', 'model'])}"}
        if rng.random() < 0.3:
            constraint["requests"] = [rng.choice(requests)["name"]]
        spec["constraints"] = [constraint]
    return {"devices": spec}


def _request(rng: random.Random) -> Json:
    names = [*GPU_CLASSES, "any", "any", "a100", "large"]
    name = rng.choice([one for one in names if one != "broken" or rng.random() < 0.1])
    one: Json = {"deviceClassName": name}
    if rng.random() < 0.15:
        one["allocationMode"] = "All"
    else:
        one |= {"allocationMode": "ExactCount", "count": rng.choice([1, 1, 1, 2, 3])}
    if name != "nic" and rng.random() < 0.4:
        one["selectors"] = [{"cel": {"expression": rng.choice(SELECTORS)}}]
    if rng.random() < 0.2:
        one["tolerations"] = [rng.choice(TOLERATIONS)]
    if rng.random() < (0.6 if name == "nic" else 0.2):
        capacity = {"memory": rng.choice(SHARES)}
        if rng.random() < 0.2:
            capacity["lanes"] = rng.choice(["1", "2", "3"])
        one["capacity"] = {"requests": capacity}
    return one


def _extended_pod(rng: random.Random, tag: str) -> Json:
    """A pod that asks for devices as it would ask a device plugin."""
    pod = pod_with(rng, f"case-{tag}")
    spec = pod["spec"]
    _extend(rng, spec["containers"][0])
    if rng.random() < 0.3:
        second: Json = {"name": "second", "image": "example.com/none", "resources": {}}
        _extend(rng, second)
        spec["containers"].append(second)
    if rng.random() < 0.3:
        first: Json = {"name": "first", "image": "example.com/none", "resources": {}}
        if rng.random() < 0.5:
            first["restartPolicy"] = "Always"
        _extend(rng, first)
        spec["initContainers"] = [first]
    return pod


def _extend(rng: random.Random, container: Json) -> None:
    resources = container["resources"]
    for name in rng.choice([[EXTENDED], [EXTENDED], [IMPLICIT], [EXTENDED, IMPLICIT]]):
        count = rng.choice(["1", "1", "2", "3"])
        for kind in ("requests", "limits"):
            resources[kind] = {**resources.get(kind, {}), name: count}
