# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that other packages bring: entry points of the group `enbloc.commands`.

Each names a click command. They are found by the metadata of what is installed, and imported when
they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import click

from enbloc.errors import EnblocError

if TYPE_CHECKING:  # it takes a while, and most commands are our own
    from importlib.metadata import Distribution, EntryPoint

GROUP: Final = "enbloc.commands"
#: The commands of enbloc-sandbox, and what they do in one line: metadata does not say that.
SANDBOX: Final[Mapping[str, str]] = {
    "sandbox": "Run a local API server with fake nodes.",
    "demo": "Show two gangs that would deadlock each other, and do not.",
}


def offered(
    taken: Container[str], packages: Iterable[Distribution] | None = None
) -> dict[str, EntryPoint]:
    """The commands of other packages, by name; those that cannot be are named on stderr.

    Args:
        taken: names of commands that others cannot have.
        packages: whose commands; None = all that are installed.
    """
    from importlib.metadata import distributions  # noqa: PLC0415  # as above

    found: dict[str, EntryPoint] = {}
    for package in distributions() if packages is None else packages:
        try:
            entries = package.entry_points.select(group=GROUP)
        except Exception as error:  # noqa: BLE001  # whatever stands in the metadata of others
            name = package.metadata["Name"]
            print(f"warning: cannot read the entry points of {name}: {error}", file=sys.stderr)
            continue
        for entry in entries:
            if entry.name in taken or found.setdefault(entry.name, entry) != entry:
                print(f"warning: {said(entry)} is ignored: the name is taken", file=sys.stderr)
    return found


def load(entry: EntryPoint) -> click.Command:
    """Import a command.

    Raises:
        EnblocError: it cannot be imported, or is none; with its package.
    """
    try:
        command = entry.load()
    except Exception as error:
        why = f"cannot be imported from {entry.value}: {type(error).__name__}: {error}"
        raise EnblocError(f"{said(entry)} {why}") from error
    if not isinstance(command, click.Command):
        raise EnblocError(f"{said(entry)} is no click command: {entry.value}")
    return command


def said(entry: EntryPoint) -> str:
    """A command and its package, for messages."""
    return f"the command {entry.name} of {_package(entry)}"


def summary(entry: EntryPoint) -> str:
    """What the list of commands says of it."""
    return SANDBOX.get(entry.name) or f"From the package {_package(entry)}."


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"
