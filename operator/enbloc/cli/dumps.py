# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a scheduler's dump, for the commands that answer from one."""

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from enbloc.cli.files import sources
from enbloc.errors import UsageError
from enbloc.model.times import seconds_of

if TYPE_CHECKING:
    from io import BufferedReader

    from enbloc.config import Configuration, Source
    from enbloc.engine.replay import DumpFile
    from enbloc.simulation import PresentState

#: The longest dump, uncompressed (bytes): ten times one of 50 000 pods on 5 000 nodes.
MOST_BYTES: Final = 256 * 2**20
_GZIP: Final = b"\x1f\x8b"


def read_dump(path: Path) -> "DumpFile":
    """The dump in a file, compressed or not.

    Raises:
        UsageError: the file cannot be read, or is not a dump.
    """
    from enbloc.engine.replay import decoded  # noqa: PLC0415  # `--help` needs none of it

    try:
        with path.open("rb") as file:
            return decoded(_content(file))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}: it is truncated or damaged: {error}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _content(file: "BufferedReader") -> bytes:
    """The content of a file, uncompressed.

    Raises:
        UsageError: it is longer than MOST_BYTES.
    """
    if file.peek(len(_GZIP)).startswith(_GZIP):
        with gzip.open(file) as unpacked:
            data = unpacked.read(MOST_BYTES + 1)
    else:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageError(f"not a dump: it holds more than {MOST_BYTES // 2**20} MiB")
    return data


def dumped_sources(path: Path, dump: "DumpFile") -> "list[Source]":
    """The configuration by which the decisions in a dump were made."""
    from enbloc.config import Source  # noqa: PLC0415  # `--help` needs none of it

    return [Source(f"{path}: configuration", json.dumps(each)) for each in dump.configuration]


def present_of(path: Path, configs: Sequence[Path]) -> "tuple[PresentState, Configuration]":
    """The cluster in a dump, and the configuration for it.

    Args:
        path: of the dump.
        configs: files with the scheduler's configuration; none = the dump's own.

    Raises:
        UsageError: the file cannot be read, or is not a dump.
        ConfigError: the configuration cannot be used.
    """
    from enbloc.config import configure, default_configuration  # noqa: PLC0415  # as above
    from enbloc.simulation import PresentState  # noqa: PLC0415  # as above

    dump = read_dump(path)
    now = seconds_of(dump.written)
    if now is None:
        raise UsageError(
            f'{path}: not a dump: "{dump.written}", when it was written, is not a time'
        )
    found = sources(configs) or dumped_sources(path, dump)
    configuration = configure(found) if found else default_configuration()
    events = tuple(dump.dump.events())
    return PresentState(configuration.profiles, configuration.settings, events, now), configuration
