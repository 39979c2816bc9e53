# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Printing tables, lines and documents; they hold text from objects, so they are escaped."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

from enbloc.model.text import printable


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False
) -> None:
    """Print columns as kubectl does: three spaces apart, as wide as needed."""
    rows = [headers, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("   ".join(cells).rstrip(), err=err)


def say(line: str = "", *, err: bool = False) -> None:
    """Print one line, on stdout or stderr."""
    click.echo(printable(line), err=err)


def warn(warnings: Iterable[str]) -> None:
    """Print each as a warning, on stderr."""
    for warning in warnings:
        say(f"warning: {warning}", err=True)


def print_document(document: Any, output: str) -> None:
    """Print a document for programs, as "json" or "yaml"."""
    if output == "json":
        click.echo(json.dumps(document, indent=2))
    else:
        import yaml  # noqa: PLC0415  # not for `--help`

        click.echo(yaml.safe_dump(document, sort_keys=False, width=100), nl=False)
