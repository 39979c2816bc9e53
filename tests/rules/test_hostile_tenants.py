# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who may create pods in one namespace neither stops nor slows what is decided for another one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
import pytest

from enbloc.config import default_profiles
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.model.limits import MOST_EFFORT
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import HostPort, NodeSelectorTerm, Owner, Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from tests.rules.world import JOB, World
from tests.world.builders import spec

MANY: Final = 1000
WEB: Final = Selector((Requirement("app", Operator.IN, ("web",)),))


@dataclass(frozen=True)
class Counting:
    """Refuses no node, and counts how often all of them are looked at."""

    asked: list[Pod]

    name: ClassVar[str] = "Counting"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "never"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        self.asked.append(pod)
        return np.ones(len(nodes), np.bool_)


class Counted(World):
    """A world in which another tenant's gang of four comes after what `tenant` did.

    Attributes:
        asked: a pod for each time that all nodes were looked at for a class.
    """

    def __init__(self, **settings: Any) -> None:
        self.asked: list[Pod] = []
        [(name, profile)] = default_profiles().items()
        made = Profile(name, (*profile.plugins, Counting(self.asked)), profile.weights)
        super().__init__(profiles={name: made}, validate=False, log=1, **settings)

    def most_asked(self) -> int:
        """Come to rest; how often classes were looked at in the step with most of them."""
        most = 0
        for _ in range(100):
            self.asked.clear()
            self.step()
            most = max(most, len(self.asked))
            wakeup = self.engine.wakeup()
            if wakeup is None or wakeup > self.now:
                return most
        raise AssertionError("the engine never comes to rest")


def lone(world: World, name: str, of: PodSpec, **facts: Any) -> None:
    """A pod of another namespace without a group."""
    made = Pod(PodKey("tenant", name), PodUID(name), of, "enbloc", created=world.now)
    world.put_pod(replace(made, **facts))


def tenant(world: World, specs: Iterable[PodSpec], minimum: int | None = None) -> None:
    """A gang of another namespace, of which each member is of such a class."""
    given = list(specs)
    world.their_group("evil", len(given) if minimum is None else minimum)
    for number, each in enumerate(given):
        world.theirs(f"evil-{number}", "evil", spec=each)


def kinds(count: int, **of: Any) -> list[PodSpec]:
    """Templates that all differ, and say this besides."""
    return [spec(cpu=f"{number + 1}m", **of) for number in range(count)]


def keeping_apart(count: int) -> PodAffinity:
    return PodAffinity(tuple(PodAffinityTerm(f"key-{n}", WEB) for n in range(count)))


def ports(first: int, count: int) -> tuple[HostPort, ...]:
    return tuple(HostPort("0.0.0.0", "TCP", first + n) for n in range(count))


def node_terms(count: int) -> tuple[NodeSelectorTerm, ...]:
    said = (Requirement(f"k{n}", Operator.NOT_IN, ("a",)) for n in range(count))
    return tuple(NodeSelectorTerm((each,)) for each in said)


TOO_MANY: Final[dict[str, Callable[[], list[PodSpec]]]] = {
    "kinds": lambda: kinds(MANY),
    "kinds, one of them too large": lambda: [spec(cpu=1000), *kinds(MANY)],
    "kinds that exclude each other": lambda: kinds(MANY, pod_anti_affinity=keeping_apart(1)),
    "kinds with ports": lambda: [spec(cpu=n + 1, host_ports=ports(n + 1, 1)) for n in range(MANY)],
    "terms": lambda: kinds(40, pod_anti_affinity=keeping_apart(64)),
    "preferred terms": lambda: kinds(
        40, pod_affinity=PodAffinity(preferred=tuple((1, t) for t in keeping_apart(64).required))
    ),
    "spread constraints": lambda: kinds(
        40, spread=tuple(SpreadConstraint(f"key-{n}", selector=WEB) for n in range(64))
    ),
    "ports": lambda: [spec(cpu=n + 1, host_ports=ports(1, 1024)) for n in range(150)],
    "node affinity": lambda: kinds(100, node_affinity=node_terms(250)),
    "members with many terms": lambda: [spec(cpu=1, pod_anti_affinity=keeping_apart(64))] * 500,
}


