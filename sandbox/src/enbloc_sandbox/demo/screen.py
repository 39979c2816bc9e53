# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's lines of text: what happened, and who sits where. Colour only repeats the letters."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from enbloc.model.text import printable
from enbloc_sandbox.demo.observed import GroupSeen, PodSeen
from enbloc_sandbox.nodes import Shape

_FREE: Final = "·"
#: In a message begins here what preemption could do; in the demo all have one priority.
_PREEMPTION: Final = " preemption: "
_COLOURS: Final = {"a": "36", "b": "33", "good": "32", "bad": "31", "strong": "1", "faint": "2"}
#: More nodes or pods than this are summed up.
MOST_NODES: Final = 12
MOST_PODS: Final = 8


def colour_wanted(stream: TextIO, env: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR or TERM=dumb say otherwise."""
    return stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


@dataclass(frozen=True, slots=True)
class Screen:
    """Where the demo prints.

    Attributes:
        write: takes one line of text.
        colour: whether to colour.
        clock: seconds since the demo began.
    """

    write: Callable[[str], None]
    colour: bool
    clock: Callable[[], float]

    def paint(self, text: str, style: str) -> str:
        """The text in a style ("a", "b", "good", "bad", "strong", "faint"), or as it is."""
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if self.colour else text

    def title(self, text: str) -> None:
        """A heading."""
        self.write("")
        self.write(self.paint(text, "strong"))

    def plain(self, text: str = "") -> None:
        """A line as it is."""
        self.write(text)

    def happened(self, text: str, style: str = "") -> None:
        """A line with its time; what objects say in it is escaped."""
        text = printable(text)
        stamp = self.paint(f"{self.clock():6.2f}s", "faint")
        self.write(f"{stamp}  {self.paint(text, style) if style else text}")

    def pods(self, changes: Iterable[tuple[PodSeen | None, PodSeen]]) -> None:
        """What a batch of pod changes means, one line for each kind of change.

        Args:
            changes: (state before, state now) of each.
        """
        sorts: defaultdict[tuple[str, str], list[PodSeen]] = defaultdict(list)
        for before, now in changes:
            what = _what(before, now)
            if what:
                sorts[now.gang, what].append(now)
        for (gang, what), pods in sorts.items():
            self.happened(f"job {gang}: {_listed(pods, what)}", gang)

    def group(self, seen: GroupSeen) -> None:
        """A PodGroup's new state, with its reason if it waits."""
        text = f"PodGroup {seen.name}: {seen.shown}"
        if seen.message and seen.shown == seen.reason:
            text += f" — {seen.message}"
        self.happened(text, seen.name)

    def table(self, shapes: Sequence[Shape], pods: Iterable[PodSeen], gpus: int) -> None:
        """Nodes × GPUs: the letter of the job that has each, "·" where none has it."""
        rows = table(shapes, pods, gpus)
        width = max(len(name) for name, _ in rows)
        for name, cells in rows:
            drawn = " ".join(self.paint(one, one) if one in _COLOURS else one for one in cells)
            self.write(f"         {printable(name):<{width}}  {drawn}")


def table(
    shapes: Sequence[Shape], pods: Iterable[PodSeen], gpus: int
) -> list[tuple[str, list[str]]]:
    """The rows of the table: a node's name, and one cell for each of its GPUs.

    Of many nodes the first few are shown, and one row sums up the others.

    Args:
        shapes: the nodes.
        pods: the latest state of each pod.
        gpus: how many GPUs each pod has.
    """
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: pod.name):
        if pod.node and pod.phase in ("Pending", "Running"):
            taken[pod.node] += [pod.gang] * gpus
    hosts = [shape for shape in shapes if shape.gpus >= gpus]
    shown = hosts if len(hosts) <= MOST_NODES else hosts[: MOST_NODES - 4]
    rows = [
        (shape.name, (taken[shape.name] + [_FREE] * shape.gpus)[: shape.gpus]) for shape in shown
    ]
    rest = hosts[len(shown) :]
    if rest:
        sums = Counter(gang for shape in rest for gang in taken[shape.name])
        free = sum(shape.gpus for shape in rest) - sum(sums.values())
        text = ", ".join(f"{count} GPUs {gang}" for gang, count in sorted(sums.items()))
        rows.append((f"{len(rest)} more", [f"{text or 'nothing'}, {free} free"]))
    return rows


def _what(before: PodSeen | None, now: PodSeen) -> str:
    """What happened to a pod, in words; "" if nothing that matters."""
    if before is not None and before.phase != now.phase and now.phase in ("Succeeded", "Failed"):
        return "finished" if now.phase == "Succeeded" else f"failed ({now.reason})"
    if now.phase == "":
        return "deleted"
    if now.node and (before is None or not before.node):
        return "placed"
    if now.waiting and not now.node and (before is None or not before.waiting):
        return f"waiting: {now.waiting.partition(_PREEMPTION)[0]}"
    return ""


def _listed(pods: Sequence[PodSeen], what: str) -> str:
    if len(pods) > MOST_PODS:
        return f"{len(pods)} pods {what}"
    if what == "placed":
        return ", ".join(f"{pod.name} → {pod.node}" for pod in pods)
    return f"{', '.join(pod.name for pod in pods)} {what}"
