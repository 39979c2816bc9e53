# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The models of Topology say what the text in crds/ says, and refuse what it refuses."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from enbloc.api import Topology
from enbloc.model.names import API_GROUP, API_VERSION, TOPOLOGY_KIND
from enbloc.model.topology import MOST_LEVELS
from tests.api.test_podgroup import plain

CRD = yaml.safe_load(Path("crds/topologies.enbloc.dev.yaml").read_text(encoding="utf-8"))
VERSION = CRD["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
RACK = {"name": "rack", "nodeLabel": "example.com/rack"}


def model() -> dict[str, Any]:
    schema = Topology.model_json_schema()
    return plain(schema, schema["$defs"])


def test_the_spec_has_the_fields_types_and_bounds_of_the_crd() -> None:
    assert model()["properties"]["spec"] == plain(SCHEMA["properties"]["spec"])


def test_the_object_itself_has_the_fields_of_the_crd() -> None:
    ours, theirs = model(), plain(SCHEMA)

    assert set(ours["properties"]) == set(theirs["properties"])
    assert ours["required"] == theirs["required"]


def test_group_version_and_kind_are_those_of_the_crd() -> None:
    found = Topology.model_validate({"spec": {"levels": [RACK]}})

    assert found.api_version == f"{CRD['spec']['group']}/{VERSION['name']}"
    assert found.api_version == f"{API_GROUP}/{API_VERSION}"
    assert found.kind == CRD["spec"]["names"]["kind"] == TOPOLOGY_KIND


def test_the_most_levels_are_those_of_the_model() -> None:
    assert SCHEMA["properties"]["spec"]["properties"]["levels"]["maxItems"] == MOST_LEVELS


def test_a_document_of_the_api_server_comes_back_as_it_was() -> None:
    document = {
        "apiVersion": "enbloc.dev/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "default", "managedFields": [{"manager": "me"}]},
        "spec": {"levels": [{"name": "zone", "nodeLabel": "zone"}, RACK]},
    }

    found = Topology.model_validate(document)

    assert found.model_dump(mode="json", exclude_none=True) == document


@pytest.mark.parametrize(
    ("levels", "path"),
    [
        pytest.param([], "spec.levels", id="no level"),
        pytest.param([RACK] * 9, "spec.levels", id="nine levels"),
        pytest.param([{"name": "rack"}], "spec.levels.0.nodeLabel", id="no label"),
        pytest.param([RACK | {"name": "Rack"}], "spec.levels.0.name", id="an upper-case name"),
        pytest.param([RACK | {"nodeLabel": "a/b/c"}], "spec.levels.0.nodeLabel", id="two slashes"),
        pytest.param([RACK | {"label": "x"}], "spec.levels.0.label", id="an unknown field"),
    ],
)
def test_wrong_levels_are_refused_by_their_path(levels: list[Any], path: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Topology.model_validate({"spec": {"levels": levels}})

    assert path in {".".join(map(str, error["loc"])) for error in refused.value.errors()}
