# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Of what is gone, the table of volumes keeps nothing."""

from dataclasses import replace

from enbloc.storage.decisions import VolumeClaimDecision, VolumeDecision, VolumeRef
from tests.engine.claiming import DISK
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import LOCAL, hosts, ledger, pv, pvc, table_of, using


def test_classes_of_volumes_that_are_gone_are_forgotten() -> None:
    table = ledger(table_of(hosts("a")))
    for index in range(3):
        table.put(pv(f"v{index}", storage_class=f"class-{index}"))
        table.put(pv(f"v{index}", storage_class=f"other-{index}"))
        table.drop("PersistentVolume", f"v{index}")
    assert dict(table.known._unsettled) == {}


def test_a_node_that_attaches_nothing_is_not_remembered() -> None:
    table = ledger(table_of(hosts("a"), LOCAL))
    assert table.attached("a").counts == {}
    assert table._attached.get("a") is None


def test_a_pod_that_names_no_claims_any_more_is_forgotten_when_it_goes() -> None:
    cluster = Cluster(log=1000)
    cluster.node("n1")
    cluster.pod("p", spec=replace(spec(cpu=1), volumes=DISK), claims=("c",))
    cluster.change("p", spec=spec(cpu=1))
    cluster.delete("p")
    names = ledger(cluster.engine._state.nodes)._names
    assert (names._by_claim, names._by_pod) == ({}, {})


def test_a_pod_that_names_another_claim_than_its_plan_knew_holds_nothing_for_ever() -> None:
    table = ledger(table_of(hosts("a"), LOCAL, pv("v"), pvc("c")))
    decided = VolumeDecision((VolumeClaimDecision("default/c", "pvc-c", VolumeRef("v", "pv-v")),))
    other = using("p", "d")
    table.keep(other, "a", decided)
    table.remove(other)
    assert table.holdings.claims == {}
