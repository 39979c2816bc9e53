# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that are hard to place, on small clusters, and a naive search that tries everything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.trial.trial import Trial
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.node import Node
from enbloc.model.pods import HostPort, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.model.snapshot import Snapshot
from tests.world import builders
from tests.world.tables import occupied

HOST, ZONE = "kubernetes.io/hostname", "zone"


@dataclass(frozen=True)
class Kind:
    """What alike members ask for.

    Attributes:
        zone: of the only nodes they may use; "" = any.
        apart: `(topology key, app)` that they may not share a domain with.
        port: of the node, for itself; 0 = none.
    """

    app: str = "a"
    cpu: int = 1
    gpu: int = 0
    zone: str = ""
    apart: frozenset[tuple[str, str]] = frozenset()
    port: int = 0
    role: str = ""

    def spec(self) -> PodSpec:
        terms = tuple(PodAffinityTerm(key, named(app)) for key, app in sorted(self.apart))
        return builders.spec(
            cpu=self.cpu,
            gpu=self.gpu,
            node_selector=((ZONE, self.zone),) if self.zone else (),
            pod_anti_affinity=PodAffinity(required=terms),
            host_ports=(HostPort("0.0.0.0", "TCP", self.port),) if self.port else (),
        )


def named(app: str) -> Selector:
    return Selector((Requirement("app", Operator.IN, (app,)),))


def member(index: int, kind: Kind, **facts: object) -> Pod:
    pod = Pod(PodKey("ns", f"m{index}"), PodUID(f"m{index}"), kind.spec())
    return replace(pod, labels=(("app", kind.app),), role=kind.role, created=float(index), **facts)  # type: ignore[arg-type]


def members(*kinds: Kind) -> tuple[Pod, ...]:
    """Pending members, the first one the oldest."""
    specs: dict[PodSpec, PodSpec] = {}
    pods = [member(index, kind) for index, kind in enumerate(kinds)]
    return tuple(replace(pod, spec=specs.setdefault(pod.spec, pod.spec)) for pod in pods)


def group(
    pending: Sequence[Pod], minimum: int | None = None, held: int = 0, **roles: int
) -> GroupFacts:
    """A group with these pending members and `held` bound ones; all are needed by default."""
    count = len(pending)
    key = GroupKey("ns", "g")
    total = Floor("", count + held if minimum is None else minimum, count, held, 0)
    floors = tuple(
        Floor(role, needed, sum(pod.role == role for pod in pending), 0, 0)
        for role, needed in sorted(roles.items())
    )
    return GroupFacts(
        key, Group(key), solo=False, pending=tuple(pending), total=total, roles=floors
    )


def machine(name: str, cpu: int, gpu: int = 0, zone: str = "", pods: int = 110) -> Node:
    labels = ((HOST, name), (ZONE, zone)) if zone else ((HOST, name),)
    return builders.node(name, cpu=cpu, gpu=gpu, pods=pods, uid=name, labels=labels)


def cluster(*machines: Node, seated: Sequence[tuple[Pod, str]] = ()) -> Snapshot:
    return occupied(*machines, seats=seated, namespaces=("ns",))


def trying(snapshot: Snapshot, profile: Profile | None = None) -> Trial:
    return Trial(profile or default_profiles()[SCHEDULER_NAME], snapshot)


# ── everything, tried ────────────────────────────────────────────────────────────────────────

Where = dict[int, str]


def placements(
    kinds: Sequence[Kind], machines: Sequence[Node], taken: Where | None = None
) -> Iterator[Where]:
    """Every way to put members (by index) on nodes (by name) or to leave them out.

    `taken`: who is there already, by index into `kinds`, and stays.
    """
    where: Where = dict(taken or {})
    todo = [index for index in range(len(kinds)) if index not in where]

    def deeper(place: int) -> Iterator[Where]:
        if place == len(todo):
            yield dict(where)
            return
        yield from deeper(place + 1)
        for each in machines:
            where[todo[place]] = each.name
            if lawful(kinds, machines, where):
                yield from deeper(place + 1)
            del where[todo[place]]

    return deeper(0)


def lawful(kinds: Sequence[Kind], machines: Sequence[Node], where: Where) -> bool:
    """Whether these members may be where they are, all at once."""
    nodes = {each.name: each for each in machines}
    for name, node in nodes.items():
        here = [kinds[index] for index, there in where.items() if there == name]
        room = dict(node.allocatable)
        wanted = {
            "cpu": sum(kind.cpu for kind in here) * 1000,
            "nvidia.com/gpu": sum(kind.gpu for kind in here),
            "pods": len(here),
        }
        if any(much > room.get(resource, 0) for resource, much in wanted.items()):
            return False
        if any(kind.zone and dict(node.labels).get(ZONE) != kind.zone for kind in here):
            return False
        ports = [kind.port for kind in here if kind.port]
        if len(ports) > len(set(ports)):
            return False
    return not any(
        key in dict(nodes[here].labels)
        and dict(nodes[here].labels)[key] == dict(nodes[there].labels).get(key)
        for one, here in where.items()
        for two, there in where.items()
        if one != two
        for key, app in kinds[one].apart
        if app == kinds[two].app
    )


def enough(facts: GroupFacts, kinds: Sequence[Kind], where: Where) -> bool:
    """Whether the pending members that have a place meet every floor's deficit."""
    placed = [kinds[index] for index, _ in enumerate(facts.pending) if index in where]
    if len(placed) < facts.total.deficit:
        return False
    return all(
        sum(kind.role == floor.role for kind in placed) >= floor.deficit for floor in facts.roles
    )


def possible(
    facts: GroupFacts, kinds: Sequence[Kind], machines: Sequence[Node], taken: Where | None = None
) -> bool:
    """Whether any placement meets the floors."""
    return any(enough(facts, kinds, where) for where in placements(kinds, machines, taken))


# ── strategies ───────────────────────────────────────────────────────────────────────────────

machine_lists = st.lists(
    st.tuples(
        st.integers(1, 7),
        st.integers(0, 3),
        st.sampled_from(("", "z", "y")),
        st.sampled_from((1, 2, 110)),
    ),
    min_size=1,
    max_size=3,
).map(
    lambda rooms: tuple(machine(f"n{i}", *facts) for i, facts in enumerate(rooms)),
)

kind_lists = st.lists(
    st.builds(
        Kind,
        app=st.sampled_from("ab"),
        cpu=st.integers(1, 4),
        gpu=st.integers(0, 2),
        zone=st.sampled_from(("", "", "z")),
        apart=st.frozensets(
            st.tuples(st.sampled_from((HOST, ZONE)), st.sampled_from("ab")), max_size=1
        ),
        port=st.sampled_from((0, 0, 80)),
        role=st.sampled_from(("", "lead", "work")),
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def gangs(draw: st.DrawFn) -> tuple[list[Kind], GroupFacts]:
    """Up to five members of up to three kinds, with floors that a quorum is there for."""
    kinds = draw(kind_lists)
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))
    lead, work = (
        draw(st.integers(0, sum(kind.role == role for kind in chosen))) for role in ("lead", "work")
    )
    total = draw(st.integers(max(1, lead + work - 1), len(chosen)))
    return chosen, group(members(*chosen), total, lead=lead, work=work)
