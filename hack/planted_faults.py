# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plant one fault after the other in a copy of the engine, and see which of them the tests notice.

A test that cannot fail is none. Each fault is a slip that somebody could make in one line, where a
mistake would matter. It is found by the line itself, for modules move. Whoever rewrites that line
rewrites the fault: one whose line is not found once is an error. A fault that nothing notices is a
test that is missing.

    hack/planted_faults.py                        # all of them: hours
    hack/planted_faults.py --list
    hack/planted_faults.py deadline- reservation- # those whose names begin so
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack.faults_of_capacity import CAPACITY  # noqa: E402  # as above
from hack.faults_of_gangs import GANGS, Fault  # noqa: E402  # as above
from hack.faults_of_preemption import PREEMPTION  # noqa: E402  # as above
from hack.faults_of_topology import TOPOLOGY  # noqa: E402  # as above

#: Where faults are planted.
ENGINE: Final = Path("operator/enbloc/engine")
#: What the tests need.
COPIED: Final = ("operator", "sandbox", "tests", "docs", "crds", "hack", "pyproject.toml")
#: The cheapest first: the first failure ends a run.
SUITES: Final = ("tests/rules", "tests/engine", "tests/laws")
#: Seconds after which a test hangs; a fault that makes one hang is noticed.
HANG: Final = 600


FAULTS: Final = (*GANGS, *CAPACITY, *PREEMPTION, *TOPOLOGY)


def planted(tree: Path, fault: Fault) -> Path:
    """Plant a fault; the file that it is in.

    Raises:
        LookupError: its line is not found, or found more than once.
    """
    files = sorted((tree / ENGINE).rglob("*.py"))
    found = [path for path in files for _ in range(path.read_text().count(fault.line))]
    if len(found) != 1:
        raise LookupError(f"{fault.name}: found {len(found)} times, not once: {fault.line!r}")
    [path] = found
    path.write_text(path.read_text().replace(fault.line, fault.slip))
    return path


def tried(tree: Path, suites: Sequence[str]) -> str:
    """The first test that fails in a tree; "" = all pass.

    Raises:
        RuntimeError: the tests do not run at all.
    """
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider",
        "-o", f"timeout={HANG}", *suites,
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    if failed:
        return failed[1]
    if "Timeout" in ran.stdout + ran.stderr:
        return "a test that hangs"
    raise RuntimeError(f"pytest ended with {ran.returncode}:\n{ran.stdout[-3000:]}{ran.stderr}")


def chosen(names: Iterable[str]) -> list[Fault]:
    """The faults whose names begin so; all of them without any name."""
    begun = tuple(names) or ("",)
    return [fault for fault in FAULTS if fault.name.startswith(begun)]


def main() -> int:
    """Plant faults and run the tests; exits with how many were not noticed, or not found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="how the names of the faults begin; none = all")
    parser.add_argument("--list", action="store_true", help="only plant, and say where")
    parser.add_argument("--suites", nargs="+", default=SUITES, help="which tests to run")
    parser.add_argument("--trust", action="store_true", help="the tests pass without any fault")
    given = parser.parse_args()
    suites: list[str] = list(given.suites)
    missed: list[str] = []
    gone: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__", ".hypothesis")
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=ignored)
            else:
                shutil.copy(source, tree / name)
        if not (given.list or given.trust):
            failed = tried(tree, suites)
            if failed:
                print(f"{failed} fails without any fault")
                return 1
        for fault in chosen(given.names):
            began = time.monotonic()
            try:
                path = planted(tree, fault)
            except LookupError as error:
                print(f"GONE     {error}", flush=True)
                gone.append(fault.name)
                continue
            if given.list:
                print(f"{fault.name:48} {path.relative_to(tree)}")
            else:
                noticed = tried(tree, suites)
                word, took = "noticed" if noticed else "MISSED", time.monotonic() - began
                print(f"{word:8} {fault.name:48} {took:5.0f}s  {noticed}", flush=True)
                missed += [] if noticed else [fault.name]
            shutil.copy(ROOT / path.relative_to(tree), path)
    for names, what in ((missed, "noticed"), (gone, "found")):
        if names:
            print(f"{len(names)} were not {what}: {', '.join(names)}")
    return len(missed) + len(gone)


if __name__ == "__main__":
    sys.exit(main())
