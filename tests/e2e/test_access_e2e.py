# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How enbloc gets to a real API server: TLS, tokens, client certificates, and a Helm release."""

import asyncio
import base64
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from enbloc.model.names import NAMESPACE
from tests.controlplane import ControlPlane
from tests.e2e.targets import ROOT, ControlPlaneTarget
from tests.e2e.world import World, opened
from tests.hack.certificates import Authority

pytestmark = pytest.mark.controlplane
on_controlplane = pytest.mark.parametrize("target", ["controlplane"], indirect=True)


def changed(kubeconfig: Path, to: Path, part: str, change: Mapping[str, Any]) -> Path:
    """A copy of a kubeconfig with other values in its cluster, or in its user."""
    document = json.loads(kubeconfig.read_text(encoding="utf-8"))
    document[f"{part}s"][0][part].update(change)
    to.write_text(json.dumps(document), encoding="utf-8")
    return to


@on_controlplane
async def test_a_client_certificate_opens_the_door_as_well_as_a_token(world: World) -> None:
    kubeconfig = world.target.kubeconfig
    assert "client-certificate-data" in kubeconfig.read_text()
    assert "token" not in kubeconfig.read_text()
    await world.nodes(1, cpu=4)
    await world.start_scheduler(kubeconfig=kubeconfig, restart=True)
    await world.gang("certified", 4)
    await world.bound("certified", 4)


@on_controlplane
async def test_a_server_that_proves_itself_to_nobody_gets_no_token(
    world: World, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path).pair.certificate.read_bytes()
    kubeconfig = changed(
        world.target.kubeconfig_of("scheduler"),
        tmp_path / "stranger.kubeconfig",
        "cluster",
        {"certificate-authority-data": base64.b64encode(stranger).decode()},
    )
    scheduler = await world.start_scheduler(kubeconfig=kubeconfig, restart=True)
    await world.until(
        lambda: "certificate verify failed" in scheduler.text(), "the log says what is wrong"
    )


@on_controlplane
async def test_a_token_that_is_none_is_named(world: World, tmp_path: Path) -> None:
    kubeconfig = changed(
        world.target.kubeconfig_of("scheduler"),
        tmp_path / "nobody.kubeconfig",
        "user",
        {"token": "none"},
    )
    scheduler = await world.start_scheduler(kubeconfig=kubeconfig, restart=True)
    await world.until(lambda: "401 Unauthorized" in scheduler.text(), "the log says what is wrong")


async def test_what_helm_installs_lets_both_processes_do_their_work(tmp_path: Path) -> None:
    with ControlPlane() as cp:

        def helm(*arguments: str) -> None:
            subprocess.run(
                [str(cp.bin("helm")), *arguments, "-n", NAMESPACE],
                env=os.environ | cp.kubectl_environment(),
                capture_output=True,
                check=True,
                timeout=60,
            )

        chart = str(ROOT / "helm" / "enbloc")
        await asyncio.to_thread(
            helm, "install", "enbloc", chart, "--create-namespace", "--wait=false"
        )
        async with opened(ControlPlaneTarget(cp), tmp_path) as world:
            await world.nodes(1, cpu=4)
            await world.gang("helm", 4)
            await world.bound("helm", 4)
            await world.condition("helm", "Ready", "True", reason="Running")
        await asyncio.to_thread(helm, "uninstall", "enbloc", "--wait=false")
