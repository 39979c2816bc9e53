# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page docs/explanation/life-of-a-decision.md lists the calls from a pod to its Binding."""

import ast
import asyncio
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from tests.live.world import World

ROOT = Path(__file__).parent.parent.parent
ENBLOC = ROOT / "operator" / "enbloc"
PAGE = (ROOT / "docs/explanation/life-of-a-decision.md").read_text("utf-8")

#: Of the list: its number, whether something changes hands there, and `file:function`.
STEP = re.compile(r"^(\d+)\. (\**)`([\w/]+\.py:[\w.<>]+)`", re.MULTILINE)
CITED = re.compile(r"`([\w/]+\.py):([\w.<>]+)`")

MOST_CALLS = 55
MOST_FILES = 30


def listed() -> list[str]:
    return [step[3] for step in STEP.finditer(PAGE)]


def handed_over() -> list[str]:
    """Where the pod, or what was decided about its gang, changes hands."""
    return [step[3] for step in STEP.finditer(PAGE) if step[2]]


@cache
def called(code: CodeType) -> str:
    """`file:function` of what is ours; "" of anything else."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ENBLOC):
        return ""
    return f"{path.relative_to(ENBLOC).as_posix()}:{code.co_qualname}"


def stack(frame: FrameType | None) -> list[str]:
    """Those of ours that are called, the first caller first."""
    found: list[str] = []
    while frame is not None:
        if name := called(frame.f_code):
            found.append(name)
        frame = frame.f_back
    return found[::-1]


@contextmanager
def stacks_of(wanted: Callable[[str, list[str]], bool]) -> Generator[dict[str, list[str]]]:
    """By function, the stack of its first call that is wanted."""
    found: dict[str, list[str]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        name = called(frame.f_code) if event == "call" else ""
        if name and name not in found and wanted(name, stacked := stack(frame)):
            found[name] = stacked

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)


async def test_the_page_lists_each_call_from_the_last_pod_of_a_gang_to_its_binding(
    world: World,
) -> None:
    places = handed_over()

    def of_the_scheduler(name: str, stacked: list[str]) -> bool:
        return name in places and stacked[0].startswith(("live/", "engine/"))

    await world.nodes("n1 n2", cpu=4)
    async with world.scheduler():
        await world.group("g", 2)
        await world.pod("g-0", "g")

        async def waits() -> bool:
            return await world.condition("g") == ("False", "WaitingForMembers")

        await world.until(waits)
        await asyncio.sleep(3)  # what was written meanwhile is seen, and nothing else happens
        with stacks_of(of_the_scheduler) as found:
            await world.pod("g-1", "g")
            await world.until_bound("g-", 2)

    assert list(found) == places, "in the order in which it changes hands"
    calls = list(dict.fromkeys(name for place in places for name in found[place]))
    assert listed() == calls
    assert len(calls) <= MOST_CALLS
    assert len({name.partition(":")[0] for name in calls}) <= MOST_FILES


def test_the_page_counts_what_it_lists() -> None:
    steps = [int(step[1]) for step in STEP.finditer(PAGE)]
    assert steps == list(range(1, len(steps) + 1))
    files = {name.partition(":")[0] for name in listed()}
    assert f"{len(steps)} calls in {len(files)} files." in PAGE


def test_whatever_the_page_cites_is_there() -> None:
    for path, name in CITED.findall(PAGE):
        tree = ast.parse((ENBLOC / path).read_text("utf-8"))
        assert name.replace(".<locals>", "") in set(defined(tree)), f"{path}:{name}"


def defined(tree: ast.AST, within: str = "") -> Iterator[str]:
    """Classes and functions, with those that they are in."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield (name := f"{within}{node.name}")
            yield from defined(node, f"{name}.")
        else:
            yield from defined(node, within)
