# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What figures are held to: budgets.yaml for regressions, targets.yaml for what is aimed at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

_HERE: Final = Path(__file__).parent


class Limit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one figure is held to; to nothing where both bounds are None.

    Attributes:
        unit: of the figure; those that end in "CPU" are compared as if the machine were as fast as
            the one on which budgets were set.
        at_most: the highest value that passes.
        at_least: the lowest.
    """

    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def bounded(self) -> bool:
        """Whether there is anything to hold to."""
        return self.at_most is not None or self.at_least is not None

    def comparable(self, value: float, slowness: float) -> float:
        """The figure without what the machine adds to it.

        A faster machine only makes it better: that it does one kind of work in half the time does
        not mean that it does any other so.
        """
        return value / max(1.0, slowness) if self.unit.endswith("CPU") else value

    def holds(self, value: float) -> bool:
        """Whether a value passes; NaN never does where there is a bound."""
        low, high = self.at_least, self.at_most
        return (high is None or value <= high) and (low is None or value >= low)

    def better(self, one: float, other: float) -> float:
        """Of two measurements of the same, the one that noise has done less to."""
        return max(one, other) if self.at_least is not None else min(one, other)

    def text(self) -> str:
        """The bound, in words."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g} {self.unit}".rstrip()
        if self.at_least is not None:
            return f"≥ {self.at_least:g} {self.unit}".rstrip()
        return self.unit


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the table of what is aimed at.

    Attributes:
        case: what is done.
        target: what is aimed at, in words.
        limit: the same in numbers.
        figures: of which it is true, by what tells them apart.
    """

    case: str
    target: str
    limit: Limit
    figures: dict[str, str]


@dataclass(frozen=True)
class Row:
    """A target beside what was measured.

    Attributes:
        target: the row.
        values: what was measured, by what tells the figures apart; without those that were not.
        met: whether all figures were measured and hold; None if none was measured.
    """

    target: Target
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    met: bool | None = None

    def text(self) -> str:
        """The values in words."""
        unit = self.target.limit.unit
        return ", ".join(
            f"{shown(value)} {unit}".rstrip() + (f" ({name})" if name else "")
            for name, value in self.values.items()
        )


def budgets(path: Path = _HERE / "budgets.yaml") -> dict[str, Limit]:
    """What each figure may come to, by its name."""
    return msgspec.yaml.decode(path.read_bytes(), type=dict[str, Limit])


def targets(path: Path = _HERE / "targets.yaml") -> list[Target]:
    """The rows of the table."""
    return msgspec.yaml.decode(path.read_bytes(), type=list[Target])


#: Figures of a case on a real API server that are CPU time, the servers' or the scheduler's.
_CPU_OF_CASE: Final = re.compile(
    r"real/.+/(start-cpu|cpu(-without-start)?|ceiling-client-cpu"
    r"|(kube-apiserver|etcd)-(bare|beyond-bare(-without-start)?))"
)


def comparable(figures: Mapping[str, float], slowness: float) -> dict[str, float]:
    """Figures with CPU times as on the machine on which budgets were set.

    Args:
        figures: by their names, of one benchmark.
        slowness: how many times as slow this machine was meanwhile.
    """
    aims = [(name, t.limit) for t in targets() for name in t.figures.values()]
    limits = {**dict(aims), **budgets()}
    cpu = Limit(unit="CPU")
    return {
        name: (cpu if _CPU_OF_CASE.fullmatch(name) else limits.get(name, Limit())).comparable(
            value, slowness
        )
        for name, value in figures.items()
    }


def shown(value: float) -> str:
    """A number as a table has it: three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def derived(figures: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """How many times as fast as its peers each scheduler is, each by its own run's ceiling."""
    for name, value in figures.items():
        found = re.fullmatch(r"real/(.+)/(scheduler|run)/of-ceiling", name)
        if found is None:
            continue
        for peer in ("kube-scheduler", "coscheduling"):
            other = figures.get(f"real/{found[1]}/{peer}/of-ceiling")
            if other:
                yield f"real/{found[1]}/{found[2]}/times-{peer}", value / other


def rows(wanted: Sequence[Target], figures: Mapping[str, float]) -> list[Row]:
    """Each target beside what was measured."""
    known = {**figures, **dict(derived(figures))}
    made: list[Row] = []
    for target in wanted:
        values = {label: known[one] for label, one in target.figures.items() if one in known}
        complete = len(values) == len(target.figures)
        met = complete and all(map(target.limit.holds, values.values())) if values else None
        made.append(Row(target, values, met))
    return made


def table(made: Sequence[Row]) -> str:
    """The rows in Markdown."""
    words = {True: "met", False: "not met", None: "not measured"}
    lines = ["| case | target | measured | |", "|---|---|---|---|"]
    for row in made:
        told = words[row.met]
        if row.met is False and len(row.values) < len(row.target.figures):
            told = "met in part" if all(map(row.target.limit.holds, row.values.values())) else told
        lines.append(f"| {row.target.case} | {row.target.target} | {row.text()} | {told} |")
    return "\n".join(lines) + "\n"
