# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which pods the terms of pod affinity match, and the tally of where those pods are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from enbloc.model.nodes import Mask, Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod
from enbloc.model.selectors import Labels, PodAffinityTerm, Selector
from enbloc.model.snapshot import Snapshot

Sums = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WantedTerm:
    """A term of the pod that is being placed.

    Attributes:
        namespaces: the namespaces of the pods that it matches; None = every namespace.
    """

    key: str
    selector: Selector | None
    namespaces: frozenset[str] | None

    def names(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it matches a pod in that namespace, with these labels."""
        if self.selector is None:
            return False
        inside = self.namespaces is None or namespace in self.namespaces
        return inside and self.selector.matches(labels)

    def among(self, placed: PlacedPods) -> Mask:
        """bool[P]: the placed pods that it matches."""
        mask = placed.matches(self.selector)
        return mask if self.namespaces is None else mask & placed.in_namespaces(self.namespaces)


def wanted(term: PodAffinityTerm, namespace: str, known: Mapping[str, Labels]) -> WantedTerm:
    """Resolve a term of a pod in `namespace`; `known` are the labels of all namespaces.

    An empty namespace selector selects every namespace, known or not.
    """
    selects = term.namespace_selector
    if selects is None:
        names = frozenset(term.namespaces or (namespace,))
        return WantedTerm(term.topology_key, term.selector, names)
    if not selects.requirements:
        return WantedTerm(term.topology_key, term.selector, None)
    chosen = (name for name, labels in known.items() if selects.matches(dict(labels)))
    return WantedTerm(term.topology_key, term.selector, frozenset((*term.namespaces, *chosen)))


class Incoming:
    """The pod that is being placed, as the terms of placed pods see it."""

    __slots__ = ("_labels", "_namespace", "_namespace_labels")

    def __init__(self, pod: Pod, snapshot: Snapshot) -> None:
        self._namespace = pod.key.namespace
        self._labels = dict(pod.labels)
        self._namespace_labels = dict(snapshot.namespaces.get(pod.key.namespace, ()))

    def named_by(self, term: PodAffinityTerm, owner: str) -> bool:
        """Whether a term of a pod in namespace `owner` matches it."""
        if term.selector is None:
            return False
        selects = term.namespace_selector
        names = term.namespaces if term.namespaces or selects is not None else (owner,)
        inside = self._namespace in names or (
            selects is not None and selects.matches(self._namespace_labels)
        )
        return inside and term.selector.matches(self._labels)


def kept_apart(pod: Pod, other: Pod, snapshot: Snapshot) -> Iterator[str]:
    """The topology keys of required anti-affinity between two pods, whoever comes first."""
    for one, two in ((pod, other), (other, pod)):
        terms = one.spec.pod_anti_affinity.required
        if not terms:
            continue
        incoming = Incoming(two, snapshot)
        namespace, labels = two.key.namespace, dict(two.labels)
        known = {n: snapshot.namespaces[n] for n in (namespace,) if n in snapshot.namespaces}
        for term in terms:
            mine = wanted(term, one.key.namespace, known)
            if mine.names(namespace, labels) and incoming.named_by(term, one.key.namespace):
                yield term.topology_key


class DomainWeights:
    """Weights of placed pods, summed over each topology domain that they are in."""

    __slots__ = ("_by_key", "_size")

    def __init__(self, size: int) -> None:
        """A tally over `size` nodes."""
        self._size = size
        self._by_key: dict[str, Sums] = {}

    def add(self, key: str, rows: npt.NDArray[np.int32] | int, weight: int) -> None:
        """Add a weight for each pod on `rows` to its domain by label `key`."""
        by_row = self._by_key.get(key)
        if by_row is None:
            by_row = self._by_key[key] = np.zeros(self._size, np.float64)
        if isinstance(rows, int):
            by_row[rows] += weight
        else:
            np.add.at(by_row, rows, weight)

    def fork(self) -> "DomainWeights":
        """A copy that adds independently."""
        made = DomainWeights(self._size)
        made._by_key = {key: by_row.copy() for key, by_row in self._by_key.items()}
        return made

    @property
    def keys(self) -> tuple[str, ...]:
        """The topology keys of all weights so far."""
        return tuple(self._by_key)

    def at(self, key: str, nodes: Nodes) -> Sums:
        """float64[N]: the exact sum over each node's domain; 0 if the node lacks the key.

        `key` must be one of `keys`.
        """
        codes = nodes.domains(key)
        sums = np.bincount(codes, self._by_key[key], nodes.domain_count(key)).astype(
            np.float64, copy=False
        )
        sums[0] = 0
        return sums[codes]
