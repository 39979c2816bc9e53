# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every word of a status and every event has a meaning that people can read."""

from enbloc.api.words import CAUSES, CONDITIONS, EVENTS, KEYS, KEYS_OF_OTHERS, REASONS
from enbloc.model import names
from enbloc.model.names import Condition, EventReason, Reason
from enbloc.model.reasons import GROUP_EVENTS, MEMBER_EVENTS, WaitCause


def test_every_condition_reason_and_event_has_its_meaning() -> None:
    assert set(CONDITIONS) == set(Condition)
    assert set(REASONS) == set(Reason)
    assert set(EVENTS) == set(EventReason)
    assert set(CAUSES) == set(WaitCause)


def test_every_label_and_annotation_has_its_meaning() -> None:
    keys = {value for name, value in vars(names).items() if name.endswith("_KEY")}

    assert keys == {*KEYS, *KEYS_OF_OTHERS}


def test_every_reason_stands_in_some_condition() -> None:
    used = {reason for each in CONDITIONS.values() for reason in (*each.true, *each.false)}

    assert used | {Reason.PENDING, Reason.POD_GROUP_NOT_FOUND} == set(Reason), "that is on pods"


def test_the_summary_can_say_whatever_the_others_wait_for() -> None:
    summary = CONDITIONS[Condition.READY]

    assert set(CONDITIONS[Condition.SCHEDULED].false) <= set(summary.false)


def test_a_meaning_is_one_line_of_a_table() -> None:
    texts = [
        *(each.meaning for each in CONDITIONS.values()),
        *REASONS.values(),
        *CAUSES.values(),
        *(each.meaning for each in EVENTS.values()),
        *(each.meaning for each in (*KEYS.values(), *KEYS_OF_OTHERS.values())),
    ]

    assert all(text.endswith(".") and "|" not in text and "\n" not in text for text in texts)


def test_the_event_of_a_reason_is_one_of_the_object_on_which_it_is_told() -> None:
    assert all("pod" in EVENTS[event].about for event in MEMBER_EVENTS.values())
    assert all("object it was made for" in EVENTS[event].about for event in GROUP_EVENTS.values())


def test_a_group_that_waits_for_long_says_why_by_an_event() -> None:
    waits = set(CONDITIONS[Condition.SCHEDULED].false)

    assert waits - {*MEMBER_EVENTS, *GROUP_EVENTS} == {Reason.BINDING}, "that takes seconds"
