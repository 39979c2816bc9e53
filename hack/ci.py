# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run the stages of the gate, or the nightly ones, and say at the end what failed.

    hack/ci.py                       # the gate, as .ci/run does
    hack/ci.py gate test laws        # these stages of it, and what they need
    hack/ci.py nightly               # all that the gate leaves out
    hack/ci.py nightly older soak    # these stages; some run only when they are named

Each stage is a target of the Makefile. A stage that fails does not stop the run: only the stages
that need it are left out. make test and make laws are deterministic, and never run again. In other
stages a test that failed is run once more at the end, alone. If it passes then, the stage counts
as passed, the test is printed as FLAKY and added to build/flaky.txt, and both logs are kept in
build/flaky.

Standard library only: it makes the virtual environment.
"""

import argparse
import datetime as dt
import os
import shutil
import sys
import time
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack.logged import run_logged  # noqa: E402  # as above
from hack.outcomes import (  # noqa: E402  # as above
    Budget,
    Outcome,
    State,
    broke_off,
    failed_tests,
    passed,
    report,
)

#: Where the Makefile has end-to-end tests leave what they ask of API servers.
REQUESTS: Final = ".pytest_cache/requests"
#: More failures than this are no coincidence, and are not run again.
MOST_AGAIN: Final = 20
#: What an outer make passes on, which would reach each stage; and what would make every process
#: compile all modules again.
NOT_PASSED_ON: Final = {
    "ARGS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MFLAGS",
    "PYTHONDONTWRITEBYTECODE",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One target of the Makefile.

    Attributes:
        name: how the stage is called.
        make: the arguments of make.
        needs: the stages without which it cannot run.
        beside: whether the next stage runs at the same time, with priority.
        again: whether tests that failed are run once more.
        options: what pytest is told when it runs them.
        asked: whether it runs only when it is named.
    """

    name: str
    make: tuple[str, ...]
    needs: tuple[str, ...] = ("setup",)
    beside: bool = False
    again: bool = False
    options: tuple[str, ...] = ()
    asked: bool = False


GATE: Final = (
    Stage("setup", ("setup",), needs=()),
    Stage("check", ("check",)),
    Stage("test", ("test",)),
    Stage("laws", ("laws",)),
    # Budgets of benchmarks are in CPU time relative to a piece of work of the same run, so a build
    # at the same time does not change them.
    Stage("build", ("build",), needs=(), beside=True),
    Stage("bench", ("bench-check",)),
    Stage("smoke", ("smoke",), needs=("setup", "build"), again=True),
)
_BUILT: Final = ("setup", "build-all")
NIGHTLY: Final = (
    Stage("setup", ("setup",), needs=()),
    Stage("build-all", ("build-all",)),
    Stage("check-go", ("check-go",)),
    Stage("test-all", ("test-all",)),
    Stage("processes", ("processes",), again=True),
    Stage("real", ("real",), needs=_BUILT, again=True),
    Stage("browser", ("browser",), again=True),
    Stage("e2e", ("e2e",), needs=_BUILT, again=True, options=(f"--requests={REQUESTS}",)),
    Stage("permissions", ("permissions",), needs=(*_BUILT, "e2e")),
    Stage("older", ("e2e-older",), needs=_BUILT, asked=True),
    Stage("soak", ("soak",), needs=_BUILT, asked=True),
    Stage("image", ("image",), asked=True),
    Stage("krew", ("krew",), asked=True),
)
RUNS: Final[Mapping[str, Sequence[Stage]]] = {"gate": GATE, "nightly": NIGHTLY}


def chosen(stages: Sequence[Stage], names: Collection[str]) -> list[Stage]:
    """The named stages and all that they need, in order; without names those of each run.

    Raises:
        ValueError: a name is unknown.
    """
    known = {stage.name: stage for stage in stages}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    wanted = set(names) or {stage.name for stage in stages if not stage.asked}
    for stage in reversed(stages):  # what a stage needs stands before it
        if stage.name in wanted:
            wanted.update(stage.needs)
    return [stage for stage in stages if stage.name in wanted]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of each stage."""
    return {name: text for name, text in environ.items() if name not in NOT_PASSED_ON}


def budget(path: Path = ROOT / "tests" / "budget.toml") -> Budget:
    """What tests/budget.toml says."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return Budget(read["seconds"], read["longest_test"])


