# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Finalizers, owners, preconditions, namespaces."""

from typing import Any

import pytest

from .conftest import MERGE, PODS, Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"


async def config(api: Client, name: str, owner: Any = None, **metadata: Any) -> dict[str, Any]:
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"]}
        reference |= {"uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
        metadata["ownerReferences"] = [reference]
    return await api.create(MAPS, {"metadata": {"name": name, **metadata}})


async def test_what_is_deleted_at_once_is_answered_with_a_status(api: Client) -> None:
    created = await config(api, "a")
    status, body = await api.ask("DELETE", f"{MAPS}/a")
    assert (status, body["kind"], body["status"]) == (200, "Status", "Success")
    assert body["details"]["uid"] == created["metadata"]["uid"]
    assert (await api.ask("DELETE", f"{MAPS}/a"))[0] == 404


async def test_a_finalizer_keeps_the_object_until_it_is_removed(api: Client) -> None:
    await config(api, "a", finalizers=["x/y"])
    _, body = await api.ask("DELETE", f"{MAPS}/a")
    assert body["metadata"]["deletionTimestamp"]
    late = {"metadata": {"finalizers": ["x/y", "x/z"]}}
    assert (await api.ask("PATCH", f"{MAPS}/a", late, MERGE))[0] == 422
    await api.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert (await api.ask("GET", f"{MAPS}/a"))[0] == 404


@pytest.mark.parametrize("precondition", [{"uid": "z"}, {"resourceVersion": "1"}])
async def test_a_precondition_that_fails_prevents_the_deletion(
    api: Client, precondition: dict[str, str]
) -> None:
    await config(api, "a")
    status, body = await api.ask("DELETE", f"{MAPS}/a", {"preconditions": precondition})
    assert (status, body["reason"]) == (409, "Conflict")
    await api.get(f"{MAPS}/a")


async def test_dependents_follow_their_owner(api: Client) -> None:
    owner = await config(api, "owner")
    child = await config(api, "child", owner)
    await config(api, "grandchild", child)
    await api.ask("DELETE", f"{MAPS}/owner")
    await api.until_gone(f"{MAPS}/child")
    await api.until_gone(f"{MAPS}/grandchild")


async def test_orphans_stay_and_forget_their_owner(api: Client) -> None:
    owner = await config(api, "owner")
    await config(api, "child", owner)
    await api.ask("DELETE", f"{MAPS}/owner?propagationPolicy=Orphan")
    await api.until_gone(f"{MAPS}/owner")
    assert "ownerReferences" not in (await api.get(f"{MAPS}/child"))["metadata"]


async def test_in_the_foreground_the_owner_goes_last(api: Client) -> None:
    owner = await config(api, "owner")
    await config(api, "child", owner, finalizers=["x/y"])
    await api.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    waiting = await api.get(f"{MAPS}/owner")
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    while "deletionTimestamp" not in (await api.get(f"{MAPS}/child"))["metadata"]:
        pass
    await api.patch(f"{MAPS}/child", {"metadata": {"finalizers": None}})
    await api.until_gone(f"{MAPS}/owner")


async def test_a_second_owner_keeps_the_dependent(api: Client) -> None:
    first, second = await config(api, "first"), await config(api, "second")
    child = await config(api, "child", first)
    references = [
        *child["metadata"]["ownerReferences"],
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "second",
            "uid": second["metadata"]["uid"],
        },
    ]
    await api.patch(f"{MAPS}/child", {"metadata": {"ownerReferences": references}})
    await api.ask("DELETE", f"{MAPS}/first")
    while len((await api.get(f"{MAPS}/child"))["metadata"]["ownerReferences"]) > 1:
        pass


async def test_an_object_whose_owner_does_not_exist_goes(api: Client) -> None:
    await config(api, "child", {"metadata": {"name": "nobody", "uid": "nothing"}})
    await api.until_gone(f"{MAPS}/child")


