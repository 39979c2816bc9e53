# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Markup: builds HTML and SVG from elements, and escapes every text.

::

    element("p", "by ", element("b", name), class_="note")  ──►  <p class="note">by <b>…</b></p>

Anything that is not Markup is untrusted text: it cannot become an element, attribute or address.
"""

import html
import re
from collections.abc import Iterable
from typing import Final

from enbloc.model.text import printable

#: Elements without an end tag.
_VOID: Final = frozenset({"br", "hr", "input", "link", "meta"})
#: Attributes that are addresses.
_ADDRESSES: Final = frozenset({"action", "href", "src"})
#: Addresses on this server: a path, a part of the page, a query.
_OURS: Final = re.compile(r"/(?![/\\])|[#?]|$")
_TAG: Final = re.compile(r"[a-z][a-zA-Z0-9]*")
_ATTRIBUTE: Final = re.compile(r"(?!on|style$)[a-z][a-zA-Z0-9-]*")


class Markup(str):
    """HTML that is complete and safe by itself."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def element(tag: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """One element with its content.

    Args:
        tag: its name, never untrusted text.
        children: Markup, text, and lists of these; None adds nothing.
        attributes: by name, with `_` for `-`, and a trailing `_` if the name is a Python keyword.
            True is an attribute without a value; None and False leave it out.

    Raises:
        ValueError: the content security policy would block the attribute, or the address is on
            another server.
    """
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is no element")
    opened = f"<{tag}{''.join(_attribute(*each) for each in attributes.items())}>"
    if tag in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{joined(children)}</{tag}>")


def joined(children: Iterable[Child]) -> Markup:
    """Several children, one after the other."""
    return Markup("".join(map(_markup, children)))


def _markup(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    if child is None:
        return ""
    if isinstance(child, str | int):
        return escaped(str(child))
    return joined(child)


def _attribute(given: str, value: Attribute) -> str:
    name = given.removesuffix("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name):
        raise ValueError(f"{name!r} is no attribute that a page of ours may have")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if name in _ADDRESSES and not _OURS.match(text):
        raise ValueError(f"{text!r} is no address of ours")
    return f' {name}="{escaped(text)}"'


def escaped(text: str) -> str:
    """The text escaped for HTML; invisible and bidirectional characters show as their number."""
    return html.escape(printable(text))
