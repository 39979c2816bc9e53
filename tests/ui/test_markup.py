# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Markup: what is text stays text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.ui.markup import Markup, element
from tests.effort import examples
from tests.ui.dom import parsed


def test_elements_nest_and_texts_are_escaped() -> None:
    made = element("p", "a < b & ", element("b", "c"), [1, None, "'d'"], class_="note", hidden=True)
    assert made == '<p class="note" hidden>a &lt; b &amp; <b>c</b>1&#x27;d&#x27;</p>'


def test_none_and_false_leave_an_attribute_out_and_zero_does_not() -> None:
    assert element("i", a=None, b=False, c=0, d="", data_e=1.5) == (
        '<i c="0" d="" data-e="1.5"></i>'
    )


def test_void_elements_have_no_end() -> None:
    assert element("input", name="x") == '<input name="x">'


def test_what_nobody_sees_is_shown_as_its_number() -> None:
    assert element("p", "a\x00b\u202ec\n") == "<p>a\\x00b\\u202ec\\n</p>"


@pytest.mark.parametrize("name", ["onclick", "on_click", "style", "Class", "a b", "a>b"])
def test_attributes_that_run_or_style_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no attribute"):
        element("p", **{name: "x"})


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "//evil.example", "/\\evil.example", "https://x", "data:,x", " /x"],
)
@pytest.mark.parametrize("name", ["href", "src", "action"])
def test_addresses_that_lead_away_are_refused(name: str, address: str) -> None:
    with pytest.raises(ValueError, match="is no address of ours"):
        element("a", **{name: address})


@pytest.mark.parametrize("address", ["/", "/nodes?page=2", "?page=2", "#main", ""])
def test_addresses_of_ours_are_taken(address: str) -> None:
    assert element("a", href=address) == f'<a href="{address}"></a>'


@examples(200)
@given(st.text())
def test_no_text_becomes_anything_but_text(text: str) -> None:
    page = element("html", element("p", text, title=text))
    assert isinstance(page, Markup)
    [paragraph] = parsed(page).every()
    assert list(paragraph.attributes) == ["title"]
    assert all(isinstance(child, str) for child in paragraph.children)
