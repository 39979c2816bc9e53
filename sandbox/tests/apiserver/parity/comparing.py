# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Differences between two transcripts, and which of them are declared."""

import fnmatch
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"


@dataclass(frozen=True)
class Deviation:
    """A known difference of the sandbox from the real server.

    Attributes:
        where: `scenario:path`, with `*` for anything; see `differences` for the path.
        reason: why it stays.
    """

    where: str
    reason: str


def deviations() -> list[Deviation]:
    """All declared differences."""
    text = (HERE / "deviations.toml").read_text("utf-8")
    return [Deviation(**entry) for entry in tomllib.loads(text).get("deviation", [])]


def differences(real: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Where two values differ: `3.body.metadata.labels: 'a' is 'b' here`."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted({*real, *ours}):
            below = f"{path}.{key}" if path else str(key)
            if key not in ours:
                yield f"{below}: {short(real[key])} is missing here"
            elif key not in real:
                yield f"{below}: {short(ours[key])} is only here"
            else:
                yield from differences(real[key], ours[key], below)
    elif isinstance(real, list) and isinstance(ours, list):
        if len(real) != len(ours):
            yield f"{path}: {short(real)} is {short(ours)} here"
        else:
            if path.endswith(".managedFields"):
                real, ours = sorted(real, key=_writer), sorted(ours, key=_writer)
            for index, (one, other) in enumerate(zip(real, ours, strict=True)):
                yield from differences(one, other, f"{path}.{index}" if path else str(index))
    elif real != ours:
        yield f"{path}: {short(real)} is {short(ours)} here"


def _writer(entry: Any) -> tuple[str, ...]:
    """Whose entry it is: their order tells only which of them wrote in the same second."""
    return tuple(entry.get(key, "") for key in ("manager", "operation", "subresource"))


def short(value: Any) -> str:
    """Enough of a value to recognise it."""
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."


def undeclared(scenario: str, found: list[str], declared: list[Deviation]) -> list[str]:
    """The differences that no deviation covers."""
    patterns = [entry.where for entry in declared]
    return [
        text
        for text in found
        if not any(
            fnmatch.fnmatchcase(f"{scenario}:{text.split(': ')[0]}", pattern)
            for pattern in patterns
        )
    ]


def vanished(found: dict[str, list[str]], declared: list[Deviation]) -> list[str]:
    """Declared differences that are none any more, among the scenarios that were compared."""
    places = [f"{name}:{text.split(': ')[0]}" for name, texts in found.items() for text in texts]
    return [entry.where for entry in declared if not fnmatch.filter(places, entry.where)]
