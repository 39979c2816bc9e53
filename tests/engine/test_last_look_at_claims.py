# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The last look at members with claims: what was written for them is there as they are bound."""

from collections.abc import Callable
from functools import partial

import pytest

from enbloc.engine.events import PreBound
from enbloc.storage.facts import PersistentVolumeClaim
from tests.devices.objects import claim, device, device_class, exactly, slice_of
from tests.engine.claiming import (
    LOCAL,
    chosen,
    cluster_of,
    gang_with_devices,
    gang_with_disks,
    preparing,
    seen,
    show_what_is_written,
)
from tests.world.cluster import Cluster
from tests.world.storage import bound, pv, pvc


def a_needed_and_another_with_devices() -> Cluster:
    cluster = cluster_of(device_class(), slice_of("n1", device("a"), device("b")), nodes="n1")
    gang_with_devices(cluster, "g", exactly(), exactly())
    cluster.group("g", 1)
    cluster.settle()
    show_what_is_written(cluster)
    cluster.settle()
    seen(cluster, [claim("g-1-gpus", exactly())])
    return cluster


def a_needed_and_another_with_volumes(remade: PersistentVolumeClaim) -> Cluster:
    volumes = (pv("a", 1, "n1"), pv("b", 1, "n1"), pv("c", 1, "n2"))
    cluster = cluster_of(LOCAL, *volumes, nodes="n1")
    gang_with_disks(cluster, "g", 1, 1)
    cluster.group("g", 1)
    cluster.settle()
    for member, volume in chosen(cluster).items():
        seen(cluster, [bound(member, volume)])
    cluster.settle()
    seen(cluster, [remade])
    return cluster


@pytest.mark.parametrize(
    "cluster",
    [
        partial(a_needed_and_another_with_devices),
        partial(a_needed_and_another_with_volumes, pvc("g-1", 1, uid="another")),
        partial(a_needed_and_another_with_volumes, bound("g-1", "c", uid="another")),
    ],
    ids=["devices taken back", "claim remade", "claim remade and bound elsewhere"],
)
def test_an_addition_is_not_bound_whose_claim_no_longer_has_what_was_written(
    cluster: Callable[[], Cluster],
) -> None:
    """Also where the last look came before the end of its PreBind, and nothing changed since."""
    world = cluster()
    begun = preparing(world)
    for member in ("g-0", "g-1"):
        target = begun[member].target
        world.tell(PreBound(target.plan, target.uid))
        world.settle()

    assert world.where() == {"g-0": "n1"}
