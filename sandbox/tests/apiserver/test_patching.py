# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The three patch types."""

from typing import Any

import pytest

from .conftest import JSON, MERGE, PODS, STRATEGIC, Client, pod

NODES = "/api/v1/nodes"


@pytest.mark.parametrize(
    ("patch", "labels"),
    [
        pytest.param({"b": "2"}, {"a": "1", "b": "2"}, id="maps merge"),
        pytest.param({"a": None}, None, id="null removes"),
        pytest.param({"a": "9"}, {"a": "9"}, id="values replace"),
    ],
)
async def test_a_merge_patch(api: Client, patch: Any, labels: Any) -> None:
    await api.create(NODES, {"metadata": {"name": "n", "labels": {"a": "1"}}})
    changed = await api.patch(f"{NODES}/n", {"metadata": {"labels": patch}}, MERGE)
    assert changed["metadata"].get("labels") == labels


async def test_a_json_patch_applies_in_order_or_not_at_all(api: Client) -> None:
    await api.create(NODES, {"metadata": {"name": "n", "labels": {"a": "1"}}})
    operations = [
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "add", "path": "/metadata/labels/b", "value": "2"},
        {"op": "remove", "path": "/metadata/labels/a"},
    ]
    changed = await api.patch(f"{NODES}/n", operations, JSON)
    assert changed["metadata"]["labels"] == {"b": "2"}
    status, body = await api.ask("PATCH", f"{NODES}/n", operations, JSON)
    assert (status, body["reason"]) == (422, "Invalid")
    gone = [{"op": "remove", "path": "/metadata/labels/zz"}]
    assert (await api.ask("PATCH", f"{NODES}/n", gone, JSON))[0] == 422
    assert (await api.ask("PATCH", f"{NODES}/n", [{"op": "zap"}], JSON))[0] == 400
    assert (await api.ask("PATCH", f"{NODES}/n", 3, JSON))[0] == 400
    assert (await api.ask("PATCH", f"{NODES}/n", b"{", JSON))[0] == 400


def taints(*names: str) -> list[dict[str, str]]:
    return [{"key": name, "value": "v", "effect": "NoExecute"} for name in names]


def conditions(*types: str) -> list[dict[str, str]]:
    return [{"type": name, "status": "True"} for name in types]


@pytest.mark.parametrize(
    ("patch", "types"),
    [
        pytest.param(conditions("C"), ["C", "A", "B"], id="a new item comes first"),
        pytest.param(conditions("B"), ["A", "B"], id="a known item keeps its place"),
        pytest.param([{"type": "A", "$patch": "delete"}], ["B"], id="an item is deleted"),
        pytest.param([{"$patch": "replace"}, *conditions("X")], ["X"], id="the list is replaced"),
    ],
)
async def test_a_strategic_merge_knows_the_keys_of_lists(
    api: Client, patch: Any, types: list[str]
) -> None:
    await api.create(PODS, pod("a"))
    path = f"{PODS}/a/status"
    await api.patch(path, {"status": {"conditions": conditions("A", "B")}})
    changed = await api.patch(path, {"status": {"conditions": patch}}, STRATEGIC)
    assert [one["type"] for one in changed["status"]["conditions"]] == types


async def test_a_strategic_merge_orders_as_it_is_told(api: Client) -> None:
    await api.create(PODS, pod("a"))
    path = f"{PODS}/a/status"
    await api.patch(path, {"status": {"conditions": conditions("A", "B", "C")}})
    order = [{"type": "C"}, {"type": "A"}]
    changed = await api.patch(path, {"status": {"$setElementOrder/conditions": order}}, STRATEGIC)
    assert [one["type"] for one in changed["status"]["conditions"]] == ["B", "C", "A"]


async def test_a_list_without_a_key_is_replaced(api: Client) -> None:
    await api.create(NODES, {"metadata": {"name": "n"}, "spec": {"taints": taints("a")}})
    changed = await api.patch(f"{NODES}/n", {"spec": {"taints": taints("b")}}, STRATEGIC)
    assert [one["key"] for one in changed["spec"]["taints"]] == ["b"]


async def test_lists_of_texts_merge_and_lose_what_is_named(api: Client) -> None:
    body = {"metadata": {"name": "n", "finalizers": ["a/a", "b/b"]}}
    await api.create(NODES, body)
    patch = {"metadata": {"finalizers": ["c/c"], "$deleteFromPrimitiveList/finalizers": ["a/a"]}}
    changed = await api.patch(f"{NODES}/n", patch, STRATEGIC)
    assert sorted(changed["metadata"]["finalizers"]) == ["b/b", "c/c"]


async def test_maps_are_replaced_kept_or_deleted_by_directive(api: Client) -> None:
    await api.create(NODES, {"metadata": {"name": "n", "labels": {"a": "1", "b": "2"}}})
    replace = {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}
    changed = await api.patch(f"{NODES}/n", replace, STRATEGIC)
    assert changed["metadata"]["labels"] == {"c": "3"}
    retain = {"metadata": {"labels": {"$retainKeys": ["d"], "d": "4"}}}
    changed = await api.patch(f"{NODES}/n", retain, STRATEGIC)
    assert changed["metadata"]["labels"] == {"d": "4"}
    changed = await api.patch(
        f"{NODES}/n", {"metadata": {"labels": {"$patch": "delete"}}}, STRATEGIC
    )
    assert "labels" not in changed["metadata"]


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        pytest.param([], 400, id="a list"),
        pytest.param({"spec": {"$patch": "zap"}}, 500, id="an unknown directive"),
        pytest.param({"status": {"addresses": [{"address": "x"}]}}, 500, id="an item without key"),
    ],
)
async def test_a_malformed_strategic_merge_is_refused(api: Client, patch: Any, status: int) -> None:
    await api.create(NODES, {"metadata": {"name": "n"}})
    found, body = await api.ask("PATCH", f"{NODES}/n/status", patch, STRATEGIC)
    assert (found, body["status"]) == (status, "Failure")
