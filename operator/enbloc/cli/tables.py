# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables on stdout, as kubectl prints them."""

from collections.abc import Sequence

import click


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as they need to be, three spaces apart."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    for row in (headers, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("   ".join(cells).rstrip())
