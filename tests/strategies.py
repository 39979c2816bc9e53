# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for quantities, nodes, pod classes and clusters with pods on them."""

from typing import NamedTuple, TypeVar

from hypothesis import strategies as st

from enbloc.ledgers import Ledgers
from enbloc.model.names import TAINT_UNSCHEDULABLE
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator

T = TypeVar("T")

RESOURCES = ("cpu", "ephemeral-storage", "memory", "nvidia.com/gpu")
KEYS = ("zone", "disk", "tier")
VALUES = ("", "a", "b", "-3", "7", "007", "7x")
NAMES = tuple(f"node-{number}" for number in range(5))


class Layout(NamedTuple):
    """Nodes, and which pod classes sit on which of them."""

    nodes: tuple[Node, ...]
    placed: tuple[tuple[int, PodSpec], ...]

    def table(self) -> Nodes:
        """The same as a node table."""
        table = Nodes(ResourceSpace(), Ledgers())
        for node in self.nodes:
            table.put(node)
        for row, spec in self.placed:
            table.place(row, spec)
        return table


def _tuples(of: st.SearchStrategy[T], longest: int) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(of, max_size=longest).map(tuple)


def _pairs(
    values: st.SearchStrategy[T], keys: tuple[str, ...]
) -> st.SearchStrategy[tuple[tuple[str, T], ...]]:
    return st.dictionaries(st.sampled_from(keys), values, max_size=len(keys)).map(
        lambda found: tuple(sorted(found.items()))
    )


#: Mantissa and suffix of the grammar that `kubernetes.utils.parse_quantity` reads as well.
quantity_texts = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "", "-", "+")),
    st.integers(0, 10**15),
    st.sampled_from(("", "", ".0", ".5", ".25", ".001", ".0000000001", ".")),
    st.sampled_from(
        ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
         "e3", "E3", "e-3", "E+2", "e0")
    ),
)  # fmt: skip

_keys = st.sampled_from((*KEYS, TAINT_UNSCHEDULABLE))
_values = st.sampled_from(VALUES)
_amounts = st.integers(0, 12)

taints = st.builds(Taint, _keys, _values, st.sampled_from(tuple(Effect)))
tolerations = st.builds(
    Toleration,
    st.sampled_from(("", *KEYS, TAINT_UNSCHEDULABLE)),
    st.sampled_from(tuple(TolerationOperator)),
    _values,
    st.sampled_from((None, *Effect)),
)
requirements = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from(tuple(Operator)),
    st.lists(_values, min_size=1, max_size=2).map(tuple),
)
_fields = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from((Operator.IN, Operator.NOT_IN)),
    st.sampled_from(NAMES).map(lambda name: (name,)),
)
_terms = st.builds(NodeSelectorTerm, _tuples(requirements, 2), _tuples(_fields, 2))


def nodes_named(name: str) -> st.SearchStrategy[Node]:
    """Node facts under one name."""
    return st.builds(
        Node,
        name=st.just(name),
        labels=_pairs(_values, KEYS),
        taints=_tuples(taints, 3),
        unschedulable=st.booleans(),
        allocatable=_pairs(_amounts, (*RESOURCES, "pods")),
        ready=st.booleans(),
    )


_requests = _pairs(st.integers(1, 9), RESOURCES).map(
    lambda found: tuple(sorted((*found, ("pods", 1))))
)
demands = st.builds(PodSpec, requests=_requests, nonzero_cpu=_amounts, nonzero_memory=_amounts)
specs = st.builds(
    PodSpec,
    requests=_requests,
    nonzero_cpu=_amounts,
    nonzero_memory=_amounts,
    node_selector=st.one_of(st.just(()), _pairs(_values, KEYS)),
    node_affinity=st.none() | _tuples(_terms, 2),
    tolerations=_tuples(tolerations, 3),
    node_name=st.sampled_from(("", "", "", *NAMES)),
)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Up to five nodes with up to six pods on them; nodes may be overcommitted."""
    count = draw(st.integers(0, len(NAMES)))
    nodes = tuple(draw(nodes_named(name)) for name in NAMES[:count])
    if not count:
        return Layout((), ())
    seats = st.tuples(st.integers(0, count - 1), demands)
    return Layout(nodes, draw(_tuples(seats, 6)))
