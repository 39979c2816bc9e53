# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The chart's values are described, closed and used; what needs helm is in test_rendered."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from enbloc import __version__

CHART = Path("helm/enbloc")
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
TEMPLATES = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted((CHART / "templates").rglob("*"))
    if path.is_file()
)


def described(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that the schema describes, with its schema; not of the configuration's own."""
    schema = (
        SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    )
    yield path, schema
    if path == ".config":
        return
    for name, field in schema.get("properties", {}).items():
        yield from described(field, f"{path}.{name}")


KEYS = dict(described(SCHEMA))


def given(path: str) -> Any:
    """The default of a key; KeyError when values.yaml lacks it."""
    value: Any = VALUES
    for name in path.split(".")[1:]:
        value = value[name]
    return value


def listed(values: dict[str, Any], path: str = "") -> Iterator[str]:
    """Every key in values.yaml, down to where Kubernetes' own types begin."""
    for name, value in values.items():
        here = f"{path}.{name}"
        yield here
        if here != ".config" and isinstance(value, dict) and "properties" in KEYS.get(here, {}):
            yield from listed(value, here)


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))

    assert chart["version"] == chart["appVersion"] == __version__.replace(".dev", "-dev.")


def test_every_object_of_ours_is_closed() -> None:
    for path, schema in KEYS.items():
        if "properties" in schema and path != ".global":
            assert schema["additionalProperties"] is False, path


def test_the_configuration_s_own_schema_is_part_of_it() -> None:
    closed = SCHEMA["definitions"]

    assert SCHEMA["properties"]["config"] == {"$ref": "#/definitions/EnblocConfiguration"}
    assert "searchSteps" in closed["EnblocConfiguration"]["properties"]
    for name in ("EnblocConfiguration", "KubeSchedulerConfiguration", "KubeSchedulerProfile"):
        assert closed[name]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("names", "valid"),
    [
        ({}, False),
        ({"namespace": "", "priorityClassName": ""}, False),
        ({"namespace": "a"}, True),
        ({"priorityClassName": "a", "namespace": ""}, True),
        ({"priorityClass": "a", "namespace": "a"}, False),
    ],
)
def test_a_rule_on_runtime_names_something(names: dict[str, str], valid: bool) -> None:
    schema = {"$ref": "#/definitions/EnblocConfiguration", "definitions": SCHEMA["definitions"]}

    rules = {"minRuntimes": [{"seconds": 1, **names}]}

    assert jsonschema_rs.is_valid(schema, rules) is valid


def test_every_described_key_has_a_default() -> None:
    for path in KEYS:
        given(path)


def test_every_default_is_described() -> None:
    assert set(listed(VALUES)) <= set(KEYS)


@pytest.mark.parametrize(
    "path", [path for path, schema in KEYS.items() if path and "properties" not in schema]
)
def test_a_value_that_is_listed_is_used(path: str) -> None:
    name = path.rpartition(".")[2]

    assert re.search(rf"\.{name}\b", TEMPLATES)