async def test_an_unknown_propagation_policy_is_refused(api: Client) -> None:
    await config(api, "a")
    assert (await api.ask("DELETE", f"{MAPS}/a?propagationPolicy=Foo"))[0] == 422
    assert (await api.ask("DELETE", f"{MAPS}/a?gracePeriodSeconds=soon"))[0] == 400
    assert (await api.ask("DELETE", f"{MAPS}/a", {"orphanDependents": True}))[0] == 200


async def test_a_collection_is_deleted_by_selector(api: Client) -> None:
    await config(api, "a", labels={"x": "1"})
    await config(api, "b", labels={"x": "1"})
    await config(api, "c")
    status, body = await api.ask("DELETE", f"{MAPS}?labelSelector=x=1")
    assert (status, len(body["items"])) == (200, 2)
    assert [i["metadata"]["name"] for i in (await api.get(MAPS))["items"]] == ["c"]


async def test_a_job_warns_that_its_pods_stay(api: Client) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {**pod("a")["spec"], "restartPolicy": "Never"}}
    job = await api.create(path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "j"
    assert job["spec"]["selector"]["matchLabels"] == {
        "batch.kubernetes.io/controller-uid": job["metadata"]["uid"]
    }
    await api.ask("DELETE", f"{path}/j")
    assert "child pods are preserved" in api.headers["Warning"]


# ── namespaces ───────────────────────────────────────────────────────────────────────────────


async def test_a_namespace_takes_its_contents_with_it(api: Client) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "n"}})
    created = await api.get(f"{NAMESPACES}/n")
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    await api.create(f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "a"}})
    _, body = await api.ask("DELETE", f"{NAMESPACES}/n")
    assert body["status"]["phase"] == "Terminating"
    await api.until_gone(f"{NAMESPACES}/n")
    await api.until_gone(f"{NAMESPACES}/n/configmaps/a")


async def test_nothing_new_comes_into_a_namespace_that_goes(api: Client) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "n"}})
    pods = f"{NAMESPACES}/n/pods"
    await api.create(pods, pod("a", nodeName="n1"))
    await api.create(pods, {**pod("b"), "metadata": {"name": "b", "finalizers": ["x/y"]}})
    await api.ask("DELETE", f"{NAMESPACES}/n")
    status, body = await api.ask("POST", f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "a"}})
    assert (status, body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    target = {"metadata": {"name": "b"}, "target": {"name": "n1"}}
    status, body = await api.ask("POST", f"{pods}/b/binding", target)
    assert (status, body["reason"]) == (403, "Forbidden")
    while "deletionTimestamp" not in (await api.get(f"{pods}/a"))["metadata"]:
        pass
    await api.ask("DELETE", f"{pods}/a?gracePeriodSeconds=0")
    await api.patch(f"{pods}/b", {"metadata": {"finalizers": None}})
    await api.until_gone(f"{NAMESPACES}/n")


async def test_a_namespace_may_be_finalized_by_hand(api: Client) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "n"}})
    await api.create(f"{NAMESPACES}/n/pods", pod("a", nodeName="n1"))
    await api.ask("DELETE", f"{NAMESPACES}/n")
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": []}}
    assert (await api.ask("PUT", f"{NAMESPACES}/n/finalize", body))[0] == 200
    await api.until_gone(f"{NAMESPACES}/n")


async def test_the_first_namespaces_stay(api: Client) -> None:
    for name in ("default", "kube-system", "kube-public"):
        assert (await api.ask("DELETE", f"{NAMESPACES}/{name}"))[0] == 403


async def test_every_namespace_has_a_service_account(api: Client) -> None:
    await api.create(NAMESPACES, {"metadata": {"name": "n"}})
    assert await api.get(f"{NAMESPACES}/n/serviceaccounts/default")
    assert await api.get(f"{PODS.replace('pods', 'serviceaccounts')}/default")
