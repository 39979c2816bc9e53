# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plant one fault after the other in a copy of the engine, and see which of them the tests notice.

A test that cannot fail is none. Each fault is a slip that somebody could make in one line, where a
mistake would matter. It is found by the line itself, for modules move. Whoever rewrites that line
rewrites the fault: one whose line is not found once is an error. A fault that nothing notices is a
test that is missing.

The test that noticed a fault before, by `noticed_by.json`, is tried first, and all of them if it
passes. Each run brings this file up to date.

    hack/planted_faults.py                        # all of them
    hack/planted_faults.py deadline- reservation- # those whose names begin so
"""

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

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
#: By name of a fault, the test that noticed it last.
NOTICED_BY: Final = ROOT / "hack" / "noticed_by.json"
#: Seconds after which a test hangs; a fault that makes one hang is noticed.
HANG: Final = 600
#: What is said of a test that does.
HANGS: Final = "a test that hangs"
#: pytest's exit code if a test that is named does not exist.
NOT_FOUND: Final = 4


FAULTS: Final = (*GANGS, *CAPACITY, *PREEMPTION, *TOPOLOGY)


class Tried(NamedTuple):
    """What became of one fault.

    Attributes:
        fault: its name.
        found: where it was planted; "" = its line is not there once.
        noticed: the first test that failed; "" = none.
        seconds: how long that took.
        why: if it was not planted, why not.
    """

    fault: str
    found: str = ""
    noticed: str = ""
    seconds: float = 0.0
    why: str = ""

    def __str__(self) -> str:
        if not self.found:
            return f"GONE     {self.why}"
        word = "noticed" if self.noticed else "MISSED"
        return f"{word:8} {self.fault:48} {self.seconds:5.0f}s  {self.noticed}"


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


def first_failure(tree: Path, tests: Sequence[str]) -> str:
    """The first test that fails in a tree; "" = all pass, or there is no such test.

    Raises:
        RuntimeError: the tests do not run at all.
    """
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider",
        "-o", f"timeout={HANG}", *tests,
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if ran.returncode in (0, NOT_FOUND):
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
    if failed:
        return failed[1]
    if "Timeout" in ran.stdout + ran.stderr:
        return HANGS
    raise RuntimeError(f"pytest ended with {ran.returncode}:\n{ran.stdout[-3000:]}{ran.stderr}")


def chosen(names: Iterable[str]) -> list[Fault]:
    """The faults whose names begin so; all of them without any name."""
    begun = tuple(names) or ("",)
    return [fault for fault in FAULTS if fault.name.startswith(begun)]


def copied(folder: Path) -> Path:
    """Copy what the tests need into a folder, and return it."""
    ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    return folder


def tried(tree: Path, fault: Fault, suites: Sequence[str], known: str) -> Tried:
    """Plant a fault in a tree, run the tests, and take it out again.

    Args:
        tree: as `copied` made it.
        fault: what to plant.
        suites: the tests to run.
        known: the test that noticed it before, to try first; "" = none.
    """
    began = time.monotonic()
    try:
        path = planted(tree, fault)
    except LookupError as error:
        return Tried(fault.name, why=str(error))
    noticed = (known and first_failure(tree, [known])) or first_failure(tree, suites)
    found = path.relative_to(tree)
    shutil.copy(ROOT / found, path)
    return Tried(fault.name, str(found), noticed, time.monotonic() - began)


def kept(outcomes: Iterable[Tried], known: dict[str, str]) -> dict[str, str]:
    """By fault, the test that noticed it last: what was known before, and these outcomes."""
    names = {fault.name for fault in FAULTS}
    seen = {each.fault: each.noticed for each in outcomes if each.noticed not in ("", HANGS)}
    return {name: test for name, test in sorted({**known, **seen}.items()) if name in names}


def main() -> int:
    """Plant faults and run the tests; exits with how many were not noticed, or not found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="how the names of the faults begin; none = all")
    parser.add_argument("--suites", nargs="+", default=SUITES, help="which tests to run")
    parser.add_argument("--trust", action="store_true", help="the tests pass without any fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="faults at a time")
    given = parser.parse_args()
    known: dict[str, str] = json.loads(NOTICED_BY.read_text("utf-8"))
    outcomes: list[Tried] = []
    trees: queue.SimpleQueue[Path] = queue.SimpleQueue()

    def attempt(fault: Fault) -> Tried:
        tree = trees.get()
        try:
            return tried(tree, fault, given.suites, known.get(fault.name, ""))
        finally:
            trees.put(tree)

    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(given.jobs)]
        for folder in folders:
            trees.put(copied(Path(folder)))
        if not given.trust and (failed := first_failure(Path(folders[0]), given.suites)):
            print(f"{failed} fails without any fault")
            return 1
        with ThreadPoolExecutor(given.jobs) as pool:
            for outcome in pool.map(attempt, chosen(given.names)):
                print(outcome, flush=True)
                outcomes.append(outcome)
                by = kept(outcomes, known)  # each time, for a run that is interrupted
                NOTICED_BY.write_text(json.dumps(by, indent=2) + "\n", "utf-8")
    missed = [each.fault for each in outcomes if each.found and not each.noticed]
    gone = [each.fault for each in outcomes if not each.found]
    for names, what in ((missed, "noticed"), (gone, "found")):
        if names:
            print(f"{len(names)} were not {what}: {', '.join(names)}")
    return len(missed) + len(gone)


if __name__ == "__main__":
    sys.exit(main())
