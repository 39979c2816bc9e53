# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from typing import Any

import msgspec
import pytest

from enbloc.client.items import Wire
from enbloc.live.raw_nodes import RawNode, without_managed_fields
from enbloc.wire import codec
from enbloc.wire.objects import NodeObject

NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {
        "name": "n",
        "resourceVersion": "7",
        "labels": {"a": "b"},
        "managedFields": [{"manager": "kubelet"}],
        "finalizers": ["f"],
    },
    "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "8"}, "nodeInfo": {"kernelVersion": "6"}},
}


def test_a_raw_node_reads_as_a_node_and_keeps_the_rest() -> None:
    raw = msgspec.json.encode(NODE)
    _, found, _ = Wire(RawNode).object(msgspec.Raw(raw))
    assert found is not None
    plain = msgspec.json.decode(raw, type=NodeObject)
    assert found.plain == plain
    assert codec.node(found.plain) == codec.node(plain)
    kept = msgspec.json.decode(found.json)
    metadata = {key: NODE["metadata"][key] for key in NODE["metadata"] if key != "managedFields"}
    assert kept == {"metadata": metadata, "spec": NODE["spec"], "status": NODE["status"]}


@pytest.mark.parametrize("part", ["spec", "status"])
def test_a_raw_node_may_lack_what_a_node_may(part: str) -> None:
    node = {key: value for key, value in NODE.items() if key != part}
    found = msgspec.json.decode(msgspec.json.encode(node), type=RawNode)
    assert msgspec.json.decode(found.json)[part] is None


@pytest.mark.parametrize("wrong", [{"status": {"allocatable": 3}}, {"spec": {"taints": {}}}])
def test_a_malformed_raw_node_is_malformed(wrong: dict[str, Any]) -> None:
    raw = msgspec.json.encode({"metadata": {"name": "n", "uid": "u"}, **wrong})
    identity, found, problem = Wire(RawNode).object(msgspec.Raw(raw))
    assert found is None
    assert identity.name == "n"
    assert problem.startswith("Expected `")


def test_an_object_is_kept_without_its_managed_fields() -> None:
    kept = msgspec.json.decode(without_managed_fields(msgspec.json.encode(NODE)))
    metadata = {**NODE["metadata"]}
    del metadata["managedFields"]
    assert kept == {**NODE, "metadata": metadata}
