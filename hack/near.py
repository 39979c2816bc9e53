# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run the tests that what you changed may break; what they cannot show is named at the end.

    hack/near.py          # changes since the branch left its upstream, or origin/main
    hack/near.py HEAD~3   # since another commit
    hack/near.py --list   # only say which tests these are

From files to tests:

* A module of operator/enbloc stands for its package and for the packages of the modules that import
  it, those of the sandbox included. Where a package exports the names of its modules, those that
  import the package count too. Imports of imports do not count: that would be every test for most
  changes.
* A package is tested by the folders of SUITES.
* A file of tests stands for itself, anything else beside it for the folder, and a module in tests/
  for all tests.
* Folders outside operator/ and tests/ have their suites in SUITES, too; any file of the sandbox
  stands for all of its tests.

Only tests that `make test` or `make laws` have are run. LATER names the targets of the Makefile
that concern the same files and take longer.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

import grimp

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = "operator/enbloc/"
TESTS: Final = ("tests/", "sandbox/tests/")
#: By the beginning of a path: the folders of tests that concern it. The longest beginning counts;
#: a package that is not here is tested by the folder of tests that has its name.
SUITES: Final[Mapping[str, tuple[str, ...]]] = {
    "operator/enbloc/api/": ("tests/api", "tests/crds", "tests/manifests"),
    "operator/enbloc/engine/": ("tests/engine", "tests/rules", "tests/laws"),
    "operator/enbloc/ledgers": ("tests/devices", "tests/storage"),
    "operator/enbloc/plugins/": ("tests/plugins", "tests/parity"),
    "operator/enbloc/run": ("tests/cli",),
    "operator/enbloc/testing": ("tests/framework", "tests/plugins"),
    "benchmarks/": ("tests/benchmarks",),
    "crds/": ("tests/crds", "tests/manifests"),
    "docs/": ("tests/examples",),
    "hack/": ("tests/hack",),
    "helm/": ("tests/manifests", "tests/charts"),
    "manifests/": ("tests/manifests",),
    "requirements/": ("tests/hack",),
    "sandbox/": ("sandbox/tests",),
    "tests/fixtures/": ("tests/controller",),
    "tests/world/virtual_time": ("tests",),
    "tests/world/": ("tests/rules", "tests/engine", "tests/live", "tests/controller"),
}
#: By the beginning of a path: what else is worth running before a submission.
LATER: Final[Mapping[str, tuple[str, ...]]] = {
    "operator/enbloc/engine/": ("test-all", "bench-check"),
    "operator/enbloc/model/": ("test-all", "bench-check"),
    "operator/enbloc/storage/": ("test-all", "bench-check"),
    "operator/enbloc/devices/": ("test-all", "bench-check"),
    "operator/enbloc/ledgers": ("test-all", "bench-check"),
    "operator/enbloc/wire/": ("test-all", "bench-check"),
    "operator/enbloc/cel/": ("test-all", "bench-check"),
    "operator/enbloc/plugins/": ("test-all", "real"),
    "operator/enbloc/cli/": ("processes",),
    "operator/enbloc/controller/": ("smoke", "real", "e2e"),
    "operator/enbloc/client/": ("smoke", "real", "e2e"),
    "operator/enbloc/live/": ("smoke", "e2e"),
    "operator/enbloc/process/": ("smoke", "e2e"),
    "operator/enbloc/run": ("processes", "smoke"),
    "operator/enbloc/ui/": ("browser",),
    "sandbox/": ("processes", "real"),
    "crds/": ("real", "e2e-older"),
    "docs/": ("processes", "real"),
    "hack/": ("processes",),
    "helm/": ("real", "check-go"),
    "manifests/": ("real",),
    "tests/e2e/": ("smoke", "e2e"),
    "tests/browser/": ("browser",),
    ".github/": ("check-go",),
}
#: What `make test` and `make laws` have.
MARKERS: Final = "not slow and not controlplane and not kubectl and not browser and not processes"

#: The modules that import a module directly.
Importers = Callable[[str], Iterable[str]]


def module(path: str) -> str:
    """The module that a file of operator/ is, or is data of."""
    name = PurePosixPath(path.removeprefix("operator/"))
    name = name.with_suffix("") if name.suffix == ".py" else name.parent
    return ".".join(name.parts).removesuffix(".__init__")


