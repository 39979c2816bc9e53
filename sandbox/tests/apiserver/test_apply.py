# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Server-side apply, and who owns which field."""

from typing import Any

from .conftest import APPLY, JSON, PODS, STRATEGIC, Answer, Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"
GROUPS = "/apis/enbloc.dev/v1alpha1/namespaces/default/podgroups"


async def apply(
    api: Client, path: str, body: dict[str, Any], manager: str, *, force: bool = False
) -> Answer:
    query = f"?fieldManager={manager}&force={str(force).lower()}"
    return await api.ask("PATCH", path + query, body, APPLY)


def config(**data: str) -> dict[str, Any]:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    return {**head, "data": data} if data else head


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {one["manager"]: one["fieldsV1"] for one in obj["metadata"].get("managedFields", ())}


async def test_an_apply_creates_then_changes(api: Client) -> None:
    status, created = await apply(api, f"{MAPS}/a", config(x="1"), "m1")
    assert (status, owners(created)) == (201, {"m1": {"f:data": {"f:x": {}}}})
    status, same = await apply(api, f"{MAPS}/a", config(x="1"), "m1")
    assert (status, same) == (200, created)
    _, changed = await apply(api, f"{MAPS}/a", config(x="2", y="3"), "m1")
    assert changed["data"] == {"x": "2", "y": "3"}


async def test_what_a_manager_no_longer_applies_goes(api: Client) -> None:
    await apply(api, f"{MAPS}/a", config(x="1", y="2"), "m1")
    await apply(api, f"{MAPS}/a", config(y="2", z="3"), "m2")
    _, changed = await apply(api, f"{MAPS}/a", config(), "m1")
    assert changed["data"] == {"y": "2", "z": "3"}
    assert list(owners(changed)) == ["m2"]


async def test_another_managers_value_is_a_conflict_unless_forced(api: Client) -> None:
    await apply(api, f"{MAPS}/a", config(x="1", y="1"), "m1")
    status, body = await apply(api, f"{MAPS}/a", config(x="2"), "m2")
    assert (status, body["reason"]) == (409, "Conflict")
    assert body["message"] == 'Apply failed with 1 conflict: conflict with "m1": .data.x'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".data.x"}
    assert body["details"]["causes"] == [cause]
    status, body = await apply(api, f"{MAPS}/a", config(x="2", y="2"), "m2")
    assert body["message"].endswith('2 conflicts: conflicts with "m1":\n- .data.x\n- .data.y')
    status, forced = await apply(api, f"{MAPS}/a", config(x="2"), "m2", force=True)
    assert (status, forced["data"]) == (200, {"x": "2", "y": "1"})
    assert owners(forced) == {"m1": {"f:data": {"f:y": {}}}, "m2": {"f:data": {"f:x": {}}}}


async def test_the_same_value_is_owned_together(api: Client) -> None:
    await apply(api, f"{MAPS}/a", config(x="1"), "m1")
    status, shared = await apply(api, f"{MAPS}/a", config(x="1"), "m2")
    assert (status, sorted(owners(shared))) == (200, ["m1", "m2"])
    _, left = await apply(api, f"{MAPS}/a", config(), "m1")
    assert left["data"] == {"x": "1"}


async def test_an_update_takes_the_fields_that_it_changes(api: Client) -> None:
    await apply(api, f"{MAPS}/a", config(x="1", y="1"), "m1")
    patch = {"data": {"x": "2"}}
    merge = "application/merge-patch+json"
    await api.ask("PATCH", f"{MAPS}/a?fieldManager=editor", patch, merge)
    found = owners(await api.get(f"{MAPS}/a"))
    assert found == {"m1": {"f:data": {"f:y": {}}}, "editor": {"f:data": {"f:x": {}}}}
    status, body = await apply(api, f"{MAPS}/a", config(x="1", y="1"), "m1")
    assert status == 409
    assert 'conflict with "editor" using v1' in body["message"]