class Run:
    """Stages, one after the other, and what came of them.

    Args:
        stages: in order.
        build: the folder for logs; `ci/` in it is emptied.
    """

    def __init__(self, stages: Sequence[Stage], build: Path) -> None:
        self.outcomes: dict[str, Outcome] = {}
        #: Tests that failed, and passed when they were run again.
        self.flaky: list[str] = []
        self._stages = stages
        self._beside: dict[str, Future[Outcome]] = {}
        self._build = build
        self._folder = build / "ci"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def all(self) -> list[Outcome]:
        """Run every stage, then once more what failed; the outcomes in order."""
        self._each(self._stages)
        for stage in self._stages:
            if stage.again and self.outcomes[stage.name].state == "FAILED":
                self._again(stage)
        # What needs a stage that has passed only now.
        self._each([stage for stage in self._stages if not self._ran(stage)])
        return [self.outcomes[stage.name] for stage in self._stages]

    def _ran(self, stage: Stage) -> bool:
        return self.outcomes[stage.name].state != "not run"

    def _each(self, stages: Iterable[Stage]) -> None:
        with ThreadPoolExecutor(1) as thread:
            for stage in stages:
                if not all(self._passed(name) for name in stage.needs):
                    self.outcomes[stage.name] = Outcome(stage.name, "not run")
                elif stage.beside:
                    self._beside[stage.name] = thread.submit(self._stage, stage)
                else:
                    self._say(stage.name, " ".join(("make", *stage.make)))
                    self._done(self._stage(stage))
            for name in list(self._beside):
                self._passed(name)

    def _passed(self, name: str) -> bool:
        """Whether a stage has passed; it is waited for where it runs beside others."""
        if name in self._beside:
            outcome = self._beside.pop(name).result()
            print(outcome.log, end="")
            self._done(outcome)
        return self.outcomes[name].passed

    def _done(self, outcome: Outcome) -> None:
        self._say(outcome.stage, f"{outcome.state}, {outcome.seconds:.0f} s")
        self.outcomes[outcome.stage] = outcome

    def _stage(self, stage: Stage) -> Outcome:
        command = ["make", *stage.make, f"CACHE={self._cache(stage)}"]
        if stage.beside:
            command = ["nice", *command]
        return self._command(stage.name, command, show=not stage.beside)

    def _again(self, stage: Stage) -> None:
        """Run the tests that failed in a stage alone; those that pass now are flaky."""
        cache = self._cache(stage)
        tests = failed_tests(cache)
        if not 0 < len(tests) <= MOST_AGAIN or broke_off(self.outcomes[stage.name].log):
            return
        self._say(stage.name, f"once more, alone: {len(tests)} that failed")
        python = ROOT / ".venv" / "bin" / "python"
        command = [str(python), "-m", "pytest", "-o", f"cache_dir={cache}", *stage.options, *tests]
        second = self._command(f"{stage.name}-again", command)
        still = failed_tests(cache)
        self._keep([test for test in tests if test not in still], stage)
        first = self.outcomes[stage.name]
        if second.passed and passed(second.log) == len(tests):
            self.outcomes[stage.name] = replace(first, state="FLAKY", log=first.log + second.log)
        else:
            self.outcomes[stage.name] = replace(first, log=second.log)
        self._say(stage.name, self.outcomes[stage.name].state)

    def _keep(self, tests: Sequence[str], stage: Stage) -> None:
        """Count flaky tests, and keep the logs of both runs."""
        if not tests:
            return
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
        kept = self._build / "flaky" / f"{now}-{stage.name}"
        kept.mkdir(parents=True)
        for name in (stage.name, f"{stage.name}-again"):
            shutil.copy(self._folder / f"{name}.log", kept)
        with (self._build / "flaky.txt").open("a", encoding="utf-8") as counted:
            counted.writelines(f"{now} {test}\n" for test in tests)
        self.flaky += [f"{test} (logs: {kept})" for test in tests]

    def _cache(self, stage: Stage) -> Path:
        return self._folder / f"{stage.name}-cache"

    def _command(self, name: str, command: Sequence[str], *, show: bool = True) -> Outcome:
        """Run a command at the root; what it prints is kept in a log, and shown as it comes."""
        path = self._folder / f"{name}.log"
        began = time.monotonic()
        code = run_logged(command, path, cwd=ROOT, env=environment(os.environ), show=show)
        state: State = "ok" if code == 0 else "FAILED"
        text = path.read_text(encoding="utf-8")
        return Outcome(name, state, time.monotonic() - began, text)

    @staticmethod
    def _say(stage: str, what: str) -> None:
        print(f"──── {stage}: {what}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stages; 1 if one failed or could not run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", nargs="?", choices=list(RUNS), default="gate")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help="these only, and what they need")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the folder for logs")
    options = parser.parse_args(arguments)
    try:
        stages = chosen(RUNS[options.run], options.stages)
    except ValueError as error:
        parser.error(str(error))
    began = time.monotonic()
    run = Run(stages, options.build.resolve())
    outcomes = run.all()
    whole = "whole" if options.stages else options.run
    seconds = time.monotonic() - began
    print("\n".join(report(outcomes, run.flaky, whole, seconds, budget())), flush=True)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
