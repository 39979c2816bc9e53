# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions are written into the tables as they are: a copy takes as long as they are large."""

from tests.world.cluster import Cluster


def test_a_plan_is_written_once_nobody_reads_the_tables_any_more() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("a", 2)
    cluster.settle()  # from here on the tables have the columns that they need
    state = cluster.engine._core.state
    before = state.placed._right, state.nodes._cells_right
    for name in ("b", "c"):
        cluster.gang(name, 2)
        cluster.settle()
        assert len(cluster.where(name)) == 2
    assert (state.placed._right, state.nodes._cells_right) == before
