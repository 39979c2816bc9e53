# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods get our schedulerName where their namespace asks for it, and are created without us too."""

import asyncio
import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.model.names import NAMESPACE
from tests.e2e.targets import ROOT, ControlPlaneTarget
from tests.e2e.world import World
from tests.hack.certificates import Authority
from tests.hack.processes import free_port

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.parametrize("target", ["controlplane"], indirect=True),
]


def rendered(target: ControlPlaneTarget, namespace: str, *settings: str) -> list[dict[str, Any]]:
    """What the chart has for admission in this namespace, and no other test's."""
    selector = f'{{"kubernetes.io/metadata.name":"{namespace}"}}'
    done = subprocess.run(
        [
            *(str(target.cp.bin("helm")), "template", namespace, str(ROOT / "helm" / "enbloc")),
            *("-n", NAMESPACE, "--show-only", "templates/admission.yaml"),
            *("--set", "admission.enabled=true"),
            *("--set-json", f"admission.namespaceSelector.matchLabels={selector}"),
            *(part for setting in settings for part in ("--set", setting)),
        ],
        capture_output=True,
        check=True,
        timeout=60,
    )
    return [one for one in yaml.safe_load_all(done.stdout) if one]


async def created(world: World, scheduler: str = "", **metadata: Any) -> tuple[str, str]:
    """What would become of a pod: its schedulerName, and what kubectl says beside."""
    assert isinstance(world.target, ControlPlaneTarget)
    named = {"schedulerName": scheduler} if scheduler else {}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": world.namespace, **metadata},
        "spec": {"containers": [{"name": "main", "image": "none"}], **named},
    }
    asked = ("create", "--dry-run=server", "-o", "json", "-f", "-")
    done = await asyncio.to_thread(world.target.cp.kubectl, *asked, stdin=yaml.safe_dump(body))
    return json.loads(done.stdout)["spec"]["schedulerName"], done.stderr


async def eventually_ours(world: World) -> None:
    """Policies and webhooks count a moment after they are stored."""
    for _ in range(120):
        if (await created(world))[0] == "enbloc":
            return
        await asyncio.sleep(0.5)
    raise AssertionError("pods keep the default scheduler")


@pytest.fixture
async def apply(world: World) -> Any:
    """Apply objects for the time of the test."""
    applied: list[dict[str, Any]] = []
    target = world.target
    assert isinstance(target, ControlPlaneTarget)

    def kubectl(verb: str, objects: list[dict[str, Any]]) -> None:
        target.cp.kubectl(verb, "-f", "-", stdin=yaml.safe_dump_all(objects))

    async def add(objects: list[dict[str, Any]]) -> None:
        applied.extend(objects)
        await asyncio.to_thread(kubectl, "apply", objects)

    yield add
    if applied:
        await asyncio.to_thread(kubectl, "delete", applied)


async def test_a_policy_of_the_api_server_names_our_scheduler(world: World, apply: Any) -> None:
    assert isinstance(world.target, ControlPlaneTarget)
    assert await created(world) == ("default-scheduler", "")
    await apply(rendered(world.target, world.namespace))
    await eventually_ours(world)
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    owners = [{**daemon, "controller": True}]
    assert (await created(world, ownerReferences=owners))[0] == "default-scheduler"
    assert (await created(world, "mine"))[0] == "mine"


async def test_webhooks_fill_in_warn_and_block_nobody_once_they_are_gone(
    world: World, apply: Any, tmp_path: Path
) -> None:
    assert isinstance(world.target, ControlPlaneTarget)
    authority = Authority(tmp_path)
    pair, port = authority.server("webhook", ["127.0.0.1"]), free_port()
    world.controller.kill()
    controller = await world.start_controller(
        f"--webhook-port={port}",
        f"--webhook-cert-file={pair.certificate}",
        f"--webhook-key-file={pair.key}",
    )
    bundle = base64.b64encode(authority.pair.certificate.read_bytes()).decode()
    settings = (
        "admission.mode=webhook",
        "admission.webhook.certificate=secret",
        f"admission.webhook.caBundle={bundle}",
    )
    found = [
        one
        for one in rendered(world.target, world.namespace, *settings)
        if one["kind"].endswith("WebhookConfiguration")
    ]
    for each in found:
        for hook in each["webhooks"]:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
    await apply(found)
    await eventually_ours(world)

    misspelt = {"enbloc.dev/podgroup": "train"}
    _, said = await created(world, "enbloc", annotations=misspelt)
    assert "Warning: annotation enbloc.dev/podgroup" in said
    controller.kill()
    assert await created(world) == ("default-scheduler", "")
