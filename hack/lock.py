# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pin requirements/*.txt: exact versions with hashes, no index addresses, a week behind."""

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Final

# A week's delay gives the registry time to withdraw a poisoned release.
DELAY = dt.timedelta(days=7)
_IMAGE: Final = ("pyproject.toml", "--extra", "exact")
#: Both of our distributions, neither of which is locked: they are installed from here.
_BOTH: Final = (*_IMAGE, "sandbox/pyproject.toml", "--no-emit-package", "enbloc")
ARGUMENTS: Final = {
    "run": (*_BOTH, "--group", "build"),
    # What `run` has, without the sandbox and what builds us.
    "image": (*_IMAGE, "--constraint", "requirements/run.txt"),
    "dev": (*_BOTH, "--extra", "otel", "--extra", "testing", "--group", "dev"),
    # What lists the packages of the image, as the image is built.
    "sbom": ("--group", "sbom", "--constraint", "requirements/dev.txt"),
    # What drives a browser, beside what `dev` has.
    "browser": ("--group", "browser", "--constraint", "requirements/dev.txt"),
}


def main() -> None:
    """Compile the lock files."""
    root = Path(__file__).resolve().parent.parent
    newest = (dt.datetime.now(dt.UTC) - DELAY).date().isoformat()
    for name, arguments in ARGUMENTS.items():
        command = [
            *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet"),
            *("--universal", "--python-version", "3.11", "--generate-hashes"),
            *("--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate"),
            *("--exclude-newer", newest, *arguments),
            *("--output-file", f"requirements/{name}.txt"),
        ]
        subprocess.run(command, cwd=root, check=True)


if __name__ == "__main__":
    main()
