# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Creating and changing objects."""

import json
from typing import Any

from sandbox.tests.apiserver.parity.recorder import APPLY, JSON_PATCH, MERGE, STRATEGIC, Api
from sandbox.tests.apiserver.parity.talk import configmap, pod, scenario


@scenario
async def a_pod_is_created_with_its_defaults(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    await api.call("GET", f"{api.pods}/a")


@scenario
async def limits_become_requests_and_make_the_qos_class(api: Api) -> None:
    limited = pod("a")
    limited["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}}
    await api.call("POST", api.pods, limited)
    burst = pod("b")
    burst["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "0.5"}}
    await api.call("POST", api.pods, burst)


@scenario
async def names_that_exist_miss_or_are_wrong_are_refused(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    await api.call("POST", api.pods, pod("a"))
    await api.call("GET", f"{api.pods}/none")
    await api.call("DELETE", f"{api.pods}/none")
    await api.call("POST", api.pods, pod("Not_A_Name"))
    await api.call("POST", "/api/v1/namespaces/nowhere/pods", pod("a"))
    await api.call("POST", api.pods, {**pod("b"), "kind": "ConfigMap"})
    await api.call("POST", api.pods, "{not json")


@scenario
async def a_generated_name_has_its_prefix(api: Api) -> None:
    body = pod("x")
    body["metadata"] = {"generateName": "gen-"}
    reply = await api.call("POST", api.pods, body, quiet=True)
    name = reply.body["metadata"]["name"]
    assert name.startswith("gen-")
    assert len(name) == 9


@scenario
async def a_change_that_changes_nothing_keeps_the_version(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    first = await api.call("POST", maps, configmap("a", k="v"))
    same = await api.call("PATCH", f"{maps}/a", {"data": {"k": "v"}}, kind=MERGE)
    assert first.body["metadata"]["resourceVersion"] == same.body["metadata"]["resourceVersion"]
    other = await api.call("PATCH", f"{maps}/a", {"data": {"k": "w"}}, kind=MERGE)
    assert int(other.body["metadata"]["resourceVersion"]) > int(
        first.body["metadata"]["resourceVersion"]
    )


@scenario
async def a_stale_or_foreign_put_is_a_conflict(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    reply = await api.call("POST", maps, configmap("a", k="v"))
    old = reply.body
    await api.call("PUT", f"{maps}/a", {**old, "data": {"k": "w"}})
    await api.call("PUT", f"{maps}/a", {**old, "data": {"k": "x"}})
    await api.call("PUT", f"{maps}/a", configmap("a", k="y"))
    await api.call("PUT", f"{maps}/a", configmap("b"))
    await api.call("PUT", f"{maps}/none", configmap("none"))
    wrong = configmap("a")
    wrong["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    await api.call("PUT", f"{maps}/a", wrong)


@scenario
async def merge_patches_delete_with_null(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v", l="w"))
    await api.call("PATCH", f"{maps}/a", {"data": {"k": None, "m": "x"}}, kind=MERGE)
    await api.call("PATCH", f"{maps}/none", {"data": {}}, kind=MERGE)
    await api.call("PATCH", f"{maps}/a", "[]", kind=MERGE)
    await api.call("PATCH", f"{maps}/a", {"data": {}}, kind="text/plain")


@scenario
async def json_patches_test_and_move(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v"))
    for operations in (
        [{"op": "add", "path": "/data/l", "value": "w"}],
        [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "remove", "path": "/data/k"}],
        [{"op": "test", "path": "/data/l", "value": "other"}],
        [{"op": "remove", "path": "/data/none"}],
    ):
        await api.call("PATCH", f"{maps}/a", operations, kind=JSON_PATCH)


@scenario
async def strategic_patches_merge_lists_by_their_key(api: Api) -> None:
    body = pod("a", tolerations=[{"key": "x", "operator": "Exists"}])
    await api.call("POST", api.pods, body)
    patch = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    await api.call("PATCH", f"{api.pods}/a", patch, kind=STRATEGIC)
    conditions = {"status": {"conditions": [{"type": "X", "status": "True"}]}}
    await api.call("PATCH", f"{api.pods}/a/status", conditions, kind=STRATEGIC)
    conditions["status"]["conditions"] = [{"type": "Y", "status": "True"}]
    await api.call("PATCH", f"{api.pods}/a/status", conditions, kind=STRATEGIC)
    gone = {"status": {"conditions": [{"$patch": "delete", "type": "X"}]}}
    await api.call("PATCH", f"{api.pods}/a/status", gone, kind=STRATEGIC)


@scenario
async def a_status_write_leaves_the_spec_and_a_spec_write_the_status(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    both = {"metadata": {"labels": {"l": "m"}}, "status": {"phase": "Running"}}
    await api.call("PATCH", f"{api.pods}/a", both, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a/status", both, kind=MERGE)


@scenario
async def a_pods_spec_is_immutable_but_for_a_few_fields(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    for patch in (
        {"spec": {"nodeName": "n"}},
        {"spec": {"schedulerName": "other"}},
        {"spec": {"activeDeadlineSeconds": 30}},
    ):
        await api.call("PATCH", f"{api.pods}/a", patch, kind=MERGE)


@scenario
async def fields_that_do_not_exist_are_refused_warned_about_or_dropped(api: Api) -> None:
    for mode in ("Strict", "Warn", "Ignore"):
        body = pod(f"p-{mode.lower()}", nonsense=1)
        await api.call("POST", f"{api.pods}?fieldValidation={mode}", body)
    await api.call("POST", f"{api.pods}?fieldValidation=Sometimes", pod("a"))


@scenario
async def values_of_a_wrong_type_are_refused(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", priority="high"))
    await api.call("POST", api.pods, {**pod("a"), "spec": {"containers": []}})
    await api.call("POST", api.pods, pod("a", restartPolicy="Sometimes"))


@scenario
async def dry_runs_answer_and_change_nothing(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", f"{maps}?dryRun=All", configmap("a"))
    await api.call("GET", f"{maps}/a")
    await api.call("POST", maps, configmap("a", k="v"))
    await api.call("PATCH", f"{maps}/a?dryRun=All", {"data": {"k": "w"}}, kind=MERGE)
    await api.call("DELETE", f"{maps}/a?dryRun=All")
    await api.call("GET", f"{maps}/a")
    await api.call("POST", f"{maps}?dryRun=Some", configmap("b"))


@scenario
async def patches_validate_fields_too(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    for kind in (MERGE, STRATEGIC):
        for mode in ("Strict", "Warn", "Ignore"):
            patch = {"nonsense": 1, "data": {"k": mode}}
            await api.call("PATCH", f"{maps}/a?fieldValidation={mode}", patch, kind=kind)
    body = {**configmap("a", k="w"), "nonsense": 1}
    await api.call("PATCH", f"{maps}/a?fieldValidation=Strict&fieldManager=m", body, kind=APPLY)
    await api.call("PUT", f"{maps}/a?fieldValidation=Strict", body)


@scenario
async def strategic_patches_obey_their_directives(api: Api) -> None:
    held = pod("a")
    held["metadata"]["finalizers"] = ["example.com/one", "example.com/two"]
    await api.call("POST", api.pods, held, quiet=True)
    conditions = [{"type": kind, "status": "True"} for kind in ("X", "Y", "Z")]
    first = {"status": {"conditions": conditions}}
    await api.call("PATCH", f"{api.pods}/a/status", first, kind=STRATEGIC, quiet=True)
    order = {
        "status": {
            "$setElementOrder/conditions": [{"type": "Z"}, {"type": "X"}, {"type": "Y"}],
            "conditions": [{"type": "Y", "reason": "R"}],
        }
    }
    for subresource, patch in (
        ("/status", order),
        ("", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/one"]}}),
        ("", {"metadata": {"finalizers": ["example.com/three"]}}),
        ("", {"metadata": {"labels": {"$patch": "replace", "b": "c"}}}),
        (
            "/status",
            {"status": {"conditions": [{"$patch": "replace"}, {"type": "W", "status": "True"}]}},
        ),
        ("/status", {"status": {"conditions": [{"status": "True"}]}}),
        ("", {"metadata": {"labels": {"$patch": "nonsense"}}}),
        ("", {"metadata": {"finalizers": None}}),
    ):
        reply = await api.call(
            "PATCH", f"{api.pods}/a{subresource}", patch, kind=STRATEGIC, quiet=True
        )
        metadata = reply.body["metadata"]
        seen = {
            "labels": metadata.get("labels"),
            "finalizers": metadata.get("finalizers"),
            "conditions": api.normal(reply.body["status"].get("conditions"))
            if reply.status == 200
            else reply.body["message"],
        }
        api.note(json.dumps(patch), reply.status, seen)


@scenario
async def wrong_labels_and_names_are_refused(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    body = configmap("a")
    for labels in ({"-a": "b"}, {"c": "d e"}):
        body["metadata"]["labels"] = labels
        await api.call("POST", maps, body)
    body["metadata"]["labels"] = {}
    body["metadata"]["annotations"] = {"a b": ""}
    await api.call("POST", maps, body)
    body["metadata"] = {}
    await api.call("POST", maps, body)
    body["metadata"] = {"name": "a", "namespace": "other"}
    await api.call("POST", maps, body)
    body["metadata"] = {"name": "a", "resourceVersion": "7"}
    await api.call("POST", maps, body)
    body["metadata"] = {"name": "a", "ownerReferences": [{"kind": "Pod", "name": "p"}]}
    await api.call("POST", maps, body)


@scenario
async def patches_with_a_version_are_conditional(api: Api) -> None:
    reply = await api.call("POST", api.pods, pod("a"), quiet=True)
    old = reply.body["metadata"]["resourceVersion"]
    labels: dict[str, Any] = {"metadata": {"labels": {"x": "y"}}}
    await api.call("PATCH", f"{api.pods}/a", labels, kind=MERGE, quiet=True)
    labels = {"metadata": {"labels": {"x": "z"}, "resourceVersion": old}}
    await api.call("PATCH", f"{api.pods}/a", labels, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a", labels, kind=STRATEGIC)
    operation = {"op": "replace", "path": "/metadata/resourceVersion", "value": old}
    await api.call("PATCH", f"{api.pods}/a", [operation], kind=JSON_PATCH)
    labels = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000", "labels": {"x": "w"}}}
    await api.call("PATCH", f"{api.pods}/a", labels, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a", {"metadata": {"name": "b"}}, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a", {"kind": "Node"}, kind=MERGE)
    await api.call("PATCH", f"{api.pods}/a/status", {"status": {"phase": "Odd"}}, kind=MERGE)


@scenario
async def what_only_the_server_sets_cannot_be_set(api: Api) -> None:
    body = pod("a", nodeName="n", priorityClassName="system-cluster-critical")
    body["metadata"] |= {
        "uid": "00000000-0000-0000-0000-000000000000",
        "generation": 7,
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    body["status"] = {"phase": "Running"}
    reply = await api.call("POST", api.pods, body)
    assert reply.body["metadata"]["uid"] != body["metadata"]["uid"]
    assert not reply.body["metadata"]["creationTimestamp"].startswith("2001")
    changed = {"metadata": {"generation": 9, "creationTimestamp": None, "labels": None}}
    await api.call("PATCH", f"{api.pods}/a", changed, kind=MERGE)
    whole = (await api.call("GET", f"{api.pods}/a", quiet=True)).body
    whole["status"]["phase"] = "Running"
    whole["spec"]["schedulerName"] = "other"
    await api.call("PUT", f"{api.pods}/a/status", whole)


@scenario
async def bodies_may_be_yaml(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 'v', t: '2001-01-01'}\n"
    await api.call("POST", maps, text, kind="application/yaml")
    await api.call("POST", maps, "{}", kind="text/html")
    await api.call("POST", maps, "")
    await api.call("POST", maps, "[]")
    await api.call("POST", maps, {"metadata": {"name": "b"}, "data": {"k": 1}})
