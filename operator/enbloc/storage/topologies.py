# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies: the conditions on the labels of nodes under which storage can be reached there."""

from enbloc.model.reach import ANYWHERE, Conditions
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import Affinity, Topologies


def of_affinity(affinity: Affinity) -> Conditions:
    """Where a volume can be reached; fields of terms are not looked at, as upstream.

    Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/volume/helpers.go
    CheckNodeAffinity.
    """
    if affinity is None:
        return ANYWHERE
    return tuple(term.expressions for term in affinity if term.expressions or term.fields)


def of_selector(selector: Selector | None) -> Conditions:
    """Where the labels of a node are selected; nowhere without a selector."""
    return () if selector is None else (selector.requirements,)


def of_topologies(topologies: Topologies) -> Conditions:
    """Where a class may have volumes made.

    Source: kubernetes v1.36 pkg/apis/core/v1/helper/helpers.go MatchTopologySelectorTerms.
    """
    if not topologies:
        return ANYWHERE
    return tuple(
        tuple(Requirement(key, Operator.IN, values) for key, values in term)
        for term in topologies
        if term
    )
