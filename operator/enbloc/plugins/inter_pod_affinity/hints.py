# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which events could help a pod that affinity or anti-affinity refused."""

from collections.abc import Sequence

from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.pods import Pod
from enbloc.model.selectors import PodAffinityTerm


def could_help(event: Happening, pod: Pod) -> bool:
    """Whether the event could change InterPodAffinity's answer for `pod`.

    A namespace selector counts as selecting every namespace: their labels are not known here.
    Unlike kube-scheduler, which waits for its periodic flush in that case, it lets a new node help
    a pod that only others' anti-affinity refused.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/interpodaffinity/plugin.go
    EventsToRegister.
    """
    if event.resource is Resource.POD:
        return _pod_matters(event, pod)
    if event.resource is Resource.NODE:
        return _node_matters(event, pod)
    # A namespace: a new one matters only to terms that select namespaces, a changed one to others'
    # too.
    terms = (*pod.spec.pod_affinity.required, *pod.spec.pod_anti_affinity.required)
    return not event.action & Action.ADD or any(term.namespace_selector for term in terms)


def _pod_matters(event: Happening, pod: Pod) -> bool:
    other, old = event.pod, event.old_pod
    if other is None:
        return True
    if not other.node and not event.action & Action.DELETE:
        return False
    near, apart = pod.spec.pod_affinity.required, pod.spec.pod_anti_affinity.required
    is_near = _all_name(near, pod, other)
    if event.action & Action.ADD and (is_near or not event.action & Action.DELETE):
        return is_near
    if event.action & Action.DELETE:
        # With the last of its like gone, a pod that wants them may be the first again.
        first_again = is_near and _all_name(near, pod, pod)
        others = other.spec.pod_anti_affinity.required
        return first_again or _any_names(apart, pod, other) or _any_names(others, other, pod)
    if old is None:
        return True
    if is_near != _all_name(near, pod, old):
        return True
    return any(_names(each, pod, old) and not _names(each, pod, other) for each in apart)


def _all_name(terms: Sequence[PodAffinityTerm], owner: Pod, other: Pod) -> bool:
    return bool(terms) and all(_names(term, owner, other) for term in terms)


def _any_names(terms: Sequence[PodAffinityTerm], owner: Pod, other: Pod) -> bool:
    return any(_names(term, owner, other) for term in terms)


def _names(term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    """Whether a term of `owner` may match `other`."""
    if term.selector is None or not term.selector.matches(dict(other.labels)):
        return False
    if term.namespace_selector is not None:
        return True
    return other.key.namespace in (term.namespaces or (owner.key.namespace,))


def _node_matters(event: Happening, pod: Pod) -> bool:
    if event.node is None:
        return True
    now = dict(event.node.labels)
    near = {term.topology_key for term in pod.spec.pod_affinity.required}
    if event.action & Action.ADD or event.old_node is None:
        return near <= now.keys()
    before = dict(event.old_node.labels)
    if any(now.get(key) != value for key, value in before.items()):
        # Any of these may be the key by which somebody keeps this pod away.
        return True
    return any(key in now and key not in before for key in near)
