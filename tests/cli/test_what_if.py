# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc what-if`, on a sandbox where nobody schedules: what runs is created bound."""

import io
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from enbloc.cli import main
from enbloc.client.client import PatchType
from enbloc.client.paths import (
    EVENTS,
    JOBS,
    NAMESPACES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
)
from enbloc.model.names import AUTO_GROUP_KEY, POD_GROUP_KEY
from enbloc.what_if import MOST_NODES
from enbloc_sandbox import Sandbox
from tests.cli.desk import CommandDesk
from tests.cli.processes import unreachable
from tests.live.world import NAMESPACE


class Desk(CommandDesk):
    """A cluster, and the command as people type it."""

    kinds = (*CommandDesk.kinds, JOBS, POD_GROUPS, EVENTS)

    async def sitting(self, group: str, nodes: str, *, cpu: int = 8, priority: str = "") -> None:
        """A member of this group on each of these nodes; a Job made it."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        job = {"metadata": {"name": group}, "spec": {"parallelism": 0, "template": template}}
        made = await self.client.create(JOBS, job, NAMESPACE)
        uid = made["metadata"]["uid"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": group, "uid": uid}
        for index, node in enumerate(nodes.split()):
            metadata = {
                "name": f"{group}-{index}",
                "annotations": {POD_GROUP_KEY: group},
                "ownerReferences": [{**owner, "controller": True}],
            }
            spec = {"schedulerName": "enbloc", "nodeName": node, "containers": [container]}
            spec |= {"priorityClassName": priority} if priority else {}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            await self.client.create(PODS, body, NAMESPACE)

    async def priority_class(self, name: str, value: int) -> None:
        await self.client.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})

    async def auto_groups(self, kinds: str) -> None:
        """Make gangs of these kinds in the namespace."""
        body = {"metadata": {"labels": {AUTO_GROUP_KEY: kinds}}}
        await self.client.patch(NAMESPACES, NAMESPACE, body, kind=PatchType.MERGE)

    def file(self, text: str, name: str = "job.yaml") -> str:
        path = self.folder / name
        path.write_text(dedent(text))
        return str(path)

    async def ask(self, *arguments: str) -> int:
        """The exit code."""
        return await self.type("what-if", *arguments)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Sandbox() as sandbox, Desk(sandbox, tmp_path) as opened:
        yield opened


def job(pods: int, cpu: int = 8, *, priority: str = "", scheduler: str = "enbloc") -> str:
    """A Job whose pods declare a group of all of them."""
    return f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: train}}
        spec:
          parallelism: {pods}
          completions: {pods}
          template:
            metadata:
              annotations: {{enbloc.dev/pod-group: train, enbloc.dev/min-member: "{pods}"}}
            spec:
              {f"schedulerName: {scheduler}" if scheduler else "hostNetwork: false"}
              {f"priorityClassName: {priority}" if priority else "hostNetwork: false"}
              containers: [{{name: main, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]
        """.replace("              hostNetwork: false\n              hostNetwork: false\n", "")


