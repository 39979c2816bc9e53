# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""InterPodAffinity: which pods draw this one near or push it away, pod by pod.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/interpodaffinity/filtering.go;
pkg/scheduler/framework/plugins/interpodaffinity/scoring.go.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from enbloc.model.pods import Pod
from enbloc.model.selectors import PodAffinityTerm
from tests.parity.hosts import Host, Hosts
from tests.parity.reference_matching import term_selects
from tests.parity.settings import Settings

Pair = tuple[str, str]


def _everyone(world: Hosts) -> Iterator[tuple[Host, Pod]]:
    for host in world.hosts:
        for pod in host.pods:
            yield host, pod


def _pair(term: PodAffinityTerm, host: Host) -> Pair | None:
    """The topology pair of a term on a node; None = it lacks the key."""
    value = host.labels.get(term.topology_key)
    return None if value is None else (term.topology_key, value)


def refusals(pod: Pod, world: Hosts) -> list[str]:
    """Why InterPodAffinity refuses each node; "" = it lets the pod pass."""
    near: set[Pair] = set()
    far: set[Pair] = set()
    kept: set[Pair] = set()
    wanted, unwanted = pod.spec.pod_affinity.required, pod.spec.pod_anti_affinity.required
    for host, other in _everyone(world):
        if wanted and all(term_selects(term, pod, other, world.namespaces) for term in wanted):
            near |= {pair for term in wanted if (pair := _pair(term, host))}
        for term in unwanted:
            if term_selects(term, pod, other, world.namespaces) and (pair := _pair(term, host)):
                far.add(pair)
        for term in other.spec.pod_anti_affinity.required:
            if term_selects(term, other, pod, world.namespaces) and (pair := _pair(term, host)):
                kept.add(pair)
    itself = all(term_selects(term, pod, pod, world.namespaces) for term in wanted)
    return [
        _refusal(pod, host, near, far, kept, bootstraps=not near and itself) for host in world.hosts
    ]


def _refusal(
    pod: Pod, host: Host, near: set[Pair], far: set[Pair], kept: set[Pair], *, bootstraps: bool
) -> str:
    pairs = [_pair(term, host) for term in pod.spec.pod_affinity.required]
    if None in pairs or not (bootstraps or all(pair in near for pair in pairs)):
        return "node(s) didn't match pod affinity rules"
    if any(_pair(term, host) in far for term in pod.spec.pod_anti_affinity.required):
        return "node(s) didn't match pod anti-affinity rules"
    if any(pair in kept for pair in host.labels.items()):
        return "node(s) didn't satisfy existing pods anti-affinity rules"
    return ""


def scores(
    pod: Pod, world: Hosts, settings: Settings, feasible: Sequence[int]
) -> dict[int, int] | None:
    """The raw score of each feasible row; None = skipped, or nothing contributed."""
    own = pod.spec.pod_affinity.preferred or pod.spec.pod_anti_affinity.preferred
    if settings.ignore_preferred and not own:
        return None
    counts: Counter[Pair] = Counter()
    for host, other in _everyone(world):
        for weight, term, owner, subject in _pulls(pod, other, settings):
            pair = _pair(term, host)
            if pair is not None and term_selects(term, owner, subject, world.namespaces):
                counts[pair] += weight
    if not counts:
        return None
    return {row: sum(counts[pair] for pair in world.hosts[row].labels.items()) for row in feasible}


def _pulls(
    pod: Pod, other: Pod, settings: Settings
) -> Iterator[tuple[int, PodAffinityTerm, Pod, Pod]]:
    """Weight, term, who has it and whom it may select, both ways between two pods."""
    for weight, term in pod.spec.pod_affinity.preferred:
        yield weight, term, pod, other
    for weight, term in pod.spec.pod_anti_affinity.preferred:
        yield -weight, term, pod, other
    if settings.hard_pod_affinity_weight > 0:
        for term in other.spec.pod_affinity.required:
            yield settings.hard_pod_affinity_weight, term, other, pod
    for weight, term in other.spec.pod_affinity.preferred:
        yield weight, term, other, pod
    for weight, term in other.spec.pod_anti_affinity.preferred:
        yield -weight, term, other, pod


def normalised(raw: dict[int, int]) -> dict[int, int]:
    """From 0 for the lowest to 100 for the highest."""
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    if high == low:
        return dict.fromkeys(raw, 0)
    # The quotient first, as the real one divides: 100 × 0.29 is below 29.
    return {row: int(100 * ((score - low) / (high - low))) for row, score in raw.items()}
