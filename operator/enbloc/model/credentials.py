# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Credentials: removed from texts and URLs that are shown."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

#: Replaces what is not shown.
HIDDEN: Final = "***"

_USER_OF_URL: Final = re.compile(r"""(?<=://)[^/\s"'<>]+(?=@)""")
_TOKEN: Final = re.compile(r"(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bBasic )[\w+/=-]{16,}")
#: What PyYAML quotes, unless it names a token of YAML's or a tab: `'<block mapping start>'`.
_QUOTED: Final = re.compile(r"'(?!<[a-z ]+>'|\\t')[^']{2,}'")


@dataclass(frozen=True, slots=True, repr=False)
class URL:
    """A configured URL; its text shows no credentials.

    Attributes:
        full: the whole URL, for connecting only.
    """

    full: str

    @property
    def usable(self) -> bool:
        """Whether it can be connected to: it has an HTTP scheme, a host and a valid port."""
        try:
            parts = urlsplit(self.full)
            known = self.full.startswith(("http://", "https://"))
            return known and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False

    @property
    def has_user(self) -> bool:
        """Whether it names a user, with or without a password."""
        return "@" in self.full

    def __str__(self) -> str:
        return redacted(self.full)

    def __repr__(self) -> str:
        return f"URL({str(self)!r})"


def redacted(url: str) -> str:
    """A URL without user, password and query; a malformed one loses more rather than less."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    user, at, rest = rest.rpartition("@")
    rest, query, _ = rest.partition("?")
    return f"{scheme}{separator}{HIDDEN if user else ''}{at}{rest}{query}{HIDDEN if query else ''}"


def without_credentials(text: str) -> str:
    """A text without users and passwords of URLs, and without tokens of HTTP headers."""
    if "://" in text:
        text = _USER_OF_URL.sub(HIDDEN, text)
    if "Bearer " in text or "Basic " in text:
        text = _TOKEN.sub(HIDDEN, text)
    return text


def yaml_problem(error: Exception) -> str:
    """Where and why a text is invalid YAML, without the text: it may hold a token or a key.

    Args:
        error: PyYAML's error, whose own text quotes the line.
    """
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return "not YAML"
    where = f"line {mark.line + 1}, column {mark.column + 1}"
    return f"{where}: {_QUOTED.sub(HIDDEN, problem)}"
