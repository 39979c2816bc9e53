# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Discovery, OpenAPI, protobuf bodies, where it listens."""

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc_sandbox import Sandbox, load_crds

from .conftest import PODS, Client, pod

GVK = "x-kubernetes-group-version-kind"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_probes_and_version_answer(api: Client) -> None:
    for path in ("/readyz", "/livez", "/healthz"):
        async with api.session.get(api.url + path) as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
    assert (await api.get("/version"))["gitVersion"].startswith("v1.")
    assert "/apis" in (await api.get("/"))["paths"]


async def test_both_forms_of_discovery_tell_the_same(api: Client) -> None:
    aggregated: dict[str, set[str]] = {}
    for path in ("/api", "/apis"):
        document = await api.get(path, Accept=AGGREGATED)
        assert api.headers["Content-Type"] == AGGREGATED
        for group in document["items"]:
            for version in group["versions"]:
                name = group["metadata"].get("name", "")
                key = f"{name}/{version['version']}".lstrip("/")
                aggregated[key] = {one["resource"] for one in version["resources"]}
    legacy = {"v1": await api.get("/api/v1")}
    assert (await api.get("/api"))["versions"] == ["v1"]
    for group in (await api.get("/apis"))["groups"]:
        assert (await api.get(f"/apis/{group['name']}"))["name"] == group["name"]
        for version in group["versions"]:
            legacy[version["groupVersion"]] = await api.get(f"/apis/{version['groupVersion']}")
    assert aggregated == {
        key: {one["name"] for one in document["resources"] if "/" not in one["name"]}
        for key, document in legacy.items()
    }
    assert "podgroups" in aggregated["enbloc.dev/v1alpha1"]


async def test_evictions_and_scales_are_discovered_with_their_own_kinds(api: Client) -> None:
    core = {one["name"]: one for one in (await api.get("/api/v1"))["resources"]}
    eviction = core["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == (
        "policy",
        "v1",
        "Eviction",
    )
    assert "all" in core["pods"]["categories"]
    apps = {one["name"]: one for one in (await api.get("/apis/apps/v1"))["resources"]}
    assert apps["deployments/scale"]["group"] == "autoscaling"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("api/v1", "Pod", id="a built-in kind"),
        pytest.param("apis/enbloc.dev/v1alpha1", "PodGroup", id="a custom kind"),
    ],
)
async def test_open_api_promises_field_validation_and_explains_fields(
    api: Client, path: str, kind: str
) -> None:
    index = (await api.get("/openapi/v3"))["paths"]
    document = await api.get(index[path]["serverRelativeURL"])
    schema = next(
        one
        for one in document["components"]["schemas"].values()
        if any(gvk["kind"] == kind for gvk in one.get(GVK, ()))
    )
    assert {"apiVersion", "kind", "metadata", "spec"} <= set(schema["properties"])
    patch = next(
        operations["patch"]
        for operations in document["paths"].values()
        if operations.get("patch", {}).get("x-kubernetes-group-version-kind", {}).get("kind")
        == kind
    )
    assert "fieldValidation" in {one["name"] for one in patch["parameters"]}
    references = yaml.dump(document).count("$ref")
    assert references
    assert (await api.ask("GET", "/openapi/v3/apis/nope/v1"))[0] == 404
    assert (await api.ask("GET", "/openapi/v2"))[0] == 404


# ── protobuf ─────────────────────────────────────────────────────────────────────────────────


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    value %= 2**64
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def message(api_version: str, kind: str, *fields: bytes) -> bytes:
    head = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, head) + field(2, b"".join(fields))


def metadata(name: str) -> bytes:
    label = field(11, field(1, b"a") + field(2, b"b"))
    return field(1, field(1, name.encode()) + label + field(14, b"x.y/z"))


PROTOBUF = "application/vnd.kubernetes.protobuf"


async def test_small_kinds_are_read_from_protobuf(api: Client) -> None:
    entry = field(1, b"k") + field(2, b"v")
    data = message("v1", "ConfigMap", metadata("c"), field(2, entry), field(4, 1))
    path = "/api/v1/namespaces/default/configmaps"
    status, body = await api.ask("POST", path, data, PROTOBUF)
    assert (status, body["data"], body["immutable"]) == (201, {"k": "v"}, True)
    assert body["metadata"]["labels"] == {"a": "b"}
    assert body["metadata"]["finalizers"] == ["x.y/z"]
    secret = message("v1", "Secret", metadata("s"), field(2, entry), field(3, b"Opaque"))
    _, body = await api.ask("POST", path.replace("configmaps", "secrets"), secret, PROTOBUF)
    assert body["data"] == {"k": "dg=="}
    priority = message("scheduling.k8s.io/v1", "PriorityClass", metadata("p"), field(2, -5))
    _, body = await api.ask(
        "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority, PROTOBUF
    )
    assert body["value"] == -5


async def test_a_deletion_may_be_asked_for_in_protobuf(api: Client) -> None:
    await api.create(PODS, pod("a", nodeName="n1"))
    data = message("v1", "DeleteOptions", field(1, 7), field(4, b"Background"))
    _, body = await api.ask("DELETE", f"{PODS}/a", data, PROTOBUF)
    assert body["metadata"]["deletionGracePeriodSeconds"] == 7


@pytest.mark.parametrize(
    ("data", "status", "text"),
    [
        pytest.param(message("batch/v1", "Job"), 415, "--dry-run=client -o yaml", id="a big kind"),
        pytest.param(b"nonsense", 400, "not a Kubernetes protobuf", id="no magic"),
        pytest.param(b"k8s\0\x0a\xff", 400, "damaged", id="cut off"),
        pytest.param(b"k8s\0\x0b", 400, "damaged", id="an unknown wire type"),
        pytest.param(b"k8s\0" + field(1, 3), 400, "damaged", id="a number for a text"),
        pytest.param(
            message("v1", "ConfigMap", b"\x0d\x00"), 400, "damaged", id="a fixed width cut off"
        ),
    ],
)
async def test_protobuf_that_cannot_be_read_is_refused(
    api: Client, data: bytes, status: int, text: str
) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    found, body = await api.ask("POST", path, data, PROTOBUF)
    assert (found, text in body["message"]) == (status, True), body


# ── where it listens ─────────────────────────────────────────────────────────────────────────


async def test_it_listens_on_this_machine_only_and_writes_a_kubeconfig(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert sandbox.url.startswith("http://127.0.0.1:")
    path = tmp_path / "kubeconfig"
    sandbox.write_kubeconfig(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config: dict[str, Any] = yaml.safe_load(path.read_text())
    assert config["current-context"] == "sandbox"
    assert config["clusters"][0]["cluster"]["server"] == sandbox.url
    assert config["contexts"][0]["context"]["namespace"] == "default"


async def test_a_taken_port_is_an_error(sandbox: Sandbox) -> None:
    port = int(sandbox.url.rpartition(":")[2])
    other = Sandbox(port=port, crds=[])
    with pytest.raises(OSError, match=str(port)):
        await other.start()
    await other.stop()


def test_the_packaged_definitions_are_found() -> None:
    found = [crd["metadata"]["name"] for crd in load_crds()]
    assert found == ["podgroups.enbloc.dev", "topologies.enbloc.dev"]
