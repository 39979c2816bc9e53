# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Server-side apply."""

from typing import Any

from sandbox.tests.apiserver.parity.recorder import APPLY, MERGE, Api
from sandbox.tests.apiserver.parity.talk import configmap, pod, scenario


@scenario
async def apply_creates_owns_and_gives_up_fields(api: Api) -> None:
    one = f"/api/v1/namespaces/{api.namespace}/configmaps/a?fieldManager=one"
    await api.call("PATCH", one, configmap("a", k="v", l="w"), kind=APPLY)
    await api.call("PATCH", one, configmap("a", k="v"), kind=APPLY)
    await api.call("PATCH", one, configmap("a", k="v"), kind=APPLY)


@scenario
async def two_appliers_conflict_unless_one_forces(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/configmaps/a"
    await api.call("PATCH", f"{path}?fieldManager=one", configmap("a", k="v"), kind=APPLY)
    await api.call("PATCH", f"{path}?fieldManager=two", configmap("a", k="w"), kind=APPLY)
    await api.call("PATCH", f"{path}?fieldManager=two", configmap("a", k="v"), kind=APPLY)
    forced = f"{path}?fieldManager=three&force=true"
    await api.call("PATCH", forced, configmap("a", k="x"), kind=APPLY)
    await api.call("PATCH", path, configmap("a"), kind=APPLY)


@scenario
async def an_applier_meets_an_updater(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", f"{maps}?fieldManager=creator", configmap("a", k="v"))
    await api.call("PATCH", f"{maps}/a?fieldManager=one", configmap("a", k="w"), kind=APPLY)
    await api.call("PATCH", f"{maps}/a?fieldManager=one", configmap("a", l="w"), kind=APPLY)
    changed = f"{maps}/a?fieldManager=updater"
    await api.call("PATCH", changed, {"data": {"l": "x"}}, kind=MERGE)


@scenario
async def apply_merges_conditions_by_type(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"), quiet=True)
    for manager, kind in (("one", "X"), ("two", "Y")):
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "status": {"conditions": [{"type": kind, "status": "True"}]},
        }
        path = f"{api.pods}/a/status?fieldManager={manager}&force=true"
        await api.call("PATCH", path, body, kind=APPLY)


@scenario
async def an_object_whose_owners_are_forgotten_is_applied_to(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    await api.call("PATCH", f"{maps}/a", {"metadata": {"managedFields": [{}]}}, kind=MERGE)
    await api.call("PATCH", f"{maps}/a", {"data": {"l": "w"}}, kind=MERGE)
    await api.call("PATCH", f"{maps}/a?fieldManager=one", configmap("a", k="v"), kind=APPLY)
    await api.call("PATCH", f"{maps}/a?fieldManager=one", configmap("a"), kind=APPLY)


@scenario
async def applies_that_do_not_fit_are_refused(api: Api) -> None:
    path = f"/api/v1/namespaces/{api.namespace}/configmaps/a?fieldManager=one"
    await api.call("PATCH", path, configmap("b", k="v"), kind=APPLY)
    await api.call("PATCH", path, {**configmap("a"), "kind": "Pod"}, kind=APPLY)
    await api.call("PATCH", path, {"metadata": {"name": "a"}}, kind=APPLY)
    managed = configmap("a")
    managed["metadata"]["managedFields"] = [{"manager": "x"}]
    await api.call("PATCH", path, managed, kind=APPLY)
    await api.call("PATCH", f"{path}&dryRun=All", configmap("a", k="v"), kind=APPLY)
    await api.call("GET", path.partition("?")[0])


@scenario
async def appliers_share_the_lists_of_a_deployment(api: Api) -> None:
    path = f"/apis/apps/v1/namespaces/{api.namespace}/deployments/d"
    labels = {"app": "d"}

    def deployment(containers: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
        }

    ports = [{"containerPort": 80}, {"containerPort": 81, "name": "x"}]
    environment = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    main = {"name": "c", "image": "i:1", "ports": ports, "env": environment}
    await api.call("PATCH", f"{path}?fieldManager=one", deployment([main], replicas=2), kind=APPLY)
    fewer = {**main, "ports": ports[:1], "env": environment[1:]}
    await api.call("PATCH", f"{path}?fieldManager=one", deployment([fewer]), kind=APPLY)
    beside = {"name": "s", "image": "j:1"}
    await api.call("PATCH", f"{path}?fieldManager=two", deployment([beside]), kind=APPLY)
    other = {"name": "c", "image": "i:2"}
    await api.call("PATCH", f"{path}?fieldManager=two", deployment([other, beside]), kind=APPLY)
    await api.call("PATCH", f"{path}?fieldManager=one", deployment([]), kind=APPLY)


@scenario
async def applies_name_versions_objects_and_fields_that_are_not_there(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    one = f"{maps}/a?fieldManager=one"
    body = configmap("a", k="v")
    body["metadata"]["resourceVersion"] = "1"
    await api.call("PATCH", one, body, kind=APPLY)
    await api.call("PATCH", one, configmap("a", k="v"), kind=APPLY, quiet=True)
    await api.call("PATCH", one, body, kind=APPLY)
    held = configmap("a", k="v")
    held["metadata"]["finalizers"] = ["example.com/one"]
    await api.call("PATCH", one, held, kind=APPLY)
    held["metadata"]["finalizers"] = ["example.com/two"]
    await api.call("PATCH", f"{maps}/a?fieldManager=two", held, kind=APPLY)
    await api.call("PATCH", one, configmap("a", k="v"), kind=APPLY)
    free = {"metadata": {"finalizers": None}}
    await api.call("PATCH", f"{maps}/a", free, kind=MERGE, quiet=True)
    missing = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {}}
    await api.call("PATCH", f"{api.pods}/p/status?fieldManager=one", missing, kind=APPLY)
    await api.call("PATCH", one, "{not: [yaml", kind=APPLY)
    await api.call("PATCH", one, "[]", kind=APPLY)
