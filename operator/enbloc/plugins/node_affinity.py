# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeAffinity: nodeSelector and the required terms of node affinity."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.reads import Reads
from enbloc.framework.status import Status, refuse_for_good
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import NodeSelectorTerm, Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.snapshot import Snapshot


@dataclass(frozen=True)
class NodeAffinity:
    """Source: framework.md §9.4."""

    name: ClassVar[str] = "NodeAffinity"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) didn't match Pod's node affinity/selector"
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_LABEL),
    )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Self | Status | None:
        """None without a constraint; a refusal when the terms' node names exclude each other."""
        del snapshot
        terms = pod.spec.node_affinity
        if not pod.spec.node_selector and terms is None:
            return None
        # Every term names nodes, and the names of each exclude one another.
        if terms and all(_named(term) == set() for term in terms):
            return refuse_for_good("pod affinity terms conflict")
        return self

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """Every selector label, and any of the terms; a term that is empty matches no node."""
        mask = np.ones(len(nodes), np.bool_)
        for key, value in pod.spec.node_selector:
            mask &= nodes.label(key, value)
        if pod.spec.node_affinity is not None:
            any_term = np.zeros(len(nodes), np.bool_)
            for term in pod.spec.node_affinity:
                any_term |= _matches(term, nodes)
            mask &= any_term
        return mask


def _named(term: NodeSelectorTerm) -> set[str] | None:
    """The node names that a term's fields leave; None when it has no `metadata.name In`."""
    names: set[str] | None = None
    for field in term.fields:
        if field.operator is Operator.IN:
            names = set(field.values) if names is None else names & set(field.values)
    return names


def _matches(term: NodeSelectorTerm, nodes: Nodes) -> Mask:
    if not term.expressions and not term.fields:
        return np.zeros(len(nodes), np.bool_)
    mask = np.ones(len(nodes), np.bool_)
    for requirement in term.expressions:
        mask &= nodes.matches(requirement)
    for field in term.fields:
        mask &= _field(field, nodes)
    return mask


def _field(field: Requirement, nodes: Nodes) -> Mask:
    """The only field is metadata.name, with In or NotIn; a term with any other matches no node."""
    if field.key != "metadata.name" or field.operator not in (Operator.IN, Operator.NOT_IN):
        return np.zeros(len(nodes), np.bool_)
    named = nodes.named(field.values)
    return named if field.operator is Operator.IN else ~named
