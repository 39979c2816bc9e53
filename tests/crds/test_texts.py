# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The texts in crds/ keep the rules that hold for every kind of ours."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.client.paths import Resource
from enbloc.controller.sources import SOURCES
from enbloc.model.names import (
    API_GROUP,
    POD_GROUP_KIND,
    POD_GROUP_PLURAL,
    TOPOLOGY_KIND,
    TOPOLOGY_PLURAL,
)

FILES = sorted(Path("crds").glob("*.yaml"))
OTHERS = sorted(Path("crds/dialects").iterdir())
CRDS = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}

# Short names that other projects' kinds have already.
TAKEN = re.compile("pgs?|eqs?|q|vj|hn|jt|queues?|lq|cq|rf|topo|kwl|ac|co|lws|pc")

every_crd = pytest.mark.parametrize("crd", CRDS.values(), ids=list(CRDS))


def schemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema below one, with its path."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from schemas(field, f"{path}.{name}")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from schemas(schema["additionalProperties"], f"{path}.*")


def below(crd: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of spec and status, of every version."""
    for version in crd["spec"]["versions"]:
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        for part in properties.keys() & {"spec", "status"}:
            yield from schemas(properties[part], part)


def test_the_folder_holds_nothing_but_crds() -> None:
    assert {path.name for path in Path("crds").iterdir()} == {*CRDS, "dialects"}
    assert {crd["kind"] for crd in CRDS.values()} == {"CustomResourceDefinition"}


def test_the_pod_group_has_its_names() -> None:
    names = CRDS["podgroups.enbloc.dev.yaml"]["spec"]["names"]

    assert (names["kind"], names["plural"]) == (POD_GROUP_KIND, POD_GROUP_PLURAL)
    assert names["shortNames"] == ["epg"]


def test_the_topology_has_its_names_and_is_of_the_whole_cluster() -> None:
    spec = CRDS["topologies.enbloc.dev.yaml"]["spec"]

    assert (spec["names"]["kind"], spec["names"]["plural"]) == (TOPOLOGY_KIND, TOPOLOGY_PLURAL)
    assert spec["names"]["shortNames"] == ["ebtopo"]
    assert spec["scope"] == "Cluster"


@every_crd
def test_a_kind_is_ours_by_group_category_and_short_name(crd: dict[str, Any]) -> None:
    names = crd["spec"]["names"]

    assert crd["spec"]["group"] == API_GROUP
    assert crd["metadata"]["name"] == f"{names['plural']}.{API_GROUP}"
    assert names["categories"] == ["enbloc"]
    assert not any(TAKEN.fullmatch(name) for name in names["shortNames"])


@every_crd
def test_status_is_a_subresource_and_nothing_else_is(crd: dict[str, Any]) -> None:
    for version in crd["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]
        assert version.get("subresources", {}).keys() == fields.keys() & {"status"}


@every_crd
def test_every_field_has_a_short_description(crd: dict[str, Any]) -> None:
    for path, schema in below(crd):
        if not path.endswith(".*"):
            assert 0 < len(schema.get("description", "")) <= 300, path


@every_crd
def test_every_field_is_bounded(crd: dict[str, Any]) -> None:
    for path, schema in below(crd):
        kind = schema.get("type")
        if kind == "string":
            assert schema.keys() & {"maxLength", "enum", "format"}, path
        elif kind == "integer":
            assert {"minimum", "format"} <= schema.keys(), path
        elif kind == "array":
            assert {"maxItems", "x-kubernetes-list-type"} <= schema.keys(), path
        elif "additionalProperties" in schema:
            assert "maxProperties" in schema, path
        else:
            assert "properties" in schema or "x-kubernetes-int-or-string" in schema, path


@every_crd
def test_every_rule_says_what_is_wrong_and_where(crd: dict[str, Any]) -> None:
    for version in crd["spec"]["versions"]:
        root = version["schema"]["openAPIV3Schema"]
        for path, schema in schemas(root):
            for rule in schema.get("x-kubernetes-validations", ()):
                assert {"rule", "message", "reason", "fieldPath"} == rule.keys(), path


@every_crd
def test_the_columns_fit_and_age_is_the_last(crd: dict[str, Any]) -> None:
    for version in crd["spec"]["versions"]:
        columns = version["additionalPrinterColumns"]
        assert columns[-1]["name"] == "Age"
        assert not any(" " in column["name"] for column in columns)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_a_kind_of_another_project_has_the_name_and_version_that_is_followed(path: Path) -> None:
    crd = yaml.safe_load(path.read_text(encoding="utf-8"))
    spec = crd["spec"]
    [version] = spec["versions"]
    served = Resource(
        spec["group"],
        version["name"],
        spec["names"]["plural"],
        spec["names"]["kind"],
        namespaced=spec["scope"] == "Namespaced",
    )
    known = {resource for source in SOURCES for resource in source.resources}
    known |= {resource for source in SOURCES for resource, _ in source.beside}

    assert served in known
    assert path.name == f"{served.label()}.yaml"
    assert crd["metadata"]["name"] == served.label()


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_every_field_of_another_projects_kind_has_a_short_description(path: Path) -> None:
    for field, schema in below(yaml.safe_load(path.read_text(encoding="utf-8"))):
        if not field.endswith((".*", "[]")):
            assert 0 < len(schema.get("description", "")) <= 300, field


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_text_is_small_enough_for_a_client_side_apply(path: Path) -> None:
    assert path.stat().st_size <= 100 * 1024
