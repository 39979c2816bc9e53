# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of resource.k8s.io, in each of the versions that serve them."""

import sys
from typing import Any

import msgspec
import pytest

from enbloc.devices.facts import (
    Fact,
    ResourceClaim,
    ResourceSlice,
    Unreadable,
    Version,
)
from enbloc.devices.writing import allocation_json
from enbloc.model.quantity import nano, nano_text
from enbloc.wire.device_codec import (
    read_resource_claim,
    resource_slice,
)
from enbloc.wire.device_objects import SliceObject
from tests.devices.objects import (
    allocated,
    claim,
    device,
    device_class,
    exactly,
    slice_of,
)

GPU = {
    "attributes": {
        "model": {"string": "a100"},
        "gpu.example.com/index": {"int": 3},
        "nvlink": {"bool": True},
        "cuda": {"version": "12.2.0"},
    },
    "capacity": {"memory": {"value": "80Gi"}},
    "taints": [{"key": "k", "effect": "NoSchedule"}],
}


def _slice(device: dict[str, Any]) -> ResourceSlice:
    spec = {
        "driver": "gpu.example.com",
        "pool": {"name": "a", "generation": 2, "resourceSliceCount": 1},
        "nodeName": "a",
        "devices": [device],
    }
    return resource_slice(msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, SliceObject))


def test_v1beta1_has_all_but_the_name_of_a_device_in_basic() -> None:
    new, old = _slice({"name": "gpu-0", **GPU}), _slice({"name": "gpu-0", "basic": GPU})

    assert old == new
    assert new.devices[0].attribute("gpu.example.com/model") == "a100"
    assert new.devices[0].attribute("gpu.example.com/index") == 3
    assert new.devices[0].attribute("gpu.example.com/nvlink") is True
    assert isinstance(new.devices[0].attribute("gpu.example.com/cuda"), Version)


def test_v1beta1_has_the_fields_of_exactly_in_the_request() -> None:
    ask = {
        "deviceClassName": "gpu",
        "count": 2,
        "allocationMode": "ExactCount",
        "selectors": [{"cel": {"expression": "true"}}],
    }
    old, new = (
        read_resource_claim(
            {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
        )
        for request in ({"name": "r", **ask}, {"name": "r", "exactly": ask})
    )

    assert old == new


def test_claims_of_one_template_share_what_they_ask_for() -> None:
    one, other = (
        read_resource_claim(
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}
                },
            }
        )
        for name in ("a", "b")
    )

    assert isinstance(one, ResourceClaim)
    assert isinstance(other, ResourceClaim)
    assert one.spec is other.spec


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param(
            {"capacity": {"memory": {"value": "much"}}},
            'spec.devices[0].capacity["memory"].value: "much" is not a quantity',
            id="a-capacity-that-is-no-quantity",
        ),
        pytest.param(
            {"consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": "-1"}}}]},
            "spec.devices[0].consumesCounters[0]: consumes less than nothing",
            id="a-device-that-gives-counters-back",
        ),
        pytest.param(
            {
                "capacity": {
                    "m": {
                        "value": "4",
                        "requestPolicy": {"validRange": {"min": "1", "step": "0"}},
                    }
                }
            },
            "validRange.step: must be above zero",
            id="a-step-of-nothing",
        ),
    ],
)
def test_a_device_that_cannot_be_read_is_named_and_not_offered(
    wrong: dict[str, Any], problem: str
) -> None:
    found = _slice({"name": "gpu-0", **wrong})

    assert problem in found.problem
    assert found.devices == ()


def test_a_negative_capacity_is_named() -> None:
    found = _slice({"name": "gpu-0", "capacity": {"memory": {"value": "-1Gi"}}})

    assert found.problem == 'spec.devices[0].capacity["memory"].value: "-1Gi" is negative'
    assert len(found.devices) == 1


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({"metadata": {"name": "x"}, "spec": 3}, id="a-spec-that-is-a-number"),
        pytest.param({"metadata": 3}, id="metadata-that-is-a-number"),
        pytest.param(
            {"metadata": {"name": "x"}, "spec": {"devices": {"requests": [{"name": 1}]}}},
            id="a-request-that-is-named-by-a-number",
        ),
    ],
)
def test_what_is_no_such_object_is_told(obj: dict[str, Any]) -> None:
    found = read_resource_claim(obj)
    assert isinstance(found, Unreadable)
    assert found.text


