# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A success is counted once, also where the member's role is none of the PodGroup's."""

from enbloc.model.groups import Memory
from enbloc.model.pods import Phase
from tests.engine.cluster import Cluster


def test_a_success_in_an_undeclared_role_is_not_counted_again_when_status_is_read_back() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.group("g", 3)
    cluster.pod("g-0", "g", role="worker", node="n1", phase=Phase.SUCCEEDED)
    cluster.pod("g-1", "g", role="worker", gates=("hold",))
    cluster.settle()
    for _ in range(3):  # the watch shows the status that was written
        status = cluster.status["g"]
        memory = Memory(incarnation=status.incarnation, succeeded=status.succeeded)
        cluster.group("g", 3, memory=memory)
        cluster.settle()
    assert cluster.status["g"].succeeded == 1
    assert cluster.condition("g")[2].startswith("1 of 3 members exist")
