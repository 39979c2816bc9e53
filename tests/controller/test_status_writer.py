# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller writes of a PodGroup, when, and what it remembers; in virtual time."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from enbloc.client.coalescing_writer import CROWD_SETTLED_SECONDS
from enbloc.client.errors import (
    APIError,
    Conflict,
    Fenced,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from enbloc.client.events import Recorder
from enbloc.controller.creators import JOB, Creator
from enbloc.controller.members import Members
from enbloc.controller.status_writer import StatusWriter
from enbloc.model import names
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.telemetry import ActiveProblems
from tests.client.fake import Script, answer, says, talking_to
from tests.client.memory import MemoryClient, Store
from tests.controller.fake import ROOT, group

KEY = GroupKey("n", "a")
#: 2031-11-21T05:00:00Z, when a test begins.
NOW = 1_953_003_600.0


class World:
    """A server with one group that has been seen, and the writer of its status."""

    def __init__(self) -> None:
        self.store = Store()
        self.store.objects["podgroups", "a"] = group("a")
        self.store.version = 1
        self.client = MemoryClient(self.store)
        self.members, self.problems = Members(), ActiveProblems()
        self.recorder = Recorder(self.client, "test")
        elapsed = asyncio.get_running_loop().time
        self.statuses = StatusWriter(
            self.client, self.members, self.problems, self.recorder, lambda: NOW + elapsed()
        )
        self.statuses.seen(group("a"))

    @property
    def applied(self) -> list[dict[str, Any]]:
        """The statuses that were sent, in order."""
        return [body["status"] for _, plural, body in self.client.sent if plural == "podgroups"]

    async def settle(self) -> dict[str, Any]:
        """Once there is nothing left to write: the status as it stands."""
        await self.statuses.writer.settled()
        return self.store.objects.get(("podgroups", "a"), {}).get("status", {})

    def scheduler_says(self, **status: Any) -> None:
        """The scheduler writes its part, and the watch shows it."""
        found = self.store.objects["podgroups", "a"]
        self.store.version += 1
        metadata = {**found["metadata"], "resourceVersion": str(self.store.version)}
        self.store.objects["podgroups", "a"] = {
            **found,
            "metadata": metadata,
            "status": {**found.get("status", {}), **status},
        }
        self.statuses.seen(self.store.objects["podgroups", "a"])

    async def changed(self) -> dict[str, Any]:
        """Members changed: the status that follows from it."""
        self.statuses.reconcile(KEY)
        return await self.settle()

    async def events(self) -> list[dict[str, Any]]:
        """The events that were written since the last call."""
        before = len(self.client.sent)
        await self.recorder.flush(5.0)
        return [body for _, plural, body in self.client.sent[before:] if plural == "events"]


async def test_what_is_applied_is_the_controllers_and_bound_to_the_object() -> None:
    server = Script(says(lambda: answer(group("a"))))
    async with talking_to(server) as client:
        recorder = Recorder(client, "test")
        statuses = StatusWriter(client, Members(), ActiveProblems(), recorder, lambda: NOW)
        statuses.seen(group("a"))
        await statuses.writer.finish(5.0)

    (request,), (body,) = server.seen, server.bodies
    assert request.path == f"{ROOT}/namespaces/n/podgroups/a/status"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.query["fieldManager"] == names.CONTROLLER_MANAGER
    assert request.query["force"] == "true"
    assert body["metadata"] == {"name": "a", "namespace": "n", "uid": "uid-a"}
    assert "spec" not in body


async def test_a_status_that_stands_is_not_written_again() -> None:
    world = World()
    await world.settle()
    await world.changed()
    assert len(world.applied) == 1


async def test_what_the_scheduler_wrote_in_between_is_looked_at_again() -> None:
    world = World()
    unschedulable = {"type": "Scheduled", "status": "False", "reason": "Unschedulable"}

    def meanwhile(_: str) -> None:
        """Each answer holds what the scheduler says as well; its own event comes later."""
        status = world.store.objects["podgroups", "a"]["status"]
        others = [c for c in status["conditions"] if c["type"] != "Scheduled"]
        status["conditions"] = [*others, unschedulable]

    world.client.after = meanwhile
    await world.settle()
    said = [status["conditions"][0]["reason"] for status in world.applied]
    assert said == ["WaitingForMembers", "Unschedulable"]


async def test_in_a_crowd_a_group_is_not_said_to_wait_for_a_word_that_comes_in_between() -> None:
    """Semantics §7.5."""
    world = World()
    for index in range(1000):
        world.store.objects["podgroups", f"g{index}"] = group(f"g{index}")
        world.statuses.seen(group(f"g{index}"))
    await asyncio.sleep(CROWD_SETTLED_SECONDS + 1)
    assert world.applied == []
    placed = {"type": "Scheduled", "status": "True", "reason": "Scheduled", "message": "8 of 8"}
    world.scheduler_says(conditions=[placed])
    await asyncio.sleep(CROWD_SETTLED_SECONDS - 1.5)
    await world.statuses.writer.settled()
    first, *_ = [
        body["status"]["conditions"][0]["reason"]
        for _, _, body in world.client.sent
        if body["metadata"]["name"] == "a"
    ]
    assert first == "Starting"


async def test_an_older_state_is_ignored() -> None:
    world = World()
    await world.settle()
    world.statuses.seen(group("a", 1, status={"members": 7}))
    await world.settle()
    assert len(world.applied) == 1


async def test_a_namesake_replaces_a_group_and_is_not_removed_in_its_place() -> None:
    world = World()
    await world.settle()
    new = group("a", 1)
    new["metadata"]["uid"] = "another"
    world.store.objects["podgroups", "a"] = new
    world.statuses.seen(new)
    world.statuses.gone(group("a", 9))
    await world.settle()
    uids = [body["metadata"]["uid"] for _, _, body in world.client.sent]
    assert uids == ["uid-a", "another"]


async def test_a_group_that_was_deleted_is_not_written() -> None:
    world = World()
    world.statuses.gone(group("a"))
    await world.changed()
    assert world.applied == []


async def test_a_write_that_failed_is_repeated_until_the_group_is_gone() -> None:
    world = World()

    def refuse(_: str) -> None:
        raise Conflict("patch", "podgroups/status", "no", code=409)

    world.client.before = refuse
    await asyncio.sleep(10)
    assert len(world.applied) > 2
    tried = len(world.applied)
    world.statuses.gone(group("a"))
    await world.settle()
    assert len(world.applied) == tried


async def test_an_answer_that_shows_no_group_is_not_taken_for_one() -> None:
    """Somebody on the way made it up: the write may have happened, so it is sent again."""
    world = World()
    answers = [b'{"metadata": {"resourceVersion": "x"}}', b'{"metadata": null}', b"{}"]
    world.client.garble = lambda raw: answers.pop() if answers else raw
    await asyncio.sleep(60)
    assert not answers
    assert world.store.objects["podgroups", "a"]["status"]["observedGeneration"] == 1
    assert {body["metadata"]["name"] for _, _, body in world.client.sent} == {"a"}
    assert not world.problems.active


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            NotFound("patch", "podgroups/status", "gone", code=404, details={"name": "a"}),
            id="the group gone",
        ),
        pytest.param(Fenced("patch", "podgroups/status", "not sent"), id="the Lease lost"),
    ],
)
async def test_a_write_that_is_pointless_is_not_repeated(error: APIError) -> None:
    world = World()

    def refuse(_: str) -> None:
        raise error

    world.client.before = refuse
    await world.settle()
    assert len(world.applied) == 1
    assert not world.problems.active


