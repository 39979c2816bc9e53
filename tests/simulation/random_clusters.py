# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters drawn at random: nodes of some shapes, what runs on them, and gangs that wait."""

from random import Random
from typing import Final

from enbloc.model.taints import Taint
from tests.simulation.present import run
from tests.world.builders import spec
from tests.world.cluster import Cluster

CLASSES: Final = {"low": 0, "normal": 10, "urgent": 100}
_SHAPES: Final = ("cpu", "gpu", "tainted")


def drawn(seed: int) -> Cluster:
    """A cluster at rest, in which some gangs wait."""
    dice = Random(seed)
    cluster = Cluster()
    for at in range(dice.randint(2, 6)):
        _node(cluster, dice, f"n{at}")
    for at in range(dice.randint(0, 4)):
        _gang(cluster, dice, f"run{at}", cpu=dice.randint(1, 3), priority=dice.choice((0, 10)))
        run_what_fits(cluster, f"run{at}")
    for at in range(dice.randint(1, 4)):
        _gang(
            cluster,
            dice,
            f"wait{at}",
            cpu=dice.randint(1, 10),
            gpu=dice.choice((0, 0, 1, 4)),
            selector=dice.choice(("", "", "a", "c")),
            priority=dice.choice((0, 0, 10)),
        )
    cluster.settle(seconds=60)
    return cluster


def run_what_fits(cluster: Cluster, name: str) -> None:
    """Bind a gang and have it run; one that does not fit is not made."""
    cluster.settle()
    if cluster.where(f"{name}-"):
        run(cluster, name)
        return
    for pod in [pod for pod in cluster.pods if pod.startswith(f"{name}-")]:
        cluster.delete(pod)
    cluster.drop_group(name)


def _node(cluster: Cluster, dice: Random, name: str) -> None:
    shape = dice.choice(_SHAPES)
    cluster.node(
        name,
        cpu=dice.choice((4, 8)),
        gpu=4 if shape == "gpu" else 0,
        taints=(Taint("dedicated", "ml"),) if shape == "tainted" else (),
        labels=(("kubernetes.io/hostname", name), ("zone", dice.choice("ab"))),
        unschedulable=dice.random() < 0.15,
    )


def _gang(
    cluster: Cluster,
    dice: Random,
    name: str,
    *,
    cpu: int,
    gpu: int = 0,
    selector: str = "",
    priority: int = 0,
) -> None:
    size = dice.randint(1, 4)
    cluster.gang(
        name,
        size,
        dice.randint(1, size),
        spec=spec(cpu=cpu, gpu=gpu, node_selector=(("zone", selector),) if selector else ()),
        priority=priority,
    )
