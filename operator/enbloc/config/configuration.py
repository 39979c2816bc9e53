# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration: everything that files can set, checked and ready to run."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from enbloc.engine.settings import Settings
from enbloc.framework.profile import Profile
from enbloc.model.names import (
    DEFAULT_SCHEDULER,
    KUBE_SCHEDULER_LEASE,
    KUBE_SYSTEM,
    SCHEDULER_LEASE,
)
from enbloc.model.request_rate import RequestRate

#: Plugin → the arguments that were given to it.
Given = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """`leaderElection`; seconds.

    Attributes:
        leader_elect: None = the command's default.
        lease_duration: others may take a Lease that is not renewed for this long.
        renew_deadline: a leader that cannot renew for this long stops.
        retry_period: the time between two tries.
        resource_name: the Lease's name; "" = not set.
        resource_namespace: the Lease's namespace; "" = the pod's own, else the context's.
    """

    leader_elect: bool | None = None
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    resource_name: str = ""
    resource_namespace: str = ""

    def of(self, schedulers: Collection[str]) -> "LeaderElection":
        """These settings, with a default for the Lease of a scheduler that serves these names.

        A scheduler that serves kube-scheduler's name uses its Lease, so that only one of the two
        acts.
        """
        theirs = DEFAULT_SCHEDULER in schedulers
        return replace(
            self,
            resource_name=self.resource_name
            or (KUBE_SCHEDULER_LEASE if theirs else SCHEDULER_LEASE),
            resource_namespace=self.resource_namespace or (KUBE_SYSTEM if theirs else ""),
        )


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a scheduler runs with.

    Attributes:
        profiles: by schedulerName.
        settings: the engine's settings; whoever makes an engine sets its identity.
        kubeconfig: `clientConnection.kubeconfig`; "" = not set.
        request_rate: `clientConnection.qps` and `burst`.
        given: per profile, the arguments that plugins were given; the others have their defaults.
        warnings: settings that are accepted but not honoured, each with its path.
    """

    profiles: Mapping[str, Profile]
    settings: Settings = field(default_factory=Settings)
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    kubeconfig: str = ""
    request_rate: RequestRate = field(default_factory=RequestRate)
    given: Mapping[str, Given] = field(default_factory=dict[str, Given])
    warnings: tuple[str, ...] = ()
