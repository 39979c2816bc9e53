# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Member index: which of its gang a pod is, as its controller numbers them."""

import re
from typing import Final

from enbloc.model.pods import Pod

#: Labels in which controllers write it, the one that counts over the whole gang first.
INDEX_LABELS: Final = (
    "jobset.sigs.k8s.io/job-global-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "training.kubeflow.org/replica-index",
    "batch.kubernetes.io/job-completion-index",
)
#: No gang has more than 100 000 members.
_NUMBER: Final = re.compile(r"[0-9]{1,6}")


def member_index(pod: Pod) -> tuple[int, ...]:
    """Sorts members as their controller numbers them; those that it does not number come last.

    A JobSet numbers its Jobs, and each Job its pods: both count, in this order. Else the ordinal at
    the end of the name does.
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
