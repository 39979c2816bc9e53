# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc explain` and `enbloc queue`, on a sandbox where nobody schedules."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.cli import main
from enbloc.client.client import PatchType
from enbloc.client.paths import CONFIG_MAPS, JOBS, NAMESPACES, POD_GROUPS, PODS
from enbloc.process import copies
from enbloc_sandbox import Sandbox
from tests.cli.desk import CommandDesk, rows
from tests.cli.processes import unreachable
from tests.e2e import manifests
from tests.live.world import NAMESPACE

OURS = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{schedulerName: ours}]\n"
)


class Desk(CommandDesk):
    """A cluster, and the commands as people type them."""

    async def configured(self, data: dict[str, str]) -> None:
        """The ConfigMap of the scheduler."""
        metadata = {"name": "enbloc-scheduler", "namespace": "enbloc-system"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        await self.client.create(NAMESPACES, {"metadata": {"name": "enbloc-system"}})
        await self.client.create(CONFIG_MAPS, body, "enbloc-system")

    async def waiting(self, group: str, size: int, **spec: Any) -> None:
        """A gang of a Job, whose pods have this in their specs."""
        await self.group(group, size)
        job = await self.client.create(JOBS, manifests.job(group, 0, ""), NAMESPACE)
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        for at in range(size):
            metadata = {
                "name": f"{group}-{at}",
                "annotations": {"enbloc.dev/pod-group": group},
                "ownerReferences": [manifests.reference(job)],
            }
            body = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {"schedulerName": "enbloc", "containers": [container], **spec},
            }
            made = await self.client.create(PODS, body, NAMESPACE)
            if "nodeName" in spec:  # its kubelet has seen it
                seen = {"status": {"startTime": made["metadata"]["creationTimestamp"]}}
                await self.client.patch(
                    PODS,
                    f"{group}-{at}",
                    seen,
                    NAMESPACE,
                    kind=PatchType.MERGE,
                    subresource="status",
                )


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(copies, "AVAILABLE", False)  # a test starts no process
    async with Sandbox() as sandbox, Desk(sandbox, tmp_path) as opened:
        yield opened


