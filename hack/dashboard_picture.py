# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Draw the dashboard's panels, each from its own queries over a recorded run.

    python hack/dashboard_picture.py    # writes docs/how-to/dashboard.svg; needs Go once

Prometheus' own engine evaluates the queries (hack/promql). The picture holds a digest of what it
was drawn from, so a check without Go notices one that is old (`drift`).
"""

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
DASHBOARD: Final = ROOT / "helm/enbloc/files/dashboard.json"
RECORDED: Final = ROOT / "hack/promql/recorded.json"
PICTURE: Final = ROOT / "docs/how-to/dashboard.svg"

#: Between two scrapes of the recording, and the window of a rate (seconds).
EVERY: Final = 15.0
WINDOW: Final = "60s"
#: Who was scraped.
TARGET: Final = {"job": "enbloc-scheduler", "instance": "10.244.0.7:10259"}
#: Of a cell of Grafana's grid of 24 columns, and between panels (pixels).
CELL: Final = (50, 27)
GAP: Final = 8
COLOURS: Final = (
    *("#3274d9", "#e0752d", "#56a64b", "#c4162a", "#8f3bb8", "#b8860b", "#1f9e9e", "#7a7a7a"),
    *("#d6399b", "#4b5fb8"),
)
#: So many lines are named below a panel.
MOST_NAMED: Final = 6
#: Of such a name.
MOST_LETTERS: Final = 19

STYLE: Final = (
    "text{font:11px sans-serif;fill:#333}.bold{font-weight:bold}.name{font-size:10px}"
    ".axis{font-size:10px;text-anchor:end;fill:#777}"
    ".stat{font-size:28px;text-anchor:middle;fill:#3274d9}"
)

Result = Sequence[Mapping[str, Any]]


def evaluated(series: Sequence[Mapping[str, Any]], queries: Sequence[Mapping[str, Any]]) -> Any:
    """What each query gives, by Prometheus' engine.

    Args:
        series: `labels`, and `values` as pairs of seconds and value.
        queries: `expr`, and `start`, `end` and `step` in seconds.

    Raises:
        subprocess.CalledProcessError: a query cannot be evaluated; it has said why.
    """
    done = subprocess.run(
        ["go", "run", "."],
        cwd=ROOT / "hack/promql",
        input=json.dumps({"series": series, "queries": queries}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=900,
    )
    return json.loads(done.stdout)


def digest() -> str:
    """Of all that the picture is drawn from."""
    text = DASHBOARD.read_bytes() + RECORDED.read_bytes() + Path(__file__).read_bytes()
    return hashlib.sha256(text).hexdigest()


def drift() -> bool:
    """Whether the picture was drawn from something else."""
    return not PICTURE.exists() or digest() not in PICTURE.read_text(encoding="utf-8")


def drawn() -> str:
    """The picture as SVG."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    targets = [target for panel in panels for target in panel.get("targets", ())]
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    end = (recorded["scrapes"] - 1) * EVERY
    series = [
        {"labels": {**each["labels"], **TARGET}, "values": _scraped(each["changes"], end)}
        for each in recorded["series"]
    ]
    queries = [
        {"expr": of_grafana(target["expr"]), "start": 0.0, "end": end, "step": EVERY}
        for target in targets
    ]
    results = iter(evaluated(series, queries))
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) * CELL[1]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 * CELL[0]} {height}">',
        f"<style>{STYLE}</style>",
        "<!-- SPDX-FileCopyrightText: 2026 The enbloc authors -->",
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        f"<!-- Drawn by hack/dashboard_picture.py from {digest()} -->",
        "<title>The dashboard's panels over five minutes of a small cluster</title>",
        '<rect width="100%" height="100%" fill="#f4f5f5"/>',
    ]
    for panel in panels:
        found = [(target, next(results)) for target in panel.get("targets", ())]
        lines += _panel(panel, found, end)
    return "\n".join((*lines, "</svg>")) + "\n"


