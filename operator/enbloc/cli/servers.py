# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc scheduler`, `enbloc controller` and `enbloc run`: start a server process."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from enbloc.cli.entry import INTERRUPTED
from enbloc.cli.flags import cluster_flags, server_flags

if TYPE_CHECKING:
    from enbloc.kube.options import Options

Server = Callable[["Options"], Awaitable[int]]


@click.command(short_help="Run the scheduler.")
@cluster_flags
@server_flags(leader_elect=True)
def scheduler(**flags: Any) -> int:
    """Run the scheduler: places groups of pods, whole groups at a time."""
    from enbloc.live import run_scheduler  # noqa: PLC0415  # only this command needs it

    return serve(run_scheduler, **flags)


@click.command(short_help="Run the controller.")
@cluster_flags
@server_flags(leader_elect=True)
def controller(**flags: Any) -> int:
    """Run the controller: keeps the status of PodGroups."""
    from enbloc.controller import run_controller  # noqa: PLC0415  # only this command needs it

    return serve(run_controller, **flags)


@click.command(short_help="Run both in one process.")
@cluster_flags
@server_flags(leader_elect=False)
def run(**flags: Any) -> int:
    """Run both in one process, for development and small clusters.

    Without --leader-elect it takes no Lease: let there be only one.
    """
    from enbloc.demo.run import run_both  # noqa: PLC0415  # only this command needs it

    return serve(run_both, **flags)


def serve(
    server: Server,
    *,
    log_format: Literal["text", "json"],
    verbose: int,
    kubeconfig: Path | None,
    **flags: Any,
) -> int:
    """Run a server until SIGTERM or SIGINT asks it to stop.

    Args:
        server: what to run.
        log_format: how log lines look.
        verbose: above 0 shows debug lines.
        kubeconfig: the file to use.
        flags: the remaining fields of Options, under their own names.

    Returns:
        The server's exit code; 130 after a SIGINT.
    """
    # Imported here: `--help` needs none of it.
    from enbloc.kube.options import Options  # noqa: PLC0415
    from enbloc.telemetry import configure_logging  # noqa: PLC0415

    configure_logging(log_format, "DEBUG" if verbose else "INFO")
    port = click.get_current_context().get_parameter_source("health_port")
    options = Options(
        kubeconfig=kubeconfig,
        strict_port=port is not click.core.ParameterSource.DEFAULT,
        **flags,
    )
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_signalled(server, options))


async def _until_signalled(server: Server, options: "Options") -> int:
    """The first signal asks for a graceful stop, the second ends the process at once."""
    stop = asyncio.Event()
    received: list[signal.Signals] = []

    def on_signal(number: signal.Signals) -> None:
        if received:
            os._exit(128 + number)
        received.append(number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    code = await server(replace(options, stop=stop))
    return INTERRUPTED if code == 0 and received == [signal.SIGINT] else code


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Uvloop where it is installed (extra `fast`), else asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