def importing(changed: str, importers: Importers) -> set[str]:
    """The modules that import a module, from itself or from a package that exports its names."""
    found: set[str] = set()
    exporting = [changed]
    while exporting:
        name = exporting.pop()
        direct = set(importers(name)) - found
        found |= direct
        exporting += [one for one in direct if changed.startswith(f"{one}.")]
    return found


def suites(changed: Iterable[str], importers: Importers) -> list[str]:
    """The tests that concern changed files: folders and files of tests, none within another.

    Args:
        changed: paths from the root.
        importers: who imports a module of enbloc.
    """
    found: set[str] = set()
    for path in changed:
        if path.startswith(SOURCE):
            found.update(_of(path))
            for name in importing(module(path), importers):
                root = "operator" if name.startswith("enbloc.") else "sandbox"
                found.update(_of(f"{root}/{name.replace('.', '/')}/"))
        else:
            found.update(_beside(path) if path.startswith(TESTS) else _of(path))
    return sorted(one for one in found if not any(_within(one, other) for other in found))


def _of(path: str) -> tuple[str, ...]:
    """The suites of a path that holds no tests."""
    beginnings = [beginning for beginning in SUITES if path.startswith(beginning)]
    if beginnings:
        return SUITES[max(beginnings, key=len)]
    package = path.removeprefix(SOURCE).split("/")[:-1] if path.startswith(SOURCE) else ()
    return (f"tests/{package[0]}",) if package else ()


def _beside(path: str) -> tuple[str, ...]:
    """The suites of a path among tests."""
    _, *folders, name = path.split("/")
    if folders[:1] in (["browser"], ["e2e"]):  # each of them starts processes
        return ()
    if name.startswith("test_") and name.endswith(".py"):
        return (path,)
    if not folders:
        return ("tests",) if name.endswith(".py") else ()
    return _of(path) or (f"tests/{folders[0]}",)


def _within(path: str, other: str) -> bool:
    return path.startswith(f"{other}/")


def later(changed: Iterable[str]) -> list[str]:
    """The targets of the Makefile that concern changed files, and take longer."""
    paths = list(changed)
    found = [
        target
        for beginning, targets in LATER.items()
        if any(path.startswith(beginning) for path in paths)
        for target in targets
    ]
    return list(dict.fromkeys(found))


def git(*arguments: str) -> str:
    """What git prints.

    Raises:
        CalledProcessError: it fails; it has said why.
    """
    command = ["git", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    return done.stdout


def base() -> str:
    """The commit where the branch left its upstream, or origin/main; HEAD without either."""
    for upstream in ("@{upstream}", "origin/main"):
        with suppress(subprocess.CalledProcessError):
            git("rev-parse", "--quiet", "--verify", upstream)
            return git("merge-base", "HEAD", upstream).strip()
    return "HEAD"


def changed_since(commit: str) -> list[str]:
    """What differs from a commit: committed, staged, or in the working tree; and new files."""
    differing = git("diff", "--name-only", "-z", commit, "--")
    new = git("ls-files", "-z", "--others", "--exclude-standard")
    return sorted({path for path in (differing + new).split("\0") if path})


def importers_of(graph: grimp.ImportGraph) -> Importers:
    """Who imports a module, by the import graph; nobody, where the module is new or gone."""
    known = graph.modules
    return lambda name: graph.find_modules_that_directly_import(name) if name in known else ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; the exit code of pytest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("since", nargs="?", help="the commit to compare with")
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args(arguments)
    try:
        changed = changed_since(options.since or base())
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    sys.path[:0] = [str(ROOT / "operator"), str(ROOT / "sandbox/src")]
    graph = grimp.build_graph("enbloc", "enbloc_sandbox", cache_dir=None)
    tests = [path for path in suites(changed, importers_of(graph)) if (ROOT / path).exists()]
    print(f"{len(changed)} files differ; tests: {' '.join(tests) or 'none'}", flush=True)
    code = 0
    if tests and not options.list:
        pytest = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", MARKERS]
        command = [*pytest, "--ignore=tests/e2e", "--durations=25", *tests]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if targets := later(changed):
        print(f"takes longer, and concerns these files too: make {' '.join(targets)}")
    return 0 if code == 5 else code  # 5: none of these tests has the right markers


if __name__ == "__main__":
    sys.exit(main())
