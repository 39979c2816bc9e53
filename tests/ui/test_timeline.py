# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The timeline: which end of a group is known, who comes after whom, and what time is drawn."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.events import Event
from enbloc.model.pods import Phase
from enbloc.simulation import Start
from enbloc.ui.timeline import Span, Timeline, axis, timeline
from enbloc.ui.view import View
from tests.ui.world import NOW, gang, lone, nodes, running, view

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


def times(of: View) -> Timeline:
    waiting = [row.waiting for row in of.rows]
    return timeline(of.members, waiting, of.starts, of.present.now)


def one(*events: list[Event]) -> Span:
    """The only span of a cluster with one node."""
    [span] = times(view(nodes(1), *events)).spans
    return span


def test_a_group_that_runs_ends_when_the_limit_of_its_last_member_does() -> None:
    first = running("train", 1, "node-0", started=NOW - HOUR, limit=2 * HOUR)
    later = gang("train", 2, node="node-0", phase=Phase.RUNNING, started=NOW, limit=2 * HOUR)[2:]
    span = one(first, later)
    assert (span.members, span.since, span.started) == (2, NOW - HOUR, True)
    assert (span.limit, span.expected, span.end) == (NOW + 2 * HOUR, None, NOW + 2 * HOUR)
    assert (span.name, span.owner, span.runs) == ("train", "Job/train", True)


def test_what_users_expect_is_told_beside_the_limit_and_comes_before_it() -> None:
    span = one(running("train", 1, "node-0", started=NOW, limit=2 * HOUR, expected=HOUR))
    assert (span.limit, span.expected, span.end) == (NOW + 2 * HOUR, NOW + HOUR, NOW + HOUR)
    cut = one(running("train", 1, "node-0", started=NOW, limit=HOUR, expected=2 * HOUR))
    assert (cut.limit, cut.expected, cut.end) == (NOW + HOUR, NOW + HOUR, NOW + HOUR)


def test_a_group_of_which_one_member_may_run_for_ever_has_no_known_end() -> None:
    first = running("train", 1, "node-0", started=NOW, limit=HOUR)
    later = gang("train", 2, node="node-0", phase=Phase.RUNNING, started=NOW)[2:]
    span = one(first, later)
    assert (span.members, span.limit, span.expected, span.end) == (2, None, None, None)


def test_who_runs_for_longer_than_was_expected_ends_at_any_time() -> None:
    span = one(running("train", 1, "node-0", started=NOW - 2 * HOUR, expected=HOUR))
    assert (span.expected, span.end) == (NOW - HOUR, NOW)


def test_who_should_have_been_ended_by_its_limit_has_no_known_end() -> None:
    span = one(running("train", 1, "node-0", started=NOW - 2 * HOUR, limit=HOUR))
    assert (span.limit, span.end) == (NOW - HOUR, None)


def test_who_has_a_node_and_was_not_started_yet_runs_from_then_on_as_far_as_can_be_told() -> None:
    span = one(running("train", 1, "node-0", created=NOW - MINUTE, limit=HOUR))
    assert (span.since, span.started) == (NOW - MINUTE, False)
    assert (span.limit, span.expected, span.end) == (None, NOW + 59 * MINUTE, NOW + 59 * MINUTE)


def test_what_has_ended_is_not_there_and_neither_is_who_waits_for_what_nobody_knows() -> None:
    ended = running("old", 1, "node-0")[:1] + gang("old", 1, node="node-0", phase=Phase.FAILED)[1:]
    assert times(view(nodes(1), ended, gang("big", 9))).spans == []


def test_who_starts_now_runs_for_as_long_as_its_members_say() -> None:
    span = one(lone("solo"), gang("big", 9))
    assert (span.name, span.runs, span.starts, span.end) == ("pod/solo", False, None, None)
    limited = one(gang("train", 2, limit=HOUR, expected=2 * HOUR))
    assert (limited.members, limited.expected, limited.end) == (2, NOW + HOUR, NOW + HOUR)


def test_all_are_in_the_order_in_which_they_end_or_start_and_the_endless_last() -> None:
    of = view(
        nodes(3),
        running("endless", 1, "node-0", started=NOW),
        running("day", 1, "node-0", started=NOW, limit=DAY),
        running("hour", 2, "node-1", started=NOW, limit=HOUR),
        running("week", 2, "node-2", started=NOW, limit=7 * DAY),
        gang("next", 2, namespace="other", expected=MINUTE),
    )
    found = of.with_starts(lambda: True)
    assert found is not None
    told = times(found)
    assert [span.name for span in told.spans] == ["hour", "next", "day", "week", "endless"]
    assert told.spans[1].starts == Start(NOW + HOUR, latest=True)
    assert told.spans[1].end == NOW + HOUR + MINUTE
    assert told.namespaces == ("team", "other")


# ── the axis ─────────────────────────────────────────────────────────────────────────────────


def span(**of: float | None) -> Span:
    return Span(of.pop("key", None), "g", "", 1, **of)  # type: ignore[arg-type]


def spans() -> st.SearchStrategy[list[Span]]:
    at = st.none() | st.floats(NOW - 400 * DAY, NOW + 4000 * DAY)
    return st.lists(st.builds(span, since=at, limit=at, expected=at, end=at), max_size=5)


@given(of=spans(), most=st.sampled_from([0.0, HOUR, DAY]))
def test_now_is_always_drawn_and_so_is_what_comes_within_what_is_asked_for(
    of: list[Span], most: float
) -> None:
    drawn = axis(of, NOW, most)
    assert drawn.begin < NOW < drawn.end
    assert 0.05 <= drawn.share(NOW) <= 0.5
    assert most * 1.05 <= drawn.end - NOW
    for each in of:
        for at in (each.limit, each.expected, each.end):
            if at is not None and not most:
                assert at <= drawn.end or at > NOW + 90 * DAY


@given(of=spans())
def test_marks_are_even_within_the_axis_and_have_room(of: list[Span]) -> None:
    drawn = axis(of, NOW)
    assert 1 <= len(drawn.marks) <= 9
    for at in drawn.marks:
        assert drawn.begin <= at <= drawn.end
        assert math.remainder(at, drawn.step) == 0.0


@pytest.mark.parametrize(
    ("of", "seconds"),
    [
        pytest.param([], HOUR, id="nothing known: an hour"),
        pytest.param([span(since=NOW, limit=NOW + 1.0)], 6 * MINUTE, id="at least six minutes"),
        pytest.param([span(since=NOW, limit=NOW + 5 * HOUR)], 5 * HOUR, id="until the last end"),
        pytest.param([span(since=NOW, end=NOW + 9999 * DAY)], 90 * DAY, id="at most 90 days"),
    ],
)
def test_what_comes_is_drawn_with_some_room_after_it(of: list[Span], seconds: float) -> None:
    assert axis(of, NOW).end == pytest.approx(NOW + 1.1 * seconds)
