# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""InterPodAffinity: whom terms speak of, where that lets a pod go, and what it prefers."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from enbloc.framework.hints import Action, Happening, Hint, Resource
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodKey, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.model.workloads import equals
from enbloc.plugins.inter_pod_affinity.plugin import InterPodAffinity
from tests.world.builders import labelled, pod, waiting
from tests.world.tables import nodes, seated

WEB, DB = equals({"app": "web"}), equals({"app": "db"})
EVERYTHING = Selector()
NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"


def a(app: str, namespace: str = "default", **spec: Any) -> Pod:
    """A pod with that label `app`, and no others."""
    labels = (("app", app),) if app else ()
    return replace(pod(PodSpec(**spec)), key=PodKey(namespace, "pod"), labels=labels)


def term(selector: Selector | None, key: str = "zone", **facts: Any) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, **facts)


def near(*terms: PodAffinityTerm) -> dict[str, Any]:
    return {"pod_affinity": PodAffinity(required=terms)}


def apart(*terms: PodAffinityTerm) -> dict[str, Any]:
    return {"pod_anti_affinity": PodAffinity(required=terms)}


def likes(*terms: tuple[int, PodAffinityTerm]) -> dict[str, Any]:
    return {"pod_affinity": PodAffinity(preferred=terms)}


def dislikes(*terms: tuple[int, PodAffinityTerm]) -> dict[str, Any]:
    return {"pod_anti_affinity": PodAffinity(preferred=terms)}


def table() -> Nodes:
    """Nodes a and b in zone 1, c in zone 2, and d in none."""
    return nodes(
        labelled("a", zone="1", host="a"),
        labelled("b", zone="1", host="b"),
        labelled("c", zone="2", host="c"),
        labelled("d", host="d"),
    )


def verdict(member: Pod, *seats: tuple[Pod, str], **facts: Any) -> str:
    """The names of the feasible nodes."""
    snapshot = seated(table(), *seats, **facts)
    mask = InterPodAffinity().pre_filter(member, snapshot).filter(member, snapshot.nodes)
    return "".join(name for name, fits in zip("abcd", mask, strict=True) if fits)


def scores(
    member: Pod, *seats: tuple[Pod, str], plugin: InterPodAffinity | None = None, **facts: Any
) -> list[int]:
    """The raw scores of the nodes."""
    snapshot = seated(table(), *seats, **facts)
    evaluator = (plugin or InterPodAffinity()).pre_score(member, snapshot)
    assert evaluator is not None
    return evaluator.score(member, snapshot.nodes).tolist()


# ── required affinity ────────────────────────────────────────────────────────────────────────


def test_a_pod_goes_where_a_pod_that_it_wants_is() -> None:
    assert verdict(a("web", **near(term(DB))), (a("db"), "a")) == "ab"
    assert verdict(a("web", **near(term(DB, "host"))), (a("db"), "a")) == "a"


def test_a_pod_that_wants_what_is_nowhere_goes_nowhere() -> None:
    assert verdict(a("web", **near(term(DB))), (a("web"), "a")) == ""


@pytest.mark.parametrize(
    ("seats", "expected"),
    [
        pytest.param([], "abc", id="the first of its kind goes anywhere that has the key"),
        pytest.param([(a("web"), "c")], "c", id="the second goes to the first"),
        pytest.param([(a("web"), "d")], "abc", id="one outside every domain is no pair"),
        pytest.param([(a("web", "elsewhere"), "c")], "abc", id="one of another namespace is none"),
    ],
)
def test_pods_that_want_their_like_can_start_somewhere(
    seats: list[tuple[Pod, str]], expected: str
) -> None:
    assert verdict(a("web", **near(term(WEB))), *seats) == expected


def test_the_first_of_a_kind_still_needs_every_key() -> None:
    both = a("web", **near(term(WEB), term(WEB, "host")))

    assert verdict(both) == "abc"


def test_a_pod_that_matches_only_some_of_its_own_terms_cannot_be_the_first() -> None:
    assert verdict(a("web", **near(term(WEB), term(DB)))) == ""


