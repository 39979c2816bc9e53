# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two replicas of one scheduler; whichever leads can be killed in the middle of its work."""

from pathlib import Path

import yaml

from enbloc.model.names import SCHEDULER_LEASE, SCHEDULER_NAME
from tests.e2e.processes import Server
from tests.e2e.world import World

#: A failover takes so long (seconds); a renewal may come so late on a busy machine.
LEASE_SECONDS = 10


async def elected(
    world: World,
    *,
    name: str = SCHEDULER_NAME,
    lease: str = SCHEDULER_LEASE,
    namespace: str = "",
    kubeconfig: Path | None = None,
) -> Server:
    """Start a scheduler that takes part in an election.

    Args:
        world: where.
        name: of its profile.
        lease: the name of its Lease.
        namespace: of its Lease; "" = where the scheduler's role allows one.
        kubeconfig: instead of the one with the scheduler's role.
    """
    file = world.path / f"{name}-{lease}-{len(world.servers)}.yaml"
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "resourceName": lease,
            "resourceNamespace": namespace or world.lease_namespace,
            "leaseDuration": f"{LEASE_SECONDS}s",
            "renewDeadline": f"{LEASE_SECONDS - 1}s",
            "retryPeriod": "500ms",
        },
        "profiles": [{"schedulerName": name}],
    }
    file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    return await world.start_scheduler("--leader-elect", f"--config={file}", kubeconfig=kubeconfig)


def leads(server: Server) -> bool:
    """Whether it decides: it has begun, and not stopped since."""
    text = server.text()
    return text.rfind("Started scheduling") > text.rfind("Stopped deciding")


class Replicas:
    """Two replicas of a scheduler, instead of the one that a world begins with.

    Args:
        world: where.
        name: of their profile.
        lease: the name of their Lease.
        kubeconfig: instead of the one with the scheduler's role.
    """

    def __init__(
        self,
        world: World,
        name: str = SCHEDULER_NAME,
        lease: str = SCHEDULER_LEASE,
        kubeconfig: Path | None = None,
    ) -> None:
        self._world = world
        self._name, self._lease, self._kubeconfig = name, lease, kubeconfig
        self._leader: Server
        self._standby: Server

    async def start(self) -> "Replicas":
        """Start both; return when one leads."""
        self._leader = await self._another()
        await self._until_it_leads(self._leader)
        self._standby = await self._another()
        return self

    async def kill_the_leader(self) -> None:
        """As a crash does; return when the other one leads, and start a third one.

        It is whoever leads now: a leader that renewed too late has given way to the other one.
        """
        if leads(self._standby) and not leads(self._leader):
            self._leader, self._standby = self._standby, self._leader
        self._leader.kill()
        self._leader = self._standby
        await self._until_it_leads(self._leader)
        self._standby = await self._another()

    async def _another(self) -> Server:
        return await elected(
            self._world, name=self._name, lease=self._lease, kubeconfig=self._kubeconfig
        )

    async def _until_it_leads(self, server: Server) -> None:
        await self._world.until(lambda: leads(server), f"a scheduler of {self._name} leads")
