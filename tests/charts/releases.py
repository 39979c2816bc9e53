# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Releases of the chart on a real control plane, and their processes as the Deployments say."""

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc_sandbox.nodes import Kubelet, Pace, Shape
from tests.controlplane import ControlPlane
from tests.e2e.processes import Server
from tests.patience import PATIENCE

CHART = "helm/enbloc"
#: Not the chart's: the processes of a test share a machine, and so its ports.
NO_PORTS = ("--secure-port=0",)


class Release:
    """One release, and the processes that its Deployments would run.

    Args:
        cluster: where.
        name: of the release.
        namespace: of the release.
    """

    def __init__(self, cluster: "Cluster", name: str, namespace: str) -> None:
        self.cluster = cluster
        self.name = name
        self.namespace = namespace
        self.servers: list[Server] = []
        #: What its image holds beside enbloc: folders in which plugins are installed.
        self.plugins: list[Path] = []

    async def helm(self, command: str, *arguments: str, chart: str = CHART) -> str:
        """`helm COMMAND NAME CHART …`; what it printed."""
        charts = [chart] if command in ("install", "upgrade") else []
        create = ["--create-namespace"] if command == "install" else []
        waits = ["--wait=false"] if command in ("install", "upgrade", "uninstall") else []
        done = await self.cluster.helm(
            command, self.name, *charts, "-n", self.namespace, *create, *waits, *arguments
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def start(self, process: str, *more: str) -> Server:
        """Start a process: by the arguments, configuration and account of its Deployment.

        Args:
            process: which.
            more: flags that win.
        """
        spec = (await self.deployment(process))["spec"]["template"]["spec"]
        container, *_ = spec["containers"]
        command, *flags = container["args"]
        path = self.cluster.path / f"{self.namespace}-{self.name}-{len(self.servers)}"
        for volume in spec["volumes"]:
            if "configMap" in volume:
                found = await self.cluster.get("configmap", volume["configMap"]["name"], self)
                path.with_suffix(".yaml").write_text(found["data"]["config.yaml"])
        kubeconfig = await asyncio.to_thread(
            self.cluster.cp.kubeconfig_for_service_account,
            self.namespace,
            spec["serviceAccountName"],
        )
        flags = [re.sub("^--config=.*", f"--config={path.with_suffix('.yaml')}", f) for f in flags]
        # In a pod the kubeconfig is the account's own, and the namespace that of the pod.
        document = json.loads(kubeconfig.read_text())
        document["contexts"][0]["context"]["namespace"] = self.namespace
        kubeconfig.write_text(json.dumps(document))
        flags += [f"--kubeconfig={kubeconfig}", "--log-format=text", *NO_PORTS, *more]
        server = Server(command, flags, path.with_suffix(".log"), self.plugins)
        server.start()
        self.servers.append(server)
        return server

    async def deployment(self, process: str) -> dict[str, Any]:
        """The Deployment of a process."""
        selector = f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component={process}"
        [found] = (await self.cluster.get("deployment", "", self, selector))["items"]
        assert isinstance(found, dict)
        return found

    async def stop(self) -> None:
        """Stop its processes, as a kubelet does."""
        servers, self.servers = self.servers, []
        codes = await asyncio.gather(*(each.end() for each in servers))
        assert codes == [0] * len(codes), [each.tail() for each in servers]


class Cluster:
    """A real control plane with one node, on which releases come and go.

    Args:
        cp: the control plane.
        client: the administrator's.
        path: for logs and kubeconfigs.
    """

    def __init__(self, cp: ControlPlane, client: Client, path: Path) -> None:
        self.cp = cp
        self.helm_binary = cp.bin("helm")
        self.client = client
        self.path = path
        self.releases: list[Release] = []
        self._read = sum(1 for _ in cp.audit_events())

    def release(self, name: str, namespace: str) -> Release:
        """A release that does not exist yet."""
        release = Release(self, name, namespace)
        self.releases.append(release)
        return release

    async def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl as the administrator; what it printed."""
        done = await asyncio.to_thread(self.cp.kubectl, *arguments, stdin=stdin)
        return done.stdout

    async def helm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run helm as the administrator."""
        return await asyncio.to_thread(self._run, [str(self.helm_binary), *arguments])

    async def shell(self, script: str) -> str:
        """Run the commands that a page or NOTES shows; what they printed."""
        done = await asyncio.to_thread(self._run, ["bash", "-euc", script])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        path = f"{self.cp.bin('kubectl').parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            command,
            env=os.environ | self.cp.kubectl_environment() | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    async def get(
        self, kind: str, name: str, release: Release, selector: str = ""
    ) -> dict[str, Any]:
        """An object of a release's namespace, or the list of those that a selector selects."""
        which = [name] if name else ["-l", selector]
        found = await self.kubectl("get", kind, *which, "-n", release.namespace, "-o", "json")
        document: dict[str, Any] = json.loads(found)
        return document

    async def gang(self, name: str, scheduler: str = "enbloc") -> None:
        """Create a gang of two in namespace default."""
        group: dict[str, Any] = {
            "apiVersion": "enbloc.dev/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"minMember": 2},
        }
        container = {"name": "main", "image": "busybox:1.37"}
        pods = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-{index}",
                    "namespace": "default",
                    "annotations": {"enbloc.dev/pod-group": name},
                },
                "spec": {"schedulerName": scheduler, "containers": [container]},
            }
            for index in range(2)
        ]
        await self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([group, *pods]))

    async def reads(self, wanted: str, *arguments: str) -> None:
        """Wait until what kubectl prints is this."""
        printed = ""

        async def there() -> bool:
            nonlocal printed
            printed = await self.kubectl(*arguments)
            return printed == wanted

        await self.until(there, lambda: f"{' '.join(arguments)}: {wanted!r}, is {printed!r}")

    async def bound(self, gang: str) -> None:
        """Wait until both pods of a gang have a node."""
        path = "jsonpath={.items[*].spec.nodeName}"
        query = ("get", "pods", f"{gang}-0", f"{gang}-1", "-o", path)
        await self.reads("node-0 node-0", *query)

    async def says(self, server: Server, text: str) -> None:
        """Wait until a process has logged a text."""

        async def said() -> bool:
            server.must_run()
            return text in server.text()

        await self.until(said, lambda: f"{text!r} in\n{server.tail(30)}")

    async def until(self, probe: Callable[[], Any], what: Callable[[], str]) -> None:
        """Wait until a probe is true."""
        deadline = time.monotonic() + PATIENCE
        while not await probe():
            assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what()}"
            await asyncio.sleep(0.2)

    def used(self, user: str) -> set[tuple[str, str, str]]:
        """Each API group, resource and verb that a user asked for."""
        return {
            (about.get("apiGroup", ""), about["resource"], event["verb"])
            for event in self.cp.audit_events()
            if event["user"].get("username") == user and (about := event.get("objectRef"))
        }

    def refused(self) -> list[str]:
        """What any process of enbloc was refused (403) since this was asked before."""
        events = [*self.cp.audit_events()]
        new, self._read = events[self._read :], len(events)
        return [
            f"{event['user']['username']}: {event['verb']} {event['requestURI']}"
            for event in new
            if event["user"].get("username", "").startswith("system:serviceaccount:")
            and "enbloc" in event["user"]["username"].rpartition(":")[2]
            and event.get("responseStatus", {}).get("code") == 403
        ]


