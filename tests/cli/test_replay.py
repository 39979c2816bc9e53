# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from enbloc.cli import main
from enbloc.engine.decide.decision import Decision
from enbloc.engine.replay.file import DumpFile, decoded, encoded
from tests.cli.test_dump import changed
from tests.world.cluster import Cluster


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A gang that was placed, and one for which there was no room."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=2)
    cluster.gang("g", 4)
    cluster.settle()
    cluster.gang("h", 2)
    cluster.settle()
    path = tmp_path / "dump.json.gz"
    file = DumpFile("2026-01-01T00:00:00Z", "0.1.0.dev0", [], cluster.engine.dump())
    path.write_bytes(gzip.compress(encoded(file)))
    return path


def test_the_members_of_a_plan_are_printed_with_their_nodes(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "0-1", "--dump", str(dump)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Plan:     0-1",
        "Group:    ns/g",
        "When:     1970-01-01T00:16:40.000000Z",
        "Profile:  enbloc",
        "Result:   scheduled",
        "",
        "MEMBER   NODE   PART",
        "ns/g-0   n1     floor",
        "ns/g-1   n2     floor",
        "ns/g-2   n1     floor",
        "ns/g-3   n2     floor",
        "",
        "The replay decided the same.",
    ]


def test_a_group_that_was_not_placed_says_why(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "0-2", "--dump", str(dump)]) == 0
    printed = capsys.readouterr().out
    assert "Result:   unschedulable\n" in printed
    assert "Insufficient cpu" in printed


def test_who_was_to_give_way_is_listed_and_chosen_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.pod("low", node="n1")
    cluster.pod("high", priority=10)
    cluster.settle()
    path = tmp_path / "dump.json"
    path.write_bytes(encoded(DumpFile("", "", [], cluster.engine.dump())))

    assert main(["replay", "0-1", "--dump", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-8:] == [
        "",
        "VICTIM   NODE",
        "ns/low   n1",
        "",
        "MEMBER    GOES TO",
        "ns/high   n1",
        "",
        "The replay decided the same.",
    ]


def test_a_pod_without_a_group_is_called_as_in_a_drain_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=2)
    cluster.pod("web")
    cluster.settle()
    path = tmp_path / "dump.json"
    path.write_bytes(encoded(DumpFile("2026-01-01T00:00:00Z", "0", [], cluster.engine.dump())))
    assert main(["replay", "0-1", "--dump", str(path)]) == 0
    assert "Group:    ns/web (pod)\n" in capsys.readouterr().out


def test_without_a_plan_the_decisions_are_listed(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "--dump", str(dump)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "WHEN                          PLAN   GROUP   RESULT",
        "1970-01-01T00:16:40.000000Z   0-1    ns/g    scheduled",
        "1970-01-01T00:16:40.000000Z   0-2    ns/h    unschedulable",
    ]


def test_a_plan_that_is_not_in_the_dump_is_told_how_far_it_reaches(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "0-99", "--dump", str(dump)]) == 1
    said = capsys.readouterr().err
    assert f"plan 0-99 is not in {dump}: it holds the 2 decisions of the process 0 from" in said
    assert "(its first one)" in said


def test_a_replay_that_decides_otherwise_says_which_pod_and_ends_with_1(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = decoded(gzip.decompress(dump.read_bytes()))
    # As if the room had been taken before the decision, and not by it.
    decisions = tuple(entry for entry in file.dump.entries if isinstance(entry, Decision))
    path = tmp_path / "changed.json"
    changed = replace(
        file.dump,
        checkpoint=file.dump.present(),
        entries=decisions,
        solver=not file.dump.solver,
        whole=False,
    )
    path.write_bytes(encoded(file._replace(dump=changed, by="0.0.1")))
    assert main(["replay", "0-1", "--dump", str(path)]) == 1
    printed = capsys.readouterr()
    assert "it was scheduled, and is unschedulable now" in printed.out
    assert "pod ns/g-0 went to n1, and goes to no node" in printed.out
    assert "the extra `exact` was" in printed.err
    assert "it was decided by enbloc 0.0.1" in printed.err
    assert main(["replay", "0-99", "--dump", str(path)]) == 1
    assert "earlier ones were dropped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"format": "tar"}, 'its format is "tar", not "enbloc-dump"', id="another"),
        pytest.param({"version": 99}, "its version is 99, and this program reads 8", id="newer"),
        pytest.param(
            {"nodes": [{"name": 3}]}, "Expected `str`, got `int` - at `$.name`", id="type"
        ),
        pytest.param(
            {"seats": [[77, "n1", None]]},
            "it refers to objects that it does not hold",
            id="reference",
        ),
        pytest.param(
            {"entries": [{"is": "seat left", "uid": "x"}]},
            "it refers to objects that it does not hold",
            id="change",
        ),
    ],
)
def test_what_is_no_dump_of_this_version_is_named_with_the_fault(
    dump: Path, capsys: pytest.CaptureFixture[str], fields: dict[str, object], said: str
) -> None:
    path = changed(dump, **fields)
    assert main(["replay", "0-1", "--dump", str(path)]) == 2
    error = capsys.readouterr().err
    assert str(path) in error
    assert said in error


def test_a_dump_of_version_1_is_for_the_versions_of_enbloc_that_wrote_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path(__file__).parent / "data" / "dump_of_version_1.json"
    assert main(["replay", "0-1", "--dump", str(path)]) == 2
    assert (
        f"{path}: its version is 1, and this program reads 8; use the version of enbloc that "
        "wrote it" in capsys.readouterr().err
    )


def test_a_dump_that_is_cut_off_is_bad_input(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump.write_bytes(dump.read_bytes()[:-20])
    assert main(["replay", "0-1", "--dump", str(dump)]) == 2
    assert "it is truncated or damaged" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "0-1", "--dump", str(tmp_path / "x")]) == 2
    assert "cannot be read: No such file or directory" in capsys.readouterr().err


def test_an_engine_that_decided_nothing_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump.json"
    path.write_bytes(encoded(DumpFile("", "", [], Cluster().engine.dump())))
    assert main(["replay", "0-1", "--dump", str(path)]) == 1
    assert "it holds no decisions" in capsys.readouterr().err


def test_a_profile_that_the_configuration_does_not_have_is_named(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "other"}],
    }
    path = changed(dump, configuration=[other])
    assert main(["replay", "0-1", "--dump", str(path)]) == 2
    assert 'made by profile "enbloc", not by other' in capsys.readouterr().err
