# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which events could help a pod that spreading refused."""

from collections.abc import Mapping, Sequence

from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.node import Node
from enbloc.model.pods import Pod
from enbloc.model.selectors import SpreadConstraint
from enbloc.plugins.pod_topology_spread.constraints import own_constraints


def could_help(event: Happening, pod: Pod, defaults: Sequence[SpreadConstraint]) -> bool:
    """Whether the event could change the DoNotSchedule constraints' answer for `pod`.

    What `defaults` select is not known here: they may count every pod of the namespace.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/podtopologyspread/plugin.go
    EventsToRegister.
    """
    constraints = own_constraints(pod, hard=True) if pod.spec.spread else defaults
    if event.resource is Resource.POD:
        return _pod_matters(event, pod, constraints)
    return _node_matters(event, pod, constraints)


def _pod_matters(event: Happening, pod: Pod, constraints: Sequence[SpreadConstraint]) -> bool:
    other, old = event.pod, event.old_pod
    if other is None:
        return True
    if other.key.namespace != pod.key.namespace:
        return False
    if not other.node and not event.action & Action.DELETE:
        return False
    if not pod.spec.spread:
        return bool(constraints)
    now = _counting(constraints, dict(other.labels))
    if event.action & (Action.ADD | Action.DELETE):
        return any(now)
    return old is None or now != _counting(constraints, dict(old.labels))


def _counting(constraints: Sequence[SpreadConstraint], labels: Mapping[str, str]) -> list[bool]:
    return [each.selector is not None and each.selector.matches(labels) for each in constraints]


def _node_matters(event: Happening, pod: Pod, constraints: Sequence[SpreadConstraint]) -> bool:
    node, old = event.node, event.old_node
    if node is None:
        return True
    there = _values(node, constraints)
    if event.action & (Action.ADD | Action.DELETE) or old is None:
        return None not in there
    before = _values(old, constraints)
    if None in there and None in before:
        return False
    if there != before:
        return True
    narrows = bool(pod.spec.node_selector) or pod.spec.node_affinity is not None
    selects = narrows and any(each.honour_affinity for each in constraints)
    tolerates = any(each.honour_taints for each in constraints)
    return (selects and node.labels != old.labels) or (tolerates and node.taints != old.taints)


def _values(node: Node, constraints: Sequence[SpreadConstraint]) -> list[str | None]:
    labels = dict(node.labels)
    return [labels.get(each.topology_key) for each in constraints]
