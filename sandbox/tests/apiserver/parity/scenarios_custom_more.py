# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: definitions that change and go, and PodGroups, defined as enbloc ships them."""

import asyncio
from typing import Any

from enbloc_sandbox.apiserver.server import load_crds
from sandbox.tests.apiserver.parity.recorder import APPLY, MERGE, TABLE, Api
from sandbox.tests.apiserver.parity.talk import pod, scenario

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(group: str, properties: dict[str, Any], **version: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    served = {"name": "v1", "served": True, "storage": True, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def until(api: Api, path: str, status: int) -> None:
    """Wait until a path answers so."""
    for _ in range(100):
        if (await api.call("GET", path, quiet=True)).status == status:
            return
        await asyncio.sleep(0.1)


def thing(group: str, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": spec,
    }


@scenario
async def a_definition_is_established_shown_changed_and_deleted(api: Api) -> None:
    group = f"{api.namespace}.example.com"
    things = f"/apis/{group}/v1/namespaces/{api.namespace}/things"
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "d"}
    crd = definition(group, {"size": {"type": "integer"}}, additionalPrinterColumns=[column])
    await api.call("POST", CRDS, crd, quiet=True)
    await until(api, things, 200)
    reply = await api.call("GET", f"{CRDS}/things.{group}", quiet=True)
    for part in ("spec", "status"):
        found = api.normal(reply.body[part])
        found.get("conditions", []).sort(key=lambda one: one["type"])
        api.note(f"the {part}", 200, found)
    await api.call("POST", things, thing(group, "a", size=3))
    table = await api.call("GET", things, accept=TABLE, quiet=True)
    cells = [row["cells"][:2] for row in table.body["rows"]]
    columns = table.body["columnDefinitions"]
    columns[0]["description"] = "metadata.name, as the OpenAPI document describes it"
    body = [columns, cells]
    api.note("Table", 200, body)
    await api.call("GET", things)
    served = await api.call("GET", f"/apis/{group}/v1", quiet=True)
    served.body["resources"][0].pop("storageVersionHash", None)
    api.note("what is served", served.status, served.body)
    await api.call("GET", f"/apis/{group}/v2")
    await api.call("GET", f"/apis/{group}/v1/nothings")
    changed = definition(group, {"size": {"type": "integer"}, "more": {"type": "string"}})
    rv = {"metadata": {"resourceVersion": reply.body["metadata"]["resourceVersion"]}}
    await api.call("PATCH", f"{CRDS}/things.{group}", {**changed, **rv}, kind=MERGE, quiet=True)
    for _ in range(100):
        reply = await api.call(
            "PATCH", f"{things}/a", {"spec": {"more": "m"}}, kind=MERGE, quiet=True
        )
        if "more" in reply.body["spec"]:
            break
        await asyncio.sleep(0.1)
    await api.call("GET", f"{things}/a")
    await api.call("DELETE", f"{CRDS}/things.{group}", quiet=True)
    await until(api, things, 404)
    await api.call("GET", f"{things}/a")
    await until(api, f"{CRDS}/things.{group}", 404)
    await api.call("GET", f"{CRDS}/things.{group}")


@scenario
async def definitions_that_make_no_sense_are_refused(api: Api) -> None:
    group = f"{api.namespace}.example.com"
    crd = definition(group, {})
    await api.call("POST", CRDS, {**crd, "metadata": {"name": f"other.{group}"}})
    no_schema = definition(group, {})
    del no_schema["spec"]["versions"][0]["schema"]
    await api.call("POST", CRDS, no_schema)
    no_storage = definition(group, {}, storage=False)
    await api.call("POST", CRDS, no_storage)


@scenario
async def custom_resources_need_a_version_to_be_replaced(api: Api) -> None:
    group = f"{api.namespace}.example.com"
    things = f"/apis/{group}/v1/namespaces/{api.namespace}/things"
    crd = definition(group, {"size": {"type": "integer", "default": 2}, "any": {"type": "object"}})
    await api.call("POST", CRDS, crd, quiet=True)
    await until(api, things, 200)
    reply = await api.call("POST", things, {**thing(group, "a", size=1), "status": {"kept": 1}})
    await api.call("PUT", f"{things}/a", thing(group, "a", size=2))
    await api.call("PUT", f"{things}/a", {**reply.body, "spec": {"size": 3}})
    await api.call("PUT", f"{things}/a", {**reply.body, "spec": {"size": 4}})
    await api.call("GET", f"{things}/a/status")
    await api.call("GET", f"{things}/a/scale")
    await api.call("PATCH", f"{things}/a", {"spec": {"size": None}}, kind=MERGE)
    await api.call("PATCH", f"{things}/a", {"spec": {"size": "big"}}, kind=MERGE)
    await api.call("PATCH", f"{things}/a?fieldValidation=Strict", {"spec": {"x": 1}}, kind=MERGE)
    await api.call("GET", f"{things}?fieldSelector=spec.size=2")
    await api.call("DELETE", f"{things}/a")
    await api.call("POST", things, thing(group, "b"), quiet=True)
    await api.call("DELETE", f"{things}")
    await api.call("DELETE", f"{CRDS}/things.{group}", quiet=True)


async def pod_groups(api: Api) -> str:
    """The path of PodGroups, which the sandbox has from its start."""
    for crd in load_crds():
        await api.call("POST", CRDS, crd, quiet=True)
    path = f"/apis/enbloc.dev/v1alpha1/namespaces/{api.namespace}/podgroups"
    await until(api, path, 200)
    return path


def pod_group(name: str, **rest: Any) -> dict[str, Any]:
    head = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "PodGroup"}
    return {**head, "metadata": {"name": name}, **rest}


