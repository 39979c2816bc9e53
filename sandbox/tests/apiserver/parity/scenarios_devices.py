# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: claims for devices, their templates, classes, slices."""

from typing import Any

from sandbox.tests.apiserver.parity.recorder import MERGE, TABLE, Api
from sandbox.tests.apiserver.parity.talk import scenario

GROUP = "/apis/resource.k8s.io/v1"
CLASS = "gpu.example.com"


def claims(api: Api) -> str:
    return f"{GROUP}/namespaces/{api.namespace}/resourceclaims"


def exactly(name: str = "gpu", **more: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": CLASS, **more}}


def claim(name: str, *requests: dict[str, Any], **devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def result(request: str = "gpu", device: str = "gpu-0") -> dict[str, Any]:
    return {"request": request, "driver": CLASS, "pool": "n", "device": device}


def allocated(*results: dict[str, Any]) -> dict[str, Any]:
    return {"devices": {"results": list(results)}}


def consumer(name: str) -> dict[str, Any]:
    return {"resource": "pods", "name": name, "uid": f"uid-of-{name}"}


def offer(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {
        "driver": CLASS,
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {
                "name": "gpu-0",
                "attributes": {"model": {"string": "A"}, "index": {"int": 0}},
                "capacity": {"memory": {"value": "16384Mi"}},
            }
        ],
        **spec,
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": given,
    }


@scenario
async def a_resource_claim_is_defaulted_allocated_reserved_and_given_back(api: Api) -> None:
    path = claims(api)
    await api.call("POST", path, claim("one", exactly()))
    changed = {"spec": {"devices": {"requests": [exactly("other")]}}}
    await api.call("PATCH", f"{path}/one", changed, kind=MERGE)
    early = {"status": {"reservedFor": [consumer("a")]}}
    await api.call("PATCH", f"{path}/one/status", early, kind=MERGE)
    held = {
        "metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]},
    }
    await api.call("PATCH", f"{path}/one", held, kind=MERGE)
    given = {"status": {"allocation": allocated(result()), "reservedFor": [consumer("a")]}}
    await api.call("PATCH", f"{path}/one/status", given, kind=MERGE)
    other = {"status": {"allocation": allocated(result(device="gpu-1"))}}
    await api.call("PATCH", f"{path}/one/status", other, kind=MERGE)
    await api.call("GET", path, accept=TABLE)
    await api.call("DELETE", f"{path}/one")
    more = {"status": {"reservedFor": [consumer("a"), consumer("b")]}}
    await api.call("PATCH", f"{path}/one/status", more, kind=MERGE)
    back = {"status": {"allocation": None, "reservedFor": None}}
    await api.call("PATCH", f"{path}/one/status", back, kind=MERGE)
    await api.call("PATCH", f"{path}/one", {"metadata": {"finalizers": None}}, kind=MERGE)


@scenario
async def statuses_of_claims_that_make_no_sense_are_refused(api: Api) -> None:
    path = claims(api)
    await api.call("POST", path, claim("one", exactly()))
    many = [consumer(str(i)) for i in range(257)]
    devices = allocated(result())
    for state in (
        {"allocation": devices, "reservedFor": many},
        {"allocation": devices, "reservedFor": [consumer("a"), consumer("a")]},
        {"allocation": devices, "reservedFor": [{**consumer("a"), "uid": ""}]},
        {"allocation": allocated(result("unknown"))},
    ):
        await api.call("PATCH", f"{path}/one/status", {"status": state}, kind=MERGE)


@scenario
async def resource_claims_that_make_no_sense_are_refused(api: Api) -> None:
    path = claims(api)
    for body in (
        claim("empty", {"name": "gpu"}),
        claim("both", {**exactly(), "firstAvailable": [{"name": "a", "deviceClassName": CLASS}]}),
        claim("class", exactly(deviceClassName="")),
        claim("all", exactly(allocationMode="All", count=2)),
        claim("few", exactly(count=-1)),
        claim("mode", exactly(allocationMode="Some")),
        claim("many", *(exactly(f"r{i}") for i in range(33))),
        claim("twice", exactly(), exactly()),
        claim("unnamed", {"exactly": {"deviceClassName": CLASS}}),
        claim("selector", exactly(selectors=[{}])),
        claim(
            "constraint",
            exactly(),
            constraints=[{"requests": ["x"], "matchAttribute": f"{CLASS}/numa"}],
        ),
    ):
        await api.call("POST", path, body)


@scenario
async def templates_of_resource_claims_are_fixed(api: Api) -> None:
    path = f"{GROUP}/namespaces/{api.namespace}/resourceclaimtemplates"
    alternatives = [{"name": "a", "deviceClassName": CLASS}]
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [exactly(), {"name": "b", "firstAvailable": alternatives}],
                }
            }
        },
    }
    await api.call("POST", path, made)
    await api.call("PATCH", f"{path}/t", {"spec": {"metadata": {"labels": {"a": "b"}}}}, kind=MERGE)
    await api.call("GET", path, accept=TABLE)
    await api.call("DELETE", f"{path}/t")


