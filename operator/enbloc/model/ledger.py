# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ledger: what pods hold beyond the resources of their node, and what is left of it.

Two tables are one: volumes and devices. Each knows the objects of some kinds as the API server
shows them, who sits where, and what was decided for pods that are not bound yet::

    the cluster's ──fork──► a trial's: place, place, … ──decision──► plan ──keep──► the cluster's
"""

from collections.abc import Hashable
from typing import ClassVar, NamedTuple, Protocol, Self, TypeVar

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


class Ledger(Protocol[F, D]):
    """The objects of some kinds, and what pods hold of them.

    Every method is total: what cannot be true is taken as it comes, and is for a filter to refuse.

    Attributes:
        kinds: the Kubernetes kinds of the objects that it knows.
        version: grows with every change of an object or of what is held.
    """

    kinds: ClassVar[frozenset[str]]
    version: int

    def put(self, fact: F) -> F | None:
        """Add an object, or change it; gives it as it was."""
        ...

    def drop(self, kind: str, key: str) -> F | None:
        """Remove an object; gives it as it was."""
        ...

    def enter(self, pod: Pod) -> None:
        """A pod exists, or has changed: pods that share a claim are told apart from others."""
        ...

    def leave(self, uid: PodUID) -> None:
        """A pod is gone."""
        ...

    def alike(self, pod: Pod) -> tuple[Hashable, ...] | None:
        """Equal for pods that are alike to everybody who reads this table, as it is now.

        For each thing that a pod asks for, what it is alike in; None = nothing of the pod concerns
        the table.
        """
        ...

    def place(self, pod: Pod, node: str, nodes: Nodes) -> None:
        """The pod sits on that node from now on: decide what it gets there.

        What was decided in this fork for others may be decided anew where that helps.
        """
        ...

    def keep(self, pod: Pod, node: str, decision: D) -> None:
        """The pod sits on that node from now on, with what a plan decided."""
        ...

    def remove(self, pod: Pod) -> None:
        """The pod sits nowhere any more, and what it held is free."""
        ...

    def decision(self, uid: PodUID) -> D | None:
        """What was decided for a pod; None = nothing need be done before it is bound."""
        ...

    def stands(self, uid: PodUID) -> bool:
        """Whether what was decided for a pod can still be had, by the objects as they are now."""
        ...

    def fork(self) -> Self:
        """A copy of one's own, which costs what was placed since the cluster's own."""
        ...
