# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controllers of a cluster, as plain clients of its API.

Node lifecycle, pods of lost nodes, Jobs, disruption budgets.
On a real cluster kube-controller-manager does their work.
"""

import asyncio
from dataclasses import dataclass

from enbloc.kube.client import Client
from enbloc.sandbox.nodes.budgets import Budgets
from enbloc.sandbox.nodes.job_controller import JobController
from enbloc.sandbox.nodes.lost_pods import LostPods
from enbloc.sandbox.nodes.node_lifecycle import NodeLifecycle


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
