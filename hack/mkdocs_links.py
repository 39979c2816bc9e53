# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A hook of mkdocs: pages link to files of the repository, and the site carries those files.

Links in pages are relative paths, as a code host shows them. A file outside docs/ that a page links
to (an example, a module, CONTRIBUTING.md) is added to the site under `repository/`, and the link is
rewritten. A target that does not exist stays as it is: mkdocs then warns, and `--strict` fails.
"""

import os.path
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
DOCS: Final = PurePosixPath("docs")
#: Where files from outside docs/ are in the site.
ELSEWHERE: Final = PurePosixPath("repository")

_LINK: Final = re.compile(r"(\]\()([^()\s#]+)((?:#[^()\s]*)?\))")
_ABSOLUTE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|/", re.IGNORECASE)
_CODE: Final = re.compile(r"^( *)(```|~~~).*?^\1\2|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add every file outside docs/ that a page, or one of those files, links to."""
    known = {place(PurePosixPath(file.src_uri)) for file in files.documentation_pages()}
    ahead = sorted(known)
    while ahead:
        path = ahead.pop()
        text = (ROOT / path).read_text("utf-8")
        for target in targets(path, text):
            if target in known or target.is_relative_to(DOCS) or not (ROOT / target).is_file():
                continue
            known.add(target)
            source = str(ROOT / target)
            files.append(File.generated(config, str(uri(target)), abs_src_path=source))
            if target.suffix == ".md":
                ahead.append(target)
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Make the links of a page lead to where their targets are in the site."""
    here = place(PurePosixPath(page.file.src_uri))

    def rewritten(match: re.Match[str]) -> str:
        found = resolved(here, match[2])
        if found is None or not (ROOT / found).is_file():
            return match[0]
        start = uri(here).parent
        return f"{match[1]}{os.path.relpath(uri(found), start)}{match[3]}"

    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(rewritten, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join((*parts, _LINK.sub(rewritten, markdown[end:])))


def targets(page: PurePosixPath, text: str) -> Iterator[PurePosixPath]:
    """The paths in the repository to which a page links."""
    for match in _LINK.finditer(_CODE.sub("", text)):
        if found := resolved(page, match[2]):
            yield found


def resolved(page: PurePosixPath, target: str) -> PurePosixPath | None:
    """A link's target as a path from the root; a folder stands for its README. None = elsewhere."""
    if _ABSOLUTE.match(target):
        return None
    found = PurePosixPath(os.path.normpath(page.parent / target))
    return found / "README.md" if (ROOT / found).is_dir() else found


def uri(path: PurePosixPath) -> PurePosixPath:
    """Where a file of the repository is in the site."""
    return path.relative_to(DOCS) if path.is_relative_to(DOCS) else ELSEWHERE / path


def place(source: PurePosixPath) -> PurePosixPath:
    """Where a file of the site is in the repository."""
    inside = source.is_relative_to(ELSEWHERE)
    return source.relative_to(ELSEWHERE) if inside else DOCS / source
