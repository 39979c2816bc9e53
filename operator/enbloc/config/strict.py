# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Strict decoding: an unknown field is a problem with its path, and so is every other mistake.

A mistake drops only its own field: the rest is decoded, so that one run finds all mistakes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Annotated, Any, Final, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, PydanticCustomError

from enbloc.config.documents import WHERE
from enbloc.config.findings import Findings, plainly, unknown
from enbloc.model.text import QUOTE_LIMIT, clipped, quoted

M = TypeVar("M", bound="Strict")
Loc = tuple[int | str, ...]

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]

_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
#: Fields of which no message shows the value.
_CREDENTIALS: Final = frozenset({"urlPrefix", "keyData"})
#: No model nests deeper than this.
_ROUNDS: Final = 100


class Strict(BaseModel):
    """A JSON object of which every field is known; null is as good as absent.

    Attributes:
        where: the path at which it was written.
    """

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)

    where: str = Field(default="", alias=WHERE, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None}

    def at(self, field: str) -> str:
        """The path of one of its fields."""
        return f"{self.where}.{field}" if self.where else field


def seconds(text: Any) -> float:
    """A duration as Go writes them (`1m30s`, `500ms`, `0`), in seconds.

    Raises:
        PydanticCustomError: it is none.
    """
    size = text.lstrip("+-") if isinstance(text, str) else ""
    parts = [("0", "s")] if size == "0" else _PART.findall(size)
    if not parts or (size != "0" and "".join(map("".join, parts)) != size):
        raise PydanticCustomError("duration", 'must be a duration such as "15s" or "1m30s"')
    total: float = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return -total if text.startswith("-") else total


def duration(value: float) -> str:
    """Seconds as Go writes them; the inverse of `seconds`."""
    return f"{value:.9f}".rstrip("0").rstrip(".") + "s"


Duration = Annotated[
    float,
    BeforeValidator(seconds),
    PlainSerializer(duration, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": f"^[+-]?(0|({_PART.pattern})+)$"}),
]


def decode(model: type[M], data: Mapping[str, Any], findings: Findings) -> M:
    """A model of stamped data; what of it is wrong is noted, and counts as absent."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        errors = error.errors()
    root = str(data.get(WHERE, ""))
    for each in errors:
        findings.problem(_path(root, data, each["loc"]), _said(model, each))
    # Errors that follow from a removed field are not reported, so the next rounds are silent.
    rest: dict[str, Any] = deepcopy(dict(data))
    tried: set[Loc] = set()
    for _ in range(_ROUNDS):
        for loc in sorted((_spoilt(each) for each in errors), key=_last_first, reverse=True):
            # A location may end in what pydantic tried, which is no field: then what holds it goes.
            while loc in tried:
                loc = loc[:-1]  # noqa: PLW2901  # the same one, seen from above
            tried.add(loc)
            _prune(rest, loc)
        try:
            return model.model_validate(rest)
        except ValidationError as error:
            errors = error.errors()
    raise AssertionError(f"{model.__name__} cannot be decoded from nothing")


def _path(root: str, data: Any, loc: Loc) -> str:
    """A location in stamped data, by the path at which it was written."""
    path, value = root, data
    for part in loc:
        value = _child(value, part)
        stamp = value.get(WHERE) if isinstance(value, dict) else None
        if stamp is not None:
            path = stamp
        elif isinstance(part, int):
            path = f"{path}[{part}]"
        else:
            path = f"{path}.{part}" if path else part
    return path


def _child(value: Any, part: int | str) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    return value[part] if isinstance(value, list) and isinstance(part, int) else None


def _said(model: type[BaseModel], error: ErrorDetails) -> str:
    """What is wrong, in one line."""
    kind, name, value = error["type"], str((error["loc"] or ("",))[-1]), error["input"]
    if kind == "extra_forbidden":
        return unknown("field ", name, _fields(model, error["loc"][:-1]))
    if kind == "missing":
        return "Required"
    if kind in ("model_type", "model_attributes_type"):
        return "must be a mapping"
    text = plainly(error["msg"])
    if not isinstance(value, bool | int | float | str) or name in _CREDENTIALS:
        return text
    is_ = quoted(value) if isinstance(value, str) else clipped(json.dumps(value), QUOTE_LIMIT)
    return f"{text}, is {is_}"


def _fields(model: type[BaseModel], loc: Loc) -> list[str]:
    """The fields of the object at a location."""
    for part in loc:
        if isinstance(part, int):
            continue
        by_alias = {field.alias: field.annotation for field in model.model_fields.values()}
        model = next(models_in(by_alias.get(part)), model)
    aliases = (field.alias for field in model.model_fields.values())
    return [alias for alias in aliases if alias is not None and alias != WHERE]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


def _spoilt(error: ErrorDetails) -> Loc:
    """What must go: the field, or the object that lacks a field."""
    return error["loc"][:-1] if error["type"] == "missing" else error["loc"]


def _last_first(loc: Loc) -> list[tuple[int, int, str]]:
    """Sorts the later items of a list before the earlier ones, when reversed."""
    return [(0, part, "") if isinstance(part, int) else (1, 0, part) for part in loc]


def _prune(data: Any, loc: Loc) -> None:
    """Take away what is at a location, unless something above it has gone already."""
    if not loc:
        data.clear()
        return
    for part in loc[:-1]:
        data = _child(data, part)
    if isinstance(data, dict):
        data.pop(loc[-1], None)
    elif isinstance(data, list) and isinstance(loc[-1], int) and loc[-1] < len(data):
        del data[loc[-1]]
