# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The command `enbloc`: finds a command's module, and turns its exceptions into an exit code.

Commands of other packages follow enbloc's own.
"""

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

import click

import enbloc
from enbloc.cli import other_packages
from enbloc.errors import ConfigError, EnblocError, UsageError
from enbloc.model.text import printable

#: The exit codes (README, docs/reference).
OK: Final = 0
ERROR: Final = 1
BAD_USAGE: Final = 2
INTERRUPTED: Final = 130

#: Separates the problems of an error that names several.
_LINES: Final = "\n"

#: Command → its location ("module:attribute"), and what it does in one line.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "scheduler": (
        "enbloc.cli.servers:scheduler",
        "Run the scheduler, which places each group of pods as a whole or not at all.",
    ),
    "controller": (
        "enbloc.cli.servers:controller",
        "Run the controller, which maintains the status of PodGroups.",
    ),
    "run": (
        "enbloc.cli.servers:run",
        "Run scheduler and controller in one process, for development and small clusters.",
    ),
    "config": (
        "enbloc.cli.config:config",
        "Check, show and convert configuration files.",
    ),
    "doctor": (
        "enbloc.cli.doctor:doctor",
        "Check the cluster for conflicts with enbloc, and for what keeps it from working.",
    ),
    "explain": (
        "enbloc.cli.explain:explain",
        "Explain why a group, pod or job is waiting, and what would start it.",
    ),
    "queue": (
        "enbloc.cli.queue:queue",
        "List the groups and pods that wait for nodes, in scheduling order, and why.",
    ),
    "nodes": (
        "enbloc.cli.nodes:nodes",
        "Show free capacity by node shape, and the groups that get it next.",
    ),
    "what-if": (
        "enbloc.cli.what_if:what_if",
        "Simulate new objects, added or removed nodes, or scaled groups; change nothing.",
    ),
    "ui": (
        "enbloc.cli.ui:ui",
        "Serve a read-only web page that shows the queue and the nodes.",
    ),
    "drain-check": (
        "enbloc.cli.drain_check:drain_check",
        "Check which groups would stay whole if these nodes were drained.",
    ),
    "replay": (
        "enbloc.cli.replay:replay",
        "Replay a decision of the scheduler from a dump.",
    ),
    "topology": (
        "enbloc.cli.topology:topology",
        "Show the domains of a Topology, or generate a Topology from node labels.",
    ),
    "version": (
        "enbloc.cli.version:version",
        "Print the versions of enbloc and of the API server.",
    ),
}


class LazyGroup(click.Group):
    """A group that imports its commands when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The names of all commands, in the order of the table."""
        return [*COMMANDS, *other_packages.offered(COMMANDS)]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Import a command; None if no command has that name.

        Raises:
            EnblocError: another package provides it, and it cannot be imported.
        """
        if cmd_name not in COMMANDS:
            entry = other_packages.offered(COMMANDS).get(cmd_name)
            return None if entry is None else other_packages.load(entry)
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called.

        Raises:
            NoSuchCommand: names the commands with similar names.
            UsageError: a package that is not installed provides it.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:  # knows only imported commands
            name = error.command_name
            if name in other_packages.SANDBOX:
                raise UsageError(
                    f"enbloc {name} comes with the package enbloc-sandbox, which is not installed "
                    "here; enbloc's image leaves it out. In a clone of enbloc's repository: "
                    'pip install ".[sandbox]" ./sandbox'
                ) from None
            known = self.list_commands(ctx)
            raise click.exceptions.NoSuchCommand(name, possibilities=known, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        ours = [(name, text) for name, (_, text) in COMMANDS.items()]
        others = other_packages.offered(COMMANDS).items()
        with formatter.section("Commands"):
            formatter.write_dl(
                [*ours, *((name, other_packages.summary(entry)) for name, entry in others)]
            )


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(enbloc.__version__, prog_name="enbloc", message="%(prog)s %(version)s")
def cli() -> None:
    """A gang scheduler for Kubernetes: all pods of a job together, or none."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: without the program's name; None = this process' own.

    Returns:
        0 done, 1 error, 2 bad usage or configuration, 3 the doctor found a fault, 130 interrupted.
    """
    try:
        code = cli.main(arguments, prog_name=_program_name(), standalone_mode=False)
    except click.exceptions.Abort:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except EnblocError as error:
        print(f"error: {printable(str(error), keep=_LINES)}", file=sys.stderr)
        return exit_code(error)
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename:
            raise
        # What is buffered must not fail once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        return ERROR
    return code if isinstance(code, int) else OK


def exit_code(error: EnblocError) -> int:
    """The exit code of a command that ends with this error."""
    return BAD_USAGE if isinstance(error, ConfigError | UsageError) else ERROR


def _program_name() -> str:
    """The program name as users type it: a kubectl plugin is called through kubectl."""
    name = Path(sys.argv[0]).name
    return "kubectl enbloc" if name.startswith("kubectl-") else "enbloc"
