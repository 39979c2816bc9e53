# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the API server was seen to say about the demo's pods and groups, in order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from enbloc.model import names
from enbloc_sandbox.demo.scenario import GANGS, JOB_LABEL
from enbloc_sandbox.nodes import Object

#: The states of a group whose minimum is placed.
_PLACED: Final = frozenset(
    {
        names.Reason.STARTING,
        names.Reason.RUNNING,
        names.Reason.BELOW_MINIMUM,
        names.Reason.TOPOLOGY_DOMAIN_FULL,
        names.Reason.SUCCEEDED,
        names.Reason.FAILED,
    }
)


@dataclass(frozen=True, slots=True)
class PodSeen:
    """One state of a pod.

    Attributes:
        at: seconds since the demo began.
        name: the pod.
        gang: its job.
        node: where it is bound; "" = nowhere.
        phase: its phase; "" = the pod is gone.
        waiting: the message of PodScheduled=False; "" = none.
        reason: why it failed; "" = it did not.
    """

    at: float
    name: str
    gang: str
    node: str = ""
    phase: str = "Pending"
    waiting: str = ""
    reason: str = ""

    @property
    def held(self) -> bool:
        """It sits on a node, or has succeeded there."""
        return self.node != "" and self.phase in ("Pending", "Running", "Succeeded")


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """One state of a PodGroup.

    Attributes:
        at: seconds since the demo began.
        name: the group.
        state: the reason of its condition Ready.
        reason: the reason of its condition Scheduled.
        message: the message of that.
    """

    at: float
    name: str
    state: str = ""
    reason: str = ""
    message: str = ""

    @property
    def shown(self) -> str:
        """The state to show; Ready is another process' word, and lags behind Scheduled."""
        if self.reason != names.Reason.SCHEDULED:
            return self.reason or self.state
        return self.state if self.state in _PLACED else self.reason


Seen = PodSeen | GroupSeen


def read_pod(at: float, pod: Object) -> PodSeen:
    """A pod, as far as the demo looks at it."""
    scheduled = _condition(pod, "PodScheduled")
    return PodSeen(
        at,
        pod.metadata.name,
        pod.labels.get(JOB_LABEL, ""),
        pod.spec.get("nodeName") or "",
        pod.phase,
        scheduled.get("message", "") if scheduled.get("status") == "False" else "",
        ": ".join(filter(None, (pod.status.get("reason"), pod.status.get("message")))),
    )


def read_group(at: float, group: Object) -> GroupSeen:
    """A PodGroup, as far as the demo looks at it."""
    scheduled = _condition(group, names.Condition.SCHEDULED)
    return GroupSeen(
        at,
        group.metadata.name,
        _condition(group, names.Condition.READY).get("reason", ""),
        scheduled.get("reason", ""),
        scheduled.get("message", ""),
    )


def _condition(found: Object, kind: str) -> Mapping[str, str]:
    return next((one for one in found.status.get("conditions") or () if one["type"] == kind), {})


def held(pods: Iterable[PodSeen]) -> dict[str, int]:
    """How many pods of each job sit on a node or have succeeded there."""
    counts = Counter(pod.gang for pod in pods if pod.held)
    return {gang: counts[gang] for gang in GANGS}
