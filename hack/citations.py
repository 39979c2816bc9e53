# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Citations: whatever a text of the repository refers to can be found.

* `semantics §3.4`, or several (`semantics §3.4, §4.1 and §5.1`), is a heading of
  docs/reference/semantics.md; there is no other §.
* The name of a page, with or without an anchor, is a file of the repository: from its root, from
  docs/, or from the folder of the text that names it.
* A link between pages leads to a file of the repository, and its anchor to a heading.
* A module that a page names as `path/to/module.py`, or with what it defines as
  `path/to/module.py:Name.method`, is there: from the root, from operator/enbloc/ or its engine/, or
  from the folder of the page.
* `Source:` names a rule as above, or upstream as `project vX.Y path symbol`; further paths of the
  same project follow after semicolons. A docstring says more than its source.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

RULES: Final = "docs/reference/semantics.md"

#: White space, over the end of a line too, where a comment goes on.
_GAP: Final = r"\s+(?:#:? )?"
_SECTION: Final = r"§\d+(?:\.\d+)*"
_RULE: Final = re.compile(
    rf"(\b[Ss]emantics{_GAP})?({_SECTION}(?:(?:,|{_GAP}and|{_GAP}to){_GAP}{_SECTION})*|§ *\w+)"
)
_NUMBER: Final = re.compile(r"§(\d+(?:\.\d+)*)")
_NUMBERED_HEADING: Final = re.compile(r"^#+ (\d+(?:\.\d+)*) ", re.MULTILINE)
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_PAGE: Final = re.compile(r"(?<![\w})*/.:-])([\w./-]*\w\.md)\b(?:#([\w-]+))?")
_LINK: Final = re.compile(r"(?:\[[^\[\]]*)?\]\(\s*([^()\s]+)\s*\)")
_FENCED: Final = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|//")
_MODULE: Final = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/\w+\.py)(?::([\w.<>]+))?`")
#: Where a page begins when it names a module.
_MODULES: Final = ("", "operator/enbloc", "operator/enbloc/engine")

_PATH: Final = r"[\w.-]+(?:/[\w.{},*-]+)+"
_SYMBOLS: Final = r"(?: [\w., ]+)?"
_UPSTREAM: Final = re.compile(
    rf"[a-z][\w-]* v\d+\.\d+(?:\.\d+)? {_PATH}{_SYMBOLS}(?:; {_PATH}{_SYMBOLS})*"
)
_SOURCE: Final = re.compile(r"\bSource: ")
_ONLY_A_SOURCE: Final = re.compile(r'"""Source:')


def problems(root: Path, files: Iterable[Path]) -> list[str]:
    """What refers to nothing, one finding a line, in order.

    Args:
        root: of the repository.
        files: those to look at, relative to it; pages among them are what may be referred to.
    """
    texts = {path: text for path in files if (text := _read(root / path)) is not None}
    pages = {path.as_posix(): _anchors(text) for path, text in texts.items() if _is_page(path)}
    rules = _NUMBERED_HEADING.findall(texts.get(Path(RULES), ""))
    found: list[str] = []
    for path, text in sorted(texts.items()):
        checks = [_rules(path, text, rules), _pages(path, text, pages)]
        if _is_page(path):
            checks += [_links(root, path, text, pages), _modules(root, path, text)]
        if path.suffix == ".py":
            checks.append(_sources(path, text))
        found += [finding for check in checks for finding in check]
    return found


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _is_page(path: Path) -> bool:
    return path.suffix == ".md"


def _at(path: Path, text: str, offset: int) -> str:
    return f"{path}:{text.count(chr(10), 0, offset) + 1}"


# ── rules ────────────────────────────────────────────────────────────────────────────────────
def _rules(path: Path, text: str, rules: Collection[str]) -> Iterator[str]:
    for match in _RULE.finditer(text):
        at = _at(path, text, match.start(2))
        if not match[1] and path.as_posix() != RULES:
            yield f"{at}: {match[2]}: of which page? say `semantics {match[2]}`"
            continue
        for number in _NUMBER.findall(match[2]) or [match[2].lstrip("§ ")]:
            if number not in rules:
                yield f"{at}: §{number}: {RULES} has no such heading"


# ── pages ────────────────────────────────────────────────────────────────────────────────────
def _anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        again = sum(1 for each in found if re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", each))
        found.add(f"{anchor}-{again}" if again else anchor)
    return found


def _pages(path: Path, text: str, pages: Mapping[str, set[str]]) -> Iterator[str]:
    for match in _PAGE.finditer(_UPSTREAM.sub(_blank, _LINK.sub(_blank, text))):
        at, name, anchor = _at(path, text, match.start()), match[1], match[2]
        bases = ("", "docs", path.parent.as_posix())
        places = [_joined(base, name.lstrip("/")) for base in bases]
        page = next((place for place in places if place in pages), None)
        if page is None:
            yield f"{at}: {name}: no such page in the repository"
        elif anchor and anchor not in pages[page]:
            yield f"{at}: {name}#{anchor}: {page} has no such heading"


def _joined(base: str, name: str) -> str:
    """The path that a relative reference means, without its dots."""
    parts: list[str] = []
    for part in (PurePosixPath(base) / name).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _links(root: Path, path: Path, text: str, pages: Mapping[str, set[str]]) -> Iterator[str]:
    blanked = _FENCED.sub(_blank, text)
    for match in _LINK.finditer(_CODE.sub(_blank, blanked)):
        target = match[1]
        if _ELSEWHERE.match(target):
            continue
        name, _, anchor = target.partition("#")
        place = _joined(path.parent.as_posix(), name) if name else path.as_posix()
        at = _at(path, text, match.start())
        if not (root / place).exists():
            yield f"{at}: {target}: leads nowhere"
        elif anchor and anchor not in pages.get(place, set()):
            yield f"{at}: {target}: {place} has no such heading"


def _modules(root: Path, path: Path, text: str) -> Iterator[str]:
    for match in _MODULE.finditer(_FENCED.sub(_blank, text)):
        at, name = _at(path, text, match.start()), match[1]
        places = (root / base / name for base in (*_MODULES, path.parent.as_posix()))
        module = next((place for place in places if place.is_file()), None)
        if module is None:
            yield f"{at}: {name}: no such module in the repository"
        elif match[2] and (lacking := _undefined(module.read_text("utf-8"), match[2])):
            yield f"{at}: {name}: defines no {lacking}"


def _undefined(module: str, symbol: str) -> str:
    """The first part of a dotted name that a module does not define; "" = it defines all."""
    for part in symbol.replace(".<locals>", "").split("."):
        defined = rf"^ *(?:(?:async )?def |class )?{re.escape(part)}\b *[(:\[=]"
        if not re.search(defined, module, re.MULTILINE):
            return part
    return ""


def _blank(match: re.Match[str]) -> str:
    """As much white space, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match[0])


# ── upstream ─────────────────────────────────────────────────────────────────────────────────
def _sources(path: Path, text: str) -> Iterator[str]:
    for match in _ONLY_A_SOURCE.finditer(text):
        yield f"{_at(path, text, match.start())}: a docstring says what, and then its source"
    for match in _SOURCE.finditer(text):
        source = _paragraph(text, match.start())[len("Source: ") :]
        if not _RULE.match(source) and not _UPSTREAM.match(source):
            at = _at(path, text, match.start())
            yield f"{at}: {source[:60]}: neither a rule nor upstream: project vX.Y path symbol"


def _paragraph(text: str, start: int) -> str:
    """The rest of a paragraph of a comment or a docstring, in one line."""
    first, *others = text[start:].split("\n")
    comment = "#" in text[text.rfind("\n", 0, start) + 1 : start]
    said = [first.split('"""')[0]]
    for line in others if '"""' not in first else ():
        words = line.strip().lstrip("#:").split('"""')[0].strip()
        if not words or comment is not line.lstrip().startswith("#"):
            break
        said.append(words)
        if '"""' in line:
            break
    return " ".join(said)
