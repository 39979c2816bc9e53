# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Markup: HTML and SVG made of elements, in which every text is escaped.

::

    element("p", "by ", element("b", name), class_="note")  ──►  <p class="note">by <b>…</b></p>

What is not Markup is text of anybody: it cannot become an element, an attribute or an address.
"""

import html
import re
from collections.abc import Iterable
from typing import Final

from enbloc.model.text import printable

#: Elements that have no end.
_VOID: Final = frozenset({"br", "hr", "input", "link", "meta"})
#: Attributes that are addresses.
_ADDRESSES: Final = frozenset({"action", "href", "src"})
#: Addresses of ours: a path, a part of the page, a query.
_OURS: Final = re.compile(r"/(?![/\\])|[#?]|$")
_TAG: Final = re.compile(r"[a-z][a-zA-Z0-9]*")
_ATTRIBUTE: Final = re.compile(r"(?!on|style$)[a-z][a-zA-Z0-9-]*")


class Markup(str):
    """HTML that is complete and safe in itself."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]
Attribute = str | int | float | bool | None


def element(tag: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """One element with what is in it.

    Args:
        tag: its name; never of anybody else.
        children: Markup, text, and lists of these; None is nothing.
        attributes: by name, with `_` for `-`, and one at the end where Python needs the name.
            True is an attribute without a value; None and False leave it out.

    Raises:
        ValueError: the content security policy would refuse the attribute, or it leads away.
    """
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is no element")
    opened = f"<{tag}{''.join(_attribute(*each) for each in attributes.items())}>"
    if tag in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{joined(children)}</{tag}>")


def joined(children: Iterable[Child]) -> Markup:
    """Several after each other."""
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
    """A text as HTML shows it; what nobody could see, or turns the text around, as its number."""
    return html.escape(printable(text))
