# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The device table: who has what."""

from tests.model.devices.objects import (
    claim,
    device,
    device_class,
    exactly,
    nodes,
    picked,
    pod,
    slice_of,
    table,
)


def test_a_claim_gets_the_first_device() -> None:
    devices = table(slice_of("a", device("gpu-0"), device("gpu-1")), device_class())
    devices.put(claim("c", exactly(), owner="p"))
    one = pod("p", "c")
    fork = devices.fork()
    fork.place(one, "a", nodes("a"))
    assert picked(fork, one) == [["a/gpu-0"]]
    assert devices.decision(one.uid) is None