def test_one_pod_must_match_all_terms_at_once() -> None:
    wanted = a("cache", **near(term(WEB), term(equals({"tier": "x"}))))
    both = replace(a("web"), labels=(("app", "web"), ("tier", "x")))
    only_tier = replace(a(""), labels=(("tier", "x"),))

    assert verdict(wanted, (a("web"), "a"), (only_tier, "b")) == ""
    assert verdict(wanted, (a("web"), "a"), (only_tier, "b"), (both, "c")) == "c"


def test_terms_of_several_keys_must_each_hold() -> None:
    wanted = a("cache", **near(term(DB), term(DB, "host")))

    assert verdict(wanted, (a("db"), "b"), (a("db"), "d")) == "b"


def test_terminating_pods_count() -> None:
    assert verdict(a("web", **near(term(DB))), (replace(a("db"), deleting=True), "c")) == "c"


def test_no_selector_wants_no_pod_and_an_empty_one_any() -> None:
    assert verdict(a("web", **near(term(None))), (a("db"), "a")) == ""
    assert verdict(a("web", **near(term(EVERYTHING))), (a("db"), "a")) == "ab"


# ── namespaces ───────────────────────────────────────────────────────────────────────────────

BLUE = Selector((Requirement("team", Operator.IN, ("blue",)),))
KNOWN = {"default": (), "x": (("team", "blue"),), "y": (("team", "red"),)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param({}, "d", id="neither: its own namespace"),
        pytest.param({"namespaces": ("x",)}, "a", id="by name"),
        pytest.param({"namespaces": ("x", "y", "default")}, "abd", id="by several names"),
        pytest.param({"namespace_selector": BLUE}, "a", id="by the namespace's labels"),
        pytest.param({"namespace_selector": BLUE, "namespaces": ("y",)}, "ab", id="by either"),
        pytest.param({"namespace_selector": EVERYTHING}, "abcd", id="{}: all, even unknown ones"),
    ],
)
def test_a_term_speaks_of_pods_in_the_namespaces_that_it_names(
    facts: dict[str, Any], expected: str
) -> None:
    seats = [(a("db", name), node) for name, node in zip(("x", "y", "z", "default"), "abcd",
                                                         strict=True)]  # fmt: skip

    assert verdict(a("web", **near(term(DB, "host", **facts))), *seats, namespaces=KNOWN) == (
        expected
    )


def test_others_anti_affinity_reaches_across_namespaces() -> None:
    member = a("web")

    def refused(**facts: Any) -> bool:
        other = a("db", "x", **apart(term(WEB, **facts)))
        return verdict(member, (other, "a"), namespaces=KNOWN) == "cd"

    assert not refused(), "the other's own namespace is x"
    assert refused(namespaces=("default",))
    assert refused(namespace_selector=EVERYTHING)
    assert not refused(namespace_selector=BLUE)
    member = a("web", "x")
    assert refused()
    assert refused(namespace_selector=BLUE)
    member = a("web", "unknown")
    assert refused(namespace_selector=EVERYTHING)
    assert refused(namespace_selector=Selector((Requirement("team", Operator.DOES_NOT_EXIST),)))


# ── anti-affinity ────────────────────────────────────────────────────────────────────────────


def test_a_pod_keeps_apart_from_those_that_it_does_not_want() -> None:
    assert verdict(a("web", **apart(term(DB))), (a("db"), "a")) == "cd"
    assert verdict(a("web", **apart(term(DB, "host"))), (a("db"), "a")) == "bcd"
    assert verdict(a("web", **apart(term(DB))), (a("db"), "d")) == "abcd", "no zone, no pair"


def test_each_term_of_anti_affinity_refuses_by_itself() -> None:
    member = a("web", **apart(term(DB), term(equals({"app": "x"}), "host")))

    assert verdict(member, (a("db"), "c"), (a("x"), "a")) == "bd"
    assert verdict(member, (a("db"), "c"), (a("db"), "d")) == "abd"


