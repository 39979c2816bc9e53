# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who waits is woken by what could help it, at once, and by nothing else."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest

from enbloc.engine.events import NamespaceSeen, PriorityClassSeen
from enbloc.model.pods import HostPort, Phase
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.taints import Effect, Taint, Toleration
from tests.rules.world import JOB, ONE_A_NODE, World
from tests.world.builders import spec

HOST: Final = "kubernetes.io/hostname"
TAINT: Final = Taint("k", "v", Effect.NO_SCHEDULE)
ELSEWHERE: Final = spec(cpu=4, node_selector=(("pool", "of nobody"),))


def _selects(**labels: str) -> Selector:
    return Selector(tuple(Requirement(k, Operator.IN, (v,)) for k, v in labels.items()))


NEAR_DB: Final = PodAffinity(required=(PodAffinityTerm("zone", _selects(app="db")),))
APART_FROM_DB: Final = PodAffinity(required=(PodAffinityTerm("zone", _selects(app="db")),))
NEAR_TEAM_DB: Final = PodAffinity(
    required=(PodAffinityTerm("zone", _selects(app="db"), namespace_selector=_selects(team="a")),)
)
EVENLY: Final = spec(cpu=4, spread=(SpreadConstraint("zone", selector=_selects(app="web")),))
ZONE_A: Final = (("zone", "a"),)
ZONE_B: Final = (("zone", "b"),)


class Case(NamedTuple):
    """Why a gang of two waits, and what ends that.

    Attributes:
        exact: nobody else is tried; else he is, too, whom that very node was refused.
    """

    waits: Callable[[World], object]
    helps: Callable[[World], object]
    exact: bool = True


def _all(*acts: Callable[[World], object]) -> Callable[[World], object]:
    """One after the other."""

    def act(world: World) -> None:
        for each in acts:
            each(world)

    return act


def _nodes(names: str) -> Callable[[World], object]:
    return lambda w: w.nodes(names, cpu=4)


def _gang(**more: object) -> Callable[[World], object]:
    return lambda w: w.job("g", 2, **more)  # type: ignore[arg-type]


def _other(**more: object) -> Callable[[World], object]:
    """A pod of another scheduler that fills n2."""
    return lambda w: w.pod(
        "x", None, **{"node": "n2", "scheduler": "other", "spec": ONE_A_NODE, **more}
    )


def _holder(**more: object) -> Callable[[World], object]:
    """A group that runs on n1, and has n2 reserved as well."""

    def act(world: World) -> None:
        room = (("cpu", 8000),)
        world.job("holder", 1, **{"min_resources": room, "timeout": 6000, **more})  # type: ignore[arg-type]
        world.settle()
        world.now += 1

    return act


def _loses_one(world: World) -> None:
    """A gang on n1 and n2 that lost the member on n2, whose room is held."""
    world.running_job("old", 2, timeout=6000)
    world.now += 1
    world.delete(next(name for name, node in world.where("old").items() if node == "n2"))
    world.settle()


def _later(world: World) -> None:
    world.now += 1


def _fits_but_for_a_reservation(world: World) -> None:
    """A gang that lacked nodes with room, and then only what is reserved for one before it."""
    for name in ("n1", "n2", "n3"):
        world.node(name, cpu=4, labels=((HOST, name),))
        world.pod(f"load-{name}", node=name, spec=spec(cpu=1))
    world.job("g", 2, min_resources=(("cpu", 8000),), timeout=6000)
    world.settle()
    world.now += 1
    world.group("e", 1, min_resources=(("cpu", 6000),), timeout=6000)
    on_n3 = spec(cpu=1, node_selector=((HOST, "n3"),))
    world.pod("e-0", "e", owner=JOB, spec=on_n3, priority=10)
    world.settle()
    world.run_pods(["e-0"])
    world.delete("load-n1")
    world.delete("load-n2")


