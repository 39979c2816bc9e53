# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who matches whom, label by label: selectors, node selector terms, tolerations.

Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go
TolerationsTolerateTaint;
staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go;
staging/src/k8s.io/apimachinery/pkg/labels/selector.go.
"""

import re
from collections.abc import Mapping, Sequence

from enbloc.model.node import Node
from enbloc.model.pods import NodeSelectorTerm, Pod, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Labels, PodAffinityTerm, Selector
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """One expression about a set of labels."""
    value = labels.get(requirement.key)
    if requirement.operator == Operator.IN:
        return value is not None and value in requirement.values
    if requirement.operator == Operator.NOT_IN:
        return value is None or value not in requirement.values
    if requirement.operator == Operator.EXISTS:
        return value is not None
    if requirement.operator == Operator.DOES_NOT_EXIST:
        return value is None
    if value is None or len(requirement.values) != 1:
        return False
    number, limit = _int64(value), _int64(requirement.values[0])
    if number is None or limit is None:
        return False
    return number > limit if requirement.operator == Operator.GT else number < limit


def _int64(text: str) -> int | None:
    """Go's ParseInt in base 10: a sign, ASCII digits, 64 bits."""
    if not re.fullmatch("[+-]?[0-9]+", text):
        return None
    return int(text) if -(2**63) <= int(text) < 2**63 else None


def selects(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """A label selector; none at all selects nothing."""
    return selector is not None and all(holds(each, labels) for each in selector.requirements)


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """One node selector term; an empty one matches nothing."""
    if not term.expressions and not term.fields:
        return False
    labels, named = dict(node.labels), {"metadata.name": node.name}
    return all(holds(each, labels) for each in term.expressions) and all(
        holds(each, named) for each in term.fields
    )


def any_term_matches(terms: Sequence[NodeSelectorTerm] | None, node: Node) -> bool:
    """Required terms are alternatives; None is no constraint."""
    return terms is None or any(term_matches(term, node) for term in terms)


def wants_node(spec: PodSpec, node: Node) -> bool:
    """The pod's nodeSelector and required node affinity allow the node."""
    labels = dict(node.labels)
    if any(labels.get(key) != value for key, value in spec.node_selector):
        return False
    return any_term_matches(spec.node_affinity, node)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """One toleration and one taint; Lt and Gt stand behind a gate that is off."""
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == TolerationOperator.EXISTS:
        return True
    return toleration.operator == TolerationOperator.EQUAL and toleration.value == taint.value


def kept_off(spec: PodSpec, node: Node) -> bool:
    """The node has a taint NoSchedule or NoExecute that the pod does not tolerate."""
    return any(
        not any(tolerates(toleration, taint) for toleration in spec.tolerations)
        for taint in node.taints
        if taint.effect != Effect.PREFER_NO_SCHEDULE
    )


def term_selects(
    term: PodAffinityTerm, owner: Pod, other: Pod, namespaces: Mapping[str, Labels]
) -> bool:
    """A term of pod (anti-)affinity that `owner` has speaks of `other`."""
    if not term.namespaces and term.namespace_selector is None:
        near = other.key.namespace == owner.key.namespace
    else:
        near = other.key.namespace in term.namespaces or selects(
            term.namespace_selector, dict(namespaces.get(other.key.namespace, ()))
        )
    return near and selects(term.selector, dict(other.labels))
