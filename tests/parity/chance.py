# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What random worlds are made of: few keys and values, so that things match, and the dice."""

from collections.abc import Callable
from enum import Enum, auto
from random import Random
from typing import Final, TypeVar

from enbloc.model.names import TAINT_UNSCHEDULABLE
from enbloc.model.requirements import Operator
from enbloc.model.selectors import Labels

T = TypeVar("T")

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
GI: Final = 2**30
GPU: Final = "nvidia.com/gpu"
NODES: Final = tuple(f"node-{number}" for number in range(7))
NODE_LABELS: Final = {
    ZONE: ("a", "b", "c"),
    "rack": ("1", "2", "-3", "02", "7x"),
    "disk": ("ssd",),
}
TOPOLOGIES: Final = (HOSTNAME, ZONE, "rack", "disk")
POD_LABELS: Final = {"app": ("web", "db"), "tier": ("x", "y"), "rev": ("1", "2")}
TEAMS: Final = ("red", "blue")
TAINT_KEYS: Final = ("gpu", "spot", TAINT_UNSCHEDULABLE)
NAMESPACES: Final[dict[str, Labels]] = {
    "default": (),
    "one": (("team", "red"),),
    "two": (("stage", "x"), ("team", "blue")),
}
SET_BASED: Final = (Operator.IN, Operator.IN, Operator.NOT_IN, Operator.EXISTS,
                     Operator.DOES_NOT_EXIST)  # fmt: skip
IMAGES: Final = ("registry/a:1", "registry/b:latest", "c@sha256:0")
FEATURES: Final = ("GuestMemory", "UserNamespaces")


class Aspect(Enum):
    """A part of scheduling that may be in play in a world."""

    TAINTS = auto()
    NODE_NAME = auto()
    NODE_AFFINITY = auto()
    PORTS = auto()
    RESOURCES = auto()
    HARD_SPREAD = auto()
    SOFT_SPREAD = auto()
    WORKLOADS = auto()
    HARD_AFFINITY = auto()
    SOFT_AFFINITY = auto()
    IMAGES = auto()
    FEATURES = auto()
    SETTINGS = auto()


Aspects = frozenset[Aspect]


Parts = Callable[[Aspect], Random | None]


def parts_of(dice: Random, aspects: Aspects) -> Parts:
    """Dice of its own for each aspect in play, so that dropping one leaves the others alone."""
    seed = dice.getrandbits(32)
    return lambda aspect: Random(seed * 64 + aspect.value) if aspect in aspects else None


def some(dice: Random | None, most: int, make: Callable[[Random], T]) -> tuple[T, ...]:
    return tuple(make(dice) for _ in range(dice.randint(0, most))) if dice else ()


def seldom(dice: Random | None, odds: float, make: Callable[[Random], T]) -> tuple[T, ...]:
    """One or two of them, seldom."""
    if dice is None or dice.random() > odds:
        return ()
    return tuple(make(dice) for _ in range(dice.choice((1, 1, 1, 2))))
