# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What pods of the KAI scheduler say, besides a group's name.

Source of both: KAI-Scheduler v0.13, pkg/podgrouper/pod_controller.go and
pkg/common/resources/gpu_sharing.go.
"""

from collections.abc import Mapping
from typing import Final

from enbloc.model.names import DEFAULT_SCHEDULER, MIRROR_POD_KEY

SCHEDULER: Final = "kai-scheduler"
#: Stands for the name of a group that a pod will be given; no PodGroup can have it.
UNNAMED: Final = "(unnamed)"
UNNAMED_TEXT: Final = (
    f"schedulerName is {SCHEDULER}, and annotation pod-group-name is missing, which KAI's pod "
    "grouper writes: see that it runs, or write the annotation, or name another scheduler"
)
_PARTS: Final = ("gpu-fraction", "gpu-memory")


def awaits_group(scheduler: str, annotations: Mapping[str, str]) -> bool:
    """Whether a pod that names no group, or only by a key that yields, is about to be given one.

    The pod grouper writes the annotation after the pod is created. If they were placed before that,
    the members of a gang would start one by one.

    Args:
        scheduler: its schedulerName.
        annotations: of the pod.
    """
    return scheduler == SCHEDULER and MIRROR_POD_KEY not in annotations


def part_of_gpu(scheduler: str, annotations: Mapping[str, str]) -> str:
    """Why a pod that asks for part of a GPU cannot be placed, with the fix; "" = it asks for none.

    Such a pod requests no GPU as a resource, and would be placed as if it needed none. On pods of
    default-scheduler the annotations mean nothing.

    Args:
        scheduler: its schedulerName.
        annotations: of the pod.
    """
    if not annotations or scheduler == DEFAULT_SCHEDULER:
        return ""
    found = next((key for key in _PARTS if key in annotations), "")
    if not found:
        return ""
    return (
        f"annotation {found}: parts of a GPU are not supported; remove it and request whole GPUs "
        "in resources.limits, or have KAI schedule the pod"
    )
