# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The schedulers that are measured, each as its users start it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.server import compile_enbloc
from enbloc.client.paths import POD_GROUPS, Resource
from enbloc.controller.sources import coscheduling
from enbloc.model import names
from hack.build_controlplane import PEER_TOOLS, TOOLS, ensure, module_version
from tests.controlplane import ControlPlane
from tests.e2e.processes import Server
from tests.hack.processes import Process

#: Starts one on a control plane; its health and metrics on this port by plain HTTP, if it can.
Starter = Callable[[ControlPlane, Path, int], Process]


@dataclass(frozen=True)
class Subject:
    """A scheduler.

    Attributes:
        name: as figures have it.
        scheduler_name: that of its pods.
        start: makes its process, which does not run yet.
        crd: the definition of its PodGroups, in crds/; "" if it knows no gangs.
        group: the kind of its PodGroups.
        label: that names the gang of a pod.
        annotation: the same, for schedulers that want an annotation.
        metrics: whether it tells its counters by plain HTTP.
    """

    name: str
    scheduler_name: str
    start: Starter
    crd: str = ""
    group: Resource = POD_GROUPS
    label: str = ""
    annotation: str = ""
    metrics: bool = False

    def pod_group(self, name: str, size: int, near: str = "") -> dict[str, Any]:
        """The PodGroup of a gang, in one domain of a node label ("" = anywhere)."""
        topology = {"topology": {"required": near}} if near else {}
        return {
            "apiVersion": self.group.api_version,
            "kind": self.group.kind,
            "metadata": {"name": name},
            "spec": {"minMember": size, **topology},
        }


def _enbloc(command: str) -> Starter:
    def start(running: ControlPlane, folder: Path, port: int) -> Process:
        flags = [
            f"--kubeconfig={running.kubeconfig}",
            "--no-leader-elect",
            "--secure-port=0",
            f"--health-port={port}",
            "--log-format=json",
        ]
        compile_enbloc()
        return Server(command, flags, folder / f"{command}.log")

    return start


def _kube_scheduler(binary: Callable[[], Path], profile: Mapping[str, Any]) -> Starter:
    def start(running: ControlPlane, folder: Path, port: int) -> Process:
        del port  # it serves HTTPS only, and nothing of it is read
        path = folder / f"{profile['schedulerName']}.json"
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            # At the default of 50 a second it would mostly wait.
            "clientConnection": {
                "kubeconfig": str(running.kubeconfig),
                "qps": 10_000,
                "burst": 20_000,
            },
            "leaderElection": {"leaderElect": False},
            "profiles": [profile],
        }
        path.write_text(json.dumps(document), encoding="utf-8")
        command = [str(binary()), f"--config={path}", "--secure-port=0"]
        return Process(str(profile["schedulerName"]), command, path.with_suffix(".log"))

    return start


_COSCHEDULING: Final = {
    "schedulerName": "coscheduling",
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
    },
}
ENBLOC: Final = tuple(
    Subject(
        command,
        names.SCHEDULER_NAME,
        _enbloc(command),
        "podgroups.enbloc.dev.yaml",
        POD_GROUPS,
        annotation=names.POD_GROUP_KEY,
        metrics=True,
    )
    for command in ("scheduler", "run")
)
KUBE_SCHEDULER: Final = Subject(
    "kube-scheduler",
    "default-scheduler",
    _kube_scheduler(
        lambda: ensure(["kube-scheduler"]) / "kube-scheduler",
        {"schedulerName": "default-scheduler"},
    ),
)
COSCHEDULING: Final = Subject(
    "coscheduling",
    "coscheduling",
    _kube_scheduler(
        lambda: ensure(["coscheduling"], tools=PEER_TOOLS) / "coscheduling", _COSCHEDULING
    ),
    "dialects/podgroups.scheduling.x-k8s.io.yaml",
    coscheduling.RESOURCE,
    label="scheduling.x-k8s.io/pod-group",
)


def version(peer: str) -> str:
    """The version of Kubernetes that a peer is made of; it is built if need be.

    Raises:
        BuildError: it cannot be built.
    """
    tools = PEER_TOOLS if peer in PEER_TOOLS else TOOLS
    ensure([peer], tools=tools)
    return module_version(tools[peer].module, "k8s.io/kubernetes")
