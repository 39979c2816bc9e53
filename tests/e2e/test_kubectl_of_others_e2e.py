# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What an unmodified kubectl shows of gangs whose PodGroup the controller made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from enbloc.client.client import PatchType
from enbloc.client.paths import CRDS, NAMESPACES, NATIVE_POD_GROUPS
from enbloc.model import names
from tests.controller.native_kinds import crd
from tests.e2e.test_kubectl_e2e import table
from tests.e2e.world import World
from tests.foreign_crds import DIALECTS

pytestmark = pytest.mark.kubectl
SIZE = 4
_V1, V1BETA1, *_OLDER = NATIVE_POD_GROUPS


@dataclass(frozen=True)
class Case:
    """A Job of SIZE pods that each need a CPU, as its users write it.

    Attributes:
        shown: what they look at to see why it waits.
        metadata: of its pods.
        group: another project's PodGroup that goes with it, without name and minimum.
        columns: what `kubectl get -o wide` shows of that, but for the age.
    """

    shown: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    group: str = ""
    columns: tuple[str, ...] = ()

    def manifests(self) -> str:
        """What they apply."""
        container = {
            "name": "main",
            "image": "none",
            "resources": {"requests": {"cpu": "1", "memory": "16Mi"}},
        }
        template = {
            "metadata": self.metadata,
            "spec": {
                "schedulerName": names.SCHEDULER_NAME,
                "restartPolicy": "Never",
                "containers": [container],
            },
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train"},
            "spec": {"parallelism": SIZE, "completions": SIZE, "template": template},
        }
        group = {
            "apiVersion": self.group,
            "kind": "PodGroup",
            "metadata": {"name": "train"},
            "spec": {"minMember": SIZE},
        }
        return yaml.safe_dump_all([group, job] if self.group else [job])


CASES = {
    "a Job": Case("job/train", {"labels": {names.AUTO_GROUP_KEY: "true"}}),
    "pods that declare it": Case(
        "job/train",
        {"labels": {names.POD_GROUP_KEY: "train", names.MIN_MEMBER_KEY: str(SIZE)}},
    ),
    "scheduler-plugins": Case(
        "podgroups.scheduling.x-k8s.io/train",
        {"labels": {"scheduling.x-k8s.io/pod-group": "train"}},
        "scheduling.x-k8s.io/v1alpha1",
        ("train", "Running", "4", "4"),
    ),
    "Volcano": Case(
        "podgroups.scheduling.volcano.sh/train",
        {"annotations": {"scheduling.k8s.io/group-name": "train"}},
        "scheduling.volcano.sh/v1beta1",
        ("train", "Running", "4", "4"),
    ),
}


@pytest.fixture
async def world(world: World) -> World:
    created = await world.kubectl("apply", "-f", str(DIALECTS))
    if "created" in created:  # the controller looks every half minute for what is served
        await world.kubectl("wait", "--for=condition=Established", "crd", "--all")
        world.controller.kill()
        await world.start_controller()
    body = {"metadata": {"labels": {names.AUTO_GROUP_KEY: "Job"}}}
    await world.client.patch(NAMESPACES, world.namespace, body, kind=PatchType.MERGE)
    return world


async def shown(world: World, text: str, what: str) -> str:
    """Describe an object until this is part of it."""
    said = [""]

    async def told() -> bool:
        said[0] = await world.kubectl("describe", what)
        return text in said[0]

    await world.eventually(told, lambda: f"describe {what} shows {text!r}:\n{said[0]}")
    return said[0]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_kubectl_shows_why_a_gang_waits_and_that_it_runs(world: World, case: Case) -> None:
    await world.nodes(1, cpu=SIZE - 1)
    world.watch_over("train", SIZE)
    await world.kubectl("apply", "-f", "-", stdin=case.manifests())
    await world.kubectl_until("Infeasible", "get", "epg", "--watch")
    _, row = table(await world.kubectl("get", "epg"))
    name = row[0]
    assert row[1:-1] == ["Infeasible", str(SIZE), "0", "0"]
    _, row = table(await world.kubectl("get", "epg", "-o", "wide"))
    assert "Insufficient cpu" in row[7]

    said = await shown(world, f"PodGroup {world.namespace}/{name}: needs ", case.shown)
    assert "Insufficient cpu" in said
    pods = (await world.kubectl("get", "pods", "-o", "name")).split()
    assert "Insufficient cpu" in await world.kubectl("describe", pods[0])
    said = await world.kubectl("describe", "epg", name)
    assert f"{names.DERIVED_KEY}=" in said
    assert "GangInfeasible" in said

    await world.nodes(1, cpu=SIZE)
    await world.kubectl("wait", "--for=condition=Scheduled", f"epg/{name}", "--timeout=60s")
    await world.bound("train", SIZE)
    await world.kubectl("wait", "--for=condition=Ready", "epg", "--all", "--timeout=60s")
    await shown(world, f"{name}: {SIZE} of {SIZE} members run", case.shown)
    if case.columns:
        kind = case.shown.partition("/")[0]
        await world.kubectl_until("Running", "get", kind, "--watch")
        _, row = table(await world.kubectl("get", kind))
        assert row[: len(case.columns)] == list(case.columns)


async def test_kubectl_explains_every_field_of_a_podgroup(world: World) -> None:
    said = await world.kubectl("explain", "epg.spec.minMember")
    assert "Minimum number of members that must be scheduled together" in said
    tree = await world.kubectl("explain", "epg", "--recursive")
    for field_name in ("minMember", "minResources", "onIncomplete", "roles", "conditions", "runs"):
        assert f"  {field_name}\t<" in tree


async def test_a_podgroup_of_kubernetes_says_why_its_gang_waits(world: World) -> None:
    if world.target.complete:
        pytest.skip("it is built in there, and served behind a gate")
    await world.client.create(CRDS, crd(V1BETA1))
    world.stack.push_async_callback(world.client.delete, CRDS, V1BETA1.label())
    world.controller.kill()
    await world.start_controller()
    await world.nodes(1, cpu=SIZE - 1)
    world.watch_over("train", SIZE)
    spec = {"schedulingPolicy": {"gang": {"minCount": SIZE}}}
    body = {"apiVersion": V1BETA1.api_version, "kind": V1BETA1.kind, "spec": spec}
    await world.client.create(V1BETA1, {**body, "metadata": {"name": "train"}}, world.namespace)
    for index in range(SIZE):
        await world.pod(f"train-{index}", schedulingGroup={"podGroupName": "train"})
    what = f"{V1BETA1.label()}/train"
    said = await shown(world, f"PodGroup {world.namespace}/train: needs ", what)
    assert "GangInfeasible" in said
    await shown(world, "PodGroupInitiallyScheduled", what)
