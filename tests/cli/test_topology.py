# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc topology`, on a sandbox where nobody schedules: the pods are created bound."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.cli import main
from enbloc.client.client import PatchType
from enbloc.client.paths import (
    CRDS,
    HYPER_NODES,
    KUEUE_TOPOLOGIES,
    NODES,
    PODS,
    TOPOLOGIES,
)
from enbloc_sandbox import Sandbox
from tests.cli.desk import CommandDesk, rows
from tests.cli.processes import unreachable
from tests.foreign_crds import crd
from tests.live.world import NAMESPACE

ZONE, RACK = "topology.kubernetes.io/zone", "cloud.provider.com/topology-rack"
LEVELS = {"zone": ZONE, "rack": RACK}


class Desk(CommandDesk):
    """A cluster, and the command as people type it."""

    kinds = (*CommandDesk.kinds, TOPOLOGIES)

    async def rack(self, path: str, names: str, cpu: int = 8) -> None:
        """Nodes of this zone and rack; "" = they lack the label."""
        await self.nodes(names, cpu)
        pairs = zip((ZONE, RACK), path.split("/"), strict=True)
        labels = {key: value for key, value in pairs if value}
        for name in names.split():
            body = {"metadata": {"labels": labels}}
            await self.client.patch(NODES, name, body, kind=PatchType.MERGE)

    async def topology(self, name: str = "default", levels: Mapping[str, str] = LEVELS) -> None:
        given = [{"name": name, "nodeLabel": label} for name, label in levels.items()]
        await self.make({"metadata": {"name": name}, "spec": {"levels": given}})

    async def make(self, topology: Mapping[str, Any]) -> None:
        kind = {"apiVersion": TOPOLOGIES.api_version, "kind": TOPOLOGIES.kind}
        await self.client.create(TOPOLOGIES, {**kind, **topology})

    async def sitting(self, node: str, cpu: int) -> None:
        """A pod on this node."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
        spec = {"nodeName": node, "containers": [container]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"on-{node}"}, "spec": spec}
        await self.client.create(PODS, body, NAMESPACE)

    async def run(self, *arguments: str) -> int:
        """The exit code."""
        return await self.type("topology", *arguments)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Sandbox() as sandbox, Desk(sandbox, tmp_path) as opened:
        yield opened


# ── show ─────────────────────────────────────────────────────────────────────────────────────


async def test_the_tree_tells_what_is_free_in_each_domain(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.topology()
    await desk.rack("z1/r1", "n1 n2")
    await desk.rack("z1/r2", "n3", cpu=4)
    await desk.rack("z1/", "n4")
    await desk.rack("/", "n5 n6")
    await desk.sitting("n1", 3)
    await desk.sitting("n5", 1)
    assert await desk.run("show") == 0
    captured = capsys.readouterr()
    assert rows(captured.out) == [
        "DOMAIN LEVEL NODES READY CPU MEMORY GPUS",
        "z1 zone 4 4 25 256Gi 0",
        "z1/r1 rack 2 2 13 128Gi 0",
        "z1/r2 rack 1 1 4 64Gi 0",
        f"outside: 2 nodes lack the label {ZONE}",
        f"outside: 1 node lacks the label {RACK}",
    ]
    assert captured.out.splitlines()[2].startswith("  z1/r1 ")
    assert captured.err == ""


async def test_a_cordoned_node_has_nothing_free(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.topology(levels={"zone": ZONE})
    await desk.rack("z1/", "n1 n2")
    await desk.client.patch(NODES, "n1", {"spec": {"unschedulable": True}}, kind=PatchType.MERGE)
    assert await desk.run("show") == 0
    assert rows(capsys.readouterr().out)[1] == "z1 zone 2 1 8 64Gi 0"


@pytest.mark.parametrize("level", ["zone", ZONE])
async def test_the_innermost_level_that_is_shown_can_be_chosen(
    desk: Desk, capsys: pytest.CaptureFixture[str], level: str
) -> None:
    await desk.topology()
    await desk.rack("z1/r1", "n1")
    await desk.rack("z1/", "n2")
    assert await desk.run("show", "--level", level) == 0
    assert rows(capsys.readouterr().out)[1:] == ["z1 zone 2 2 16 128Gi 0"]


@pytest.mark.parametrize("output", ["json", "yaml"])
async def test_programs_get_an_object(
    desk: Desk, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    await desk.topology()
    await desk.rack("z1/r1", "n1")
    await desk.rack("z1/", "n2")
    assert await desk.run("show", "-o", output) == 0
    assert yaml.safe_load(capsys.readouterr().out) == {
        "apiVersion": "cli.enbloc.dev/v1alpha1",
        "kind": "TopologyOverview",
        "topology": "default",
        "levels": [{"name": "zone", "nodeLabel": ZONE}, {"name": "rack", "nodeLabel": RACK}],
        "nodes": 2,
        "domains": [
            {
                "level": "zone",
                "path": "z1",
                "nodes": 2,
                "ready": 2,
                "free": {"cpu": "16", "memory": "128Gi"},
            },
            {
                "level": "rack",
                "path": "z1/r1",
                "nodes": 1,
                "ready": 1,
                "free": {"cpu": "8", "memory": "64Gi"},
            },
        ],
        "more": {},
        "outside": {RACK: 1},
    }


async def kueues(desk: Desk) -> None:
    """A Topology of Kueue's, and the kind."""
    await desk.client.create(CRDS, crd(KUEUE_TOPOLOGIES))
    body = {
        "apiVersion": KUEUE_TOPOLOGIES.api_version,
        "kind": KUEUE_TOPOLOGIES.kind,
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"nodeLabel": RACK}]},
    }
    await desk.client.create(KUEUE_TOPOLOGIES, body)