@scenario
async def two_managers_apply_the_conditions_of_a_pod_group(api: Api) -> None:
    groups = await pod_groups(api)
    await api.call("POST", groups, pod_group("g", spec={"minMember": 2}))
    for manager, kind, status in (
        ("scheduler", "Scheduled", "False"),
        ("controller", "Ready", "False"),
        ("scheduler", "Scheduled", "True"),
        ("other", "Ready", "True"),
    ):
        condition = {
            "type": kind,
            "status": status,
            "reason": "R",
            "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        body = pod_group("g", status={"conditions": [condition]})
        path = f"{groups}/g/status?fieldManager={manager}"
        await api.call("PATCH", path, body, kind=APPLY)
    gone = pod_group("g", status={"conditions": []})
    await api.call("PATCH", f"{groups}/g/status?fieldManager=scheduler", gone, kind=APPLY)


@scenario
async def pod_groups_are_defaulted_checked_and_listed(api: Api) -> None:
    groups = await pod_groups(api)
    await api.call("POST", groups, pod_group("g", spec={}))
    await api.call("POST", groups, pod_group("h"))
    roles = [{"name": "a", "minMember": 3}, {"name": "b", "minMember": 4}]
    await api.call("POST", groups, pod_group("i", spec={"minMember": 5, "roles": roles}))
    await api.call("POST", groups, pod_group("j", spec={"minMember": 0}))
    await api.call("POST", groups, pod_group("k", spec={"minResources": {"cpu": "much"}}))
    await api.call("PATCH", f"{groups}/g", {"spec": {"minMember": 2, "x": 1}}, kind=MERGE)
    await api.call("PATCH", f"{groups}/g/scale", {"spec": {"replicas": 2}}, kind=MERGE)
    table = await api.call("GET", groups, accept=TABLE, quiet=True)
    cells = [row["cells"][:-1] for row in table.body["rows"]]
    body = [[one["name"] for one in table.body["columnDefinitions"]], cells]
    api.note("Table", 200, body)
    owned = pod("p")
    reply = await api.call("GET", f"{groups}/g", quiet=True)
    owner = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "PodGroup", "name": "g"}
    owned["metadata"]["ownerReferences"] = [{**owner, "uid": reply.body["metadata"]["uid"]}]
    await api.call("POST", api.pods, owned)


@scenario
async def a_watch_from_long_ago_is_expired(api: Api) -> None:
    # The real server remembers what was before it began to serve a kind only for built-in kinds.
    groups = await pod_groups(api)
    found = await api.watch(f"{groups}?resourceVersion=1", events=1)
    assert found[0]["object"]["message"].startswith("too old resource version: 1 (")
