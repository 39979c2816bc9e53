# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The objects that enbloc makes PodGroups for: other projects' PodGroups, and workloads.

`source.py` defines a source, and most other modules are one each; `follow.py` watches them all and
writes, `derived_groups.py` keeps the PodGroups. No other package knows a single source.
"""

from typing import Any, Final

from enbloc.controller.sources.batch import JOB_SOURCE, STATEFUL_SET_SOURCE
from enbloc.controller.sources.coscheduling import COSCHEDULING
from enbloc.controller.sources.godel import GODEL
from enbloc.controller.sources.grove import GROVE
from enbloc.controller.sources.jobset import JOB_SET_SOURCE
from enbloc.controller.sources.kai import KAI
from enbloc.controller.sources.kubeflow import MPI_JOB_SOURCE, TRAINING_SOURCES
from enbloc.controller.sources.leaderworkerset import LEADER_WORKER_SET_SOURCE
from enbloc.controller.sources.native import COMPOSITE, NATIVE
from enbloc.controller.sources.ray import RAY_CLUSTER_SOURCE
from enbloc.controller.sources.source import Source
from enbloc.controller.sources.spark import SPARK_APPLICATION_SOURCE
from enbloc.controller.sources.volcano import VOLCANO

#: Workloads whose pods are to be a gang.
WORKLOADS: Final[tuple[Source[Any], ...]] = (
    JOB_SOURCE,
    STATEFUL_SET_SOURCE,
    JOB_SET_SOURCE,
    LEADER_WORKER_SET_SOURCE,
    RAY_CLUSTER_SOURCE,
    SPARK_APPLICATION_SOURCE,
    MPI_JOB_SOURCE,
    *TRAINING_SOURCES,
)

#: In order of precedence, where several call for a PodGroup of one name.
SOURCES: Final[tuple[Source[Any], ...]] = (
    NATIVE,
    COMPOSITE,
    COSCHEDULING,
    VOLCANO,
    KAI,
    GODEL,
    GROVE,
    *WORKLOADS,
)
