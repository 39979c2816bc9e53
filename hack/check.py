# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run every check of the repository, two at a time, and fail at the end if one failed.

python hack/check.py               # all but those that need Go
python hack/check.py mypy drift    # these only; the hooks of pre-commit name one each
python hack/check.py chart         # one that needs Go, as `make check-go` runs them
"""

import argparse
import datetime as dt
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack import citations as cited  # noqa: E402  # as above
from hack import conform, licences, sync  # noqa: E402  # as above
from hack.build_controlplane import (  # noqa: E402  # as above
    CHECK_TOOLS,
    BuildError,
    cache_root,
    ensure,
)
from tests import quarantine  # noqa: E402  # as above

BIN: Final = Path(sys.executable).parent
CODE: Final = ("operator", "sandbox", "tests", "benchmarks", "hack")
LONGEST_MODULE: Final = 600
SECONDS: Final = 900
SPDX: Final = sync.SPDX.splitlines()
WITH_HEADER: Final = {".py", ".pyi", ".sh", ".toml", ".yaml", ".yml"}
#: What invents citations to test a check.
INVENTED: Final = {
    "hack/citations.py",
    "tests/hack/test_citations.py",
    "tests/hack/test_mkdocs_links.py",
}
WORKFLOWS: Final = ".github/workflows/*.yml"
WITH_HEADER_TOO: Final = {"Makefile", "Dockerfile", ".dockerignore", ".ci/run"}


@dataclass(frozen=True, slots=True)
class Result:
    """How a check ended.

    Attributes:
        state: whether it passed; a tool that is not there fails it.
        text: what it has to say: the findings, or what is missing.
        seconds: how long it took.
    """

    state: Literal["ok", "FAILED"]
    text: str = ""
    seconds: float = 0.0


def findings(lines: Iterable[str]) -> Result:
    """Failed, with these findings; ok without any."""
    text = "\n".join(lines)
    return Result("FAILED" if text else "ok", text)


def tool(name: str, *arguments: str) -> Callable[[], Result]:
    """A check that runs a tool of the virtual environment."""
    return lambda: command(str(BIN / name), *arguments)


def environment() -> dict[str, str]:
    """The environment of each check."""
    return {
        # Clones share what mypy knows of modules, which it keeps by their hashes.
        "MYPY_CACHE_DIR": str(cache_root(os.environ).with_name("mypy")),
        **os.environ,
        # Modules lie in these folders, as for pytest.
        "PYTHONPATH": os.pathsep.join(str(ROOT / one) for one in ("operator", "sandbox/src", ".")),
        "NO_COLOR": "1",
        "NO_MKDOCS_2_WARNING": "1",
    }


def command(*arguments: str) -> Result:
    """Run a command at the root; its output counts only when it fails."""
    try:
        done = subprocess.run(
            arguments,
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except FileNotFoundError:
        return Result("FAILED", f"{arguments[0]}: not installed; `make setup` does it")
    except subprocess.TimeoutExpired:
        return Result("FAILED", f"{' '.join(arguments)}: not done after {SECONDS} seconds")
    return Result("ok") if done.returncode == 0 else Result("FAILED", done.stdout.rstrip())


def files() -> list[Path]:
    """Every file that is, or may become, part of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    paths = (Path(name) for name in sorted(set(listed.stdout.split("\0"))) if name)
    return [path for path in paths if (ROOT / path).is_file()]


# ── checks of our own ────────────────────────────────────────────────────────────────────────
def headers() -> Result:
    """Sources, YAML and scripts begin with the two lines of their licence."""
    lacking: list[str] = []
    for path in files():
        if path.suffix not in WITH_HEADER and path.as_posix() not in WITH_HEADER_TOO:
            continue
        if "templates" in path.parts:  # what a template renders belongs to the user
            continue
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        first = 1 if lines and lines[0].startswith("#!") else 0
        if lines[first : first + 2] != SPDX and lines:
            lacking.append(f"{path}: does not begin with the two SPDX lines")
    return findings(lacking)


def lengths() -> Result:
    """No module is longer than a reader's patience."""
    return findings(
        f"{path}: {count} lines; split it, {LONGEST_MODULE} is the most"
        for path in files()
        if path.suffix == ".py"
        and (count := len((ROOT / path).read_text(encoding="utf-8").splitlines())) > LONGEST_MODULE
    )


def source_root() -> Result:
    """`operator/` is a folder and no package, or it would hide the standard library's."""
    bad = Path("operator/__init__.py")
    return findings([f"{bad}: must not exist"] if (ROOT / bad).exists() else [])


def dependencies() -> Result:
    """Each distribution declares what it imports, and imports what it declares."""
    sources = {"pyproject.toml": "operator/enbloc", "sandbox/pyproject.toml": "sandbox/src"}
    results = [
        command(str(BIN / "deptry"), f"--config={project}", source)
        for project, source in sources.items()
    ]
    return findings(result.text for result in results if result.state == "FAILED")


def citations() -> Result:
    """What code, tests and pages refer to is there."""
    listed = [path for path in files() if path.as_posix() not in INVENTED]
    return findings(cited.problems(ROOT, listed))


