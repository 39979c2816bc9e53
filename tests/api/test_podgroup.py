# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The models of PodGroup say what the text in crds/ says, and refuse what it refuses."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from enbloc.api import PodGroup, PodGroupSpec
from enbloc.model.groups import OnIncomplete
from enbloc.model.names import API_GROUP, API_VERSION, POD_GROUP_KIND
from enbloc.topology.hyper_nodes import MOST_TIERS
from enbloc.wire.foreign_topologies import MOST_LEVELS

CRD = yaml.safe_load(Path("crds/podgroups.enbloc.dev.yaml").read_text(encoding="utf-8"))
VERSION = CRD["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

KEPT = ("type", "enum", "default", "minimum", "maximum", "pattern")
SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
LARGEST = {"int32": 2**31 - 1, "int64": 2**63 - 1}


def plain(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> dict[str, Any]:
    """Fields, types, bounds, defaults and enums of a CRD's or a model's schema, in one shape."""
    if "$ref" in schema:
        schema = (definitions or {})[schema["$ref"].rpartition("/")[2]] | schema
    options = [o for o in schema.get("anyOf", []) if o != {"type": "null"}]
    if len(options) == 1:  # `X | None = None`: an optional field, not a default
        return plain(options[0], definitions)
    kept: dict[str, Any] = {key: schema[key] for key in (*KEPT, *SIZES) if key in schema}
    if schema.get("format") == "date-time":
        kept["format"] = "date-time"
    if schema.get("format") in LARGEST:
        kept.setdefault("maximum", LARGEST[schema["format"]])
    for option in options:
        kept["type"] = "int-or-string"
        kept |= {key: option[key] for key in (*KEPT[1:], *SIZES) if key in option}
    if "const" in schema:
        kept = {"type": "string"}
    if "properties" in schema:
        kept["properties"] = {
            name: plain(field, definitions) for name, field in schema["properties"].items()
        }
        kept["required"] = sorted(schema.get("required", []))
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            kept[inner] = plain(schema[inner], definitions)
    return kept


def model() -> dict[str, Any]:
    schema = PodGroup.model_json_schema()
    return plain(schema, schema["$defs"])


def test_the_spec_has_the_fields_types_bounds_and_defaults_of_the_crd() -> None:
    assert model()["properties"]["spec"] == plain(SCHEMA["properties"]["spec"])


def test_the_status_has_the_fields_types_bounds_and_enums_of_the_crd() -> None:
    assert model()["properties"]["status"] == plain(SCHEMA["properties"]["status"])


def test_the_object_itself_has_the_fields_of_the_crd() -> None:
    ours, theirs = model(), plain(SCHEMA)

    assert set(ours["properties"]) == set(theirs["properties"])
    assert ours["required"] == theirs["required"]


def test_group_version_and_kind_are_those_of_the_crd() -> None:
    group = PodGroup(spec=PodGroupSpec())

    assert group.api_version == f"{CRD['spec']['group']}/{VERSION['name']}"
    assert group.api_version == f"{API_GROUP}/{API_VERSION}"
    assert group.kind == CRD["spec"]["names"]["kind"] == POD_GROUP_KIND


def test_the_choices_are_those_of_the_model_and_the_default_is_too() -> None:
    field = SCHEMA["properties"]["spec"]["properties"]["onIncomplete"]

    assert field["enum"] == list(OnIncomplete)
    assert field["default"] == OnIncomplete.REPAIR


def test_a_document_of_the_api_server_comes_back_as_it_was() -> None:
    document = {
        "apiVersion": "enbloc.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "team-a", "managedFields": [{"manager": "me"}]},
        "spec": {
            "minMember": 8,
            "minResources": {"cpu": "64", "nvidia.com/gpu": 64},
            "scheduleTimeoutSeconds": 0,
            "roles": [{"name": "launcher", "minMember": 1}, {"name": "worker", "minMember": 7}],
            "priorityClassName": "low",
            "onIncomplete": "Keep",
            "topology": {"name": "default", "required": "block", "preferred": "example.com/rack"},
        },
        "status": {
            "members": 0,
            "topology": {"level": "block", "path": "z1/b3", "spread": {"block": 1, "rack": 2}},
            "startedTime": "2026-11-21T05:00:00Z",
            "conditions": [
                {
                    "type": "Ready",
                    "status": "False",
                    "observedGeneration": 1,
                    "lastTransitionTime": "2026-11-21T05:00:00Z",
                    "reason": "WaitingForMembers",
                    "message": "",
                }
            ],
        },
    }

    group = PodGroup.model_validate(document)

    assert group.model_dump(mode="json", exclude_none=True) == document


def test_a_status_has_room_for_the_deepest_topology_of_any_project() -> None:
    deepest = max(MOST_LEVELS, MOST_TIERS)
    names = [f"{level:a>253}" for level in range(deepest)]
    status = {
        "level": f"example.com/{'a' * 63}",
        "path": "/".join(names),
        "spread": dict.fromkeys(names, 1),
    }

    group = PodGroup.model_validate({"spec": {}, "status": {"topology": status}})

    assert group.status is not None


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"minMembers": 8}, "spec.minMembers", id="an unknown field"),
        pytest.param({"minMember": 0}, "spec.minMember", id="a minimum of none"),
        pytest.param({"minMember": "8"}, "spec.minMember", id="a number in quotes"),
        pytest.param({"onIncomplete": "keep"}, "spec.onIncomplete", id="another spelling"),
        pytest.param({"roles": [{"minMember": 1}]}, "spec.roles.0.name", id="a nameless role"),
        pytest.param({"minResources": {"cpu": "1 Ti"}}, "spec.minResources.cpu", id="no quantity"),
        pytest.param(
            {"topology": {"required": "a rack"}}, "spec.topology.required", id="no label key"
        ),
    ],
)
def test_a_wrong_spec_is_refused_by_its_path(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as refused:
        PodGroup.model_validate({"spec": spec})

    assert path in {
        ".".join(map(str, error["loc"][: path.count(".") + 1])) for error in refused.value.errors()
    }
