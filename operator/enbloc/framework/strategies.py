# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random pods and clusters for plugin tests: few distinct values, so that they often match."""

from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from enbloc.framework.facts import Floor, GroupFacts
from enbloc.framework.observations import GroupGone, NodeChanged, Observation, PodChanged
from enbloc.ledgers import Ledgers
from enbloc.model.groups import Group, GroupKey
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import HostPort, NodeSelectorTerm, Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator

_KEYS = ("zone", "disk", "example.com/x")
_VALUES = ("a", "b", "7", "true")
_RESOURCES: tuple[str, ...] = ("cpu", "memory", "nvidia.com/gpu")
_IMAGES = ("example.com/app:1", "example.com/tool:2")
_FEATURES = ("FeatureA", "FeatureB")
_NAMESPACES = ("default", "other")

_keys = st.sampled_from(_KEYS)
_values = st.sampled_from(_VALUES)
_pairs = st.dictionaries(_keys, _values, max_size=3).map(lambda found: tuple(sorted(found.items())))
_amounts = st.dictionaries(st.sampled_from(_RESOURCES), st.integers(0, 9), max_size=3)
_taints = st.lists(st.builds(Taint, _keys, _values, st.sampled_from(list(Effect))), max_size=2).map(
    tuple
)
_tolerations = st.lists(
    st.builds(
        Toleration,
        st.sampled_from(("", *_KEYS)),
        st.sampled_from(list(TolerationOperator)),
        _values,
        st.sampled_from((None, *Effect)),
    ),
    max_size=2,
).map(tuple)
_requirements = st.builds(
    Requirement,
    _keys,
    st.sampled_from(list(Operator)),
    st.lists(_values, min_size=1, max_size=2).map(tuple),
)
_fields = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from((Operator.IN, Operator.NOT_IN)),
    st.sampled_from([(f"node-{index}",) for index in range(8)]),
)
_terms = st.builds(
    NodeSelectorTerm,
    st.lists(_requirements, max_size=2).map(tuple),
    st.lists(_fields, max_size=1).map(tuple),
)
_selectors = st.builds(Selector, st.lists(_requirements, max_size=2).map(tuple))
_spread = st.builds(
    SpreadConstraint,
    _keys,
    max_skew=st.integers(1, 2),
    hard=st.booleans(),
    selector=st.none() | _selectors,
    min_domains=st.integers(1, 3),
    match_label_keys=st.lists(_keys, max_size=1).map(tuple),
    honour_affinity=st.booleans(),
    honour_taints=st.booleans(),
)
_near = st.builds(
    PodAffinityTerm,
    _keys,
    selector=st.none() | _selectors,
    namespaces=st.lists(st.sampled_from(_NAMESPACES), max_size=1).map(tuple),
    namespace_selector=st.none() | _selectors,
)
_affinity = st.builds(
    PodAffinity,
    st.lists(_near, max_size=2).map(tuple),
    st.lists(st.tuples(st.integers(1, 100), _near), max_size=1).map(tuple),
)
_ports = st.builds(
    HostPort,
    st.sampled_from(("0.0.0.0", "10.0.0.1")),  # noqa: S104 - the wildcard that pods write
    st.sampled_from(("TCP", "UDP")),
    st.sampled_from((80, 81)),
)


def _some(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(names), max_size=2, unique=True).map(
        lambda found: tuple(sorted(found))
    )


def _sorted(amounts: dict[Any, int], **more: int) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, value) for name, value in {**amounts, **more}.items() if value))


_requests = _amounts.map(lambda amounts: _sorted(amounts, pods=1))


def pod_specs() -> st.SearchStrategy[PodSpec]:
    """Classes of pods, each with one kind of constraint; claims are left out."""
    sized = st.builds(
        PodSpec,
        requests=_requests,
        nonzero_cpu=st.integers(0, 9),
        nonzero_memory=st.integers(0, 9),
    )
    choosing = st.builds(
        PodSpec,
        node_selector=_pairs,
        node_affinity=st.none() | st.lists(_terms, max_size=2).map(tuple),
        preferred_node_affinity=st.lists(st.tuples(st.integers(1, 100), _terms), max_size=2).map(
            tuple
        ),
        tolerations=_tolerations,
        node_name=st.sampled_from(("", "", "", "node-1")),
    )
    local = st.builds(
        PodSpec,
        host_ports=st.lists(_ports, max_size=2).map(tuple),
        images=_some(_IMAGES),
        image_volumes=_some(_IMAGES),
        features=_some(_FEATURES),
    )
    spread = st.builds(
        PodSpec,
        node_selector=_pairs,
        tolerations=_tolerations,
        spread=st.lists(_spread, min_size=1, max_size=2).map(tuple),
    )
    social = st.builds(PodSpec, pod_affinity=_affinity, pod_anti_affinity=_affinity)
    return st.one_of(sized, choosing, local, spread, social)


def pods(name: str = "pod", annotations: tuple[str, ...] = ()) -> st.SearchStrategy[Pod]:
    """Pending pods of that name and UID, with some of these annotations."""
    return st.builds(
        lambda spec, labels, namespace, notes: Pod(
            PodKey(namespace, name),
            PodUID(name),
            spec,
            scheduler="enbloc",
            labels=labels,
            annotations=notes,
        ),
        pod_specs(),
        _pairs,
        st.sampled_from(_NAMESPACES),
        _annotated(annotations),
    )


