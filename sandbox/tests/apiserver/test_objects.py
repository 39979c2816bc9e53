# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Creating, reading and changing objects."""

from typing import Any

import pytest

from .conftest import JSON, MERGE, PODS, Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"


def config(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": {"a": "b"}}


async def test_a_new_object_gets_a_uid_a_time_and_a_resource_version(api: Client) -> None:
    created = await api.create(MAPS, config("a"))
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")
    metadata = created["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"]
    assert int(metadata["resourceVersion"]) > 0
    assert await api.get(f"{MAPS}/a") == created


async def test_resource_versions_grow_over_all_kinds(api: Client) -> None:
    first = await api.create(MAPS, config("a"))
    second = await api.create(PODS, pod("a"))
    assert int(first["metadata"]["resourceVersion"]) < int(second["metadata"]["resourceVersion"])


async def test_a_taken_name_is_refused_as_already_exists(api: Client) -> None:
    await api.create(MAPS, config("a"))
    status, body = await api.ask("POST", MAPS, config("a"))
    assert (status, body["reason"]) == (409, "AlreadyExists")
    assert body["message"] == 'configmaps "a" already exists'
    assert body["details"] == {"name": "a", "kind": "configmaps"}


async def test_generated_names_differ(api: Client) -> None:
    body = {"metadata": {"generateName": "job-"}}
    names = {(await api.create(MAPS, body))["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("job-") for name in names)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        pytest.param(MAPS, {"metadata": {}}, 422, "name or generateName is required", id="no name"),
        pytest.param(MAPS, config("A_b"), 422, "RFC 1123 subdomain", id="a wrong name"),
        pytest.param(MAPS, config("a", namespace="z"), 400, "does not match", id="other namespace"),
        pytest.param(MAPS, config("a", labels={"x": "?"}), 422, "valid label", id="a wrong label"),
        pytest.param(MAPS, config("a", annotations={"?": ""}), 422, "name part", id="annotation"),
        pytest.param(
            MAPS, config("a", finalizers=["x"]), 422, "standard finalizer", id="finalizer"
        ),
        pytest.param(
            MAPS, config("a", resourceVersion="3"), 500, "resourceVersion", id="a version"
        ),
        pytest.param(MAPS, {**config("a"), "kind": "Pod"}, 400, "cannot be handled", id="a kind"),
        pytest.param(MAPS, {"metadata": 3}, 400, "metadata", id="metadata that is a number"),
        pytest.param(MAPS, {**config("a"), "data": []}, 400, "cannot unmarshal", id="a wrong type"),
        pytest.param(MAPS.replace("default", "zz"), config("a"), 404, "zz", id="no namespace"),
        pytest.param("/api/v1/configmaps", config("a"), 405, "method", id="no namespace in path"),
        pytest.param(f"{MAPS}?dryRun=Some", config("a"), 422, "dryRun", id="an unknown dry run"),
        pytest.param(f"{MAPS}?fieldValidation=X", config("a"), 422, "fieldVal", id="validation"),
    ],
)
async def test_a_wrong_object_is_refused(
    api: Client, path: str, body: Any, status: int, message: str
) -> None:
    found, answer = await api.ask("POST", path, body)
    assert found == status
    assert message in answer["message"]
    assert (await api.get(MAPS))["items"] == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
async def test_a_body_that_is_no_object_is_refused(api: Client, body: bytes) -> None:
    status, answer = await api.ask("POST", MAPS, body)
    assert (status, answer["reason"]) == (400, "BadRequest")


async def test_a_body_may_be_yaml_and_a_time_in_it_stays_text(api: Client) -> None:
    body = b"metadata: {name: a}\ndata: {when: 2026-01-01}\n"
    status, answer = await api.ask("POST", MAPS, body, "application/yaml")
    assert (status, answer["data"]) == (201, {"when": "2026-01-01"})


async def test_unknown_fields_are_dropped_with_a_warning_or_refused(api: Client) -> None:
    body = pod("a", bogus=1)
    status, answer = await api.ask("POST", f"{PODS}?fieldValidation=Strict", body)
    assert status == 400
    assert 'strict decoding error: unknown field "spec.bogus"' in answer["message"]
    created = await api.create(PODS, body)
    assert "bogus" not in created["spec"]
    assert api.headers["Warning"] == '299 - "unknown field \\"spec.bogus\\""'
    await api.ask("POST", f"{PODS}?fieldValidation=Ignore", pod("b", bogus=1))
    assert "Warning" not in api.headers


async def test_a_write_that_changes_nothing_keeps_the_version(api: Client) -> None:
    created = await api.create(MAPS, config("a"))
    assert await api.patch(f"{MAPS}/a", {"data": {"a": "b"}}) == created


async def test_the_version_in_a_put_must_be_the_current_one(api: Client) -> None:
    created = await api.create(MAPS, config("a"))
    assert (await api.ask("PUT", f"{MAPS}/a", {**created, "data": {"x": "y"}}))[0] == 200
    status, body = await api.ask("PUT", f"{MAPS}/a", {**created, "data": {"x": "z"}})
    assert (status, body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in body["message"]
    unversioned = {**config("a"), "data": {"x": "z"}}
    assert (await api.ask("PUT", f"{MAPS}/a", unversioned))[0] == 200


async def test_a_lease_needs_its_version_in_a_put(api: Client) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}
    created = await api.create(path, lease)
    status, body = await api.ask("PUT", f"{path}/l", lease)
    assert (status, body["reason"]) == (422, "Invalid")
    assert (await api.ask("PUT", f"{path}/l", created))[0] == 200


async def test_a_put_to_another_name_or_uid_is_refused(api: Client) -> None:
    created = await api.create(MAPS, config("a"))
    assert (await api.ask("PUT", f"{MAPS}/a", config("b")))[0] == 400
    created["metadata"]["uid"] = "other"
    assert (await api.ask("PUT", f"{MAPS}/a", created))[0] == 409
    assert (await api.ask("PUT", f"{MAPS}/zz", config("zz")))[0] == 404


async def test_server_set_metadata_cannot_be_changed(api: Client) -> None:
    created = await api.create(MAPS, config("a"))
    stamp = {"creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7}
    changed = await api.patch(f"{MAPS}/a", {"metadata": {**stamp, "labels": {"x": "y"}}})
    assert changed["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]
    assert "generation" not in changed["metadata"]


async def test_a_dry_run_writes_nothing(api: Client) -> None:
    assert (await api.ask("POST", f"{MAPS}?dryRun=All", config("a")))[0] == 201
    assert (await api.ask("GET", f"{MAPS}/a"))[0] == 404
    created = await api.create(MAPS, config("a"))
    patched = await api.patch(f"{MAPS}/a?dryRun=All", {"data": {"x": "y"}})
    assert patched["data"] == {"a": "b", "x": "y"}
    assert (await api.ask("DELETE", f"{MAPS}/a?dryRun=All"))[0] == 200
    assert await api.get(f"{MAPS}/a") == created


async def test_generation_counts_changes_of_the_spec_only(api: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod("a")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    created = await api.create(path, {"metadata": {"name": "d"}, "spec": spec})
    assert created["metadata"]["generation"] == 1
    labelled = await api.patch(f"{path}/d", {"metadata": {"labels": {"x": "y"}}})
    assert labelled["metadata"]["generation"] == 1
    status = await api.patch(
        f"{path}/d/status", {"status": {"replicas": 3}, "spec": {"replicas": 9}}
    )
    assert (status["metadata"]["generation"], status["spec"]["replicas"]) == (1, 1)
    scaled = await api.patch(f"{path}/d", {"spec": {"replicas": 2}, "status": {"replicas": 9}})
    assert (scaled["metadata"]["generation"], scaled["status"]["replicas"]) == (2, 3)


async def test_scale_is_a_view_of_the_replicas(api: Client) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod("a")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    await api.create(path, {"metadata": {"name": "d"}, "spec": spec})
    scale = await api.get(f"{path}/d/scale")
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["status"]["selector"] == "app=x"
    scale["spec"]["replicas"] = 4
    assert (await api.ask("PUT", f"{path}/d/scale", scale))[0] == 200
    assert (await api.get(f"{path}/d"))["spec"]["replicas"] == 4
    assert (await api.ask("PUT", f"{path}/d/scale", scale))[0] == 409
    assert (await api.ask("PATCH", f"{path}/d/scale", {"spec": {"replicas": -1}}, MERGE))[0] == 422
    assert (await api.ask("PATCH", f"{path}/d/scale", {"spec": {"replicas": "x"}}, MERGE))[0] == 400


async def test_quantities_are_stored_in_canonical_form(api: Client) -> None:
    amounts = {"cpu": "1000m", "memory": "1024Mi", "a": "0.5", "b": "1e3", "c": 2, "d": "1500000"}
    amounts |= {"e": "0", "f": "1.5Gi", "g": "2000k"}
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"requests": amounts}
    created = await api.create(PODS, body)
    assert created["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "1", "memory": "1Gi", "a": "500m", "b": "1e3", "c": "2", "d": "1500k",
        "e": "0", "f": "1536Mi", "g": "2M",
    }  # fmt: skip
    amounts["h"] = "lots"
    status, answer = await api.ask("POST", PODS, {**body, "metadata": {"name": "b"}})
    assert (status, "quantities must match" in answer["message"]) == (400, True)


async def test_one_event_is_served_in_both_shapes(api: Client) -> None:
    core = "/api/v1/namespaces/default/events"
    new = "/apis/events.k8s.io/v1/namespaces/default/events"
    about = {"kind": "Pod", "name": "a", "namespace": "default"}
    words = {"note": "hello", "reason": "R", "action": "A", "type": "Normal"}
    reporter = {"reportingController": "x", "reportingInstance": "x-0"}
    body = {"metadata": {"name": "e"}, "regarding": about, **words, **reporter}
    await api.create(new, {**body, "eventTime": "2026-01-01T00:00:00.000000Z"})
    seen = await api.get(f"{core}/e")
    assert (seen["involvedObject"], seen["message"]) == (about, "hello")
    assert seen["reportingComponent"] == "x"
    selected = await api.get(f"{core}?fieldSelector=involvedObject.name=a,reason!=Q")
    assert len(selected["items"]) == 1
    assert (await api.get(new))["items"][0]["note"] == "hello"
    table = await api.get(core, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert table["rows"][0]["cells"][3] == "pod/a"
    misplaced = {**body, "metadata": {"name": "f"}, "regarding": {**about, "namespace": "z"}}
    assert (await api.ask("POST", new, misplaced))[0] == 422


async def test_access_reviews_are_answered_and_allow_everything(api: Client) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = await api.create(path, {"spec": {"resourceAttributes": {"verb": "get"}}})
    assert answer["status"]["allowed"] is True


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        pytest.param("GET", f"{PODS}/a/log", 405, "no logs", id="logs"),
        pytest.param("POST", f"{PODS}/a/exec", 405, "exec is not supported", id="exec"),
        pytest.param("GET", f"{PODS}/a/foo", 404, "could not find", id="an unknown subresource"),
        pytest.param("GET", "/api/v1/namespaces/default/foos", 404, "could not", id="a resource"),
        pytest.param("GET", "/apis/foo.example/v1", 404, "not found", id="an unknown group"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, "could", id="cluster kind"),
        pytest.param("GET", "/api/v1/pods/a", 404, "could not find", id="a pod without namespace"),
        pytest.param("GET", "/api/v1/a/b/c/d/e/f/g", 404, "could not find", id="too deep a path"),
        pytest.param("GET", "/metrics", 404, "not found", id="no such document"),
        pytest.param("POST", "/version", 405, "does not allow", id="a write to a document"),
        pytest.param("PUT", PODS, 405, "does not allow", id="a put without a name"),
        pytest.param("OPTIONS", f"{PODS}/a", 405, "does not allow", id="an unknown method"),
        pytest.param("DELETE", "/api/v1/pods", 405, "does not allow", id="delete everywhere"),
        pytest.param("DELETE", f"{PODS}/a/status", 405, "does not", id="a verb that status lacks"),
    ],
)
async def test_what_is_not_served_is_refused_clearly(
    api: Client, method: str, path: str, status: int, message: str
) -> None:
    await api.create(PODS, pod("a"))
    found, body = await api.ask(method, path)
    assert (found, message in body["message"]) == (status, True), body


async def test_a_media_type_that_is_not_served_is_refused(api: Client) -> None:
    assert (await api.ask("GET", PODS, Accept="text/html"))[0] == 406
    assert (await api.ask("POST", PODS, b"x", "text/plain"))[0] == 415
    await api.create(PODS, pod("a"))
    assert (await api.ask("PATCH", f"{PODS}/a", {}, "text/plain"))[0] == 415
    mixed = "application/vnd.kubernetes.protobuf,application/json"
    assert (await api.ask("GET", PODS, Accept=mixed))[0] == 200


async def test_a_patch_may_not_break_the_object(api: Client) -> None:
    await api.create(MAPS, config("a"))
    status, _ = await api.ask("PATCH", f"{MAPS}/a", [{"op": "remove", "path": "/metadata"}], JSON)
    assert status == 400
