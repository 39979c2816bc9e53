# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The packages that the image holds, fetched once, so that no test asks a registry.

    python -m tests.hack.wheels

fetches what requirements/image.txt pins for this Python, and keeps it outside the repository.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from hack.build_controlplane import cache_root

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = ROOT / "requirements" / "image.txt"


def folder() -> Path:
    """Where the wheels for this lock and this Python are, or will be."""
    known = LOCK.read_bytes() + sys.implementation.cache_tag.encode()
    return cache_root(os.environ).with_name("wheels") / hashlib.sha256(known).hexdigest()[:16]


def offline() -> dict[str, str]:
    """Variables by which pip and uv install what was fetched, and ask nobody.

    Raises:
        AssertionError: nothing was fetched; the message names the command that does.
    """
    found = folder()
    assert found.is_dir(), f"{found} is missing: `python -m tests.hack.wheels` fetches it"
    of_pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(found)}
    return {**of_pip, "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(found)}


def fetch() -> Path:
    """The folder with all wheels, fetched if need be."""
    target = folder()
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as partial:
            wheels = Path(partial) / "wheels"
            options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
            pinned = ("--require-hashes", f"--requirement={LOCK}")
            subprocess.run(
                [sys.executable, "-m", "pip", "download", *options, *pinned, f"--dest={wheels}"],
                check=True,
            )
            wheels.rename(target)
    return target


if __name__ == "__main__":
    print(fetch())