@pytest.mark.parametrize("specs", TOO_MANY.values(), ids=TOO_MANY)
def test_a_gang_of_too_many_kinds_is_refused_before_any_of_them_is_looked_at(
    specs: Callable[[], list[PodSpec]],
) -> None:
    """Semantics §9.8."""
    world = Counted()
    world.nodes("n1 n2 n3 n4", cpu=4)
    tenant(world, specs())
    world.job("g", 4)
    assert world.most_asked() <= 2
    assert len(world.where("g")) == 4
    assert world.where("evil") == {}
    status, reason, text = world.condition("evil")
    assert (status, reason) == (False, "InvalidSpec")
    assert "use fewer templates" in text
    assert str(MOST_EFFORT) in text


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param(kinds(330), id="kinds that fit"),
        pytest.param([*kinds(330), spec(cpu=1000)], id="one that does not"),
        pytest.param(kinds(210, pod_anti_affinity=keeping_apart(1)), id="who exclude each other"),
    ],
)
def test_a_gang_of_as_many_kinds_as_may_be_costs_a_few_looks_at_each(specs: list[PodSpec]) -> None:
    """Semantics §9.8: one step, however they fit together."""
    world = Counted()
    world.nodes(" ".join(f"n{n}" for n in range(1, 9)), cpu=64)
    tenant(world, specs)
    world.job("g", 4)
    assert world.most_asked() <= 3 * len(specs)
    assert len(world.where("g")) == 4


def everybody_s(key: str, operator: Operator, values: Iterable[str], *, hard: bool) -> PodSpec:
    """A pod that speaks of pods in all namespaces."""
    selector = Selector((Requirement(key, operator, tuple(values)),))
    term = PodAffinityTerm("zone", selector, namespace_selector=Selector())
    apart = PodAffinity((term,)) if hard else PodAffinity(preferred=((1, term),))
    return spec(cpu=1, pod_anti_affinity=apart)


@pytest.mark.parametrize("hard", [False, True], ids=["preferred", "required"])
@pytest.mark.parametrize(
    ("operator", "values"),
    [
        pytest.param(Operator.IN, tuple(map(str, range(400))), id="by its value"),
        pytest.param(Operator.GT, ("-1",), id="by a number"),
    ],
)
def test_alike_members_stay_alike_however_many_labels_another_namespace_names(
    operator: Operator, values: Sequence[str], hard: bool
) -> None:
    """Semantics §9.3: each kind is looked at alone."""
    world = Counted()
    world.nodes("n1 n2 n3 n4", cpu=200, pods=200)
    lone(world, "evil", everybody_s("rank", operator, values, hard=hard))
    world.settle()
    world.group("g", 400)
    for rank in range(400):
        world.member(f"g-{rank}", "g", spec=spec(cpu=1), labels=(("rank", str(rank)),))
    assert world.most_asked() <= 8
    assert len(world.where("g")) == 400


def test_too_many_members_that_their_own_namespace_tells_apart_are_refused() -> None:
    """Semantics §9.3."""
    world = Counted()
    world.nodes("n1 n2", cpu=400, pods=400)
    term = PodAffinityTerm("zone", Selector((Requirement("rank", Operator.GT, ("-1",)),)))
    world.pod("apart", spec=spec(cpu=1, pod_anti_affinity=PodAffinity((term,))))
    world.settle()
    world.group("many", 200)
    for rank in range(200):
        world.member(f"many-{rank}", "many", spec=spec(cpu=1), labels=(("rank", str(rank)),))
    world.their_group("other", 2)
    for index in range(2):
        world.theirs(f"other-{index}", "other", spec=spec(cpu=1))
    assert world.most_asked() <= 8
    assert world.where("many") == {}
    assert len(world.where("other")) == 2
    _, reason, text = world.condition("many")
    assert reason == "SchedulerError"
    assert "namespace ns name tell the 200 pending members apart into more than 128 kinds" in text


