# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Itemizing: a configuration setting by setting, each with what became of it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from enbloc.config.documents import WHERE
from enbloc.config.findings import ConfigFinding, SettingOutcome
from enbloc.config.hiding import hidden
from enbloc.model.text import QUOTE_LIMIT, clipped

#: From best to worst; if a setting has several outcomes, the worst counts.
_WORSE: Final = (
    SettingOutcome.BUILT_IN,
    SettingOutcome.NOT_NEEDED,
    SettingOutcome.KEPT,
    SettingOutcome.CHANGED,
    SettingOutcome.LOST,
)
#: Findings about these fields are about the entry that has them.
_OF_THE_ENTRY: Final = ("name", "weight")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a file that was converted.

    Attributes:
        source: the file.
        path: as `profiles[0].plugins.score.enabled[0]`.
        value: what was written, without credentials; "" = nothing, it is a default.
        outcome: what became of it.
        text: what it became, or why nothing; "" = itself.
    """

    source: str
    path: str
    value: str
    outcome: SettingOutcome
    text: str


def itemized(
    source: str,
    document: Mapping[str, Any],
    findings: Iterable[ConfigFinding],
) -> Iterator[Setting]:
    """Every setting of a document in its order, then what was said of fields that it lacks.

    A finding about a field applies to everything below it that has no finding of its own.

    Args:
        source: the file.
        document: as it was written.
        findings: notes and warnings about this document.
    """
    said: defaultdict[str, list[ConfigFinding]] = defaultdict(list)
    for each in dict.fromkeys(findings):
        said[each.path].append(each)
    used: set[str] = set()
    told: set[str] = set()
    shown = hidden({key: value for key, value in document.items() if key not in _HEAD})
    for path, value in _settings(shown, ""):
        own = [path, *(f"{path}.{field}" for field in _OF_THE_ENTRY)]
        found = [each for at in own for each in said.get(at, ())]
        above = "" if found else _above(path, said)
        setting = _setting(source, path, value, found or said.get(above, []))
        used.update([*own, above])
        yield replace(setting, text=f"see {above}") if above in told else setting
        told.add(path)
    for path, found in said.items():
        if path not in used:
            yield _setting(source, path, "", found)


_HEAD: Final = ("apiVersion", "kind", WHERE)


def _setting(source: str, path: str, value: str, found: list[ConfigFinding]) -> Setting:
    worst = max((each.outcome for each in found), key=_WORSE.index, default=SettingOutcome.KEPT)
    texts = dict.fromkeys(each.text for each in found if each.outcome is worst)
    return Setting(source, path, value, worst, "; ".join(texts))


def _above(path: str, said: Mapping[str, Any]) -> str:
    """The nearest field above this one of which something is said; "" = none."""
    while path:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
        if path in said:
            break
    return path


def _settings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The path and text of everything that is set; a named entry is one, beside what it holds."""
    if isinstance(value, dict):
        rest = {str(key): each for key, each in value.items() if each is not None}
        if isinstance(rest.get("name"), str) and path.endswith("]"):
            entry = [rest.pop(field) for field in _OF_THE_ENTRY if field in rest]
            yield path, " weight ".join(map(str, entry))
        for key, each in rest.items():
            yield from _settings(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for index, each in enumerate(value):
            yield from _settings(each, f"{path}[{index}]")
    else:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        yield path, clipped(text, QUOTE_LIMIT)
