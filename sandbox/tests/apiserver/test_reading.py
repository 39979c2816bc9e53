# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lists, selectors, pages, tables and watches."""

import asyncio
from typing import Any

import pytest

from enbloc_sandbox import Sandbox

from .conftest import PODS, TABLE, Client, pod

MAPS = "/api/v1/namespaces/default/configmaps"


async def labelled(api: Client, name: str, **labels: str) -> dict[str, Any]:
    return await api.create(MAPS, {"metadata": {"name": name, "labels": labels}})


def names(listing: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listing["items"]]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("a=1", ["x"]),
        ("a==1", ["x"]),
        ("a!=1", ["y", "z"]),
        ("a", ["x", "y"]),
        ("!a", ["z"]),
        ("a in (1, 2)", ["x", "y"]),
        ("a notin (1,2)", ["z"]),
        ("a in (1,2),b=3", ["y"]),
    ],
)
async def test_label_selectors(api: Client, selector: str, found: list[str]) -> None:
    await labelled(api, "x", a="1")
    await labelled(api, "y", a="2", b="3")
    await labelled(api, "z")
    assert names(await api.get(f"{MAPS}?labelSelector={selector}")) == found


@pytest.mark.parametrize("selector", ["a===b", "a in b", "a,,b", "a b"])
async def test_a_malformed_label_selector_is_refused(api: Client, selector: str) -> None:
    assert (await api.ask("GET", f"{MAPS}?labelSelector={selector}"))[0] == 400


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("metadata.name=a", ["a"]),
        ("metadata.name!=a", ["b", "c"]),
        ("spec.nodeName=", ["a"]),
        ("spec.nodeName=n1", ["b", "c"]),
        ("spec.nodeName!=", ["b", "c"]),
        ("spec.nodeName=n1,metadata.name=c", ["c"]),
        ("status.phase=Pending,spec.schedulerName==x", ["a"]),
        ("spec.hostNetwork=false,metadata.namespace=default", ["a", "b", "c"]),
    ],
)
async def test_field_selectors(api: Client, selector: str, found: list[str]) -> None:
    await api.create(PODS, pod("c", nodeName="n1"))
    await api.create(PODS, pod("b", nodeName="n1"))
    await api.create(PODS, pod("a", schedulerName="x"))
    assert names(await api.get(f"/api/v1/pods?fieldSelector={selector}")) == found


@pytest.mark.parametrize("selector", ["spec.foo=1", "metadata.name"])
async def test_an_unsupported_field_selector_is_refused(api: Client, selector: str) -> None:
    assert (await api.ask("GET", f"{PODS}?fieldSelector={selector}"))[0] == 400


async def test_pages_show_one_snapshot_whatever_happens_meanwhile(api: Client) -> None:
    for name in "abcde":
        await labelled(api, name)
    page = await api.get(f"{MAPS}?limit=2")
    assert (names(page), page["metadata"]["remainingItemCount"]) == (["a", "b"], 3)
    await api.ask("DELETE", f"{MAPS}/d")
    await api.patch(f"{MAPS}/c", {"data": {"x": "y"}})
    await labelled(api, "cc")
    rest = await api.get(f"{MAPS}?limit=9&continue={page['metadata']['continue']}")
    assert names(rest) == ["c", "d", "e"]
    assert "data" not in rest["items"][0]
    assert rest["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"]
    exact = f"resourceVersion={page['metadata']['resourceVersion']}&resourceVersionMatch=Exact"
    assert names(await api.get(f"{MAPS}?{exact}")) == list("abcde")
    assert (await api.ask("GET", f"{MAPS}?continue=nonsense"))[0] == 400
    assert (await api.ask("GET", f"{MAPS}?limit=many"))[0] == 400


async def test_a_page_too_old_to_continue_is_gone(sandbox: Sandbox, api: Client) -> None:
    await labelled(api, "a")
    await labelled(api, "b")
    page = await api.get(f"{MAPS}?limit=1")
    sandbox.faults.expire_watches()
    status, body = await api.ask("GET", f"{MAPS}?continue={page['metadata']['continue']}")
    assert (status, body["reason"]) == (410, "Expired")
    assert (await api.ask("GET", f"{MAPS}?resourceVersion=2&resourceVersionMatch=Exact"))[0] == 410


async def test_items_of_a_list_do_not_repeat_their_kind(api: Client) -> None:
    await labelled(api, "a")
    listing = await api.get(MAPS)
    assert (listing["kind"], listing["apiVersion"]) == ("ConfigMapList", "v1")
    assert "kind" not in listing["items"][0]


