# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Talk to an API server and write down what it answers, without what differs from run to run."""

import asyncio
import json
import re
import ssl
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

_TIME: Final = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: Both inside a text that quotes an object, perhaps with escaped quotation marks.
_EMBEDDED_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_EMBEDDED_VERSION: Final = re.compile(r'(resourceVersion\\*":\\*")\d+')
#: Ages in tables, "3s"; generated suffixes and other things that are never the same twice.
_AGE: Final = re.compile(r"^(\d+[smhd])+$|^<invalid>$")


@dataclass
class Reply:
    """One answer."""

    status: int
    body: Any
    headers: dict[str, str]


@dataclass
class Api:
    """One target, one namespace; everything asked is remembered with its answer."""

    session: aiohttp.ClientSession
    url: str
    namespace: str
    tls: ssl.SSLContext | bool = True
    transcript: list[dict[str, Any]] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = JSON,
        accept: str = JSON,
        quiet: bool = False,
    ) -> Reply:
        """One request; `quiet` keeps it out of the transcript."""
        data = body if isinstance(body, str | bytes | None) else json.dumps(body)
        headers = {"Accept": accept, **({"Content-Type": kind} if data is not None else {})}
        async with self.session.request(
            method,
            self.url + path,
            data=data,
            headers=headers,
            ssl=self.tls,
            timeout=aiohttp.ClientTimeout(total=20),
        ) as response:
            raw = await response.read()
            found = dict(response.headers)
            status = response.status
        try:
            parsed = json.loads(raw)
        except ValueError:
            parsed = raw.decode(errors="replace")
        if not quiet:
            warning = found.get("Warning")
            self.transcript.append(
                {
                    "request": f"{method} {self._named(path)}",
                    "status": status,
                    **({"warning": self._named(warning)} if warning else {}),
                    "body": self.normal(parsed),
                }
            )
        return Reply(status, parsed, found)

    def note(self, what: str, status: int, body: Any) -> None:
        """Something else worth comparing."""
        self.transcript.append({"request": what, "status": status, "body": self.normal(body)})

    async def watch(
        self,
        path: str,
        *,
        events: int,
        seconds: float = 5.0,
        accept: str = JSON,
        quiet: bool = False,
    ) -> list[Any]:
        """The first events of a watch, which is opened here and now."""
        found: list[Any] = []
        joint = "&" if "?" in path else "?"
        async with self.session.get(
            f"{self.url}{path}{joint}watch=true",
            headers={"Accept": accept},
            ssl=self.tls,
            timeout=aiohttp.ClientTimeout(total=seconds),
        ) as response:
            try:
                async for line in response.content:
                    found.append(json.loads(line))
                    if len(found) >= events:
                        break
            except TimeoutError:
                pass
        if not quiet:
            self.transcript.append(
                {
                    "request": f"WATCH {self._named(path)}",
                    "status": response.status,
                    "events": [self.normal(event) for event in found],
                }
            )
        return found

    def watching(self, path: str, *, events: int) -> "asyncio.Task[list[Any]]":
        """The same, in the background."""
        return asyncio.create_task(self.watch(path, events=events))

    def _named(self, text: str) -> str:
        text = text.replace(self.namespace, "{namespace}")
        text = re.sub(r"(resourceVersion=)[1-9]\d*", r"\1{version}", text)
        text = re.sub(r"(continue=)[^&]+", r"\1{token}", text)
        for found in _UID.findall(text):
            text = text.replace(found, self._names.setdefault(found, f"uid-{len(self._names)}"))
        return text

    def normal(self, value: Any, key: str = "") -> Any:
        """The value, with names for what is never the same twice."""
        if isinstance(value, dict):
            return {
                self._named(name): self.normal(value[name], name)
                for name in sorted(value)
                if name not in ("remainingItemCount", "selfLink")
            }
        if isinstance(value, list):
            return [self.normal(item, key) for item in value]
        if isinstance(value, str):
            if key == "resourceVersion":
                return "{version}" if value not in ("", "0") else value
            if key == "continue":
                return "{token}" if value else ""
            if _TIME.match(value):
                return "{time}"
            if key == "cells" and _AGE.match(value):
                return "{age}"
            text = re.sub(r"in record \(\d+\)", "in record ({version})", self._named(value))
            text = re.sub(r"(too old resource version: 1) \(\d+\)", r"\1 ({version})", text)
            text = _EMBEDDED_TIME.sub("{time}", text)
            return _EMBEDDED_VERSION.sub(r"\1{version}", text)
        return value
