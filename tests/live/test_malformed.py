# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from enbloc.client.events import ObjectReference
from enbloc.client.items import Meta
from enbloc.client.paths import NODES
from enbloc.live.malformed import MalformedObjects

META = Meta("uid", "n")


class Said:
    """What was said, and who says it."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.objects = MalformedObjects(self)

    def __call__(self, about: ObjectReference, note: str) -> None:
        assert about == ObjectReference(NODES, "", "n", META.uid)
        self.notes.append(note)


def test_a_problem_is_said_once_and_again_when_it_changes_or_returns() -> None:
    said = Said()
    said.objects.tell()
    for problem in ("a", "a", "b", "", "b"):
        said.objects.seen(NODES, META, problem)
    in_full = "Malformed fields are ignored: "
    assert said.notes == [in_full + "a", in_full + "b", in_full + "b"]


def test_who_does_not_lead_keeps_what_it_will_say() -> None:
    said = Said()
    said.objects.ignored(NODES, META, "odd")
    assert said.notes == []
    said.objects.tell()
    assert said.notes == ["Ignored because it is malformed: odd"]


def test_nothing_is_said_of_an_object_that_is_gone() -> None:
    said = Said()
    said.objects.ignored(NODES, META, "odd")
    said.objects.gone(NODES, META)
    said.objects.tell()
    assert said.notes == []


def test_nothing_is_said_on_an_object_that_has_no_name() -> None:
    said = Said()
    said.objects.tell()
    said.objects.ignored(NODES, Meta(), "odd")
    assert said.notes == []
