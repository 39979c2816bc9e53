# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node selection: which nodes a pod's nodeSelector and node affinity terms allow."""

from collections.abc import Iterable

import numpy as np

from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.requirements import NAME_FIELD, Operator, Requirement


def selected(spec: PodSpec, nodes: Nodes) -> Mask:
    """bool[N]: nodes with every nodeSelector label, where any of the required terms holds.

    Source: kubernetes v1.36
    staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
    RequiredNodeAffinity.Match.
    """
    mask = np.ones(len(nodes), np.bool_)
    for key, value in spec.node_selector:
        mask &= nodes.label(key, value)
    if spec.node_affinity is not None:
        mask &= terms_match(spec.node_affinity, nodes)
    return mask


def terms_match(terms: Iterable[NodeSelectorTerm], nodes: Nodes) -> Mask:
    """bool[N]: nodes where any of the terms holds; without terms, none."""
    mask = np.zeros(len(nodes), np.bool_)
    for term in terms:
        mask |= term_matches(term, nodes)
    return mask


def term_matches(term: NodeSelectorTerm, nodes: Nodes) -> Mask:
    """bool[N]: nodes where every expression and field holds; a term with neither matches none."""
    if not term.expressions and not term.fields:
        return np.zeros(len(nodes), np.bool_)
    mask = np.ones(len(nodes), np.bool_)
    for requirement in term.expressions:
        mask &= nodes.matches(requirement)
    for field in term.fields:
        mask &= _field(field, nodes)
    return mask


def names_of(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    """The only node names that the terms allow; None if some term allows any name.

    It is the union over the terms of the intersection of each term's `metadata.name In` fields.
    """
    union: frozenset[str] = frozenset()
    for term in terms:
        named = [
            frozenset(field.values)
            for field in term.fields
            if field.key == NAME_FIELD and field.operator is Operator.IN
        ]
        if not named:
            return None
        union |= frozenset.intersection(*named)
    return union


def _field(field: Requirement, nodes: Nodes) -> Mask:
    """`metadata.name` In or NotIn one name; a term with any other field matches no node."""
    known = field.operator in (Operator.IN, Operator.NOT_IN) and len(field.values) == 1
    if field.key != NAME_FIELD or not known:
        return np.zeros(len(nodes), np.bool_)
    named = nodes.named(field.values)
    return named if field.operator is Operator.IN else ~named