async def test_the_first_line_says_what_is_wrong_and_with_what_it_would_start(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.waiting("train", 2, nodeSelector={"gpu": "a100"})
    assert await desk.type("explain", "train") == 0
    captured = capsys.readouterr()
    first, *_, last = captured.out.splitlines()
    assert first.startswith("default/train would not fit if the cluster were empty: needs 2 ")
    assert first.endswith("It would start with no nodeSelector gpu=a100.")
    assert last == "    no nodeSelector gpu=a100"
    assert captured.err == ""


async def test_a_claim_that_is_missing_is_not_blamed_on_the_nodes(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    await desk.waiting("train", 2, volumes=[volume])
    assert await desk.type("explain", "train", "--output=json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cause"] == "other"
    assert found["sentence"] == (
        "default/train waits: None of the 2 required members fits: 0/2 nodes are available: "
        'persistentvolumeclaim "data" not found.'
    )


@pytest.mark.parametrize(
    "name", ["train-1", "pod/train-1", "job/train", "podgroup/train", "epg/train"]
)
async def test_a_group_is_found_by_its_pods_and_by_what_made_them(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.waiting("train", 2)
    assert await desk.type("explain", name) == 0
    assert capsys.readouterr().out.startswith("default/train would not fit")


async def test_a_group_that_has_its_nodes_says_where(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=4)
    await desk.waiting("train", 1, nodeName="n1")
    assert await desk.type("explain", "train") == 0
    assert capsys.readouterr().out == "default/train does not wait: 1 pod is on n1.\n"


async def test_members_that_are_gated_are_not_taken_off_those_with_a_node(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=4)
    await desk.waiting("train", 2, schedulingGates=[{"name": "example.com/quota"}])
    assert await desk.type("explain", "train") == 0
    assert "Members: 0 of at least 2, 0 with a node." in capsys.readouterr().out


async def test_a_pod_of_another_scheduler_says_whose_it_is(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.waiting("train", 1, schedulerName="default-scheduler")
    assert await desk.type("explain", "train") == 0
    said = "default/train is scheduled by default-scheduler, not by enbloc.\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("trian", "not found in namespace default; did you mean train", id="a slip"),
        pytest.param("-n other train", "not found in namespace other; there is one in namespace "
                     "default: pass --namespace", id="elsewhere"),
        pytest.param("empty", "PodGroup default/empty has no pods", id="no pods"),
    ],
)  # fmt: skip
async def test_what_does_not_exist_is_told_with_what_does(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    await desk.waiting("train", 1)
    await desk.group("empty", 1)
    assert await desk.type("explain", *name.split()) == 1
    assert said in capsys.readouterr().err


async def test_programs_get_the_same_as_a_document(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.waiting("train", 2)
    assert await desk.type("explain", "train", "--output=json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["cause"]) == ("Explanation", "cluster")
    assert found["of"]["pending"] == ["train-0", "train-1"]
    assert {"change": "1 more node like n1", "whose": "administrator", "victims": []} in (
        found["remedies"]
    )
    assert await desk.type("explain", "train", "--output=yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == found


async def test_the_queue_lists_those_of_the_namespace_in_order(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=2)
    await desk.waiting("first", 2)  # of the same second, so names decide
    await desk.waiting("second", 1)
    assert await desk.type("queue") == 0
    header, first, second = rows(capsys.readouterr().out)
    assert header == "PLACE NAME OWNER PENDING NEEDS PRIORITY WAITING START WHY"
    assert first.startswith("1 first Job/first 2 2 0 ")
    assert first.endswith(" now")
    assert second.startswith("2 second Job/second 1 1 0 ")
    assert "- Unschedulable: The 1 required member does not fit: 0/1 nodes" in second
    assert await desk.type("queue", "-n", "other") == 0
    assert capsys.readouterr().err == "Nobody waits for nodes in namespace other.\n"
    assert await desk.type("queue", "-A") == 0
    assert rows(capsys.readouterr().out)[1].startswith("1 default first Job/first")


async def test_the_queue_is_a_document_for_programs(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=2)
    await desk.waiting("train", 2)
    assert await desk.type("queue", "-o", "json") == 0
    [item] = json.loads(capsys.readouterr().out)["items"]
    assert (item["place"], item["name"], item["starts"]) == (1, "train", True)
    assert item["placements"] == [
        {"pod": "train-0", "node": "n1"},
        {"pod": "train-1", "node": "n1"},
    ]


async def test_the_queue_says_when_limits_end_enough(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=2)
    await desk.waiting("early", 2, nodeName="n1", activeDeadlineSeconds=7200)
    await desk.waiting("late", 2)
    assert await desk.type("queue") == 0
    [_, late] = rows(capsys.readouterr().out)
    assert re.match(
        r"1 late Job/late 2 2 0 \d+s <=(119m|120m|2h) Unschedulable: None of the 2", late
    )
    assert await desk.type("queue", "--start") == 0
    [_, late] = rows(capsys.readouterr().out)
    assert re.match(r"1 late Job/late 2 2 0 \d+s <=20\d\d-", late)


async def test_whether_a_start_is_the_latest_is_said_of_those_alone_that_have_a_later_one(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=2)
    await desk.waiting("early", 1, nodeName="n1", activeDeadlineSeconds=7200)
    await desk.waiting("now", 1)
    await desk.waiting("late", 2)
    await desk.waiting("never", 3)
    assert await desk.type("queue", "-o", "json") == 0
    items = json.loads(capsys.readouterr().out)["items"]
    found = {item["name"]: (item["start"] is not None, item["startIsLatest"]) for item in items}
    assert found == {"now": (True, None), "late": (False, None), "never": (False, None)}
    await desk.delete("now-0")
    assert await desk.type("queue", "-o", "json") == 0
    [late, never] = json.loads(capsys.readouterr().out)["items"]
    assert (late["start"] is not None, late["startIsLatest"]) == (True, True)
    assert (never["start"], never["startIsLatest"]) == (None, None)


async def test_the_nodes_of_a_shape_have_a_line(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.nodes("large", cpu=32)
    await desk.waiting("busy", 1, nodeName="n1")
    await desk.waiting("train", 2)
    assert await desk.type("nodes") == 0
    assert rows(capsys.readouterr().out) == [
        "LIKE NODES USABLE CPU MEMORY GPUS PODS TAINTS STARTING RESERVED",
        "n1 2 2 7/8 128/128Gi 0/0 1 - - -",
        "large 1 1 32/32 64/64Gi 0/0 0 - default/train -",
    ]


async def test_nodes_say_for_whom_they_are_reserved(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.waiting("busy", 1, nodeName="n1")
    await desk.waiting("evicts", 1)
    nominated = {"status": {"nominatedNodeName": "n1"}}
    await desk.client.patch(
        PODS, "evicts-0", nominated, NAMESPACE, kind=PatchType.MERGE, subresource="status"
    )
    assert await desk.type("nodes") == 0
    [_, line] = rows(capsys.readouterr().out)
    assert line == "n1 1 1 0/1 64/64Gi 0/0 1 - - default/evicts"
    assert await desk.type("nodes", "-o", "json") == 0
    [shape] = json.loads(capsys.readouterr().out)["items"]
    assert shape["reserved"] == ["default/evicts"]


@pytest.mark.parametrize("command", [("explain", "train"), ("queue",)], ids=["explain", "queue"])
async def test_who_may_not_list_nodes_learns_what_the_scheduler_reported_last(
    desk: Desk, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    await desk.waiting("train", 1)
    condition = {
        "type": "Scheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no GPU is free",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
        "observedGeneration": 1,
    }
    patch = {"status": {"conditions": [condition]}}
    await desk.client.patch(
        POD_GROUPS, "train", patch, NAMESPACE, kind=PatchType.MERGE, subresource="status"
    )
    desk.faults.add(verb="list", resource="nodes", status=403)
    assert await desk.type(*command) == 0
    captured = capsys.readouterr()
    assert "Unschedulable" in captured.out
    assert "no GPU is free" in captured.out
    assert captured.err.startswith("note: this is what the scheduler reported last")


async def test_the_configuration_of_the_cluster_is_read_where_none_is_given(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.configured({"config.yaml": OURS, "README": "a: b"})
    await desk.waiting("train", 1)
    assert await desk.type("explain", "train") == 0
    assert capsys.readouterr().out == "default/train is scheduled by enbloc, not by ours.\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param({"config.yaml": "a: ["}, ", config.yaml: ", id="no YAML"),
        pytest.param({"config.yaml": "a: b"}, ", config.yaml: ", id="no kind"),
        pytest.param(
            {
                "config.yaml": f"{OURS}\n".replace(
                    "schedulerName: ours", "plugins: {filter: {enabled: [{name: Nobodys}]}}"
                )
            },
            "Nobodys",
            id="unknown plugin",
        ),
        pytest.param({"README": OURS}, ": has no key config.yaml", id="another key"),
    ],
)
async def test_a_configuration_of_the_cluster_that_cannot_be_used_is_a_warning(
    desk: Desk, capsys: pytest.CaptureFixture[str], data: dict[str, str], said: str
) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.configured(data)
    await desk.waiting("train", 1)
    assert await desk.type("queue") == 0
    captured = capsys.readouterr()
    assert rows(captured.out)[1].endswith(" now")
    [line] = captured.err.splitlines()
    assert line.startswith("warning: ConfigMap enbloc-system/enbloc-scheduler")
    assert said in line
    assert line.endswith("; assuming the defaults: pass --config FILE")


@pytest.mark.parametrize("command", [("explain", "train"), ("queue",)], ids=["explain", "queue"])
def test_a_server_that_is_away_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    assert main([*command, "--kubeconfig", str(unreachable(tmp_path))]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the API server cannot be reached: ")
