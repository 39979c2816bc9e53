# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ledger: what pods hold beyond their nodes' resources, and what is free.

There are two: volumes and devices. Each knows the objects of some kinds as the API server shows
them, the nodes of pods, and what was decided for pods that are not bound yet::

    the cluster's ──fork──► a trial's: place, place, … ──decision──► plan ──keep──► the cluster's
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable
from typing import ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from enbloc.model.grouped import Index
from enbloc.model.layered import Forked, Layered
from enbloc.model.node_log import NodeLog
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodUID


class Fact(Protocol):
    """The parts of an API object that scheduling reads; frozen.

    Attributes:
        kind: the Kubernetes kind.
    """

    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """Its name, preceded by "namespace/" if the kind is namespaced."""
        ...


class OfCluster:
    """Base class of facts of cluster-scoped kinds."""

    __slots__ = ()
    name: str

    @property
    def key(self) -> str:
        """Its name."""
        return self.name


class OfNamespace:
    """Base class of facts of namespaced kinds."""

    __slots__ = ()
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class ByName(NamedTuple):
    """Identifies an object that no other equals, so that pods that name it differ from others.

    Attributes:
        key: the key of the object.
        reserved: it is reserved for the pod that asks.
    """

    key: str
    reserved: bool = False


F = TypeVar("F", bound=Fact)
D = TypeVar("D", bound=Hashable)
S = TypeVar("S")


class ClaimNames:
    """Which pods name which claims, whether the pods have nodes or not."""

    __slots__ = ("_by_claim", "_by_pod")

    def __init__(self) -> None:
        #: Each is the inverse of the other, and has no empty entry.
        self._by_claim: Index[str, PodUID] = Index()
        self._by_pod: dict[PodUID, tuple[str, ...]] = {}

    def pods(self, key: str) -> Collection[PodUID]:
        """The pods that name a claim."""
        return self._by_claim.get(key, ())

    def put(self, uid: PodUID, keys: Iterable[str]) -> None:
        """Record that a pod names these claims, and no others."""
        named = tuple(dict.fromkeys(keys))
        if named == self._by_pod.get(uid, ()):
            return
        for key in self._by_pod.pop(uid, ()):
            self._by_claim.drop(key, uid)
        if named:
            self._by_pod[uid] = named
        for key in named:
            self._by_claim.add(key, uid)


class Ledger(Forked, ABC, Generic[F, D, S]):
    """The objects of some kinds, and what pods hold of them.

    Every method is total: inconsistent input is accepted, and left for filters to refuse.

    Attributes:
        kinds: the Kubernetes kinds of the objects that it knows.
        version: grows with every change of an object or of what is held.
        touched: the log of nodes whose offer to pods changed, other than by pods; None = a fork,
            which has no log.
    """

    kinds: ClassVar[frozenset[str]]

    def __init__(self) -> None:
        self.version = 0
        self.touched: NodeLog | None = NodeLog()
        #: The nodes of pods, and what they hold there.
        self._seats: Layered[PodUID, S] = Layered()
        #: Shared by all forks: no pod is created on a fork.
        self._names = ClaimNames()

    def fork(self) -> Self:
        """An independent copy; its cost grows with what was placed since the cluster's own."""
        made = super().fork()
        made.touched = None
        return made

    @abstractmethod
    def put(self, fact: F) -> F | None:
        """Add or update an object; returns the previous one."""

    @abstractmethod
    def drop(self, kind: str, key: str) -> F | None:
        """Remove an object; returns it."""

    def enter(self, pod: Pod) -> None:
        """Record that a pod exists or has changed: pods that share a claim differ from others."""
        self._names.put(pod.uid, self.named(pod))

    def leave(self, uid: PodUID) -> None:
        """Record that a pod is gone."""
        self._names.put(uid, ())

    @abstractmethod
    def named(self, pod: Pod) -> Collection[str]:
        """The keys of the claims that a pod names."""

    @abstractmethod
    def alike(self, pod: Pod) -> tuple[Hashable, ...] | None:
        """A value that is equal for pods which this table, as it is now, does not distinguish.

        It has one entry for each thing that the pod asks for; None = nothing of the pod concerns
        the table.
        """

    @abstractmethod
    def place(self, pod: Pod, node: str, nodes: Nodes) -> None:
        """Put a pod on a node, and decide what it gets there.

        Earlier decisions of this fork for other pods may be changed if that helps.
        """

    @abstractmethod
    def keep(self, pod: Pod, node: str, decision: D) -> None:
        """Put a pod on a node, with what a plan decided."""

    @abstractmethod
    def remove(self, pod: Pod) -> None:
        """Take a pod off its node, and free what it held."""

    @abstractmethod
    def decision(self, uid: PodUID) -> D | None:
        """The decision for a pod; None = nothing needs to be done before it is bound."""

    @abstractmethod
    def stands(self, uid: PodUID) -> bool:
        """Whether the decision for a pod is still possible, with the objects as they are now."""
