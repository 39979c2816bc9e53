# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Deleting, and what comes after."""

from sandbox.tests.apiserver.parity.recorder import MERGE, Api
from sandbox.tests.apiserver.parity.talk import binding, configmap, pod, scenario


@scenario
async def an_unbound_pod_goes_at_once(api: Api) -> None:
    await api.call("POST", api.pods, pod("a"))
    await api.call("DELETE", f"{api.pods}/a")
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_bound_pod_waits_for_its_kubelet(api: Api) -> None:
    await api.call("POST", api.pods, pod("a", nodeName="n"))
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 7})
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 3})
    await api.call("DELETE", f"{api.pods}/a", {"gracePeriodSeconds": 0})
    await api.call("GET", f"{api.pods}/a")


@scenario
async def a_finalizer_holds_an_object_until_it_is_taken_off(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    held = configmap("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.call("POST", maps, held)
    await api.call("DELETE", f"{maps}/a")
    await api.call("DELETE", f"{maps}/a")
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    await api.call("PATCH", f"{maps}/a", more, kind=MERGE)
    await api.call("PATCH", f"{maps}/a", {"metadata": {"finalizers": None}}, kind=MERGE)
    await api.call("GET", f"{maps}/a")


@scenario
async def preconditions_of_a_delete_are_respected(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    reply = await api.call("POST", maps, configmap("a"))
    wrong = "00000000-0000-0000-0000-000000000000"
    await api.call("DELETE", f"{maps}/a", {"preconditions": {"uid": wrong}})
    await api.call("DELETE", f"{maps}/a", {"preconditions": {"resourceVersion": "1"}})
    uid = reply.body["metadata"]["uid"]
    await api.call("DELETE", f"{maps}/a", {"preconditions": {"uid": uid}})


@scenario
async def a_collection_is_deleted_by_selector(api: Api) -> None:
    for name in "ab":
        await api.call("POST", api.pods, pod(name), quiet=True)
    await api.call("DELETE", f"{api.pods}?labelSelector=app=a")
    reply = await api.call("GET", api.pods, quiet=True)
    left = [item["metadata"]["name"] for item in reply.body["items"]]
    api.note("left", 200, left)


@scenario
async def a_terminating_namespace_takes_nothing_new(api: Api) -> None:
    name = f"{api.namespace}-gone"
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}, quiet=True)
    await api.call("POST", f"/api/v1/namespaces/{name}/pods", pod("a"), quiet=True)
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await api.call("PATCH", f"/api/v1/namespaces/{name}/pods/a", held, kind=MERGE, quiet=True)
    await api.call("DELETE", f"/api/v1/namespaces/{name}", quiet=True)
    await api.call("POST", f"/api/v1/namespaces/{name}/pods", pod("b"))
    await api.call("POST", f"/api/v1/namespaces/{name}/pods/a/binding", binding("a", "n"))
    free = {"metadata": {"finalizers": None}}
    await api.call("PATCH", f"/api/v1/namespaces/{name}/pods/a", free, kind=MERGE, quiet=True)


@scenario
async def what_happens_to_dependents_is_the_deleters_choice(api: Api) -> None:
    maps = f"/api/v1/namespaces/{api.namespace}/configmaps"
    for name in "abcd":
        await api.call("POST", maps, configmap(name), quiet=True)
    await api.call("DELETE", f"{maps}/a?propagationPolicy=Foreground")
    await api.call("DELETE", f"{maps}/b", {"propagationPolicy": "Orphan"})
    await api.call("DELETE", f"{maps}/c", {"propagationPolicy": "Background"})
    await api.call("DELETE", f"{maps}/d", {"propagationPolicy": "Sometimes"})
    await api.call("DELETE", f"{maps}/d", {"gracePeriodSeconds": "soon"})


@scenario
async def a_namespace_begins_active_and_ends_terminating(api: Api) -> None:
    name = f"{api.namespace}-x"
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    await api.call("POST", f"/api/v1/namespaces/{name}/pods", pod("a"), quiet=True)
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await api.call("PATCH", f"/api/v1/namespaces/{name}/pods/a", held, kind=MERGE, quiet=True)
    await api.call("DELETE", f"/api/v1/namespaces/{name}")
    reply = await api.call("GET", f"/api/v1/namespaces/{name}", quiet=True)
    phase = reply.body["status"]["phase"]
    api.note("phase", reply.status, phase)
    await api.call("DELETE", "/api/v1/namespaces/kube-system")
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "Not.A.Label"}})
    free = {"metadata": {"finalizers": None}}
    await api.call("PATCH", f"/api/v1/namespaces/{name}/pods/a", free, kind=MERGE, quiet=True)
