# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pages about plugins, done as written."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import aiohttp
import numpy as np
import pydantic
import pytest
import yaml

import enbloc
from enbloc import Mask, Nodes, Pod, Reads
from enbloc.config import configure
from enbloc.config.documents import Source
from enbloc.framework import Registry
from enbloc.framework.points import Point, points_of
from enbloc.live.objects import UNRESERVE_SECONDS
from enbloc.model.names import SCHEDULER_NAME
from enbloc.plugins import IN_TREE
from enbloc.testing import check_plugin
from tests.examples.desk import ROOT, Desk
from tests.examples.pages import blocks, walk
from tests.world.cluster import cluster_with

PAGE: Final = (ROOT / "docs/how-to/write-a-plugin.md").read_text("utf-8")
TUTORIAL: Final = (ROOT / "docs/tutorials/write-a-plugin.md").read_text("utf-8")


@pytest.mark.processes
def test_from_an_empty_folder_the_commands_of_the_tutorial_end_with_a_working_plugin(
    desk: Desk,
) -> None:
    walk(desk, TUTORIAL)


def configurations() -> list[str]:
    """The configurations of the scheduler on the page, those in chart values as well."""
    found: list[str] = []
    for block in blocks(PAGE, "yaml"):
        document = yaml.safe_load(block)
        values = yaml.safe_load((ROOT / "helm/enbloc/values.yaml").read_text("utf-8"))
        if "scheduler" in document:
            document = {**values["scheduler"]["config"], **document["scheduler"]["config"]}
        found.append(yaml.safe_dump(document))
    return found


def defined(**changed: str) -> dict[str, Any]:
    """The classes of the page, with these words changed."""
    space: dict[str, Any] = {
        **{name: getattr(enbloc, name) for name in enbloc.__all__},
        "dataclass": dataclass,
        "Annotated": Annotated,
        "Any": Any,
        "ClassVar": ClassVar,
        "Mapping": Mapping,
        "Sequence": Sequence,
        "np": np,
        "pydantic": pydantic,
        "aiohttp": aiohttp,
    }
    known = {*space, "__builtins__"}
    for block in blocks(PAGE, "python"):
        for old, new in changed.items():
            block = block.replace(f'"{old}"', f'"{new}"')  # noqa: PLW2901  # word by word
        exec(compile(block, "docs/how-to/write-a-plugin.md", "exec"), space)
    return {name: value for name, value in space.items() if name not in known}


PLUGINS: Final = {name: each for name, each in defined().items() if hasattr(each, "name")}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_of_the_page_keeps_the_contract(name: str) -> None:
    plugin = PLUGINS[name]()
    assert plugin.name == name
    assert points_of(plugin)
    check_plugin(plugin, examples=20)


def test_the_plugin_that_reads_the_cluster_keeps_the_contract_where_pods_are_of_apps() -> None:
    one_per_rack = defined(app="disk")["OnePerRack"]
    check_plugin(one_per_rack(label="zone"), examples=80)


def test_the_plugins_of_the_page_are_at_the_points_that_it_tells_of() -> None:
    points = {name: set(points_of(make())) for name, make in PLUGINS.items()}
    assert points == {
        "Maintenance": {Point.FILTER},
        "OnePerRack": {Point.PRE_FILTER, Point.FILTER},
        "Cheapest": {Point.SCORE},
        "LeaveAlone": {Point.FILTER},
        "Approval": {Point.PERMIT},
        "WakeUp": {Point.PRE_BIND},
        "Quiet": {Point.FILTER, Point.SCORE},
    }


@pytest.mark.parametrize("name", ["maintenance", "cheapest", "approval"])
def test_the_page_has_the_code_of_the_example(name: str) -> None:
    path = ROOT / f"manifests/examples/plugins/{name}/{name}.py"
    example = without_prose(path.read_text("utf-8"))
    shown = [without_prose(block) for block in blocks(TUTORIAL + PAGE, "python")]
    assert any(body(block) in example for block in shown if f"class {name.title()}:" in block)


def without_prose(code: str) -> str:
    """Code without docstrings, and spelt as it is with imported names."""
    code = re.sub(r'^ *""".*?"""\n+', "", code, flags=re.MULTILINE | re.DOTALL)
    return code.replace("pydantic.Field", "Field")


def body(code: str) -> str:
    """A plugin from its name on."""
    return code[code.index("    name: ") :].rstrip()


@dataclass(frozen=True)
class Broken:
    """Fails as the page shows it."""

    name: str
    filter: Callable[[Pod, Nodes], Any]
    score: Callable[[Pod, Nodes], Any]
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were refused"


def raising(pod: Pod, nodes: Nodes) -> Mask:
    del pod, nodes
    raise ValueError("no such label")


def test_a_broken_plugin_says_what_the_page_shows() -> None:
    well = (lambda _, nodes: nodes.ready, lambda _, nodes: np.zeros(len(nodes)))
    broken = [
        Broken("Maintenance", raising, well[1]),
        Broken("Maintenance", lambda _, nodes: np.zeros(len(nodes), np.int64), well[1]),
        Broken("Cheapest", well[0], lambda _, nodes: np.full(len(nodes), np.nan)),
    ]
    said: list[str] = []
    for plugin in broken:
        cluster = cluster_with(plugin)
        cluster.nodes("n3 n4")
        cluster.gang("g", 2)
        cluster.settle()
        assert cluster.condition("g")[1] == "SchedulerError"
        said.append(cluster.condition("g")[2])
    assert said == blocks(PAGE, "text")[0].splitlines()


def test_the_configurations_of_the_page_are_valid() -> None:
    found = configurations()
    assert len(found) == 2
    for text in found:
        configuration = configure([Source("page", text)], Registry({**IN_TREE, **PLUGINS}, ()))
        [profile] = configuration.profiles.values()
        assert profile.name == SCHEDULER_NAME


def test_the_page_says_how_long_unreserve_may_take() -> None:
    assert f"It has {UNRESERVE_SECONDS:g} seconds, and ends before" in PAGE


def test_the_extension_points_of_the_porting_table_exist() -> None:
    table = PAGE.partition("## Porting a plugin from Go")[2]
    for point in Point:
        method = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", point)
        ours = "sort_key" if point is Point.QUEUE_SORT else method
        assert re.search(rf"\b{ours}\b", table), point
