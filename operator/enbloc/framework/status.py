# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Status: what a plugin answers; Diagnosis: why no node was feasible."""

import enum
from dataclasses import dataclass, field
from typing import Any


class Code(enum.IntEnum):
    """What a status means to the scheduler; numbers and names are kube-scheduler's.

    SUCCESS: go on. ERROR: an internal error; the cycle is aborted, and the group backs off.
        UNSCHEDULABLE: refused, but removing other pods might help; retried after an event that the
        plugin names. UNSCHEDULABLE_AND_UNRESOLVABLE: refused, and removing pods cannot help. WAIT:
        Permit only; the reservation is held, and the plugin asked again, until the timeout. SKIP:
        this plugin has nothing to say about this pod (PreFilter, PreScore), or declines (Bind).
        PENDING: refused, waiting for an external component; its event bypasses the backoff.
    """

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6


@dataclass(frozen=True, slots=True)
class Status:
    """A plugin's answer.

    Attributes:
        code: what the scheduler does next.
        message: for people; one sentence without a full stop.
        timeout: seconds for which WAIT may hold the reservation; 0 = the group's own timeout.

    Raises:
        TypeError: the code is no Code, or the message no text. So the plugin that makes such a
            status fails, and not who reads it later.
    """

    code: Code = Code.SUCCESS
    message: str = ""
    timeout: float = 0.0

    def __post_init__(self) -> None:
        given: Any = self  # a plugin may be without types
        if not isinstance(given.code, Code):
            raise TypeError(f"the code of a Status must be a Code, not {given.code!r}")
        if not isinstance(given.message, str):
            kind = type(given.message).__name__
            raise TypeError(f"the message of a Status must be a str, not {kind}")

    @property
    def ok(self) -> bool:
        """Whether the code is SUCCESS."""
        return self.code is Code.SUCCESS

    @property
    def rejected(self) -> bool:
        """Whether this is a refusal, as opposed to an error."""
        return self.code in (
            Code.UNSCHEDULABLE,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            Code.PENDING,
        )


SUCCESS = Status()


def refuse(message: str) -> Status:
    """Refused; removing other pods might help."""
    return Status(Code.UNSCHEDULABLE, message)


def refuse_for_good(message: str) -> Status:
    """Refused; removing other pods cannot help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message)


def pending(message: str) -> Status:
    """Refused, waiting for an external component; its event bypasses the backoff."""
    return Status(Code.PENDING, message)


def wait(timeout: float = 0.0, message: str = "") -> Status:
    """Permit: hold the reservation and ask again, for at most `timeout` seconds."""
    return Status(Code.WAIT, message, timeout)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a member found no node.

    Attributes:
        nodes: how many nodes were looked at.
        reasons: how many nodes were refused for each reason, `(reason, nodes)`.
        plugins: the plugins that refused at least one node; their events wake the group.
        pending: those of them that wait for an external component; their events bypass the backoff.
        message: shown instead of the reasons if the pod was refused as a whole.
        detail: which claim of the pod is at fault, and what it lacks, in whole sentences; "" =
            nothing more is known. Not compared: diagnoses that differ only in this are equal.
        resolvable: how many nodes could become feasible if pods left them.
    """

    nodes: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    plugins: frozenset[str] = field(default_factory=frozenset)
    pending: frozenset[str] = field(default_factory=frozenset)
    message: str = ""
    detail: str = field(default="", compare=False)
    resolvable: int = field(default=0, compare=False)

    def text(self) -> str:
        """The message that kube-scheduler writes; reasons sort as text.

        Source: kube-scheduler v1.36 pkg/scheduler/framework/types.go FitError.Error.
        """
        if not self.nodes:
            return "no nodes available to schedule pods"
        head = f"0/{self.nodes} nodes are available:"
        if self.message:
            return f"{head} {self.message}."
        if not self.reasons:
            return head
        return f"{head} {', '.join(sorted(f'{count} {why}' for why, count in self.reasons))}."

    def full(self) -> str:
        """The message with the detail, which kube-scheduler does not give."""
        return f"{self.text()} {self.detail}" if self.detail else self.text()


#: No plugin was asked, so nothing is known.
NO_DIAGNOSIS = Diagnosis()
