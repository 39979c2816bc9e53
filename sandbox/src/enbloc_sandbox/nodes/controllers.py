# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controllers of a cluster, as plain clients of its API.

Node lifecycle, pods of lost nodes, Jobs, disruption budgets, volumes, resource claims.
On a real cluster kube-controller-manager does their work.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from enbloc.client.client import Client
from enbloc_sandbox.nodes.budgets import Budgets
from enbloc_sandbox.nodes.claims.controllers import ResourceClaimController, VolumeController
from enbloc_sandbox.nodes.job_controller import JobController
from enbloc_sandbox.nodes.lost_pods import LostPods
from enbloc_sandbox.nodes.node_lifecycle import NodeLifecycle

#: Kinds that are stored and that no controller here acts on: what to tell who creates one.
UNATTENDED: Final[Mapping[str, str]] = {
    name: f"the sandbox runs no controller for {kind}s, so this one gets no pods; "
    "create a Job, or pods"
    for name, kind in {
        "cronjobs.batch": "CronJob",
        "daemonsets.apps": "DaemonSet",
        "deployments.apps": "Deployment",
        "replicasets.apps": "ReplicaSet",
        "replicationcontrollers": "ReplicationController",
        "statefulsets.apps": "StatefulSet",
    }.items()
}


@dataclass(frozen=True, slots=True)
class ControllerPace:
    """How patient the controllers are (seconds).

    Attributes:
        grace: without a heartbeat for this long, a node is lost; as long after the deletion of a
            Node its pods are collected.
        retry: before the first replacement of a failed pod of a Job; doubled with each failure.
    """

    grace: float = 40.0
    retry: float = 1.0


async def run_controllers(client: Client, pace: ControllerPace | None = None) -> None:
    """All of them, until cancelled."""
    pace = pace or ControllerPace()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(NodeLifecycle(client, pace.grace).run())
        tasks.create_task(LostPods(client, pace.grace).run())
        tasks.create_task(JobController(client, pace.retry).run())
        tasks.create_task(Budgets(client).run())
        tasks.create_task(VolumeController(client).run())
        tasks.create_task(ResourceClaimController(client).run())
