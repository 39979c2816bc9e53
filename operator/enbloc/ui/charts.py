# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG: bars of parts and maps of squares; text repeats what each colour means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.ui.markup import Markup, element

_WIDTH: Final = 600
_HEIGHT: Final = 24
#: The size of a square with its gap, and the squares per line: a map fits a narrow window.
_STEP: Final = 16
_SIDE: Final = 13
_ACROSS: Final = 18


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a bar.

    Attributes:
        name: its label.
        count: its share of the whole, as a number of items.
        kind: its class in the stylesheet.
    """

    name: str
    count: int
    kind: str


def bar(title: str, pieces: Sequence[Piece]) -> Markup:
    """A bar of parts, with a legend beneath it."""
    total = sum(each.count for each in pieces)
    drawn: list[Markup] = []
    at = 0.0
    for each in pieces:
        width = _WIDTH * each.count / total if total else 0.0
        if width:
            drawn.append(
                element(
                    "rect",
                    element("title", f"{each.name}: {each.count}"),
                    class_=f"piece {each.kind}",
                    x=round(at, 1),
                    y=0,
                    width=round(width, 1),
                    height=_HEIGHT,
                )
            )
        at += width
    told = ", ".join(f"{each.name}: {each.count}" for each in pieces)
    image = element(
        "svg",
        element("title", f"{title}: {told}"),
        drawn,
        role="img",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_="bar",
        preserveAspectRatio="none",
    )
    keys = [element("li", key(each.kind), f"{each.name}: {each.count}") for each in pieces]
    return element("figure", image, element("ul", keys, class_="keys"))


def key(kind: str, mark: str = "") -> Markup:
    """The coloured square of a legend."""
    return element(
        "svg",
        _square(0, 0, kind, mark, ""),
        viewBox=f"0 0 {_SIDE} {_SIDE}",
        width=_SIDE,
        height=_SIDE,
        class_="key",
        aria_hidden="true",
    )


@dataclass(frozen=True, slots=True)
class Square:
    """One square of a map.

    Attributes:
        name: the item and its state.
        kind: its classes in the stylesheet.
        mark: "/", "-", "x" or "#" (hatching), drawn over it; "" = nothing.
    """

    name: str
    kind: str
    mark: str = ""


def squares(title: str, of: Sequence[Square]) -> Markup:
    """A map of squares, in rows."""
    across = min(len(of), _ACROSS)
    lines = -(-len(of) // _ACROSS)
    drawn = (
        _square(index % _ACROSS * _STEP, index // _ACROSS * _STEP, each.kind, each.mark, each.name)
        for index, each in enumerate(of)
    )
    width, height = across * _STEP, lines * _STEP
    return element(
        "svg",
        element("title", title),
        drawn,
        role="img",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="map",
    )


def _square(x: int, y: int, kind: str, mark: str, name: str) -> Markup:
    told = element("title", name) if name else None
    square = element("rect", class_=kind, x=x, y=y, width=_SIDE, height=_SIDE)
    if not mark:
        return element("g", told, square) if told else square
    falling = f"M{x} {y + _SIDE}L{x + _SIDE} {y}"
    rising = f"M{x} {y}L{x + _SIDE} {y + _SIDE}"
    level = f"M{x} {y + _SIDE / 2:g}L{x + _SIDE} {y + _SIDE / 2:g}"
    half = _SIDE / 2
    corners = (
        f"M{x} {y + half:g}L{x + half:g} {y}",
        f"M{x + half:g} {y + _SIDE}L{x + _SIDE} {y + half:g}",
    )
    hatching = falling.join(corners)
    drawn = {"/": falling, "x": falling + rising, "-": level, "#": hatching}[mark]
    return element("g", told, square, element("path", class_="mark", d=drawn))
