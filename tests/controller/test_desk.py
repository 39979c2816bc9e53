# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The writing of a status, when the server does not take it."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from aiohttp import web

from enbloc.controller.creators import JOB, Creator
from enbloc.controller.desk import Desk
from enbloc.controller.members import Members
from enbloc.kube.events import Recorder
from enbloc.model import names
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.telemetry import Troubles
from tests.controller.fake import ROOT, group
from tests.kube.fake import Script, answer, refusal, says, talking_to

KEY = GroupKey("n", "a")


@dataclass
class Office:
    """A desk with one group on it, the server that answers it, and what it was told."""

    desk: Desk
    members: Members
    troubles: Troubles
    server: Script
    recorder: Recorder

    async def events(self) -> list[dict[str, Any]]:
        """The events that were written, once there is nothing left to write."""
        self.server.answers = [says(lambda: answer({}, 201))]
        before = len(self.server.bodies)
        await self.recorder.flush(5.0)
        return self.server.bodies[before:]


@asynccontextmanager
async def office(
    *answers: Callable[[], web.Response], may_write: bool = True
) -> AsyncGenerator[Office, None]:
    server = Script(*map(says, answers))
    async with talking_to(server) as client:
        members, troubles = Members(), Troubles()
        writer = client.fenced(lambda: may_write)
        recorder = Recorder(client, "test")
        desk = Desk(writer, members, troubles, recorder)
        desk.put(group("a"))
        yield Office(desk, members, troubles, server, recorder)


def written(version: int = 2) -> Callable[[], web.Response]:
    return lambda: answer(group("a", version, status={"members": 0}))


async def test_what_is_applied_is_the_controllers_and_bound_to_the_object() -> None:
    async with office(written()) as at:
        assert await at.desk.reconcile(KEY) == 0.0

    (request,), (body,) = at.server.seen, at.server.bodies
    assert request.path == f"{ROOT}/namespaces/n/podgroups/a/status"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.query["fieldManager"] == names.CONTROLLER_MANAGER
    assert request.query["force"] == "true"
    assert body["metadata"] == {"name": "a", "namespace": "n", "uid": "uid-a"}
    assert "spec" not in body


async def test_what_the_server_answers_is_taken_as_what_stands() -> None:
    async with office(written()) as at:
        await at.desk.reconcile(KEY)
        (body,) = at.server.bodies
        at.desk.put(group("a", 3, status=body["status"]))
        await at.desk.reconcile(KEY)

    assert len(at.server.seen) == 1


async def test_what_the_scheduler_wrote_in_between_is_looked_at_again() -> None:
    unschedulable = {"type": "Scheduled", "status": "False", "reason": "Unschedulable"}
    meanwhile = group("a", 2, status={"conditions": [unschedulable]})
    async with office(lambda: answer(meanwhile)) as at:
        again = await at.desk.reconcile(KEY)
        assert at.desk.put(meanwhile) is None, "the event of that write is old news by now"
        assert again == 0.0
        await at.desk.reconcile(KEY)

    ready = [body["status"]["conditions"][0] for body in at.server.bodies]
    assert [condition["reason"] for condition in ready] == ["WaitingForMembers", "Unschedulable"]


async def test_an_older_state_is_no_news() -> None:
    async with office(written()) as at:
        assert at.desk.put(group("a", 1)) is None
        assert at.desk.put(group("a", 2)) == KEY


async def test_a_namesake_replaces_a_group_and_is_not_removed_in_its_place() -> None:
    async with office(written()) as at:
        new = group("a", 1)
        new["metadata"]["uid"] = "another"
        assert at.desk.put(new) == KEY
        assert at.desk.remove(group("a", 9)) is None
        assert KEY in at.desk
        assert at.desk.remove(new) == KEY
        assert KEY not in at.desk


@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [
        pytest.param(
            403,
            "Forbidden",
            "Cannot patch podgroups.enbloc.dev/status: 403 Forbidden: no "
            '(grant the verb "patch" on podgroups.enbloc.dev/status)',
            id="a missing permission is said with the fix",
        ),
        pytest.param(
            500,
            "InternalError",
            "Cannot patch podgroups.enbloc.dev/status: 500 InternalError: no",
            id="a failing server is said",
        ),
        pytest.param(409, "Conflict", None, id="a conflict is tried again quietly"),
    ],
)
async def test_a_write_that_may_succeed_later_is_tried_again(
    caplog: pytest.LogCaptureFixture, code: int, reason: str, said: str | None
) -> None:
    async with office(lambda: refusal(code, reason, "no")) as at:
        first, second = await at.desk.reconcile(KEY), await at.desk.reconcile(KEY)
        assert first is not None
        assert second is not None
        assert bool(at.troubles.standing) == (said is not None)
        at.server.answers = [says(written())]
        assert await at.desk.reconcile(KEY) == 0.0
        assert not at.troubles.standing

    told = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert told == ([said] if said else [])


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(
            lambda: refusal(
                403, "Forbidden", "", causes=[{"reason": "NamespaceTerminating", "message": ""}]
            ),
            id="a namespace that goes away",
        ),
        pytest.param(lambda: refusal(422, "Invalid", "bad"), id="a status that is not valid"),
        pytest.param(
            lambda: refusal(404, "NotFound", "", name="a", kind="podgroups"), id="a group gone"
        ),
    ],
)
async def test_a_write_that_is_pointless_is_not_tried_again(
    refused: Callable[[], web.Response],
) -> None:
    async with office(refused) as at:
        assert await at.desk.reconcile(KEY) is None
        assert not at.troubles.standing


