# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Manifests: reads Kubernetes objects from the text of a file, YAML or JSON.

Files are untrusted. A YAML file that nests too deep, contains itself, or expands to gigabytes by
its aliases is rejected by its parser events, before any of it is built.
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

#: The most bytes of one file.
MOST_BYTES: Final = 1 << 20
#: The most values of a file; each alias counts as all the values that it stands for.
MOST_VALUES: Final = 500_000
#: The most levels of nesting; no object of Kubernetes nests deeper.
DEEPEST: Final = 100
_MERGE: Final = "<<"
_LARGEST: Final = 2**63
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # which of two bases is known only at run time
    """YAML's safe loader; but times and base-60 numbers are text, as in kubectl."""

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
    """The objects of a file, in order; those of a List one by one.

    Args:
        name: of the file, for messages.
        text: the file's content.

    Raises:
        UsageError: it is too large, unreadable, or holds anything but objects.
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
            pass  # YAML may also begin with a brace
        else:
            return [_plain(found, name, {}, DEEPEST)]
    try:
        _Look(name).through(text)
        loaded = yaml.load_all(text, Loader=_Loader)
        return [_plain(each, name, {}, DEEPEST) for each in loaded]
    except yaml.YAMLError as error:
        raise UsageError(f"{name}: neither YAML nor JSON: {yaml_problem(error)}") from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        # From a YAML constructor, as for an impossible number.
        raise UsageError(f"{name}: neither YAML nor JSON: {error}") from None


@dataclass(slots=True)
class _Open:
    """A mapping or a sequence whose end was not seen yet.

    Attributes:
        values: how many values it has so far; each alias counts as all that it stands for.
        keys: the keys seen so far, of a mapping.
        at: how many keys and values it has directly.
    """

    anchor: str | None
    mapping: bool
    values: int = 1
    keys: set[str] = field(default_factory=set[str])
    at: int = 0


class _Look:
    """Checks that a file can be built: its aliases do not blow it up, and no key is given twice.

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
        """Check the whole text.

        Raises:
            UsageError: it must not be built.
            yaml.YAMLError: it is not YAML.
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
        """Take in that a key or a value of the innermost mapping begins; None = not a scalar."""
        if not self._path or not self._path[-1].mapping:
            return
        within = self._path[-1]
        if within.at % 2 == 0 and value is not None and value != _MERGE:
            if value in within.keys:
                raise self._problem(f"{quoted(value)} given twice; remove one")
            within.keys.add(value)
        within.at += 1

    def _count(self, anchor: str | None, values: int) -> None:
        """Take in that a value has ended, which stands for this many values."""
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
    """The value as JSON: keys are strings, and all types are JSON's.

    A value that occurs several times by aliases stays one object.
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
    """A scalar value; fails if JSON cannot represent it."""
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
    """A string; fails on half of a surrogate pair, which JSON can escape and nothing can send."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError(f"{name}: {quoted(text)} has half of a surrogate pair; remove it")
    return text


def _text(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(key, default=str).strip('"')


def _objects(where: str, document: Any, depth: int = 3) -> Iterator[Manifest]:
    """The object, or the objects of a List."""
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
