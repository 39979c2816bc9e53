# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What pods hold beyond resources, as node tables and their snapshots share it."""

import pytest

from enbloc.devices.owners import Owners
from enbloc.devices.table import Devices
from enbloc.ledgers import ledgers_of, own_ledgers
from enbloc.model.layered import Forked
from enbloc.model.nodes import Nodes
from enbloc.storage.table import Volumes
from tests.devices.objects import (
    allocated,
    claim,
    device,
    device_class,
    exactly,
    pod,
    slice_of,
)
from tests.world.builders import node
from tests.world.tables import nodes

POD = pod("one", "c")


def table() -> Nodes:
    """A node with a device that a claim has."""
    made = nodes(node("a"))
    for fact in (
        device_class(),
        slice_of("a", device("0")),
        claim("c", exactly(), status=allocated("0", pool="a"), owner="one"),
    ):
        own_ledgers(made).put(fact)
    return made


def test_a_snapshot_tells_nothing_that_came_after_it() -> None:
    live = table()
    taken, fork = live.snapshot(), live.fork()
    own_ledgers(live).drop("ResourceClaim", "default/c")
    for stale in (taken, fork, taken.fork(), taken.take(slice(0, 1))):
        with pytest.raises(RuntimeError, match="has changed since this snapshot was taken"):
            ledgers_of(stale)
        with pytest.raises(RuntimeError, match="has changed since this snapshot was taken"):
            own_ledgers(stale)
    assert ledgers_of(live.snapshot()).devices.allocation("default/c") is None


def test_what_is_changed_in_a_snapshot_or_a_fork_is_seen_there_only() -> None:
    live = table()
    for own in (live.snapshot(), live.fork()):
        other = own.fork()
        own_ledgers(own).drop("ResourceClaim", "default/c")
        assert ledgers_of(own).devices.allocation("default/c") is None
        for each in (live, live.snapshot(), other):
            assert ledgers_of(each).devices.allocation("default/c") is not None


def test_a_pod_that_comes_to_a_fork_leaves_the_origin_s_other_forks_as_they_are() -> None:
    live = table()
    taken, fork = live.snapshot(), live.fork()
    fork.add(0, POD)
    assert list(ledgers_of(fork).devices.users("default/c")) == [POD.uid]
    assert not list(ledgers_of(taken).devices.users("default/c"))
    live.add(0, POD)
    assert list(ledgers_of(live).devices.users("default/c")) == [POD.uid]


@pytest.mark.parametrize(
    "made", [Volumes(), Devices(), Owners()], ids=lambda each: type(each).__name__
)
def test_a_fork_has_a_fork_of_everything_that_can_be_forked(made: Forked) -> None:
    assert set(made.own) == {name for name, each in vars(made).items() if hasattr(each, "fork")}
