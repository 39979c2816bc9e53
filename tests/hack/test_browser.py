# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What `make browser` needs is named where it is missing, and every view of the page is driven."""

from pathlib import Path

import pytest

from enbloc.ui.pages import VIEWS
from tests.browser import chromium, views


def test_without_a_browser_the_package_to_install_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"^none of chromium, .* install Debian's package"):
        chromium.executable(str(tmp_path))


def test_every_view_of_the_page_is_driven_and_a_group_too() -> None:
    driven = {view.path for view in views.VIEWS}
    assert driven >= {path for _, path in VIEWS}
    assert any(path.startswith("/groups/") for path in driven)
