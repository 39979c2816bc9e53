# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Put results into docs/explanation/performance.md, as tables and as a picture.

python -m benchmarks.page benchmarks/results/2026-01-31.json
"""

import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Final

from benchmarks import budgets, results
from benchmarks.budgets import shown
from benchmarks.real import cases, subjects
from benchmarks.results import Results
from hack.pages import replaced

PAGE: Final = Path(__file__).parents[1] / "docs/explanation/performance.md"
PICTURE: Final = PAGE.with_suffix(".svg")
BEGIN: Final = "<!-- Below: written by `python -m benchmarks.page`. -->\n"
END: Final = "<!-- Above: written by `python -m benchmarks.page`. -->\n"

CASES: Final[Mapping[str, str]] = {
    "lone-500": "1 000 lone pods, 500 nodes",
    "lone-1000": "1 000 lone pods, 1 000 nodes",
    "gangs-of-8": "1 000 gangs of 8, 1 000 nodes",
    "gangs-of-100": "50 gangs of 100, 5 000 nodes",
    "gangs-of-10": "1 000 gangs of 10, 5 000 nodes",
    "racks-4": "750 gangs of 4, each in one of 50 racks, 5 000 nodes",
    "racks-1000": "3 gangs of 1 000, each in one of 50 racks, 5 000 nodes",
    cases.CHURN.name: "500 gangs of 8, 1 000 nodes, churn",
    "openb": "8 152 pods of openb, 1 523 nodes",
}
SCHEDULERS: Final[Mapping[str, str]] = {
    "scheduler": "`enbloc scheduler`",
    "run": "`enbloc run`",
    subjects.KUBE_SCHEDULER.name: "kube-scheduler",
    subjects.COSCHEDULING.name: "with coscheduling",
}
#: Columns of the table of cases: heading, and the figure's last name.
COLUMNS: Final[Mapping[str, str]] = {
    "ceiling, pods/s": "ceiling",
    "after of before, %": "ceiling-after-of-before",
    "pods/s": "rate",
    "of ceiling, %": "of-ceiling",
    "CPU, ms/pod": "cpu",
    "without start": "cpu-without-start",
    "API server beyond": "kube-apiserver-beyond-bare-without-start",
    "etcd beyond": "etcd-beyond-bare-without-start",
    "pods/s that come": "wait-at",
    "wait p50, ms": "wait-p50",
    "p99": "wait-p99",
    "of bare client's p99, ×": "wait-p99-of-bare",
    "memory, MiB": "memory-peak",
    "retained": "memory-retained",
}
_COLOURS: Final = ("#3274d9", "#56a64b", "#e0752d", "#8f3bb8")
_STYLE: Final = "text{font:12px sans-serif;fill:#333}.end{text-anchor:end}.head{font-weight:bold}"
#: Of the picture (pixels): what stands left of the bars, the bars at 100 %, and a bar.
_LEFT, _WIDTH, _HEIGHT = 250, 420, 18


def runs(figures: Mapping[str, float]) -> Iterator[tuple[str, str, str]]:
    """Each case and scheduler of which there are figures, and how those begin."""
    for case in CASES:
        for scheduler in SCHEDULERS:
            prefix = f"real/{case}/{scheduler}/"
            if f"{prefix}of-ceiling" in figures:
                yield case, scheduler, prefix


def details(figures: Mapping[str, float]) -> str:
    """The cases on a real API server, in Markdown."""
    lines = [
        f"| case | scheduler | {' | '.join(COLUMNS)} |",
        "|---|---|" + len(COLUMNS) * "--:|",
    ]
    for case, scheduler, prefix in runs(figures):
        cells = [
            shown(figures[prefix + name]) if prefix + name in figures else ""
            for name in COLUMNS.values()
        ]
        lines.append(f"| {CASES[case]} | {SCHEDULERS[scheduler]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def writes(figures: Mapping[str, float]) -> str:
    """What each scheduler writes per pod, in Markdown."""
    lines = ["| case | scheduler | writes per pod | events dropped per pod |", "|---|---|---|--:|"]
    for case, scheduler, prefix in runs(figures):
        begin = f"{prefix}writes-"
        told = ", ".join(
            f"{shown(value)} {name.removeprefix(begin).replace('-', ' ', 1)}"
            for name, value in figures.items()
            if name.startswith(begin) and value >= 0.005
        )
        dropped = shown(figures.get(f"{prefix}dropped-events", 0.0))
        lines.append(f"| {CASES[case]} | {SCHEDULERS[scheduler]} | {told} | {dropped} |")
    return "\n".join(lines) + "\n"


def picture(figures: Mapping[str, float]) -> str:
    """Bars: what each scheduler reaches of its run's ceiling, as SVG."""
    y, parts, above = 14, list[str](), ""
    for case, scheduler, prefix in runs(figures):
        if case != above:
            y, above = y + 18, case
            parts.append(f'<text class="head" x="10" y="{y}">{escape(CASES[case])}</text>')
            y += 8
        share = figures[f"{prefix}of-ceiling"]
        colour = _COLOURS[list(SCHEDULERS).index(scheduler)]
        name = escape(SCHEDULERS[scheduler].replace("`", ""))
        middle = y + _HEIGHT - 5
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{middle}">{name}</text>')
        width = round(min(share, 100) * _WIDTH / 100)
        bar = f'x="{_LEFT}" y="{y}" width="{width}" height="{_HEIGHT - 3}" fill="{colour}"'
        rate = shown(figures.get(f"{prefix}rate", 0.0))
        parts.append(f'<rect {bar}/><text x="{_LEFT + width + 6}" y="{middle}">')
        parts.append(f"{shown(share)} % ({rate} pods/s)</text>")
        y += _HEIGHT
    y += 14
    wanted = _LEFT + round(0.75 * _WIDTH)
    line = f'<path d="M{wanted} 14V{y - 10}" stroke="#999" stroke-dasharray="4 3"/>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 130}" height="{y}" '
        f'role="img" aria-label="Pods bound per second, as a share of a bare client\'s rate">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
    )
    note = f'<text x="{wanted + 4}" y="14">75 %: what is aimed at</text>'
    return head + line + note + "".join(parts) + "</svg>\n"


def section(found: Results, name: str) -> str:
    """What the page says of a run."""
    figures = found.figures
    aims = budgets.table(budgets.rows(budgets.targets(), figures))
    slowness, pace = found.slowness(), ""
    if slowness is not None:
        pace = (
            f" The machine was {slowness[0]:.2g} to {slowness[1]:.2g} times as slow as the one on "
            "which budgets were set; where it was slower, CPU times are as on that one; pods/s and "
            "waits are as they were."
        )
    return (
        f"Taken on {found.date}: {found.machine.text()}.{pace} All figures are in\n"
        f"[{name}](../../benchmarks/results/{name}).\n\n"
        f"### What is aimed at\n\n{aims}\n"
        f"### On a real API server\n\n"
        f"![Pods bound per second, as a share of the ceiling]({PICTURE.name})\n\n"
        f"{details(figures)}\n### What is written\n\n{writes(figures)}"
    )


def page(found: Results, name: str) -> str:
    """The whole page, with what it says of a run."""
    return replaced(PAGE.read_text(encoding="utf-8"), BEGIN, END, section(found, name))


def main() -> None:
    """Write page and picture."""
    path = Path(sys.argv[1])
    found = results.read(path)
    PAGE.write_text(page(found, path.name), encoding="utf-8")
    PICTURE.write_text(picture(found.figures), encoding="utf-8")


if __name__ == "__main__":
    main()