def test_a_placed_pod_keeps_away_whom_it_does_not_want() -> None:
    alone = a("db", **apart(term(WEB)))

    assert verdict(a("web"), (alone, "a")) == "cd"
    assert verdict(a("cache"), (alone, "a")) == "abcd"
    assert verdict(a("web"), (a("db", **dislikes((100, term(WEB)))), "a")) == "abcd"


def test_the_rules_are_named_in_the_order_in_which_they_are_checked() -> None:
    member = a("web", **near(term(DB)), **apart(term(equals({"app": "x"}), "host")))
    snapshot = seated(
        table(),
        (a("db"), "a"),
        (a("x"), "a"),
        (a("y", **apart(term(WEB, "zone"))), "b"),
    )
    evaluator = InterPodAffinity().pre_filter(member, snapshot)
    mask = evaluator.filter(member, snapshot.nodes)

    assert not mask.any()
    assert evaluator.explain(member, snapshot.nodes, ~mask) == Counter(
        {NOT_NEAR: 2, NOT_APART: 1, UNWELCOME: 1}
    )


def test_a_pod_that_nobody_minds_goes_anywhere() -> None:
    assert verdict(a("web")) == "abcd"


# ── preferences ──────────────────────────────────────────────────────────────────────────────


def test_every_pod_that_is_liked_draws_by_its_weight_and_a_disliked_one_repels() -> None:
    member = a("web", **likes((10, term(DB)), (3, term(DB, "host"))), **dislikes((5, term(WEB))))

    assert scores(member, (a("db"), "a"), (a("db"), "c"), (a("web"), "c")) == [13, 10, 8, 0]


def test_placed_pods_draw_by_what_they_want() -> None:
    assert scores(a("web"), (a("db", **likes((7, term(WEB)))), "a")) == [7, 7, 0, 0]
    assert scores(a("web"), (a("db", **dislikes((7, term(WEB)))), "a")) == [-7, -7, 0, 0]
    assert scores(a("web"), (a("db", **near(term(WEB))), "c")) == [0, 0, 1, 0]
    assert scores(a("web"), (a("db", **apart(term(WEB))), "c")) == [0, 0, 0, 0]
    assert scores(a("cache"), (a("db", **likes((7, term(WEB)))), "a")) == [0, 0, 0, 0]


@pytest.mark.parametrize(("weight", "expected"), [(0, 0), (1, 2), (100, 200)])
def test_what_others_require_weighs_as_configured(weight: int, expected: int) -> None:
    plugin = InterPodAffinity(hard_pod_affinity_weight=weight)
    wants = a("db", **near(term(WEB)))

    assert scores(a("web"), (wants, "a"), (wants, "b"), plugin=plugin) == [expected] * 2 + [0, 0]


def test_others_preferences_may_be_left_out_for_pods_without_their_own() -> None:
    plugin = InterPodAffinity(ignore_preferred_terms_of_existing_pods=True)
    other = a("db", **likes((7, term(WEB))))
    member = a("web", **likes((1, term(DB))))

    assert plugin.pre_score(a("web", **near(term(DB))), seated(table(), (other, "a"))) is None
    assert scores(member, (other, "a"), plugin=plugin) == [8, 8, 0, 0]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param([0, 0], [0, 0], id="no preference"),
        pytest.param([7, 7, 7], [0, 0, 0], id="all equal"),
        pytest.param([-3, 0, 4], [0, 42, 100], id="rounded down"),
        pytest.param([-7, -7, 0], [0, 0, 100], id="only dislikes"),
        pytest.param([0, 29, 100], [0, 28, 100], id="in floats, as Go: 100 · 0.29 < 29"),
        pytest.param([], [], id="no node"),
    ],
)
def test_preferences_normalise_linearly(raw: list[int], expected: list[int]) -> None:
    assert InterPodAffinity().normalize(np.array(raw, np.int64)).tolist() == expected


# ── pods come and go ─────────────────────────────────────────────────────────────────────────