async def test_metadata_alone_may_be_asked_for(api: Client) -> None:
    await api.create(PODS, pod("a"))
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listing = await api.get(PODS, Accept=accept)
    assert listing["kind"] == "PartialObjectMetadataList"
    assert "spec" not in listing["items"][0]
    assert listing["items"][0]["metadata"]["managedFields"]


@pytest.mark.parametrize(
    ("path", "body", "column", "cell"),
    [
        pytest.param(PODS, pod("a"), "Status", "Pending", id="pods"),
        pytest.param("/api/v1/nodes", {"metadata": {"name": "n"}}, "Status", "Unknown", id="nodes"),
        pytest.param(MAPS, {"metadata": {"name": "m"}, "data": {"a": "b"}}, "Data", 1, id="maps"),
        pytest.param(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"metadata": {"name": "m"}, "value": 3},
            "Value",
            3,
            id="priority classes",
        ),
        pytest.param(
            "/apis/apps/v1/namespaces/default/deployments",
            {
                "metadata": {"name": "d"},
                "spec": {
                    "selector": {"matchLabels": {"app": "x"}},
                    "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod("a")["spec"]},
                },
            },
            "Ready",
            "0/1",
            id="deployments",
        ),
        pytest.param(
            "/apis/batch/v1/namespaces/default/jobs",
            {
                "metadata": {"name": "j"},
                "spec": {"template": {"spec": {**pod("a")["spec"], "restartPolicy": "Never"}}},
            },
            "Completions",
            "0/1",
            id="jobs",
        ),
        pytest.param(
            "/api/v1/namespaces/default/services",
            {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
            "Port(s)",
            "80/TCP",
            id="services",
        ),
        pytest.param(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            {"metadata": {"name": "b"}, "spec": {"minAvailable": 2}},
            "Min Available",
            "2",
            id="budgets",
        ),
    ],
)
async def test_tables_have_the_columns_of_the_real_server(
    api: Client, path: str, body: Any, column: str, cell: Any
) -> None:
    await api.create(path, body)
    table = await api.get(path, Accept=TABLE)
    columns = [one["name"] for one in table["columnDefinitions"]]
    row = next(
        r for r in table["rows"] if r["object"]["metadata"]["name"] == body["metadata"]["name"]
    )
    assert len(row["cells"]) == len(columns)
    assert row["cells"][columns.index(column)] == cell
    assert row["object"]["kind"] == "PartialObjectMetadata"
    whole = await api.get(f"{path}?includeObject=Object", Accept=TABLE)
    assert whole["rows"][0]["object"]["kind"] != "PartialObjectMetadata"


async def test_the_status_column_of_a_pod_tells_how_it_ended(api: Client) -> None:
    await api.create(PODS, pod("a", nodeName="n1"))
    done = {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}, "name": "c"}
    status = {"phase": "Succeeded", "containerStatuses": [{**done, "restartCount": 2}]}
    await api.patch(f"{PODS}/a/status", {"status": status})
    row = (await api.get(f"{PODS}/a", Accept=TABLE))["rows"][0]
    assert row["cells"][:4] == ["a", "0/1", "Completed", "2"]


async def test_a_node_shows_its_roles_and_that_it_is_cordoned(api: Client) -> None:
    labels = {"node-role.kubernetes.io/gpu": ""}
    body = {"metadata": {"name": "n", "labels": labels}, "spec": {"unschedulable": True}}
    await api.create("/api/v1/nodes", body)
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    await api.patch("/api/v1/nodes/n/status", {"status": ready})
    row = (await api.get("/api/v1/nodes", Accept=TABLE))["rows"][0]
    assert row["cells"][1:3] == ["Ready,SchedulingDisabled", "gpu"]


# ── watches ──────────────────────────────────────────────────────────────────────────────────


async def test_a_watch_shows_what_is_and_what_becomes(api: Client) -> None:
    await labelled(api, "a")
    async with api.watch(f"{MAPS}?watch=true") as events:
        assert (await anext(events))["type"] == "ADDED"
        await api.patch(f"{MAPS}/a", {"data": {"x": "y"}})
        changed = await anext(events)
        await api.ask("DELETE", f"{MAPS}/a")
        gone = await anext(events)
    assert (changed["type"], changed["object"]["data"]) == ("MODIFIED", {"x": "y"})
    assert gone["type"] == "DELETED"
    before, after = (int(e["object"]["metadata"]["resourceVersion"]) for e in (changed, gone))
    assert before < after


