# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of evictions over hours: what cannot be helped costs less and less."""

import math

from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.effects import Evict
from enbloc.model.groups import OnIncomplete
from tests.effort import examples
from tests.laws.actions import Actions, Gang
from tests.laws.objects import Part


@given(
    members=st.integers(2, 5),
    timeout=st.sampled_from([20, 60, 300]),
    policy=st.sampled_from([OnIncomplete.REPAIR, OnIncomplete.RESTART]),
    keeps_names=st.booleans(),
    restarts=st.booleans(),
    slots=st.integers(2, 8),  # with one the denied member is refused before any other is sent
)
@examples(12)
def test_a_cause_that_stays_evicts_a_gang_as_often_as_the_logarithm_of_the_time(
    members: int,
    timeout: int,
    policy: OnIncomplete,
    keeps_names: bool,
    restarts: bool,
    slots: int,
) -> None:
    """Semantics §4.6: a webhook denies one member always, whatever its owner creates again."""
    world, hour = Actions(slots=slots), 3600.0
    for index in range(members):
        world.do("node_appears", f"n-{index}", 1, 20)
    parts = (Part("", members, 1),)
    world.do("webhook_denies", "g")
    gang = Gang(parts, policy=policy, timeout=timeout, keeps_names=keeps_names)
    world.do("gang_arrives", "g", gang)
    end, begun = world.now + hour, world.now
    while world.now < end:
        world.do("all_lands")
        world.do("terminating_pods_go")
        evicted = any(isinstance(effect, Evict) for effect in world.process.effects[-20:])
        if restarts and evicted and not any(pod.node for pod in world.members("g")):
            world.do("owner_restarts", "g")  # as JobSet does when one of its Jobs failed
        world.do("owner_replaces", "g")
        world.do("all_lands")
        world.do("time_passes", max(1.0, min(world.process.wakeup, end) - world.now))
    evictions = sum(isinstance(effect, Evict) for effect in world.process.effects)
    most = 3 + math.log2((end - begun) / timeout)
    assert evictions <= (members - 1) * most
    assert evictions, "it is evicted at all"
