# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc explain` and `enbloc queue` for those who may see one namespace alone."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from enbloc.cli import main
from enbloc.client.client import PatchType
from enbloc.client.paths import JOBS, POD_GROUPS, PODS
from enbloc.wire.auto_groups import group_name
from tests.cli.desk import rows
from tests.cli.test_explain import OURS, Desk, desk
from tests.e2e import manifests
from tests.live.world import NAMESPACE

__all__ = ["desk"]


def condition(kind: str, message: str) -> Mapping[str, Any]:
    """A status with a condition that does not hold."""
    told = {
        "type": kind,
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": "2026-01-31T12:00:00Z",
        "observedGeneration": 1,
    }
    return {"status": {"conditions": [told]}}


async def told(desk: Desk, group: str, message: str) -> None:
    """The scheduler has said this of a group."""
    patch = condition("Scheduled", message)
    await desk.client.patch(
        POD_GROUPS, group, patch, NAMESPACE, kind=PatchType.MERGE, subresource="status"
    )


def blind(desk: Desk, *resources: str) -> None:
    """These may not be listed."""
    for resource in resources or ("nodes",):
        desk.faults.add(verb="list", resource=resource, status=403)


@pytest.mark.parametrize("name", ["train", "job/train", "jobs/train", "train-1", "podgroup/train"])
async def test_a_group_is_found_by_its_pods_and_by_what_made_them(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    await desk.waiting("train", 2)
    await told(desk, "train", "no GPU is free")
    blind(desk)
    assert await desk.type("explain", name) == 0
    assert capsys.readouterr().out == "default/train waits: Unschedulable: no GPU is free\n"


async def test_a_group_that_was_made_for_a_job_is_found_by_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    job = await desk.client.create(JOBS, manifests.job("train", 0, ""), NAMESPACE)
    group = group_name("Job", "train", job["metadata"]["uid"])
    await desk.group(group, 1)
    pod = manifests.pod("train-0", "", owner=job)
    await desk.client.create(PODS, pod, NAMESPACE)
    await told(desk, group, "no GPU is free")
    blind(desk)
    assert await desk.type("explain", "job/train") == 0
    assert capsys.readouterr().out == f"default/{group} waits: Unschedulable: no GPU is free\n"


async def test_only_groups_and_pods_that_wait_for_us_are_listed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1")
    await desk.waiting("late", 2)
    await told(desk, "late", "no GPU is free")
    await desk.waiting("early", 1, nodeName="n1")
    await desk.group("empty", 1)
    await desk.waiting("theirs", 1, schedulerName="default-scheduler")
    await desk.pod("alone")
    blind(desk)
    assert await desk.type("queue") == 0
    header, *lines = rows(capsys.readouterr().out)
    assert header == "PLACE NAME OWNER PENDING NEEDS PRIORITY WAITING START WHY"
    late, alone = sorted(lines)
    assert late.startswith("- late Job/late 2 2 0 ")
    assert late.endswith("s - Unschedulable: no GPU is free")
    assert alone.startswith("- pod/alone - 1 1 0 ")
    assert await desk.type("explain", "theirs") == 0
    said = "default/theirs is scheduled by default-scheduler, not by enbloc.\n"
    assert capsys.readouterr().out == said
    assert await desk.type("queue", "-n", "other") == 0
    assert capsys.readouterr().err.endswith("Nobody waits for nodes in namespace other.\n")


async def test_without_groups_their_pods_say_why(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.waiting("train", 1)
    patch = condition("PodScheduled", "0/3 nodes are available")
    await desk.client.patch(
        PODS, "train-0", patch, NAMESPACE, kind=PatchType.MERGE, subresource="status"
    )
    blind(desk, "nodes", "podgroups")
    assert await desk.type("explain", "train") == 0
    said = "default/train waits: Unschedulable: 0/3 nodes are available\n"
    assert capsys.readouterr().out == said


async def test_the_note_says_what_is_forbidden_and_what_is_listed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    blind(desk, "nodes", "namespaces", "resourceslices")
    assert await desk.type("queue", "-A") == 0
    assert capsys.readouterr().err.endswith("Nobody waits for nodes in namespace default.\n")
    await desk.waiting("train", 1)
    assert await desk.type("queue") == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("note: this is what the scheduler reported last in namespace default; ")
    assert ": cannot list " in line
    assert '(grant the verb "list" on ' in line
    assert line.endswith(" (and 2 more)")
    assert await desk.type("queue", "-A") == 0
    _, line = capsys.readouterr().err.splitlines()
    assert line.startswith("note: --all-namespaces has no effect: only namespace default is listed")


async def test_where_not_even_pods_may_be_listed_the_error_says_what_to_grant(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    blind(desk, "pods")
    assert await desk.type("queue") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: cannot list pods: 403 Forbidden")
    assert line.endswith('(grant the verb "list" on pods)')


async def test_documents_have_the_same_keys(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.waiting("train", 2)
    await told(desk, "train", "no GPU is free")
    assert await desk.type("queue", "-o", "json") == 0
    full = json.loads(capsys.readouterr().out)
    assert await desk.type("explain", "train", "-o", "json") == 0
    explained = json.loads(capsys.readouterr().out)
    blind(desk)
    assert await desk.type("queue", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == list(full)
    [item] = found["items"]
    assert list(item) == list(full["items"][0])
    unknown = {key: item[key] for key in ("place", "start", "startIsLatest", "starts")}
    assert set(unknown.values()) == {None}
    assert (item["kind"], item["name"], item["minimum"]) == ("PodGroup", "train", 2)
    assert (item["reason"], item["message"]) == ("Unschedulable", "no GPU is free")
    assert await desk.type("explain", "train", "-o", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == list(explained)
    assert answer["of"]["pending"] == ["train-0", "train-1"]
    assert not answer["complete"]


async def test_the_configuration_names_the_kubeconfig_and_whose_pods_are_ours(
    desk: Desk,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    await desk.waiting("train", 1, schedulerName="ours")
    blind(desk)
    path = tmp_path / "config.yaml"
    path.write_text(f"{OURS}clientConnection: {{kubeconfig: {desk.kubeconfig}}}\n")
    assert await asyncio.to_thread(main, ["explain", "train", "--config", str(path)]) == 0
    assert capsys.readouterr().out.startswith("default/train waits: ")


async def test_whose_pods_are_ours_is_read_of_the_cluster_where_it_may_be(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.configured({"config.yaml": OURS})
    await desk.waiting("train", 1, schedulerName="ours")
    blind(desk)
    assert await desk.type("explain", "train") == 0
    assert capsys.readouterr().out.startswith("default/train waits: ")
