# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What tenants write and what administrators configure, and what of it can be read afterwards."""

import json
from typing import Any

import pytest

from enbloc.client.errors import Invalid
from enbloc.client.paths import EVENTS, POD_GROUPS, PODS
from enbloc.model import names
from tests.e2e.processes import Server
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("needs a server and processes")

#: A forged line of a log, colours, a title, a text that runs backwards, and one that nobody sees.
HOSTILE = "x\n12:00:00.000 INFO    Evicted a pod\r\x1b[31m\x1b]0;t\x07\u202egnp.exe\u200b"
ESCAPED = r"x\n12:00:00.000 INFO    Evicted a pod\r\x1b[31m\x1b]0;t\x07\u202egnp.exe\u200b"

EXTENDED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://user:s3cret@127.0.0.1:9/x
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 1
"""


async def written(world: World) -> list[Any]:
    """Every event, and every PodGroup and pod with its conditions, of the namespace."""
    found: list[Any] = []
    for resource in (EVENTS, POD_GROUPS, PODS):
        found += [item async for item in world.client.list(resource, world.namespace)]
    return found


def visible(server: Server) -> None:
    """Every line of a log is one of ours, or belongs to a traceback, and can be seen."""
    for line in server.text().split("\n"):
        assert line.isprintable(), repr(line)


async def test_the_credentials_of_an_extender_are_nowhere(world: World) -> None:
    config = world.path / "extended.yaml"
    config.write_text(EXTENDED)
    await world.start_scheduler(f"--config={config}", "-v", restart=True)
    await world.nodes(1, cpu=8)
    await world.gang("g", 2)
    await world.condition("g", "Scheduled", "False", reason="SchedulerError", message="***@127.0")
    await world.event("g", "GangBindFailed", note="http://***@127.0.0.1:9/x")
    said = world.scheduler.text() + json.dumps(await written(world))
    assert "http://***@127.0.0.1:9/x" in said
    assert "s3cret" not in said


async def test_what_tenants_write_is_escaped_wherever_it_is_told(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.group("g", 2, roles=[{"name": "worker", "minMember": 1}])
    await world.pod("odd", "g", annotations={names.ROLE_KEY: HOSTILE})
    await world.event("odd", "UnknownRole", note=ESCAPED)
    await world.pod("lost", HOSTILE)
    await world.event("lost", "FailedScheduling", note=r"Evicted a pod\r\x1b")
    await world.pod("far", node_selector={"no-such": "label"})
    await world.event("far", "FailedScheduling")
    told = [item.get("note", "") for item in await written(world)]
    for item in await written(world):
        conditions = (item.get("status") or {}).get("conditions") or ()
        told += [condition.get("message", "") for condition in conditions]
    assert any(ESCAPED in text for text in told)
    assert all(text.isprintable() for text in told)
    for server in (world.scheduler, world.controller):
        visible(server)


async def test_a_name_that_no_resource_has_is_refused_with_its_field(world: World) -> None:
    with pytest.raises(Invalid, match=r"spec\.minResources.*resource names must be like"):
        await world.group("g", 2, minResources={HOSTILE: "1"})


async def test_a_mirror_pod_of_a_kubelet_is_counted_in_nobody_s_gang(world: World) -> None:
    [node] = await world.nodes(1, cpu=8)
    await world.group("g", 2)
    mirror = {"kubernetes.io/config.mirror": "5f1a", "kubernetes.io/config.source": "file"}
    await world.pod("mirror", "g", node=node, annotations=mirror, scheduler="nobody")
    await world.pod("g-0", "g")
    await world.condition("g", "Scheduled", "False", reason="WaitingForMembers", message="1 of 2")
    await world.pod("g-1", "g")
    await world.bound("g", 2)
