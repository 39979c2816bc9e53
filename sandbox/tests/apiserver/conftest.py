# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A sandbox for each test, spoken to by HTTP only, and the kubectl of `make e2e`."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from enbloc_sandbox import Sandbox
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

Answer = tuple[int, dict[str, Any]]


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that any server accepts."""
    metadata = {"name": name, "labels": {"app": "x"}}
    container = {"name": "c", "image": "busybox:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
    }


class Client:
    """Requests to one sandbox."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session
        self.headers: dict[str, str] = {}

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        media: str = "application/json",
        **headers: str,
    ) -> Answer:
        """Any request; the status and the JSON answered."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": media} if data is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(method, self.url + path, data=data, headers=sent) as answer:
            self.headers = dict(answer.headers)
            content = await answer.read()
            if answer.content_type != "application/json":
                return answer.status, {"message": content.decode()}
            return answer.status, json.loads(content)

    async def get(self, path: str, **headers: str) -> dict[str, Any]:
        """What is there; it must be."""
        status, body = await self.ask("GET", path, **headers)
        assert status == 200, body
        return body

    async def create(self, path: str, body: Any) -> dict[str, Any]:
        """Create it; that must work."""
        status, answer = await self.ask("POST", path, body)
        assert status == 201, answer
        return answer

    async def patch(self, path: str, body: Any, media: str = MERGE) -> dict[str, Any]:
        """Patch it; that must work."""
        status, answer = await self.ask("PATCH", path, body, media)
        assert status in {200, 201}, answer
        return answer

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncGenerator[AsyncIterator[dict[str, Any]], None]:
        """The events of an open watch; use `anext` with the test's own timeout."""
        async with self.session.get(self.url + path) as answer:
            assert answer.status == 200
            assert answer.content_type == "application/json"

            async def events() -> AsyncIterator[dict[str, Any]]:
                async for line in answer.content:
                    yield json.loads(line)

            yield events()

    async def until_gone(self, path: str) -> None:
        """Wait until nothing is there."""
        while (await self.ask("GET", path))[0] != 404:
            pass


@pytest.fixture
async def sandbox() -> AsyncGenerator[Sandbox, None]:
    async with Sandbox(control=True) as running:
        yield running


@pytest.fixture
async def api(sandbox: Sandbox) -> AsyncGenerator[Client, None]:
    timeout = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        yield Client(sandbox.url, session)


@pytest.fixture(scope="session")
def kubectl_binary() -> str:
    command = [sys.executable, "hack/build_controlplane.py", "--only", "kubectl"]
    built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return str(Path(built.stdout.strip()) / "kubectl")


Kubectl = Callable[..., Awaitable[str]]


@pytest.fixture
def kubectl(kubectl_binary: str, sandbox: Sandbox, tmp_path: Path) -> Kubectl:
    """Run kubectl on the sandbox; what it printed. It must exit as `code` says."""
    import asyncio  # noqa: PLC0415 - only these tests start processes

    config = tmp_path / "kubeconfig"
    sandbox.write_kubeconfig(config)
    environ = {
        **os.environ,
        "KUBECONFIG": str(config),
        "KUBECACHEDIR": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
    }

    async def run(*arguments: str, stdin: str = "", code: int = 0) -> str:
        process = await asyncio.create_subprocess_exec(
            kubectl_binary,
            *arguments,
            env=environ,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate(stdin.encode())
        assert process.returncode == code, output.decode()
        return output.decode()

    return run
