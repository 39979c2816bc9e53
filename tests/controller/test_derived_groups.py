# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""In which order PodGroups are written for other objects, and what is made of the answers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from enbloc.controller.sources.derived_groups import DerivedGroups, WantedGroup
from enbloc.model.groups import GroupKey
from enbloc.model.names import DERIVED_KEY
from enbloc.telemetry import ActiveProblems
from tests.client.fake import answer, refusal, talking_to

WHOLE, LATER = GroupKey("n", "whole"), GroupKey("n", "later")
OWNER = {"apiVersion": "v1", "kind": "K", "name": "w", "uid": "u"}


def wanted(*after: GroupKey) -> WantedGroup:
    """A PodGroup of some kind of workload."""
    return WantedGroup("workloads.test", {"minMember": 2}, (OWNER,), after)


class Server:
    """Keeps the PodGroups that are created; `spoil` may answer in its place."""

    def __init__(self) -> None:
        self.asked = 0
        self.created: list[str] = []
        self.spoil: Callable[[str], web.Response | None] = lambda _name: None

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        self.asked += 1
        body = await request.json()
        name = body["metadata"]["name"]
        spoilt = self.spoil(name)
        if spoilt is not None:
            return spoilt
        if name in self.created:
            return refusal(409, "AlreadyExists", name=name)
        self.created.append(name)
        body["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "1"}
        return answer(body, 201)


async def written(
    server: Server,
    groups: Mapping[GroupKey, WantedGroup],
    refused: Callable[[GroupKey, str], None] = lambda _key, _why: None,
) -> tuple[str, ...]:
    """What stood in the way once all of these were written."""
    problems = ActiveProblems()
    async with talking_to(server) as client:
        derived = DerivedGroups(client, problems, groups.get, lambda _: False, refused)
        for key in groups:
            derived.review(key)
        await derived.writer.settled()
    return problems.active


async def test_a_podgroup_is_made_after_those_whose_pods_would_count_as_its_own() -> None:
    """Whoever dies in between leaves nothing of which a part could start."""
    server = Server()
    refused: list[str] = []

    def spoil(name: str) -> web.Response | None:
        if name != "later" or refused:
            return None
        assert not server.created
        refused.append(name)
        return refusal(503, "ServiceUnavailable")

    server.spoil = spoil
    assert not await written(server, {WHOLE: wanted(LATER), LATER: wanted()})
    # How many requests it takes is open: both write "later", and one may find it made already.
    assert server.created == ["later", "whole"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": {"name": "another", "namespace": "n", "uid": "u"}},
        {"metadata": {"name": "whole", "namespace": "n", "uid": "u", "labels": [1]}},
        {"kind": "Status", "status": "Success"},
    ],
)
async def test_an_answer_that_shows_something_else_is_no_success(body: Any) -> None:
    server, answers = Server(), [answer(body, 201)]
    server.spoil = lambda _name: answers.pop() if answers else None
    assert not await written(server, {WHOLE: wanted()})
    assert (server.created, server.asked) == (["whole"], 2)


async def test_whoever_calls_for_a_podgroup_that_a_quota_forbids_is_told() -> None:
    server, told = Server(), asyncio.Event()
    server.spoil = lambda _name: refusal(403, "Forbidden", "exceeded quota: small")
    writing = asyncio.create_task(written(server, {WHOLE: wanted()}, lambda *_: told.set()))
    async with asyncio.timeout(10.0):
        await told.wait()
    writing.cancel()


@pytest.mark.parametrize("scheduled", [True, False])
async def test_a_level_that_moves_to_a_sub_group_stays_while_the_podgroup_is_scheduled(
    *, scheduled: bool
) -> None:
    near = {"required": "example.com/rack"}
    named = [{"name": name, "minMember": 1} for name in "ab"]
    metadata = {"name": WHOLE.name, "namespace": WHOLE.namespace, "uid": "u1"}
    said = {"type": "Scheduled", "status": str(scheduled), "reason": "Said"}
    found: dict[str, Any] = {
        "metadata": {
            **metadata,
            "resourceVersion": "1",
            "labels": {DERIVED_KEY: "workloads.test"},
            "ownerReferences": [OWNER],
        },
        "spec": {"minMember": 2, "roles": named, "topology": near},
        "status": {"conditions": [said]},
    }
    spec = {
        "minMember": 2,
        "roles": [{**each, "parent": "s"} for each in named],
        "subGroups": [{"name": "s", "topology": near}],
    }
    patches: list[Any] = []

    async def server(request: web.BaseRequest) -> web.Response:
        patches.append((await request.json())["spec"])
        return answer({**found, "spec": spec})

    async with talking_to(server) as client:
        groups = {WHOLE: WantedGroup("workloads.test", spec, (OWNER,))}
        problems = ActiveProblems()
        derived = DerivedGroups(client, problems, groups.get, lambda _: False, lambda *_: None)
        derived.seen(WHOLE, found)
        await derived.writer.settled()
    assert [each["subGroups"] for each in patches] == ([] if scheduled else [spec["subGroups"]])


