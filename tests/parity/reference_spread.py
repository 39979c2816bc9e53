# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodTopologySpread: skew of each domain for the filter, counts of each domain for the score.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go;
pkg/scheduler/framework/plugins/podtopologyspread/scoring.go.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector, SpreadConstraint
from tests.parity.hosts import Host, Hosts
from tests.parity.reference_matching import kept_off, selects, wants_node
from tests.parity.settings import Settings

HOSTNAME = "kubernetes.io/hostname"
SYSTEM_DEFAULTS = (
    SpreadConstraint(HOSTNAME, max_skew=3, hard=False),
    SpreadConstraint("topology.kubernetes.io/zone", max_skew=5, hard=False),
)


def constraints(
    pod: Pod, world: Hosts, settings: Settings, *, hard: bool
) -> list[SpreadConstraint]:
    """The constraints of one action, each with the selector that counts."""
    labels = dict(pod.labels)
    if pod.spec.spread:
        return [_merged(each, labels) for each in pod.spec.spread if each.hard == hard]
    defaults: tuple[SpreadConstraint, ...] = SYSTEM_DEFAULTS
    if settings.spread_defaults == "List":
        defaults = settings.spread_constraints
    selector = default_selector(pod, world)
    if selector is None:
        return []
    return [replace(each, selector=selector) for each in defaults if each.hard == hard]


def _merged(constraint: SpreadConstraint, labels: dict[str, str]) -> SpreadConstraint:
    if constraint.selector is None:
        return constraint
    own = [
        Requirement(key, Operator.IN, (labels[key],))
        for key in constraint.match_label_keys
        if key in labels
    ]
    return replace(constraint, selector=Selector((*constraint.selector.requirements, *own)))


def default_selector(pod: Pod, world: Hosts) -> Selector | None:
    """What the Services and the controller of a pod select, joined; None = nothing does."""
    wanted: list[Requirement] = []
    for (kind, namespace, name), selector in world.workloads:
        if namespace != pod.key.namespace:
            continue
        if kind == "Service":
            chosen = selects(selector, dict(pod.labels))
        else:
            chosen = pod.owner is not None and (pod.owner.kind, pod.owner.name) == (kind, name)
        if chosen:
            wanted += selector.requirements
    return Selector(tuple(wanted)) if wanted else None


def counted(constraint: SpreadConstraint, pod: Pod, host: Host) -> bool:
    """The constraint's policies let this node count."""
    if constraint.honour_affinity and not wants_node(pod.spec, host.node):
        return False
    return not (constraint.honour_taints and kept_off(pod.spec, host.node))


def matching(constraint: SpreadConstraint, pod: Pod, host: Host) -> int:
    """How many pods on a node the constraint speaks of."""
    return sum(
        other.key.namespace == pod.key.namespace
        and not other.deleting
        and selects(constraint.selector, dict(other.labels))
        for other in host.pods
    )


def _has_keys(host: Host, wanted: Sequence[SpreadConstraint]) -> bool:
    return all(each.topology_key in host.labels for each in wanted)


def refusals(pod: Pod, world: Hosts, settings: Settings) -> list[str]:
    """Why PodTopologySpread refuses each node; "" = it lets the pod pass."""
    wanted = constraints(pod, world, settings, hard=True)
    domains: list[dict[str, int]] = []
    for constraint in wanted:
        counts: dict[str, int] = {}
        for host in world.hosts:
            if _has_keys(host, wanted) and counted(constraint, pod, host):
                value = host.labels[constraint.topology_key]
                counts[value] = counts.get(value, 0) + matching(constraint, pod, host)
        domains.append(counts)
    return [_refusal(pod, host, wanted, domains) for host in world.hosts]


def _refusal(
    pod: Pod, host: Host, wanted: list[SpreadConstraint], domains: list[dict[str, int]]
) -> str:
    reason = "node(s) didn't match pod topology spread constraints"
    for constraint, counts in zip(wanted, domains, strict=True):
        value = host.labels.get(constraint.topology_key)
        if value is None:
            return f"{reason} (missing required label)"
        least = 0 if len(counts) < constraint.min_domains else min(counts.values())
        itself = int(selects(constraint.selector, dict(pod.labels)))
        if counts.get(value, 0) + itself - least > constraint.max_skew:
            return reason
    return ""


def scores(
    pod: Pod, world: Hosts, settings: Settings, feasible: Sequence[int]
) -> dict[int, int] | None:
    """The raw score of each feasible row, -1 for an ignored one; None = skipped."""
    wanted = constraints(pod, world, settings, hard=False)
    if not wanted:
        return None
    all_keys = bool(pod.spec.spread) or settings.spread_defaults == "List"
    ignored = {row for row in feasible if all_keys and not _has_keys(world.hosts[row], wanted)}
    scored = [row for row in feasible if row not in ignored]
    total = dict.fromkeys(scored, 0.0)
    for constraint in wanted:
        counts = _counts(constraint, pod, world, scored, wanted if all_keys else ())
        size = len(scored) if constraint.topology_key == HOSTNAME else len(counts)
        weight = math.log(size + 2)
        for row in scored:
            host = world.hosts[row]
            if constraint.topology_key not in host.labels:
                continue
            if constraint.topology_key == HOSTNAME:
                count = matching(constraint, pod, host)
            else:
                count = counts[host.labels[constraint.topology_key]]
            total[row] += count * weight + (constraint.max_skew - 1)
    # No score is negative: halves go up, which is away from zero.
    return {row: -1 if row in ignored else math.floor(total[row] + 0.5) for row in feasible}


def _counts(
    constraint: SpreadConstraint,
    pod: Pod,
    world: Hosts,
    scored: Sequence[int],
    needed: Sequence[SpreadConstraint],
) -> dict[str, int]:
    """Matching pods per value that a scored node has; a node without the key counts as ""."""
    key = constraint.topology_key
    counts = dict.fromkeys((world.hosts[row].labels.get(key, "") for row in scored), 0)
    for host in world.hosts:
        value = host.labels.get(key, "")
        if value in counts and _has_keys(host, needed) and counted(constraint, pod, host):
            counts[value] += matching(constraint, pod, host)
    return counts


def normalised(raw: dict[int, int]) -> dict[int, int]:
    """Fewest is best; ignored nodes get nothing."""
    seen = [score for score in raw.values() if score >= 0]
    top, bottom = max(seen, default=0), min(seen, default=0)
    return {
        row: 0 if score < 0 else 100 if top == 0 else 100 * (top + bottom - score) // top
        for row, score in raw.items()
    }
