# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that a tenant may store, and that decoders give up on, stop neither process."""

from typing import Any

import msgspec
import pytest

from enbloc.client.paths import JOBS, POD_GROUPS, PODS, SERVICES, Resource
from enbloc.model import names
from tests.e2e import manifests
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes are started again, seconds each")

#: More than Python or msgspec follow, and less than the API server takes.
DEEP = 9000


def managed(body: dict[str, Any], resource: Resource, depth: int) -> dict[str, Any]:
    """The same, with a field manager whose fields are nested."""
    nested = msgspec.Raw(b'{"f:a":' * depth + b"{}" + b"}" * depth)
    entry = {
        "manager": "somebody",
        "operation": "Update",
        "apiVersion": resource.api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": nested,
    }
    return {**body, "metadata": {**body["metadata"], "managedFields": [entry]}}


async def create_deep(world: World, resource: Resource, body: dict[str, Any], depth: int) -> None:
    """Create an object, and see that the server keeps it as deep as that."""
    whole = managed(body, resource, depth)
    raw = await world.client.request("create", resource, namespace=world.namespace, body=whole)
    assert raw.count(b'{"f:a":') == depth, "else nothing is tried"


# The sandbox takes no object that nests so deep.
@pytest.mark.parametrize(
    "target", [pytest.param("controlplane", marks=pytest.mark.controlplane)], indirect=True
)
@pytest.mark.parametrize("depth", [1200, DEEP])
async def test_objects_that_nest_deep_are_read_at_the_start_and_as_they_come(
    world: World, depth: int
) -> None:
    await world.nodes(1, cpu=10)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "deep"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}},
    }
    idle = manifests.job("idle", 1, "elsewhere")
    idle["spec"]["suspend"] = True
    # As they come, and by the end of this test in the first lists of new processes.
    await create_deep(world, PODS, manifests.pod("stranger", scheduler="nobody"), depth)
    await create_deep(world, SERVICES, service, depth)
    await create_deep(world, JOBS, idle, depth)
    world.watch_over("train", 2)
    await create_deep(world, POD_GROUPS, manifests.group("train", 2), depth)
    for index in range(2):
        await create_deep(world, PODS, manifests.pod(f"train-{index}", "train"), depth)
    await world.bound("train", 2)
    await world.condition("train", "Ready", "True", reason="Running")

    await world.start_scheduler(restart=True)
    world.controller.kill()
    await world.start_controller()
    await world.gang("later", 2)
    await world.bound("later", 2)
    await world.condition("later", "Ready", "True", reason="Running")
    assert "RecursionError" not in world.scheduler.text() + world.controller.text()


async def test_a_binding_record_that_nests_deep_is_none(world: World) -> None:
    nested = '{"plan":' * 800 + "1" + "}" * 800
    await world.nodes(1, cpu=10)
    short = '{"plan":"p","x":' + "[" * 500 + "]" * 500 + "}"
    for number, text in enumerate((nested, short)):
        annotations = {names.PLAN_KEY: text}
        await world.pod(f"hostile-{number}", annotations=annotations, node=f"{world.namespace}-n0")
    await world.start_scheduler(restart=True)
    await world.gang("train", 2, annotations={names.PLAN_KEY: nested})
    await world.bound("train", 2)
    await world.condition("train", "Ready", "True", reason="Running")
