# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Health of a process: the checks behind /livez, /healthz and /readyz."""

from collections.abc import Callable, Iterable
from typing import Final, Literal
from urllib.parse import parse_qs

Endpoint = Literal["livez", "healthz", "readyz"]
Check = Callable[[], bool]

ENDPOINTS: Final[tuple[Endpoint, ...]] = ("livez", "healthz", "readyz")
#: The check that every endpoint has and that always passes: the server answers.
_PING: Final = "ping"


class Health:
    """The checks behind each endpoint, and pages; processes register them, any thread may read."""

    def __init__(self) -> None:
        self._checks: dict[str, dict[str, Check]] = {
            endpoint: {_PING: lambda: True} for endpoint in ENDPOINTS
        }
        self._notes: set[str] = set()
        #: Other pages of the process: path without its first slash → the function that makes it.
        self.pages: dict[str, Callable[[], str]] = {}

    def register(self, name: str, check: Check, *endpoints: Endpoint, counts: bool = True) -> None:
        """Add a check; it runs in the server's thread and must not wait.

        Args:
            name: shown to clients: it says what is checked, never any data.
            check: true if it passes; an exception counts as a failure.
            endpoints: the endpoints that it belongs to.
            counts: False to show the check without letting it fail an endpoint.
        """
        if not counts:
            self._notes.add(name)
        for endpoint in endpoints:
            self._checks[endpoint][name] = check

    def failed(self, endpoint: str, excluded: frozenset[str] = frozenset()) -> list[str]:
        """The names of an endpoint's checks that count and fail now."""
        without = excluded | self._notes
        checks = list(self._checks[endpoint].items())
        return [name for name, check in checks if name not in without and not _passes(check)]

    def report(self, path: str, query: str) -> tuple[int, str] | None:
        """HTTP status and text of an endpoint or check, in kube-apiserver's format.

        Args:
            path: without its first slash: an endpoint, or one check of it (`livez/ping`).
            query: the query string, with ``verbose`` and ``exclude=``.

        Returns:
            None if there is no such endpoint or check.
        """
        endpoint, _, only = path.partition("/")
        known = self._checks.get(endpoint)
        if known is None:
            return None
        if only:
            return None if only not in known else _one(_passes(known[only]))
        asked = parse_qs(query, keep_blank_values=True)
        excluded = frozenset(asked.get("exclude", ()))
        failed = self.failed(endpoint, excluded)
        if not failed and "verbose" not in asked:
            return 200, "ok"
        return (500 if failed else 200), "\n".join(self._lines(endpoint, failed, excluded))

    def _lines(self, endpoint: str, failed: list[str], excluded: frozenset[str]) -> Iterable[str]:
        for name, check in list(self._checks[endpoint].items()):
            if name in excluded:
                yield f"[+]{name} excluded: ok"
            elif name in failed:
                yield f"[-]{name} failed: reason withheld"
            elif name in self._notes and not _passes(check):
                yield f"[!]{name} failed: does not count, see the log"
            else:
                yield f"[+]{name} ok"
        yield f"{endpoint} check {'failed' if failed else 'passed'}\n"


def _one(well: bool) -> tuple[int, str]:  # the answer about one check
    return (200, "ok") if well else (500, "failed: reason withheld\n")


def _passes(check: Check) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001  # a check that raises counts as failed
        return False
