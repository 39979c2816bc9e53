# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run what a submission must pass on a clean clone of HEAD, and remember which commit passed.

The name of that commit is written to `gate-passed` in git's folder. What was printed is kept in
build/gate.log, and the log of each stage in build/ci; the clone is removed. A folder `shared`
beside the checkout, where benchmarks look for traces, is linked beside the clone.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack.logged import run_logged  # noqa: E402  # as above

BUILD: Final = ROOT / "build"


def environment() -> dict[str, str]:
    """What git and the run are given; in a hook, git's own variables name this checkout."""
    return {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}


def git(*arguments: str) -> str:
    """What git prints of the checkout."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout.strip()


def cloned(commit: str, folder: Path) -> Path:
    """A clone of the commit in a folder."""
    clone = folder / ROOT.name
    git("clone", "--quiet", "--no-hardlinks", "--no-checkout", str(ROOT), str(clone))
    git("-C", str(clone), "checkout", "--quiet", "--detach", commit)
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (folder / "shared").symlink_to(shared)
    return clone


def passes(clone: Path) -> bool:
    """Whether the clone passes; what is printed is shown, and kept."""
    BUILD.mkdir(exist_ok=True)
    command = ["bash", ".ci/run", f"--build={BUILD}"]
    env = {**environment(), "CI": "true"}
    return run_logged(command, BUILD / "gate.log", cwd=clone, env=env) == 0


def main() -> int:
    """Run it; 1 if it fails or if there are changes that no commit has."""
    if changes := git("status", "--porcelain"):
        print(f"commit, stash or remove these first; only HEAD is tried:\n{changes}")
        return 1
    commit = git("rev-parse", "HEAD")
    passed = ROOT / git("rev-parse", "--git-dir") / "gate-passed"
    passed.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="enbloc-gate-") as folder:
        green = passes(cloned(commit, Path(folder)))
    if green:
        passed.write_text(f"{commit}\n", encoding="utf-8")
    print(f"{commit} {'passed' if green else 'failed'}; the log is {BUILD / 'gate.log'}")
    return 0 if green else 1


if __name__ == "__main__":
    sys.exit(main())
