# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding: pods whose volumes need a PersistentVolumeClaim."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.hints import ClusterEvent
from enbloc.framework.status import Status, refuse_for_good
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot


@dataclass(frozen=True)
class VolumeBinding:
    """Refuses what cannot be honoured yet, so that no pod starts without its data.

    Attributes:
        bind_timeout_seconds: how long a bound claim is waited for; without meaning yet.
        shape: `(utilisation, score)` for scores by free capacity; without meaning yet.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[tuple[int, int], ...] = ()

    name: ClassVar[str] = "VolumeBinding"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Status | None:
        """Refuse a pod with claims, naming the volumes."""
        del snapshot
        if not pod.claims:
            return None
        return refuse_for_good(
            f"enbloc does not support PersistentVolumeClaims yet: {', '.join(pod.claims)}"
        )
