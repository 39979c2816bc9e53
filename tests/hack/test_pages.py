# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a page that a program writes."""

import pytest

from hack.pages import replaced


def test_only_what_is_between_the_marks_is_replaced() -> None:
    page = "# Title\n<begin>\nold\n<end>\nthe end\n"

    assert replaced(page, "<begin>\n", "<end>\n", "new") == (
        "# Title\n<begin>\n\nnew\n<end>\nthe end\n"
    )


@pytest.mark.parametrize(
    ("page", "lacking"),
    [
        pytest.param("# Title\nold\n<end>\n", "<begin>", id="without its begin"),
        pytest.param("# Title\n<begin>\nold\n", "<end>", id="without its end"),
    ],
)
def test_a_page_without_one_of_its_marks_is_left_as_it_is(page: str, lacking: str) -> None:
    with pytest.raises(ValueError, match=f"the page lacks the line {lacking}"):
        replaced(page, "<begin>\n", "<end>\n", "new")