async def test_a_group_that_is_gone_is_forgotten() -> None:
    async with office(lambda: refusal(404, "NotFound", "", name="a", kind="podgroups")) as at:
        await at.desk.reconcile(KEY)
        await at.desk.reconcile(KEY)

    assert len(at.server.seen) == 1


async def test_without_the_lease_nothing_is_sent() -> None:
    async with office(written(), may_write=False) as at:
        assert await at.desk.reconcile(KEY) is None

    assert at.server.seen == []


async def test_a_group_that_cannot_be_read_is_ignored_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with office(written()) as at:
        bad = group("b", spec={"minMember": "two"})
        assert at.desk.put(bad) is None
        assert at.desk.remove(bad) is None

    assert "$.spec.minMember" in caplog.text


def failed_pod(name: str, incarnation: str) -> Pod:
    return Pod(
        PodKey("n", name),
        PodUID(name),
        PodSpec(),
        group=KEY,
        phase=Phase.FAILED,
        restart=incarnation,
    )


async def test_failures_are_counted_on_when_their_pods_are_gone() -> None:
    async with office(written()) as at:
        for name in ("p", "q"):
            at.members.put(failed_pod(name, "first"), ready=False)
        at.desk.put(group("a", 2, status={"incarnation": "first"}))
        await at.desk.reconcile(KEY)
        at.members.remove(PodUID("p"))
        at.desk.put(group("a", 3, status={"incarnation": "first"}))
        await at.desk.reconcile(KEY)
        at.members.remove(PodUID("q"))
        at.desk.put(group("a", 4, status={"incarnation": "second", "failed": 2}))
        await at.desk.reconcile(KEY)

    assert [body["status"]["failed"] for body in at.server.bodies] == [2, 2, 0]


def ended(version: int, reason: str, **more: Any) -> dict[str, Any]:
    """The group, with condition Finished as this reason says."""
    finished = {
        "type": "Finished",
        "status": "True",
        "reason": reason,
        "message": "",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-11-21T05:00:00Z",
    }
    return group("a", version, status={"conditions": [finished], **more})


async def test_7_2_each_life_that_ends_is_told_of_once() -> None:
    end = {"incarnation": "first"}
    async with office(lambda: answer(ended(3, "Failed", **end))) as at:
        at.members.put(failed_pod("p", "first"), ready=False)
        at.desk.put(group("a", 2, status=end))
        await at.desk.reconcile(KEY)
        first = await at.events()
        at.desk.put(ended(4, "Failed", **end))
        at.server.answers = [says(lambda: answer(ended(5, "Failed", **end)))]
        await at.desk.reconcile(KEY)
        again = await at.events()
        at.members.remove(PodUID("p"))
        at.members.put(failed_pod("q", "second"), ready=False)
        at.server.answers = [says(lambda: answer(ended(6, "Failed", **end)))]
        await at.desk.reconcile(KEY)
        rerun = await at.events()

    assert [(e["reason"], e["type"]) for e in first] == [("PodGroupFinished", "Warning")]
    assert first[0]["note"] == "Failed: 0 members succeeded, 1 failed"
    assert again == []
    assert [e["reason"] for e in rerun] == ["PodGroupFinished"]


async def test_7_2_a_write_that_failed_tells_of_the_end_later() -> None:
    async with office(lambda: refusal(500, "InternalError", "no")) as at:
        at.members.put(failed_pod("p", "first"), ready=False)
        await at.desk.reconcile(KEY)
        assert await at.events() == []
        at.server.answers = [says(lambda: answer(ended(2, "Failed")))]
        await at.desk.reconcile(KEY)

        assert [e["reason"] for e in await at.events()] == ["PodGroupFinished"]


async def test_7_3_times_are_the_servers() -> None:
    date = "Fri, 21 Nov 2031 05:00:00 GMT"
    async with office(lambda: answer(group("a", 2, status={}), Date=date)) as at:
        await at.desk.reconcile(KEY)
        at.desk.put(group("a", 3, status={}))
        await at.desk.reconcile(KEY)

    (ready,) = at.server.bodies[-1]["status"]["conditions"]
    assert ready["lastTransitionTime"].startswith("2031-11-21T05:00:0")


JOB_OF_8 = Creator(JOB, "train", "j", KEY, pods=8, completions=8, backoff_limit=6, generation=1)


async def test_4_5_a_job_that_a_repair_could_make_fail_is_warned_of_once_per_generation() -> None:
    async with office(written()) as at:
        at.desk.put(group("a", 2, spec={"minMember": 8}))
        at.members.put_creator(JOB_OF_8)
        await at.desk.reconcile(KEY)
        (warning,) = await at.events()
        await at.desk.reconcile(KEY)
        at.members.put_creator(replace(JOB_OF_8, succeeded=1))
        await at.desk.reconcile(KEY)
        again = await at.events()
        at.members.put_creator(replace(JOB_OF_8, backoff_limit=5, generation=2))
        await at.desk.reconcile(KEY)
        changed = await at.events()

    assert (warning["type"], warning["reason"]) == ("Warning", "BackoffLimitTooSmall")
    assert warning["regarding"]["kind"] == "PodGroup"
    assert warning["related"]["name"] == "train"
    assert "spec.backoffLimit is 6" in warning["note"]
    assert again == []
    assert [e["note"][:38] for e in changed] == ["Job train: spec.backoffLimit is 5, but"]
