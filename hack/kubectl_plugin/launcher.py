#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The program of the plugin that krew installs: `kubectl enbloc`.

It runs with the packages beside it, under a Python for which there are some: the one that is called
python3, or another on the PATH. Older ones must be able to read this, so that they can say so.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

LIB = Path(__file__).resolve().parent / "lib"
PREFIX = "python"


def other() -> str:
    """A program on the PATH that is of a version for which there are packages, the newest.

    Raises:
        SystemExit: there is none; which versions those are.
    """
    minors = sorted(int(path.name.rpartition(".")[2]) for path in LIB.glob(PREFIX + "*"))
    for minor in reversed(minors):
        program = shutil.which("{}3.{}".format(PREFIX, minor))
        code = "import sys; sys.exit(sys.version_info[:2] != (3, {}))".format(minor)
        if program and subprocess.call([program, "-c", code], stderr=subprocess.DEVNULL) == 0:
            return program
    here = "{} is {}.{}".format(sys.executable, *sys.version_info[:2])
    versions = ", ".join("3.{}".format(minor) for minor in minors)
    sys.exit(
        "error: kubectl enbloc needs Python of one of the versions {}, and {}; "
        "install one of them, on the PATH".format(versions, here)
    )


def main() -> int:
    """Run the command line."""
    own = LIB / "{}{}.{}".format(PREFIX, *sys.version_info[:2])
    if not own.is_dir():
        program = other()
        os.execv(program, [program] + sys.argv)
    sys.path[:1] = [str(own), str(LIB / "common")]
    from enbloc.start import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
