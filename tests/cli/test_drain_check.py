# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc drain-check`, on a sandbox where nobody schedules: the pods are created bound."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from enbloc.cli import main
from enbloc.client.paths import EVENTS, PODS, PRIORITY_CLASSES, Resource
from enbloc.engine import Engine
from enbloc.model.names import POD_GROUP_KEY
from enbloc_sandbox import Sandbox
from tests.cli.desk import CommandDesk, rows
from tests.cli.processes import unreachable
from tests.client.fake import pod, pods, serving
from tests.live.world import NAMESPACE

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
#: Fields that every object has.
OBJECT = {"apiVersion": "v1", "metadata": {"generateName": "x-"}}


class Desk(CommandDesk):
    """A cluster, and the command as people type it."""

    kinds = (*CommandDesk.kinds, EVENTS)

    async def sitting(
        self,
        group: str,
        nodes: str,
        *,
        cpu: int = 4,
        owned: bool = True,
        priority_class: str = "",
    ) -> None:
        """A pod of this group, "" = of none, on each of these nodes."""
        owner = await self.client.create(CONFIG_MAPS, {**OBJECT, "kind": "ConfigMap"}, NAMESPACE)
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
        for index, node in enumerate(nodes.split()):
            metadata = {
                "name": f"{group or 'web'}-{index}",
                "annotations": {POD_GROUP_KEY: group} if group else {},
                "ownerReferences": [reference] if owned else [],
            }
            spec = {"schedulerName": "enbloc", "nodeName": node, "containers": [container]}
            spec |= {"priorityClassName": priority_class} if priority_class else {}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            await self.client.create(PODS, body, NAMESPACE)

    async def check(self, *arguments: str) -> int:
        """The exit code."""
        return await self.type("drain-check", *arguments)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Sandbox() as sandbox, Desk(sandbox, tmp_path) as opened:
        yield opened


