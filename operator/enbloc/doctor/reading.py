# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that are read up to a number of items, and what is said of more names than fit a table."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, TypeVar

from enbloc.doctor.finding import Finding, Verdict
from enbloc.model.text import clipped, printable

#: So many findings of each kind; of more, the number.
MOST: Final = 10
#: What is shown of a name (characters).
_SHOWN: Final = 253

#: How many pods there are of each name, and the first of them.
Waiting = dict[str, tuple[int, str]]

T = TypeVar("T")


class Reader:
    """Reads lists up to a number of items; `whole` = none had more."""

    def __init__(self) -> None:
        self.whole = True

    async def first(self, most: int, *lists: AsyncIterator[T]) -> AsyncIterator[T]:
        """So many items of these lists together."""
        for each in lists:
            async for item in each:
                if most == 0:
                    self.whole = False
                    return
                most -= 1
                yield item


def shown(name: str) -> str:
    """A name of somebody else's as a table shows it."""
    return clipped(printable(name), _SHOWN)


def count(pods: Waiting, name: str, pod: str) -> None:
    """Note that a pod waits for what has this name."""
    number, first = pods.get(name, (0, pod))
    pods[name] = (number + 1, first)


def findings(check: str, kind: str, pods: Waiting, why: Callable[[str], str]) -> Iterator[Finding]:
    """A warning for each of the first names that pods wait for, and one for all the others.

    Args:
        check: which check found it.
        kind: what has these names.
        pods: who waits for each.
        why: what is wrong with a name, and what to do.
    """
    for name, (number, first) in list(pods.items())[:MOST]:
        who = f"{first} waits" if number == 1 else f"{number} pods wait, such as {first}"
        yield Finding(check, Verdict.WARNING, f"{kind} {shown(name)}", f"{why(name)} ({who})")
    if len(pods) > MOST:
        message = f"pods wait in vain for {len(pods) - MOST} more of these"
        yield Finding(check, Verdict.WARNING, f"{kind}s", message)
