# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import socket
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable

import pytest

from enbloc import controller, live
from enbloc.client.paths import PODS
from enbloc.errors import ConfigError
from enbloc.process.options import Options
from enbloc.process.serving import Serving
from enbloc.run import run_together
from tests.client.fake import SELDOM, Script, answer, says, serving, waits

Shell = Callable[[Options], Awaitable[int]]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def obedient(options: Options) -> int:
    assert options.stop is not None
    await options.stop.wait()
    return 0


async def failing(options: Options) -> int:
    del options
    return 1


async def misconfigured(options: Options) -> int:
    del options
    raise ConfigError("the Lease's namespace does not exist")


async def test_both_end_when_they_are_told_to() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, stop.set)
    assert await run_together(Options(stop=stop), (obedient, obedient)) == 0


@pytest.mark.parametrize("shells", [(obedient, failing), (failing, obedient)])
async def test_the_end_of_one_ends_the_other_and_its_code_counts(
    shells: tuple[Shell, Shell],
) -> None:
    assert await run_together(Options(), shells) == 1


async def test_an_error_of_one_is_raised_after_the_other_has_stopped() -> None:
    stopped: list[str] = []

    async def tidy(options: Options) -> int:
        code = await obedient(options)
        stopped.append("tidy")
        return code

    with pytest.raises(ConfigError, match="does not exist"):
        await run_together(Options(), (tidy, misconfigured))
    assert stopped == ["tidy"]


async def test_both_register_their_checks_on_one_health_server() -> None:
    registered = asyncio.Semaphore(0)

    def shell(name: str, *, well: bool) -> Shell:
        async def run(options: Options) -> int:
            assert options.health is not None
            options.health.register(name, lambda: well, "readyz")
            registered.release()
            return await obedient(options)

        return run

    serving = Serving(health_port=free_port())
    options = Options(serving=serving, stop=asyncio.Event())
    both = asyncio.create_task(
        run_together(options, (shell("one", well=True), shell("two", well=False)))
    )
    for _ in range(2):
        await registered.acquire()  # the server answers from a thread of its own, at any time
    url = f"http://127.0.0.1:{serving.health_port}/readyz?verbose"
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, url, timeout=30)
    with refused.value as answer:
        shown = answer.read().decode()
    assert "[+]one ok" in shown
    assert "[-]two failed" in shown
    assert options.stop is not None
    options.stop.set()
    assert await both == 0


@pytest.mark.parametrize("strict", [True, False])
async def test_a_taken_port_is_an_error_only_where_it_was_asked_for(
    *, strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        serving = Serving(secure_port=taken.getsockname()[1], strict_port=strict)
        options = Options(serving=serving)
        if strict:
            with pytest.raises(ConfigError, match="--secure-port"):
                await run_together(options, (failing,))
        else:
            assert await run_together(options, (failing,)) == 1
            assert "HTTPS for health and metrics is off" in caplog.text


async def test_scheduler_and_controller_each_have_the_limit_that_was_set() -> None:
    server = Script(says(lambda: answer({})))
    async with serving(server) as url:
        options = Options(master=url, request_rate=SELDOM)
        async with live.connected(options) as one, controller.connected(options) as other:
            for client in (one, other):
                await client.get(PODS, "p", "default")
                assert await waits(client.get(PODS, "p", "default"))
    assert len(server.seen) == 2
