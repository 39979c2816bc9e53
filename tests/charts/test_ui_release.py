# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a release on a real API server: what its account asks for, and what users see."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import aiohttp
import pytest

from enbloc.client.permissions import REVIEWING, VIEWING
from enbloc.model.names import NAMESPACE
from tests.charts.releases import Cluster, opened
from tests.controlplane import ControlPlane
from tests.e2e.processes import Server
from tests.hack.processes import free_port

pytestmark = pytest.mark.controlplane
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:enbloc-ui"


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        yield running


@pytest.fixture
async def cluster(controlplane: ControlPlane, tmp_path: Path) -> AsyncGenerator[Cluster]:
    async with opened(controlplane, tmp_path) as cluster:
        yield cluster
        assert cluster.refused() == []


async def token(cluster: Cluster, name: str) -> str:
    """Of a new account in namespace default."""
    await cluster.kubectl("create", "serviceaccount", name)
    return (await cluster.kubectl("create", "token", name)).strip()


async def test_users_see_what_their_roles_allow_and_the_page_needs_no_more_than_its_own(
    cluster: Cluster, tmp_path: Path
) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install", "--set", "ui.enabled=true,ui.bindAddress=0.0.0.0")
    kubeconfig = await asyncio.to_thread(
        cluster.cp.kubeconfig_for_service_account, NAMESPACE, "enbloc-ui"
    )
    await cluster.gang("first")
    member, stranger, admin = [await token(cluster, n) for n in ("member", "stranger", "admin")]
    view = "--clusterrole=enbloc-view"
    await cluster.kubectl(
        "create", "rolebinding", "member", view, "--serviceaccount=default:member"
    )
    await cluster.kubectl("create", "clusterrole", "lists", "--verb=list", "--resource=nodes")
    for role in ("enbloc-view", "lists"):
        await cluster.kubectl(
            "create",
            "clusterrolebinding",
            f"admin-{role}",
            f"--clusterrole={role}",
            "--serviceaccount=default:admin",
        )
    port = free_port()
    config = tmp_path / "config.yaml"  # as the Deployment mounts it
    found = await cluster.get("configmap", "enbloc-scheduler", release)
    config.write_text(found["data"]["config.yaml"])
    flags = [f"--kubeconfig={kubeconfig}", f"--config={config}"]
    flags += ["--bind-address=0.0.0.0", f"--port={port}"]
    server = Server("ui", flags, tmp_path / "ui.log")
    server.start()
    release.servers.append(server)
    await cluster.says(server, f"Serving https://0.0.0.0:{port}/")

    async with aiohttp.ClientSession() as session:

        async def ask(path: str, who: str = "") -> tuple[int, str]:
            headers = {"Authorization": f"Bearer {who}"} if who else {}
            url = f"https://127.0.0.1:{port}{path}"
            async with session.get(url, headers=headers, ssl=False) as response:
                return response.status, await response.text()

        async def ready() -> bool:
            return (await ask("/readyz"))[0] == 200

        await cluster.until(ready, lambda: server.tail(30))
        group = "/groups/default/first"
        assert (await ask("/"))[0] == (await ask(group))[0] == 401
        assert (await ask("/", "none"))[0] == 401
        for who in (member, admin):
            code, text = await ask("/", who)
            assert (code, group in text) == (200, True)
        code, text = await ask("/", stranger)
        assert (code, group in text) == (200, False)
        codes = [(await ask(group, who))[0] for who in (member, stranger, admin)]
        assert codes == [200, 404, 200]
        codes = [(await ask("/nodes", who))[0] for who in (member, stranger, admin)]
        assert codes == [403, 403, 200]
        assert "is not known" not in (await ask("/nodes", admin))[1], "it may list events"
        codes = [(await ask("/time", who))[0] for who in (member, stranger, admin)]
        assert codes == [200, 200, 200]
    assert await server.end() == 0
    release.servers.clear()

    used = cluster.used(ACCOUNT)
    held = {
        (rule.group, resource, verb)
        for rule in (*VIEWING, *REVIEWING)
        for resource in rule.resources
        for verb in rule.verbs
    }
    assert used <= held
    # Kinds of other projects are not there.
    assert {(group, resource) for group, resource, _ in held - used} <= {
        (rule.group, rule.resources[0]) for rule in VIEWING if "." in rule.group
    }
    for kind, names in (
        ("rolebinding", ("member",)),
        ("clusterrolebinding", ("admin-enbloc-view", "admin-lists")),
        ("clusterrole", ("lists",)),
        ("serviceaccount", ("member", "stranger", "admin")),
    ):
        await cluster.kubectl("delete", kind, *names)
