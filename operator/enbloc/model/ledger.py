# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ledger: what pods hold beyond the resources of their node, and what is left of it.

Two tables are one: volumes and devices. Each knows the objects of some kinds as the API server
shows them, who is where, and what was decided for pods that are not bound yet::

    the cluster's ──fork──► a trial's: place, place, … ──decision──► plan ──keep──► the cluster's
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable
from typing import ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from enbloc.model.layered import Forked, Layered
from enbloc.model.node_log import NodeLog
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodUID


class Fact(Protocol):
    """An object of the API, as far as scheduling reads it; frozen.

    Attributes:
        kind: the Kubernetes kind.
    """

    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """Its name, with "namespace/" before it where the kind has one."""
        ...


class OfCluster:
    """A base of facts of a kind without namespaces."""

    __slots__ = ()
    name: str

    @property
    def key(self) -> str:
        """Its name."""
        return self.name


class OfNamespace:
    """A base of facts of a kind with namespaces."""

    __slots__ = ()
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class ByName(NamedTuple):
    """Said of an object that no other is like, so that pods which name it are told apart by it.

    Attributes:
        key: of the object.
        reserved: it is, for the pod that asks.
    """

    key: str
    reserved: bool = False


F = TypeVar("F", bound=Fact)
D = TypeVar("D", bound=Hashable)
S = TypeVar("S")


class ClaimNames:
    """Which pods name which claims, whether they are anywhere or not."""

    __slots__ = ("_by_claim", "_by_pod")

    def __init__(self) -> None:
        #: Each is the other's inverse, and has no empty entry.
        self._by_claim: dict[str, set[PodUID]] = {}
        self._by_pod: dict[PodUID, tuple[str, ...]] = {}

    def pods(self, key: str) -> Collection[PodUID]:
        """The pods that name a claim."""
        return self._by_claim.get(key, ())

    def put(self, uid: PodUID, keys: Iterable[str]) -> None:
        """A pod names these claims, and no others."""
        named = tuple(dict.fromkeys(keys))
        if named == self._by_pod.get(uid, ()):
            return
        for key in self._by_pod.pop(uid, ()):
            pods = self._by_claim[key]
            pods.discard(uid)
            if not pods:
                del self._by_claim[key]
        if named:
            self._by_pod[uid] = named
        for key in named:
            self._by_claim.setdefault(key, set()).add(uid)


class Ledger(Forked, ABC, Generic[F, D, S]):
    """The objects of some kinds, and what pods hold of them.

    Every method is total: what cannot be true is taken as it comes, and is for a filter to refuse.

    Attributes:
        kinds: the Kubernetes kinds of the objects that it knows.
        version: grows with every change of an object or of what is held.
        touched: the nodes of which something but a pod has changed what they have for pods; None =
            of a fork it is not written down.
    """

    kinds: ClassVar[frozenset[str]]

    def __init__(self) -> None:
        self.version = 0
        self.touched: NodeLog | None = NodeLog()
        #: Where pods are, and what they have there.
        self._seats: Layered[PodUID, S] = Layered()
        #: All forks share it: pods do not come into being on them.
        self._names = ClaimNames()

    def fork(self) -> Self:
        """A copy of one's own, which costs what was placed since the cluster's own."""
        made = super().fork()
        made.touched = None
        return made

    @abstractmethod
    def put(self, fact: F) -> F | None:
        """Add an object, or change it; gives it as it was."""

    @abstractmethod
    def drop(self, kind: str, key: str) -> F | None:
        """Remove an object; gives it as it was."""

    def enter(self, pod: Pod) -> None:
        """A pod exists, or has changed: pods that share a claim are told apart from others."""
        self._names.put(pod.uid, self.named(pod))

    def leave(self, uid: PodUID) -> None:
        """A pod is gone."""
        self._names.put(uid, ())

    @abstractmethod
    def named(self, pod: Pod) -> Collection[str]:
        """The keys of the claims that a pod names."""

    @abstractmethod
    def alike(self, pod: Pod) -> tuple[Hashable, ...] | None:
        """Equal for pods that are alike to everybody who reads this table, as it is now.

        For each thing that a pod asks for, what it is alike in; None = nothing of the pod concerns
        the table.
        """

    @abstractmethod
    def place(self, pod: Pod, node: str, nodes: Nodes) -> None:
        """The pod is on that node from now on: decide what it gets there.

        What was decided in this fork for others may be decided anew where that helps.
        """

    @abstractmethod
    def keep(self, pod: Pod, node: str, decision: D) -> None:
        """The pod is on that node from now on, with what a plan decided."""

    @abstractmethod
    def remove(self, pod: Pod) -> None:
        """The pod is nowhere any more, and what it held is free."""

    @abstractmethod
    def decision(self, uid: PodUID) -> D | None:
        """What was decided for a pod; None = nothing need be done before it is bound."""

    @abstractmethod
    def stands(self, uid: PodUID) -> bool:
        """Whether what was decided for a pod can still be had, by the objects as they are now."""
