# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a label selector selects, and the shape of pod affinity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import NO_AFFINITY, PodAffinity, PodAffinityTerm, Selector
from tests.strategies import KEYS, VALUES, requirements

LABELS = {"app": "web", "tier": "7"}

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


@pytest.mark.parametrize(
    ("operator", "key", "values", "selected"),
    [
        (Operator.IN, "app", ("db", "web"), True),
        (Operator.IN, "app", ("db",), False),
        (Operator.IN, "zone", ("a",), False),
        (Operator.NOT_IN, "app", ("web",), False),
        (Operator.NOT_IN, "app", ("db",), True),
        (Operator.NOT_IN, "zone", ("a",), True),
        (Operator.EXISTS, "app", (), True),
        (Operator.EXISTS, "zone", (), False),
        (Operator.DOES_NOT_EXIST, "app", (), False),
        (Operator.DOES_NOT_EXIST, "zone", (), True),
    ],
)
def test_a_requirement_decides_by_its_operator(
    operator: Operator, key: str, values: tuple[str, ...], *, selected: bool
) -> None:
    assert Selector((Requirement(key, operator, values),)).matches(LABELS) is selected


def test_a_selector_without_requirements_selects_everything() -> None:
    assert Selector().matches({})
    assert Selector().matches(LABELS)
    assert Selector().keys == frozenset()


@given(st.lists(requirements, max_size=4), labels)
def test_all_requirements_must_hold(
    wanted: list[Requirement], given_labels: dict[str, str]
) -> None:
    selector = Selector(tuple(wanted))

    assert selector.matches(given_labels) == all(
        Selector((each,)).matches(given_labels) for each in wanted
    )
    assert selector.keys == {each.key for each in wanted}


@given(st.lists(requirements, max_size=4), labels, st.text(max_size=3), st.text(max_size=3))
def test_labels_that_no_requirement_names_do_not_matter(
    wanted: list[Requirement], given_labels: dict[str, str], key: str, value: str
) -> None:
    selector = Selector(tuple(wanted))
    more = given_labels if key in selector.keys else {**given_labels, key: value}

    assert selector.matches(more) == selector.matches(given_labels)


def test_affinity_lists_its_required_terms_first() -> None:
    zone, host = PodAffinityTerm("zone"), PodAffinityTerm("host")

    assert PodAffinity((zone,), ((5, host),)).terms == (zone, host)
    assert PodAffinity((), ((5, host),))
    assert not NO_AFFINITY
    assert NO_AFFINITY.terms == ()
