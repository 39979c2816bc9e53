# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A table to which objects came and from which they went says what a new one says."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.storage.facts import VolumeAttachment, VolumeFact
from enbloc.storage.table import Volumes
from tests.effort import examples
from tests.world.storage import (
    FAST,
    LOCAL,
    bound,
    csi_volume,
    held_by,
    hosts,
    ledger,
    pv,
    pvc,
    seat,
    table_of,
    using,
)

CLAIMS = [
    pvc("c0"), pvc("c0", storage_class="fast"), bound("c0", "v0"), bound("c0", "v1"),
    pvc("c1", 1, "fast"), bound("c1", "v1", storage_class="fast"),
]  # fmt: skip
VOLUMES = [
    pv("v0"), held_by(pv("v0"), CLAIMS[0]), pv("v0", storage_class="fast"),
    csi_volume("v1"), held_by(csi_volume("v1"), CLAIMS[4]), held_by(pv("v1"), CLAIMS[4]),
]  # fmt: skip
OTHERS: list[VolumeFact] = [
    LOCAL, FAST, replace(LOCAL, provisioner="csi.example.com"),
    replace(FAST, provisioner="kubernetes.io/no-provisioner"),
    VolumeAttachment("a", "csi.example.com", "n", "v1"),
    VolumeAttachment("a", "csi.example.com", "m", "v0"),
]  # fmt: skip
FACTS: list[VolumeFact] = [*CLAIMS, *VOLUMES, *OTHERS]


def told(volumes: Volumes) -> object:
    """What follows from the objects."""
    known = volumes.known
    return [
        (
            name,
            known.has_volumes(name),
            [each.name for each in known.available(name).volumes],
            {key: known.available(name).names_claim(key) for key in ("default/c0", "default/c1")},
        )
        for name in ("local", "fast")
    ] + [(node, volumes.attached(node)) for node in ("n", "m")]


@pytest.mark.hypothesis
@examples(200)
@given(
    changes=st.lists(st.tuples(st.sampled_from(FACTS), st.sampled_from((True, True, False)))),
    asked=st.integers(0, 8),
)
def test_what_follows_from_objects_follows_from_those_that_are_there(
    changes: list[tuple[VolumeFact, bool]], asked: int
) -> None:
    table = table_of(hosts("n", "m"))
    pods = [replace(using("p0", "c0"), node="n"), replace(using("p1", "c0", "c1"), node="m")]
    for pod in pods:
        seat(table, pod, pod.node)
    volumes, there = ledger(table), dict[tuple[str, str], VolumeFact]()

    for index, (fact, comes) in enumerate(changes):
        if comes:
            assert volumes.put(fact) == there.get((fact.kind, fact.key))
            there[(fact.kind, fact.key)] = fact
        else:
            assert volumes.drop(fact.kind, fact.key) == there.pop((fact.kind, fact.key), None)
        if index == asked:
            told(volumes)  # what is remembered now must be forgotten in time

    fresh = table_of(hosts("n", "m"), *there.values())
    for pod in pods:
        seat(fresh, pod, pod.node)
    assert told(volumes) == told(ledger(fresh))


def test_no_two_claims_of_different_size_ever_go_by_one_number() -> None:
    known, claim = Volumes().known, pvc("a", 1)
    numbers = {known.sort_of_claim(claim)}
    for size in range(2, 70_000):
        numbers.add(known.sort_of_claim(replace(claim, name=f"c{size}", request=size)))
    assert len(numbers) == 69_999
