# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How a pod ends, as its status says."""

from typing import Final

from enbloc.model.names import JOB_TRACKING, Reason
from enbloc.model.pods import Phase
from enbloc.wire.objects import ConditionObject, Metadata, PodStatusObject

#: The reason on every pod that is evicted through the Eviction API, by anyone. Source: kubernetes
#: v1.36 pkg/registry/core/pod/storage/eviction.go addConditionAndDeletePod.
_EVICTED: Final = "EvictionByEvictionAPI"


def admission_refusal(status: PodStatusObject) -> str:
    """Why the kubelet never admitted a pod: it failed for a reason, and lists no containers.

    A kubelet that refuses a pod writes only phase, reason and message. It lists the containers,
    started or not, of every pod that it admitted; so what ends a pod later (Evicted,
    DeadlineExceeded, Terminated, Preempting) leaves their statuses beside the reason, while an
    `Evicted` without them is a node under pressure that refused the pod. Other components that fail
    a pod (such as garbage collection) give no reason.

    Source: kubelet v1.36 pkg/kubelet/kubelet.go rejectPod; pkg/kubelet/kubelet_pods.go
    generateAPIPodStatus.
    """
    listed = status.container_statuses or status.init_container_statuses
    return "" if listed or status.phase != Phase.FAILED else status.reason or ""


def deleted_before_end(metadata: Metadata, status: PodStatusObject) -> bool:
    """Whether it was deleted; not if it succeeded, and its Job is to count that.

    A Job counts a deleted pod as failed, and takes its finalizer off, before the pod ends; but with
    `podReplacementPolicy: Failed` it waits for the end. Source: kubernetes v1.36
    pkg/controller/job/job_controller.go trackJobStatusAndRemoveFinalizers.
    """
    if metadata.deletion_timestamp is None:
        return False
    return status.phase != Phase.SUCCEEDED or JOB_TRACKING not in (metadata.finalizers or ())


def preempted(told: ConditionObject | None, *, deleting: bool) -> bool:
    """Whether a scheduler preempts it; the API server replaces the reason once it evicts.

    Args:
        told: its condition DisruptionTarget; None = it has none.
        deleting: whether it is being deleted.
    """
    if told is None or told.status != "True":
        return False
    evicted = deleting and told.reason == _EVICTED
    return evicted or told.reason == Reason.PREEMPTION_BY_SCHEDULER
