# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Exclusive placement: a domain of the topology for the pods of each Job, or of each leader.

Source: jobset v0.10 pkg/controllers/jobset_controller.go labelAndAnnotateObject,
pkg/webhooks/pod_admission_webhook.go ValidateCreate; lws v0.7 pkg/controllers/pod_controller.go.
"""

from collections.abc import Mapping
from typing import Any, Final

#: Annotation of a JobSet, of a replicatedJob's template, or of pods.
JOB_SET_KEY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
#: Annotation of a LeaderWorkerSet, whose workers are then created once their leader has a node.
LEADER_WORKER_SET_KEY: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
#: Annotation beside JOB_SET_KEY: the nodes are labelled, and each pod selects its own.
_BY_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"


def copied(*objects: Mapping[str, Any] | None) -> dict[str, Any]:
    """The annotations that the pods of a JobSet's Job get for exclusive placement; empty = none.

    Args:
        objects: the annotations of the JobSet and of the replicatedJob's template.
    """
    return {
        key: said[key]
        for said in objects
        if said and JOB_SET_KEY in said
        for key in (JOB_SET_KEY, _BY_SELECTOR)
        if key in said
    }


def first_leads(annotations: Mapping[str, Any]) -> bool:
    """Whether the pods of a JobSet's Job are refused until the first of them has a node.

    Args:
        annotations: of the pods.
    """
    return JOB_SET_KEY in annotations and _BY_SELECTOR not in annotations
