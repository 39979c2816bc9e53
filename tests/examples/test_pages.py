# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pages about gangs, done as written: what they show is in the examples; no link is dead."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from enbloc.engine.trial.outcome import Search
from enbloc.model.names import EventReason, Reason
from enbloc.telemetry import metrics
from tests.examples.desk import ROOT
from tests.examples.pages import blocks, dead_links, linked

DOCS: Final = ROOT / "docs"
EXAMPLES: Final = ROOT / "manifests/examples"
GANGS: Final = (DOCS / "explanation/gangs.md").read_text("utf-8")
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("**/*.md")),
    *sorted(EXAMPLES.glob("**/README.md")),
]
#: How-to pages, each with the example that it applies.
WALKS: Final = {
    "gangs-for-workloads": "jobs-without-a-podgroup",
    "survive-a-node": "survive-a-node",
    "describe-your-racks": "topology",
    "gang-with-volumes": "gang-with-volumes",
    "gang-with-devices": "gang-with-devices",
    "reserve-room-for-executors": "driver-and-executors",
    "whole-gangs-in-a-service": "whole-gang-service",
}


def holds(whole: Any, part: Any) -> bool:
    """Whether a part stands somewhere in a document, maps with more keys included."""
    if fits(whole, part):
        return True
    inner = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return any(holds(each, part) for each in inner)


def fits(whole: Any, part: Any) -> bool:
    """Whether a document has at least what the part has, here."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and fits(whole[key], value) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(whole) == len(part) and all(map(fits, whole, part))
    return bool(whole == part)


def examples(*names: str) -> list[Any]:
    """What these examples apply."""
    return [
        document
        for name in names
        for document in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text("utf-8"))
    ]


@pytest.mark.parametrize("page", WALKS)
def test_what_a_page_shows_of_a_manifest_is_in_the_example_that_it_applies(page: str) -> None:
    text = (DOCS / f"how-to/{page}.md").read_text("utf-8")
    for block in blocks(text, "yaml"):
        assert holds(examples(WALKS[page]), yaml.safe_load(block)), block


def test_what_the_page_about_gangs_shows_of_manifests_is_in_the_examples() -> None:
    shown = blocks(GANGS, "yaml")
    assert len(shown) == 3
    for block in shown:
        assert holds(examples(*WALKS.values()), yaml.safe_load(block)), block


def test_the_words_of_the_page_about_gangs_are_those_of_the_code() -> None:
    ours = [
        metric
        for metric in vars(metrics).values()
        if isinstance(metric, Counter | Gauge | Histogram)
    ]
    known = {family.name for metric in ours for family in metric.collect()}
    named = set(re.findall(r"`(enbloc_\w+?)(?:\{\w+\})?`", GANGS))
    assert named
    assert {name.removesuffix("_total") for name in named} <= known
    for search in Search:
        assert not search or f"`{search}`" in GANGS, search
    events = re.findall(r"event[^.`\n]*\(`(\w+)`\)", GANGS)
    assert events
    assert set(events) <= {str(reason) for reason in EventReason}
    for reason in Reason:
        assert reason in GANGS, reason


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            ahead += (found for found in linked(page) if found.suffix == ".md")
    assert [page for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_of_a_page_is_dead(page: Path) -> None:
    assert dead_links(page) == []


def test_a_command_that_is_run_in_the_scheduler_s_pod_names_the_configuration_there() -> None:
    """The scheduler may not read ConfigMaps, so the command would take the defaults."""
    inside = re.compile(
        r"exec\b[^`$]*?--\s+enbloc\s+(?:explain|queue|nodes|what-if|drain-check)\b[^`$]*"
    )
    found = [each for page in PAGES for each in inside.findall(page.read_text("utf-8"))]

    assert found
    assert [each for each in found if "--config /etc/enbloc/config.yaml" not in each] == []
