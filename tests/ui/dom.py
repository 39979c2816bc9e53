# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A page as a browser would read it: elements, their attributes and their text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

VOID: Final = frozenset({"br", "hr", "input", "link", "meta"})


@dataclass
class Element:
    """One element."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict[str, str | None])
    children: "list[Element | str]" = field(default_factory=list)

    def every(self, tag: str = "", **attributes: str) -> "Iterator[Element]":
        """Those within it of a tag, with these attributes, in order."""
        for child in self.children:
            if isinstance(child, Element):
                wanted = all(child.attributes.get(k) == v for k, v in attributes.items())
                if tag in ("", child.tag) and wanted:
                    yield child
                yield from child.every(tag, **attributes)

    def one(self, tag: str, **attributes: str) -> "Element":
        """The only one."""
        [found] = self.every(tag, **attributes)
        return found

    @property
    def text(self) -> str:
        """Its text, with single blanks."""
        return " ".join(" ".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, Element):
                yield from child._texts()
            else:
                yield child

    def __getitem__(self, name: str) -> str:
        value = self.attributes[name]
        assert value is not None, f"{name} has no value"
        return value


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag}: an attribute twice"
        made = Element(tag, dict(attrs))
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(page: str) -> Element:
    """The page; every element that begins in it ends in it."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> does not end"
    return reader.root.one("html")


def lines(page: Element, table: int = 0) -> list[list[str]]:
    """The texts of the cells of a table, by row, the headers first."""
    rows = list(page.every("table"))[table].every("tr")
    return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in rows]