async def test_a_job_that_fits_would_start_and_the_first_line_says_where(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3")
    assert await desk.ask("-f", desk.file(job(2))) == 0
    captured = capsys.readouterr()
    assert captured.out == "Job default/train would start now: 2 pods on n1, n2.\n"
    assert captured.err == ""


async def test_a_job_that_does_not_fit_says_why_and_the_code_is_1(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    assert await desk.ask("-f", desk.file(job(3))) == 1
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("Job default/train would not start now: ")
    assert "2/2 nodes are available" in line or "Insufficient cpu" in line


async def test_groups_are_made_where_the_namespace_switches_them_on(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    text = job(3).replace("annotations:", "labels: {}\n              x:")
    assert await desk.ask("-f", desk.file(text), "-o", "json") == 1
    assert json.loads(capsys.readouterr().out)["asked"][0]["placed"] == 2
    await desk.auto_groups("Job")
    assert await desk.ask("-f", desk.file(text), "-o", "json") == 1
    [asked] = json.loads(capsys.readouterr().out)["asked"]
    assert (asked["placed"], len(asked["groups"])) == (0, 1)
    assert asked["groups"][0]["minimum"] == 3


async def test_who_would_be_evicted_and_who_delayed_is_said(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3")
    await desk.priority_class("high", 1000)
    await desk.group("batch", 2)
    await desk.sitting("batch", "n1 n2")
    await desk.group("later", 1)
    await desk.pod("later-0", "later", cpu=8)
    assert await desk.ask("-f", desk.file(job(3, priority="high"))) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "Job default/train would start now: 3 pods on n1, n2, n3.",
        "Evicted for it: 2 pods of default/batch.",
        "Without a node then, and with one otherwise:",
    ]


async def test_several_objects_are_told_of_each(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2 n3")
    small = job(1).replace("train", "small")
    files = ("-f", desk.file(job(3)), "-f", desk.file(small, "small.yaml"))
    assert await desk.ask(*files) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "1 of 2 would start now; Job default/train would not."


async def test_plain_pods_of_one_group_are_told_of_as_one(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    pods = "---".join(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: p{n}, annotations: {{enbloc.dev/pod-group: g}}}}
        spec:
          schedulerName: enbloc
          containers: [{{name: c, image: i, resources: {{requests: {{cpu: 8}}}}}}]
        """
        for n in range(2)
    )
    group = """
        apiVersion: enbloc.dev/v1alpha1
        kind: PodGroup
        metadata: {name: g}
        spec: {minMember: 2}
        """
    assert await desk.ask("-f", desk.file(f"{group}---{pods}".replace("---", "\n---"))) == 0
    assert capsys.readouterr().out == "PodGroup default/g would start now: 2 pods on n1, n2.\n"


async def test_an_output_that_nobody_reads_any_more_is_no_error(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.nodes("n1 n2")
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writing, "w", encoding="utf-8"))
    assert await desk.ask("-f", desk.file(job(2))) == 2
    with pytest.raises(BrokenPipeError):
        sys.stdout.close()
    assert capsys.readouterr().err == ""


async def test_stdin_is_a_file_too(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.nodes("n1 n2")
    given = io.TextIOWrapper(io.BytesIO(dedent(job(2)).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    assert await desk.ask("-f", "-") == 0
    assert capsys.readouterr().out.startswith("Job default/train would start now: ")


async def test_a_job_that_exists_is_taken_to_be_deleted_first(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    await desk.group("train", 2)
    await desk.sitting("train", "n1 n2")
    assert await desk.ask("-f", desk.file(job(2))) == 0
    assert capsys.readouterr().err.splitlines() == [
        "note: Job default/train exists (2 pods, 2 with a node); it is taken to be deleted first",
        "note: PodGroup default/train exists, and counts as it is",
    ]


# ── nodes and groups ─────────────────────────────────────────────────────────────────────────


async def test_nodes_that_go_may_leave_nobody_worse_off(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    await desk.group("train", 1)
    await desk.sitting("train", "n1")
    assert await desk.ask("--without", "n1") == 0
    assert capsys.readouterr().out == (
        "Without n1, nobody would lose nodes, and nobody who waits would start.\n"
    )


async def test_nodes_that_go_may_take_capacity_that_is_needed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    await desk.group("train", 2)
    await desk.sitting("train", "n1 n2")
    assert await desk.ask("--without", "n1") == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first == "Without n1, default/train would lose nodes."
    assert second.startswith("  default/train (1 pod): ")


async def test_with_more_nodes_those_that_wait_may_start(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1")
    await desk.group("g", 2)
    await desk.pod("g-0", "g", cpu=8)
    await desk.pod("g-1", "g", cpu=8)
    assert await desk.ask("--add-nodes", "1", "--like", "n1") == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert (
        first
        == "With 1 more node like n1, default/g (2 pods) would start, and nobody would lose nodes."
    )


async def test_changes_and_files_are_asked_about_together(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1 n2")
    flags = ("--without", "n2", "--add-nodes", "2", "--like", "n1")
    assert await desk.ask("-f", desk.file(job(3)), *flags) == 0
    assert capsys.readouterr().out == (
        "Without n2 and with 2 more nodes like n1, Job default/train would start now: 3 pods on "
        "n1, n1-more-0, n1-more-1.\n"
    )


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (2, 0, "default/train would run with 2 members, 1 of them new, on n2."),
        (3, 1, "default/train would not run with 3 members: 2 of them would have nodes: "),
    ],
)
async def test_a_group_can_be_scaled(
    desk: Desk, capsys: pytest.CaptureFixture[str], number: int, code: int, line: str
) -> None:
    await desk.nodes("n1 n2")
    await desk.group("train", 1)
    await desk.sitting("train", "n1")
    assert await desk.ask("--scale", f"train={number}") == code
    assert capsys.readouterr().out.startswith(line)


# ── documents ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("output", ["json", "yaml"])
async def test_programs_read_the_same(
    desk: Desk, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    await desk.nodes("n1 n2")
    assert await desk.ask("-f", desk.file(job(2)), "-o", output) == 0
    printed = capsys.readouterr().out
    found = json.loads(printed) if output == "json" else yaml.safe_load(printed)
    [asked] = found.pop("asked")
    [group] = asked.pop("groups")
    assert found == {
        "apiVersion": "cli.enbloc.dev/v1alpha1",
        "kind": "WhatIf",
        "sentence": "Job default/train would start now: 2 pods on n1, n2.",
        "starts": True,
        "scaled": [],
        "evicted": [],
        "delayed": [],
        "gained": [],
        "notes": [],
    }
    assert asked == {
        "name": "Job default/train",
        "starts": True,
        "pods": 2,
        "placed": 2,
        "message": "",
    }
    assert (group["kind"], group["name"], group["minimum"]) == ("PodGroup", "train", 2)
    assert [each["node"] for each in group["placements"]] == ["n1", "n2"]


async def test_nothing_is_written(desk: Desk) -> None:
    await desk.nodes("n1 n2")
    await desk.group("g", 1)
    await desk.sitting("g", "n1")
    before = await desk.versions()
    assert await desk.ask("-f", desk.file(job(2)), "--scale", "g=2", "--without", "n2") == 1
    assert await desk.versions() == before


# ── what cannot be answered ──────────────────────────────────────────────────────────────────


def test_the_command_adds_as_many_nodes_as_the_page_and_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["what-if", "--add-nodes", f"{MOST_NODES + 1}", "--like", "n1"]) == 2
    assert f"{MOST_NODES + 1} is not in the range 1<=x<={MOST_NODES}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "error: there is no question: pass -f FILE, --without NODE, "),
        (("--add-nodes", "2"), "error: --add-nodes and --like belong together: "),
        (("--like", "n1"), "error: --add-nodes and --like belong together: "),
        (("--scale", "train"), 'error: --scale: "train" is not GROUP=N; write one such as train=8'),
        (("--scale", "t=2", "--scale", "t=3"), "error: --scale: t is given twice; give each"),
        (("--scale", "t=99999"), "error: --scale: 99999 members; at most 10000 can be asked about"),
        (("-f", "-", "-f", "-"), "error: -f -: stdin can be read only once; pass it once"),
        (("-f", "/nowhere.yaml"), "error: -f /nowhere.yaml: cannot be read: No such file"),
        (("-f", "/"), "error: -f /: cannot be read: Is a directory"),
    ],
)
def test_a_question_that_is_none_says_what_to_pass(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], line: str
) -> None:
    assert main(["what-if", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1


def test_a_closed_stdin_says_what_to_pass(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["what-if", "-f", "-"]) == 2
    assert capsys.readouterr().err == (
        "error: -f -: stdin is closed; pipe a file into it, or name a file\n"
    )


def test_a_large_file_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "large.yaml"
    file.write_text("# nothing\n" * 1_000_000)
    assert main(["what-if", "-f", str(file)]) == 2
    assert "large.yaml: more than 1024 KiB; leave out what makes no pods" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            job(2, scheduler=""),
            (
                "Job default/train: default-scheduler places its pods, not enbloc; set "
                "spec.template.spec.schedulerName: enbloc"
            ),
        ),
        (
            job(1_000_000),
            "Job default/train: spec.parallelism: with these there are 1000000 pods; at most 10000",
        ),
        (
            job(2, priority="hihg"),
            (
                "Job default/train: spec.template.spec.priorityClassName: PriorityClass "
                '"hihg" not found (did you mean high?)'
            ),
        ),
        (
            job(2).replace("cpu: 8", "cpu: [8]"),
            (
                "Job default/train: spec.template: spec.containers[0].resources.requests[...]: "
                "Expected int | float | str, got array"
            ),
        ),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "no pod is made of what is"),
        ("# nothing", "-f "),
    ],
)
async def test_a_file_that_cannot_be_asked_about_says_which_field_to_change(
    desk: Desk, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    await desk.priority_class("high", 1000)
    assert await desk.ask("-f", desk.file(text)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {line}")


async def test_what_does_not_exist_is_named_with_what_is_nearly_called_so(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("node-1")
    await desk.group("train", 1)
    assert await desk.ask("--without", "node-2") == 2
    assert capsys.readouterr().err == (
        "error: node node-2 not found (did you mean node-1?); name one that exists\n"
    )
    assert await desk.ask("--scale", "trian=2") == 2
    assert capsys.readouterr().err == (
        "error: PodGroup default/trian not found (did you mean train?)\n"
    )
    assert await desk.ask("-n", "defaults", "-f", desk.file(job(1))) == 2
    assert "namespace defaults not found (did you mean default?)" in capsys.readouterr().err


async def test_every_missing_permission_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for resource in ("nodes", "podgroups"):
        desk.faults.add(verb="list", resource=resource, status=403)
    assert await desk.ask("-f", desk.file(job(1))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    first, second = captured.err.splitlines()
    assert first.endswith('(grant the verb "list" on nodes)')
    assert second.endswith('(grant the verb "list" on podgroups.enbloc.dev)')


def test_a_server_that_is_away_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--without", "n1", "--kubeconfig", str(unreachable(tmp_path)))
    assert main(["what-if", *flags]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: the API server cannot be reached: ")
