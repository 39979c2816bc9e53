# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Claims that a PodGroup of Kubernetes lists are reserved for it, and given back with its pods."""

from typing import Any

import pytest

from enbloc.devices.decisions import Listing
from enbloc.framework.act import Reply
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.pods import PodResourceClaim
from tests.plugins.cluster import Json, once
from tests.plugins.test_dynamic_resources_act import OTHER, TARGET, THEIRS, World, got, of, written

POD_GROUP = "PodGroup"
BY_NAME = Listing("g", (PodResourceClaim("gpu"),))
FROM_TEMPLATE = Listing("g", (PodResourceClaim("gpu", "gpus"),))
WHOLE = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"}


@pytest.mark.parametrize(
    ("listing", "entry"),
    [
        (BY_NAME, {"name": "gpu", "resourceClaimName": "c"}),
        (FROM_TEMPLATE, {"name": "gpu", "resourceClaimTemplateName": "gpus"}),
    ],
)
async def test_a_claim_that_a_pod_group_lists_is_reserved_once_for_all_of_its_pods(
    listing: Listing, entry: Json
) -> None:
    """Semantics §2.10."""
    world = World()
    world.put(POD_GROUP, "g", spec={"resourceClaims": [{"name": "other"}, entry]})
    both = of(got(), listing)
    assert await world.prepare(both) == SUCCESS
    assert await world.prepare(both, target=OTHER) == SUCCESS
    assert world.status["reservedFor"] == [WHOLE]


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([], id="lists nothing"),
        pytest.param([{"name": "gpu", "resourceClaimName": "d"}], id="another claim"),
        pytest.param([{"name": "tpu", "resourceClaimName": "c"}], id="by another name"),
        pytest.param([{"name": "gpu", "resourceClaimTemplateName": "c"}], id="a template"),
        pytest.param(["c", None, {"name": 3}], id="nonsense"),
    ],
)
async def test_a_claim_that_the_pod_group_does_not_list_is_reserved_for_each_pod(
    entries: list[Any],
) -> None:
    world = World()
    world.put(POD_GROUP, "g", spec={"resourceClaims": entries})
    assert await world.prepare(of(got(), BY_NAME)) == SUCCESS
    assert await world.prepare(of(got(), BY_NAME), target=OTHER) == SUCCESS
    assert world.reserved == ["p", "q"]


async def test_without_the_pod_group_a_claim_is_reserved_for_the_pod() -> None:
    world = World()
    assert await world.prepare(of(got(), BY_NAME)) == SUCCESS
    assert world.reserved == ["p"]


async def test_while_the_pod_group_cannot_be_read_nothing_is_reserved() -> None:
    world = World()
    world.before = once(Reply(403, message="forbidden"), f"get {POD_GROUP}")
    status = await world.prepare(of(got(), BY_NAME))
    assert status == Status(Code.ERROR, "PodGroup ns/g: forbidden")
    assert not world.status


async def test_of_a_pod_group_the_devices_stay_until_none_of_its_pods_is_placed() -> None:
    """Semantics §3.8: bound, by this plan or another, or on their way to a node."""
    world = World()
    world.put(POD_GROUP, "g", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]})
    both = of(got(), BY_NAME)
    await world.prepare(both)
    world.placed = {TARGET.uid: "g", OTHER.uid: "g"}
    await world.unreserve(both)
    assert world.status["reservedFor"] == [WHOLE]

    world.placed = {TARGET.uid: "h", OTHER.uid: "g"}
    await world.unreserve(both, target=OTHER)
    assert world.status == {"reservedFor": []}
    assert world.finalizers == []


async def test_devices_of_a_pod_group_that_others_use_too_stay_for_these() -> None:
    world = World()
    world.put(POD_GROUP, "g", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]})
    world.allocate("gpu-0", THEIRS, {**WHOLE, "name": "h", "uid": "uid-h"})
    await world.prepare(of(None, BY_NAME))
    await world.unreserve(of(None, BY_NAME))
    assert world.status["allocation"] == written()
    assert world.reserved == ["q", "h"]