@pytest.mark.parametrize(
    "error",
    [
        Conflict("patch", "x/status", "no", code=409),
        TooManyRequests("patch", "x/status", "no", code=429, retry_after=3600.0),
        ServerError("patch", "x/status", "no", code=500),
        ServerError("patch", "x/status", "no", code=503),
        Unreachable("patch", "x/status", "timed out", sent=True),
        Unreachable("patch", "x/status", "refused", sent=False),
    ],
    ids=str,
)
async def test_the_last_status_is_written_again_until_it_stands(error: APIError) -> None:
    """semantics §2.2: nothing else happens that would have it written."""
    world = World()
    left = [error] * 5

    def refuse(_: str) -> None:
        if left:
            raise left.pop()

    world.client.before = refuse
    async with asyncio.timeout(200):
        status = await world.settle()
    assert left == []
    assert status["conditions"]
    assert not world.problems.active


async def test_a_group_that_is_gone_and_made_anew_is_written_of() -> None:
    world = World()
    del world.store.objects["podgroups", "a"]
    await world.settle()
    anew = group("a", 50)
    anew["metadata"]["uid"] = "another"
    world.store.objects["podgroups", "a"] = anew
    world.statuses.seen(anew)
    assert (await world.settle())["conditions"]


async def test_a_group_that_the_server_does_not_find_is_forgotten() -> None:
    world = World()
    del world.store.objects["podgroups", "a"]
    await world.settle()
    await world.changed()
    assert len(world.applied) == 1


DENIED = 'admission webhook "policy.test" denied the request: queues.test "a" not found'


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            NotFound("patch", "podgroups/status", "404 page not found", code=404), id="a proxy"
        ),
        pytest.param(
            NotFound("patch", "podgroups/status", DENIED, code=404, details={"name": "a"}),
            id="a webhook that did not find another object",
        ),
    ],
)
async def test_a_404_that_is_not_about_the_group_forgets_none(error: APIError) -> None:
    world = World()
    errors = [error]

    def refuse(_: str) -> None:
        if errors:
            raise errors.pop()

    world.client.before = refuse
    await world.settle()
    assert len(world.applied) == 2


async def test_a_group_that_cannot_be_read_is_ignored_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    await world.settle()
    bad = group("b", spec={"minMember": "two"})
    world.statuses.seen(bad)
    world.statuses.gone(bad)
    await world.settle()
    assert len(world.applied) == 1
    assert "$.spec.minMember" in caplog.text


