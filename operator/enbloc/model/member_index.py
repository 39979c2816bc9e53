# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Member index: a pod's number within its gang, as given by its controller."""

import re
from typing import Final

from enbloc.model.pods import Pod

#: Labels in which controllers write the index, the gang-wide one first.
INDEX_LABELS: Final = (
    "jobset.sigs.k8s.io/job-global-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "training.kubeflow.org/replica-index",
    "batch.kubernetes.io/job-completion-index",
)
#: No gang has more than 100 000 members.
_NUMBER: Final = re.compile(r"[0-9]{1,6}")


def member_index(pod: Pod) -> tuple[int, ...]:
    """A sort key: members in their controller's numbering, unnumbered ones last.

    A JobSet numbers its Jobs, and each Job its pods: both count, in this order. Other pods use the
    ordinal at the end of their name.
    """
    labels = dict(pod.labels)
    found = [
        int(value)
        for label in (INDEX_LABELS if labels else ())
        if (value := labels.get(label)) is not None and _NUMBER.fullmatch(value)
    ]
    if found:
        return (0, *found)
    _, dash, ordinal = pod.key.name.rpartition("-")
    return (0, int(ordinal)) if dash and _NUMBER.fullmatch(ordinal) else (1,)
