# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a stage of `hack/ci.py` came to, read from what it printed; and the table of all stages."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

State = Literal["ok", "FLAKY", "FAILED", "not run"]

_SUMMARY: Final = re.compile(r"^=+ short test summary info =+$")
_CLOSING: Final = re.compile(r"^=+ .+ in [\d.]+s(?: \([\d:]+\))? =+$")
_BROKE_OFF: Final = re.compile(
    r"^(?:INTERNALERROR>|!+ .*(?:Interrupted|KeyboardInterrupt|maximum crashed|stopping after))",
    re.MULTILINE,
)
_PASSED: Final = re.compile(r"\b(\d+) passed\b")
_NAMED: Final = re.compile(r"^(?:FAILED|ERROR)\b|\bMISSED$")
_DURATION: Final = re.compile(r"^([\d.]+)s (?:setup|call|teardown) +(\S.*)$")
#: Lines of a log that are shown where none names what failed.
_TAIL: Final = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a stage ended.

    Attributes:
        stage: its name.
        state: whether it passed; FLAKY where each test that failed passed when run again.
        seconds: from its start to its end.
        log: all that it printed.
    """

    stage: str
    state: State
    seconds: float = 0.0
    log: str = ""

    @property
    def passed(self) -> bool:
        """Whether a later stage may count on it."""
        return self.state in {"ok", "FLAKY"}


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may take, in seconds.

    Attributes:
        stages: by name of the stage; `gate` and `nightly` are the whole of these.
        longest_test: the most that one test of make test or make laws may take.
    """

    stages: Mapping[str, float]
    longest_test: float


def failures(log: str) -> list[str]:
    """The lines that name what failed: of pytest's summaries, else of checks and benchmarks."""
    lines = log.splitlines()
    if not any(_SUMMARY.match(line) for line in lines):
        return [line for line in lines if _NAMED.search(line)]
    found: list[str] = []
    inside = False
    for line in lines:
        inside = bool(_SUMMARY.match(line)) or (inside and not _CLOSING.match(line))
        if inside and _NAMED.search(line):
            found.append(line)
    return found


def closings(log: str) -> list[str]:
    """The last line of each run of pytest."""
    return [line for line in log.splitlines() if _CLOSING.match(line)]


def slow_tests(log: str, seconds: float) -> list[str]:
    """The tests that pytest's `--durations` show to take longer, the slowest first."""
    matches = (_DURATION.match(line) for line in log.splitlines())
    found = [(float(match[1]), match[2]) for match in matches if match]
    return [f"{took:.1f} s  {test}" for took, test in sorted(found, reverse=True) if took > seconds]


def broke_off(log: str) -> bool:
    """Whether pytest did not come to its end: what failed by then is not all that did."""
    return bool(_BROKE_OFF.search(log)) or not closings(log)


def passed(log: str) -> int:
    """How many tests passed, by pytest's closing lines."""
    found = (_PASSED.search(line) for line in closings(log))
    return sum(int(match[1]) for match in found if match)


def failed_tests(cache: Path) -> list[str]:
    """The tests that failed last, as pytest keeps them in a cache folder."""
    kept = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(kept.read_text(encoding="utf-8"))) if kept.is_file() else []


def table(outcomes: Iterable[Outcome], whole: str, seconds: float, budget: Budget) -> list[str]:
    """Stages and their seconds, with the whole as the last line, held against the budget."""
    rows = [(outcome.stage, outcome.state, outcome.seconds) for outcome in outcomes]
    lines = [f"{'stage':<12} {'state':<8} {'seconds':>7} {'budget':>7}"]
    for name, state, took in (*rows, (whole, "", seconds)):
        most = budget.stages.get(name)
        shown = "" if most is None else f"{most:.0f}"
        over = "  over budget" if most is not None and took > most else ""
        lines.append(f"{name:<12} {state:<8} {took:>7.0f} {shown:>7}{over}".rstrip())
    return lines


def named(outcome: Outcome) -> list[str]:
    """What failed in a stage that failed: each line names the stage."""
    lines = failures(outcome.log)
    if not lines:
        lines = ["FAILED; the end of its log:", *outcome.log.splitlines()[-_TAIL:]]
    return [f"{outcome.stage}: {line}" for line in lines]


def report(
    outcomes: Sequence[Outcome],
    flaky: Sequence[str],
    whole: str,
    seconds: float,
    budget: Budget,
) -> list[str]:
    """The last lines of a run: the table, what was slow, how pytest closed, and what failed."""
    lines = ["", *table(outcomes, whole, seconds, budget)]
    for outcome in outcomes:
        if outcome.stage in {"test", "laws"}:
            slow = slow_tests(outcome.log, budget.longest_test)
            lines += [f"{outcome.stage}: over {budget.longest_test:g} s: {test}" for test in slow]
    for outcome in outcomes:
        lines += closings(outcome.log)
    lines += [f"FLAKY {test}" for test in flaky]
    for outcome in outcomes:
        if outcome.state == "not run":
            lines.append(f"{outcome.stage}: not run, for a stage that it needs failed")
        if outcome.state == "FAILED":
            lines += named(outcome)
    return lines
