# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Make the list of actions that broke a law short enough to be read.

By hand, from the root of the repository: `python -m tests.laws.shrinking failure.txt`, where the
file holds what pytest printed.
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from enbloc.engine.events import Stream
from enbloc.model.groups import OnIncomplete
from enbloc.model.pods import Phase
from tests.laws import controllers
from tests.laws.actions import Actions, Gang, Step, play
from tests.laws.objects import Part

Play = Callable[..., Actions]

#: Members of an enum are printed as `<Phase.FAILED: 'Failed'>`.
_ENUM = re.compile(r"<(\w+\.\w+): [^>]*>")
_WORDS = {
    "Gang": Gang,
    "OnIncomplete": OnIncomplete,
    "Part": Part,
    "Phase": Phase,
    "Step": Step,
    "Stream": Stream,
}


def player(script: Sequence[Step]) -> Play:
    """The world of which these are the actions."""
    plain = all(hasattr(Actions, step.action) for step in script)
    return play if plain else controllers.play


def broken_by(script: Sequence[Step], *, slots: int, eager: bool, play: Play) -> str:
    """Which law a list of actions breaks; "" = none."""
    try:
        play(script, slots=slots, eager=eager)
    except AssertionError as broken:
        return re.sub(r"[\d.]+", "", str(broken))
    return ""


def shortest(script: Sequence[Step], *, slots: int, eager: bool) -> list[Step]:
    """A part of this list that breaks the same law, and of which nothing can be left out."""
    play = player(script)
    law = broken_by(script, slots=slots, eager=eager, play=play)
    assert law, "this breaks no law"
    found, size = list(script), len(script) // 2
    while size:
        at = 0
        while at < len(found):
            fewer = found[:at] + found[at + size :]
            if broken_by(fewer, slots=slots, eager=eager, play=play) == law:
                found = fewer
            else:
                at += size
        size //= 2
    return found


def read(text: str) -> tuple[list[Step], int, bool]:
    """The actions in what pytest printed, the slots, and whether the scheduler was eager."""
    head = re.search(r"slots=(\d+), eager=(\w+), after", text)
    assert head is not None, "no list of actions in this"
    lines = re.findall(r"^\W*E?\s+(Step\(.*\)),$", text[head.end() :], re.MULTILINE)
    script = [eval(_ENUM.sub(r"\1", line), _WORDS) for line in lines]
    ends = next((i + 1 for i, step in enumerate(script) if step.action == "ends"), len(script))
    return script[:ends], int(head[1]), head[2] == "True"


if __name__ == "__main__":
    steps, slots, eager = read(Path(sys.argv[1]).read_text())
    law = broken_by(steps, slots=slots, eager=eager, play=player(steps))
    print(f"slots={slots}, eager={eager}: {law}")
    for each in shortest(steps, slots=slots, eager=eager):
        print(f"    {each!r},")