async def test_a_count_that_is_no_number_is_none() -> None:
    world = World()
    world.statuses.seen(group("b", status={"failed": "two"}))
    await world.settle()
    assert [status["failed"] for status in world.applied] == [0, 0]


def failed_pod(name: str, run_name: str) -> Pod:
    return Pod(
        PodKey("n", name),
        PodUID(name),
        PodSpec(),
        group=KEY,
        phase=Phase.FAILED,
        restart=run_name,
    )


async def test_failures_are_counted_on_when_their_pods_are_gone() -> None:
    world = World()
    for name in ("p", "q"):
        world.members.put(failed_pod(name, "first"), ready=False)
    world.scheduler_says(run="first")
    assert (await world.settle())["failed"] == 2
    world.members.remove(PodUID("p"))
    world.scheduler_says(run="first")
    assert (await world.changed())["failed"] == 2
    world.members.remove(PodUID("q"))
    world.scheduler_says(run="second")
    assert (await world.changed())["failed"] == 0


async def test_each_run_that_ends_is_told_of_once() -> None:
    """Semantics §7.2."""
    world = World()
    world.members.put(failed_pod("p", "first"), ready=False)
    world.scheduler_says(run="first")
    await world.settle()
    first = await world.events()
    await world.changed()
    again = await world.events()
    world.members.remove(PodUID("p"))
    world.members.put(failed_pod("q", "second"), ready=False)
    await world.changed()
    rerun = await world.events()

    assert [(e["reason"], e["type"]) for e in first] == [("PodGroupFinished", "Warning")]
    assert first[0]["note"] == "Failed: 0 members succeeded, 1 failed"
    assert again == []
    assert [e["reason"] for e in rerun] == ["PodGroupFinished"]


async def test_each_end_is_told_of_once_while_its_pods_are_listed() -> None:
    """Semantics §7.2."""
    world = World()
    owner = Owner(JOB, "j", "j")
    done = Pod(PodKey("n", "p"), PodUID("p"), PodSpec(), group=KEY, owner=owner)
    world.members.put(replace(done, phase=Phase.SUCCEEDED), ready=False)
    world.members.put_creator(Creator(JOB, "j", "j", group=KEY, ended=True))
    world.scheduler_says(run="j", runs=[{"name": "j", "owners": ["j"]}])
    await asyncio.sleep(30)
    assert len(world.applied) == 1
    assert len(await world.events()) == 1


async def test_a_write_that_failed_tells_of_the_end_later() -> None:
    """Semantics §7.2."""

    world = World()

    def refuse(_: str) -> None:
        raise Conflict("patch", "podgroups/status", "no", code=409)

    world.members.put(failed_pod("p", "first"), ready=False)
    world.client.before = refuse
    await asyncio.sleep(1)
    world.client.before = lambda _: None
    assert await world.events() == []
    await world.settle()
    assert [e["reason"] for e in await world.events()] == ["PodGroupFinished"]


async def test_times_are_the_servers() -> None:
    """Semantics §7.3; it is written when nothing has changed for a second and a half."""
    world = World()
    status = await world.settle()
    assert status["conditions"][0]["lastTransitionTime"] == "2031-11-21T05:00:01Z"


JOB_OF_8 = Creator(JOB, "train", "j", KEY, pods=8, completions=8, backoff_limit=6, generation=1)


async def test_a_job_that_a_repair_could_make_fail_is_warned_of_once_per_generation() -> None:
    """Semantics §4.5."""
    world = World()
    world.store.objects["podgroups", "a"]["spec"] = {"minMember": 8}
    world.scheduler_says()
    world.members.put_creator(JOB_OF_8)
    await world.settle()
    (warning,) = await world.events()
    await world.changed()
    world.members.put_creator(replace(JOB_OF_8, succeeded=1))
    await world.changed()
    again = await world.events()
    world.members.put_creator(replace(JOB_OF_8, backoff_limit=5, generation=2))
    await world.changed()
    changed = await world.events()

    assert (warning["type"], warning["reason"]) == ("Warning", "BackoffLimitTooSmall")
    assert warning["regarding"]["kind"] == "PodGroup"
    assert warning["related"]["name"] == "train"
    assert "spec.backoffLimit is 6" in warning["note"]
    assert again == []
    assert [e["note"][:38] for e in changed] == ["Job train: spec.backoffLimit is 5, but"]


async def test_who_shares_a_podgroup_is_told_once() -> None:
    """Semantics §7.4."""
    world = World()
    for name in ("j", "k"):
        world.members.put_creator(replace(JOB_OF_8, name=name, uid=name, backoff_limit=None))
        owner = Owner("Job", name, name)
        pod = Pod(PodKey("n", name), PodUID(name), PodSpec(), group=KEY, owner=owner)
        world.members.put(pod, ready=False)
    await world.changed()
    first = await world.events()
    world.members.put_creator(replace(JOB_OF_8, name="k", uid="k", succeeded=1))
    await world.changed()

    [event] = [event for event in first if event["reason"] == "PodGroupShared"]
    assert event["regarding"]["kind"] == "PodGroup"
    assert event["note"].startswith("Job j and Job k create members")
    assert await world.events() == []
