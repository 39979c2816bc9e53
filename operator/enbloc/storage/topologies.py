# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies: conditions on node labels under which a node reaches storage."""

from enbloc.model.reach import ANYWHERE, Conditions
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import Affinity, Topologies


def of_affinity(affinity: Affinity) -> Conditions:
    """The nodes that reach a volume; as upstream, fields of terms are ignored.

    Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/volume/helpers.go
    CheckNodeAffinity.
    """
    if affinity is None:
        return ANYWHERE
    return tuple(term.expressions for term in affinity if term.expressions or term.fields)


def of_selector(selector: Selector | None) -> Conditions:
    """The nodes that a selector selects; none without a selector."""
    return () if selector is None else (selector.requirements,)


def of_topologies(topologies: Topologies) -> Conditions:
    """The nodes for which a class may provision volumes.

    Source: kubernetes v1.36 pkg/apis/core/v1/helper/helpers.go MatchTopologySelectorTerms.
    """
    if not topologies:
        return ANYWHERE
    return tuple(
        tuple(Requirement(key, Operator.IN, values) for key, values in term)
        for term in topologies
        if term
    )
