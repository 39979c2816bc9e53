# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The first lines of the command `enbloc`, before anything is imported.

A kubelet may stop a container while its process starts. Without a handler, SIGTERM kills a process,
and does nothing at all to the first one of a container, which then is waited for and killed.
"""

import os
import signal
import sys
from types import FrameType

#: What runs until it is stopped, and so has ended well when it is.
_SERVERS = ("scheduler", "controller", "run", "ui")
#: With it a server writes a file, and does not serve.
_WRITES = "--write-config-to"


def main() -> int:
    """Run the command line; a server that is stopped before it serves ends at once, with 0."""
    if sys.argv[1:2] and sys.argv[1] in _SERVERS and _WRITES not in " ".join(sys.argv):
        signal.signal(signal.SIGTERM, _stopped)
    from enbloc.cli import main as command  # noqa: PLC0415  # it takes a while

    return command()


def _stopped(number: int, frame: FrameType | None) -> None:
    """Nothing was begun that would have to end; imports must not go on."""
    del number, frame
    os._exit(0)
