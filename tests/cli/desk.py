# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A sandbox where nobody schedules, and the commands as people type them."""

import asyncio
from pathlib import Path
from typing import ClassVar

from enbloc.cli import main
from enbloc.client.config import Cluster
from enbloc.client.paths import LEASES, NODES, PODS, Resource
from enbloc_sandbox import Sandbox
from tests.live.world import World


class CommandDesk(World):
    """A cluster, and the commands as people type them.

    Args:
        sandbox: the API server.
        folder: an empty one, for its kubeconfig and for files.
    """

    #: What somebody could have written to.
    kinds: ClassVar[tuple[Resource, ...]] = (NODES, PODS, LEASES)

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        super().__init__(Cluster(sandbox.url))
        self.faults = sandbox.faults
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        sandbox.write_kubeconfig(self.kubeconfig)

    async def type(self, *words: str) -> int:
        """The exit code of a command."""
        return await asyncio.to_thread(main, [*words, "--kubeconfig", str(self.kubeconfig)])

    async def versions(self) -> dict[str, str]:
        """The state of every object that somebody could have written to."""
        return {
            item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
            for kind in self.kinds
            async for item in self.client.list(kind)
        }


def rows(printed: str) -> list[str]:
    """The lines of a table with one blank between its words."""
    return [" ".join(line.split()) for line in printed.splitlines()]
