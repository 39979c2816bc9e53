# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters whose profile has extenders, and what those answer."""

from typing import Any

from enbloc.engine.effects import AskExtender
from enbloc.engine.events import ExtenderAnswer
from enbloc.framework import Profile
from enbloc.framework.extenders import Extender
from tests.world.cluster import Cluster, plugins_but


def consulting(*extenders: Extender, plugins: tuple[Any, ...] = ()) -> Cluster:
    """A cluster of two nodes whose profile has these extenders."""
    in_tree = plugins_but("DefaultPreemption")
    profile = Profile("enbloc", (*in_tree, *plugins), extenders=extenders)
    cluster = Cluster(profiles={"enbloc": profile})
    cluster.nodes("n1 n2", cpu=8)
    return cluster


def asks(cluster: Cluster) -> list[AskExtender]:
    return [effect for effect in cluster.effects if isinstance(effect, AskExtender)]


def answer(
    cluster: Cluster, ask: AskExtender, feasible: tuple[str, ...] | None = None, **more: Any
) -> None:
    """Answer a question; without words of its own, everything asked about is feasible."""
    left = ask.nodes if feasible is None and ask.filter else feasible
    cluster.tell(ExtenderAnswer(ask.question, left, **more))
    cluster.settle()
