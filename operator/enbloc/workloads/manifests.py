# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Manifests: from the text of a file, YAML or JSON, to objects of Kubernetes.

A file may come from anybody: one that nests too deep, holds itself, or is small and says gigabytes
by its aliases is told by its events, before any of it is built.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import yaml

from enbloc.errors import UsageError
from enbloc.model.credentials import yaml_problem
from enbloc.model.text import quoted

#: Bytes of one file.
MOST_BYTES: Final = 1 << 20
#: Values that a file has, those of aliases counted each time.
MOST_VALUES: Final = 500_000
#: No object of Kubernetes nests deeper.
DEEPEST: Final = 100
_MERGE: Final = "<<"
_LARGEST: Final = 2**63
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # which of the two it is, is known at run time
    """YAML's safe loader, but for times and numbers to base 60: as in kubectl they are text."""

    yaml_implicit_resolvers: Final = {
        first: [
            (tag, re.compile(rf"(?!.*:)(?:{pattern.pattern})", re.VERBOSE))
            for tag, pattern in resolvers
            if tag != _TIMESTAMP
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class Manifest(NamedTuple):
    """One object of a file.

    Attributes:
        where: the file and which of its documents, for messages.
        body: the object, as JSON.
    """

    where: str
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.body["kind"])

    @property
    def group(self) -> str:
        """Its API group; "" = the core group."""
        group, slash, _ = str(self.body["apiVersion"]).rpartition("/")
        return group if slash else ""


def manifests(name: str, text: bytes) -> Sequence[Manifest]:
    """The objects of a file, in its order; those of a List one by one.

    Args:
        name: of the file, for messages.
        text: what it holds.

    Raises:
        UsageError: it is too large, cannot be read, or holds something else.
    """
    if len(text) > MOST_BYTES:
        raise UsageError(
            f"{name}: more than {MOST_BYTES >> 10} KiB; leave out what makes no pods, or ask about "
            "a part of it"
        )
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{name}: it is not UTF-8; save it as UTF-8") from None
    found: list[Manifest] = []
    for position, document in enumerate(_documents(name, decoded), start=1):
        if document is not None:
            found += _objects(f"{name}: document {position}", document)
    return found


def _documents(name: str, text: str) -> list[Any]:
    if text.lstrip().startswith(("{", "[")):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            pass  # YAML may begin with a brace too
        else:
            return [_plain(found, name, {}, DEEPEST)]
    try:
        _Look(name).through(text)
        loaded = yaml.load_all(text, Loader=_Loader)
        return [_plain(each, name, {}, DEEPEST) for each in loaded]
    except yaml.YAMLError as error:
        raise UsageError(f"{name}: neither YAML nor JSON: {yaml_problem(error)}") from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        # Of a constructor, as for an impossible number.
        raise UsageError(f"{name}: neither YAML nor JSON: {error}") from None


@dataclass(slots=True)
class _Open:
    """A mapping or a sequence whose end was not seen yet.

    Attributes:
        values: in it, those of its aliases counted each time.
        keys: that were seen, of a mapping.
        at: how many keys and values it has.
    """

    anchor: str | None
    mapping: bool
    values: int = 1
    keys: set[str] = field(default_factory=set[str])
    at: int = 0


class _Look:
    """Sees that a file can be built: it is as large as it looks, and no key is given twice.

    Args:
        name: of the file.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 0
        self._path: list[_Open] = []
        #: How many values each anchor of the document stands for.
        self._sizes: dict[str, int] = {}

    def through(self, text: str) -> None:
        """Look through all of it.

        Raises:
            UsageError: it cannot be built.
            yaml.YAMLError: it is no YAML.
        """
        for event in yaml.parse(text, Loader=_Loader):
            if event.start_mark is not None:
                self._line = event.start_mark.line + 1
            match event:
                case yaml.DocumentStartEvent():
                    self._sizes = {}
                case yaml.CollectionStartEvent(anchor=anchor):
                    self._begin(anchor, mapping=isinstance(event, yaml.MappingStartEvent))
                case yaml.CollectionEndEvent():
                    ended = self._path.pop()
                    self._count(ended.anchor, ended.values)
                case yaml.ScalarEvent(anchor=anchor, value=value):
                    self._key(value)
                    self._count(anchor, 1)
                case yaml.AliasEvent(anchor=anchor):
                    self._alias(anchor or "")
                case _:
                    pass

    def _begin(self, anchor: str | None, *, mapping: bool) -> None:
        self._key(None)
        self._path.append(_Open(anchor, mapping))
        if len(self._path) > DEEPEST:
            raise self._problem(f"nests deeper than {DEEPEST} levels")

    def _alias(self, anchor: str) -> None:
        self._key(None)
        if any(each.anchor == anchor for each in self._path):
            raise self._problem(f"*{anchor} holds itself; write it out")
        self._count(None, self._sizes.get(anchor, 1))

    def _key(self, value: str | None) -> None:
        """A key or a value of the innermost mapping begins; None = it is no scalar."""
        if not self._path or not self._path[-1].mapping:
            return
        within = self._path[-1]
        if within.at % 2 == 0 and value is not None and value != _MERGE:
            if value in within.keys:
                raise self._problem(f"{quoted(value)} given twice; remove one")
            within.keys.add(value)
        within.at += 1

    def _count(self, anchor: str | None, values: int) -> None:
        """A value has ended, which comes to so many."""
        if anchor is not None:
            self._sizes[anchor] = values
        if self._path:
            self._path[-1].values += values
        if values > MOST_VALUES or (self._path and self._path[0].values > MOST_VALUES):
            raise self._problem(
                f"more than {MOST_VALUES} values, as its aliases say; write out what is needed"
            )

    def _problem(self, text: str) -> UsageError:
        return UsageError(f"{self._name}: line {self._line}: {text}")


def _plain(value: Any, name: str, known: dict[int, Any], depth: int) -> Any:
    """The same as JSON has it: keys are texts, and nothing but JSON's types.

    What is there several times stays one object.
    """
    if not isinstance(value, dict | list):
        return _scalar(value, name)
    if id(value) in known:
        return known[id(value)]
    if not depth:
        raise UsageError(f"{name}: nests deeper than {DEEPEST} levels")
    made: Any
    if isinstance(value, list):
        made = [_plain(each, name, known, depth - 1) for each in value]
    else:
        made = {
            _whole(_text(key), name): _plain(each, name, known, depth - 1)
            for key, each in value.items()
        }
    known[id(value)] = made
    return made


def _scalar(value: Any, name: str) -> Any:
    """A value of JSON, if it is one."""
    match value:
        case None | bool():
            return value
        case str():
            return _whole(value, name)
        case int() if abs(value) < _LARGEST:
            return value
        case int():
            raise UsageError(f"{name}: a number has more than 63 bits; write a smaller one")
        case float() if math.isfinite(value):
            return value
        case float():
            raise UsageError(f"{name}: {value} is no number of JSON; write a finite one")
        case _:
            raise UsageError(
                f"{name}: {quoted(str(value))} is a {type(value).__name__}, which JSON has not; "
                "put it in quotes"
            )


def _whole(text: str, name: str) -> str:
    """A text, unless it has half a character: JSON can escape one, and nothing can send it."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError(f"{name}: {quoted(text)} has half of a surrogate pair; remove it")
    return text


def _text(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=str).strip('"')


def _objects(where: str, document: Any, depth: int = 3) -> Iterator[Manifest]:
    """An object, or those of a List."""
    if not isinstance(document, dict):
        kind = "list" if isinstance(document, list) else "single value"
        raise UsageError(f"{where}: must be an object with apiVersion and kind, is a {kind}")
    for key in ("apiVersion", "kind"):
        if not isinstance(document.get(key), str) or not document[key]:
            raise UsageError(f"{where}: {key} is missing; every object of Kubernetes has one")
    items = document.get("items")
    if not (str(document["kind"]).endswith("List") and isinstance(items, list)):
        yield Manifest(where, document)
        return
    if not depth:
        raise UsageError(f"{where}: Lists within Lists within Lists; write the objects")
    for position, item in enumerate(items):
        yield from _objects(f"{where}: items[{position}]", item, depth - 1)
