# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods without a kubelet: the process that a manifest describes, with its files and its probes."""

import asyncio
import signal
import ssl
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import aiohttp

from tests.e2e.processes import COMMAND, environment
from tests.hack.processes import Process, free_port
from tests.patience import PATIENCE

#: Runs a command that sees a folder where a pod has its service account; nobody else does.
MOUNT = """
mount -t tmpfs none /var/run && mkdir -p /var/run/secrets/kubernetes.io &&
cp -r "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"
"""
MOUNTED = ["/usr/bin/unshare", "--map-root-user", "--mount", "/bin/sh", "-c", MOUNT]


def can_mount() -> bool:
    """Whether this machine lets a user mount something for a process alone."""
    try:
        done = subprocess.run(
            [*MOUNTED, str(Path(__file__).parent / "recipes"), "true"], check=False, timeout=30
        )
    except OSError:
        return False
    return done.returncode == 0


@dataclass(frozen=True)
class Files:
    """Where the paths of a container are on this machine.

    Attributes:
        root: stands for the container's `/`.
    """

    root: Path

    def write(self, path: str, text: str) -> Path:
        """A file of the container."""
        here = self.root / PurePosixPath(path).relative_to("/")
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(text, encoding="utf-8")
        here.chmod(0o600)
        return here

    def mount(self, spec: Mapping[str, Any], config_maps: Mapping[str, Mapping[str, str]]) -> None:
        """Write what the ConfigMaps that the container mounts hold."""
        sources = {volume["name"]: volume for volume in spec.get("volumes", ())}
        [container] = spec["containers"]
        for each in container.get("volumeMounts", ()):
            found = sources[each["name"]].get("configMap")
            for name, text in (config_maps[found["name"]] if found else {}).items():
                self.write(f"{each['mountPath']}/{name}", self.here(text, container))

    def here(self, text: str, container: Mapping[str, Any]) -> str:
        """A text with the paths of the container's mounts as they are on this machine."""
        mounts = [each["mountPath"] for each in container.get("volumeMounts", ())]
        for mount in mounts:
            text = text.replace(mount, f"{self.root}{mount}")
        return text


async def get(port: int, path: str, token: str = "", method: str = "GET") -> tuple[int, str]:
    """Status and text of an answer by HTTPS, its certificate unchecked; 0 = there is none."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    unchecked = ssl._create_unverified_context()
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session,
            session.request(
                method, f"https://127.0.0.1:{port}{path}", headers=headers, ssl=unchecked
            ) as answer,
        ):
            return answer.status, await answer.text()
    except (aiohttp.ClientError, OSError):
        return 0, ""


class Container(Process):
    """The one container of a pod.

    Args:
        spec: of the pod.
        files: what it mounts.
        kubeconfig: in the place of its service account; None = it has that.
        variables: of its environment, beside.
        account: a folder that is mounted where a pod has its service account; see `can_mount`.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        files: Files,
        kubeconfig: Path | None,
        variables: Mapping[str, str] | None = None,
        account: Path | None = None,
    ) -> None:
        [container] = spec["containers"]
        self.spec = spec
        self._container = container
        started: list[str] = [*container.get("command", []), *container.get("args", [])]
        program, *arguments = started
        assert PurePosixPath(program).name == "enbloc"
        self.port = free_port()  # every test has one of its own, and a pod its own addresses
        command = [*COMMAND, *(files.here(each, container) for each in arguments)]
        env = environment() | dict(variables or {})
        if kubeconfig is not None:
            env["KUBECONFIG"] = str(kubeconfig)
        if account is not None:
            command = [*MOUNTED, str(account), *command]
        name = container["name"]
        more = [f"--secure-port={self.port}"]
        super().__init__(name, [*command, *more], files.root / f"{name}.log", env)

    def text(self) -> str:
        """All that it has logged so far."""
        return self.log.read_text(errors="replace")

    async def probe(self, kind: str) -> int:
        """The status that a probe of the kubelet gets: it does not check certificates."""
        probe = self._container[f"{kind}Probe"]["httpGet"]
        assert (probe["scheme"], probe["port"]) == ("HTTPS", 10259)
        return (await self.get(probe["path"]))[0]

    async def get(self, path: str, token: str = "", method: str = "GET") -> tuple[int, str]:
        """Status and text of an answer; 0 = there is none."""
        return await get(self.port, path, token, method)

    async def well(self) -> None:
        """Return once every probe of its succeeds."""
        kinds = [kind for kind in ("startup", "liveness", "readiness") if self._has(kind)]
        async with asyncio.timeout(PATIENCE):
            while [await self.probe(kind) for kind in kinds] != [200] * len(kinds):
                self.check()
                await asyncio.sleep(0.2)

    def _has(self, kind: str) -> bool:
        return f"{kind}Probe" in self._container


@asynccontextmanager
async def running(container: Container) -> AsyncGenerator[Container]:
    """It runs for as long as the context lasts, and ends well when it is told to."""
    container.start()
    try:
        yield container
        code = await asyncio.to_thread(container.finish, signal.SIGTERM, PATIENCE)
        assert code == 0, container.tail(50)
    finally:
        container.stop(0)
        print(container.tail(100))
