# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: pods that need devices by resource claims."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.hints import ClusterEvent
from enbloc.framework.status import Status, refuse_for_good
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot


@dataclass(frozen=True)
class DynamicResources:
    """Refuses what cannot be honoured yet, so that no pod starts without its devices.

    Attributes:
        filter_timeout_seconds: how long one node may take; without meaning yet.
        binding_timeout_seconds: how long binding conditions are waited for; without meaning yet.
    """

    filter_timeout_seconds: float = 10
    binding_timeout_seconds: float = 600

    name: ClassVar[str] = "DynamicResources"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Status | None:
        """Refuse a pod with resource claims, naming them."""
        del snapshot
        if not pod.spec.resource_claims:
            return None
        return refuse_for_good(
            "enbloc does not support ResourceClaims yet: spec.resourceClaims "
            f"{', '.join(claim.name for claim in pod.spec.resource_claims)}"
        )
