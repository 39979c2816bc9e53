# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A group as a page: members, placements, and what of its explanation somebody may see."""

import pytest

from enbloc.engine.events import GroupSeen, PriorityClassSeen
from enbloc.model.groups import Group, GroupKey, Role
from enbloc.model.pods import Phase
from enbloc.model.reasons import WaitCause
from enbloc.simulation import Explanation
from enbloc.ui.group_page import MEMBERS, explanation_page, group_page, under_way_page
from enbloc.ui.view import ANYBODY, Explained, View, Viewer, VisibleExplanation, shown
from tests.ui.dom import Element, lines, parsed
from tests.ui.world import gang, lone, nodes, running, status, view

MINE = Viewer(namespaces=frozenset({"team"}))


def page(
    of: View,
    name: str,
    viewer: Viewer = ANYBODY,
    number: int = 1,
    known: VisibleExplanation | None = None,
) -> Element:
    key = GroupKey("team", name)
    return parsed(group_page(of, viewer, key, number, status(of), known))


def explained(of: View, name: str) -> Explained:
    key = GroupKey("team", name)
    row = of.row(key)
    assert row is not None
    return of.explained(row.waiting)


def explanation(of: View, name: str, viewer: Viewer = ANYBODY) -> Element:
    found = shown(explained(of, name), viewer)
    return parsed(explanation_page(found, viewer, status(of)))


def unfolding(of: Element) -> list[str]:
    """What is loaded when it is folded out."""
    found = of.every("details")
    return [each["data-load"] for each in found if "data-load" in each.attributes]


