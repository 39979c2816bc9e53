# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Findings: everything that is wrong with a configuration, reported at once."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from enbloc.errors import ConfigError

#: What pydantic says of a value of the wrong type → what we say.
_TYPES: Final = {
    "a valid integer": "an integer",
    "a valid dictionary": "a mapping",
    "a valid boolean": "true or false",
}
_TYPE: Final = re.compile("|".join(_TYPES))


class SettingOutcome(StrEnum):
    """What becomes of one setting."""

    KEPT = "kept"
    CHANGED = "changed"
    BUILT_IN = "built-in"
    NOT_NEEDED = "not-needed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ConfigFinding:
    """One thing to report about a configuration.

    Attributes:
        source: the file it is about; "" = no file.
        path: the field, as `profiles[0].plugins.filter.enabled[2].name`; "" = the whole.
        text: what is wrong, and what to do about it.
        outcome: what becomes of the field; meaningless for a problem.
    """

    source: str
    path: str
    text: str
    outcome: SettingOutcome = SettingOutcome.LOST

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


@dataclass(slots=True)
class Findings:
    """Collects problems, which refuse a configuration, and warnings, which do not.

    Attributes:
        source: the file that is being read.
        notes: what became of each setting; used only when a file is converted.
    """

    source: str = ""
    problems: list[ConfigFinding] = field(default_factory=list[ConfigFinding])
    warnings: list[ConfigFinding] = field(default_factory=list[ConfigFinding])
    notes: list[ConfigFinding] = field(default_factory=list[ConfigFinding])

    def problem(self, path: str, text: str) -> None:
        """Note a problem, which makes the configuration unusable."""
        self.problems.append(ConfigFinding(self.source, path, text))

    def warning(self, path: str, text: str, outcome: SettingOutcome = SettingOutcome.LOST) -> None:
        """Note a setting that is accepted but may not do what its writer expects."""
        self.warnings.append(ConfigFinding(self.source, path, text, outcome))

    def note(self, path: str, outcome: SettingOutcome, text: str) -> None:
        """Note what became of a setting."""
        self.notes.append(ConfigFinding(self.source, path, text, outcome))

    def refuse(self) -> None:
        """Raise if there is any problem.

        Raises:
            ConfigError: with every problem, by file, a line each.
        """
        if self.problems:
            raise ConfigError(told(self.problems))


def told(findings: Iterable[ConfigFinding]) -> str:
    """Findings by file: its name, then a line each."""
    by_source: dict[str, list[str]] = {}
    for finding in findings:
        lines = by_source.setdefault(finding.source, [])
        if str(finding) not in lines:
            lines.append(str(finding))
    parts: list[str] = []
    for source, lines in by_source.items():
        count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
        parts.append(f"{source or 'configuration'}: {count}")
        parts += [f"  {line}" for line in lines]
    return "\n".join(parts)


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean "…"?)`, or "" when nothing is near."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f'did you mean "{folded[close[0]]}"?' if close else ""


def plainly(message: str) -> str:
    """Pydantic's message about a value, worded like all other findings."""
    text = message.removeprefix("Value error, ").replace("Input should be", "must be")
    return _TYPE.sub(lambda found: _TYPES[found[0]], text).replace("a valid ", "a ")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The text about a name that is none of these."""
    names = list(known)
    hints = [hint for hint in (meant(name, names), f"known: {', '.join(names)}") if hint]
    return f'Unknown {what}"{name}" ({" ".join(hints)})'
