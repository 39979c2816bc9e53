# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the node table can be asked, one question a column."""

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from enbloc.model.nodes import Nodes

GPU = "nvidia.com/gpu"
IMAGES = ("docker.io/library/a:1", "docker.io/library/b:latest", "registry.example/c@sha256:0")
FEATURES = ("GuaranteedQoSPodCPUResize", "UserNamespaces")
COLUMNS: tuple[Callable[[Nodes], npt.NDArray[Any]], ...] = (
    lambda table: table.free("cpu"),
    lambda table: table.requested("memory"),
    lambda table: table.allocatable("cpu"),
    lambda table: table.nonzero_cpu,
    lambda table: table.nonzero_memory,
    lambda table: table.unschedulable,
    lambda table: table.ready,
    lambda table: table.domains("zone"),
    lambda table: table.label("zone", "a"),
    lambda table: table.has_label("disk"),
    lambda table: table.image_bytes(IMAGES[0]),
    lambda table: table.declares(FEATURES[:1]),
)
