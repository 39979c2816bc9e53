# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that answer from a dump, with no cluster and no kubeconfig."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from enbloc.cli import dumps, main
from enbloc.config import Source, configure, effective
from enbloc.engine.events import FactSeen, NamespaceSeen, PriorityClassSeen
from enbloc.engine.replay import DumpFile, encoded
from enbloc.process import copies
from enbloc.storage.facts import StorageClass
from tests.world.builders import spec
from tests.world.cluster import Cluster

COMMANDS = (
    ("explain", "waits"),
    ("queue",),
    ("nodes",),
    ("what-if", "--without=n1"),
    ("drain-check", "n1"),
)
every_command = pytest.mark.parametrize("command", COMMANDS, ids=[each[0] for each in COMMANDS])

OURS = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    "profiles: [{schedulerName: ours}]\n"
)
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: new, namespace: ns}}
spec:
  schedulerName: enbloc
  containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]
  volumes: [{volumes}]
"""


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is no kubeconfig, and a test starts no process."""
    monkeypatch.setattr(copies, "AVAILABLE", False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A gang runs on two nodes, and another one waits for them."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=2)
    cluster.tell(NamespaceSeen("ns", ()))
    cluster.tell(NamespaceSeen("default", ()))
    cluster.tell(PriorityClassSeen("usual", 5, default=True))
    cluster.tell(FactSeen(StorageClass("fast", "csi.example.com")))
    cluster.gang("runs", 2, spec=spec(cpu=2), priority=4)
    cluster.settle()
    cluster.gang("waits", 2, spec=spec(cpu=2))
    cluster.settle()
    path = tmp_path / "dump.json.gz"
    file = DumpFile("2026-11-29T10:00:00.250000Z", "0", [], cluster.engine.dump())
    path.write_bytes(gzip.compress(encoded(file)))
    return path


def changed(dump: Path, **fields: Any) -> Path:
    document = msgspec.json.decode(gzip.decompress(dump.read_bytes()))
    path = dump.with_name("changed.json")
    path.write_bytes(msgspec.json.encode({**document, **fields}))
    return path


def asked(dump: Path, *words: str) -> int:
    return main([*words, "--dump", str(dump)])


def test_the_first_line_says_why_it_waits_and_a_note_of_when_that_is(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(dump, "explain", "waits", "-n", "ns") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("ns/waits waits for capacity that others hold: ")
    assert "    the end of ns/runs\n" in captured.out
    assert captured.err == f"note: as of 2026-11-29T10:00:00Z, from {dump}\n"


def test_the_queue_is_that_of_the_time_of_the_dump(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(dump, "queue", "-A", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["time"] == "2026-11-29T10:00:00Z"
    assert [each["name"] for each in found["items"]] == ["waits"]


def test_without_a_namespace_it_is_the_default_one(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(dump, "queue") == 0
    assert "Nobody waits for nodes in namespace default." in capsys.readouterr().err


def test_nodes_and_drains_are_told_from_it(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(dump, "nodes") == 0
    assert "n1     2       2        0/4" in capsys.readouterr().out
    assert asked(dump, "drain-check", "n1") == 1
    assert "ns/runs   1      would fall below its minimum" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cpu", "code", "said"),
    [
        pytest.param(3, 1, "Pod ns/new would not start now: 0/2 nodes", id="too large"),
        pytest.param(0, 0, "Pod ns/new would start now: 1 pod on n1.", id="there is room"),
        pytest.param(2, 0, "Evicted for it: 2 pods of ns/runs.", id="by the default PriorityClass"),
    ],
)
def test_a_manifest_is_tried_with_what_the_api_server_would_fill_in(
    dump: Path, capsys: pytest.CaptureFixture[str], cpu: int, code: int, said: str
) -> None:
    file = dump.with_name("pod.yaml")
    file.write_text(POD.format(cpu=cpu, volumes=""))
    assert asked(dump, "what-if", "-f", str(file)) == code
    captured = capsys.readouterr()
    assert said in captured.out
    assert "StorageClass" not in captured.err


def test_that_the_default_storage_class_is_not_known_is_said_where_it_matters(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = "name: v, persistentVolumeClaim: {claimName: data}"
    text = POD.format(cpu=0, volumes=f"{{{claim}}}") + (
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: ns}\n"
        "spec: {resources: {requests: {storage: 1Gi}}, accessModes: [ReadWriteOnce]}\n"
    )
    file = dump.with_name("pod.yaml")
    file.write_text(text)
    assert asked(dump, "what-if", "-f", str(file)) == 1
    assert (
        "note: claims without storageClassName are taken to have none: it is not known which "
        "StorageClass is the default; name it in the claims" in capsys.readouterr().err
    )


def test_the_configuration_is_that_of_the_dump_unless_another_is_named(
    dump: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    theirs = changed(dump, configuration=[*effective(configure([Source("x", OURS)]))])
    assert asked(theirs, "explain", "waits", "-n", "ns") == 0
    assert "is scheduled by enbloc, not by ours" in capsys.readouterr().out
    config = tmp_path / "config.yaml"
    config.write_text(OURS)
    assert asked(dump, "explain", "waits", "-n", "ns", "--config", str(config)) == 0
    assert "is scheduled by enbloc, not by ours" in capsys.readouterr().out


@every_command
@pytest.mark.parametrize("flag", ["--kubeconfig", "--context"])
def test_a_dump_and_a_cluster_exclude_each_other(
    dump: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], flag: str
) -> None:
    assert asked(dump, *command, flag, "x") == 2
    said = f"error: --dump: no cluster is read; leave out {flag}, or --dump\n"
    assert capsys.readouterr().err == said


def test_a_dump_is_not_watched(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(dump, "queue", "--watch") == 2
    assert capsys.readouterr().err == "error: --watch: a dump does not change; leave out --watch\n"


def nested(depth: int) -> bytes:
    return b'{"format":"enbloc-dump","version":8,"configuration":' + b"[" * depth


BROKEN = {
    "an older version": (b'{"format":"enbloc-dump","version":7}', "its version is 7, and"),
    "of a program to come": (b'{"format":"enbloc-dump","version":9}', "its version is 9, and"),
    "foreign": (b'{"kind": "List"}', 'not a dump: its format is ""'),
    "text": (b"hello", "not a dump: "),
    "not text": (b"\xff\xfe\x00", "not a dump: "),
    "empty": (b"", "not a dump: "),
    "half an archive": (gzip.compress(b"x" * 9999)[:-9], "it is truncated or damaged: "),
    "no archive inside": (b"\x1f\x8b" + b"x" * 99, "it is truncated or damaged: "),
    "too deep": (nested(100_000), "not a dump: "),
    "half a dump": (b'{"format":"enbloc-dump","version":8}', "not a dump: "),
}


@every_command
@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=list(BROKEN))
def test_what_is_no_dump_of_ours_is_told_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
    content: bytes,
    said: str,
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(content)
    assert asked(path, *command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    assert line.startswith(f"error: {path}: {said}")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_no_more_is_read_of_a_file_than_a_dump_may_hold(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    packed: bool,
) -> None:
    monkeypatch.setattr(dumps, "MOST_BYTES", 2**20)
    path = tmp_path / "dump"
    data = b" " * 2**21
    path.write_bytes(gzip.compress(data) if packed else data)
    assert asked(path, "queue") == 2
    said = f"error: {path}: not a dump: it holds more than 1 MiB\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("written", ["", "yesterday", "2026-11-29T10:00:00"])
def test_a_dump_of_no_time_is_none(
    dump: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    path = changed(dump, written=written)
    assert asked(path, "queue") == 2
    said = f'not a dump: "{written}", when it was written, is not a time'
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["queue", "nodes", "explain train", "drain-check n1", "what-if --without n1"]
)
def test_numbers_that_no_scheduler_writes_are_told_in_one_line(
    dump: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    node = {"name": "n1", "allocatable": [["cpu", 2**70]]}
    path = changed(dump, resources=["cpu"], nodes=[node], entries=[], seats=[])
    assert asked(path, *words.split()) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {path}: the engine cannot use its content: OverflowError: ")


def test_a_folder_is_no_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, "queue") == 2
    assert capsys.readouterr().err == f"error: {tmp_path}: cannot be read: Is a directory\n"
