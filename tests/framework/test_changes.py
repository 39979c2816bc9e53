# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""For how long an object is looked at and changed while the server cannot; in virtual time."""

import asyncio

import pytest

from enbloc.framework.act import Reply
from enbloc.framework.changes import PATIENCE, Body, Object, change, look
from tests.plugins.cluster import Cluster, once, times

IT = Object("ResourceClaim", "ns", "c")
DOWN = Reply(503, message="down")


def cluster() -> Cluster:
    found = Cluster()
    found.put(IT.kind, IT.name)
    return found


def label(body: Body) -> Body:
    del body
    return {"metadata": {"labels": {"a": "b"}}}


def clock() -> float:
    return asyncio.get_running_loop().time()


async def test_the_patience_of_a_change_begins_when_it_has_the_object_alone() -> None:
    api = cluster()
    async with api.alone(IT.kind, IT.namespace, IT.name):
        changing = asyncio.create_task(change(api, IT, label))
        await asyncio.sleep(PATIENCE + 10)
    api.before = times(3, DOWN, f"patch {IT.kind}")
    assert (await changing).problem == ""


@pytest.mark.parametrize("code", [429, 503])
async def test_the_server_is_asked_again_when_it_wants_to_be(code: int) -> None:
    """semantics §3.4"""
    api = cluster()
    busy = Reply(code, message="busy", retry_after=20.0)
    api.before = once(busy, f"get {IT.kind}")
    assert (await look(api, IT)).ok
    assert clock() == 20
    api.before = once(busy, f"patch {IT.kind}")
    assert (await change(api, IT, label)).problem == ""
    assert clock() == 40


async def test_a_wait_that_the_server_asks_for_is_always_followed_by_a_try() -> None:
    api = cluster()
    started = clock()

    def fault(verb: str, kind: str, name: str) -> Reply | None:
        """Down until the patience is almost over, then busy for a while."""
        del kind, name
        passed = clock() - started
        if verb != "patch" or passed > PATIENCE:
            return None
        return DOWN if passed < PATIENCE - 7 else Reply(429, message="busy", retry_after=20.0)

    api.before = fault
    assert (await change(api, IT, label)).problem == ""
    assert clock() - started < PATIENCE + 20


async def test_a_server_that_always_asks_to_wait_is_given_up() -> None:
    api = cluster()
    api.before = times(10**6, Reply(429, message="busy", retry_after=20.0), f"patch {IT.kind}")
    changed = await change(api, IT, label)
    assert (changed.code, changed.problem) == (429, "ResourceClaim ns/c: busy")
    assert clock() == 40
    assert len(api.sent) == 3


async def test_what_depends_on_another_object_is_decided_anew_before_each_try() -> None:
    api = cluster()
    api.put("Pod", "p", spec={})
    api.before = times(3, DOWN, f"patch {IT.kind}")
    asked: list[float] = []

    async def decide(body: Body) -> Body | str:
        asked.append(clock())
        found = await look(api, Object("Pod", "ns", "p"))
        return label(body) if found.ok else "the pod is gone"

    assert (await change(api, IT, decide)).problem == ""
    assert asked == [0, pytest.approx(0.1), pytest.approx(0.3), pytest.approx(0.7)]
    api.before = once(DOWN, f"patch {IT.kind}")
    api.after_seconds(0.05, api.drop, "Pod", "p")
    assert (await change(api, IT, decide)).problem == "the pod is gone"
