# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: how a gang's members are made to give their room back."""

from typing import Any

from sandbox.tests.apiserver.parity.recorder import STRATEGIC, Api
from sandbox.tests.apiserver.parity.scenarios_pods import eviction, run
from sandbox.tests.apiserver.parity.talk import pod, scenario

WRONG = "00000000-0000-0000-0000-000000000000"


def disrupted(**metadata: Any) -> dict[str, Any]:
    """A patch of pods/status that says what is about to happen, and why."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": "2026-11-21T05:00:00Z",
        "reason": "TimedOut",
        "message": "the gang stayed incomplete",
    }
    return {"metadata": metadata, "status": {"conditions": [condition]}}


def meant(name: str, **preconditions: Any) -> dict[str, Any]:
    return {**eviction(name), "deleteOptions": {"preconditions": preconditions}}


@scenario
async def only_the_pod_that_was_meant_is_evicted(api: Api) -> None:
    await run(api, "a")
    await api.call("POST", f"{api.pods}/a/eviction", meant("a", uid=WRONG))
    reply = await api.call("GET", f"{api.pods}/a")
    await api.call("POST", f"{api.pods}/a/eviction", meant("a", resourceVersion="1"))
    uid = reply.body["metadata"]["uid"]
    await api.call("POST", f"{api.pods}/a/eviction", meant("a", uid=uid))
    await api.call("GET", f"{api.pods}/a")
    await api.call("POST", f"{api.pods}/a/eviction", meant("a", uid=uid))
    await api.call("POST", f"{api.pods}/a/eviction", meant("a", uid=WRONG))


@scenario
async def an_eviction_gives_its_own_reason(api: Api) -> None:
    await run(api, "a")
    await api.call("PATCH", f"{api.pods}/a/status", disrupted(), kind=STRATEGIC)
    await api.call("POST", f"{api.pods}/a/eviction", eviction("a"))
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_bound_pod_that_never_ran_is_evicted_like_others(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", nodeName="n"), quiet=True)
    await api.call("POST", f"{api.pods}/a/eviction", meant("a", uid=WRONG))
    await api.call("POST", f"{api.pods}/a/eviction", eviction("a"))
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_status_is_patched_of_the_pod_that_was_meant(api: Api) -> None:
    reply = await api.call("POST", api.pods, pod("a", nodeName="n"), quiet=True)
    first = reply.body["metadata"]
    path = f"{api.pods}/a/status"
    await api.call("PATCH", path, disrupted(uid=WRONG), kind=STRATEGIC)
    await api.call("PATCH", path, disrupted(uid=first["uid"]), kind=STRATEGIC)
    stale = disrupted(uid=first["uid"], resourceVersion=first["resourceVersion"])
    await api.call("PATCH", path, stale, kind=STRATEGIC)


@scenario
async def a_pod_is_deleted_as_it_was_last_seen(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", nodeName="n"), quiet=True)
    reply = await api.call("PATCH", f"{api.pods}/a/status", disrupted(), kind=STRATEGIC, quiet=True)
    last = reply.body["metadata"]
    seen = {"uid": last["uid"], "resourceVersion": "1"}
    await api.call("DELETE", f"{api.pods}/a", {"preconditions": seen})
    seen = {"uid": WRONG, "resourceVersion": last["resourceVersion"]}
    await api.call("DELETE", f"{api.pods}/a", {"preconditions": seen})
    seen = {"uid": last["uid"], "resourceVersion": last["resourceVersion"]}
    await api.call("DELETE", f"{api.pods}/a", {"preconditions": seen})
    await api.call("DELETE", f"{api.pods}/a", {"preconditions": {"uid": last["uid"]}})
