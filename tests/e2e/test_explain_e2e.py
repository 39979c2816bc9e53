# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Three gangs wait, each for another reason: what explains it says is done, and each starts."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from enbloc.client.client import PatchType
from enbloc.client.paths import POD_GROUPS
from tests.controlplane import ControlPlane
from tests.e2e.processes import Ended, run
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.world import World

CPU = 4


async def explained(world: World, name: str) -> dict[str, Any]:
    """What `enbloc explain` says of a group."""
    return cast("dict[str, Any]", json.loads(await asked(world, "explain", name, "--output=json")))


async def asked(world: World, *words: str) -> str:
    """What a command about the namespace prints."""
    flags = (f"--kubeconfig={world.target.kubeconfig}", f"--namespace={world.namespace}")
    ended = await run(*words, *flags)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


async def again(world: World, name: str, size: int, **how: Any) -> None:
    """Create the pods of a gang anew, otherwise."""
    for at in range(size):
        await world.remove_pod(f"{name}-{at}")
        await world.pod(f"{name}-{at}", name, **how)


async def test_three_gangs_that_wait_start_with_what_is_said_of_them(world: World) -> None:
    await world.nodes(2, cpu=CPU, labels={"example.com/kind": world.namespace})
    # Nodes of other tests do not count.
    here = {"example.com/kind": world.namespace}
    await world.gang("early", 2, cpu=CPU, node_selector=here)
    await world.running("early", 2)
    await world.gang("late", 2, cpu=CPU, node_selector=here)
    await world.gang("large", 2, cpu=2 * CPU, node_selector=here)
    await world.gang("picky", 2, node_selector={**here, "example.com/disk": "nvme"})

    found = await explained(world, "late")
    assert found["cause"] == "capacity"
    assert {"change": f"the end of {world.namespace}/early", "whose": "others", "victims": []} in (
        found["remedies"]
    )
    found = await explained(world, "large")
    assert found["cause"] == "cluster"
    smaller = f"{CPU} CPUs instead of {2 * CPU} for each member"
    assert smaller in [each["change"] for each in found["onceOthersHaveEnded"]]
    found = await explained(world, "picky")
    assert found["sentence"].endswith("with no nodeSelector example.com/disk=nvme.")

    for at in range(2):
        await world.remove_pod(f"early-{at}")
    await world.running("late", 2)
    for at in range(2):
        await world.remove_pod(f"late-{at}")
    await again(world, "large", 2, cpu=CPU, node_selector=here)
    await world.running("large", 2)
    for at in range(2):
        await world.remove_pod(f"large-{at}")
    await again(world, "picky", 2, node_selector=here)
    await world.running("picky", 2)
    assert "does not wait" in await asked(world, "explain", "picky")


async def test_a_lower_minimum_is_told_and_is_enough(world: World) -> None:
    here = {"example.com/kind": world.namespace}
    await world.nodes(3, cpu=CPU, labels=here)
    await world.gang("train", 5, cpu=CPU, node_selector=here)
    found = await explained(world, "train")
    assert "minMember 3 instead of 5" in [each["change"] for each in found["remedies"]]
    world.watch_over("train", 3)
    patch = {"spec": {"minMember": 3}}
    await world.client.patch(POD_GROUPS, "train", patch, world.namespace, kind=PatchType.MERGE)
    await world.bound("train", 3)


@pytest.mark.controlplane
@pytest.mark.parametrize("target", ["controlplane"], indirect=True)
async def test_a_token_for_one_namespace_shows_that_namespace_alone(
    world: World, controlplane_target: ControlPlaneTarget, tmp_path: Path
) -> None:
    cp: ControlPlane = controlplane_target.cp
    namespace = f"--namespace={world.namespace}"
    cp.kubectl("create", "serviceaccount", "tenant", namespace)
    rule = ("--verb=get,list", "--resource=pods,podgroups.enbloc.dev")
    cp.kubectl("create", "role", "tenant", namespace, *rule)
    account = f"--serviceaccount={world.namespace}:tenant"
    cp.kubectl("create", "rolebinding", "tenant", namespace, "--role=tenant", account)
    token = cp.kubectl("create", "token", "tenant", namespace, "--duration=1h").stdout.strip()
    config = yaml.safe_load(world.target.kubeconfig.read_text())
    config["users"] = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
    kubeconfig = tmp_path / "tenant.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))

    async def as_tenant(*words: str) -> Ended:
        return await run(*words, f"--kubeconfig={kubeconfig}")

    await world.nodes(1, cpu=1)
    await world.gang("train", 2, node_selector={"example.com/kind": "none"})
    await world.condition("train", "Scheduled", "False", reason="Infeasible")
    ended = await as_tenant("explain", "train", namespace)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{world.namespace}/train waits: Infeasible: ")
    assert "note: this is what the scheduler reported last" in ended.stderr
    ended = await as_tenant("queue", namespace)
    assert (ended.returncode, "train" in ended.stdout) == (0, True)
    for words in (("queue", "--namespace=default"), ("explain", "x", "--namespace=default")):
        ended = await as_tenant(*words)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert "cannot list" in ended.stderr