def facts(of: Element) -> dict[str, str]:
    names, values = ([e.text for e in of.one("dl").every(tag)] for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def test_a_group_that_starts_shows_where_its_members_go() -> None:
    shown_ = page(view(nodes(1), gang("fits", 2)), "fits")
    assert shown_.one("h1").text == "Group team/fits"
    assert lines(shown_) == [
        ["Pod", "Role", "State", "Node", "Priority", "Age"],
        ["fits-0", "–", "Waiting", "goes to node-0", "0", "5m"],
        ["fits-1", "–", "Waiting", "goes to node-0", "0", "5m"],
    ]
    mine = page(view(nodes(1), gang("fits", 2)), "fits", MINE)
    assert [row[3] for row in lines(mine)[1:]] == ["goes to a node"] * 2
    lead = shown_.one("p", **{"class": "lead"}).text
    assert lead == "It starts as soon as the scheduler takes it. It is number 1 in the order."
    assert "get a node now: 2" in shown_.one("figure").text
    assert not unfolding(shown_)


def test_a_group_that_waits_says_why_and_offers_what_would_help() -> None:
    shown_ = page(view(nodes(1), gang("big", 5)), "big")
    lead = shown_.one("p", **{"class": "lead"}).text
    assert lead.startswith("Infeasible: needs capacity for 5 members")
    assert lead.endswith("Insufficient cpu. It is number 1 in the order.")
    assert facts(shown_) == {
        "Owner": "Job/big",
        "Members": "5",
        "Needs at least": "5",
        "Priority": "0",
        "Waiting": "5m, since 2023-11-14T22:08:20Z",
    }
    assert unfolding(shown_) == ["/groups/team/big/explanation"]


def test_groups_that_run_have_ended_or_have_no_pods_are_shown_too() -> None:
    world = view(
        nodes(1),
        running("runs", 2, "node-0"),
        gang("done", 1, node="node-0", phase=Phase.SUCCEEDED),
        [GroupSeen(Group(GroupKey("team", "empty"), "uid", 3, roles=(Role("worker", 2),)))],
    )
    assert "It does not wait." in page(world, "runs").text
    assert [row[2:4] for row in lines(page(world, "runs"))[1:]] == [["Running", "node-0"]] * 2
    assert "It has ended: none of its 1 pods runs any more." in page(world, "done").text
    empty = page(world, "empty")
    assert "It has no pods; nothing waits." in empty.text
    assert "No pod is a member of it yet." in empty.text
    assert facts(empty)["Of its roles at least"] == "worker: 2"


def test_a_pod_without_a_group_has_a_page() -> None:
    shown_ = page(view(nodes(1), lone("alone")), "/alone")
    assert shown_.one("h1").text == "Pod team/alone"
    assert lines(shown_)[1][:4] == ["alone", "–", "Waiting", "goes to node-0"]


def test_many_members_have_pages() -> None:
    world = view(gang("big", MEMBERS + 1))
    assert len(lines(page(world, "big"))) == MEMBERS + 1
    assert len(lines(page(world, "big", number=2))) == 2


def test_what_is_known_already_is_shown_with_the_group() -> None:
    world = view(nodes(1), gang("big", 5))
    known = shown(explained(world, "big"), ANYBODY)
    found = page(world, "big", known=known)
    assert not unfolding(found)
    assert "It would start with any one of these" in found.one("section").text


# ── explanations ─────────────────────────────────────────────────────────────────────────────


def test_an_explanation_has_the_cause_who_is_ahead_and_what_would_help() -> None:
    world = view(nodes(2), gang("first", 3), gang("second", 2, created=1.7e9 - 10))
    found = explanation(world, "second")
    assert found.one("h1").text == "What would make group team/second run"
    section = found.one("section", id="explanation")
    assert "waits for capacity that others hold" in section.text
    assert [a["href"] for a in section.every("a")] == ["/groups/team/first"]
    assert "They take 12 CPUs" in section.text
    [*headings] = (each.text for each in section.every("h4"))
    assert headings == [
        "Whoever makes the pods can change that",
        "Whoever runs the cluster can change that",
        "That is up to others",
    ]
    assert "1 more node like node-0" in section.text


def test_who_may_not_see_all_sees_no_change_in_the_hand_of_others_or_of_nodes() -> None:
    world = view(
        nodes(1),
        running("secret", 2, "node-0", namespace="other"),
        gang("mine", 1),
    )
    everything = explanation(world, "mine").text
    assert "the end of other/secret" in everything
    assert "1 more node like node-0" in everything
    mine = explanation(world, "mine", MINE).text
    assert "secret" not in mine
    assert "node-0" not in mine
    assert "2 more changes would be enough, of nodes, or of groups, that you may not see" in mine
    half = explanation(world, "mine", Viewer(namespaces=frozenset({"team"}), nodes=True)).text
    assert "node-0" in half
    assert "secret" not in half


def test_who_is_ahead_in_other_namespaces_is_counted_and_not_named() -> None:
    world = view(
        nodes(1),
        gang("secret", 1, namespace="other"),
        gang("ahead", 1),
        gang("mine", 1, created=1.7e9 - 10),
    )
    found = explanation(world, "mine", MINE)
    assert "secret" not in found.text
    assert [li.text for li in next(found.one("section").every("ul")).every("li")] == [
        "team/ahead",
        "and 1 more",
    ]


def test_victims_in_other_namespaces_are_not_named() -> None:
    world = view(
        nodes(1),
        [PriorityClassSeen("high", 1000)],
        running("secret", 2, "node-0", namespace="other"),
        gang("mine", 2),
    )
    assert "evicts other/secret-0" in explanation(world, "mine").text
    mine = explanation(world, "mine", MINE).text
    assert "priorityClassName high" in mine
    assert "secret" not in mine


def test_that_nothing_would_help_or_not_all_was_tried_is_said() -> None:
    world = view(nodes(1), gang("big", 5))
    row = world.row(GroupKey("team", "big"))
    assert row is not None
    bare = Explanation(row.waiting, WaitCause.CAPACITY, complete=False)
    text = parsed(explanation_page(VisibleExplanation(bare), ANYBODY, status(world))).text
    assert "No single change of those that were tried is enough." in text
    assert "Not every change was tried, so one that is not listed may help." in text


def test_who_may_not_see_nodes_learns_none_of_their_labels() -> None:
    world = view(
        nodes(1, labels=(("disk", "secret"),)),
        gang("picky", 1, cpu=1, node_selector=(("disk", "x"),)),
    )
    assert "disk=secret" in explanation(world, "picky").text
    assert "secret" not in explanation(world, "picky", MINE).text


def test_of_an_explanation_that_takes_too_long_what_was_found_counts() -> None:
    world = view(nodes(1), gang("big", 5))
    row = world.row(GroupKey("team", "big"))
    assert row is not None
    found = world.explained(row.waiting, lambda: False).explanation
    assert (found.cause, found.remedies, found.complete) == (WaitCause.CLUSTER, [], False)


def test_while_it_is_worked_out_the_page_says_so() -> None:
    world = view(nodes(1), gang("big", 5))
    found = parsed(under_way_page(GroupKey("team", "big"), status(world)))
    assert "data-again" in found.one("p", id="explanation").attributes
    assert found.one("main").one("a")["href"] == "/groups/team/big/explanation"


@pytest.mark.parametrize("name", ["big", "/alone"])
def test_explanations_lead_back(name: str) -> None:
    world = view(nodes(1), gang("big", 5), lone("alone", cpu=100))
    [*links] = (a["href"] for a in explanation(world, name).one("main").every("a"))
    expected = "/groups/team/big" if name == "big" else "/pods/team/alone"
    assert links[-1] == expected
