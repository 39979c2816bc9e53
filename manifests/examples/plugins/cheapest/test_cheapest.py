# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from cheapest import Cheapest
from enbloc import Node, Pod, PodKey, PodSpec, PodUID
from enbloc.testing import check_plugin, table

POD = Pod(PodKey("default", "p"), PodUID("1"), PodSpec())


def priced(name: str, price: str) -> Node:
    return Node(name, annotations=(("example.com/price", price),))


def test_it_keeps_the_contract() -> None:
    check_plugin(Cheapest())


def test_the_cheapest_node_is_the_best_and_one_without_a_price_the_worst() -> None:
    plugin = Cheapest(highest=200)
    nodes = table(priced("a", "50"), priced("b", "100"), priced("c", "cheap"), Node("d"))
    scores = plugin.score(POD, nodes)
    assert scores.tolist() == [50, 100, 200, 200]
    assert plugin.normalize(scores).tolist() == [75, 50, 0, 0]