_keys = st.sampled_from(("zone", "host", "rack"))
_selectors = st.none() | st.sampled_from((EVERYTHING, WEB, DB))
_terms = st.builds(
    PodAffinityTerm,
    _keys,
    _selectors,
    st.sampled_from(((), (), ("x",))),
    st.sampled_from((None, None, EVERYTHING, BLUE)),
)
_sides = st.builds(
    PodAffinity,
    st.lists(_terms, max_size=2).map(tuple),
    st.lists(st.tuples(st.integers(1, 9), _terms), max_size=2).map(tuple),
)
_pods = st.builds(
    a,
    st.sampled_from(("web", "db", "")),
    st.sampled_from(("default", "x")),
    pod_affinity=_sides | st.just(PodAffinity()),
    pod_anti_affinity=_sides | st.just(PodAffinity()),
)
_seats = st.lists(st.tuples(_pods, st.sampled_from("abcd")), max_size=6)


@given(member=_pods, before=_seats, arriving=_seats, data=st.data())
def test_telling_of_pods_that_come_and_go_equals_counting_anew(
    member: Pod, before: list[tuple[Pod, str]], arriving: list[tuple[Pod, str]], data: st.DataObject
) -> None:
    leaving = (
        data.draw(st.lists(st.sampled_from(range(len(before))), unique=True)) if before else []
    )
    first = seated(table(), *before, namespaces=KNOWN)
    staying = [seat for index, seat in enumerate(before) if index not in leaving]
    final = seated(table(), *staying, *arriving, namespaces=KNOWN)
    plugin = InterPodAffinity()
    told, anew = plugin.pre_filter(member, first), plugin.pre_filter(member, final)
    told_score, new_score = plugin.pre_score(member, first), plugin.pre_score(member, final)
    assert told_score is not None
    assert new_score is not None

    changes = [(before[index], told.removed, told_score.removed) for index in leaving]
    changes += [(seat, told.placed, told_score.placed) for seat in arriving]
    for (other, name), tell, tell_score in changes:
        old_mask = told.filter(member, first.nodes)
        old_scores = told_score.score(member, first.nodes)
        if not tell(other, "abcd".index(name)):
            assert (told.filter(member, first.nodes) == old_mask).all()
        if not tell_score(other, "abcd".index(name)):
            assert (told_score.score(member, first.nodes) == old_scores).all()

    mask = anew.filter(member, final.nodes)
    assert told.filter(member, first.nodes).tolist() == mask.tolist()
    assert told.explain(member, first.nodes, ~mask) == anew.explain(member, final.nodes, ~mask)
    assert sum(anew.explain(member, final.nodes, ~mask).values()) == (~mask).sum()
    assert (
        told_score.score(member, first.nodes).tolist()
        == new_score.score(member, final.nodes).tolist()
    )


# ── events ───────────────────────────────────────────────────────────────────────────────────


def woken(member: Pod, event: Happening) -> bool:
    """Whether the event is worth another try of a group of that one pod."""
    plugin = InterPodAffinity()
    assert any(event.matches(pattern) for pattern in plugin.events), "nobody would ask"
    return plugin.hint(event, waiting(member)) is Hint.QUEUE


def on(node: str, other: Pod) -> Pod:
    return replace(other, node=node)


RENAMED = Happening(
    Resource.POD, Action.UPDATE_LABEL, pod=on("n", a("db")), old_pod=on("n", a("x"))
)
WANTS_DB, SHUNS_DB = a("web", **near(term(DB))), a("web", **apart(term(DB)))
WANTS_WEB = a("web", **near(term(WEB)))


def arrival(other: Pod) -> Happening:
    return Happening(Resource.POD, Action.ADD, pod=other)


def departure(other: Pod) -> Happening:
    return Happening(Resource.POD, Action.DELETE, pod=other)


