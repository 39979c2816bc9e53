# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Faults at random, from a seed: what a `FaultProxy` is to do to each request and each watch."""

import random
from dataclasses import replace
from typing import Final

from tests.e2e.fault_proxy import Fault, WatchFault

#: What may become of a request, by name.
FAULTS: Final = (
    Fault(before=0.4, name="late request"),
    Fault(after=0.8, name="late answer"),
    Fault(sends=0, drop=True, name="reset before the server"),
    Fault(drop=True, name="reset after the server"),
    Fault(sends=2, name="sent twice"),
    Fault(sends=2, drop=True, name="sent twice, and reset"),
    Fault(sends=0, drop=True, late=0.4, name="landing after the reset"),
    Fault(sends=0, forge=401, name="401"),
    Fault(sends=0, forge=409, name="409"),
    Fault(sends=0, forge=429, retry_after="1", name="429"),
    Fault(forge=429, retry_after="1", name="429 though done"),
    Fault(sends=0, forge=500, name="500"),
    Fault(forge=500, name="500 though done"),
    Fault(sends=0, forge=503, name="503"),
    Fault(sends=0, forge=504, name="504"),
    Fault(forge=504, name="504 though done"),
    Fault(cut=0.0, name="body cut"),
    Fault(cut=0.6, name="body cut"),
    Fault(body=b"", name="empty body"),
    Fault(body=b"<html><body>Bad Gateway</body></html>", name="garbage"),
    Fault(body=b'{"metadata": {"name": "\xff\xfe', name="garbage"),
    Fault(body=b"[" * 5000, name="garbage"),
    Fault(body=b"null", name="garbage"),
    Fault(body=b'{"metadata": {"resourceVersion": "x"}}', name="garbage"),
    Fault(body=b'{"metadata": {"resourceVersion": "' + b"9" * 5000 + b'"}}', name="garbage"),
    Fault(
        sends=0,
        forge=429,
        body=b'{"kind": "Status", "details": {"retryAfterSeconds": "soon"}}',
        name="429",
    ),
    Fault(sends=0, forge=409, body=b'{"details": {"causes": "odd"}}', name="409"),
    Fault(sends=0, forge=429, retry_after="3600", name="429 for an hour"),
    Fault(stale=True, name="stale read"),
)
#: What no API server sends, and somebody on the way may.
LINES: Final = (
    WatchFault().line,
    b"[]",
    b'{"type": "ADDED"}',
    b'{"type": "ADDED", "object": ' + b"[" * 5000,
    b'{"type": "ERROR", "object": {"code": "410"}}',
    b'{"type": "ERROR", "object": {"code": 410, "details": {"causes": [7, null]}}}',
    b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "x"}}}',
)
#: What may become of a watch, by name; `lines` is drawn.
WATCH_FAULTS: Final = (
    WatchFault(refuse=410, name="watch 410"),
    WatchFault(refuse=429, name="watch 429"),
    WatchFault(refuse=500, name="watch 500"),
    WatchFault(refuse=503, name="watch 503"),
    *(
        2
        * (  # these need events, of which most watches see few
            WatchFault(doubled=2, name="events twice"),
            WatchFault(end="close", name="watch closed"),
            WatchFault(end="reset", name="watch reset"),
            WatchFault(end="cut", name="event cut"),
            WatchFault(end="gone", name="event 410"),
            WatchFault(end="garbage", name="event garbage"),
            WatchFault(end="silence", seconds=8.0, name="watch silent"),
        )
    ),
)
#: The shares of requests that suffer; one is drawn for a time, then another one.
SHARES: Final = (0.0, 0.05, 0.1, 0.2, 0.4)
#: After how many events at most a watch suffers what ends it.
EVENTS: Final = 12


class Storm:
    """Draws faults until it is calm.

    Args:
        seed: of what is drawn; the same requests in the same order suffer the same.
    """

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)
        #: The share of requests that suffer now.
        self.share = 0.1
        self._over = False

    def turn(self) -> None:
        """Draw another share."""
        self.share = self._rng.choice(SHARES)

    def calm(self) -> None:
        """Nothing suffers any more."""
        self._over = True

    def request(self, method: str, path: str) -> Fault:
        """What a request suffers."""
        if self._over or self._rng.random() >= self.share:
            return Fault()
        fault = self._rng.choice(FAULTS)
        # Who asks for one pod asks what became of its Binding. An API server answers that by what
        # its store has, and nothing could be decided without one that does.
        if fault.stale and (method != "GET" or "/pods/" in path):
            return Fault()
        return fault

    def watch(self, path: str) -> WatchFault:
        """What a watch suffers; more often than a request, for there are few."""
        del path
        if self._over or self._rng.random() >= min(1.0, 2 * self.share):
            return WatchFault()
        fault = self._rng.choice(WATCH_FAULTS)
        return replace(fault, lines=self._rng.randint(0, EVENTS), line=self._rng.choice(LINES))
