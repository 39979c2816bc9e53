# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Limits on placement constraints, per pod and per group (semantics §9.8).

The API server limits only the bytes of an object: one pod may have tens of thousands of terms, each
of which is evaluated for every node or every placed pod, and each member of a gang may have others.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from enbloc.model.pins import LARGE, host_of, without_host
from enbloc.model.pods import HostPorts, NodeSelectorTerm, Pod, PodSpec
from enbloc.model.selectors import NO_AFFINITY, PodAffinityTerm, Selector

#: Terms of pod affinity and anti-affinity, and topology spread constraints, together.
MOST_POD_TERMS: Final = 64
#: Requirements in the selectors of those terms and constraints.
MOST_POD_REQUIREMENTS: Final = 256
#: Values in those requirements, and namespaces.
MOST_POD_VALUES: Final = 4096
#: Labels in nodeSelector, expressions and fields in node affinity.
MOST_NODE_REQUIREMENTS: Final = 512
#: Values in those.
MOST_NODE_VALUES: Final = 65_536
MOST_TOLERATIONS: Final = 512
MOST_HOST_PORTS: Final = 1024
MOST_RESOURCES: Final = 128
MOST_IMAGES: Final = 512
#: Resources of one node; each name that any node offers is a column for all nodes.
MOST_OFFERED: Final = 256

#: The most effort for the pending members of one group; a pod template without constraints costs
#: 16. One unit takes about 20 µs on a thousand nodes, twice that on five thousand.
MOST_EFFORT: Final = 6144
_PLAIN: Final = 16
#: The effort of one term about other pods: it has arrays of its own over all nodes.
_TERM: Final = 8
#: Each member adds one unit per _HEARD other pod templates, of which at most _MOST_HEARD count.
_HEARD: Final = 32
_MOST_HEARD: Final = 64
#: How many terms per member are free, although they are evaluated again as others are placed.
_FREE_TERMS: Final = 4

_PLACES: Final = "spec.nodeSelector and spec.affinity.nodeAffinity"
_PODS: Final = "spec.affinity and spec.topologySpreadConstraints"


def limited(spec: PodSpec, problems: list[str]) -> PodSpec:
    """A class within the limits; what exceeds them is left out and added to `problems`.

    Requests stay, because running pods use them, and so do the first host ports.
    """
    left_out: dict[str, Any] = {}
    nodes, pods = _NodeSide(spec), _PodSide(spec)
    no_nodes = {"node_selector": (), "node_affinity": None, "preferred_node_affinity": ()}
    no_pods = {"pod_affinity": NO_AFFINITY, "pod_anti_affinity": NO_AFFINITY, "spread": ()}
    ports = HostPorts(dict.fromkeys(spec.host_ports))
    for field, what, count, most, absent in (
        (_PODS, "terms and constraints about pods", pods.terms, MOST_POD_TERMS, no_pods),
        (_PODS, "requirements on labels", pods.requirements, MOST_POD_REQUIREMENTS, no_pods),
        (_PODS, "values and namespaces", pods.values, MOST_POD_VALUES, no_pods),
        (_PLACES, "requirements on nodes", nodes.requirements, MOST_NODE_REQUIREMENTS, no_nodes),
        (_PLACES, "values", nodes.values, MOST_NODE_VALUES, no_nodes),
        (
            "spec.tolerations", "tolerations", len(spec.tolerations),
            MOST_TOLERATIONS, {"tolerations": ()},
        ),
        (
            "spec.containers", "host ports", len(ports),
            MOST_HOST_PORTS, {"host_ports": HostPorts(ports[:MOST_HOST_PORTS])},
        ),
        ("spec.containers", "requested resources", len(spec.requests), MOST_RESOURCES, {}),
        (
            "spec.containers", "images", len(spec.images) + len(spec.image_volumes),
            MOST_IMAGES, {"images": (), "image_volumes": ()},
        ),
    ):  # fmt: skip
        if count > most:
            problems.append(f"{field}: {count} {what}; use at most {most}")
            left_out.update(absent)
    return replace(spec, **left_out) if left_out else spec