def _annotated(keys: tuple[str, ...]) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    """Annotations as people write them: values that a plugin expects, and others."""
    if not keys:
        return st.just(())
    values = st.sampled_from(("7", "true", "", "-1", "a", "9" * 30))
    return st.dictionaries(st.sampled_from(keys), values).map(
        lambda found: tuple(sorted(found.items()))
    )


@st.composite
def tables(draw: st.DrawFn, *, max_nodes: int = 6) -> Nodes:
    """Node tables, with pods placed on some of their rows."""
    nodes = _empty(draw, max_nodes)
    for row, pod in draw(seats(len(nodes))):
        nodes.place(row, pod.spec)
    return nodes


def _empty(draw: st.DrawFn, max_nodes: int, annotations: tuple[str, ...] = ()) -> Nodes:
    nodes = Nodes(ResourceSpace(), Ledgers())
    images = st.dictionaries(st.sampled_from(_IMAGES), st.integers(1, 2**31), max_size=2)
    for index in range(draw(st.sampled_from((*range(2, max_nodes + 1), 1, 0)))):
        node = Node(
            name=f"node-{index}",
            uid=str(index),
            labels=draw(_pairs),
            taints=draw(_taints),
            unschedulable=draw(st.booleans()),
            allocatable=_sorted(draw(_amounts), pods=draw(st.integers(0, 3))),
            images=_sorted(draw(images)),
            features=draw(_some(_FEATURES)),
            annotations=draw(_annotated(annotations)),
        )
        nodes.put(node)
    return nodes


def seats(rows: int, name: str = "placed") -> st.SearchStrategy[list[tuple[int, Pod]]]:
    """Up to two pods, `name-0` and so on, each with a row below `rows`."""
    if not rows:
        return st.just([])

    def so_many(count: int) -> st.SearchStrategy[list[tuple[int, Pod]]]:
        row = st.integers(0, rows - 1)
        return st.tuples(*(st.tuples(row, pods(f"{name}-{n}")) for n in range(count))).map(list)

    return st.sampled_from((1, 2, 0)).flatmap(so_many)


class Cluster(NamedTuple):
    """Tables that can be changed, and snapshots of what they hold."""

    nodes: Nodes
    placed: PlacedPods

    def place(self, pod: Pod, row: int) -> None:
        """Put a pod on a row."""
        self.nodes.place(row, pod.spec)
        self.placed.put(pod, row)

    def remove(self, pod: Pod, row: int) -> None:
        """Take a pod off again."""
        self.nodes.place(row, pod.spec, -1)
        self.placed.drop(pod.uid)

    def snapshot(self) -> Snapshot:
        """What plugins see now."""
        labels = {_NAMESPACES[0]: (("zone", "a"),), _NAMESPACES[1]: ()}
        return Snapshot(self.nodes.snapshot(), self.placed.snapshot(), labels)


@st.composite
def clusters(draw: st.DrawFn, *, max_nodes: int = 4, annotations: tuple[str, ...] = ()) -> Cluster:
    """Nodes with pods on them, and with some of these annotations."""
    cluster = Cluster(_empty(draw, max_nodes, annotations), PlacedPods())
    for row, pod in draw(seats(len(cluster.nodes))):
        cluster.place(pod, row)
    return cluster


def group_facts(pod: Pod, annotations: tuple[str, ...] = ()) -> st.SearchStrategy[GroupFacts]:
    """A group that waits for its turn, with this pod as its only member."""
    key = GroupKey(pod.key.namespace, "group")
    return st.builds(
        lambda notes, solo: GroupFacts(
            key=key,
            group=Group(key, annotations=notes),
            solo=solo,
            pending=(pod,),
            total=Floor("", minimum=1, pending=1, bound=0, succeeded=0),
            members=1,
        ),
        _annotated(annotations),
        st.booleans(),
    )


def observed(pod: Pod, group: GroupKey) -> st.SearchStrategy[list[tuple[float, Observation]]]:
    """Changes of such pods and of nodes, each with the seconds since the one before.

    Args:
        pod: the template of the pods.
        group: the group of some of them; others are in another group, or in none.
    """
    names = st.sampled_from([f"node-{index}" for index in range(4)])
    groups = st.sampled_from((group, GroupKey("other", "group")))
    states = st.sampled_from((
        {"phase": Phase.RUNNING},
        {"phase": Phase.SUCCEEDED},
        {"phase": Phase.FAILED, "rejected": "OutOfcpu"},
        {"phase": Phase.FAILED, "rejected": "AppArmor"},
    ))  # fmt: skip

    def pod_changed(
        name: str, key: GroupKey | None, state: dict[str, Any], known: str, ours: bool
    ) -> PodChanged:
        bound = replace(pod, node=name, group=key, scheduled_at=1000.0)
        old = {"bound": bound, "pending": replace(bound, node="")}.get(known)
        return PodChanged(old, replace(bound, **state), ours)

    def node_changed(name: str, known: bool, left: bool | None, gang: GroupKey) -> NodeChanged:
        here = Node(name=name)
        now = None if left is None else replace(here, ready=left)
        return NodeChanged(name, here if known or now is None else None, now, (gang,))

    known = st.sampled_from(("", "pending", "bound"))
    changes = st.one_of(
        st.builds(pod_changed, names, st.none() | groups, states, known, st.booleans()),
        st.builds(node_changed, names, st.booleans(), st.none() | st.booleans(), groups),
        st.builds(GroupGone, groups),
    )
    return st.lists(st.tuples(st.sampled_from((0.0, 1.0, 45.0, 700.0)), changes), max_size=8)
