# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is scheduled: clusters, and the pods that wait on them."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

Quantities = Mapping[str, str]

ROOM: Final = {"cpu": "64", "memory": "256Gi", "pods": "110"}
ASKED: Final = {"cpu": "100m", "memory": "100Mi"}
#: A trace of Alibaba's GPU clusters (2023), by the project that published it; not part of this
#: repository.
OPENB: Final = Path(__file__).parents[3] / "shared" / "traces" / "openb"
#: A thousandth of a GPU, which is what the trace's pods ask for.
GPU: Final = "openb.example/gpu-milli"


@dataclass(frozen=True)
class Case:
    """One cluster, and pods that wait.

    Attributes:
        name: as figures have it.
        nodes: what each node has to allocate.
        pods: what each pod requests, in order of creation.
        gang: so many pods each are a gang; 1: each pod is on its own.
        churn: pods of others come and go meanwhile, and so do nodes.
        rack: so many nodes are a rack, in one of which each gang must lie; 0 = anywhere.
    """

    name: str
    nodes: Sequence[Quantities]
    pods: Sequence[Quantities]
    gang: int = 1
    churn: bool = False
    rack: int = 0

    def scaled(self, scale: float) -> "Case":
        """The same with so much of its pods, in whole gangs, two at least."""
        gangs = max(2, round(len(self.pods) * scale / self.gang))
        return replace(self, pods=self.pods[: gangs * self.gang])


def uniform(
    name: str, nodes: int, pods: int, gang: int = 1, *, churn: bool = False, rack: int = 0
) -> Case:
    """Nodes and pods that are alike."""
    return Case(name, (ROOM,) * nodes, (ASKED,) * pods, gang, churn, rack)


def openb(folder: Path = OPENB) -> Case | None:
    """The trace, all of its pods at once; None where it is not there."""
    if not folder.is_dir():
        return None
    with (folder / "openb_node_list_all_node.csv").open(encoding="utf-8") as file:
        nodes = [
            {
                "cpu": f"{row['cpu_milli']}m",
                "memory": f"{row['memory_mib']}Mi",
                GPU: str(1000 * int(row["gpu"] or 0)),
                "pods": "110",
            }
            for row in csv.DictReader(file)
        ]
    with (folder / "openb_pod_list_default.csv").open(encoding="utf-8") as file:
        pods = [
            {
                "cpu": f"{row['cpu_milli']}m",
                "memory": f"{row['memory_mib']}Mi",
                GPU: str(int(row["num_gpu"] or 0) * int(row["gpu_milli"] or 0)),
            }
            for row in csv.DictReader(file)
        ]
    return Case("openb", nodes, pods)


#: Those whose pods are each on their own.
LONE: Final = (
    uniform("lone-500", nodes=500, pods=1000),
    uniform("lone-1000", nodes=1000, pods=1000),
)
GANGS: Final = (
    uniform("gangs-of-8", nodes=1000, pods=8000, gang=8),
    uniform("gangs-of-100", nodes=5000, pods=5000, gang=100),
    uniform("gangs-of-10", nodes=5000, pods=10_000, gang=10),
)
#: Each gang in one of 50 racks.
RACKS: Final = (
    uniform("racks-4", nodes=5000, pods=3000, gang=4, rack=100),
    uniform("racks-1000", nodes=5000, pods=3000, gang=1000, rack=100),
)
CHURN: Final = uniform("churn", nodes=1000, pods=4000, gang=8, churn=True)
