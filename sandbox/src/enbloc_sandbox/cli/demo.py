# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc demo`: two gangs that would deadlock each other, and do not."""

import asyncio
import signal
import sys
from pathlib import Path

import click

#: The exit code of a process that a signal ended is this and the signal's number.
_SIGNALLED = 128


@click.command(short_help="Show that two gangs do not deadlock with enbloc.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="CSV file of the nodes, with columns sn, cpu_milli, memory_mib, gpu, model.",
)
@click.option("--keep", is_flag=True, help="Keep everything running at the end, for kubectl.")
@click.option("--no-color", is_flag=True, help="Print no colours, even on a terminal.")
def demo(*, trace: Path | None, keep: bool, no_color: bool) -> int:
    """Show two gangs that deadlock when pods are placed one by one, but not with enbloc.

    It starts a sandbox and enbloc. It needs no cluster, and leaves nothing behind.
    """
    # Imported here: `--help` needs none of it.
    from enbloc_sandbox.demo.play import Settings, play  # noqa: PLC0415
    from enbloc_sandbox.demo.screen import colour_wanted  # noqa: PLC0415

    settings = Settings(trace, keep, colour=colour_wanted(sys.stdout) and not no_color)

    async def until_signalled() -> int:
        received: list[signal.Signals] = []
        playing = asyncio.create_task(play(settings))

        def end(number: signal.Signals) -> None:
            if not received:  # what follows takes care of our processes, and is not cut short
                playing.cancel()
            received.append(number)

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end, number)
        try:
            return await playing
        except asyncio.CancelledError:
            return _SIGNALLED + received[0]

    return asyncio.run(until_signalled())
