# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Paths, lists, selectors, watches, tables, discovery."""

import json

from sandbox.tests.apiserver.parity.recorder import MERGE, STRATEGIC, TABLE, Api
from sandbox.tests.apiserver.parity.talk import binding, configmap, pod, scenario


@scenario
async def paths_that_do_not_exist_are_404(api: Api) -> None:
    await api.call("GET", "/api/v1/nonsense")
    await api.call("GET", "/apis/none.example.com/v1")
    await api.call("GET", "/apis/batch/v1/namespaces/default/nonsense/x")
    await api.call("GET", "/nonsense")
    await api.call("GET", "/apis/batch/v9")
    await api.call("GET", "/apis/batch/v9/namespaces/default/jobs")
    await api.call("GET", "/apis/none.example.com/v1/things")


@scenario
async def methods_that_do_not_fit_are_405(api: Api) -> None:
    await api.call("PUT", api.pods, pod("a"))
    await api.call("POST", f"{api.pods}/a", pod("a"))
    await api.call("DELETE", f"{api.pods}/a/status")
    await api.call("DELETE", "/api/v1/namespaces")
    await api.call("PATCH", f"{api.pods}/a/binding", {}, kind=MERGE)


@scenario
async def a_list_has_kind_and_version_and_its_items_have_not(api: Api) -> None:
    for name in "ab":
        await api.call(
            "POST", f"/api/v1/namespaces/{api.namespace}/configmaps", configmap(name, k=name)
        )
    await api.call("GET", f"/api/v1/namespaces/{api.namespace}/configmaps?labelSelector=x=y")
    await api.call("GET", f"{api.pods}")


@scenario
async def label_and_field_selectors_select(api: Api) -> None:
    for name in "abc":
        await api.call("POST", api.pods, pod(name), quiet=True)
    for query in (
        "labelSelector=app=a",
        "labelSelector=app!=a",
        "labelSelector=app%20in%20(a,b)",
        "labelSelector=app%20notin%20(a,b)",
        "labelSelector=!app",
        "fieldSelector=metadata.name=b",
        "fieldSelector=spec.nodeName=",
        "fieldSelector=status.phase!=Pending",
    ):
        reply = await api.call("GET", f"{api.pods}?{query}", quiet=True)
        names = [item["metadata"]["name"] for item in reply.body["items"]]
        api.note(query, reply.status, names)
    await api.call("GET", f"{api.pods}?fieldSelector=spec.image=x")
    await api.call("GET", f"{api.pods}?labelSelector=a===b")


