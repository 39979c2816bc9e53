# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading configuration files for the command line."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from enbloc.errors import ConfigError

if TYPE_CHECKING:
    from enbloc.config import Source


def sources(files: Iterable[Path]) -> "list[Source]":
    """The content of the files.

    Raises:
        ConfigError: names every file that cannot be read.
    """
    from enbloc.config import Source  # noqa: PLC0415  # `--help` needs none of it

    found: list[Source] = []
    problems: list[str] = []
    for file in files:
        try:
            found.append(Source(str(file), file.read_text("utf-8")))
        except OSError as error:
            problems.append(f"{file}: cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            problems.append(f"{file}: cannot be read: it is not UTF-8")
    if problems:
        raise ConfigError("\n".join(problems))
    return found
