# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor, and the installation that it examines."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self

from enbloc.model import names


class Verdict(StrEnum):
    """How bad a finding is; only a fault makes the doctor's answer "no"."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about the cluster.

    Attributes:
        check: the check that found it.
        verdict: how bad it is; "unknown" if the check could not read.
        object: the object that it is about, as `resource NAMESPACE/NAME`; "" = the cluster.
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
        role: the role whose permissions it needs.
        account: its service account.
        lease_namespace: the namespace of its Lease and of its Role.
        lease: the name of its Lease.
    """

    role: Literal["scheduler", "controller"]
    account: str
    lease_namespace: str
    lease: str


@dataclass(frozen=True, slots=True)
class Installation:
    """An existing or planned installation of enbloc.

    Attributes:
        namespace: of its Deployments and Leases.
        release: the prefix of its objects' names.
        serves: the schedulerNames of its profiles; empty = as its configuration says.
        planned: whether it does not exist yet, so that its own objects are not missed.
        lease: namespace and name of its scheduler's Lease, by its configuration; "" = the default.
        processes: its processes; empty = as its Deployments say.
    """

    namespace: str = names.NAMESPACE
    release: str = "enbloc"
    serves: Collection[str] = frozenset()
    planned: bool = False
    lease: tuple[str, str] = ("", "")
    processes: Sequence[Process] = ()

    def expected(self) -> Self:
        """The installation, completed with the chart's defaults."""
        serves = self.serves or frozenset({names.SCHEDULER_NAME})
        default = (self.namespace, self.scheduler)
        if names.DEFAULT_SCHEDULER in serves:
            default = (names.KUBE_SYSTEM, names.KUBE_SCHEDULER_LEASE)
        (namespace, name), given = default, self.lease
        both = (
            Process("scheduler", self.scheduler, given[0] or namespace, given[1] or name),
            Process("controller", self.controller, self.namespace, self.controller),
        )
        return replace(self, serves=serves, processes=self.processes or both)

    @property
    def scheduler(self) -> str:
        """The name of the scheduler's Deployment."""
        return f"{self.release}-scheduler"

    @property
    def controller(self) -> str:
        """The name of the controller's Deployment."""
        return f"{self.release}-controller"
