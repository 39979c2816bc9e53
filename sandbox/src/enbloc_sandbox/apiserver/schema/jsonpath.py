# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The part of JSONPath that printer columns and selectable fields use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Step = Callable[[Any], Iterable[Any]]
Path = tuple[Step, ...]

_TOKEN: Final = re.compile(
    r"\.(?P<name>[A-Za-z0-9_-]+|\\.)+?(?=[.\[]|$)"
    r"|\[\?\(@\.(?P<key>[A-Za-z0-9_.-]+)\s*==\s*(?P<quote>['\"])(?P<value>.*?)(?P=quote)\)\]"
    r"|\[(?P<index>-?\d+)\]|\[(?P<all>\*)\]"
    r"|\[(?P<mark>['\"])(?P<field>.*?)(?P=mark)\]"
)
_NAME: Final = re.compile(r"\.((?:[A-Za-z0-9_/-]|\\.)+)")


def parse(text: str) -> Path:
    """A compiled path such as `.status.conditions[?(@.type=="Ready")].reason`.

    Raises:
        ValueError: the path uses what is not supported; the message names it.
    """
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if found := _NAME.match(text, at):
            steps.append(_field(found[1].replace("\\", "")))
        elif found := _TOKEN.match(text, at):
            steps.append(_bracket(found))
        else:
            raise ValueError(f'unsupported JSONPath "{text}" at "{text[at:]}"')
        at = found.end()
    return tuple(steps)


def first(path: Path, obj: Any) -> Any:
    """What the path finds first, None for nothing."""
    found: list[Any] = [obj]
    for step in path:
        found = [value for one in found for value in step(one)]
    return found[0] if found else None


def _bracket(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        index = int(found["index"])
        return lambda value: value[index:][:1] if isinstance(value, list) else ()
    if found["all"] is not None:
        return lambda value: value if isinstance(value, list) else ()
    if found["field"] is not None:
        return _field(found["field"])
    inner, wanted = parse("." + found["key"]), found["value"]
    return lambda value: (
        [one for one in value if first(inner, one) == wanted] if isinstance(value, list) else ()
    )


def _field(name: str) -> Step:
    return lambda value: (
        [value[name]] if isinstance(value, Mapping) and value.get(name) is not None else ()
    )
