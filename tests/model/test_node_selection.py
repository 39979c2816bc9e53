# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes a nodeSelector and node affinity terms allow."""

import pytest

from enbloc.model.node import Node
from enbloc.model.node_selection import names_of, selected, terms_match
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.requirements import Operator, Requirement
from tests.world.tables import nodes

TABLE = nodes(
    Node("a", labels=(("disk", "ssd"), ("size", "10"), ("zone", "1"))),
    Node("b", labels=(("size", "ten"), ("zone", "1"))),
    Node("c", labels=(("disk", "ssd"), ("size", "-3"), ("zone", "2"))),
)


def term(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions, fields)


def label(key: str, operator: Operator, *values: str) -> Requirement:
    return Requirement(key, operator, values)


def named(operator: Operator, *values: str) -> NodeSelectorTerm:
    return term(fields=(Requirement("metadata.name", operator, values),))


@pytest.mark.parametrize(
    ("of", "allowed"),
    [
        pytest.param(term(), "", id="a term with neither expressions nor fields matches nothing"),
        pytest.param(term(label("disk", Operator.IN, "ssd", "nvme")), "ac", id="one of the values"),
        pytest.param(term(label("disk", Operator.NOT_IN, "ssd")), "b", id="NotIn lets a missing"),
        pytest.param(term(label("disk", Operator.EXISTS)), "ac", id="Exists"),
        pytest.param(term(label("disk", Operator.DOES_NOT_EXIST)), "b", id="DoesNotExist"),
        pytest.param(term(label("gpu", Operator.IN, "1")), "", id="a label that no node has"),
        pytest.param(term(label("size", Operator.GT, "-4")), "ac", id="Gt skips a non-integer"),
        pytest.param(term(label("size", Operator.GT, "10")), "", id="Gt is strict"),
        pytest.param(term(label("size", Operator.LT, "10")), "c", id="Lt is strict"),
        pytest.param(term(label("size", Operator.GT, "one")), "", id="Gt a non-integer"),
        pytest.param(term(label("size", Operator.GT, "1", "2")), "", id="Gt two values"),
        pytest.param(
            term(label("disk", Operator.EXISTS), label("zone", Operator.IN, "1")),
            "a",
            id="every expression holds",
        ),
        pytest.param(named(Operator.IN, "b"), "b", id="by name"),
        pytest.param(named(Operator.NOT_IN, "b"), "ac", id="by any other name"),
        pytest.param(named(Operator.IN, "a", "b"), "", id="a field takes exactly one name"),
        pytest.param(named(Operator.EXISTS), "", id="a field knows only In and NotIn"),
        pytest.param(
            term(fields=(Requirement("spec.podCIDR", Operator.IN, ("a",)),)),
            "",
            id="no other field is known",
        ),
    ],
)
def test_a_term_holds_on_these_nodes(of: NodeSelectorTerm, allowed: str) -> None:
    assert terms_match((of,), TABLE).tolist() == [name in allowed for name in "abc"]


def test_any_term_suffices_beside_every_label_of_the_selector() -> None:
    terms = (named(Operator.IN, "a"), term(label("zone", Operator.IN, "2")))

    def allowed(spec: PodSpec) -> list[bool]:
        return selected(spec, TABLE).tolist()

    assert allowed(PodSpec()) == [True, True, True]
    assert allowed(PodSpec(node_affinity=terms)) == [True, False, True]
    assert allowed(PodSpec(node_affinity=())) == [False, False, False]
    assert allowed(PodSpec(node_selector=(("zone", "1"),))) == [True, True, False]
    assert allowed(PodSpec((), node_selector=(("zone", "2"),), node_affinity=terms)) == [
        False,
        False,
        True,
    ]


def test_names_are_joined_over_terms_and_cut_within_one() -> None:
    a, b = named(Operator.IN, "a"), named(Operator.IN, "b")
    both = term(fields=(*a.fields, *b.fields))

    assert names_of((a, b)) == frozenset("ab")
    assert names_of((both, b)) == frozenset("b")
    assert names_of((both,)) == frozenset()
    assert names_of((a, named(Operator.NOT_IN, "b"))) is None
    assert names_of((a, term(label("zone", Operator.IN, "1")))) is None