@scenario
async def a_container_uses_claims_of_its_pod_each_once(api: Api) -> None:
    def using(name: str, *claims: dict[str, str], known: tuple[str, ...]) -> dict[str, Any]:
        container = {"name": "c", "image": "x:1", "resources": {"claims": list(claims)}}
        named = [{"name": each, "resourceClaimTemplateName": "t"} for each in known]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [container], "resourceClaims": named},
        }

    gpus, one = {"name": "gpus"}, {"name": "gpus", "request": "one"}
    both = ("nics", "gpus")
    for number, (claims, known) in enumerate(
        (
            (({"name": "gpuz"},), ("gpus",)),
            (({"name": "gpuz"},), both),
            ((gpus,), ()),
            (({"name": ""},), ("gpus",)),
            ((gpus, one), both),
            ((one, gpus), both),
            ((one, one), both),
        )
    ):
        pod = using(f"p{number}", *claims, known=known)
        await api.call("POST", f"/api/v1/namespaces/{api.namespace}/pods", pod)


@scenario
async def admin_access_needs_a_label_of_the_namespace(api: Api) -> None:
    path, namespace = claims(api), f"/api/v1/namespaces/{api.namespace}"
    label = "resource.kubernetes.io/admin-access"
    wanted = claim("c", exactly(), exactly("monitor", adminAccess=True))
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": wanted["spec"]},
    }
    templates = f"{GROUP}/namespaces/{api.namespace}/resourceclaimtemplates"
    await api.call("POST", path, wanted)
    await api.call("POST", templates, template)
    await api.call("PATCH", namespace, {"metadata": {"labels": {label: "true"}}}, kind=MERGE)
    await api.call("POST", path, wanted)
    await api.call("POST", templates, template)
    await api.call("PATCH", namespace, {"metadata": {"labels": {label: None}}}, kind=MERGE)
    await api.call("PATCH", f"{path}/c", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    monitored = {**result("monitor"), "adminAccess": True}
    given = {"status": {"allocation": allocated(result(), monitored)}}
    await api.call("PATCH", f"{path}/c/status", given, kind=MERGE)
    await api.call("PATCH", namespace, {"metadata": {"labels": {label: "true"}}}, kind=MERGE)
    await api.call("PATCH", f"{path}/c/status", given, kind=MERGE)


@scenario
async def a_slice_says_what_a_node_offers(api: Api) -> None:
    path, name = f"{GROUP}/resourceslices", f"s-{api.namespace}"
    await api.call("POST", path, offer(name))
    again = {"spec": {"pool": {"generation": 2}}}
    await api.call("PATCH", f"{path}/{name}", again, kind=MERGE)
    await api.call("PATCH", f"{path}/{name}", {"spec": {"nodeName": "m"}}, kind=MERGE)
    await api.call("PATCH", f"{path}/{name}", {"spec": {"driver": "other"}}, kind=MERGE)
    await api.call("PATCH", f"{path}/{name}", {"spec": {"pool": {"name": "m"}}}, kind=MERGE)
    await api.call("GET", f"{path}/{name}", accept=TABLE)
    await api.call("DELETE", f"{path}/{name}")


@scenario
async def slices_that_make_no_sense_are_refused(api: Api) -> None:
    path = f"{GROUP}/resourceslices"
    device = {"name": "a"}
    for body in (
        offer("nowhere", nodeName=None),
        offer("everywhere", allNodes=True),
        offer("many", devices=[{"name": f"d-{i}"} for i in range(129)]),
        offer("twice", devices=[device, device]),
        offer("unpooled", pool={"name": "", "generation": 1, "resourceSliceCount": 1}),
        offer("uncounted", pool={"name": "n", "generation": 1, "resourceSliceCount": 0}),
        offer("older", pool={"name": "n", "generation": -1, "resourceSliceCount": 1}),
    ):
        await api.call("POST", path, body)


@scenario
async def device_classes_are_kept(api: Api) -> None:
    path, name = f"{GROUP}/deviceclasses", f"c-{api.namespace}"
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [selector], "extendedResourceName": "example.com/gpu"},
    }
    await api.call("POST", path, made)
    await api.call("GET", f"{path}/{name}", accept=TABLE)
    await api.call("POST", path, {**made, "metadata": {"name": "w"}, "spec": {"selectors": [{}]}})
    await api.call("DELETE", f"{path}/{name}")
