# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading the cluster as it is, for the commands that run the engine themselves."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enbloc.cli.files import sources
from enbloc.cli.tables import say

if TYPE_CHECKING:
    from enbloc.config import Configuration
    from enbloc.live import Reading
    from enbloc.simulation import Explanation, Present, Waiting


def present(
    command: str, configs: Sequence[Path], kubeconfig: Path | None, context: str | None
) -> "tuple[Present, str]":
    """What the scheduler would list now, and the namespace that the kubeconfig's context names.

    What could not be read of it is printed as a warning.

    Args:
        command: who asks, for the API server's logs.
        configs: files with the scheduler's configuration; none = its defaults.
        kubeconfig: its path; None = the usual ones.
        context: within it; None = the current one.

    Raises:
        ExceptionGroup: of the APIError of each resource that cannot be listed.
        EnblocError: the configuration, or the kubeconfig, cannot be used.
    """
    # Imported here: `--help` needs none of it.
    from enbloc.config import configure, default_configuration  # noqa: PLC0415

    # What would be logged of malformed objects is among the warnings.
    logging.getLogger("enbloc").addHandler(logging.NullHandler())
    configuration = configure(sources(configs)) if configs else default_configuration()
    _warn(configuration.warnings)
    reading, namespace = asyncio.run(_read(command, kubeconfig, context, configuration))
    _warn(reading.problems)
    return reading.present, namespace


async def _read(
    command: str, kubeconfig: Path | None, context: str | None, configuration: "Configuration"
) -> "tuple[Reading, str]":
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415
    from enbloc.client.permissions import SIMULATION  # noqa: PLC0415
    from enbloc.live import read_once  # noqa: PLC0415

    named = Path(configuration.kubeconfig) if configuration.kubeconfig else None
    cluster = await load(kubeconfig or named, context)
    async with Client(cluster, component=command, rules=SIMULATION) as client:
        return await read_once(client, configuration), cluster.namespace


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        say(f"warning: {warning}", err=True)


class Simulated:
    """The cluster as it is, and what becomes of who waits in it.

    Args:
        present: the cluster.
        namespace: that the kubeconfig's context names.

    Attributes:
        rows: who waits, in the order in which they are decided.
        pods: all pods, as they are.
        groups: all PodGroups.
        schedulers: the names that pods of ours write.
        now: server time.
    """

    def __init__(self, present: "Present", namespace: str) -> None:
        from enbloc.simulation import SimulatedCluster, members_waiting, queue  # noqa: PLC0415

        self.namespace = namespace
        self.schedulers = tuple(present.profiles)
        self.now = present.now
        self._present = present
        cluster = SimulatedCluster(present)
        self.pods = list(cluster.pods.values())
        self.groups = list(cluster.groups)
        waiting = members_waiting(self.pods, self.schedulers)
        self._settled = cluster.settle()
        self.rows = queue(self._settled, waiting)

    def explain(self, row: "Waiting") -> "Explanation":
        """Why one of them waits."""
        from enbloc.simulation import explain, trying  # noqa: PLC0415

        return explain(self._settled, self.rows, row, trying(self._present, row.key))


def simulated(
    command: str, configs: Sequence[Path], kubeconfig: Path | None, context: str | None
) -> Simulated:
    """The cluster as it is, and what becomes of who waits; the arguments are those of `present`.

    Raises:
        EnblocError: what cannot be read, a line each.
    """
    return Simulated(*present(command, configs, kubeconfig, context))
