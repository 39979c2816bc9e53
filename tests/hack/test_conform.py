# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The schemas that kubeconform is given know every field, and no other."""

import json
from typing import Any

from hack import conform

SCHEMAS: dict[str, dict[str, Any]] = {kind: schema for _, _, kind, schema in conform.schemas()}


def test_an_object_of_kubernetes_knows_its_fields_and_no_other() -> None:
    pod = SCHEMAS["Pod"]
    spec = pod["definitions"]["io.k8s.api.core.v1.PodSpec"]

    assert pod["additionalProperties"] is False
    assert spec["additionalProperties"] is False
    assert "schedulerName" in spec["properties"]


def test_what_takes_a_number_or_text_takes_both() -> None:
    either = SCHEMAS["Pod"]["definitions"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]

    assert "type" not in either
    assert [each["type"] for each in either["oneOf"]] == ["integer", "string"]


def test_a_property_may_be_called_as_a_word_of_a_schema() -> None:
    props = SCHEMAS["CustomResourceDefinition"]["definitions"]
    [own] = [each for name, each in props.items() if name.endswith("v1.JSONSchemaProps")]

    assert {"$ref", "default", "properties"} <= set(own["properties"])


def test_every_reference_has_its_definition() -> None:
    for kind, schema in SCHEMAS.items():
        assert set(conform.references(schema)) <= set(schema["definitions"]), kind
        assert conform.REF not in json.dumps(schema)


def test_the_kinds_that_others_bring_are_there() -> None:
    assert {"NetworkPolicy", "FlowSchema", "PodGroup", "ServiceMonitor"} <= set(SCHEMAS)
