# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from enbloc import Node, Pod, PodKey, PodSpec, PodUID
from enbloc.testing import check_plugin, table
from maintenance import Maintenance

POD = Pod(PodKey("default", "p"), PodUID("1"), PodSpec())


def test_it_keeps_the_contract() -> None:
    check_plugin(Maintenance())
    check_plugin(Maintenance(label="zone"))


def test_only_nodes_under_maintenance_are_refused() -> None:
    nodes = table(
        Node("a", labels=(("example.com/maintenance", "true"),)),
        Node("b", labels=(("example.com/maintenance", "over"),)),
        Node("c"),
    )
    assert Maintenance().filter(POD, nodes).tolist() == [False, True, True]
