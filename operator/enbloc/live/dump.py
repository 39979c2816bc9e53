# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Dumps: written when a signal asks for one, or when the scheduler breaks.

`enbloc replay`, and every command with `--dump`, reads them.
"""

import asyncio
import gzip
import logging
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from enbloc import __version__
from enbloc.config import Configuration, hidden
from enbloc.engine import Engine
from enbloc.engine.replay import Dump, DumpFile, encoded
from enbloc.model.times import micro_time_text, time_text

#: The fastest compression is enough: most of the content repeats.
_LEVEL: Final = 1

logger = logging.getLogger(__name__)


class Dumper:
    """Writes dumps of one engine.

    Args:
        engine: only read, between two of its steps.
        configuration: the configuration that the engine decides by.
        directory: where the files go; None = no dumps are written.
        asked: set to request a dump.
        now: server time, seconds since the epoch.
    """

    def __init__(
        self,
        engine: Engine,
        configuration: Configuration,
        directory: Path | None,
        asked: asyncio.Event,
        now: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._configuration = configuration
        self._directory = directory
        self._asked = asked
        self._now = now

    async def run(self) -> None:
        """Write a dump each time one is requested, until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            await self.write()

    async def write(self) -> None:
        """Write a dump and log where it is; a failure is only logged."""
        if self._directory is None:
            return
        try:
            dump, now = self._engine.dump(), self._now()
            path = await asyncio.to_thread(self._write, self._directory, dump, now)
        except OSError as error:
            logger.error("Could not write a dump to %s: %s", self._directory, error.strerror)  # noqa: TRY400  # not a bug
        except Exception:  # a bug; the scheduler goes on, or tells why it ends
            logger.exception("Could not write a dump to %s", self._directory)
        else:
            logger.info("Wrote a dump to %s", path)

    def _write(self, directory: Path, dump: Dump, now: float) -> Path:
        """Write to a new file that only its owner may read."""
        from enbloc.config import effective  # noqa: PLC0415  # it needs models that a start does not

        documents = without_secrets(effective(self._configuration))
        data = encoded(DumpFile(micro_time_text(now), __version__, documents, dump))
        name = f"enbloc-{time_text(now).replace(':', '').replace('-', '')}-"
        descriptor, path = tempfile.mkstemp(prefix=name, suffix=".json.gz", dir=directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(gzip.compress(data, _LEVEL))
        except OSError:
            Path(path).unlink()
            raise
        return Path(path)


def without_secrets(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A configuration without what only a process that connects to others needs.

    Omitted: keys and certificates for extenders, all credentials, and the kubeconfig's path.
    """
    found: list[dict[str, Any]] = []
    for document in map(hidden, documents):
        kept = {name: value for name, value in document.items() if name != "clientConnection"}
        if "extenders" in kept:
            kept["extenders"] = [
                {name: value for name, value in each.items() if name != "tlsConfig"}
                for each in kept["extenders"]
            ]
        found.append(kept)
    return found
