# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pools with more devices than one decision can ask selectors about."""

from typing import Final

import pytest

from enbloc.devices import effort
from tests.devices.objects import device, device_class, exactly, slice_of
from tests.engine.claiming import cluster_of, devices, gang_with_devices

#: Of one pool, in slices of at most 128.
DEVICES: Final = 1500
SLICES: Final = [range(first, min(first + 128, DEVICES)) for first in range(0, DEVICES, 128)]

LOOPS: Final = "[0, 1, 2].all(a, [0, 1, 2].all(b, [0, 1, 2].all(c, a + b + c >= 0)))"
LAST: Final = f'device.attributes["gpu.example.com"].index == {DEVICES - 1}'


def test_selectors_are_asked_about_all_devices_of_a_pool_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §9.8: what one decision has looked at is remembered by the next one."""
    monkeypatch.setattr(effort, "MOST_ASKED", effort.MOST_ASKED // 10)
    slices = [
        slice_of(
            None,
            *(device(f"gpu-{at}", attributes={"index": at}) for at in part),
            pool="network",
            name=f"network-{part.start:04}",
            count=len(SLICES),
            allNodes=True,
        )
        for part in SLICES
    ]
    cluster = cluster_of(device_class(), *slices)
    gang_with_devices(cluster, "g", exactly("gpus", 1, "gpu", f"{LOOPS} && {LAST}"))
    cluster.settle(seconds=300)
    assert devices(cluster) == {"g-0": [f"network/gpu-{DEVICES - 1}"]}