@asynccontextmanager
async def opened(
    cp: ControlPlane,
    path: Path,
    *,
    cpu: int = 16_000,
    memory: int = 64 * 2**30,
    gpus: int = 0,
) -> AsyncGenerator[Cluster]:
    """A cluster with one node; at the end no release, and no object of a test's, is left.

    Args:
        cp: the control plane.
        path: for logs and kubeconfigs.
        cpu: of the node, thousandths.
        memory: of the node, bytes.
        gpus: of the node.
    """
    async with Client(await load(cp.kubeconfig), component="e2e") as client:
        cluster = Cluster(cp, client, path)
        shapes = [Shape("node-0", cpu, memory, gpus)]
        kubelet = asyncio.create_task(Kubelet(client, shapes, Pace(lease=4.0)).run())
        taints = ("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}{.items[*].spec.taints}")
        await cluster.reads("node-0", *taints)
        try:
            yield cluster
        finally:
            for release in cluster.releases:
                for server in release.servers:
                    server.stop(0)
                    print(server.tail(50))
                await cluster.helm("uninstall", release.name, "-n", release.namespace)
            kubelet.cancel()
            await asyncio.gather(kubelet, return_exceptions=True)
            gone = ("delete", "--ignore-not-found", "--wait=true")
            await cluster.kubectl(*gone, "pods", "--all", "--grace-period=0", "--force")
            await cluster.kubectl(*gone, "node", "node-0")
            await cluster.kubectl(*gone, "crd", "podgroups.enbloc.dev", "topologies.enbloc.dev")
