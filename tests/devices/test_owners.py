# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who has what of a pool, whatever statuses say of it."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import AllocatedDevice, Allocation, ResourceSlice
from enbloc.devices.owners import Owners, Withdrawn
from enbloc.devices.pools import pool_of
from enbloc.model.groups import GroupKey
from enbloc.model.pods import ContainerResource, PodUID
from tests.devices.objects import (
    DRIVER,
    allocated,
    claim,
    consumes,
    counter_set,
    device,
    device_class,
    exactly,
    nodes,
    pod,
    slice_of,
    table,
)

HALF = (("memory", 40 * 2**30 * 10**9),)


def test_a_status_that_lists_a_device_twice_counts_once() -> None:
    devices = table(slice_of("n1", device("gpu0"), device("gpu1")))

    devices.put(claim("c", exactly(), status=allocated("gpu0", "gpu0", pool="n1")))
    devices.put(claim("c", exactly(), status=allocated("gpu0", pool="n1")))

    assert devices.use((DRIVER, "n1")).again == {}


@pytest.mark.parametrize(("share", "numbers"), [("s1", 1), ("s2", 2)])
def test_a_share_that_is_shown_and_is_being_taken_back_is_in_use_once(
    share: str, numbers: int
) -> None:
    shared = device("gpu0", allowMultipleAllocations=True, capacity={"memory": "80Gi"})
    pool = pool_of((DRIVER, "n1"), [slice_of("n1", shared)])
    result = AllocatedDevice("gpus", DRIVER, "n1", "gpu0", share="s1", consumed=HALF)
    owners = Owners()
    owners.give("ns/c", (result,), {pool.key: pool}.get)

    owners.leave(
        Withdrawn(GroupKey("ns", "g"), "plan", PodUID("uid")), (result._replace(share=share),)
    )

    assert owners.use(pool).shares[0].number == numbers


def test_a_share_that_is_taken_back_for_several_members_is_in_use_once() -> None:
    """They share the claim, which each of them leaves."""
    shared = device("gpu0", allowMultipleAllocations=True, capacity={"memory": "80Gi"})
    pool = pool_of((DRIVER, "n1"), [slice_of("n1", shared)])
    result = AllocatedDevice("gpus", DRIVER, "n1", "gpu0", share="s1", consumed=HALF)
    owners = Owners()

    for uid in "abc":
        owners.leave(Withdrawn(GroupKey("ns", "g"), "plan", PodUID(uid)), (result,))

    assert owners.use(pool).shares[0] == (1, HALF)


PARTS = slice_of(
    "n1",
    *(device(f"part{at}", consumesCounters=[consumes("c", memory="40Gi")]) for at in range(2)),
    sharedCounters=[counter_set("c", memory="60Gi")],
)
WHOLE = slice_of("n1", device("gpu0", allowMultipleAllocations=True, capacity={"memory": "60Gi"}))


@pytest.mark.parametrize(
    ("published", "one", "other"),
    [
        pytest.param(PARTS, {"device": "part0"}, {"device": "part1"}, id="counters"),
        pytest.param(
            WHOLE,
            {"device": "gpu0", "share": "s0", "consumed": HALF},
            {"device": "gpu0", "share": "s1", "consumed": HALF},
            id="capacity",
        ),
    ],
)
def test_a_claim_of_whose_device_others_have_too_much_is_of_no_use_and_says_so(
    published: ResourceSlice, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Semantics §3.1; nobody has reserved it, and yet it is left over."""
    gets = {"c": one, "d": other}
    made = {
        name: replace(
            claim(name, exactly(), owner=f"p-{name}"),
            allocation=Allocation((AllocatedDevice("gpus", DRIVER, "n1", **got),)),
        )
        for name, got in gets.items()
    }
    devices = table(device_class(), published, made["c"])
    asking = pod("p-c", "c")
    assert devices.asked(asking).refusal == ""
    assert devices.left_over(asking, frozenset()) is None

    devices.put(made["d"])

    assert devices.asked(asking).refusal == (
        f"ResourceClaim default/c has device {DRIVER}/n1/{one['device']}, but claims have more of "
        "its capacity or counters than there is: delete one of them"
    )
    assert devices.left_over(asking, frozenset()) is not None
    devices.drop("ResourceClaim", "default/d")
    assert devices.asked(asking).refusal == ""


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_of_two_claims_that_were_made_for_one_pod_the_first_by_name_counts(order: str) -> None:
    marked = {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}
    made = {name: claim(name, exactly(), owner="p", metadata=marked) for name in "ab"}
    wanted = (ContainerResource(0, "main", "example.com/gpu", 0, 1),)
    asking = pod("p")
    asking = replace(asking, spec=replace(asking.spec, extended=wanted))
    devices = table(device_class(extendedResourceName="example.com/gpu"))
    for name in order:
        devices.put(made[name])
    devices.put(replace(made["a"], deleting=True))

    assert devices.claims_of(asking) == ["default/a"]
    devices.drop("ResourceClaim", "default/a")
    assert devices.claims_of(asking) == ["default/b"]


@pytest.mark.parametrize(("users", "found"), [(("p",), False), (("p", "q"), True)])
def test_what_only_one_pod_names_may_be_allocated_for_it_again(
    users: tuple[str, ...], *, found: bool
) -> None:
    """An earlier plan of its group may be giving it back; of others' claims it is a failure."""
    devices = table(
        device_class(),
        slice_of("n1", device("gpu0")),
        claim("c", exactly(), status=allocated("gpu0", pool="n1")),
    )
    for name in users:
        devices.enter(pod(name, "c"))

    trial = devices.fork()
    trial.place(pod("p", "c"), "n1", nodes("n1"))

    decision = trial.decision(pod("p", "c").uid)
    assert decision is not None
    assert [each.found for each in decision.claims] == [found]
