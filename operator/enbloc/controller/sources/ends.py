# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a workload that controls pods has ended, and how (semantics §7.2).

Source of the words: training-operator v1.9, pkg/apis/kubeflow.org/v1/common_types.go; mpi-operator
v0.6, pkg/apis/kubeflow/v2beta1/types.go; spark-operator v2.3,
api/v1beta2/sparkapplication_types.go; JobSet v0.10, api/jobset/v1alpha2/jobset_types.go.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from enbloc.client.decoding import UNREADABLE, decoded
from enbloc.controller.sources.source import SourceObject
from enbloc.controller.sources.workloads import WorkloadPart
from enbloc.wire.auto_groups import JOB_SET, MPI_JOB, SPARK_APPLICATION, TRAINING
from enbloc.wire.objects import ConditionObject

_KUBEFLOW: Final[Mapping[str, bool]] = {"Succeeded": True, "Failed": False}
#: By kind, the states and true conditions that end a workload, and whether each is a success.
ENDS: Final[Mapping[str, Mapping[str, bool]]] = {
    JOB_SET: {"Completed": True, "Failed": False},
    SPARK_APPLICATION: {"COMPLETED": True, "FAILED": False},
    **dict.fromkeys((MPI_JOB, *TRAINING), _KUBEFLOW),
}


class _State(WorkloadPart):
    state: str = ""


class _Status(WorkloadPart):
    conditions: tuple[ConditionObject, ...] | None = None
    application_state: _State | None = None


_DECODE: Final = msgspec.json.Decoder(_Status).decode


def end_of(kind: str, found: SourceObject) -> bool | None:
    """Whether a workload of a kind in ENDS succeeded (True) or failed (False); None = neither.

    A status that cannot be read says neither.
    """
    try:
        status = decoded(_DECODE, found.raw_status)
    except UNREADABLE:
        return None
    said = [each.type for each in status.conditions or () if each.status == "True"]
    if status.application_state is not None:
        said.append(status.application_state.state)
    ends = [ENDS[kind][each] for each in said if each in ENDS[kind]]
    return all(ends) if ends else None
