# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which devices claims get, case by case.

Source of the cases: kubernetes v1.36
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/allocatortesting.
"""

from typing import Any

import pytest

from enbloc.devices.facts import ResourceClaim, ResourceSlice
from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.resources import ResourceSpace
from tests.devices.objects import (
    DRIVER,
    Json,
    allocated,
    ask,
    claim,
    consumes,
    counter_set,
    device,
    device_class,
    every,
    exactly,
    first_of,
    picked,
    pod,
    slice_of,
    table,
)

LARGE_ENOUGH = 'device.capacity["{}"].memory.compareTo(quantity("5")) >= 0'
SMALL, LARGE = device("small", capacity={"memory": "1"}), device("large", capacity={"memory": "10"})
NUMA = f"{DRIVER}/numa"


def on(**numa: int) -> tuple[Json, ...]:
    """Devices by name, with the value of an attribute."""
    return tuple(device(name, attributes={"numa": value}) for name, value in numa.items())


def zone(name: str) -> Json:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [name]}]}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}}


def got(slices: tuple[ResourceSlice, ...], *claims: ResourceClaim, old: Any = ()) -> Any:
    """What the claims of a pod on node a get, device names by claim; a reason where nothing."""
    devices = table(device_class(), device_class("other", "false"), *slices, *claims, *old)
    nodes = Nodes(ResourceSpace(), Ledgers())
    nodes.put(Node("a", labels=(("zone", "z"),), allocatable=(("pods", 110),)))
    member = pod("p", *(each.name for each in claims))
    devices.place(member, "a", nodes)
    if devices.stands(member.uid):
        return [[name.split("/")[1] for name in each] for each in picked(devices, member)]
    asked = devices.asked(member)
    places = devices.places("a", devices.spread(nodes))
    return asked.refusal or devices.verdict(asked.demands, "a", places).reason


def mine(*requests: Json, name: str = "c", **more: Any) -> ResourceClaim:
    return claim(name, *requests, owner="p", **more)


NONE = "cannot allocate all claims"
INVALID = "invalid resource pools were encountered"


@pytest.mark.parametrize(
    ("slices", "claims", "expected"),
    [
        pytest.param((slice_of("a", SMALL),), (mine(exactly()),), [["small"]], id="simple"),
        pytest.param((slice_of("b", SMALL),), (mine(exactly()),), NONE, id="on-another-node"),
        pytest.param((), (mine(exactly()),), NONE, id="no-slices"),
        pytest.param(
            (slice_of("a", SMALL, LARGE),),
            (mine(exactly("any"), exactly("large", 1, "gpu", LARGE_ENOUGH.format(DRIVER))),),
            [["small", "large"]],
            id="the-large-one-for-the-request-that-needs-it",
        ),
        pytest.param(
            (slice_of("a", LARGE, SMALL),),
            (mine(exactly("any"), exactly("large", 1, "gpu", LARGE_ENOUGH.format(DRIVER))),),
            [["small", "large"]],
            id="backtracking-over-requests",
        ),
        pytest.param(
            (slice_of("a", LARGE, SMALL),),
            (
                mine(exactly("any")),
                mine(exactly("large", 1, "gpu", LARGE_ENOUGH.format(DRIVER)), name="d"),
            ),
            [["small"], ["large"]],
            id="backtracking-over-claims",
        ),
        pytest.param(
            (slice_of("a", SMALL, count=2), slice_of("a", LARGE, count=2, name="second")),
            (mine(exactly("all", 2)),),
            [["small", "large"]],
            id="devices-of-two-slices",
        ),
        pytest.param(
            (slice_of("a", SMALL), slice_of("a", LARGE, generation=2, name="second")),
            (mine(exactly()),),
            [["large"]],
            id="an-obsolete-slice",
        ),
        pytest.param(
            (slice_of("a", SMALL, count=2),), (mine(exactly()),), NONE, id="an-incomplete-pool"
        ),
        pytest.param(
            (slice_of("a", SMALL, count=2), slice_of("a", SMALL, count=2, name="again")),
            (mine(exactly()),),
            INVALID,
            id="two-devices-of-one-name",
        ),
        pytest.param(
            (slice_of("a", SMALL),), (mine(exactly("r", 1, "other")),), NONE, id="none-of-the-class"
        ),
        pytest.param(
            (slice_of("a", SMALL, LARGE),), (mine(every()),), [["small", "large"]], id="all"
        ),
        pytest.param((slice_of("a"),), (mine(every()),), NONE, id="all-of-none"),
        pytest.param(
            (slice_of("a", SMALL, LARGE),), (mine(every(), exactly()),), NONE, id="all-and-one-more"
        ),
        pytest.param(
            (slice_of("a", *[device(str(at)) for at in range(33)]),),
            (mine(every()),),
            ": number of requested devices 33 exceeds the claim limit of 32",
            id="all-of-too-many",
        ),
        pytest.param(
            (slice_of(None, SMALL, allNodes=True),), (mine(exactly()),), [["small"]], id="all-nodes"
        ),
        pytest.param(
            (slice_of(None, SMALL, **zone("z")),), (mine(exactly()),), [["small"]], id="by-labels"
        ),
        pytest.param(
            (slice_of(None, SMALL, **zone("y")),), (mine(exactly()),), NONE, id="by-other-labels"
        ),
        pytest.param(
            (
                slice_of(
                    None,
                    {**SMALL, "nodeName": "b"},
                    {**LARGE, **zone("z")},
                    perDeviceNodeSelection=True,
                ),
            ),
            (mine(exactly()),),
            [["large"]],
            id="each-device-for-itself",
        ),
        pytest.param(
            (slice_of("a", *on(x=1, y=2, z=2)),),
            (mine(exactly("r", 2), constraints=({"matchAttribute": NUMA},)),),
            [["y", "z"]],
            id="equal-attributes",
        ),
        pytest.param(
            (slice_of("a", *on(x=1, y=1, z=2)),),
            (mine(exactly("r", 2), constraints=({"distinctAttribute": NUMA},)),),
            [["x", "z"]],
            id="distinct-attributes",
        ),
        pytest.param(
            (slice_of("a", *on(x=1, y=2, z=1)),),
            (mine(exactly("r", 3), constraints=({"distinctAttribute": NUMA},)),),
            NONE,
            id="distinct-attributes-of-three-devices-of-one-request",
        ),
        pytest.param(
            (slice_of("a", SMALL, *on(x=1)),),
            (mine(exactly(), constraints=({"matchAttribute": NUMA},)),),
            [["x"]],
            id="a-device-without-the-attribute",
        ),
        pytest.param(
            (slice_of("a", *on(x=1, y=2)),),
            (mine(every(), constraints=({"matchAttribute": NUMA},)),),
            f", request gpus: cannot add device {DRIVER}/a/y because a claim constraint would not "
            "be satisfied",
            id="all-devices-that-do-not-agree",
        ),
        pytest.param(
            (slice_of("a", SMALL),),
            (mine(first_of("r", ask("two", 2), ask("one"))),),
            [["small"]],
            id="the-second-alternative",
        ),
        pytest.param(
            (slice_of("a", SMALL, LARGE),),
            (mine(first_of("r", ask("two", 2), ask("one")), exactly("s")),),
            [["small", "large"]],
            id="a-later-request-lets-an-alternative-fail",
        ),
        pytest.param(
            (slice_of("a", {**SMALL, "taints": [{"key": "k", "effect": "NoSchedule"}]}),),
            (mine(exactly()),),
            NONE,
            id="a-taint",
        ),
        pytest.param(
            (slice_of("a", {**SMALL, "taints": [{"key": "k", "effect": "NoExecute"}]}),),
            (mine(exactly(tolerations=[{"key": "k", "operator": "Exists"}])),),
            [["small"]],
            id="a-taint-that-is-tolerated",
        ),
        pytest.param(
            (slice_of("a", {**SMALL, "taints": [{"key": "k", "effect": "None"}]}),),
            (mine(exactly()),),
            [["small"]],
            id="a-taint-that-only-tells",
        ),
        pytest.param(
            (
                slice_of(None, {**SMALL, "bindingConditions": ["Ready"]}, pool="a", allNodes=True),
                slice_of("a", LARGE, pool="z"),
            ),
            (mine(exactly()),),
            [["large"]],
            id="devices-that-make-pods-wait-come-last",
        ),
        pytest.param(
            (
                slice_of("a", device("p", consumesCounters=[consumes("s", m=3)]),
                         device("q", consumesCounters=[consumes("s", m=3)]), count=2),
                slice_of("a", name="c", count=2, sharedCounters=[counter_set("s", m=4)]),
            ),
            (mine(exactly("r", 2)),),
            NONE,
            id="counters-for-one",
        ),
        pytest.param(
            (
                slice_of("a", device("p", consumesCounters=[consumes("gone", m=3)]), count=2),
                slice_of("a", name="c", count=2, sharedCounters=[counter_set("s", m=4)]),
            ),
            (mine(exactly()),),
            INVALID,
            id="counters-that-are-not-there",
        ),
        pytest.param(
            (
                slice_of("a", device("p"), count=3),
                slice_of("a", name="c", count=3, sharedCounters=[counter_set("s", m=4)]),
                slice_of("a", name="d", count=3, sharedCounters=[counter_set("s", m=5)]),
            ),
            (mine(exactly()),),
            INVALID,
            id="counters-that-contradict-each-other",
        ),
        pytest.param(
            (slice_of("a", device("s", capacity={"m": "4"}, allowMultipleAllocations=True)),),
            (
                mine(exactly(capacity={"requests": {"m": "2"}})),
                mine(exactly(capacity={"requests": {"m": "2"}}), name="d"),
            ),
            [["s"], ["s"]],
            id="two-shares-of-one-device",
        ),
        pytest.param(
            (slice_of("a", device("s", capacity={"m": "4"}, allowMultipleAllocations=True)),),
            (
                mine(exactly(capacity={"requests": {"m": "2"}})),
                mine(exactly(capacity={"requests": {"m": "3"}}), name="d"),
            ),
            NONE,
            id="more-than-a-device-has",
        ),
        pytest.param(
            (slice_of("a", LARGE),),
            (mine(exactly(capacity={"requests": {"memory": "11"}})),),
            NONE,
            id="a-capacity-that-no-device-has",
        ),
    ],
)  # fmt: skip
def test_claims_get_what_kube_scheduler_gives_them(
    slices: tuple[ResourceSlice, ...], claims: tuple[ResourceClaim, ...], expected: Any
) -> None:
    assert got(slices, *claims) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(exactly(), [["large"]], id="a-device-in-use-is-passed-over"),
        pytest.param(exactly(adminAccess=True), [["small"]], id="but-not-for-looking-after-it"),
        pytest.param(every(), NONE, id="and-all-cannot-be-had"),
    ],
)
def test_devices_in_use(request_: Json, expected: Any) -> None:
    old = claim("old", exactly(), status=allocated("small", pool="a"))

    assert got((slice_of("a", SMALL, LARGE),), mine(request_), old=(old,)) == expected


@pytest.mark.parametrize(
    ("policy", "wanted", "consumed"),
    [
        pytest.param(None, None, 8, id="all-of-it"),
        pytest.param(None, "3", 3, id="what-is-asked"),
        pytest.param({"default": "2"}, None, 2, id="the-default"),
        pytest.param({"default": "2", "validValues": ["2", "4"]}, "3", 4, id="the-next-value"),
        pytest.param(
            {"default": "2", "validRange": {"min": "2", "step": "3"}}, "6", 8, id="the-next-step"
        ),
        pytest.param({"default": "2", "validRange": {"min": "2"}}, "1", 2, id="the-least"),
        pytest.param({"default": "2", "validValues": ["2", "4"]}, "5", None, id="no-such-value"),
        pytest.param(
            {"default": "2", "validRange": {"min": "2", "max": "4"}},
            "5",
            None,
            id="beyond-the-most",
        ),
    ],
)
def test_what_a_share_takes(policy: Json | None, wanted: str | None, consumed: int | None) -> None:
    capacity: Json = {"value": "8", **({"requestPolicy": policy} if policy else {})}
    devices = table(
        device_class(),
        slice_of("a", device("s", capacity={"m": capacity}, allowMultipleAllocations=True)),
        mine(exactly(capacity={"requests": {"m": wanted} if wanted else {}})),
    )
    nodes = Nodes(ResourceSpace(), Ledgers())
    nodes.put(Node("a", allocatable=(("pods", 110),)))
    devices.place(pod("p", "c"), "a", nodes)
    decision = devices.decision(pod("p", "c").uid)
    assert decision is not None
    allocation = decision.claims[0].allocation

    if consumed is None:
        assert allocation is None
    else:
        assert allocation is not None
        (result,) = allocation.results
        assert result.consumed == (("m", consumed * 10**9),)
        assert result.share


def test_a_capacity_without_a_domain_is_one_of_each_driver() -> None:
    """Two drivers write the same of their devices, and share it here."""
    other = "nic.example.com"
    devices = table(
        device_class(),
        slice_of("a", LARGE, pool="gpus"),
        slice_of("a", LARGE, pool="nics", driver=other),
        mine(
            exactly(
                "gpu", 1, "gpu", f'device.driver == "{DRIVER}" && {LARGE_ENOUGH.format(DRIVER)}'
            ),
            exactly(
                "nic",
                1,
                "gpu",
                f'device.driver == "{other}" && {LARGE_ENOUGH.format(other)}',
            ),
        ),
    )
    nodes = Nodes(ResourceSpace(), Ledgers())
    nodes.put(Node("a", allocatable=(("pods", 110),)))

    devices.place(pod("p", "c"), "a", nodes)

    assert picked(devices, pod("p", "c")) == [["gpus/large", "nics/large"]]
