# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Applications as Spark makes them: a driver, and executors that it owns."""

from enbloc.model.pods import Owner
from tests.rules.world import World


def application(world: World, name: str, **more: object) -> None:
    """A driver that is admitted, with capacity reserved for two executors."""
    world.group(name, 1, min_resources=(("cpu", 12_000),), **{"timeout": 60, **more})
    world.member(f"{name}-driver", name, owner=Owner("SparkApplication", name, name))


def executor(world: World, name: str, index: int = 0) -> None:
    """A member that the driver has made."""
    driver = world.pods[f"{name}-driver"]
    owner = Owner("Pod", driver.key.name, driver.uid)
    world.member(f"{name}-executor-{index}", name, owner=owner)
