# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading lists up to a number of items, and summing up more names than fit a table."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final, TypeVar

from enbloc.doctor.finding import Finding, Verdict
from enbloc.model.text import clipped, printable

#: The most findings of each kind; the others are counted.
MOST: Final = 10
#: The longest part of a name that is shown (characters).
_SHOWN: Final = 253

#: Name → the number of pods that wait for it, and the first of them.
Waiting = dict[str, tuple[int, str]]

T = TypeVar("T")


class Reader:
    """Reads lists up to a number of items; `whole` = no list had more."""

    def __init__(self) -> None:
        self.whole = True

    async def first(self, most: int, *lists: AsyncIterator[T]) -> AsyncIterator[T]:
        """The first `most` items of these lists together."""
        for each in lists:
            async for item in each:
                if most == 0:
                    self.whole = False
                    return
                most -= 1
                yield item


def shown(name: str) -> str:
    """A foreign name as a table shows it."""
    return clipped(printable(name), _SHOWN)


def count(pods: Waiting, name: str, pod: str) -> None:
    """Note that a pod waits for the object of this name."""
    number, first = pods.get(name, (0, pod))
    pods[name] = (number + 1, first)


def findings(check: str, kind: str, pods: Waiting, why: Callable[[str], str]) -> Iterator[Finding]:
    """A warning for each of the first names that pods wait for, and one for all others.

    Args:
        check: the check that found it.
        kind: the kind of the named objects.
        pods: the pods that wait for each name.
        why: name → what is wrong, and what to do.
    """
    for name, (number, first) in list(pods.items())[:MOST]:
        who = f"{first} waits" if number == 1 else f"{number} pods wait, such as {first}"
        yield Finding(check, Verdict.WARNING, f"{kind} {shown(name)}", f"{why(name)} ({who})")
    if len(pods) > MOST:
        message = f"pods wait in vain for {len(pods) - MOST} more of these"
        yield Finding(check, Verdict.WARNING, f"{kind}s", message)
