# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What may hold credentials is shown without them, malformed or not."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.credentials import URL, redacted, without_credentials, yaml_problem


@pytest.mark.parametrize(
    ("url", "shown", "usable"),
    [
        ("http://host:8888/scheduler", "http://host:8888/scheduler", True),
        ("https://user:secret@host/x", "https://***@host/x", True),
        ("https://secret@host", "https://***@host", True),
        ("https://[::1]:6443", "https://[::1]:6443", True),
        ("https://host/x?token=secret", "https://host/x?***", True),
        ("http://user:sec/ret@host/x", "http://***@host/x", False),
        ("http://user:sec?ret@host/x", "http://***@host/x", False),
        ("http://user:sec@ret@host/x", "http://***@host/x", True),
        ("user:secret@host/x", "***@host/x", False),
        ("ftp://user:secret@host/x", "ftp://***@host/x", False),
        ("http://", "http://", False),
        ("", "", False),
    ],
)
def test_a_url_is_shown_without_what_could_be_credentials(
    url: str, shown: str, usable: bool
) -> None:
    made = URL(url)
    assert (str(made), redacted(url), f"{made}") == (shown, shown, shown)
    assert repr(made) == f"URL({shown!r})"
    assert made.full == url
    assert made.usable is usable


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1))
def test_no_password_of_a_url_is_shown(password: str) -> None:
    secret = f"S{password}E"
    assert str(URL(f"https://user:{secret}@host/x")) == "https://***@host/x"


def test_urls_and_tokens_within_a_text_lose_their_credentials() -> None:
    text = 'GET https://u:p@h/x -> "http://t@h2" http://h/a@b Bearer abcdefghij Basic auth'
    assert without_credentials(text) == (
        'GET https://***@h/x -> "http://***@h2" http://h/a@b Bearer *** Basic auth'
    )


@pytest.mark.parametrize(
    "text",
    [
        "token: 's3cret",
        "token: *s3cret",
        "token: !s3cret x",
        "token: s3cret: x",
        "a: [s3cret\nb: c",
    ],
)
def test_a_text_that_is_no_yaml_is_told_by_line_and_not_quoted(text: str) -> None:
    with pytest.raises(yaml.YAMLError) as failed:
        yaml.safe_load(text)
    told = yaml_problem(failed.value)
    assert told.startswith("line ")
    assert "s3cret" not in told


@pytest.mark.parametrize(
    ("text", "named"),
    [("a:\n\t- b", r"'\t'"), ("a:\n  b: 1\n c: 2", "<block mapping start>")],
)
def test_a_tab_and_what_yaml_calls_its_parts_are_named(text: str, named: str) -> None:
    with pytest.raises(yaml.YAMLError) as failed:
        yaml.safe_load(text)
    assert named in yaml_problem(failed.value)
