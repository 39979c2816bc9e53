# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Both processes, with the permissions of manifests/, let Prometheus read their metrics."""

import asyncio
import json
from typing import Literal

import pytest

from tests.controlplane import ControlPlane
from tests.e2e.pods_as_processes import get
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.world import World
from tests.hack.processes import free_port

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def prometheus(controlplane_target: ControlPlaneTarget) -> str:
    """The token of a service account that may read metrics."""
    cp: ControlPlane = controlplane_target.cp
    cp.kubectl("create", "serviceaccount", "prometheus")
    cp.kubectl("create", "clusterrole", "scrape", "--verb=get", "--non-resource-url=/metrics")
    account = "--serviceaccount=default:prometheus"
    cp.kubectl("create", "clusterrolebinding", "scrape", "--clusterrole=scrape", account)
    return cp.kubectl("create", "token", "prometheus", "--duration=1h").stdout.strip()


@pytest.mark.parametrize("target", ["controlplane"], indirect=True)
@pytest.mark.parametrize("component", ["scheduler", "controller"])
async def test_metrics_are_read_with_a_token_and_by_nobody_else(
    world: World, prometheus: str, component: Literal["scheduler", "controller"]
) -> None:
    port = free_port()
    # Whose client certificates count is in kube-system, where these roles may read nothing.
    flags = (f"--secure-port={port}", "--authentication-skip-lookup")
    if component == "scheduler":
        await world.start_scheduler(*flags, restart=True)
    else:
        await world.start_controller(*flags)
    async with asyncio.timeout(60):
        while (await get(port, "/readyz"))[0] != 200:  # noqa: ASYNC110  # another process' port
            await asyncio.sleep(0.2)
    code, text = await get(port, "/metrics", prometheus)
    assert code == 200
    assert "enbloc_build_info" in text
    code, text = await get(port, "/metrics")
    assert (code, json.loads(text)["reason"]) == (403, "Forbidden")
    code, text = await get(port, "/metrics", prometheus + "x")
    assert (code, json.loads(text)["reason"]) == (401, "Unauthorized")
