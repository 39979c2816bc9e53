# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A decision taken once more from a dump is the same."""

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.replay import replayed
from tests.engine.cluster import Cluster


def differences(engine: Engine) -> dict[str, list[str]]:
    dump = engine.dump()
    return {
        decision.plan.id: list(
            replayed(decision, tables, default_profiles(), dump.search_steps).differences
        )
        for decision, tables in dump.backwards()
    }


def test_a_plan_that_was_made_long_before_the_dump_is_made_again() -> None:
    cluster = Cluster(settings=Settings(validate=True))
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 4)
    cluster.settle()
    cluster.gang("h", 8)
    cluster.settle()
    cluster.node("n3", cpu=8)
    cluster.drop_node("n1")
    cluster.settle()
    found = differences(cluster.engine)
    assert len(found) >= 3
    assert set(map(tuple, found.values())) == {()}