def drift() -> Result:
    """What is rendered from crds/ and the permissions is up to date."""
    return findings(f"{path}: stale; run `make sync`" for path in sync.drift())


def chart() -> Result:
    """The chart passes helm's lint, and what it renders Kubernetes' schemas, with all ci values."""
    try:
        return findings(conform.problems())
    except BuildError as error:
        return Result("FAILED", str(error))


def scripts() -> Result:
    """Shell scripts have no trap that shellcheck knows."""
    shell = [str(path) for path in files() if path.suffix == ".sh" or path == Path(".ci/run")]
    return command(str(BIN / "shellcheck"), *shell)


def linted(paths: Iterable[Path]) -> Result:
    """Expressions and scripts of these workflows are right, as actionlint and shellcheck see it."""
    try:
        actionlint = ensure(["actionlint"], tools=CHECK_TOOLS) / "actionlint"
    except BuildError as error:
        return Result("FAILED", str(error))
    shellcheck = f"-shellcheck={BIN / 'shellcheck'}"
    return command(str(actionlint), "-oneline", shellcheck, "-pyflakes=", *map(str, paths))


def actions() -> Result:
    """Expressions and scripts of all workflows are right."""
    return linted(sorted(ROOT.glob(WORKFLOWS)))


def workflows() -> Result:
    """Workflows and forms are valid, and ask for no right too many."""
    schemas = {
        "github-workflows": WORKFLOWS,
        "github-issue-forms": ".github/ISSUE_TEMPLATE/[!c]*.yml",
        "github-issue-config": ".github/ISSUE_TEMPLATE/config.yml",
        "dependabot": ".github/dependabot.yml",
    }
    zizmor = (str(BIN / "zizmor"), "--offline", "--quiet", "--persona=pedantic")
    results = [command(*zizmor, ".github")]
    for schema, pattern in schemas.items():
        found = [str(path) for path in sorted(ROOT.glob(pattern))]
        tool = str(BIN / "check-jsonschema")
        results.append(command(tool, f"--builtin-schema=vendor.{schema}", *found))
    return findings(result.text for result in results if result.state == "FAILED")


def quarantined() -> Result:
    """Few tests are in quarantine, none for long, and all of them exist."""
    text = (ROOT / quarantine.FILE).read_text(encoding="utf-8")
    return findings(quarantine.problems(text, dt.datetime.now(dt.UTC).date()))


def image_licences() -> Result:
    """What the image holds may be given on."""
    return findings(licences.problems(ROOT / "requirements" / "image.txt"))


def docs() -> Result:
    """The site builds without a warning: no dead link or anchor, no page outside its navigation."""
    with tempfile.TemporaryDirectory() as built:
        return command(str(BIN / "mkdocs"), "build", "--strict", "--site-dir", built)


CHECKS: Final[Mapping[str, Callable[[], Result]]] = {
    "ruff": tool("ruff", "check", *CODE),
    "format": tool("ruff", "format", "--check", *CODE),
    "mypy": tool("mypy"),
    "pyright": tool("pyright"),
    "imports": tool("lint-imports", "--no-logo"),
    "dependencies": dependencies,
    "spelling": tool("codespell"),
    "yaml": tool("yamllint", "--strict", "."),
    "scripts": scripts,
    "workflows": workflows,
    "dockerfile": tool("hadolint", "Dockerfile"),
    "licences": image_licences,
    "headers": headers,
    "lengths": lengths,
    "source-root": source_root,
    "citations": citations,
    "drift": drift,
    "quarantine": quarantined,
    "docs": docs,
}
#: They build a program with Go first, so they run when they are named, and in `make nightly`.
NEED_GO: Final[Mapping[str, Callable[[], Result]]] = {"chart": chart, "actionlint": actions}
ALL: Final = {**CHECKS, **NEED_GO}
#: The slowest, which begin first.
SLOWEST: Final = ("pyright", "mypy", "docs")
#: Checks at a time.
WORKERS: Final = 2


def timed(name: str) -> Result:
    """Run a check."""
    began = time.monotonic()
    result = ALL[name]()
    return replace(result, seconds=time.monotonic() - began)


def results(names: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """Run checks side by side; what came of them in the order of the names."""
    with ThreadPoolExecutor(WORKERS) as threads:
        ordered = sorted(names, key=lambda name: name not in SLOWEST)
        running = {name: threads.submit(timed, name) for name in ordered}
        for name in names:
            yield name, running[name].result()


def main(arguments: list[str] | None = None) -> int:
    """Run the named checks, or all that need no Go; 1 if any failed."""
    parser = argparse.ArgumentParser(description="Run the checks of the repository.")
    parser.add_argument("names", nargs="*", metavar="CHECK", help=", ".join(ALL))
    names: list[str] = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in ALL]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(ALL)}")
    names = list(dict.fromkeys(names)) or list(CHECKS)
    failed: list[str] = []
    for name, result in results(names):
        print(f"{result.state:<7} {name:<13} {result.seconds:5.1f} s", flush=True)
        if result.text:
            print("".join(f"        {line}\n" for line in result.text.splitlines()), flush=True)
        if result.state == "FAILED":
            failed.append(name)
    print(
        f"{len(failed)} of {len(names)} checks failed: {', '.join(failed)}"
        if failed
        else "all passed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