@pytest.mark.parametrize(("jobs", "members"), [(166, 1), (120, 8)])
def test_as_many_jobs_with_exclusive_placement_as_the_documents_say_are_one_gang(
    jobs: int, members: int
) -> None:
    """Semantics §9.8."""
    world = World(validate=False)
    for rack in range(jobs):
        world.node(f"n{rack}", cpu=16, labels=(("rack", f"r{rack}"),))
    world.group("g", jobs * members)
    for job in range(jobs):
        own = exclusively(f"job-{job}")
        for index in range(members):
            name = f"g-{job}-{index}"
            world.member(name, "g", spec=own, labels=(("job-key", f"job-{job}"),))
    world.settle()
    where = world.where("g")
    assert len(where) == jobs * members
    assert len({(name.split("-")[1], node) for name, node in where.items()}) == jobs


def exclusively(job: str) -> PodSpec:
    """As JobSet has it: beside one's own, and beside nobody else's."""
    own = Selector((Requirement("job-key", Operator.IN, (job,)),))
    others = Selector(
        (Requirement("job-key", Operator.EXISTS), Requirement("job-key", Operator.NOT_IN, (job,)))
    )
    return spec(
        cpu=1,
        pod_affinity=PodAffinity((PodAffinityTerm("rack", own),)),
        pod_anti_affinity=PodAffinity((PodAffinityTerm("rack", others),)),
    )