async def test_a_gang_whose_members_find_capacity_elsewhere_would_be_whole(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3", cpu=4)
    await desk.group("g", 2)
    await desk.sitting("g", "n1 n2")
    assert await desk.check("n1") == 0
    captured = capsys.readouterr()
    assert rows(captured.out) == [
        "GROUP LOST VERDICT",
        "default/g 1 members can be rescheduled on: n3",
    ]
    assert captured.err == ""


async def test_a_gang_that_would_fall_below_its_minimum_says_why_and_the_code_is_1(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.group("g", 2)
    await desk.sitting("g", "n1 n2")
    assert await desk.check("n1") == 1
    [_, row] = rows(capsys.readouterr().out)
    assert row.startswith("default/g 1 would fall below its minimum: ")
    assert "0/1 nodes are available: 1 Insufficient cpu" in row


async def test_a_gang_that_keeps_its_minimum_stays_whole(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.group("g", 1)
    await desk.sitting("g", "n1 n2")
    assert await desk.check("n1") == 0
    [_, row] = rows(capsys.readouterr().out)
    assert row.startswith(
        "default/g 1 stays whole; no capacity for 1 of its members: 0/1 nodes are "
    )


async def test_members_beyond_the_minimum_that_find_no_capacity_are_not_hidden(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3", cpu=4)
    await desk.group("g", 1)
    await desk.sitting("g", "n1 n2")
    assert await desk.check("n1", "n2") == 0
    [_, row] = rows(capsys.readouterr().out)
    where = "members can be rescheduled on: n3; no capacity for 1 of its members: "
    assert row.startswith(f"default/g 2 {where}0/1 nodes are available: ")


async def test_of_members_that_are_placed_only_after_the_minimum_nothing_is_claimed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3", cpu=4)
    await desk.nodes("n4", cpu=8)
    await desk.group("g", 2)
    await desk.sitting("g", "n1 n2 n3")
    assert await desk.check("n1", "n2") == 0
    [_, row] = rows(capsys.readouterr().out)
    assert row == "default/g 2 members can be rescheduled on: n4"


async def test_several_nodes_are_drained_at_once(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3", cpu=4)
    await desk.group("g", 2)
    await desk.sitting("g", "n1 n2")
    assert await desk.check("n1", "n2") == 1
    assert "default/g 2 would fall below" in rows(capsys.readouterr().out)[1]


async def test_of_many_nodes_a_few_are_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=28)
    await desk.nodes("a b c d e f g", cpu=4)
    await desk.group("g", 7)
    await desk.sitting("g", "n1 " * 7)
    assert await desk.check("n1") == 0
    [_, row] = rows(capsys.readouterr().out)
    assert row == "default/g 7 members can be rescheduled on: a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("owned", "nodes", "code", "verdict"),
    [
        pytest.param(True, "n1 n2", 0, "can be rescheduled on: n2", id="there is capacity"),
        pytest.param(True, "n1", 1, "finds no capacity: no nodes available", id="there is none"),
        pytest.param(False, "n1 n2", 1, "no controller would replace it", id="it is a bare pod"),
    ],
)
async def test_pods_without_a_group_are_told_of_too(
    desk: Desk,
    capsys: pytest.CaptureFixture[str],
    *,
    owned: bool,
    nodes: str,
    code: int,
    verdict: str,
) -> None:
    await desk.nodes(nodes, cpu=4)
    await desk.sitting("", "n1", owned=owned)
    assert await desk.check("n1") == code
    [_, row] = rows(capsys.readouterr().out)
    assert row.startswith(f"default/web-0 (pod) 1 {verdict}")


async def test_a_node_that_holds_no_group_can_go(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.group("g", 1)
    await desk.sitting("g", "n1")
    assert await desk.check("n2") == 0
    assert capsys.readouterr().out == "No group has members on n2.\n"


async def test_json_has_who_goes_where(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.nodes("n1 n2 n3", cpu=4)
    await desk.group("g", 2)
    await desk.sitting("g", "n1 n2")
    assert await desk.check("n1", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "nodes": ["n1"],
        "whole": True,
        "groups": [
            {
                "kind": "PodGroup",
                "namespace": NAMESPACE,
                "name": "g",
                "whole": True,
                "minimum": 2,
                "remaining": 1,
                "lost": ["g-0"],
                "placements": [{"pod": "g-0", "node": "n3"}],
                "victims": [],
                "preemptedBy": None,
                "message": "",
            }
        ],
    }


async def test_json_says_what_would_not_be_whole(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.sitting("", "n1", owned=False)
    assert await desk.check("n1", "-o", "json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["whole"] is False
    [pod] = found["groups"]
    assert (pod["kind"], pod["name"], pod["placements"]) == ("Pod", "web-0", [])


async def test_who_would_give_way_is_said_apart(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.client.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    await desk.nodes("n1 n2", cpu=8)
    await desk.group("train", 1)
    await desk.sitting("train", "n1", cpu=8, priority_class="high")
    await desk.group("batch", 2)
    await desk.sitting("batch", "n2 n2", cpu=4)

    assert await desk.check("n1") == 1
    _, train, batch = rows(capsys.readouterr().out)
    assert train == (
        "default/train 1 members can be rescheduled on: n2; "
        "only if 2 pods give way: default/batch-0, default/batch-1"
    )
    assert batch.startswith(
        "default/batch 2 gives way to default/train: would fall below its minimum: None of the 2"
    )

    assert await desk.check("n1", "-o", "json") == 1
    first, second = json.loads(capsys.readouterr().out)["groups"]
    assert [pod["name"] for pod in first["victims"]] == ["batch-0", "batch-1"]
    assert (first["preemptedBy"], second["preemptedBy"]) == (None, "default/train")


async def test_a_node_that_is_not_there_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=4)
    assert await desk.check("n1", "n8", "n9") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: node n8, n9 not found\n"
    assert await desk.check("n11") == 2
    assert capsys.readouterr().err == "error: node n11 not found (did you mean n1?)\n"


async def test_a_node_that_is_named_twice_is_drained_once(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    assert await desk.check("n1", "n2", "n1") == 0
    assert capsys.readouterr().out == "No group has members on n1, n2.\n"


async def test_a_fault_of_ours_is_no_answer_and_is_told_in_one_line(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("n1")

    monkeypatch.setattr(Engine, "without", broken)
    await desk.nodes("n1", cpu=4)
    assert await desk.check("n1") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(
        r"error: unexpected KeyError in test_drain_check\.py:\d+: 'n1'\n", captured.err
    )


async def test_nothing_is_written(desk: Desk) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.group("g", 2)
    await desk.sitting("g", "n1 n2")
    before = await desk.versions()
    assert await desk.check("n1") == 1
    assert await desk.versions() == before


async def test_the_configuration_says_whose_pods_are_looked_at(
    desk: Desk, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    await desk.nodes("n1 n2", cpu=4)
    await desk.group("g", 1)
    await desk.sitting("g", "n1")
    file = tmp_path / "config.yaml"
    file.write_text(
        """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: other}]
"""
    )
    assert await desk.check("n1", "--config", str(file)) == 0
    assert capsys.readouterr().out == "No group has members on n1.\n"


async def test_every_missing_permission_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=4)
    for resource in ("nodes", "podgroups"):
        desk.faults.add(verb="list", resource=resource, status=403)
    assert await desk.check("n1") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = captured.err.splitlines()
    assert first.startswith("error: cannot list nodes: 403 Forbidden: ")
    assert first.endswith('(grant the verb "list" on nodes)')
    assert second.endswith('(grant the verb "list" on podgroups.enbloc.dev)')


def test_a_server_that_is_away_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drain-check", "n1", "--kubeconfig", str(unreachable(tmp_path))]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the API server cannot be reached: ")


def test_a_node_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drain-check"]) == 2
    assert "Missing argument 'NODE...'" in capsys.readouterr().err


async def test_what_cannot_be_read_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real API server lets no such object in; a newer one may have other fields."""

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        node = {"name": "n1", "uid": "u", "resourceVersion": "3"}
        states = {
            "/api/v1/nodes": [{"metadata": node, "status": {"allocatable": {"cpu": "many"}}}],
            "/api/v1/pods": [pod("bad", 6, priority="high")],
        }
        if re.fullmatch("/api/v1|/apis/[^/]+/[^/]+", request.path):  # what a group version has
            return web.json_response({"resources": []})
        return pods(7, *states.get(request.path, ()))

    async with serving(server) as url:
        path = unreachable(tmp_path)
        path.write_text(path.read_text().replace("http://127.0.0.1:9", url))
        arguments = ["drain-check", "n1", "--kubeconfig", str(path)]
        assert await asyncio.to_thread(main, arguments) == 0
    malformed, in_part = sorted(capsys.readouterr().err.splitlines(), reverse=True)
    assert malformed.startswith("warning: Pod default/bad: Ignored because it is malformed: ")
    assert in_part.startswith("warning: Node n1: Malformed fields are ignored: status.allocatable")
