# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Have the controllers of other projects create the objects that tests read from tests/fixtures.

    python hack/fixtures.py            # write them again
    python hack/fixtures.py --check    # fail where they differ from those that are there

`hack/fixtures` holds the versions of these projects and runs their code, on a real kube-apiserver.
It needs Go, and takes minutes the first time.
"""

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.controlplane import ControlPlane  # noqa: E402  (it is not installed)

MODULE = ROOT / "hack" / "fixtures"
FIXTURES = ROOT / "tests" / "fixtures" / "controllers"
KINDS = ROOT / "crds" / "dialects"


def render(folder: Path, only: str = "") -> None:
    """Write the fixtures to a folder."""
    with tempfile.TemporaryDirectory() as built, ControlPlane() as server:
        program = Path(built) / "fixtures"
        subprocess.run(["go", "build", "-o", program, "."], cwd=MODULE, check=True)
        subprocess.run(
            [program, f"-output={folder}", f"-kinds={KINDS}", f"-only={only}"],
            cwd=MODULE,
            env=os.environ | {"KUBECONFIG": str(server.kubeconfig)},
            check=True,
        )


def differing(folder: Path, kept: Path = FIXTURES) -> list[str]:
    """The names of the fixtures that are not the same in both, or in one alone."""
    names = {path.name for each in (folder, kept) for path in each.glob("*.yaml")}
    _, unlike, missing = filecmp.cmpfiles(folder, kept, sorted(names), shallow=False)
    return [*unlike, *missing]


def main(arguments: Sequence[str] | None = None) -> int:
    """Render, or compare; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    parser.add_argument("--only", default="", help="a regular expression: which; all if empty")
    options = parser.parse_args(arguments)
    if not options.check:
        FIXTURES.mkdir(parents=True, exist_ok=True)
        render(FIXTURES, options.only)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        render(Path(folder))
        found = differing(Path(folder))
    for name in found:
        print(f"tests/fixtures/controllers/{name} differs; run `make fixtures`", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
