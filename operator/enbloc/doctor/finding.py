# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is looked for, and what was found."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self

from enbloc.model import names


class Verdict(StrEnum):
    """How bad a finding is; only a fault makes the answer no."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about the cluster.

    Attributes:
        check: which check found it.
        verdict: how bad it is; "unknown" where the check could not look.
        object: what it is about, as `resource NAMESPACE/NAME`; "" = the cluster.
        message: what is wrong, and what to do.
    """

    check: str
    verdict: Verdict
    object: str
    message: str


@dataclass(frozen=True, slots=True)
class Process:
    """A process of an installation.

    Attributes:
        role: whose permissions it needs.
        account: its service account.
        lease_namespace: where its Lease is, and so its Role.
        lease: the name of its Lease.
    """

    role: Literal["scheduler", "controller"]
    account: str
    lease_namespace: str
    lease: str


@dataclass(frozen=True, slots=True)
class Installation:
    """The installation that is, or is to be, there.

    Attributes:
        namespace: where its Deployments and Leases are.
        release: what the names of its objects begin with.
        serves: the schedulerNames of its profiles; empty = as its configuration says.
        planned: it is not there yet, so what it brings itself is not missed.
        processes: what runs, or is to run; empty = as its Deployments say.
    """

    namespace: str = names.NAMESPACE
    release: str = "enbloc"
    serves: Collection[str] = frozenset()
    planned: bool = False
    processes: Sequence[Process] = ()

    def expected(self) -> Self:
        """The same as the chart's defaults make it, where nothing else is said."""
        serves = self.serves or frozenset({names.SCHEDULER_NAME})
        lease = (self.namespace, self.scheduler)
        if names.DEFAULT_SCHEDULER in serves:
            lease = (names.KUBE_SYSTEM, names.KUBE_SCHEDULER_LEASE)
        both = (
            Process("scheduler", self.scheduler, *lease),
            Process("controller", self.controller, self.namespace, self.controller),
        )
        return replace(self, serves=serves, processes=self.processes or both)

    @property
    def scheduler(self) -> str:
        """The name of the scheduler's Deployment."""
        return f"{self.release}-scheduler"

    @property
    def controller(self) -> str:
        """As `scheduler`, of the controller."""
        return f"{self.release}-controller"
