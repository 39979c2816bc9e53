# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quarantine: tests that are skipped for a while, because they fail now and then.

tests/quarantine.toml names them, each with the day and the reason. `make check` fails if there are
more than five, if one is older than fourteen days, or if a test does not exist. Only tests that
start processes or need real seconds can be in quarantine: all others are deterministic.
"""

import ast
import datetime as dt
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parent.parent
FILE: Final = Path("tests/quarantine.toml")
MOST: Final = 5
DAYS: Final = 14
#: A test with one of these markers may depend on more than its code.
MARKERS: Final = ("smoke", "processes", "controlplane", "kubectl", "real_time")


@dataclass(frozen=True, slots=True)
class Entry:
    """One test in quarantine.

    Attributes:
        test: its id, as pytest prints it; without `[…]` all its cases.
        since: the day on which it was put there.
        reason: what is known of the failure.
    """

    test: str
    since: dt.date
    reason: str


def read(text: str) -> list[Entry]:
    """The entries of tests/quarantine.toml.

    Raises:
        ValueError: an entry lacks something, or has something else.
    """
    found: list[Entry] = []
    documents: list[dict[str, Any]] = tomllib.loads(text).get("test", [])
    for number, document in enumerate(documents, 1):
        match document:
            case {"id": str(test), "since": dt.date() as since, "reason": str(reason), **rest} if (
                reason and not rest
            ):
                found.append(Entry(test, since, reason))
            case _:
                raise ValueError(f"test {number}: must have an id, a day `since` and a reason")
    return found


def problems(text: str, today: dt.date, root: Path = ROOT) -> list[str]:
    """What is wrong with the quarantine, one finding a line."""
    try:
        entries = read(text)
    except ValueError as error:  # of TOML, too
        return [f"{FILE}: {error}"]
    found: list[str] = []
    if len(entries) > MOST:
        found.append(f"{FILE}: {len(entries)} tests; {MOST} is the most, fix or delete the others")
    for entry in entries:
        age = (today - entry.since).days
        if age > DAYS:
            found.append(f"{FILE}: {entry.test}: since {age} days; {DAYS} is the most")
        if age < 0:
            found.append(f"{FILE}: {entry.test}: {entry.since} is in the future")
        if not _exists(root, entry.test):
            found.append(f"{FILE}: {entry.test}: there is no such test")
    return found


def _exists(root: Path, test: str) -> bool:
    """Whether the file of a test defines its function; cases are not looked for."""
    path, *names = test.partition("[")[0].split("::")
    if not names or not (root / path).is_file():
        return False
    body: Sequence[ast.stmt] = ast.parse((root / path).read_text(encoding="utf-8")).body
    for name in names:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        defined = [one for one in body if isinstance(one, kinds) and one.name == name]
        if not defined:
            return False
        body = defined[0].body
    return True


def skip(items: Collection[pytest.Item], entries: Collection[Entry] | None = None) -> None:
    """Skip those of the collected tests that are in quarantine."""
    known = read((ROOT / FILE).read_text(encoding="utf-8")) if entries is None else entries
    reasons = {entry.test: f"in quarantine since {entry.since}: {entry.reason}" for entry in known}
    if not reasons:
        return
    for item in items:
        reason = reasons.get(item.nodeid) or reasons.get(item.nodeid.partition("[")[0])
        if reason and any(item.get_closest_marker(name) for name in MARKERS):
            item.add_marker(pytest.mark.skip(reason=reason))
