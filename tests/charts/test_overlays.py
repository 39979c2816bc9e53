# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the overlays promise: where replicas may be, and which pods are served."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from enbloc.config import Source, configure
from enbloc.model.pods import Pod, PodUID
from enbloc.plugins.pod_topology_spread.plugin import PodTopologySpread
from enbloc.wire import codec
from enbloc.wire.objects import PodObject
from tests.world.builders import labelled
from tests.world.tables import nodes, seated

HOSTNAME = "kubernetes.io/hostname"


def replica(constraints: list[dict[str, Any]], number: int, revision: str) -> Pod:
    """A pod of the Deployment, as the API server shows it: with the selector of the chart."""
    labels = {"app": "enbloc", "pod-template-hash": revision}
    selector = {"matchLabels": {"app": "enbloc"}}
    name = f"{revision}-{number}"
    given = {
        "metadata": {"name": name, "namespace": "n", "uid": name, "labels": labels},
        "spec": {
            "topologySpreadConstraints": [
                {**one, "labelSelector": selector}
                for one in constraints
                if one["topologyKey"] == HOSTNAME
            ]
        },
    }
    return codec.pod(msgspec.convert(given, PodObject))


def allowed(pod: Pod, hosts: int, placed: list[tuple[Pod, str]]) -> list[str]:
    """The nodes on which a replica may be."""
    table = nodes(*(labelled(f"n{n}", **{HOSTNAME: f"n{n}"}) for n in range(hosts)))
    state = seated(table, *((replace(p, uid=PodUID(p.key.name)), at) for p, at in placed))
    evaluator = PodTopologySpread().pre_filter(pod, state)
    assert evaluator is not None
    fits = evaluator.filter(pod, state.nodes).tolist()
    return [name for name, fit in zip(state.nodes.names, fits, strict=True) if fit]


def of(process: str) -> tuple[list[dict[str, Any]], int]:
    """The constraints of a process, and the number of its replicas."""
    values = yaml.safe_load(Path("helm/enbloc/ci/ha-values.yaml").read_text("utf-8"))[process]
    return values["topologySpreadConstraints"], values["replicas"]


@pytest.mark.parametrize("process", ["scheduler", "controller"])
def test_two_replicas_never_share_a_node_even_if_nodes_are_fewer(process: str) -> None:
    constraints, replicas = of(process)
    placed = [(replica(constraints, n, "a"), f"n{n}") for n in range(replicas - 1)]

    for hosts in (replicas - 1, replicas, replicas + 1):
        free = [f"n{n}" for n in range(replicas - 1, hosts)]
        assert allowed(replica(constraints, replicas, "a"), hosts, placed) == free


@pytest.mark.parametrize("process", ["scheduler", "controller"])
def test_an_upgrade_needs_no_more_nodes_than_there_are_replicas(process: str) -> None:
    constraints, replicas = of(process)
    former = [(replica(constraints, n, "a"), f"n{n}") for n in range(replicas)]
    placed: list[tuple[Pod, str]] = []

    for number in range(replicas):
        pod = replica(constraints, number, "b")
        where = allowed(pod, replicas, [*former, *placed])
        assert where
        placed.append((pod, where[0]))
        former.pop()

    assert len({node for _, node in placed}) == replicas


def test_in_place_of_kube_scheduler_pods_that_name_enbloc_are_served_too() -> None:
    """A gang that names enbloc goes on when an installation takes over from kube-scheduler."""
    overlay = Path("manifests/overlays/replace-default/configuration.yaml")
    config = yaml.safe_load(overlay.read_text("utf-8"))["data"]["config.yaml"]

    found = configure([Source("config.yaml", config)])

    assert set(found.profiles) == {"enbloc", "default-scheduler"}
