# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §9.6: Bindings of one namespace that hang leave slots for those of others."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from enbloc.engine.binding.plans import MOST_AHEAD
from enbloc.engine.effects import Bind
from enbloc.engine.events import PodSeen
from enbloc.model.binding import RefusalCause
from enbloc.model.pods import PodKey, PodUID
from tests.rules.world import World
from tests.world.builders import pod, spec
from tests.world.cluster import Cluster


def test_bindings_that_hang_leave_slots_for_other_namespaces() -> None:
    """Semantics §9.6."""
    cluster = Cluster(slots=32)
    cluster.nodes("n1", cpu=200, pods=200)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 64)
    cluster.settle()
    hanging = len(cluster.sent)
    assert 16 < hanging < 32
    for namespace in ("a", "b", "c"):
        new = pod(spec(cpu=1), namespace, scheduler="enbloc")
        cluster.tell(PodSeen(replace(new, key=PodKey(namespace, "p"))))
        cluster.settle()
    assert [bind.target.pod.namespace for bind in cluster.sent[hanging:]] == ["a", "b", "c"]
    for bind in list(cluster.sent[:hanging]):
        cluster.confirm(bind)
    cluster.settle()
    assert len(cluster.sent) > hanging + 3 + 16


def test_the_last_free_slot_is_there_for_a_namespace_that_has_sent_nothing() -> None:
    """Semantics §9.6: of few slots too, as there are while the API server is in trouble."""
    cluster = Cluster(slots=8)
    cluster.nodes("n1", cpu=200, pods=200)
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 16)
    cluster.settle()
    hanging = len(cluster.sent)
    for namespace in ("a", "a", "b"):
        number = len(cluster.sent)
        new = pod(spec(cpu=1), namespace, scheduler="enbloc")
        uid = PodUID(f"{namespace}-{number}")
        cluster.tell(PodSeen(replace(new, uid=uid, key=PodKey(namespace, str(number)))))
        cluster.settle()
    assert {bind.target.pod.namespace for bind in cluster.sent[hanging:]} == {"a", "b"}


def hanging(count: int, *, validate: bool = False) -> Cluster:
    """So many lone pods of namespace "slow" whose Bindings hang."""
    cluster = Cluster(slots=32, validate=validate)
    cluster.nodes("n1 n2", cpu=1000, pods=1000)
    cluster.answer = lambda bind: "hold" if bind.target.pod.namespace == "slow" else "ok"
    come(cluster, count)
    return cluster


def come(cluster: Cluster, count: int, prefix: str = "p") -> None:
    """So many pods of namespace "slow" come."""
    for number in range(count):
        name = f"{prefix}{number:03}"
        cluster.pod(name, key=PodKey("slow", name))
    cluster.settle()


def held(cluster: Cluster, answered: Collection[PodUID]) -> list[Bind]:
    """The Bindings of namespace "slow" that hang still."""
    slow = (bind for bind in cluster.sent if bind.target.pod.namespace == "slow")
    return [bind for bind in slow if bind.target.uid not in answered]


@pytest.mark.parametrize("count", [100, 1000])
@pytest.mark.parametrize("priority", [0, -1])
def test_lone_pods_whose_bindings_hang_stop_nobody_else(count: int, priority: int) -> None:
    """Semantics §9.6: however many, and if they go first."""
    cluster = hanging(count)
    sent = len(cluster.sent)
    for number in range(100):
        cluster.pod(f"q{number}", key=PodKey("other", f"q{number}"), priority=priority)
    cluster.settle()
    assert len(cluster.sent) == sent + 100
    reserved = sent + MOST_AHEAD
    assert cluster.engine.census().pods["active"] == count - reserved, "they are set aside"
    assert cluster.engine.wakeup() is None
    answered: set[PodUID] = set()
    while binds := held(cluster, answered):
        for bind in binds:
            cluster.confirm(bind)
            answered.add(bind.target.uid)
        cluster.settle()
    assert len(answered) == count


