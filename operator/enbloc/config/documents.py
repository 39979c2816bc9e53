# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Documents: from the text of a file, YAML or JSON, to mappings that know their paths."""

import json
import re
from collections.abc import Hashable, Iterator
from typing import Any, Final, NamedTuple

import yaml

from enbloc.config.findings import Findings
from enbloc.model.credentials import yaml_problem

#: A key that no file can contain; each mapping stores its own path under it.
WHERE: Final = "\0where"
#: The key of plugin arguments, which the plugin alone interprets.
_ARGUMENTS: Final = "args"


#: The deepest nesting that is accepted; recursive steps rely on it.
_DEEPEST: Final = 100
#: A text in quotes, or a comment as Policy files in circulation have them, though JSON has none.
_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\])*"|(?://|#)[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)


class Source(NamedTuple):
    """One file: its name in messages, and its content."""

    name: str
    text: str


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which also notes duplicate keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.twice: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping, as the base class reads it."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen and key.value != "<<":
                    self.twice.append(f'line {key.start_mark.line + 1}: "{key.value}" given twice')
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def parse(source: Source, findings: Findings) -> Iterator[dict[str, Any]]:
    """Every document of a file; one that is not a mapping is a problem."""
    for index, document in enumerate(_loaded(source, findings)):
        if _too_deep(document):
            findings.problem("", f"document {index + 1} nests deeper than {_DEEPEST} levels")
        elif isinstance(document, dict):
            yield document
        elif document is not None:
            kind = "list" if isinstance(document, list) else "single value"
            findings.problem("", f"document {index + 1} must be a mapping, is a {kind}")


def _loaded(source: Source, findings: Findings) -> list[Any]:
    bare = _COMMENT.sub(_without_comment, source.text)
    if bare.lstrip().startswith("{"):
        twice: list[str] = []
        try:
            found = json.loads(bare, object_pairs_hook=lambda pairs: _once(pairs, twice))
        except (ValueError, RecursionError):
            pass  # YAML may begin with a brace too
        else:
            _note(twice, findings)
            return [found]
    try:
        loader = _Loader(source.text)
        documents: list[Any] = []
        while loader.check_node():
            documents.append(loader.construct_document(loader.get_node()))
        json.dumps(documents, default=str)  # nothing that holds itself
    except yaml.YAMLError as error:
        findings.problem("", f"neither YAML nor JSON: {yaml_problem(error)}")
        return []
    except (ValueError, TypeError, RecursionError) as error:
        findings.problem("", f"neither YAML nor JSON: {' '.join(str(error).split())}")
        return []
    _note(loader.twice, findings)
    return documents


def _too_deep(document: Any) -> bool:
    level = [document]
    for _ in range(_DEEPEST):
        inner = (
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        )
        level = list({id(part): part for each in inner for part in each}.values())
    return bool(level)


def _without_comment(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""


def _note(twice: list[str], findings: Findings) -> None:
    for text in twice:
        findings.problem("", text)


def _once(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    """A JSON object; duplicate keys are noted."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            twice.append(f'"{key}" given twice')
        made[key] = value
    return made


def stamped(value: Any, path: str = "") -> Any:
    """A copy in which every mapping has its path under `WHERE`, and every key is text."""
    if isinstance(value, list):
        return [stamped(each, f"{path}[{index}]") for index, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {WHERE: path}
    for key, each in value.items():
        name = key if isinstance(key, str) else json.dumps(key, default=str).strip('"')
        made[name] = (
            each if name == _ARGUMENTS else stamped(each, f"{path}.{name}" if path else name)
        )
    return made


def name_of(entry: Any) -> str:
    """The name of an entry in a list of plugins or their arguments; "" = it has none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def plain(value: Any) -> Any:
    """A copy without the paths that `stamped` added."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key != WHERE}
    return value
