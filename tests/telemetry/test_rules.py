# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rules, dashboard and pages: what they name exists, with these labels."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import promql_parser as promql
import pytest
import yaml

from enbloc.telemetry.metrics import DECLARED

ROOT: Final = Path(__file__).resolve().parents[2]
FILES: Final = ROOT / "helm/enbloc/files"
RUNBOOKS: Final = ROOT / "docs/how-to/runbooks.md"
#: What Prometheus adds to every sample.
SCRAPED: Final = {"job", "instance"}
#: Of the Python client.
OF_THE_CLIENT: Final = ("process_cpu_seconds_total", "process_resident_memory_bytes")

GROUPS: Final[list[dict[str, Any]]] = yaml.safe_load((FILES / "rules.yaml").read_text())["groups"]
RULES: Final[list[dict[str, Any]]] = [rule for group in GROUPS for rule in group["rules"]]
ALERTS: Final = [rule for rule in RULES if "alert" in rule]
RECORDED: Final = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
DASHBOARD: Final[dict[str, Any]] = json.loads((FILES / "dashboard.json").read_text())
PANELS: Final = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def of_grafana(query: str) -> str:
    """A query of the dashboard with its variables as Grafana fills them in."""
    return query.replace("$__rate_interval", "5m").replace("$job", ".*")


QUERIES: Final = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in RULES] + [
    (panel["title"], of_grafana(target["expr"])) for panel in PANELS for target in panel["targets"]
]


def labels_by_series() -> dict[str, dict[str, str]]:
    """The labels of every series that a query may name, each with what it can be."""
    found: dict[str, dict[str, str]] = {name: {} for name in OF_THE_CLIENT}
    for metric in DECLARED:
        labels = dict(metric.labels)
        if metric.kind == "histogram":
            found[f"{metric.name}_bucket"] = {**labels, "le": ""}
            found[f"{metric.name}_count"] = found[f"{metric.name}_sum"] = labels
        else:
            found[metric.name] = labels
    return found


SERIES: Final = labels_by_series()


def parts(expression: Any) -> Iterator[Any]:
    """An expression and all that it is made of."""
    yield expression
    for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
        inner = getattr(expression, name, None)
        if inner is not None:
            yield from parts(inner)
    for argument in getattr(expression, "args", ()):
        yield from parts(argument)


def selectors(expression: Any) -> list[Any]:
    return [part for part in parts(expression) if isinstance(part, promql.VectorSelector)]


def labels_of(selector: Any) -> dict[str, str]:
    """The labels that a selector's series have."""
    if selector.name in RECORDED:
        return dict.fromkeys(SCRAPED, "")
    return SERIES[selector.name]


def problems(query: str) -> list[str]:
    """What a query names that does not exist."""
    found: list[str] = []
    expression = promql.parse(query)
    known = set(SCRAPED)
    for selector in selectors(expression):
        name = selector.name
        if name not in SERIES and name not in RECORDED:
            found.append(f"no metric {name}")
            continue
        labels = labels_of(selector)
        known |= labels.keys()
        for matcher in selector.matchers.matchers:
            if matcher.name not in labels.keys() | SCRAPED:
                found.append(f"{name} has no label {matcher.name}")
            elif matcher.op == promql.MatchOp.Equal and matcher.name in labels:
                closed = re.split(r", ", re.sub(r" \(\w+\)", "", labels[matcher.name]))
                if len(closed) > 1 and matcher.value not in closed:
                    found.append(f"{name}{{{matcher.name}}} is never {matcher.value}")
    for part in parts(expression):
        if isinstance(part, promql.AggregateExpr) and part.modifier is not None:
            found += [f"no label {each}" for each in part.modifier.labels if each not in known]
    return found


@pytest.mark.parametrize(("where", "query"), QUERIES, ids=[where for where, _ in QUERIES])
def test_every_query_can_be_read_and_names_what_exists(where: str, query: str) -> None:
    assert problems(query) == [], where


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("sum(enbloc_nothing)", "no metric enbloc_nothing"),
        ("enbloc_podgroup_wait_duration_seconds", "no metric enbloc_podgroup_wait"),
        ("scheduler_pending_pods{namespace='x'}", "scheduler_pending_pods has no label namespace"),
        ("scheduler_pending_pods{queue='backof'}", "scheduler_pending_pods{queue} is never backof"),
        ("sum by (plugin) (scheduler_pending_pods)", "no label plugin"),
    ],
)
def test_a_query_that_names_what_does_not_exist_is_noticed(query: str, why: str) -> None:
    [problem] = problems(query)
    assert problem.startswith(why)


def test_a_query_that_cannot_be_read_is_noticed() -> None:
    with pytest.raises(ValueError, match=r"unclosed|unexpected|parse"):
        problems("sum(rate(enbloc_evictions_total[5m])")


@pytest.mark.parametrize(("where", "query"), QUERIES, ids=[where for where, _ in QUERIES])
def test_what_others_export_too_is_joined_with_what_only_enbloc_has(where: str, query: str) -> None:
    names = {selector.name for selector in selectors(promql.parse(query))}
    shared = {name for name in names if not name.startswith(("enbloc_", "enbloc:"))}
    ours = "enbloc_build_info" in names or "podgroup_controller" in query
    assert not shared or ours, f"{where}: kube-scheduler's {shared} would count too"


@pytest.mark.parametrize("panel", PANELS, ids=[panel["title"] for panel in PANELS])
def test_a_legend_shows_labels_that_are_left(panel: dict[str, Any]) -> None:
    assert panel["description"]
    for target in panel["targets"]:
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        grouped = set(re.findall(r"\w+", " ".join(re.findall(r"by \((.*?)\)", target["expr"]))))
        assert shown <= grouped


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not taken & cells, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.parametrize("alert", ALERTS, ids=[alert["alert"] for alert in ALERTS])
def test_an_alert_says_what_is_wrong_and_has_a_runbook(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
    name = alert["alert"]
    assert alert["annotations"]["runbook_url"] == f"how-to/runbooks/#{name.lower()}"
    section = RUNBOOKS.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert len(section.split()) > 30, f"docs/how-to/runbooks.md has no section {name}"


def test_there_is_no_runbook_without_its_alert() -> None:
    sections = re.findall(r"^## (\w+)$", RUNBOOKS.read_text(), re.MULTILINE)
    assert sections == [alert["alert"] for alert in ALERTS]


def test_pages_and_files_name_metrics_that_exist() -> None:
    named: dict[str, Path] = {}
    pattern = r"\b(?:enbloc|scheduler|rest_client|workqueue|leader_election)_[a-z0-9_]*[a-z0-9]"
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("helm/enbloc/**/*")]
    for page in [*pages, *ROOT.glob("manifests/**/*.yaml")]:
        if page.is_file() and page.suffix != ".svg":
            text = page.read_text(encoding="utf-8")
            named |= dict.fromkeys(re.findall(rf"(?<![\w:.-]){pattern}(?![\w:/.-])", text), page)
    known = {*SERIES, *(metric.name for metric in DECLARED)}
    lacking = {name: page for name, page in named.items() if name not in known}
    assert lacking.keys() <= {"enbloc_partial_binds_total"}  # which has another name, and why
    assert len(named) > 40
