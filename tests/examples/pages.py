# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a page of the documentation tells people to type, and what it shows and links to."""

import re
from pathlib import Path
from typing import Final

from tests.examples.desk import Desk

#: A block of code: its language, its title and what it holds.
BLOCK: Final = re.compile(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_HEAD: Final = re.compile(r"^##* (.+)$", re.MULTILINE)
_LINK: Final = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")


def blocks(text: str, language: str) -> list[str]:
    """The blocks of a language."""
    return [body for found, _, body in BLOCK.findall(text) if found == language]


def typed(block: str) -> list[tuple[str, tuple[str, ...]]]:
    """The commands of a console, each with the lines that it prints."""
    block = block.replace("\\\n", " ")
    commands: list[tuple[str, tuple[str, ...]]] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        commands.append((command, tuple(printed)))
    return commands


def walk(desk: Desk, text: str) -> None:
    """Do what a page says, top to bottom: save its files, type its commands."""
    for language, title, body in BLOCK.findall(text):
        if title:
            (desk.folder / title).write_text(body, encoding="utf-8")
        elif language == "console":
            for command, printed in typed(body):
                do(desk, command, printed)


def do(desk: Desk, command: str, printed: tuple[str, ...]) -> None:
    """Type a command; those that go on have a terminal of their own."""
    if command.startswith("enbloc sandbox"):
        desk.sandbox(command)
    elif command.startswith(("enbloc run", "enbloc ui")):
        desk.serve(command.removesuffix(" &"))
    elif printed:
        desk.shows(command, *printed)
    else:
        desk.run(re.sub("%1", lambda _: str(desk.latest), command))


def linked(page: Path) -> list[Path]:
    """The files to which a page links; a folder shows its README. Other places are left out."""
    targets = (target for target, _ in _LINK.findall(_without_code(page.read_text("utf-8"))))
    found = [(page.parent / target).resolve() for target in targets if target]
    return [path / "README.md" if path.is_dir() else path for path in found]


def dead_links(page: Path) -> list[str]:
    """Links to files or headings that are not there; those to other places are not followed."""
    dead: list[str] = []
    for target, anchor in _LINK.findall(_without_code(page.read_text("utf-8"))):
        path = page.parent / target if target else page
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            dead.append(f"{target}#{anchor}" if anchor else target)
    return dead


def _anchors(page: Path) -> set[str]:
    heads = _HEAD.findall(_without_code(page.read_text("utf-8")))
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def _without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
