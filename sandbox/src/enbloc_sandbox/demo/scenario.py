# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo submits: two jobs, each of which fits, both of which do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from enbloc.client.paths import POD_GROUPS
from enbloc.errors import UsageError
from enbloc.model import names
from enbloc.model.quantity import render
from enbloc_sandbox.nodes import GPU, Shape

#: The two jobs.
GANGS: Final = ("a", "b")
#: Which job a pod belongs to, for people and for the demo itself; the scheduler does not read it.
JOB_LABEL: Final = "demo.enbloc.dev/job"
NAMESPACE: Final = "default"
#: With more room than this, pods take whole larger nodes, so that the demo stays short.
_MANY_SLOTS: Final = 64
_GIB: Final = 2**30


def demo_shapes() -> list[Shape]:
    """Four nodes of shapes that the openb trace has: 8, 8, 4 and 2 GPUs."""
    return [
        Shape("gpu8-0", 96_000, 768 * _GIB, 8, "V100M32"),
        Shape("gpu8-1", 96_000, 768 * _GIB, 8, "V100M32"),
        Shape("gpu4-0", 48_000, 368 * _GIB, 4, "V100M32"),
        Shape("gpu2-0", 104_000, 512 * _GIB, 2, "T4"),
    ]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Two jobs of alike pods on a cluster.

    Attributes:
        gpus: of each pod.
        cpu: of each pod, in milli.
        memory: of each pod, in bytes.
        slots: how many such pods the empty cluster holds.
        size: pods of each job; size ≤ slots < 2 × size, and half the slots are fewer than size.
        run_seconds: how long a pod of a gang runs.
    """

    gpus: int
    cpu: int
    memory: int
    slots: int
    size: int
    run_seconds: int = 3

    def pod_names(self, gang: str) -> list[str]:
        """The pods of a job."""
        return [f"{gang}-{i}" for i in range(self.size)]

    def pod(self, gang: str, index: int, *, grouped: bool) -> dict[str, Any]:
        """One pod; without its annotation it runs until it is deleted.

        Args:
            gang: its job.
            index: its number in the job.
            grouped: it names its PodGroup.
        """
        annotations = {
            names.POD_GROUP_KEY: gang,
            names.RUN_SECONDS_KEY: str(self.run_seconds),
        }
        resources = {
            "cpu": render("cpu", self.cpu),
            "memory": render("memory", self.memory),
            GPU: str(self.gpus),
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{gang}-{index}",
                "namespace": NAMESPACE,
                "labels": {JOB_LABEL: gang},
                **({"annotations": annotations} if grouped else {}),
            },
            "spec": {
                "schedulerName": names.SCHEDULER_NAME,
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "worker",
                        "image": "train:latest",
                        "resources": {"requests": resources, "limits": {GPU: str(self.gpus)}},
                    }
                ],
            },
        }

    def group(self, gang: str) -> dict[str, Any]:
        """The PodGroup of a job."""
        return {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": gang, "namespace": NAMESPACE},
            "spec": {"minMember": self.size},
        }


def scenario(shapes: Sequence[Shape]) -> Scenario:
    """Two jobs for these nodes, sized so that one fits and two do not.

    Raises:
        UsageError: the nodes have no room for such a pair.
    """
    best: Scenario | None = None
    for gpus in sorted({shape.gpus for shape in shapes if shape.gpus}):
        found = _of(shapes, gpus)
        if found is not None:
            best = found
            if found.slots <= _MANY_SLOTS:
                break
    if best is None:
        raise UsageError(
            "the nodes have too few GPUs for two jobs of two pods each; "
            "give --trace a node list with two nodes or more whose column gpu is above 0"
        )
    return best


def _of(shapes: Sequence[Shape], gpus: int) -> Scenario | None:
    """The pair of jobs whose pods take this many GPUs; None if the nodes do not hold two pods."""
    hosts = [shape for shape in shapes if shape.gpus >= gpus]
    # Half of the scarcest CPU and memory per GPU, so that GPUs are what runs out.
    cpu = max(1, min(shape.cpu // shape.gpus for shape in hosts) * gpus // 2)
    memory = max(1, min(shape.memory // shape.gpus for shape in hosts) * gpus // 2)
    slots = sum(shape.gpus // gpus for shape in hosts)
    size = max((slots + 1) // 2 + 1, slots * 3 // 4)
    if size > slots:
        return None
    return Scenario(gpus, cpu, memory, slots, size)
