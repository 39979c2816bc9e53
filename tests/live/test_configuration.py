# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler that is started with configuration files does what they say."""

import asyncio

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.paths import LEASES
from enbloc.config import Source, configure
from enbloc.process.options import Options
from enbloc.telemetry import Health
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, Running, World
from tests.world.virtual_time import time_source

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 40s, resourceName: its-own}
profiles:
- schedulerName: packing
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
- schedulerName: spreading
"""


async def test_each_profile_scores_as_it_is_configured_and_the_lease_is_the_files() -> None:
    stop, health = asyncio.Event(), Health()
    options = Options(
        lease_namespace=NAMESPACE,
        health=health,
        stop=stop,
        configuration=configure([Source("config.yaml", CONFIG)]),
    )
    async with Sandbox(clock=time_source().wall) as sandbox, World(Cluster(sandbox.url)) as world:
        await world.nodes("n1 n2", cpu=8)
        async with Client(world.cluster, component="scheduler", clock=time_source()) as client:
            running = Running(client, options)
            await world.pod("first", scheduler="packing")
            await world.until_bound("first", 1)
            await world.pod("packed", scheduler="packing")
            await world.pod("spread", scheduler="spreading")
            await world.until_bound("", 3)
            lease = await world.client.get(LEASES, "its-own", NAMESPACE)
            assert await running.end() == 0
        bound = await world.bound()
    assert bound["packed"] == bound["first"] != bound["spread"]
    assert lease["spec"]["leaseDurationSeconds"] == 40
