# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What succeeded in an earlier life of a group counts for nothing in the present one."""

from tests.engine.cluster import Cluster


def test_a_bare_pod_that_succeeded_before_is_not_counted_when_it_is_seen_again() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.gang("g", 2)
    cluster.settle()
    cluster.finish("g-0")
    cluster.finish("g-1")
    cluster.settle()
    cluster.pod("again-0", "g")  # another life begins, of which one member is missing
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"
    cluster.change("g-0", deleting=True)
    cluster.settle()
    assert cluster.condition("g")[2] == "1 of 2 members exist"
    assert cluster.where("again") == {}
