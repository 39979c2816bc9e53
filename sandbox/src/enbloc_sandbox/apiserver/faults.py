# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Faults on order: what a test or a user wants the API server to do wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc_sandbox.apiserver.status import Refused

_VERBS: Final = frozenset(
    {"*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
)
_REASONS: Final = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(slots=True, eq=False)
class Fault:
    """One thing that goes wrong; see `Faults.add`."""

    verb: str
    resource: str
    status: int | None
    delay: float
    hang: bool
    retry_after: int | None
    after_commit: bool
    times: int | None

    def matches(self, verb: str, resource: str) -> bool:
        """Whether it concerns a request for `resource` ("pods", "pods/binding")."""
        return self.verb in {"*", verb} and self.resource in {"*", resource}

    def refusal(self, verb: str, resource: str) -> Refused:
        """The answer."""
        code = self.status or 500
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        message = f"{resource} is forbidden: cannot {verb} (a fault of the sandbox)"
        if code != 403:
            message = f"a fault of the sandbox: {code} on {verb} {resource}"
        return Refused(code, _REASONS.get(code, ""), message, details)


class Faults:
    """The fault hook of one sandbox."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self.on_refuse: Callable[[float], None] = lambda _: None
        self.on_end: Callable[[bool], None] = lambda _: None

    def refuse(self, seconds: float) -> None:
        """Drop all connections and refuse new ones for a while, keeping the objects."""
        self.on_refuse(seconds)

    def expire_watches(self) -> None:
        """End all watches with an ERROR event 410; resourceVersions up to now are too old."""
        self.on_end(True)

    def end_watches(self) -> None:
        """End all watches without a word, as a loaded API server does."""
        self.on_end(False)

    def add(
        self,
        *,
        verb: str,
        resource: str,
        status: int | None = None,
        delay: float = 0,
        hang: bool = False,
        retry_after: int | None = None,
        after_commit: bool = False,
        times: int | None = None,
    ) -> None:
        """Let requests go wrong; of several faults that fit, the oldest strikes.

        Args:
            verb: get, list, watch, create, update, patch, delete, deletecollection or "*".
            resource: "pods", "pods/binding" or "*" for all.
            status: answer with this HTTP status. None: with `after_commit` cut the connection,
                else serve the request (after the delay).
            delay: seconds before anything else.
            hang: never answer.
            retry_after: seconds for the header of that name.
            after_commit: do the write first, then go wrong.
            times: how many requests; None for all.

        Raises:
            ValueError: there is no such verb, a number is out of its range, or nothing would go
                wrong.
        """
        if status is not None and not 400 <= status <= 599:
            raise ValueError(f"status must be from 400 to 599, not {status}")
        if not (delay >= 0 and math.isfinite(delay)):
            raise ValueError(f"delay must be a number of seconds, 0 or more, not {delay:g}")
        if times is not None and times < 1:
            raise ValueError(f"times must be at least 1, not {times}")
        if retry_after is not None and retry_after < 0:
            raise ValueError(f"retry_after must be at least 0, not {retry_after}")
        if verb not in _VERBS:
            raise ValueError(f'verb "{verb}" does not exist; one of {", ".join(sorted(_VERBS))}')
        if not (status or delay or hang or after_commit):
            raise ValueError("a fault needs a status, a delay, hang or after_commit")
        self._faults.append(
            Fault(verb, resource, status, delay, hang, retry_after, after_commit, times)
        )

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._faults.clear()

    def take(self, verb: str, resource: str) -> Fault | None:
        """The fault that strikes this request, counted."""
        for fault in self._faults:
            if fault.matches(verb, resource):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                return fault
        return None

    def order(self, document: Mapping[str, Any]) -> None:
        """Do what a JSON document says: {"do": "add", "verb": "list", …}.

        Raises:
            ValueError: the document does not name a fault.
        """
        arguments = {name: value for name, value in document.items() if name != "do"}
        actions: dict[str, Callable[..., None]] = {
            "refuse": self.refuse,
            "expire_watches": self.expire_watches,
            "end_watches": self.end_watches,
            "add": self.add,
            "clear": self.clear,
        }
        action = actions.get(str(document.get("do")))
        if action is None:
            raise ValueError(f'"do" must be one of {", ".join(actions)}')
        try:
            action(**arguments)
        except TypeError as error:
            raise ValueError(str(error)) from None
