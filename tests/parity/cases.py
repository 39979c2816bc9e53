# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random worlds and incoming pods: from a seed, so thousands a second; prefixes are stable.

The strategy draws a seed, how many nodes and seated pods there are, and which aspects of
scheduling are in play. Fewer of these leave the rest of the world as it was, so a failing case
shrinks to the nodes, pods and aspects that matter.
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from hypothesis import strategies as st

from enbloc.model.pods import Pod
from tests.parity.chance import (
    NAMESPACES,
    NODES,
    Aspect,
    Aspects,
)
from tests.parity.chance_nodes import random_node, random_settings, random_workloads
from tests.parity.chance_pods import random_pod
from tests.parity.hosts import Host, Hosts
from tests.parity.settings import Settings

INCOMING: Final = 4

#: Hypothesis takes the first most often, and shrinks towards it.
_NODE_COUNTS: Final = (3, 0, 1, 2, 4, 5, 6, 7, 5, 6, 7)
_SEATED_COUNTS: Final = (3, 0, 1, 2, *range(4, 13))


@dataclass(frozen=True)
class Case:
    """A world, plugin settings, and pods that ask for a place in it, each on its own."""

    world: Hosts
    settings: Settings
    incoming: tuple[Pod, ...]


def cases(*always: Aspect) -> st.SearchStrategy[Case]:
    """Worlds of up to seven nodes and twelve seated pods, where these aspects are in play."""
    others = st.frozensets(st.sampled_from(Aspect), max_size=6 - len(always))
    return st.builds(
        case,
        st.tuples(*[st.integers(0, 127)] * 4).map(str),
        st.sampled_from(_NODE_COUNTS),
        st.sampled_from(_SEATED_COUNTS),
        others.map(lambda found: found | frozenset(always)),
    )


def case(seed: str, nodes: int, seated: int, aspects: Aspects) -> Case:
    """The case of that seed, the same for ever."""
    made = [random_node(Random(f"{seed} node {row}"), name, aspects)
            for row, name in enumerate(NODES[:nodes])]  # fmt: skip
    seats: list[list[Pod]] = [[] for _ in made]
    for number in range(seated if made else 0):
        dice = Random(f"{seed} seated {number}")
        row = dice.randrange(64) % len(made)
        seats[row].append(random_pod(dice, f"seated-{number}", aspects, node=made[row].name))
    dice = Random(f"{seed} rest")
    world = Hosts(
        tuple(Host(node, tuple(pods)) for node, pods in zip(made, seats, strict=True)),
        NAMESPACES,
        random_workloads(dice) if Aspect.WORKLOADS in aspects else (),
    )
    pods = tuple(random_pod(Random(f"{seed} pod {number}"), f"pod-{number}", aspects)
                 for number in range(INCOMING))  # fmt: skip
    return Case(world, random_settings(dice) if Aspect.SETTINGS in aspects else Settings(), pods)