def _scraped(changes: Sequence[float], end: float) -> list[tuple[float, float]]:
    """A value for every scrape from the first change on."""
    at = dict(zip(changes[::2], changes[1::2], strict=True))
    found: list[tuple[float, float]] = []
    for number in range(int(changes[0]), round(end / EVERY) + 1):
        found.append((number * EVERY, at[number] if number in at else found[-1][1]))
    return found


def of_grafana(query: str) -> str:
    """A query with its variables as Grafana would fill them in."""
    return query.replace("$__rate_interval", WINDOW).replace("$job", ".*")


def _panel(
    panel: Mapping[str, Any], found: Sequence[tuple[Mapping[str, Any], Result]], end: float
) -> Iterator[str]:
    at = panel["gridPos"]
    x, y = at["x"] * CELL[0] + GAP / 2, at["y"] * CELL[1] + GAP / 2
    width, height = at["w"] * CELL[0] - GAP, at["h"] * CELL[1] - GAP
    yield f'<g transform="translate({x:g},{y:g})">'
    if panel["type"] == "row":
        yield _text(4, 15, panel["title"], "bold")
    else:
        yield f'<rect width="{width}" height="{height}" fill="#fff" stroke="#d8d9da"/>'
        yield _text(8, 16, panel["title"])
        unit = panel["fieldConfig"]["defaults"]["unit"]
        named = [(_name(target, one), one) for target, result in found for one in result]
        if panel["type"] == "stat":
            yield from _stat(named, unit, width, height)
        else:
            yield from _lines(named, unit, width, height, end)
    yield "</g>"


def _name(target: Mapping[str, Any], series: Mapping[str, Any]) -> str:
    def label(match: re.Match[str]) -> str:
        return str(series["labels"].get(match[1], ""))

    return re.sub(r"\{\{(\w+)\}\}", label, target["legendFormat"])


def _stat(
    named: Sequence[tuple[str, Mapping[str, Any]]], unit: str, width: float, height: float
) -> Iterator[str]:
    values = [one["values"][-1][1] for _, one in named if one["values"]]
    text = _amount(values[0], unit) if values else "no data"
    yield _text(width / 2, height * 0.68, text, "stat")


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    """A text, in one of the kinds of STYLE."""
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:.4g}"{of_kind}>{escape(text)}</text>'


def _lines(
    named: Sequence[tuple[str, Mapping[str, Any]]],
    unit: str,
    width: float,
    height: float,
    end: float,
) -> Iterator[str]:
    left, top, right, bottom = 52.0, 26.0, width - 10.0, height - 44.0
    most = max((value for _, one in named for _, value in one["values"]), default=0.0) or 1.0
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * (bottom - top)
        yield f'<path d="M{left:g} {y:.1f}H{right:g}" stroke="#e6e6e6"/>'
        yield _text(left - 5, y + 4, _amount(share * most, unit), "axis")
    ranked = sorted(named, key=lambda each: -max((v for _, v in each[1]["values"]), default=0.0))
    for number, (name, one) in enumerate(ranked):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{left + at / end * (right - left):.1f},{bottom - value / most * (bottom - top):.1f}"
            for at, value in one["values"]
        )
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4"/>'
        if number < MOST_NAMED and name:
            column, line = number % 3, number // 3
            x_text, y_text = 10 + column * (width - 10) / 3, height - 24 + line * 15
            shown = name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
            yield f'<path d="M{x_text:g} {y_text - 4:g}h10" stroke="{colour}" stroke-width="2.5"/>'
            yield _text(x_text + 14, y_text, shown, "name")


def _amount(value: float, unit: str) -> str:
    """A value with its unit, short."""
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    return f"{value:.3g}{'/s' if unit in {'ops', 'reqps'} else ''}"


def main() -> None:
    """Draw, and write the file."""
    PICTURE.write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
