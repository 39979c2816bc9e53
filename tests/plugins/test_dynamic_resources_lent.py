# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A claim for extended resources that some other pod names as its own stays."""

import pytest

from enbloc.devices.decisions import DeviceDecision, ExtendedDecision
from enbloc.devices.facts import Allocation
from enbloc.framework.status import SUCCESS
from enbloc.plugins.dynamic_resources import act
from tests.plugins.test_dynamic_resources_act import BY_EXTENDED, CLAIM, EXTENDED, TARGET, World


@pytest.mark.parametrize("finalizers", [[act.FINALIZER], []])
async def test_a_claim_for_extended_resources_that_others_use_is_not_deleted(
    finalizers: list[str],
) -> None:
    """Its devices would be given to the next pod while they are in use."""
    world = World()
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    made = world.get(CLAIM, EXTENDED)
    made["metadata"]["finalizers"] = finalizers
    made["status"]["reservedFor"].append({"resource": "pods", "name": "x", "uid": "uid-x"})
    world.put(CLAIM, EXTENDED, **made)
    status = await act.unreserve(BY_EXTENDED, TARGET, world)
    assert (
        status.message
        == f"ResourceClaim ns/{EXTENDED} is reserved for others: it cannot be deleted"
    )
    assert world.get(CLAIM, EXTENDED)["metadata"]["finalizers"] == finalizers
    assert BY_EXTENDED.extended is not None
    other = ExtendedDecision((), BY_EXTENDED.extended.mappings, Allocation())
    status = await act.pre_bind(DeviceDecision((), other), TARGET, world, 600)
    assert "is reserved for others" in status.message
    assert (CLAIM, "ns", EXTENDED) in world.objects
