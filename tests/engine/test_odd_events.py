# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Events that no API server sends break nothing: one UID under two names, states from the past."""

import random
from dataclasses import replace

from enbloc.engine.effects import Bind
from enbloc.engine.events import (
    BindRefused,
    BindUnknown,
    Bound,
    Event,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
)
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Phase, PodKey, PodUID
from tests.world import builders
from tests.world.cluster import Cluster

UIDS = [PodUID(f"u{number}") for number in range(4)] + [PodUID("")]
PODS = [f"p{number}" for number in range(5)]
GROUPS = ["a", "b", "c"]
NODES = ["n1", "n2", "nowhere"]


def odd_event(rng: random.Random, version: int) -> Event:
    """Whatever can be said of a few names, UIDs and versions, whether it makes sense or not."""
    versions = [version, version, 0, 1, 2**64 - 1]
    group = rng.choice([None, *GROUPS])
    pod = replace(
        builders.pod(builders.spec(cpu=rng.choice([1, 2, 9])), rng.choice(PODS)),
        uid=rng.choice(UIDS),
        resource_version=rng.choice(versions),
        scheduler=rng.choice(["enbloc", "enbloc", "other"]),
        group=GroupKey("default", group) if group else None,
        node=rng.choice(["", "", *NODES]),
        phase=rng.choice(list(Phase)),
        created=rng.choice([0.0, 1000.0, 1e12, -5.0]),
        deleting=rng.random() < 0.1,
    )
    node = builders.node(
        rng.choice(NODES),
        cpu=rng.choice([0, 4, 100]),
        uid=rng.choice(["x", ""]),
        resource_version=rng.choice(versions),
    )
    seen = replace(
        builders.group(rng.choice(GROUPS), rng.choice([0, 1, 2, 5])), uid=rng.choice(["x", "y", ""])
    )
    often: list[Event] = [PodSeen(pod)] * 10
    seldom: list[Event] = [
        PodGone(PodKey("default", rng.choice(PODS)), rng.choice(UIDS)),
        NodeSeen(node),
        NodeGone(rng.choice(NODES)),
        GroupSeen(seen),
        GroupGone(GroupKey("default", rng.choice(GROUPS)), rng.choice(["x", "z"])),
    ]
    return rng.choice([*often, *seldom])


def test_events_that_contradict_each_other_break_no_step() -> None:
    binds = sum(map(played, range(20)))
    assert binds > 10, "hardly anything was decided"


def played(seed: int) -> int:
    """Tell an engine such events, and answer at random; how many Bindings it asked for."""
    rng = random.Random(seed)
    cluster = Cluster(validate=bool(seed % 2))
    cluster.nodes("n1 n2", cpu=4)
    for name in GROUPS:
        cluster.group(name, rng.randint(1, 3))
    past: list[Event] = []
    binds = 0
    for version in range(1000, 1080):
        event = rng.choice(past) if past and rng.random() < 0.1 else odd_event(rng, version)
        past.append(event)
        cluster.tell(event)
        cluster.now += rng.choice([0.0, 1.0, 100.0])
        for effect in cluster.engine.step(cluster.now):
            if isinstance(effect, Bind):
                binds += 1
                plan, uid = effect.target.plan, effect.target.uid
                refused = BindRefused(plan, uid, rng.choice(list(RefusalCause)), "no")
                answers: list[Event] = [Bound(plan, uid), refused, BindUnknown(plan, uid)]
                cluster.tell(rng.choice(answers))
                cluster.tell(SlotsFree(1))
    return binds
