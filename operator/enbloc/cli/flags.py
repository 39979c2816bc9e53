# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The flags that several commands share."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

#: Output formats for programs.
DOCUMENTS: Final = ("json", "yaml")

F = TypeVar("F", bound=Callable[..., Any])


class Number(click.IntRange):
    """An integer within bounds."""

    name = "integer"


def all_of(flags: Sequence[Callable[[F], F]], command: F) -> F:
    """The command with these flags, listed in this order in its help."""
    for flag in reversed(flags):
        command = flag(command)
    return command


def cluster_flags(command: F) -> F:
    """`--kubeconfig` and `--context`."""
    flags = (
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            help="Path to the kubeconfig file. Default: $KUBECONFIG, else the pod's service "
            "account, else ~/.kube/config.",
        ),
        click.option("--context", help="The kubeconfig context. Default: the current context."),
    )
    return all_of(flags, command)


#: `--config`, for the commands that decide as the scheduler does.
config_flag: Final = click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Configuration file, YAML or JSON: KubeSchedulerConfiguration, EnblocConfiguration or "
    "legacy Policy. May be repeated. Flags take precedence over it.",
)

#: `--dump`, for the commands that can also answer from a dump.
dump_file_flag: Final = click.option(
    "--dump",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Answer from this dump of the scheduler (see its --dump-dir) instead of the cluster: "
    "for the time of the dump, with the configuration in it unless --config is given.",
)

#: `--output`, for the commands that print an answer.
output_flag: Final = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)

#: `--output`, for the commands whose answer is a table, or an object with many fields.
document_flag: Final = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", *DOCUMENTS]),
    default="table",
    show_default=True,
    help="Output format; wide shows texts in full.",
)

#: `--namespace`, for the commands about users' objects.
namespace_flag: Final = click.option(
    "-n", "--namespace", help="The namespace. Default: the namespace of the kubeconfig context."
)


def namespace_flags(command: F) -> F:
    """`--namespace` and `--all-namespaces`."""
    flag = click.option("-A", "--all-namespaces", is_flag=True, help="List across all namespaces.")
    return namespace_flag(flag(command))


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:  # none of the usual directories is writable
        raise _no_dumps(str(error.strerror)) from error


def _writable(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """The directory, after a test that it is writable: at the first dump it is too late."""
    del context, parameter
    try:
        with tempfile.TemporaryFile(dir=value):
            return value
    except OSError as error:
        raise _no_dumps(f"cannot write to {value}: {error.strerror}") from error


def _no_dumps(why: str) -> click.BadParameter:
    text = f"{why}; name an existing directory that is writable"
    return click.BadParameter(text, param_hint="--dump-dir")


#: `--dump-dir`, for the commands that run a scheduler.
dump_flag: Final = click.option(
    "--dump-dir",
    type=click.Path(path_type=Path),
    default=_temporary,
    callback=_writable,
    show_default="the directory for temporary files",
    help="Directory to which the scheduler writes a dump on SIGUSR1 or an internal error.",
)
