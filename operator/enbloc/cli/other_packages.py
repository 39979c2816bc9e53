# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of other packages: entry points of the group `enbloc.commands`.

Each entry point names a click command. It is found in the metadata of installed packages, and
imported when it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import click

from enbloc.errors import EnblocError

if TYPE_CHECKING:  # the import is slow, and most commands are enbloc's own
    from importlib.metadata import Distribution, EntryPoint

GROUP: Final = "enbloc.commands"
#: The commands of enbloc-sandbox with a summary, which metadata does not hold.
SANDBOX: Final[Mapping[str, str]] = {
    "sandbox": "Run a local API server with fake nodes.",
    "demo": "Show that two gangs do not deadlock with enbloc.",
}


def offered(
    taken: Container[str], packages: Iterable[Distribution] | None = None
) -> dict[str, EntryPoint]:
    """The commands of other packages, by name; reports unusable ones on stderr.

    Args:
        taken: the names that other packages may not use.
        packages: the packages to search; None = all installed ones.
    """
    from importlib.metadata import distributions  # noqa: PLC0415  # as above

    found: dict[str, EntryPoint] = {}
    for package in distributions() if packages is None else packages:
        try:
            entries = package.entry_points.select(group=GROUP)
        except Exception as error:  # noqa: BLE001  # the metadata of others may hold anything
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
        EnblocError: it cannot be imported, or is not a command; names its package.
    """
    try:
        command = entry.load()
    except Exception as error:
        why = f"cannot be imported from {entry.value}: {type(error).__name__}: {error}"
        raise EnblocError(f"{said(entry)} {why}") from error
    if not isinstance(command, click.Command):
        raise EnblocError(f"{said(entry)} is not a click command: {entry.value}")
    return command


def said(entry: EntryPoint) -> str:
    """The command and its package, for messages."""
    return f"the command {entry.name} of {_package(entry)}"


def summary(entry: EntryPoint) -> str:
    """The summary of a command in the list of commands."""
    return SANDBOX.get(entry.name) or f"From the package {_package(entry)}."


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"