def test_host_ports_are_compared_as_sets_whatever_their_number() -> None:
    """Semantics §9.8: four members with a thousand ports each."""
    world = World()
    world.nodes("n1 n2", cpu=64)
    tenant(world, [spec(cpu=n + 1, host_ports=ports(1 + 1000 * (n // 2), 1000)) for n in range(4)])
    world.settle()
    placed = world.where("evil")
    assert len(placed) == 4
    assert placed["evil-0"] != placed["evil-1"]
    assert placed["evil-2"] != placed["evil-3"]


# ── pods that nobody binds, and pods that the tenant binds ───────────────────────────────────────


def pinned(node: str, of: PodSpec) -> PodSpec:
    field = Requirement("metadata.name", Operator.IN, (node,))
    return replace(of, node_affinity=(NodeSelectorTerm(fields=(field,)),))


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"scheduler": "nobody-s"}, id="nobody's"),
        pytest.param({"scheduler": "default-scheduler"}, id="the default scheduler's, bare"),
        pytest.param(
            {
                "scheduler": "default-scheduler",
                "owner": Owner("DaemonSet", "d", "d", "apps/v1"),
            },
            id="a DaemonSet's",
        ),
        pytest.param({"scheduler": "nobody-s", "nominated": "n1"}, id="nominated"),
    ],
)
def test_a_hundred_pending_pods_that_are_pinned_and_too_large_stop_nobody(
    facts: dict[str, Any],
) -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    for number in range(100):
        large = pinned(f"n{number % 4 + 1}", spec(cpu=64))
        lone(world, f"evil-{number}", large, **{"priority": 10**6, **facts})
    world.job("g", 4)
    world.settle()
    assert len(world.where("g")) == 4


def test_pods_of_sixty_four_pebibytes_on_one_node_fill_that_node_and_no_other() -> None:
    """Semantics §9.8: their sum is more than 64 bits hold."""
    world = World()
    world.nodes("n1 n2 n3 n4 n5", cpu=4, memory="64Gi")
    for number in range(1000):
        huge = spec(cpu=0, memory="64Pi")
        lone(world, f"evil-{number}", huge, node="n1", scheduler="")
    world.job("g", 4, pod=spec(cpu=4, memory="1Gi"), min_resources=(("memory", 4 * 2**30),))
    world.pod("lone", spec=spec(cpu=0, memory="1Gi"))
    world.settle()
    assert sorted(world.where("g").values()) == ["n2", "n3", "n4", "n5"]
    assert world.where("lone")["lone"] != "n1"
    for number in range(1000):
        world.delete(f"evil-{number}")
    world.job("h", 1, pod=spec(cpu=4, memory="64Gi"))
    world.settle()
    assert list(world.where("h").values()) == ["n1"]


def test_members_created_with_a_node_and_too_large_for_it_bar_it_for_nobody() -> None:
    """Semantics §3.6: no Binding of ours placed them."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    for group in ("evil", "vile"):
        world.their_group(group, 4)
        for number in range(4):
            name, node = f"{group}-{number}", f"n{number + 1}"
            world.theirs(name, group, spec=spec(cpu=64), node=node)
            world.step()
            world.change(name, phase=Phase.FAILED, rejected="OutOfcpu")
            world.step()
    world.job("g", 4)
    world.settle()
    assert len(world.where("g")) == 4
    assert not any("Quarantine" in str(effect) for effect in world.effects)


def test_a_member_created_with_a_node_makes_no_gang_of_higher_priority_yield() -> None:
    """Semantics §2.7: it buys no precedence, and nobody yields to it."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("rich", 2, priority=10**6, timeout=3600)
    world.answer = lambda bind: "ok" if bind.target.pod.name == "rich-0" else "hold"
    world.settle()
    [node] = world.where("rich").values()
    other = ({"n1", "n2"} - {node}).pop()
    world.their_group("evil", 2, timeout=3600)
    world.theirs("evil-0", "evil", node=other)
    world.theirs("evil-1", "evil")
    world.settle(seconds=60)
    assert world.evictions == []
    assert set(world.where("rich")) == {"rich-0"}
    assert set(world.where("evil")) == {"evil-0"}


@pytest.mark.parametrize("owner", [None, JOB], ids=["bare", "a Job's"])
def test_a_member_created_with_a_node_gets_no_capacity_that_a_lost_member_left(
    owner: Owner | None,
) -> None:
    """Semantics §4.4: only who was partially bound by Bindings of ours makes others yield."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.job("rich", 2, priority=10**6, timeout=3600)
    world.settle()
    node = world.where("rich")["rich-1"]
    world.their_group("evil", 2, timeout=3600)
    world.delete("rich-1")
    world.theirs("evil-0", "evil", node=node, owner=owner)
    world.theirs("evil-1", "evil", owner=owner)
    world.member("rich-2", "rich", priority=10**6, preempts=False)
    world.settle(seconds=60)
    assert world.evictions == ([] if owner is None else ["evil-0"])
    assert set(world.where("rich")) == ({"rich-0"} if owner is None else {"rich-0", "rich-2"})


def test_pods_created_with_a_node_and_too_large_for_it_fill_no_other() -> None:
    """Semantics §5.1: until its kubelet rejects them, and the next ones come."""
    world = World()
    world.nodes("n1 n2 n3 n4", cpu=4)
    for number, node in enumerate(("n1", "n2")):
        lone(world, f"evil-{number}", spec(cpu=64), node=node, scheduler="")
    world.job("g", 2, min_resources=(("cpu", 8000),))
    world.settle()
    assert sorted(world.where("g").values()) == ["n3", "n4"]


# ── pods without a group ─────────────────────────────────────────────────────────────────────────


def test_nothing_is_searched_for_a_pod_without_a_group() -> None:
    """Semantics §9.8: where each node was asked there is no other order, nor another domain."""
    world = World()
    for number in range(20):
        world.node(f"n{number}", cpu=1, labels=(("zone", f"z{number}"),))
    near = PodAffinity((PodAffinityTerm("zone", WEB),))
    for number in range(30):
        alone = spec(cpu=2 if number % 2 else 1, pod_affinity=near)
        lone(world, f"lone-{number}", alone, labels=(("a", str(number)),))
    world.settle()
    decisions = [each for each in world.decisions() if each.group.namespace == "tenant"]
    assert len(decisions) >= 30
    assert {(each.search, each.steps) for each in decisions} == {("", 0)}
    world.job("g", 4, pod=spec(cpu=1))
    world.settle()
    assert len(world.where("g")) == 4


def test_a_forged_owner_fills_no_capacity_that_another_namespace_has_reserved() -> None:
    """Semantics §5.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    owner = "JobSet/uid-of-theirs"
    world.group("app", 1, min_resources=(("cpu", 8000),), owner=owner)
    world.member("app-0", "app", spec=spec(cpu=1))
    world.settle()
    world.their_group("evil", 1, owner=owner)
    world.theirs("evil-0", "evil", spec=spec(cpu=1))
    world.settle()
    assert world.where("evil") == {}
    assert "reserved for ns/app" in world.condition("evil")[2]
