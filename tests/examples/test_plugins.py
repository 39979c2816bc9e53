# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The packages of manifests/examples/plugins, installed and at work in the sandbox."""

from pathlib import Path
from typing import Final

import pytest

from tests.effort import slow
from tests.examples.desk import ROOT, Desk

pytestmark = pytest.mark.processes

PLUGINS: Final = ROOT / "manifests/examples/plugins"


def at_work(desk: Desk, name: str, nodes: int = 4) -> Path:
    """Install a package, and run the scheduler with its configuration; where the package is."""
    package = PLUGINS / name
    desk.run(f"pip install {package}")
    desk.shows(f"enbloc config check {package}/scheduler.yaml", f"{package}/scheduler.yaml: valid")
    desk.sandbox(f"enbloc sandbox --nodes {nodes}")
    desk.run("export KUBECONFIG=sandbox.kubeconfig")
    desk.serve(f"enbloc run --config {package}/scheduler.yaml")
    return package


def test_maintenance_refuses_nodes_and_takes_one_when_its_label_is_gone(desk: Desk) -> None:
    package = at_work(desk, "maintenance")
    desk.run("kubectl label nodes --all example.com/maintenance=true")
    desk.run(f"kubectl apply -f {package}/pods.yaml")
    desk.shows(
        "kubectl get events",
        "FailedScheduling pod/careful 0/4 nodes are available: 4 node(s) were under maintenance.",
    )
    desk.run("kubectl label nodes node-2 example.com/maintenance-")
    desk.shows("kubectl get pods -o wide", "careful … node-2")


def test_cheapest_picks_the_node_with_the_lowest_price(desk: Desk) -> None:
    package = at_work(desk, "cheapest")
    desk.run("kubectl annotate nodes --all example.com/price=300")
    desk.run("kubectl annotate nodes node-1 example.com/price=cheap --overwrite")
    desk.run("kubectl annotate nodes node-3 example.com/price=100 --overwrite")
    desk.run(f"kubectl apply -f {package}/pods.yaml")
    desk.shows("kubectl get pods -o wide", "frugal … node-3")


def test_a_gang_waits_for_approval_is_refused_by_a_no_and_starts_with_a_yes(desk: Desk) -> None:
    package = at_work(desk, "approval")
    desk.run(f"kubectl apply -f {package}/pods.yaml")
    group = "podgroups.enbloc.dev"
    desk.shows(f"kubectl get {group}", "train WaitingOnPermit 2 0")
    desk.run(f"kubectl annotate {group} train example.com/approved=false")
    desk.shows(f"kubectl get {group} -o wide", "train WaitingOnPermit 2 0 … somebody said no")
    desk.run(f"kubectl annotate {group} train example.com/approved=true --overwrite")
    desk.shows(f"kubectl get {group}", "train Running 2 2 2")


@slow("it tries a thousand pods in a process of its own")
@pytest.mark.parametrize("name", ["maintenance", "cheapest", "approval"])
def test_a_package_passes_its_own_tests(lonely_desk: Desk, name: str) -> None:
    lonely_desk.run(f"cp -r {PLUGINS / name} .")
    lonely_desk.run(f"pip install -e {name}")
    lonely_desk.shows(f"pytest -q {name}", "… passed in …")


def test_a_package_that_is_only_on_the_path_is_found_as_in_an_image(lonely_desk: Desk) -> None:
    package = PLUGINS / "maintenance"
    check = f"enbloc config check {package}/scheduler.yaml"
    lonely_desk.shows(f"{check} || true", '… Unknown "Maintenance" …')
    lonely_desk.run(f"pip wheel --wheel-dir dist {package}")
    lonely_desk.run("pip install --target plugins dist/maintenance-*.whl")
    lonely_desk.shows(f"PYTHONPATH=plugins {check}", f"{package}/scheduler.yaml: valid")


def test_every_package_is_among_these() -> None:
    found = {path.parent.name for path in PLUGINS.glob("*/pyproject.toml")}
    assert found == {"maintenance", "cheapest", "approval"}


def test_an_argument_that_a_plugin_does_not_take_is_told_with_its_path(lonely_desk: Desk) -> None:
    lonely_desk.run(f"pip install {PLUGINS / 'cheapest'}")
    text = (PLUGINS / "cheapest/scheduler.yaml").read_text("utf-8")
    (lonely_desk.folder / "wrong.yaml").write_text(
        text.replace("highest: 500", "highest: 0, lowest: 1")
    )
    lonely_desk.shows(
        "enbloc config check wrong.yaml || true",
        "profiles[0].pluginConfig[0].args.highest: must be greater than 0, is 0",
        'profiles[0].pluginConfig[0].args.lowest: Unknown argument "lowest" …highest…',
    )
