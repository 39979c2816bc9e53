# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler's field manager tells which profiles it serves."""

import pytest

from enbloc.model.field_managers import field_manager, is_another, schedulers_among, serves

LONG = [f"scheduler-{index:03}" for index in range(40)]


@pytest.mark.parametrize(
    ("names", "manager"),
    [
        (["enbloc"], "enbloc-scheduler:enbloc"),
        (["night", "batch"], "enbloc-scheduler:batch,night"),
    ],
)
def test_it_names_the_profiles_in_order(names: list[str], manager: str) -> None:
    assert field_manager(names) == manager
    assert all(serves(manager, name) for name in names)
    assert not serves(manager, "another")


@pytest.mark.parametrize("names", [LONG, ["odd,name"], ["ünusual"]])
def test_names_that_do_not_fit_become_a_digest_that_may_serve_anybody(names: list[str]) -> None:
    manager = field_manager(names)
    assert len(manager) <= 128
    assert manager.isascii()
    assert manager == field_manager(list(reversed(names)))
    assert serves(manager, "anybody")
    assert is_another(manager, ["enbloc"])
    assert not is_another(manager, names)


@pytest.mark.parametrize(
    ("manager", "another"),
    [
        ("enbloc-scheduler", False),
        ("enbloc-scheduler:enbloc", False),
        ("enbloc-scheduler:batch,enbloc", False),
        ("enbloc-scheduler:batch", True),
    ],
)
def test_one_that_serves_none_of_our_names_is_another(manager: str, *, another: bool) -> None:
    assert is_another(manager, ["enbloc"]) is another


def test_only_a_few_schedulers_are_looked_at() -> None:
    assert schedulers_among(["kubectl", "enbloc-controller", "enbloc-scheduler:b"]) == (
        "enbloc-scheduler:b",
    )
    assert len(schedulers_among(f"enbloc-scheduler:{name}" for name in LONG)) == 8