@pytest.mark.parametrize(
    ("member", "event", "expected"),
    [
        pytest.param(WANTS_DB, arrival(on("n", a("db"))), True, id="whom it wants is placed"),
        pytest.param(WANTS_DB, arrival(a("db")), False, id="whom it wants waits as well"),
        pytest.param(WANTS_DB, arrival(on("n", a("x"))), False, id="somebody else is placed"),
        pytest.param(WANTS_DB, arrival(on("n", a("db", "x"))), False, id="in another namespace"),
        pytest.param(
            a("web", **near(term(DB, namespace_selector=BLUE))),
            arrival(on("n", a("db", "x"))),
            True,
            id="in a namespace that may be selected",
        ),
        pytest.param(WANTS_DB, RENAMED, True, id="a label makes it one that is wanted"),
        pytest.param(
            WANTS_WEB,
            structs.replace(RENAMED, pod=on("n", a("x")), old_pod=on("n", a("web"))),
            True,
            id="a label makes room for the first of its kind",
        ),
        pytest.param(a("web", **near(term(None))), RENAMED, False, id="no selector, no pod"),
        pytest.param(SHUNS_DB, RENAMED, False, id="a label makes it one that is shunned"),
        pytest.param(
            SHUNS_DB,
            structs.replace(RENAMED, pod=on("n", a("x")), old_pod=on("n", a("db"))),
            True,
            id="a label makes it one that is not shunned any more",
        ),
        pytest.param(
            SHUNS_DB, structs.replace(RENAMED, old_pod=None), True, id="from which is unknown"
        ),
        pytest.param(SHUNS_DB, departure(on("n", a("db"))), True, id="whom it shuns leaves"),
        pytest.param(SHUNS_DB, departure(a("db")), True, id="one that was assumed leaves"),
        pytest.param(SHUNS_DB, departure(on("n", a("x"))), False, id="somebody else leaves"),
        pytest.param(SHUNS_DB, Happening(Resource.POD, Action.DELETE), True, id="who is unknown"),
        pytest.param(
            a("web"),
            departure(on("n", a("db", **apart(term(WEB))))),
            True,
            id="who shuns it leaves",
        ),
        pytest.param(
            WANTS_WEB, departure(on("n", a("web"))), True, id="the last of its kind may have left"
        ),
        pytest.param(WANTS_DB, departure(on("n", a("db"))), False, id="whom it wants leaves"),
    ],
)
def test_a_pod_wakes_whom_it_could_help(member: Pod, event: Happening, *, expected: bool) -> None:
    assert woken(member, event) is expected


def moved(before: Node | None, after: Node | None) -> Happening:
    action = Action.UPDATE_LABEL if before else Action.ADD
    return Happening(Resource.NODE, action, node=after, old_node=before)


@pytest.mark.parametrize(
    ("member", "event", "expected"),
    [
        pytest.param(WANTS_DB, moved(None, labelled("n", zone="1")), True, id="a node in a zone"),
        pytest.param(WANTS_DB, moved(None, labelled("n")), False, id="a node in no zone"),
        pytest.param(SHUNS_DB, moved(None, labelled("n")), True, id="a node apart from all zones"),
        pytest.param(a("web"), moved(None, labelled("n")), True, id="a node without enemies"),
        pytest.param(
            WANTS_DB, moved(labelled("n"), labelled("n", zone="1")), True, id="a zone appears"
        ),
        pytest.param(
            WANTS_DB, moved(labelled("n"), labelled("n", rack="1")), False, id="a rack appears"
        ),
        pytest.param(
            WANTS_DB, moved(labelled("n", zone="1"), labelled("n", zone="2")), True, id="it moves"
        ),
        pytest.param(
            SHUNS_DB, moved(labelled("n", zone="1"), labelled("n")), True, id="a zone disappears"
        ),
        pytest.param(
            SHUNS_DB, moved(labelled("n"), labelled("n", zone="1")), False, id="it joins a zone"
        ),
        pytest.param(SHUNS_DB, moved(None, None), True, id="which is unknown"),
    ],
)
def test_a_node_wakes_whom_it_could_help(member: Pod, event: Happening, *, expected: bool) -> None:
    assert woken(member, event) is expected


def test_a_namespace_wakes_whom_its_labels_could_help() -> None:
    new = Happening(Resource.NAMESPACE, Action.ADD)
    selecting = a("web", **near(term(DB, namespace_selector=BLUE)))

    assert not woken(WANTS_DB, new)
    assert woken(selecting, new)
    assert woken(WANTS_DB, structs.replace(new, action=Action.UPDATE_LABEL))
