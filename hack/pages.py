# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a page that a program writes, between two marks."""


def replaced(page: str, begin: str, end: str, text: str) -> str:
    """The page with another text between its two marks.

    Raises:
        ValueError: the page lacks one of them.
    """
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the page lacks the line {end if found_begin else begin}")
    return f"{before}{begin}\n{text}\n{end}{after}"