async def test_a_watch_resumes_after_the_version_it_names(api: Client) -> None:
    first = await labelled(api, "a")
    await labelled(api, "b")
    path = f"{MAPS}?watch=1&resourceVersion={first['metadata']['resourceVersion']}"
    async with api.watch(path) as events:
        assert (await anext(events))["object"]["metadata"]["name"] == "b"


async def test_objects_come_and_go_as_they_match_the_selector(api: Client) -> None:
    await labelled(api, "a", x="1")
    async with api.watch(f"{MAPS}?watch=1&labelSelector=x=1") as events:
        assert (await anext(events))["type"] == "ADDED"
        await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "2"}}})
        assert (await anext(events))["type"] == "DELETED"
        await api.patch(f"{MAPS}/a", {"data": {"q": "r"}})
        await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "1"}}})
        assert (await anext(events))["type"] == "ADDED"


async def test_a_watch_of_one_node_sees_its_pods_only(api: Client) -> None:
    await api.create(PODS, pod("a"))
    async with api.watch("/api/v1/pods?watch=1&fieldSelector=spec.nodeName=n1") as events:
        await api.create(PODS, pod("b", nodeName="n2"))
        target = {"metadata": {"name": "a"}, "target": {"name": "n1"}}
        await api.create(f"{PODS}/a/binding", target)
        event = await anext(events)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_a_path_with_a_name_is_read_even_when_a_watch_is_asked_for(api: Client) -> None:
    await labelled(api, "a")
    assert (await api.get(f"{MAPS}/a?watch=1"))["metadata"]["name"] == "a"


async def test_a_watch_list_ends_its_beginning_with_a_bookmark(api: Client) -> None:
    await labelled(api, "a")
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    async with api.watch(f"{MAPS}?{query}&allowWatchBookmarks=true") as events:
        assert (await anext(events))["type"] == "ADDED"
        bookmark = await anext(events)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert (await api.ask("GET", f"{MAPS}?watch=1&sendInitialEvents=true"))[0] == 422


async def test_a_watch_ends_when_its_time_is_over(api: Client) -> None:
    async with api.watch(f"{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1") as events:
        assert [event async for event in events] == []


async def test_a_watch_says_how_far_it_is_a_while_before_it_ends(api: Client) -> None:
    """Who waits for that, as a new leader does, need not wait for the end."""
    query = "watch=1&resourceVersion=1&timeoutSeconds=3&allowWatchBookmarks=true"
    async with api.watch(f"{MAPS}?{query}") as events:
        assert (await anext(events))["type"] == "BOOKMARK"
        await labelled(api, "a")
        assert (await anext(events))["type"] == "ADDED"


async def test_a_watch_says_that_twice_however_the_clock_is_rounded(api: Client) -> None:
    """The sums and differences of times are rarely exact. The second is for the end."""
    query = "watch=1&resourceVersion=1&timeoutSeconds=3&allowWatchBookmarks=true"
    for _ in range(20):
        async with api.watch(f"{MAPS}?{query}") as events:
            assert (await anext(events))["type"] == "BOOKMARK"
            assert (await anext(events))["type"] == "BOOKMARK"
            assert await anext(events, None) is None
        await asyncio.sleep(0.127571)


async def test_a_version_that_is_too_old_ends_in_an_error_event(
    sandbox: Sandbox, api: Client
) -> None:
    await labelled(api, "a")
    sandbox.faults.expire_watches()
    async with api.watch(f"{MAPS}?watch=1&resourceVersion=2") as events:
        event = await anext(events)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert event["object"]["reason"] == "Expired"
        assert [one async for one in events] == []


async def test_a_watched_table_defines_its_columns_once(api: Client) -> None:
    await labelled(api, "a")
    await labelled(api, "b")
    async with api.session.get(f"{api.url}{MAPS}?watch=1", headers={"Accept": TABLE}) as answer:
        first = await answer.content.readline()
        second = await answer.content.readline()
    assert b'"columnDefinitions":[{' in first
    assert b'"columnDefinitions":null' in second


async def test_a_watcher_that_goes_away_is_forgotten(sandbox: Sandbox, api: Client) -> None:
    async with api.watch(f"{MAPS}?watch=1&resourceVersion=1"):
        assert sandbox.watches == 1
    # The server learns of it when it handles the end of the connection: one request later.
    while sandbox.watches:
        await api.get(MAPS)
