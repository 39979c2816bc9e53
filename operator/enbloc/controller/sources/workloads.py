# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What all workloads have in common: roles, pod templates, and the spec of their PodGroup.

A minimum counts only pods that can exist together before any has started. If others follow once
those run, minResources reserves the capacity for all. Source: semantics §5.2.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from enbloc.controller.sources.source import LARGEST, MOST_ROLES, Derived
from enbloc.controller.sources.topology_keys import PodMetadata
from enbloc.model.quantity import render
from enbloc.model.resources import PODS
from enbloc.wire.auto_groups import role_name
from enbloc.wire.codec_specs import pod_class
from enbloc.wire.objects import PodObject, PodSpecObject, Quantities
from enbloc.workloads.admission import with_requests


class WorkloadPart(msgspec.Struct, gc=False, rename="camel"):
    """The base of workloads' fields: camelCase names, outside the garbage collector."""


class _Resources(WorkloadPart):
    requests: Quantities | None = None
    limits: Quantities | None = None


class _Container(WorkloadPart):
    resources: _Resources | None = None
    restart_policy: str | None = None


class _PodSpec(WorkloadPart):
    """The fields by which a template's pods request resources."""

    # Lists, as in JSON: msgspec.to_builtins leaves tuples as they are.
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    resources: _Resources | None = None
    overhead: Quantities | None = None


class Template(WorkloadPart):
    """`template` of pods, with metadata and what they request."""

    metadata: PodMetadata | None = None
    spec: _PodSpec | None = None


class MetadataOnly(WorkloadPart):
    """`template` of pods, with metadata only."""

    metadata: PodMetadata | None = None


def metadata_of(template: Template | MetadataOnly | None) -> PodMetadata | None:
    """The metadata of a template's pods; None = the template has none."""
    return template.metadata if template is not None else None


def requests(template: Template | None, count: int = 1) -> Counter[str]:
    """What `count` pods of a template request, by resource; an unreadable amount counts as none.

    Limits count where requests are missing: the API server sets these in pods, not in templates.
    """
    if template is None or template.spec is None:
        return Counter()
    made = with_requests(msgspec.to_builtins(template.spec))
    spec, _ = pod_class(PodObject(spec=msgspec.convert(made, PodSpecObject)))
    return Counter({name: amount * count for name, amount in spec.requests if name != PODS})


def bounded(count: int | None, default: int = 1) -> int:
    """A number of pods, limited to what a PodGroup can have."""
    return min(LARGEST, max(0, default if count is None else count))


def of_roles(
    roles: Iterable[tuple[str, int]],
    name: str,
    reserved: Mapping[str, int] | None = None,
    *,
    beside: str = "",
    pods: int | None = None,
) -> Derived:
    """The PodGroup of a workload; idle if the workload wants no pods.

    Args:
        roles: as of `minimum_of`.
        name: of the PodGroup.
        reserved: as of `minimum_of`.
        beside: as of `Derived`.
        pods: how many pods the workload wants now; None = as many as its minimums.
    """
    roles = list(roles)
    idle = not (sum(minimum for _, minimum in roles) if pods is None else pods)
    return Derived(minimum_of(roles, reserved), name, beside=beside, idle=idle)


def minimum_of(
    roles: Iterable[tuple[str, int]], reserved: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The spec of a PodGroup, as JSON.

    Args:
        roles: `(name, minimum)`, in the order of the workload; if a name cannot be a role's, or
            there are too many, only the sum of the minimums counts.
        reserved: `minResources`, by resource, CPU in milli.
    """
    floors = [(role_name(name), minimum) for name, minimum in roles]
    total = sum(minimum for _, minimum in floors)
    names = {name for name, _ in floors} - {""}
    spec: dict[str, Any] = {"minMember": min(LARGEST, max(1, total))}
    if 0 < len(names) == len(floors) <= MOST_ROLES and total <= LARGEST:
        spec["roles"] = [{"name": name, "minMember": minimum} for name, minimum in floors]
    if reserved:
        spec["minResources"] = {
            name: render(name, amount) for name, amount in sorted(reserved.items()) if amount
        }
    return spec
