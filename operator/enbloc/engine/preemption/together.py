# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Together: which pods of a group leave together or not at all (semantics §10.1)."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from enbloc.engine.state import ClusterState, Groups, Run
from enbloc.framework.facts import Floor, Lacking
from enbloc.model.groups import GroupKey
from enbloc.model.names import KUEUE_GROUP_KEY
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector

#: No PodGroup and no pod has such a name.
_KUEUE: Final = "kueue/"


def parted(bound: Sequence[Pod], floors: Sequence[Floor]) -> tuple[Sequence[Pod], Sequence[Pod]]:
    """Return the oldest members that a gang cannot run without, and the others.

    Without floors, these are all members.
    """
    if not floors or (len(floors) == 1 and len(bound) <= floors[0].deficit):
        return bound, ()
    lacking = Lacking(floors)
    minimum, surplus = list[Pod](), list[Pod]()
    for pod in sorted(bound, key=lambda pod: pod.seniority):
        (minimum if lacking.take(pod.role) else surplus).append(pod)
    return minimum, surplus


def floors_of(run: Run) -> Sequence[Floor]:
    """Return the floors of a gang as if no member were bound; empty = its needs are unknown.

    They are those of another scheduler's group that has no PodGroup of enbloc.
    """
    return run.unmet() if run.group is not None else ()


def kueue_key(pod: Pod) -> GroupKey | None:
    """Return the key of the pods that Kueue admits together with a pod; None = it names none."""
    name = next((value for key, value in pod.labels if key == KUEUE_GROUP_KEY), "")
    return GroupKey(pod.key.namespace, f"{_KUEUE}{name}") if name else None


def of_kueue(key: GroupKey) -> bool:
    """Whether a key is one of `kueue_key`."""
    return key.name.startswith(_KUEUE)


def gang_of(groups: Groups, uid: PodUID) -> Run | None:
    """Return the group of which a pod is a member; None = none."""
    key = groups.key_of(uid)
    run = groups.get(key) if key is not None else None
    return None if run is None or run.solo else run


def admitted(
    key: GroupKey, placed: PlacedPods, uids: Sequence[PodUID], state: ClusterState, groups: Groups
) -> tuple[Pod, ...]:
    """Return the pods with nodes that Kueue knows as one group, the oldest first.

    Pods that are also in a group of this scheduler go with that.

    Args:
        key: from `kueue_key`.
        placed: the table of placed pods.
        uids: of that table.
        state: the cluster.
        groups: of these pods.
    """
    name = key.name.removeprefix(_KUEUE)
    selector = Selector((Requirement(KUEUE_GROUP_KEY, Operator.IN, (name,)),))
    mask = placed.matches(selector) & placed.in_namespaces({key.namespace})
    named = (uids[at] for at in np.flatnonzero(mask).tolist())
    pods = (state.pods.get(uid) for uid in named if gang_of(groups, uid) is None)
    found = [pod for pod in pods if pod is not None and pod.node and not pod.mirror]
    return tuple(sorted(found, key=lambda pod: pod.seniority))
