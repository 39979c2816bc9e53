# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc scheduler`, `enbloc controller` and `enbloc run`: start a server process."""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from enbloc.cli.entry import BAD_USAGE, ERROR, INTERRUPTED, exit_code
from enbloc.cli.files import sources
from enbloc.cli.flags import F, all_of, cluster_flags, config_flag, dump_flag
from enbloc.cli.go_values import DURATION
from enbloc.cli.running import uncollected
from enbloc.cli.server_flags import (
    default_format,
    in_pod,
    server_flags,
    take_rate,
    take_serving,
    warnings,
)
from enbloc.cli.webhook_flags import take_webhooks, webhook_flags
from enbloc.errors import EnblocError
from enbloc.model.names import CONTROLLER_PORT, SCHEDULER_NAME, SCHEDULER_PORT

if TYPE_CHECKING:
    from enbloc.client.lease import LeaseTiming
    from enbloc.process.options import Options

Server = Callable[["Options"], Awaitable[int]]
Format = Literal["text", "json"]

_TIMING: Final = ("lease_duration", "renew_deadline", "retry_period")
_FORMAT_FLAGS: Final = ("--log-format", "--logging-format")

logger = logging.getLogger(__name__)


class ServerCommand(click.Command):
    """A command that reports usage errors as a log line if its log lines are JSON.

    Flags may be written with `_` for `-`, as in kube-scheduler.
    """

    context_class = click.Context

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["context_settings"] = {"token_normalize_func": _normal}
        super().__init__(*args, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line.

        Raises:
            UsageError: it is wrong, and the log format is text.
        """
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if _format_in(given) != "json":
                raise
            _log_fatal("json", f"{error.format_message()} (see {ctx.command_path} --help)")
            ctx.exit(BAD_USAGE)


def _normal(token: str) -> str:
    """A flag with its name in the standard spelling; the value is unchanged."""
    return token.replace("_", "-")


def _format_in(args: Sequence[str]) -> str:
    """The log format that these arguments ask for, even if others are wrong."""
    found = default_format()
    for arg, after in zip(args, [*args[1:], ""], strict=True):
        name, equals, value = arg.partition("=")
        if _normal(name) in _FORMAT_FLAGS:
            found = value if equals else after
    return found


def _log_fatal(log_format: Format, text: str) -> None:
    from enbloc.telemetry import configure_logging  # noqa: PLC0415  # `--help` needs none of it

    configure_logging(log_format)
    logger.critical("%s", text)


#: The flags of the scheduler only.
_SCHEDULER_FLAGS: Final = (
    click.option(
        "--pod-max-in-unschedulable-pods-duration",
        "longest_wait",
        type=DURATION,
        help="Retry a waiting group after this time even if no event could help it. Deprecated: "
        "set podMaxInUnschedulablePodsSeconds.",
    ),
    click.option(
        "--write-config-to",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Write the configuration, with all defaults, to this file and exit.",
    ),
)


def _scheduler_flags(command: F) -> F:
    return all_of(_SCHEDULER_FLAGS, command)


@click.command(cls=ServerCommand, short_help="Run the scheduler.")
@config_flag
@cluster_flags
@dump_flag
@_scheduler_flags
@server_flags(leader_elect=True, secure_port=SCHEDULER_PORT)
def scheduler(**flags: Any) -> int:
    """Run the scheduler, which places each group of pods as a whole or not at all.

    It accepts the flags of kube-scheduler. Flags without effect are not listed here.
    """
    with uncollected():
        from enbloc.live import run_scheduler  # noqa: PLC0415  # only this command needs it

    return serve(run_scheduler, "scheduler", **flags)


@click.command(cls=ServerCommand, short_help="Run the controller.")
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    metavar="NAME",
    help="A schedulerName that the scheduler serves. May be repeated. Objects of other projects "
    f"are followed only if their pods have one of them. Default: {SCHEDULER_NAME}.",
)
@cluster_flags
@webhook_flags
@server_flags(leader_elect=True, secure_port=CONTROLLER_PORT)
def controller(**flags: Any) -> int:
    """Run the controller, which maintains the status of PodGroups."""
    with uncollected():
        from enbloc.controller import run_controller  # noqa: PLC0415  # only this command needs it

    return serve(run_controller, "controller", **flags)


@click.command(cls=ServerCommand, short_help="Run scheduler and controller in one process.")
@config_flag
@cluster_flags
@dump_flag
@_scheduler_flags
@webhook_flags
@server_flags(leader_elect=False, secure_port=SCHEDULER_PORT)
def run(**flags: Any) -> int:
    """Run scheduler and controller in one process, for development and small clusters.

    Without --leader-elect it takes no Lease: run only one instance.
    """
    with uncollected():
        from enbloc.run import run_both  # noqa: PLC0415  # only this command needs it

    return serve(run_both, "run", **flags)


def serve(
    server: Server, component: str, *, log_format: Format, verbosity: int, **flags: Any
) -> int:
    """Run a server until SIGTERM or SIGINT asks it to stop.

    Args:
        server: what to run.
        component: the process, for the user agent.
        log_format: how log lines look.
        verbosity: how much is shown; see `level_of`.
        flags: the other flags, by name.

    Returns:
        The server's exit code; 130 after a SIGINT.

    Raises:
        EnblocError: the server cannot run, and log lines are text.
    """
    # Imported here: `--help` needs none of it.
    from enbloc.telemetry import configure_logging, level_of  # noqa: PLC0415

    configure_logging(log_format, level_of(verbosity))
    for warning in warnings(click.get_current_context()):
        logger.warning("%s", warning)
    file: Path | None = flags.pop("write_config_to", None)
    try:
        options = _options(component, flags)
        if file is not None:
            return _written(options, file)
        options = replace(options, clock=replace(options.clock, new_loop=loop_factory()))
        with asyncio.Runner(loop_factory=options.clock.new_loop) as runner:
            return runner.run(_until_signalled(server, options))
    except EnblocError as error:
        if log_format == "text":
            raise
        logger.critical("%s", error)
        return exit_code(error)
    except Exception:
        logger.critical("The %s failed", component, exc_info=True)
        return ERROR


def _is_given(flag: str) -> bool:
    """Whether a flag was given, rather than having its default."""
    source = click.get_current_context().get_parameter_source(flag)
    return source is not None and source is not click.core.ParameterSource.DEFAULT


def _elects() -> bool:
    """Whether a flag decides on the election."""
    return _is_given("leader_elect") or _is_given("no_leader_elect")


def _options(component: str, flags: dict[str, Any]) -> "Options":
    """The options from the flags, and from configuration files for flags that are not given.

    Raises:
        ConfigError: a file cannot be read or is invalid; names everything that is wrong.
    """
    from enbloc.process.options import Options  # noqa: PLC0415  # `--help` needs none of it

    # In a pod, probes need the port; on a developer's machine, another server may use it.
    asked = _is_given("secure_port") or _is_given("tls_cert_file")
    serving = take_serving(flags, strict_port=asked or in_pod())
    configs, longest = flags.pop("configs", ()), flags.pop("longest_wait", None)
    if flags.pop("no_leader_elect"):
        flags["leader_elect"] = False
    elects = _elects()
    timing = [flags.pop(f"leader_elect_{part}") for part in _TIMING]
    webhooks, rate = take_webhooks(flags, serving.bind_address), take_rate(flags)
    options = Options(
        serving=replace(serving, component=component),
        webhooks=webhooks,
        request_rate=rate,
        **flags,
    )
    if configs or longest is not None or (rate.is_set and component != "controller"):
        options = _configured(options, configs, longest, elects=elects)
    if any(part is not None for part in timing):
        options = replace(options, lease_timing=_timing(options, timing))
    return options


def _configured(
    options: "Options", configs: Sequence[Path], longest: float | None, *, elects: bool
) -> "Options":
    """The options completed from configuration files.

    Args:
        options: from the flags.
        configs: the files.
        longest: `--pod-max-in-unschedulable-pods-duration`.
        elects: whether a flag decides on the election.

    Raises:
        ConfigError: a file cannot be read or is invalid; names everything that is wrong.
    """
    from enbloc.config import configure  # noqa: PLC0415  # only a given file needs it

    found = configure(sources(configs))
    if longest:
        found = replace(found, settings=replace(found.settings, longest_wait=longest))
    found = replace(found, request_rate=options.request_rate.over(found.request_rate))
    election = found.leader_election
    elect = options.leader_elect
    if election.leader_elect is not None and not elects:
        elect = election.leader_elect
    return replace(
        options,
        configuration=found,
        request_rate=found.request_rate,
        kubeconfig=options.kubeconfig or (Path(found.kubeconfig) if found.kubeconfig else None),
        leader_elect=elect,
        lease_namespace=options.lease_namespace or election.resource_namespace or None,
    )


def _timing(options: "Options", given: Sequence[float | None]) -> "LeaseTiming":
    """The timing of the election: from flags, else from the configuration, else the defaults.

    Raises:
        ConfigError: the times contradict each other.
    """
    from enbloc.client.lease import LeaseTiming  # noqa: PLC0415  # as above
    from enbloc.config import LeaderElection  # noqa: PLC0415  # `--help` needs none of it

    election = LeaderElection()
    if options.configuration is not None:
        election = options.configuration.leader_election
    parts = zip(given, _TIMING, strict=True)
    said = [getattr(election, name) if flag is None else flag for flag, name in parts]
    return LeaseTiming(*said)


def _written(options: "Options", file: Path) -> int:
    """Write the effective configuration to a file, without credentials; returns the exit code."""
    import yaml  # noqa: PLC0415  # only this needs it

    from enbloc.config import default_configuration, effective, hidden  # noqa: PLC0415

    configuration = options.configuration or default_configuration()
    election, timing = configuration.leader_election, options.lease_timing
    election = replace(
        election,
        leader_elect=options.leader_elect if _elects() else election.leader_elect,
        resource_name=options.lease_name or election.resource_name,
        resource_namespace=options.lease_namespace or election.resource_namespace,
    )
    if timing is not None:
        election = replace(
            election,
            lease_duration=timing.duration,
            renew_deadline=timing.renew_deadline,
            retry_period=timing.retry,
        )
    documents = map(hidden, effective(replace(configuration, leader_election=election)))
    text = yaml.safe_dump_all(documents, sort_keys=False, width=100)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        logger.critical("--write-config-to: cannot write %s: %s", file, error.strerror)
        return ERROR
    return 0


async def _until_signalled(server: Server, options: "Options") -> int:
    """Run the server until a signal ends it; SIGUSR1 asks for a dump if the server writes any."""
    signals, dump = Signals(), asyncio.Event()
    signals.take()
    if options.dump_dir is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, dump.set)
    options = replace(options, stop=signals.stop, dump=dump, take_signals=signals.take)
    return signals.exit_code(await server(options))


class Signals:
    """The first SIGTERM or SIGINT asks for a graceful stop, the second ends the process at once.

    Attributes:
        stop: set by the first.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self._received: list[signal.Signals] = []

    def take(self) -> None:
        """Handle the signals from now on, in the running event loop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on, number)

    def _on(self, number: signal.Signals) -> None:
        if self._received:
            os._exit(128 + number)
        self._received.append(number)
        self.stop.set()

    def exit_code(self, code: int) -> int:
        """The exit code of the process, given the server's."""
        return INTERRUPTED if code == 0 and self._received == [signal.SIGINT] else code


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """The loop factory of uvloop if installed (everywhere but on Windows), else asyncio's."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        logger.info("uvloop is not installed: running on asyncio's own event loop, which is slower")
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