async def test_a_scheduled_podgroup_keeps_its_sub_groups_and_takes_what_else_has_changed() -> None:
    """The API server refuses another parent until the group is not scheduled any more."""
    found: dict[str, Any] = {
        "metadata": {
            "name": WHOLE.name,
            "namespace": WHOLE.namespace,
            "uid": "u1",
            "resourceVersion": "1",
            "labels": {DERIVED_KEY: "workloads.test"},
            "ownerReferences": [OWNER],
        },
        "spec": {"minMember": 2, "roles": [{"name": "a", "minMember": 2}]},
        "status": {"conditions": [{"type": "Scheduled", "status": "True", "reason": "Scheduled"}]},
    }
    near = {"required": "example.com/rack"}
    spec = {
        "minMember": 4,
        "roles": [
            {"name": "a", "minMember": 3, "parent": "s", "topology": near},
            {"name": "b", "minMember": 1, "parent": "s"},
        ],
        "subGroups": [{"name": "s", "topology": near}],
    }
    patches: list[Any] = []
    refused: list[str] = []

    async def server(request: web.BaseRequest) -> web.Response:
        patches.append((await request.json())["spec"])
        return answer({**found, "spec": patches[-1]})

    async with talking_to(server) as client:
        groups = {WHOLE: WantedGroup("workloads.test", spec, (OWNER,))}
        derived = DerivedGroups(
            client,
            ActiveProblems(),
            groups.get,
            lambda _: False,
            lambda _, why: refused.append(why),
        )
        derived.seen(WHOLE, found)
        await derived.writer.settled()
    [patch] = patches
    assert patch["minMember"] == 4
    assert patch["roles"] == [
        {"name": "a", "minMember": 3, "topology": near},
        {"name": "b", "minMember": 1},
    ]
    assert "subGroups" not in patch
    assert set(refused) == {
        "keeps its sub-groups while it is scheduled; they are to change after that"
    }


async def test_a_podgroup_with_a_role_without_a_name_is_changed_like_any_other() -> None:
    """A server with another schema may show one."""
    found: dict[str, Any] = {
        "metadata": {
            "name": WHOLE.name,
            "namespace": WHOLE.namespace,
            "uid": "u1",
            "resourceVersion": "1",
            "labels": {DERIVED_KEY: "workloads.test"},
            "ownerReferences": [OWNER],
        },
        "spec": {"minMember": 2, "roles": [{"minMember": 2}]},
    }
    spec = {"minMember": 2, "roles": [{"name": "a", "minMember": 2}]}
    patches: list[Any] = []

    async def server(request: web.BaseRequest) -> web.Response:
        patches.append((await request.json())["spec"])
        return answer({**found, "spec": patches[-1]})

    async with talking_to(server) as client:
        groups = {WHOLE: WantedGroup("workloads.test", spec, (OWNER,))}
        derived = DerivedGroups(client, ActiveProblems(), groups.get, lambda _: False)
        derived.seen(WHOLE, found)
        await derived.writer.settled()
    assert patches == [spec]


@pytest.mark.parametrize("shown", [False, True])
async def test_a_podgroup_that_a_finalizer_kept_is_made_again_once_it_is_gone(
    *, shown: bool
) -> None:
    """Its object was deleted and created again meanwhile, and its pods wait for another one.

    The watch may show that it terminates before or after that was asked for.
    """
    kept: dict[str, Any] = {
        "metadata": {
            "name": WHOLE.name,
            "namespace": WHOLE.namespace,
            "uid": "u1",
            "resourceVersion": "1",
            "labels": {DERIVED_KEY: "workloads.test"},
            "ownerReferences": [{**OWNER, "uid": "of-the-former-object"}],
            "finalizers": ["example.com/archive"],
        },
        "spec": {"minMember": 2},
    }
    there, made = [kept], list[str]()

    async def server(request: web.BaseRequest) -> web.Response:
        if request.method == "DELETE":
            return answer(kept)
        if there:
            return refusal(409, "AlreadyExists", name=WHOLE.name)
        body = await request.json()
        made.append(body["metadata"]["name"])
        body["metadata"] |= {"uid": "u2", "resourceVersion": "3"}
        return answer(body, 201)

    async with talking_to(server) as client:
        groups = {WHOLE: wanted()}
        derived = DerivedGroups(client, ActiveProblems(), groups.get, lambda _: False)
        derived.seen(WHOLE, kept)
        await derived.writer.settled()
        if shown:
            metadata = {**kept["metadata"], "resourceVersion": "2", "deletionTimestamp": "now"}
            derived.seen(WHOLE, {**kept, "metadata": metadata})
            await derived.writer.settled()
        there.clear()
        derived.gone(WHOLE, "u1")
        await derived.writer.settled()
    assert made == ["whole"]
