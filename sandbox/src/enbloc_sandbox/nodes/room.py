# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a kubelet admits a pod, by its own account of the node.

Written from the Kubernetes documentation, apart from the scheduler's code on purpose: what one of
them counts wrong, the other one notices.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.model.quantity import amount, render
from enbloc_sandbox.nodes.selectors import fits_node, tolerates

Amounts = Mapping[str, int]

#: The reason for a node whose labels a pod does not want.
NODE_AFFINITY: Final = "NodeAffinity"

_ALWAYS: Final = "Always"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod is not admitted, as status.reason and status.message say it."""

    reason: str
    message: str


def requests_of(
    spec: Mapping[str, Any], counts: Callable[[str, str], bool] = lambda *_: True
) -> dict[str, int]:
    """What a pod takes on its node, one "pods" included.

    Containers and sidecars add up; an ordinary init container counts alone, beside the sidecars
    that started before it; the larger of the two holds. Overhead comes on top. Pod-level resources
    replace the sum where they are given.

    Args:
        spec: the pod's spec.
        counts: whether a container (its name) takes a resource (its name) from the node.
    """

    def of(container: Mapping[str, Any]) -> dict[str, int]:
        name = container.get("name", "")
        found = _requests(container).items()
        return {resource: asked for resource, asked in found if counts(name, resource)}

    running: dict[str, int] = {}
    for container in spec.get("containers") or ():
        running = _sum(running, of(container))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == _ALWAYS:
            sidecars = _sum(sidecars, of(container))
            peak = _max(peak, sidecars)
        else:
            peak = _max(peak, _sum(sidecars, of(container)))
    whole = _max(_sum(running, sidecars), peak)
    whole |= _requests(spec)
    return _sum(_sum(whole, _amounts(spec.get("overhead"))), {"pods": 1})


def refusal(
    spec: Mapping[str, Any],
    *,
    labels: Mapping[str, str],
    name: str,
    taints: Iterable[Mapping[str, Any]],
    allocatable: Amounts,
    used: Amounts,
    served: Collection[tuple[str, str]] = (),
) -> Refusal | None:
    """Why the node refuses a pod; None if it admits it.

    An extended resource that the node does not list is not checked: resources of the whole
    cluster are unknown to nodes.
    Source: kubelet v1.36 pkg/kubelet/lifecycle/predicate.go, removeMissingExtendedResources.

    Args:
        spec: the pod's spec.
        labels: the node's.
        name: the node's.
        taints: the node's; a kubelet heeds those with effect NoExecute only.
        allocatable: what the node has.
        used: what the pods admitted so far take.
        served: the container and the resource of each request that a ResourceClaim serves.
    """

    def counts(container: str, resource: str) -> bool:
        missing = _is_extended(resource) and resource not in allocatable
        return not missing and (container, resource) not in served

    for resource, asked in requests_of(spec, counts).items():
        have, taken = allocatable.get(resource, 0), used.get(resource, 0)
        if asked > 0 and asked > have - taken:
            shown = ", ".join(
                f"{word}: {render(resource, value)}"
                for word, value in (("requested", asked), ("used", taken), ("capacity", have))
            )
            return Refusal(
                f"OutOf{resource}",
                f"Pod was rejected: Node didn't have enough resource: {resource}, {shown}",
            )
    if not fits_node(spec, labels, name):
        return Refusal(
            NODE_AFFINITY,
            "Pod was rejected: Predicate NodeAffinity failed: "
            "node(s) didn't match Pod's node affinity/selector",
        )
    for taint in taints:
        if taint.get("effect") == "NoExecute" and not any(
            tolerates(toleration, taint) for toleration in spec.get("tolerations") or ()
        ):
            return Refusal(
                "TaintToleration",
                "Pod was rejected: Predicate TaintToleration failed: "
                f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value', '')}}}",
            )
    return None


def _is_extended(resource: str) -> bool:
    """Whether it has a domain that is not Kubernetes' own, and is no resource of a quota.

    Source: kubernetes v1.36 pkg/apis/core/v1/helper/helpers.go IsExtendedResourceName.
    """
    own = "/" not in resource or "kubernetes.io/" in resource
    return not own and not resource.startswith("requests.")


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: amount(name, text) for name, text in (quantities or {}).items()}


def _requests(holder: Mapping[str, Any]) -> dict[str, int]:
    resources = holder.get("resources") or {}
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _sum(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in (*one, *other)}


def _max(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in (*one, *other)}
