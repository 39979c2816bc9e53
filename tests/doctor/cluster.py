# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster that the doctor looks at: lists of objects, and answers to reviews."""

import datetime as dt
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from enbloc.client.client import Client
from enbloc.doctor import Finding, Installation, Verdict, examine
from tests.client.fake import answer, refusal, talking_to

#: What a server with resource.k8s.io has of it.
DEVICE_KINDS = ("resourceclaims", "resourceclaimtemplates", "deviceclasses")


def discovered(path: str, devices_in: str) -> web.Response | None:
    """What is served of resource.k8s.io, in one version; None = it is another question."""
    parts = path.strip("/").split("/")
    if parts[:2] != ["apis", "resource.k8s.io"]:
        return None
    if parts[2] != devices_in:
        return refusal(404, "NotFound")
    if len(parts) > 3:
        return None
    return answer({"resources": [{"name": each} for each in DEVICE_KINDS]})


async def found(
    lists: Mapping[str, Any],
    ours: Installation,
    version: str = "v1.36.1",
    *,
    forbid: str = "",
    allowed: Callable[[Mapping[str, Any]], bool] = lambda _: True,
    ask: Callable[[Client, Installation], Awaitable[Any]] = examine,
    devices_in: str = "v1",
) -> Any:
    """All findings on a server with these items by plural, which answers reviews so.

    Args:
        lists: the items.
        ours: the installation.
        version: of the server.
        forbid: what nobody may read.
        allowed: the answers to reviews.
        ask: what is asked for findings.
        devices_in: the one version of resource.k8s.io that the server has.
    """

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if parts == ["version"]:
            major, second, *_ = re.findall(r"\d+", version)
            return answer({"gitVersion": version, "major": major, "minor": second})
        if forbid and forbid in parts:
            return refusal(403, "Forbidden", f"{forbid} is forbidden")
        if (said := discovered(request.path, devices_in)) is not None:
            return said
        if request.method == "POST":
            review = (await request.json())["spec"]
            return answer({"status": {"allowed": allowed(review)}}, 201)
        if parts[-1] in lists:
            return answer({"metadata": {}, "items": lists[parts[-1]]})
        if parts[-2] in lists:
            for item in lists[parts[-2]]:
                if item["metadata"]["name"] == parts[-1]:
                    return answer(item)
            return refusal(404, "NotFound", name=parts[-1])
        return answer({"metadata": {}, "items": []})

    async with talking_to(handler) as client:
        return await ask(client, ours)


PLANNED = Installation(planned=True)


def of(findings: list[Finding], check: str) -> list[tuple[Verdict, str]]:
    return [(each.verdict, each.object) for each in findings if each.check == check]


def lease(
    namespace: str, name: str, holder: str, *, names: str = "", ago: float = 5.0
) -> dict[str, Any]:
    """A Lease that was renewed so many seconds ago."""
    annotations = {"enbloc.dev/scheduler-names": names} if names else {}
    metadata = {"namespace": namespace, "name": name, "annotations": annotations}
    renewed = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=ago)
    spec = {"holderIdentity": holder, "renewTime": renewed.isoformat(), "leaseDurationSeconds": 15}
    return {"metadata": metadata, "spec": spec}
