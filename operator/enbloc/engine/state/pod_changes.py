# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pod changes: what a change of a pod means to waiting groups."""

from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.pods import Pod


def pod_happenings(old: Pod | None, pod: Pod, *, freed: bool) -> list[Happening]:
    """Return what a change of a pod means to waiting groups.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/events.go PodSchedulingPropertiesChange.
    """
    if freed:  # the events of leaving and arriving pods have the same listeners
        action = Action.DELETE | (Action.ADD if pod.node and old and not old.node else Action(0))
    elif old is None or (pod.node and old.node != pod.node):
        action = Action.ADD
    else:
        action = _pod_action(old, pod)
    if not action:
        return []
    return [Happening(Resource.POD, action, pod=pod, old_pod=old, group=pod.group)]


def _pod_action(old: Pod, pod: Pod) -> Action:
    action = Action(0)
    if old.labels != pod.labels:
        action |= Action.UPDATE_LABEL
    if old.gates and not pod.gates:
        action |= Action.UPDATE_GATES
    if old.annotations != pod.annotations:
        action |= Action.UPDATE_ANNOTATION
    if old.resource_claims != pod.resource_claims:
        action |= Action.UPDATE_GENERATED_CLAIM
    if old.spec is not pod.spec and old.spec != pod.spec:
        wanted = dict(pod.spec.requests)
        if any(wanted.get(name, 0) < amount for name, amount in old.spec.requests):
            action |= Action.UPDATE_SCALE_DOWN
        if old.spec.tolerations != pod.spec.tolerations:
            action |= Action.UPDATE_TOLERATION
        action = action or Action.UPDATE_OTHER
    return action
