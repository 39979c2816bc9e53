# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import io

import pytest

from enbloc_sandbox.demo.observed import GroupSeen, PodSeen, read_group, read_pod
from enbloc_sandbox.demo.screen import Screen, colour_wanted, table
from enbloc_sandbox.nodes import Shape
from enbloc_sandbox.nodes.objects import Metadata, Object


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "env", "wanted"),
    [
        pytest.param(Terminal(), {}, True, id="a terminal"),
        pytest.param(io.StringIO(), {}, False, id="a pipe"),
        pytest.param(Terminal(), {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param(Terminal(), {"NO_COLOR": ""}, True, id="an empty NO_COLOR"),
        pytest.param(Terminal(), {"TERM": "dumb"}, False, id="a dumb terminal"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    stream: io.StringIO, env: dict[str, str], *, wanted: bool
) -> None:
    assert colour_wanted(stream, env) is wanted


def test_the_table_shows_which_job_has_which_gpu() -> None:
    pods = [
        PodSeen(0, "b-0", "b", "n0", "Running"),
        PodSeen(0, "a-0", "a", "n0", "Pending"),
        PodSeen(0, "a-1", "a", "n1", "Succeeded"),
        PodSeen(0, "a-2", "a"),
    ]
    shapes = [Shape("n0", 1, 1, 5), Shape("n1", 1, 1, 2), Shape("cpu", 1, 1)]
    assert table(shapes, pods, gpus=2) == [
        ("n0", ["a", "a", "b", "b", "·"]),
        ("n1", ["·", "·"]),
    ]


def test_a_table_of_many_nodes_sums_up_the_rest() -> None:
    shapes = [Shape(f"n{i:02}", 1, 1, 8) for i in range(20)]
    pods = [PodSeen(0, f"a-{i}", "a", f"n{i:02}", "Running") for i in range(18)]
    rows = table(shapes, pods, gpus=8)
    assert len(rows) == 9
    assert rows[-1] == ("12 more", ["80 GPUs a, 16 free"])


def printed(colour: bool = False) -> tuple[Screen, list[str]]:
    lines: list[str] = []
    return Screen(lines.append, colour, lambda: 1.5), lines


def test_changes_of_one_kind_share_a_line() -> None:
    screen, lines = printed()
    screen.pods(
        [
            (None, PodSeen(0, "a-0", "a", "n0")),
            (None, PodSeen(0, "b-0", "b", "n0")),
            (None, PodSeen(0, "a-1", "a", "n1")),
            (None, PodSeen(0, "a-2", "a", waiting="0/2 nodes are available")),
            (PodSeen(0, "b-1", "b", "n0", "Running"), PodSeen(0, "b-1", "b", "n0", "Succeeded")),
            (PodSeen(0, "b-2", "b", "n0"), PodSeen(0, "b-2", "b", "n0", "Failed", reason="why")),
            (PodSeen(0, "b-3", "b", "n0"), PodSeen(0, "b-3", "b", phase="")),
            (PodSeen(0, "b-4", "b", "n0"), PodSeen(0, "b-4", "b", "n0", "Running")),
        ]
    )
    assert lines == [
        "  1.50s  job a: a-0 → n0, a-1 → n1",
        "  1.50s  job b: b-0 → n0",
        "  1.50s  job a: a-2 waiting: 0/2 nodes are available",
        "  1.50s  job b: b-1 finished",
        "  1.50s  job b: b-2 failed (why)",
        "  1.50s  job b: b-3 deleted",
    ]


def test_a_reason_to_wait_ends_before_what_preemption_could_do() -> None:
    screen, lines = printed()
    why = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: …"
    screen.pods([(None, PodSeen(0, "a-0", "a", waiting=why))])
    assert lines == ["  1.50s  job a: a-0 waiting: 0/2 nodes are available: 2 Insufficient cpu."]


def test_many_changes_are_counted() -> None:
    screen, lines = printed()
    screen.pods([(None, PodSeen(0, f"a-{i}", "a", "n0")) for i in range(9)])
    assert lines == ["  1.50s  job a: 9 pods placed"]


def test_a_group_says_why_it_waits() -> None:
    screen, lines = printed()
    screen.group(GroupSeen(0, "b", "Unschedulable", "Unschedulable", "needs 8 pods"))
    screen.group(GroupSeen(0, "b", "Running", "Scheduled", "8 of 8"))
    screen.group(GroupSeen(0, "b", "Unschedulable", "Scheduled", "8 of 8"))  # Ready lags behind
    screen.group(GroupSeen(0, "b", "Pending"))
    assert lines == [
        "  1.50s  PodGroup b: Unschedulable — needs 8 pods",
        "  1.50s  PodGroup b: Running",
        "  1.50s  PodGroup b: Scheduled — 8 of 8",
        "  1.50s  PodGroup b: Pending",
    ]


def test_colour_only_wraps_the_same_text() -> None:
    plain, plain_lines = printed()
    coloured, coloured_lines = printed(colour=True)
    for screen in (plain, coloured):
        screen.title("Title")
        screen.happened("done", "good")
        screen.table([Shape("n0", 1, 1, 2)], [PodSeen(0, "a-0", "a", "n0", "Running")], 1)
    stripped = [line for line in coloured_lines if "\x1b[" in line]
    assert len(stripped) == 3
    for style in ("1", "2", "32", "36", "0"):
        coloured_lines = [line.replace(f"\x1b[{style}m", "") for line in coloured_lines]
    assert coloured_lines == plain_lines


def test_a_pod_and_a_group_are_read_from_what_the_server_says() -> None:
    meta = Metadata("u", "a-0", labels={"demo.enbloc.dev/job": "a"})
    scheduled = {"type": "PodScheduled", "status": "False", "message": "no room"}
    pod = Object(meta, {}, {"phase": "Pending", "conditions": [scheduled]})
    assert read_pod(1.0, pod) == PodSeen(1.0, "a-0", "a", "", "Pending", "no room")
    refused = Object(meta, {"nodeName": "n"}, {"phase": "Failed", "reason": "R", "message": "m"})
    assert read_pod(1.0, refused) == PodSeen(1.0, "a-0", "a", "n", "Failed", "", "R: m")
    conditions = [
        {"type": "Ready", "status": "False", "reason": "Infeasible", "message": "x"},
        {"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": "y"},
    ]
    group = Object(Metadata("u", "a"), {}, {"conditions": conditions})
    assert read_group(1.0, group) == GroupSeen(1.0, "a", "Infeasible", "Unschedulable", "y")
    assert read_group(1.0, Object(Metadata("u", "a"))) == GroupSeen(1.0, "a")


def test_what_objects_say_is_escaped_and_our_colours_are_not() -> None:
    lines: list[str] = []
    screen = Screen(lines.append, colour=True, clock=lambda: 0.0)
    screen.group(GroupSeen(0.0, "a", "Pending", "Pending", "\x1b[2J\n\u202e"))
    [line] = lines
    assert r"\x1b[2J\n\u202e" in line
    assert line.count("\x1b") == 4