CASES: Final = {
    "its PodGroup is made": Case(
        _all(
            _nodes("n1 n2"),
            lambda w: w.member("g-0", "g"),
            lambda w: w.member("g-1", "g"),
        ),
        lambda w: w.group("g", 2),
    ),
    "its last member is made": Case(
        _all(_nodes("n1 n2"), lambda w: w.job("g", 1, minimum=2)),
        lambda w: w.member("g-1", "g"),
    ),
    "its last member loses its gate": Case(
        _all(_nodes("n1 n2"), _gang(), lambda w: w.change("g-0", gates=("hold",))),
        lambda w: w.change("g-0", gates=()),
    ),
    "a member that is too large is replaced": Case(
        _all(_nodes("n1 n2"), _gang(), lambda w: w.change("g-1", spec=spec(cpu=5))),
        _all(lambda w: w.delete("g-1"), lambda w: w.member("g-2", "g")),
    ),
    "its minimum is lowered": Case(
        _all(_nodes("n1 n2"), lambda w: w.job("g", 3, minimum=3)),
        lambda w: w.alter("g", minimum=2),
    ),
    "its minResources are lowered": Case(
        _all(_nodes("n1 n2"), _gang(min_resources=(("cpu", 9000),))),
        lambda w: w.alter("g", min_resources=(("cpu", 8000),)),
    ),
    "its PriorityClass is made": Case(
        _all(_nodes("n1 n2"), _gang(priority_class="late")),
        lambda w: w.tell(PriorityClassSeen("late", 1)),
    ),
    "a pod is deleted": Case(_all(_nodes("n1 n2"), _other(), _gang()), lambda w: w.delete("x")),
    "a pod succeeds": Case(_all(_nodes("n1 n2"), _other(), _gang()), lambda w: w.finish("x")),
    "a pod fails": Case(
        _all(_nodes("n1 n2"), _other(), _gang()), lambda w: w.finish("x", Phase.FAILED)
    ),
    "a pod is resized": Case(
        _all(_nodes("n1 n2"), _other(), _gang()), lambda w: w.change("x", spec=spec(cpu=0))
    ),
    "a pod is nominated elsewhere": Case(
        _all(
            _nodes("n1 n2"),
            lambda w: w.node("n3", cpu=4, taints=(TAINT,)),
            _other(node="", nominated="n2"),
            _gang(),
        ),
        lambda w: w.change("x", nominated="n3"),
    ),
    "a pod is nominated no more": Case(
        _all(_nodes("n1 n2"), _other(node="", nominated="n2"), _gang()),
        lambda w: w.change("x", nominated=""),
    ),
    "a port is free": Case(
        _all(
            _nodes("n1 n2"),
            _other(spec=spec(cpu=0, host_ports=(HostPort("0.0.0.0", "TCP", 80),))),
            _gang(pod=spec(cpu=4, host_ports=(HostPort("0.0.0.0", "TCP", 80),))),
        ),
        lambda w: w.delete("x"),
    ),
    "a node comes": Case(_all(_nodes("n1"), _gang()), lambda w: w.node("n2", cpu=4)),
    "a node comes and minResources with it": Case(
        _all(_nodes("n1 n2"), _gang(min_resources=(("cpu", 12_000),))),
        lambda w: w.node("n3", cpu=4),
    ),
    "a node grows": Case(
        _all(_nodes("n1"), lambda w: w.node("n2", cpu=3), _gang()),
        lambda w: w.node("n2", cpu=4),
    ),
    "a node is uncordoned": Case(
        _all(_nodes("n1"), lambda w: w.node("n2", cpu=4, unschedulable=True), _gang()),
        lambda w: w.node("n2", cpu=4),
        exact=False,
    ),
    "a taint is taken off": Case(
        _all(_nodes("n1"), lambda w: w.node("n2", cpu=4, taints=(TAINT,)), _gang()),
        lambda w: w.node("n2", cpu=4),
        exact=False,
    ),
    "a node gets the label that they select": Case(
        _all(
            lambda w: w.node("n1", cpu=4, labels=ZONE_A),
            lambda w: w.node("n2", cpu=4, labels=ZONE_B),
            _gang(pod=spec(cpu=4, node_selector=ZONE_A)),
        ),
        lambda w: w.node("n2", cpu=4, labels=ZONE_A),
    ),
    "they tolerate the taint": Case(
        _all(_nodes("n1"), lambda w: w.node("n2", cpu=4, taints=(TAINT,)), _gang()),
        lambda w: w.change("g-1", spec=spec(cpu=4, tolerations=(Toleration("k", value="v"),))),
    ),
    "a pod comes that they want to be near": Case(
        _all(
            lambda w: w.node("n1", cpu=8, labels=ZONE_A),
            _gang(pod=spec(cpu=4, pod_affinity=NEAR_DB)),
        ),
        _other(node="n1", spec=spec(cpu=0), labels=(("app", "db"),)),
    ),
    "a pod becomes one that they want to be near": Case(
        _all(
            lambda w: w.node("n1", cpu=8, labels=ZONE_A),
            _other(node="n1", spec=spec(cpu=0)),
            _gang(pod=spec(cpu=4, pod_affinity=NEAR_DB)),
        ),
        lambda w: w.change("x", labels=(("app", "db"),)),
    ),
    "a namespace becomes one of whose pods they want to be near": Case(
        _all(
            lambda w: w.tell(NamespaceSeen("ns", ())),
            lambda w: w.node("n1", cpu=8, labels=ZONE_A),
            _other(node="n1", spec=spec(cpu=0), labels=(("app", "db"),)),
            _gang(pod=spec(cpu=4, pod_affinity=NEAR_TEAM_DB)),
        ),
        lambda w: w.tell(NamespaceSeen("ns", (("team", "a"),))),
    ),
    "a pod goes that they keep away from": Case(
        _all(
            lambda w: w.node("n1", cpu=8, labels=ZONE_A),
            _other(node="n1", spec=spec(cpu=0), labels=(("app", "db"),)),
            _gang(pod=spec(cpu=4, pod_anti_affinity=APART_FROM_DB)),
        ),
        lambda w: w.delete("x"),
    ),
    "a pod goes that keeps away from them": Case(
        _all(
            lambda w: w.node("n1", cpu=8, labels=ZONE_A),
            _other(
                node="n1",
                spec=spec(
                    cpu=0,
                    pod_anti_affinity=PodAffinity(
                        required=(PodAffinityTerm("zone", _selects(app="web")),)
                    ),
                ),
            ),
            lambda w: w.group("g", 2),
            lambda w: w.member("g-0", "g", labels=(("app", "web"),)),
            lambda w: w.member("g-1", "g", labels=(("app", "web"),)),
        ),
        lambda w: w.delete("x"),
    ),
    "they would be spread too unevenly no more": Case(
        _all(
            lambda w: w.node("n1", cpu=8, labels=ZONE_A),
            lambda w: w.node("n2", cpu=1, labels=ZONE_B),
            lambda w: w.group("g", 2),
            lambda w: w.member("g-0", "g", labels=(("app", "web"),), spec=EVENLY),
            lambda w: w.member("g-1", "g", labels=(("app", "web"),), spec=EVENLY),
        ),
        _other(spec=spec(cpu=0), labels=(("app", "web"),)),
    ),
    "whom a reservation was for wants less": Case(
        _all(_nodes("n1 n2 n3"), _holder(), _gang()),
        lambda w: w.alter("holder", min_resources=(("cpu", 4000),)),
    ),
    "whom a reservation was for is finished": Case(
        _all(_nodes("n1 n2"), _holder(), _gang()), lambda w: w.finish("holder-0")
    ),
    "whom a reservation was for is deleted": Case(
        _all(_nodes("n1 n2 n3"), _holder(), _gang()), lambda w: w.drop_group("holder")
    ),
    "whom a reservation was for has it no longer, and room is free meanwhile": Case(
        _all(_fits_but_for_a_reservation), lambda w: w.settle(seconds=7000), exact=False
    ),
    "whom a reservation was for ends, and room is free meanwhile": Case(
        _all(_fits_but_for_a_reservation), lambda w: w.finish("e-0"), exact=False
    ),
    "who held room lost it to a smaller one before it": Case(
        _all(
            lambda w: w.nodes("n1 n2", cpu=8),
            lambda w: w.running_job("old", 2, pod=spec(cpu=8), timeout=6000),
            _later,
            lambda w: w.delete(next(k for k, node in w.where("old").items() if node == "n2")),
            lambda w: w.job("g", 2, pod=spec(cpu=3)),
        ),
        lambda w: w.pod("first", spec=spec(cpu=1), priority=10),
    ),
    "room that was held is needed no more": Case(
        _all(_nodes("n1 n2 n3"), _loses_one, _gang()), lambda w: w.alter("old", minimum=1)
    ),
    "who held room is gone": Case(
        _all(_nodes("n1 n2 n3"), _loses_one, _gang()), lambda w: w.drop_group("old")
    ),
    "who held room goes after it in the order now": Case(
        _all(_nodes("n1 n2 n3"), _loses_one, _gang()),
        _all(
            lambda w: w.tell(PriorityClassSeen("low", -1)),
            lambda w: w.alter("old", priority_class="low"),
        ),
    ),
    "what preemption would free is reserved no more": Case(
        _all(
            _nodes("n1 n2 n3"),
            _holder(),
            lambda w: w.pod("x", node="n3", spec=ONE_A_NODE, priority=-1),
            _gang(),
        ),
        lambda w: w.drop_group("holder"),
    ),
    "who is in its place may be preempted now": Case(
        _all(_nodes("n1 n2"), lambda w: w.running_job("old", 2), _gang()),
        _all(
            lambda w: w.tell(PriorityClassSeen("low", -1)),
            lambda w: w.alter("old", priority_class="low"),
        ),
    ),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_a_gang_that_waits_is_placed_at_once_and_nobody_else_is_tried(case: Case) -> None:
    world = World()
    world.job("bystander", 2, pod=ELSEWHERE)
    world.now += 1
    case.waits(world)
    world.settle()
    world.settle(seconds=100)
    before = world.attempts("bystander")
    assert world.where("g") == {}
    case.helps(world)
    world.settle()
    assert len(world.where("g")) == 2
    assert not case.exact or world.attempts("bystander") == before


def test_a_node_that_another_member_could_go_to_wakes_the_gang() -> None:
    """Semantics §6.2: it would leave its node to the one that lacks CPU."""
    w = World()
    w.node("n1", cpu=2, labels=(("zone", "a"),))
    w.node("n2", cpu=1, labels=(("zone", "b"),))
    w.group("g", 2, timeout=60)
    w.member("g-0", "g", spec=spec(cpu=1, node_selector=(("zone", "a"),)))
    w.member("g-1", "g", spec=spec(cpu=2))
    w.settle()
    assert not w.where()
    w.node("n2", cpu=1, labels=(("zone", "a"),))
    w.settle()
    assert w.where() == {"g-0": "n2", "g-1": "n1"}


def test_who_keeps_apart_is_woken_when_a_nominated_pod_is_bound_elsewhere() -> None:
    """Semantics §6.2: what another scheduler had nominated there is not there any more."""
    w = World()
    w.node("n1", 4, labels=(("host", "n1"),))
    w.node("n2", 4, labels=(("host", "n2"),), taints=(Taint("t", "", Effect.NO_SCHEDULE),))
    w.pod("x", scheduler="other", nominated="n1", priority=100, labels=(("app", "x"),))
    selects = Selector((Requirement("app", Operator.IN, ("x",)),))
    apart = PodAffinity(required=(PodAffinityTerm("host", selects),))
    w.job("g", 2, pod=spec(cpu=1, pod_anti_affinity=apart))
    w.settle()
    assert not w.where("g-")
    w.change("x", node="n2", nominated="")
    w.settle()
    assert set(w.where("g-").values()) == {"n1"}


def test_what_an_addition_lacks_wakes_a_gang_of_which_another_was_kept_out_by_a_reservation() -> (
    None
):
    """Semantics §6.2."""
    w = World()
    w.nodes("n1 n2 n3", cpu=4, labels=ZONE_A)
    _holder()(w)
    w.running_job("g", 1, timeout=6000)
    w.member("g-like", "g")
    w.member("g-near", "g", spec=spec(pod_affinity=NEAR_DB))
    w.settle()
    w.settle(seconds=100)
    assert w.where("g-").keys() == {"g-0"}, "n3 is reserved, and there is no database"
    w.pod("db", node="n1", scheduler="other", spec=spec(), labels=(("app", "db"),))
    w.settle()
    assert w.where("g-near"), "it requests nothing that is reserved"
    assert not w.where("g-like")
