# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc queue --watch`: what each further look prints."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import PODS
from tests.cli.desk import rows
from tests.cli.test_explain import Desk, desk
from tests.live.world import NAMESPACE

__all__ = ["desk"]

Step = Callable[[], Awaitable[None]]
#: What each look prints, on stdout and stderr.
Printed = list[tuple[list[str], list[str]]]
Watch = Callable[..., Awaitable[Printed]]


@pytest.fixture
def watched(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Watch:
    """What each look prints, with these steps between them."""

    async def watch(*steps: Step, flags: str = "") -> Printed:
        loop, left = asyncio.get_running_loop(), list(steps)
        seen: Printed = []

        def pause() -> None:
            captured = capsys.readouterr()
            seen.append((rows(captured.out), captured.err.splitlines()))
            if not left:
                raise KeyboardInterrupt
            asyncio.run_coroutine_threadsafe(_awaited(left.pop(0)), loop).result()

        monkeypatch.setattr("enbloc.cli.queue._pause", pause)
        assert await desk.type("queue", "--watch", *flags.split()) == 130
        return seen

    return watch


async def _awaited(step: Step) -> None:
    await step()


async def nothing() -> None:
    """Nothing happens between two looks."""


async def test_a_look_at_what_is_as_before_prints_nothing(desk: Desk, watched: Watch) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.waiting("train", 2)

    async def label() -> None:
        patch = {"metadata": {"labels": {"seen": "yes"}}}
        await desk.client.patch(PODS, "train-0", patch, NAMESPACE, kind=PatchType.MERGE)

    async def more() -> None:
        await desk.waiting("other", 1)

    first, second, third, fourth = await watched(nothing, label, more)
    assert len(first[0]) == 2
    assert second == third == ([], [])
    assert len(fourth[0]) == 3


async def test_a_start_that_is_another_one_is_printed(desk: Desk, watched: Watch) -> None:
    await desk.nodes("n1", cpu=2)
    await desk.waiting("early", 2, nodeName="n1", activeDeadlineSeconds=7200)
    await desk.waiting("late", 2)

    async def sooner() -> None:
        for pod in ("early-0", "early-1"):
            patch = {"spec": {"activeDeadlineSeconds": 600}}
            await desk.client.patch(PODS, pod, patch, NAMESPACE, kind=PatchType.MERGE)

    first, second, third = await watched(nothing, sooner, flags="--start")
    assert "<=20" in first[0][1]
    assert second == ([], [])
    assert "<=20" in third[0][1]


async def test_a_server_that_fails_once_is_a_warning_and_the_next_look_follows(
    desk: Desk, watched: Watch
) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.waiting("train", 1)

    async def fail() -> None:
        desk.faults.add(verb="list", resource="nodes", status=422, times=2)

    first, second, third, fourth, fifth = await watched(fail, nothing, nothing, fail)
    assert len(first[0]) == 2
    [warning] = second[1]
    assert warning.startswith("warning: cannot list nodes: 422")
    assert warning.endswith("; looking again every 10 s")
    assert third == fourth == ([], [])  # the same again; then all is as before
    assert fifth == second


async def test_who_may_no_longer_ask_is_told_so_and_the_watch_ends(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.faults.add(verb="list", resource="nodes", status=401)
    assert await desk.type("queue", "--watch") == 1
    assert capsys.readouterr().err.startswith("error: the API server does not accept")


async def test_a_warning_is_printed_once(desk: Desk, watched: Watch) -> None:
    await desk.configured({"config.yaml": "a: b"})
    first, second = await watched(nothing)
    assert first[1][0].startswith("warning: ConfigMap ")
    assert second == ([], [])


async def test_what_was_reported_last_is_watched_too(desk: Desk, watched: Watch) -> None:
    await desk.waiting("train", 1)
    desk.faults.add(verb="list", resource="nodes", status=403)

    async def more() -> None:
        await desk.waiting("other", 1)

    first, second, third = await watched(nothing, more)
    [note] = first[1]
    assert note.startswith("note: this is what the scheduler reported last")
    assert second == ([], [])
    assert (len(third[0]), third[1]) == (3, [])