@scenario
async def a_paged_list_goes_on_where_it_stopped(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    for name in "abcde":
        await api.call("POST", maps, configmap(f"cm-{name}"), quiet=True)
    token, names = "", []
    for _ in range(10):
        reply = await api.call("GET", f"{maps}?limit=2&continue={token}", quiet=True)
        names += [item["metadata"]["name"] for item in reply.body["items"]]
        token = reply.body["metadata"].get("continue", "")
        await api.call("DELETE", f"{maps}/cm-e", quiet=True)
        if not token:
            break
    api.note("all pages", 200, names)
    await api.call("GET", f"{maps}?limit=2&continue=nonsense")


@scenario
async def a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a"))
    await api.watch(maps, events=1)
    await api.watch(f"{maps}?resourceVersion=0", events=1)


@scenario
async def a_watch_from_a_version_shows_every_later_change(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    listed = await api.call("GET", f"{maps}?fieldSelector=metadata.name=a", quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    await api.call("PATCH", f"{maps}/a", {"data": {"k": "w"}}, kind=MERGE, quiet=True)
    await api.call("DELETE", f"{maps}/a", quiet=True)
    await api.watch(f"{maps}?fieldSelector=metadata.name=a&resourceVersion={version}", events=3)


@scenario
async def an_object_that_stops_matching_a_watch_is_deleted_for_it(api: Api) -> None:
    listed = await api.call("GET", api.pods, quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.call("POST", api.pods, pod("a"), quiet=True)
    for labels in ({"app": "other"}, {"app": "a"}):
        patch = {"metadata": {"labels": labels}}
        await api.call("PATCH", f"{api.pods}/a", patch, kind=MERGE, quiet=True)
    await api.watch(f"{api.pods}?labelSelector=app=a&resourceVersion={version}", events=3)


@scenario
async def a_watch_from_a_strange_version_is_refused(api: Api) -> None:
    await api.call("GET", f"{api.pods}?watch=true&resourceVersion=x")
    await api.call("GET", f"{api.pods}?resourceVersion=x")
    await api.call("GET", f"{api.pods}?resourceVersionMatch=Exact")


@scenario
async def tables_are_given_to_those_who_ask(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    reply = await api.call("GET", f"{maps}/a", accept=TABLE, quiet=True)
    columns = [column["name"] for column in reply.body["columnDefinitions"]]
    api.note("Table", reply.status, [reply.body["kind"], columns[0]])


@scenario
async def discovery_knows_pods_in_both_shapes(api: Api) -> None:
    legacy = await api.call("GET", "/api/v1", quiet=True)
    found = {entry["name"]: entry for entry in legacy.body["resources"]}
    for name in ("pods", "pods/binding", "pods/eviction", "pods/status", "nodes", "namespaces"):
        entry = found[name]
        entry.pop("storageVersionHash", None)
        api.note(f"discovery {name}", 200, entry)
    aggregated = await api.call(
        "GET",
        "/api",
        accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        quiet=True,
    )
    body = json.dumps([aggregated.body["kind"], aggregated.body["apiVersion"]])
    api.note("aggregated", aggregated.status, body)


@scenario
async def a_version_that_is_still_to_come_times_out(api: Api) -> None:
    await api.call("GET", f"{api.pods}?resourceVersion=999999999", quiet=True)
    reply = await api.call("GET", f"{api.pods}?resourceVersion=999999999", quiet=True)
    body = {key: reply.body[key] for key in ("reason", "details", "code")}
    api.note("future", reply.status, body)


@scenario
async def options_of_lists_and_watches_that_exclude_each_other(api: Api) -> None:
    for query in (
        "resourceVersionMatch=Sometimes&resourceVersion=1",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "sendInitialEvents=true",
        "watch=true&sendInitialEvents=true",
        "watch=true&resourceVersionMatch=NotOlderThan",
    ):
        await api.call("GET", f"{api.pods}?{query}")


@scenario
async def a_watch_may_begin_with_all_there_is_and_a_bookmark(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    await api.call("POST", maps, configmap("a"), quiet=True)
    options = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    await api.watch(f"{maps}?{options}&fieldSelector=metadata.name=a", events=2)


@scenario
async def a_watch_ends_when_its_time_is_over(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    listed = await api.call("GET", maps, quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.watch(f"{maps}?resourceVersion={version}&timeoutSeconds=1", events=1)


@scenario
async def metadata_alone_is_given_to_those_who_ask(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"), quiet=True)
    for suffix, kind in (("/a", "PartialObjectMetadata"), ("", "PartialObjectMetadataList")):
        accept = f"application/json;as={kind};g=meta.k8s.io;v=v1"
        await api.call("GET", f"{api.pods}{suffix}", accept=accept)


@scenario
async def tables_of_pods_have_the_columns_that_kubectl_shows(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", nodeName="n"), quiet=True)
    await api.call("POST", api.pods, pod("b", schedulingGates=[{"name": "g"}]), quiet=True)
    gates = [{"conditionType": "e/open"}, {"conditionType": "e/shut"}, {"conditionType": "e/none"}]
    await api.call("POST", api.pods, pod("c", readinessGates=gates), quiet=True)
    conditions = [{"type": "e/open", "status": "True"}, {"type": "e/shut", "status": "False"}]
    body = {"status": {"conditions": conditions}}
    await api.call("PATCH", f"{api.pods}/c/status", body, kind=STRATEGIC, quiet=True)
    reply = await api.call("GET", api.pods, accept=TABLE, quiet=True)
    columns = [
        {key: one[key] for key in ("name", "type", "format", "priority")}
        for one in reply.body["columnDefinitions"]
    ]
    cells = [row["cells"] for row in reply.body["rows"]]
    text = [
        [
            cell if name["name"] != "Age" else "{age}"
            for cell, name in zip(row, columns, strict=True)
        ]
        for row in cells
    ]
    api.note("Table", 200, [columns, text])


@scenario
async def groups_versions_and_resources_are_discovered(api: Api) -> None:
    groups = await api.call("GET", "/apis", quiet=True)
    wanted = ("apps", "batch", "policy", "coordination.k8s.io", "scheduling.k8s.io")
    for group in groups.body["groups"]:
        if group["name"] in wanted:
            api.note(group["name"], 200, group["preferredVersion"])
    api.transcript.sort(key=lambda one: one["request"])
    await api.call("GET", "/apis/policy")
    for path, names in (
        ("/apis/batch/v1", ("jobs", "jobs/status")),
        ("/apis/apps/v1", ("deployments", "deployments/scale", "deployments/status")),
        ("/apis/policy/v1", ("poddisruptionbudgets", "poddisruptionbudgets/status")),
        ("/apis/coordination.k8s.io/v1", ("leases",)),
        ("/apis/scheduling.k8s.io/v1", ("priorityclasses",)),
        ("/apis/apiextensions.k8s.io/v1", ("customresourcedefinitions",)),
        ("/api/v1", ("bindings", "configmaps", "events", "nodes/status", "replicationcontrollers")),
    ):
        reply = await api.call("GET", path, quiet=True)
        for entry in reply.body["resources"]:
            entry.pop("storageVersionHash", None)
            if entry["name"] in names:
                api.note(f"{path} {entry['name']}", 200, entry)


@scenario
async def aggregated_discovery_describes_each_resource(api: Api) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    for path in ("/api", "/apis"):
        reply = await api.call("GET", path, accept=accept, quiet=True)
        for group in sorted(reply.body["items"], key=lambda one: one["metadata"].get("name", "")):
            for version in group["versions"]:
                for entry in version["resources"]:
                    if (entry["resource"], version["version"]) in (
                        ("pods", "v1"),
                        ("leases", "v1"),
                        ("priorityclasses", "v1"),
                    ):
                        name = f"{group['metadata'].get('name', '')} {entry['resource']}"
                        entry["subresources"] = [
                            one
                            for one in entry.get("subresources", [])
                            if one["subresource"] in ("binding", "eviction", "status")
                        ]
                        api.note(name, 200, entry)


@scenario
async def a_pod_that_is_bound_leaves_the_watch_of_unassigned_pods(api: Api) -> None:
    listed = await api.call("GET", api.pods, quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.call("POST", api.pods, pod("a"), quiet=True)
    await api.call("POST", f"{api.pods}/a/binding", binding("a", "n"), quiet=True)
    for selector in ("spec.nodeName=", "spec.nodeName=n", "spec.nodeName!=n,metadata.name=a"):
        path = f"{api.pods}?resourceVersion={version}&timeoutSeconds=1&fieldSelector={selector}"
        await api.watch(path, events=3)
    await api.watch(f"{api.pods}/a?resourceVersion={version}&timeoutSeconds=1", events=3)


@scenario
async def deletions_are_watched_to_their_end(api: Api) -> None:
    listed = await api.call("GET", api.pods, quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    held = pod("a", nodeName="n")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.call("POST", api.pods, held, quiet=True)
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 5})
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 0})
    await api.call("PATCH", f"{api.pods}/a", {"metadata": {"finalizers": None}}, kind=MERGE)
    await api.call("GET", f"{api.pods}/a")
    await api.watch(f"{api.pods}?resourceVersion={version}&timeoutSeconds=1", events=9)


@scenario
async def tables_are_watched(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    listed = await api.call("GET", maps, quiet=True)
    version = listed.body["metadata"]["resourceVersion"]
    await api.call("POST", maps, configmap("a", k="v"), quiet=True)
    await api.call("DELETE", f"{maps}/a", quiet=True)
    path = f"{maps}?resourceVersion={version}&fieldSelector=metadata.name=a"
    for event in await api.watch(path, events=2, accept=TABLE, quiet=True):
        table = event["object"]
        columns = [one["name"] for one in table["columnDefinitions"] or ()]
        seen = [event["type"], table["kind"], columns, table["rows"][0]["cells"][:2]]
        api.note("an event", 200, seen)


@scenario
async def pages_of_a_selection_and_their_counts(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    for name in ("cm-a", "cm-b", "cm-c"):
        body = configmap(name)
        body["metadata"]["labels"] = {"l": "m"}
        await api.call("POST", maps, body, quiet=True)
    for query in ("limit=1", "limit=1&labelSelector=l=m", "limit=3", "limit=9", "limit=0"):
        reply = await api.call("GET", f"{maps}?{query}", quiet=True)
        metadata = reply.body["metadata"]
        left = metadata.get("remainingItemCount")
        api.note(query, reply.status, [len(reply.body["items"]), "continue" in metadata, left])
    for query in ("limit=-1", "limit=x", "resourceVersion=0", "limit=1&continue=%25"):
        reply = await api.call("GET", f"{maps}?{query}", quiet=True)
        api.note(query, reply.status, reply.body["kind"])