async def test_one_of_another_project_is_shown_where_it_is_named_or_there_is_no_other(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await kueues(desk)
    await desk.rack("z1/r1", "n1")
    assert await desk.run("show") == 0
    assert rows(capsys.readouterr().out)[1] == f"r1 {RACK} 1 1 8 64Gi 0"
    await desk.topology("ours", {"zone": ZONE})
    assert await desk.run("show") == 0
    assert rows(capsys.readouterr().out)[1].startswith("z1 zone")
    assert await desk.run("show", "--topology", "kueue.x-k8s.io/theirs") == 0
    assert rows(capsys.readouterr().out)[1].startswith(f"r1 {RACK}")


async def test_who_may_not_read_those_of_another_project_sees_ours(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.client.create(CRDS, crd(HYPER_NODES))
    await desk.topology("ours", {"zone": ZONE})
    await desk.rack("z1/r1", "n1")
    desk.faults.add(verb="list", resource="hypernodes", status=403)
    assert await desk.run("show") == 0
    shown = capsys.readouterr()
    assert rows(shown.out)[1].startswith("z1 zone")
    assert shown.err.startswith("warning: cannot list hypernodes.topology.volcano.sh: 403")


async def test_one_of_several_topologies_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.topology("fabric")
    await desk.topology("zones", {"zone": ZONE})
    await desk.rack("z1/r1", "n1")
    assert await desk.run("show") == 2
    assert capsys.readouterr().err == (
        "error: there are several Topologies; pass --topology with one of fabric, zones\n"
    )
    assert await desk.run("show", "--topology", "zones") == 0
    assert rows(capsys.readouterr().out)[1:] == ["z1 zone 1 1 8 64Gi 0"]


async def test_without_a_topology_it_says_how_to_get_one(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await desk.run("show") == 1
    assert capsys.readouterr().err == (
        "error: there is no Topology; create one with: enbloc topology init | "
        "kubectl apply -f -, or pass node labels: --label rack=example.com/rack\n"
    )


async def test_labels_are_shown_without_a_topology(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.rack("z1/r1", "n1")
    await desk.rack("z1/", "n2")
    labels = ("--label", f"zone={ZONE}", "--label", f"shelf={RACK}")
    assert await desk.run("show", *labels) == 0
    assert rows(capsys.readouterr().out)[1:] == [
        "z1 zone 2 2 16 128Gi 0",
        "z1/r1 shelf 1 1 8 64Gi 0",
        f"outside: 1 node lacks the label {RACK}",
    ]
    assert await desk.run("show", *labels, "--level", "rack") == 2
    assert capsys.readouterr().err == (
        'error: --label defines no level "rack"; pass --level with one of zone, shelf\n'
    )
    assert await desk.run("show", *labels, "--topology", "default") == 2
    assert "--label and --topology cannot be used together" in capsys.readouterr().err


async def test_nodes_in_no_hypernode_are_counted_as_such(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.client.create(CRDS, crd(HYPER_NODES))
    member = {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}
    body = {
        "apiVersion": HYPER_NODES.api_version,
        "kind": HYPER_NODES.kind,
        "metadata": {"name": "s1"},
        "spec": {"tier": 1, "members": [member]},
    }
    await desk.client.create(HYPER_NODES, body)
    await desk.nodes("n1 n2", 8)
    assert await desk.run("show") == 0
    assert rows(capsys.readouterr().out)[1:] == [
        "s1 tier-1 1 1 8 64Gi 0",
        "outside: 1 node is in no HyperNode of tier-1",
    ]


async def test_a_topology_that_is_not_there_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.topology()
    assert await desk.run("show", "--topology", "fabric") == 1
    assert capsys.readouterr().err == (
        "error: Topology fabric not found; pass --topology with one of default\n"
    )


async def test_a_level_that_is_not_there_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.topology()
    assert await desk.run("show", "--level", "rak") == 2
    assert capsys.readouterr().err == (
        'error: Topology default has no level "rak"; pass --level with one of zone, rack\n'
    )


async def test_show_writes_nothing(desk: Desk) -> None:
    await desk.topology()
    await desk.rack("z1/r1", "n1")
    await desk.sitting("n1", 1)
    before = await desk.versions()
    assert await desk.run("show") == 0
    assert await desk.versions() == before


async def test_every_missing_permission_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for resource in ("nodes", "topologies"):
        desk.faults.add(verb="list", resource=resource, status=403)
    assert await desk.run("show") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = captured.err.splitlines()
    assert first.endswith('(grant the verb "list" on nodes)')
    assert second.endswith('(grant the verb "list" on topologies.enbloc.dev)')


@pytest.mark.parametrize("command", ["show", "init"])
def test_a_server_that_is_away_is_said_once(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", command, "--kubeconfig", str(unreachable(tmp_path))]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")


# ── init ─────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_written_can_be_applied_and_shown(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.rack("z1/r1", "n1")
    await desk.rack("z1/r2", "n2")
    assert await desk.run("init", "--name", "fabric") == 0
    captured = capsys.readouterr()
    assert captured.out == (
        "apiVersion: enbloc.dev/v1alpha1\n"
        "kind: Topology\n"
        "metadata:\n"
        "  name: fabric\n"
        "spec:\n"
        "  levels:\n"
        "  - name: zone\n"
        f"    nodeLabel: {ZONE}\n"
        "  - name: rack\n"
        f"    nodeLabel: {RACK}\n"
    )
    assert captured.err == ""
    await desk.make(yaml.safe_load(captured.out))
    assert await desk.run("show", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["path"] for each in found["domains"]] == ["z1", "z1/r1", "z1/r2"]


async def test_levels_can_be_named_instead(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.rack("z1/", "n1")
    flags = ("--label", f"room={ZONE}", "--label", "row=example.com/row", "--host")
    assert await desk.run("init", *flags) == 0
    captured = capsys.readouterr()
    assert yaml.safe_load(captured.out)["spec"]["levels"] == [
        {"name": "room", "nodeLabel": ZONE},
        {"name": "row", "nodeLabel": "example.com/row"},
        {"name": "host", "nodeLabel": "kubernetes.io/hostname"},
    ]
    assert captured.err.splitlines()[0] == (
        "warning: example.com/row: 0 of 1 nodes have it; the others are in no domain of row"
    )


async def test_where_no_label_is_known_it_says_what_to_do(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    assert await desk.run("init") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "error: no known label makes a level on the 2 nodes; pass the labels that show which nodes "
        "are near each other, outermost first: --label zone=example.com/zone "
        "--label rack=example.com/rack\n"
    )


async def test_what_is_left_out_is_a_warning(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.rack("z1/r1", "n1")
    await desk.rack("z1/", "n2 n3")
    assert await desk.run("init") == 0
    captured = capsys.readouterr()
    assert len(yaml.safe_load(captured.out)["spec"]["levels"]) == 1
    assert captured.err.startswith(f"warning: {RACK}: left out: only 1 of 3 nodes have it")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(["--name", "My Fabric"], '--name: "My Fabric" is not the name', id="name"),
        pytest.param(["--label", RACK], "is not NAME=KEY", id="no name of a level"),
        pytest.param(["--label", f"Rack={RACK}"], "is not NAME=KEY", id="a bad name of a level"),
        pytest.param(["--label", "rack=my rack"], "--label rack: a node label must be", id="key"),
        pytest.param(
            ["--label", f"a={RACK}", "--label", f"b={RACK}"], f"{RACK} is there twice", id="twice"
        ),
        pytest.param(
            ["--label", "host=example.com/host", "--host"], "host is there twice", id="host twice"
        ),
        pytest.param(
            [flag for n in range(9) for flag in ("--label", f"l{n}=example.com/l{n}")],
            "9 levels; a Topology has at most 8",
            id="too many",
        ),
    ],
)
def test_flags_that_no_topology_can_have_are_bad_usage(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", "init", *flags]) == 2
    assert message in capsys.readouterr().err


async def test_init_needs_nodes_alone(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    await desk.rack("z1/r1", "n1")
    for resource in ("pods", "topologies"):
        desk.faults.add(verb="list", resource=resource, status=403)
    assert await desk.run("init") == 0
    assert "kind: Topology" in capsys.readouterr().out