def offered(allocatable: Mapping[str, int], problems: list[str]) -> Mapping[str, int]:
    """What a node offers, within the limit; resources that every node has come first."""
    if len(allocatable) <= MOST_OFFERED:
        return allocatable
    problems.append(
        f"status.allocatable: {len(allocatable)} resources; the first {MOST_OFFERED} by name count"
    )
    kept = sorted(allocatable, key=lambda name: ("/" in name, name))[:MOST_OFFERED]
    return {name: allocatable[name] for name in kept}


def beyond_effort(pending: Iterable[Pod]) -> str:
    """Why these members are too costly to place together; "" = they are not."""
    kinds: dict[int, PodSpec] = {}
    total = members = 0
    for pod in pending:
        members += 1
        spec = pod.spec
        if spec.pod_affinity or spec.pod_anti_affinity or spec.spread:
            total += max(0, _terms(spec) - _FREE_TERMS)
        kinds[id(spec)] = spec
    if len(kinds) == 1 and not total:
        return ""
    different: set[object] = set()
    named: set[str] = set()
    for spec in kinds.values():
        if host := host_of(spec):  # of one class with whoever differs in that alone
            named.add(host)
            spec = without_host(spec)  # noqa: PLW2901
        # Comparing large classes is slow, and pods of one template share one object.
        known = len(different)
        different.add(spec if spec.size <= LARGE else id(spec))
        if len(different) > known:
            total += effort(spec)
        if total + len(named) > MOST_EFFORT:
            break
    total += len(named)
    hearing = members * min(len(different) - 1, _MOST_HEARD) // _HEARD
    if total + hearing <= MOST_EFFORT:
        return ""
    return (
        f"pending members have too many different pod templates to be placed together: the first "
        f"{len(different)}, with their terms about other pods, cost more than {MOST_EFFORT} (a "
        f"template without constraints costs {_PLAIN}); use fewer templates, or fewer terms of pod "
        f"affinity and topology spread"
    )


def effort(spec: PodSpec) -> int:
    """The effort of finding where pods of one class may go; 16 without constraints."""
    nodes, pods = _NodeSide(spec), _PodSide(spec)
    return (
        _PLAIN
        + _TERM * pods.terms
        + pods.requirements
        + (nodes.requirements + len(spec.requests) + len(spec.images) + len(spec.image_volumes))
        // 4
        + len(spec.tolerations) // 16
        + (pods.values + nodes.values + len(spec.host_ports)) // 32
    )


class _NodeSide:
    """The size of a class's constraints on nodes."""

    def __init__(self, spec: PodSpec) -> None:
        said = list(_of_nodes(spec))
        each = [one for term in said for one in chain(term.expressions, term.fields)]
        self.requirements = len(spec.node_selector) + len(said) + len(each)
        self.values = sum(len(one.values) for one in each)


class _PodSide:
    """The size of a class's constraints on other pods."""

    def __init__(self, spec: PodSpec) -> None:
        self.terms = _terms(spec)
        self.requirements = self.values = 0
        if not self.terms:
            return
        terms = (*spec.pod_affinity.terms, *spec.pod_anti_affinity.terms)
        for selector in _selectors(spec, terms):
            self.requirements += len(selector.requirements)
            self.values += sum(len(one.values) for one in selector.requirements)
        self.requirements += sum(len(each.match_label_keys) for each in spec.spread)
        self.values += sum(len(term.namespaces) for term in terms)


def _terms(spec: PodSpec) -> int:
    near, apart = spec.pod_affinity, spec.pod_anti_affinity
    return sum(
        map(len, (near.required, near.preferred, apart.required, apart.preferred, spec.spread))
    )


def _of_nodes(spec: PodSpec) -> Iterator[NodeSelectorTerm]:
    yield from spec.node_affinity or ()
    for _, term in spec.preferred_node_affinity:
        yield term


def _selectors(spec: PodSpec, terms: Iterable[PodAffinityTerm]) -> Iterator[Selector]:
    for term in terms:
        yield from filter(None, (term.selector, term.namespace_selector))
    for each in spec.spread:
        if each.selector is not None:
            yield each.selector
