# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever the API server says an object is, binding it ends in an answer."""

import asyncio
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.devices import decisions as devices
from enbloc.devices.facts import AllocatedDevice, Allocation, Request, SubRequest
from enbloc.framework.act import Target
from enbloc.framework.status import Status
from enbloc.model.pods import PodKey, PodUID
from enbloc.plugins.dynamic_resources import act as dynamic_resources_act
from enbloc.plugins.volume_binding import act as volume_binding_act
from enbloc.storage import decisions as volumes
from tests.plugins.cluster import Cluster, Json

TARGET = Target("plan-1", PodKey("ns", "p"), PodUID("uid-p"), "n1")
RESULT = AllocatedDevice("r", "gpu", "n1", "gpu-0", False, (), ("Attached",), ("Failed",))
REQUEST = Request("r", SubRequest("r", "gpu"))
DISKS = volumes.VolumeDecision(
    (
        volumes.VolumeClaimDecision("ns/c", "uid-c", volumes.VolumeRef("v", "uid-v")),
        volumes.VolumeClaimDecision("ns/d", "uid-d"),
    )
)
GPUS = devices.DeviceDecision(
    (devices.DeviceClaimDecision("ns/r", "uid-r", Allocation((RESULT,))),),
    devices.ExtendedDecision((REQUEST,), (("c", "gpu", "r"),), Allocation((RESULT,))),
)
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
DEVICE = {"driver": "gpu", "pool": "n1", "device": "gpu-0"}
FAILED = {"type": "Failed", "status": "True", "reason": "r", "message": "m"}
OWNER = {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True, "apiVersion": "v1"}
ANNOTATIONS = {"pv.kubernetes.io/bind-completed": "yes"}

OBJECTS: dict[tuple[str, str, str], Json] = {
    ("Node", "", "n1"): {"metadata": {"labels": {"zone": "a"}}},
    ("Pod", "ns", "p"): {"metadata": {}, "spec": {"nodeName": ""}, "status": {"phase": "Pending"}},
    ("PersistentVolume", "", "v"): {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {
            "claimRef": {"namespace": "ns", "name": "c", "uid": "uid-c"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}},
        },
    },
    ("PersistentVolumeClaim", "ns", "c"): {
        "metadata": {"annotations": ANNOTATIONS},
        "spec": {"volumeName": "v"},
        "status": {"phase": "Bound"},
    },
    ("PersistentVolumeClaim", "ns", "d"): {
        "metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    },
    ("ResourceClaim", "ns", "r"): {
        "metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {
                "devices": {
                    "results": [{**DEVICE, "request": "r", "bindingConditions": ["Attached"]}]
                }
            },
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
            "devices": [{**DEVICE, "conditions": [FAILED]}],
        },
    },
    ("ResourceClaim", "ns", "p-extended-resources-uidp"): {
        "metadata": {
            "ownerReferences": [OWNER],
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        },
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    },
}

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2**70, 1.5, "", "x", "\x00", [], [None], ["x"], {}, [[]]]
)


def paths(thing: Any, base: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something is in an object."""
    if isinstance(thing, dict):
        inside = [path for key, each in thing.items() for path in paths(each, (*base, key))]
    elif isinstance(thing, list):
        inside = [path for index, each in enumerate(thing) for path in paths(each, (*base, index))]
    else:
        inside = []
    return ([base] if base else []) + inside


PLACES = [(key, path) for key, body in OBJECTS.items() for path in paths(body)]


class Hostile(Cluster):
    """Says of an object something odd, and never waits long."""

    def __init__(self, changes: list[tuple[tuple[Any, Any], Any]]) -> None:
        super().__init__()
        for key, body in copy.deepcopy(OBJECTS).items():
            kind, namespace, name = key
            self.put(kind, name, namespace, **body)
        for (key, path), odd in changes:
            self._spoil(self.objects[key], path, odd)

    def _spoil(self, thing: Any, path: tuple[Any, ...], odd: Any) -> None:
        *before, last = path
        try:
            for step in before:
                thing = thing[step]
            thing[last] = odd
        except (TypeError, KeyError, IndexError, AttributeError):
            return  # an earlier change has taken it away

    def now(self) -> float:
        self._seconds = getattr(self, "_seconds", 1_800_000_000.0) + 10
        return self._seconds

    async def changed(self, seen: Any, timeout: float) -> bool:
        del seen, timeout
        return False


@pytest.mark.parametrize("kind", ["volumes", "devices"])
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=3))
def test_an_object_that_is_odd_ends_in_an_answer(
    kind: str, changes: list[tuple[tuple[Any, Any], Any]]
) -> None:
    async def run() -> tuple[Status, Status]:
        api = Hostile(changes)
        if kind == "volumes":
            done = await volume_binding_act.pre_bind(DISKS, TARGET, api, 60)
            return done, await volume_binding_act.unreserve(DISKS, TARGET, api)
        done = await dynamic_resources_act.pre_bind(GPUS, TARGET, api, 60)
        return done, await dynamic_resources_act.unreserve(GPUS, TARGET, api)

    for status in asyncio.run(run()):
        assert status.ok or status.message
