# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc scheduler`, `enbloc controller` and `enbloc run`: start a server process."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from enbloc.cli.entry import INTERRUPTED
from enbloc.cli.files import sources
from enbloc.cli.flags import cluster_flags, config_flag, dump_flag, server_flags

if TYPE_CHECKING:
    from enbloc.kube.options import Options

Server = Callable[["Options"], Awaitable[int]]


@click.command(short_help="Run the scheduler.")
@config_flag
@cluster_flags
@dump_flag
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
@config_flag
@cluster_flags
@dump_flag
@server_flags(leader_elect=False)
def run(**flags: Any) -> int:
    """Run both in one process, for development and small clusters.

    Without --leader-elect it takes no Lease: let there be only one.
    """
    from enbloc.run import run_both  # noqa: PLC0415  # only this command needs it

    return serve(run_both, **flags)


def serve(
    server: Server,
    *,
    log_format: Literal["text", "json"],
    verbose: int,
    kubeconfig: Path | None,
    configs: Sequence[Path] = (),
    **flags: Any,
) -> int:
    """Run a server until SIGTERM or SIGINT asks it to stop.

    Args:
        server: what to run.
        log_format: how log lines look.
        verbose: above 0 shows debug lines.
        kubeconfig: the file to use.
        configs: configuration files, whose settings hold where no flag was given.
        flags: the remaining fields of Options, under their own names.

    Returns:
        The server's exit code; 130 after a SIGINT.
    """
    # Imported here: `--help` needs none of it.
    from enbloc.kube.options import Options  # noqa: PLC0415
    from enbloc.telemetry import configure_logging  # noqa: PLC0415

    configure_logging(log_format, "DEBUG" if verbose else "INFO")
    options = Options(kubeconfig=kubeconfig, strict_port=_is_given("health_port"), **flags)
    if configs:
        options = _configured(options, configs)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_signalled(server, options))


def _is_given(flag: str) -> bool:
    """Whether a flag was given, and has not just its default."""
    source = click.get_current_context().get_parameter_source(flag)
    return source is not click.core.ParameterSource.DEFAULT


def _configured(options: "Options", configs: Sequence[Path]) -> "Options":
    """The options with what configuration files say; flags that were given win.

    Raises:
        ConfigError: a file cannot be read, or naming everything that is wrong with them.
    """
    from enbloc.config import configure  # noqa: PLC0415  # only a given file needs it

    found = configure(sources(configs))
    election = found.leader_election
    elect = options.leader_elect
    if election.leader_elect is not None and not _is_given("leader_elect"):
        elect = election.leader_elect
    return replace(
        options,
        configuration=found,
        kubeconfig=options.kubeconfig or (Path(found.kubeconfig) if found.kubeconfig else None),
        leader_elect=elect,
        lease_namespace=options.lease_namespace or election.resource_namespace or None,
    )


async def _until_signalled(server: Server, options: "Options") -> int:
    """The first signal asks for a graceful stop, the second ends the process at once.

    SIGUSR1 asks for a dump, where the server writes any.
    """
    stop, dump = asyncio.Event(), asyncio.Event()
    received: list[signal.Signals] = []

    def on_signal(number: signal.Signals) -> None:
        if received:
            os._exit(128 + number)
        received.append(number)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    if options.dump_dir is not None:
        loop.add_signal_handler(signal.SIGUSR1, dump.set)
    code = await server(replace(options, stop=stop, dump=dump))
    return INTERRUPTED if code == 0 and received == [signal.SIGINT] else code


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Uvloop where it is installed (extra `fast`), else asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