async def test_lists_with_keys_are_merged_by_item(api: Client) -> None:
    def group(*roles: dict[str, Any]) -> dict[str, Any]:
        head = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "PodGroup"}
        return {**head, "metadata": {"name": "g"}, "spec": {"minMember": 9, "roles": list(roles)}}

    await apply(api, f"{GROUPS}/g", group({"name": "a", "minMember": 2}), "m1")
    _, merged = await apply(api, f"{GROUPS}/g", group({"name": "b", "minMember": 3}), "m2")
    assert [one["name"] for one in merged["spec"]["roles"]] == ["a", "b"]
    status, body = await apply(api, f"{GROUPS}/g", group({"name": "a", "minMember": 5}), "m2")
    assert (status, '.spec.roles[name="a"].minMember' in body["message"]) == (409, True)
    _, left = await apply(api, f"{GROUPS}/g", group(), "m2")
    assert [one["name"] for one in left["spec"]["roles"]] == ["a"]


async def test_an_apply_to_status_owns_apart(api: Client) -> None:
    head = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
    await apply(api, f"{GROUPS}/g", {**head, "spec": {"minMember": 2}}, "m1")
    status = {**head, "spec": {"minMember": 9}, "status": {"members": 3}}
    _, written = await apply(api, f"{GROUPS}/g/status", status, "m2")
    assert written["spec"] == {"minMember": 2, "onIncomplete": "Repair"}
    assert written["status"] == {"members": 3}
    entry = next(e for e in written["metadata"]["managedFields"] if e["manager"] == "m2")
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:members": {}}})
    missing = {**head, "metadata": {"name": "zz"}, "status": {}}
    assert (await apply(api, f"{GROUPS}/zz/status", missing, "m2"))[0] == 404


async def test_the_owners_of_a_created_pod_are_those_of_the_real_server(api: Client) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    status, created = await api.ask("POST", f"{PODS}?fieldManager=me", body)
    assert status == 201
    container = owners(created)["me"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert container["f:ports"] == {
        ".": {},
        'k:{"containerPort":80,"protocol":"TCP"}': {
            ".": {},
            "f:containerPort": {},
            "f:protocol": {},
        },
    }
    assert "f:tolerations" not in owners(created)["me"]["f:spec"]
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    _, patched = await api.ask("PATCH", f"{PODS}/a/status?fieldManager=kubelet", ready, STRATEGIC)
    entry = next(e for e in patched["metadata"]["managedFields"] if e["manager"] == "kubelet")
    assert entry["subresource"] == "status"
    assert 'k:{"type":"Ready"}' in entry["fieldsV1"]["f:status"]["f:conditions"]


async def test_owners_can_be_rewritten_by_a_patch(api: Client) -> None:
    await api.ask("POST", f"{MAPS}?fieldManager=old", config(x="1"))
    operation = {"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "new"}
    changed = await api.patch(f"{MAPS}/a", [operation], JSON)
    assert list(owners(changed)) == ["new"]
    cleared = await api.patch(f"{MAPS}/a", {"metadata": {"managedFields": [{}]}})
    assert owners(cleared) == {}


async def test_a_malformed_apply_is_refused(api: Client) -> None:
    body = config(x="1")
    assert (await api.ask("PATCH", f"{MAPS}/a", body, APPLY))[0] == 422
    malformed: list[Any] = [
        {**body, "kind": "Pod"},
        {**body, "metadata": {"name": "b"}},
        {**body, "metadata": {"managedFields": [{"manager": "x"}]}},
        [],
    ]
    for wrong in malformed:
        assert (await api.ask("PATCH", f"{MAPS}/a?fieldManager=m", wrong, APPLY))[0] == 400
    assert (await api.ask("PATCH", f"{MAPS}/a?fieldManager=m", b"a: [", APPLY))[0] == 400


async def test_an_apply_may_name_the_version_it_changes(api: Client) -> None:
    _, created = await apply(api, f"{MAPS}/a", config(x="1"), "m")
    stale = {**config(x="2"), "metadata": {"name": "a", "resourceVersion": "1"}}
    assert (await apply(api, f"{MAPS}/a", stale, "m"))[0] == 409
    stale["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    assert (await apply(api, f"{MAPS}/a", stale, "m"))[0] == 200
