# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit and NodeResourcesBalancedAllocation, one node at a time.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/noderesources/fit.go;
pkg/scheduler/framework/plugins/noderesources/resource_allocation.go;
pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go;
pkg/scheduler/framework/plugins/helper/shape_score.go.
"""

import math
from fractions import Fraction
from itertools import pairwise

from enbloc.model.pods import PodSpec
from tests.parity.hosts import Host
from tests.parity.settings import Settings


def lacking(spec: PodSpec, host: Host, settings: Settings) -> list[str]:
    """Every reason for which NodeResourcesFit refuses; none = it lets the pod pass."""
    reasons: list[str] = []
    if len(host.pods) + 1 > host.allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for resource, request in spec.requests:
        if resource == "pods" or request == 0 or _ignored(resource, settings):
            continue
        if request > host.allocatable.get(resource, 0) - host.requested(resource):
            reasons.append(f"Insufficient {resource}")
    return reasons


def _ignored(resource: str, settings: Settings) -> bool:
    if not _extended(resource):
        return False
    group = resource.partition("/")[0]
    return resource in settings.ignored_resources or group in settings.ignored_groups


def _extended(resource: str) -> bool:
    native = "/" not in resource or "kubernetes.io/" in resource
    return not native and not resource.startswith("requests.")


def _scalar(resource: str) -> bool:
    return resource not in ("cpu", "memory", "ephemeral-storage")


def fit(spec: PodSpec, host: Host, settings: Settings) -> int:
    """NodeResourcesFit's score."""
    asked = _scored(spec)
    counted: list[tuple[int, int, int]] = []  # weight, capacity, total with the pod
    for resource, weight in settings.fit_resources:
        capacity, request = host.allocatable.get(resource, 0), asked.get(resource, 0)
        if capacity == 0 or (_scalar(resource) and request == 0):
            continue
        counted.append((weight, capacity, _allocated(resource, host) + request))
    if settings.strategy == "LeastAllocated":
        return _average([(w, _least(capacity, total)) for w, capacity, total in counted])
    if settings.strategy == "MostAllocated":
        return _average([(w, min(total, cap) * 100 // cap) for w, cap, total in counted])
    scores = [(w, _ratio(capacity, total, settings.shape)) for w, capacity, total in counted]
    scores = [(weight, score) for weight, score in scores if score > 0]
    weights = sum(weight for weight, _ in scores)
    if not weights:
        return 0
    # Half away from zero; nothing here is negative.
    return math.floor(Fraction(sum(w * score for w, score in scores), weights) + Fraction(1, 2))


def _scored(spec: PodSpec) -> dict[str, int]:
    """The pod's request as the scorer takes it: with defaults, without pod-level requests."""
    if spec.fit_scored is not None:
        return dict(spec.fit_scored)
    return {**dict(spec.requests), "cpu": spec.nonzero_cpu, "memory": spec.nonzero_memory}


def _allocated(resource: str, host: Host) -> int:
    if resource == "cpu":
        return sum(pod.spec.nonzero_cpu for pod in host.pods)
    if resource == "memory":
        return sum(pod.spec.nonzero_memory for pod in host.pods)
    return host.requested(resource)


def _average(scores: list[tuple[int, int]]) -> int:
    weights = sum(weight for weight, _ in scores)
    return sum(weight * score for weight, score in scores) // weights if weights else 0


def _least(capacity: int, total: int) -> int:
    return 0 if total > capacity else (capacity - total) * 100 // capacity


def _ratio(capacity: int, total: int, shape: tuple[tuple[int, int], ...]) -> int:
    used = 100 if total > capacity else total * 100 // capacity
    points = sorted((utilisation, 10 * score) for utilisation, score in shape)
    if used <= points[0][0]:
        return points[0][1]
    for (u0, v0), (u1, v1) in pairwise(points):
        if used <= u1:
            return v0 + _truncated((v1 - v0) * (used - u0), u1 - u0)
    return points[-1][1]


def _truncated(numerator: int, denominator: int) -> int:
    """Go's integer division: towards zero."""
    quotient = abs(numerator) // denominator
    return quotient if numerator >= 0 else -quotient


def balanced(spec: PodSpec, host: Host, settings: Settings) -> int:
    """NodeResourcesBalancedAllocation's score; ask `balanced_skips` first."""
    asked = dict(spec.requests)
    before: list[float] = []
    after: list[float] = []
    for resource in settings.balanced_resources:
        capacity, request = host.allocatable.get(resource, 0), asked.get(resource, 0)
        if capacity == 0 or (_scalar(resource) and request == 0):
            continue
        used = host.requested(resource)
        before.append(min(1.0, used / capacity))
        after.append(min(1.0, (used + request) / capacity))
    return 50 + (50 + _evenness(after) - _evenness(before)) // 2


def balanced_skips(spec: PodSpec, settings: Settings) -> bool:
    """The pod requests none of the resources that are balanced."""
    asked = dict(spec.requests)
    return not any(asked.get(resource, 0) for resource in settings.balanced_resources)


def _evenness(fractions: list[float]) -> int:
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = _sum(fractions) / len(fractions)
        squares = [(fraction - mean) * (fraction - mean) for fraction in fractions]
        deviation = math.sqrt(_sum(squares) / len(fractions))
    return int((1 - deviation) * 100)


def _sum(values: list[float]) -> float:
    """One after the other; Python's own sum() of floats is more exact since 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total
