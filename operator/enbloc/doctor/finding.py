# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is looked for, and what was found."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

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
class Installation:
    """The installation that is, or is to be, there.

    Attributes:
        namespace: where its Deployments and Leases are.
        release: what the names of its objects begin with.
        serves: the schedulerNames of its profiles.
        planned: it is not there yet, so what it brings itself is not missed.
    """

    namespace: str = names.NAMESPACE
    release: str = "enbloc"
    serves: Collection[str] = field(default_factory=lambda: frozenset({names.SCHEDULER_NAME}))
    planned: bool = False

    @property
    def scheduler(self) -> str:
        """The name of the scheduler's Deployment, service account and Lease."""
        return f"{self.release}-scheduler"

    @property
    def controller(self) -> str:
        """As `scheduler`, of the controller."""
        return f"{self.release}-controller"