def test_pods_that_are_deleted_while_their_bindings_hang_leave_slots_as_well() -> None:
    """Semantics §9.6: what was sent keeps its slot until its outcome is known."""
    cluster = hanging(0)
    for wave in range(4):
        names = [f"w{wave}-{number:02}" for number in range(40)]
        for name in names:
            cluster.pod(name, key=PodKey("slow", name))
        cluster.settle()
        for name in names:
            cluster.delete(name)
        cluster.settle()
    sent = len(cluster.sent)
    assert 16 < sent < 32
    cluster.pod("q", key=PodKey("other", "q"))
    cluster.settle()
    assert cluster.where("q")
    for bind in held(cluster, ()):
        cluster.refuse(bind, RefusalCause.MEMBER_CHANGED)
    come(cluster, 40)
    assert len(cluster.sent) == 2 * sent + 1


def test_bindings_that_the_watch_shows_keep_their_slots_until_they_are_answered() -> None:
    """Semantics §9.6: the pod is bound, but the request still hangs."""
    cluster = hanging(0)
    for wave in range(4):
        come(cluster, 40, f"w{wave}-")
        for bind in held(cluster, ()):
            if bind.target.pod.name not in cluster.where():
                cluster.bind(bind.target)
        cluster.settle()
    assert 16 < len(cluster.sent) < 32
    cluster.pod("q", key=PodKey("other", "q"))
    cluster.settle()
    assert cluster.where("q")


def test_of_those_set_aside_the_first_in_order_go_first() -> None:
    cluster = hanging(300)
    cluster.pod("q", key=PodKey("other", "q"))
    cluster.settle()
    planned = len(cluster.sent) - 1 + MOST_AHEAD
    cluster.pod("high", key=PodKey("slow", "high"), priority=1000)
    cluster.settle()
    cluster.pod("r", key=PodKey("other", "r"))
    cluster.settle()
    answered: set[PodUID] = set()
    while "high" not in (sent := [bind.target.pod.name for bind in cluster.sent]):
        bind = held(cluster, answered)[0]
        answered.add(bind.target.uid)
        cluster.confirm(bind)
        cluster.settle()
    assert len(sent) - 2 <= planned + 1, "after what was planned already"


def test_one_that_failed_before_its_bindings_hang_stops_nobody_else() -> None:
    cluster = hanging(0)
    cluster.pod("large", key=PodKey("slow", "large"), spec=spec(cpu=5000))
    cluster.settle()
    come(cluster, 120)
    for other in ("a", "b", "c"):
        cluster.now += 1
        cluster.pod(other, key=PodKey(other, other))
        cluster.settle()
    assert [bind.target.pod.namespace for bind in cluster.sent[-3:]] == ["a", "b", "c"]


@pytest.mark.parametrize("count", [10, 89, 120])
def test_a_gang_in_part_whose_namespace_hangs_keeps_no_other_from_its_deadline(count: int) -> None:
    world = World(slots=32, validate=False)
    world.answer = lambda bind: "hold" if bind.target.pod.namespace == "slow" else "ok"
    world.nodes(" ".join(f"s{number}" for number in range(80)), cpu=3)
    come(world, count)
    world.nodes("n1 n2", cpu=4)
    world.settle()
    world.their_group("h", 2, timeout=3600)
    world.theirs("h-0", "h", node="n2", scheduled_at=world.now)
    world.theirs("h-1", "h")
    world.pod("q", key=PodKey("other", "q"))
    world.job_in_part("g", "n1", of=2)
    steps = 0
    while (wakeup := world.engine.wakeup()) is not None and wakeup < world.now + 600:
        world.now = max(world.now, wakeup)
        world.step()
        steps += 1
        assert steps < 100, "it never comes to rest"
    assert world.evictions


def test_who_was_set_aside_and_is_gone_is_not_tried() -> None:
    cluster = hanging(120, validate=True)
    cluster.pod("q", key=PodKey("other", "q"))
    cluster.settle()
    waiting = cluster.engine.census().pods["active"]
    for number in range(120 - waiting, 120):
        cluster.delete(f"p{number:03}")
    for bind in held(cluster, ()):
        cluster.confirm(bind)
    cluster.answer = lambda _: "ok"
    cluster.settle()
    assert len(cluster.sent) == 120 - waiting + 1
    assert cluster.engine.census().pods["active"] == 0