def test_an_allocation_reads_as_it_is_written() -> None:
    status = {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": "r",
                        "driver": "gpu.example.com",
                        "pool": "a",
                        "device": "gpu-0",
                        "adminAccess": True,
                        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
                        "bindingConditions": ["Ready"],
                        "bindingFailureConditions": ["Failed"],
                        "shareID": "0b0b0b0b-0000-4000-8000-000000000000",
                        "consumedCapacity": {"memory": "40Gi"},
                    }
                ],
                "config": [
                    {
                        "source": "FromClass",
                        "requests": ["r"],
                        "opaque": {"driver": "d", "parameters": {"a": [1]}},
                    }
                ],
            },
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "zone", "operator": "In", "values": ["a"]},
                            {"key": "rack", "operator": "Exists"},
                        ],
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["a"]}
                        ],
                    }
                ]
            },
        }
    }
    found = read_resource_claim({"metadata": {"name": "c"}, "status": status})

    assert isinstance(found, ResourceClaim)
    assert found.allocation is not None
    assert allocation_json(found.allocation) == status["allocation"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("1024Mi", "1Gi", id="the-largest-binary-suffix"),
        pytest.param("1500m", "1500m", id="thousandths"),
        pytest.param("3", "3", id="units"),
        pytest.param("0", "0", id="nothing"),
        pytest.param("1n", "1n", id="the-finest-part"),
    ],
)
def test_a_quantity_is_exact(text: str, written: str) -> None:
    assert nano_text(nano(text)) == written
    assert nano(nano_text(nano(text))) == nano(text)


@pytest.mark.parametrize(
    "fact",
    [
        pytest.param(_slice({"name": "gpu-0", **GPU}), id="a-slice"),
        pytest.param(
            _slice({"name": "x", "attributes": {"v": {"versions": ["1.0.0"]}, "i": {"ints": [1]}}}),
            id="attributes-that-are-lists",
        ),
        pytest.param(
            device_class("gpu", "true", config=[{"opaque": {"driver": "d"}}]), id="a-class"
        ),
        pytest.param(
            claim(
                "c",
                exactly("r", 2, "gpu", "true", tolerations=[{"operator": "Exists"}]),
                constraints=({"matchAttribute": "a/b"},),
                status=allocated("0", pool="a"),
            ),
            id="a-claim",
        ),
    ],
)
def test_a_fact_is_the_same_after_it_was_written_to_a_file(fact: Fact) -> None:
    """A dump for replay holds it as JSON."""
    read: Fact = msgspec.convert(msgspec.json.decode(msgspec.json.encode(fact)), type=type(fact))

    assert read == fact


def test_ten_thousand_devices_take_less_than_a_kilobyte_each() -> None:
    many = [
        slice_of(
            f"node-{node}",
            *[
                device(
                    f"gpu-{at}",
                    attributes={
                        "model": "a100",
                        "uuid": f"GPU-0123456789abcdef-{node:04}-{at:02}",
                        "index": at,
                        "numa": at // 4,
                        "architecture": "ampere",
                        "pciAddress": f"0000:{at:02x}:00.0",
                        "brand": "nvidia",
                        "productName": "NVIDIA A100-SXM4-80GB",
                    },
                    capacity={"memory": "80Gi"},
                )
                for at in range(8)
            ],
        )
        for node in range(200)
    ]
    seen: set[int] = set()
    assert _bytes(many, seen) / (200 * 8) < 1024


def _bytes(obj: object, seen: set[int]) -> int:
    if id(obj) in seen or obj is None or isinstance(obj, bool | type):
        return 0
    seen.add(id(obj))
    size = sys.getsizeof(obj)
    if isinstance(obj, tuple | list):
        return size + sum(_bytes(each, seen) for each in obj)
    slots = getattr(type(obj), "__slots__", ())
    names = (
        [name for name in slots if not name.startswith("__")] if not isinstance(obj, str) else []
    )
    return size + sum(_bytes(getattr(obj, name, None), seen) for name in names)
